package analysis

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
)

// Nothing is of one target that is about the whole deploy, though a step names one:
// whosever name it is, the report says the same.
func TestAStepOfTheWholeDeployThatNamesATarget(t *testing.T) {
	judge := func(kind StepKind, target string) (r Report, text string) {
		s := newScene(t)
		s.stop("api-1", 100, 120, false)
		s.step(StepTrafficSwitched, "", 125)
		s.step(StepBuildFinished, "", 70)
		s.obs.Deploy.ReportedAt, s.obs.Steps[1].At, s.obs.Steps[1].Clock = s.at(118), s.at(118), "alb"
		for i := range s.obs.Steps {
			if s.obs.Steps[i].Kind == kind {
				s.obs.Steps[i].Target = target
			}
		}
		r = s.judge()
		rest := r
		rest.Steps = nil
		whole, err := json.Marshal(rest)
		if err != nil {
			t.Fatal(err)
		}
		return r, string(whole)
	}
	r, want := judge("", "")
	if r.Verdict.State != Disproved || len(r.Targets) != 2 || len(r.SingleTarget) != 1 {
		t.Errorf("%s, %d targets, %v", r.Verdict.State, len(r.Targets), r.SingleTarget)
	}
	for _, kind := range []StepKind{StepDeployStarted, StepBuildFinished, StepTrafficSwitched, StepDeployReported} {
		for _, target := range []string{"api-1", "api-2", "green"} {
			r, got := judge(kind, target)
			if got != want {
				t.Errorf("%s that names %s makes another report", kind, target)
			}
			if !slices.ContainsFunc(r.Steps, func(x StepReport) bool { return x.Kind == kind && x.Target != nil && *x.Target == target }) {
				t.Errorf("the steps do not show that %s named %s", kind, target)
			}
		}
	}
}

// The workflow's clock says that api-1 was told to stop at 106; its own line says 130, and
// it was out from 115 to 170. The line is believed, and what was out at the stop is not
// known, for one of the two is wrong.
func TestAStopThatTheApplicationContradicts(t *testing.T) {
	s := newScene(t)
	s.stop("api-1", 130, 150, true)
	for i := range s.obs.Steps {
		if x := &s.obs.Steps[i]; x.Kind == StepRestartBegan && !x.Inferred {
			x.At = s.at(106)
		}
	}
	r := s.judge()
	s.claim(r, ClaimEjectedBeforeStop, Inconclusive, ReasonClocks)
	s.claim(r, ClaimNoUserFailureCaused, Supported, ReasonNoFailure)
	s.phases(r, "baseline", "build", "api-1 drain", "api-1 restart", "api-1 back", "tail")
	x := r.Targets[0]
	if at := x.RestartAt.Sub(s.zero).Seconds(); at < 130 || at > 130.02 || x.LastServedToRestart.Value < 15 || x.LastServedToRestart.Value > 15.2 {
		t.Errorf("stopped at %g, last served %g s before; want at 130, 15 s", at, x.LastServedToRestart.Value)
	}
	if alone := r.SingleTarget; len(alone) != 1 || alone[0].Seconds < 55 || alone[0].Seconds > 55.2 {
		t.Errorf("alone %v, want 115 to 170", alone)
	}
}

// A told stop and a line that lie more than 2 s and a check's timeout of 2 s apart
// contradict each other, unless each is about a stop of its own. Which of the two is wrong
// the traffic in between shows.
func TestWhichStopsContradictALine(t *testing.T) {
	for _, c := range []struct {
		name    string
		lay     func(*shape)
		ignored string
	}{
		{"4 s", func(s *shape) { s.step(StepRestartBegan, "a", 100); s.appStep(StepRestartBegan, "a", 104) }, "[]"},
		{"more than 4 s", func(s *shape) { s.step(StepRestartBegan, "a", 100); s.appStep(StepRestartBegan, "a", 104.1) }, "[100]"},
		{"more than 4 s before", func(s *shape) { s.step(StepRestartBegan, "a", 104.1); s.appStep(StepRestartBegan, "a", 100) }, "[104.1]"},
		{"twice, and both", func(s *shape) {
			s.step(StepRestartBegan, "a", 100)
			s.step(StepRestartBegan, "a", 101)
			s.appStep(StepRestartBegan, "a", 110)
		}, "[100 101]"},
		{"another target's line", func(s *shape) { s.step(StepRestartBegan, "a", 100); s.appStep(StepRestartBegan, "b", 110) }, "[]"},
		{"killed, and brought up again", func(s *shape) { s.step(StepRestartBegan, "a", 110); s.appStep(StepProcessKilled, "a", 100) }, "[]"},
		{"told to stop, and killed as it did not", func(s *shape) { s.step(StepRestartBegan, "a", 100); s.appStep(StepProcessKilled, "a", 130) }, "[]"},
		{"a second line", func(s *shape) {
			s.step(StepRestartBegan, "a", 100)
			s.appStep(StepRestartBegan, "a", 100)
			s.appStep(StepRestartBegan, "a", 110)
		}, "[]"},
		{"the line is of the first of two", func(s *shape) {
			s.step(StepRestartBegan, "a", 100)
			s.appStep(StepRestartBegan, "a", 100)
			s.step(StepRestartBegan, "a", 150)
		}, "[]"},
		{"and one is of none", func(s *shape) {
			s.step(StepRestartBegan, "a", 100)
			s.appStep(StepRestartBegan, "a", 100)
			s.step(StepRestartBegan, "a", 150)
			s.appStep(StepRestartBegan, "a", 190)
		}, "[150]"},
		{"it was back in between", func(s *shape) { s.step(StepRestartBegan, "a", 190); s.appStep(StepRestartBegan, "a", 260) }, "[]"},
		{"it was told ready in between", func(s *shape) {
			s.step(StepRestartBegan, "a", 100)
			s.step(StepAppReady, "a", 102)
			s.appStep(StepRestartBegan, "a", 150)
		}, "[]"},
		{"nobody but steps knows the target", func(s *shape) { s.step(StepRestartBegan, "c", 100); s.appStep(StepRestartBegan, "c", 110) }, "[]"},
		{"no target is named", func(s *shape) { s.step(StepRestartBegan, "", 100); s.appStep(StepRestartBegan, "", 110) }, "[]"},
	} {
		s := newShape(t, "a", "b")
		s.up("a", 0, 200, 220, 300)
		s.up("b", 0, 300)
		c.lay(s)
		ignored := []float64{}
		for _, x := range Judge(s.obs).Steps {
			if x.Ignored {
				ignored = append(ignored, x.At.Sub(s.zero).Seconds())
			}
		}
		if got := fmt.Sprint(ignored); got != c.ignored {
			t.Errorf("%s: ignored %s, want %s", c.name, got, c.ignored)
		}
	}
}
