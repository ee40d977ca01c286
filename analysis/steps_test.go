package analysis

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
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

// api-1 was stopped at 100. Its own clock is known to be off; ci has the access log's, and
// the workflow's is not known, but within 40 s. Printed are the stop and the readiness of
// each way round, as they were told.
func TestRoundsByClocksThatAreApart(t *testing.T) {
	const line, ready = "line", "ready" // by api-1's own clock
	type word struct {
		by string
		at float64
	}
	for _, c := range []struct {
		name string
		off  float64
		told []word
		back float64 // when it served again; 0 where that is not known
		want string
	}{
		{"one, by a clock that is right", 0, []word{{"ci", 100}, {line, 100.5}, {ready, 102}}, 0, "100–102"},
		{"one, by a clock that is behind", -10, []word{{"ci", 100}, {line, 90.5}, {ready, 92}}, 0, "90.5–92"},
		{"one, and the workflow's clock is not known", -10, []word{{"workflow", 100}, {line, 90.5}, {ready, 92}}, 0, "90.5–92"},
		{"one, and the workflow's clock is as far ahead", 10, []word{{"workflow", 110}, {line, 110.5}, {ready, 112}}, 0, "110–112"},
		{"two", -10, []word{{"ci", 100}, {line, 90.5}, {ready, 92}, {"ci", 105}, {line, 95.5}, {ready, 97}}, 0, "90.5–92 95.5–97"},
		{"two, one of them told by its lines alone", -10, []word{{"workflow", 100}, {line, 90.5}, {ready, 92}, {line, 95.5}, {ready, 97}}, 0, "90.5–92 95.5–97"},
		{"as it was ready, by what is known", -10, []word{{line, 90}, {ready, 92}, {"ci", 102.1}}, 0, "90–92"},
		{"surely after", -10, []word{{line, 90}, {ready, 92}, {"ci", 102.2}}, 0, "90–92 102.2–-"},
		{"as long after the first as two tell of one", -10, []word{{line, 88}, {ready, 92}, {"ci", 102.1}}, 0, "88–92"},
		{"longer", -10, []word{{line, 87.9}, {ready, 92}, {"ci", 102.1}}, 0, "87.9–92 102.1–-"},
		{"marked again", -10, []word{{"ci", 100}, {line, 90.5}, {ready, 92}, {"mark", 101}, {"ci", 110}}, 0, "90.5–92 110–-"},
		{"told again after it served", 0, []word{{"ci", 100}, {line, 130}}, 115, "100–- 130–-"},
		{"so it seems by its clock, which is ahead", 30, []word{{"ci", 100}, {line, 130}}, 115, "100–-"},
		{"so it seems by two clocks of which nothing is known", 0, []word{{"workflow", 100}, {"other", 130}}, 115, "100–-"},
		{"which they cannot be as far apart", 0, []word{{"workflow", 100}, {"other", 200}}, 115, "100–- 200–-"},
	} {
		b := newTable()
		b.offsets = []ClockOffset{{"prober", "alb", Interval{0, 0}}, {"prober", "api-1.log", Interval{1000*c.off - 100, 1000*c.off + 100}}}
		b.doubt, b.servingClock = 40*time.Second, "alb"
		if c.back > 0 {
			var own, others []float64
			for at := 0.; at < 300; at++ {
				others = append(others, at)
				if at < 100 || at >= c.back {
					own = append(own, at)
				}
			}
			b.life("api-1", own...)
			b.life("api-2", others...)
		}
		for _, w := range c.told {
			s := Step{Deploy: "d1", Kind: StepRestartBegan, Target: "api-1", At: b.at(w.at), Source: w.by}
			switch w.by {
			case "ci":
				s.Clock = "alb"
			case "mark":
				s.Clock, s.Kind = "alb", StepDrainMarked
			case ready:
				s.Kind = StepAppReady
				fallthrough
			case line:
				s.Deploy, s.Source, s.Inferred = "", "api-1.log", true
			}
			b.obs.Steps = append(b.obs.Steps, s)
		}
		b.readSteps()
		b.followTargets()
		var rounds []string
		for _, c := range b.life("api-1").cycles {
			if !c.stop.IsZero() {
				rounds = append(rounds, b.seconds(c.stop)+"–"+b.seconds(c.ready))
			}
		}
		if got := strings.Join(rounds, " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// api-1 restarts in 2 s, from 100 on, and its clock is known to be 5 s off: it was away once.
func TestAShortRestartByTwoClocks(t *testing.T) {
	for _, off := range []time.Duration{-5 * time.Second, 0, 5 * time.Second} {
		s := newScene(t)
		s.stop("api-1", 100, 102, false)
		s.prepare()
		for i := range s.obs.Handled {
			s.obs.Handled[i].At = s.obs.Handled[i].At.Add(off)
		}
		for i := range s.obs.Steps {
			if x := &s.obs.Steps[i]; x.Inferred {
				x.At = x.At.Add(off)
			}
		}
		p := s.obs.Probes[0]
		key := CellKey{Second: p.Sent.Unix(), Source: "alb", Class: ClassProbe, Outcome: OutcomeOK, Status: 200, TargetStatus: 200}
		s.obs.Requests = append(s.obs.Requests, Request{CellKey: key, Start: p.Sent.Add(time.Microsecond), End: p.Done.Add(-time.Microsecond), ProbeRun: p.Run, ProbeSeq: p.Seq})
		r := Judge(s.obs)
		s.claim(r, ClaimEjectedBeforeStop, Disproved, ReasonStoppedInUse)
		s.claim(r, ClaimNoUserFailureCaused, Disproved, ReasonCausedByDeploy)
		s.phases(r, "baseline", "build", "api-1 restart", "api-1 back", "tail")
		if users := r.Totals[ClassUser]; users.Causes[CauseDeploy] != users.Failures {
			t.Errorf("off %v: causes %v", off, users.Causes)
		}
		if len(r.Targets) != 2 || r.Targets[0].RestartToFirstRequest.Value < 2 {
			t.Errorf("off %v: %d rows, first request after at most %v", off, len(r.Targets), *r.Targets[0].RestartToFirstRequest)
		}
		alone := r.SingleTarget
		if len(alone) != 1 {
			t.Fatalf("off %v: alone %v", off, alone)
		}
		if from, to := alone[0].From.Sub(s.zero).Seconds(), alone[0].To.Sub(s.zero).Seconds(); from < 99.8 || from > 100 || to < 102 || to > 102.5 {
			t.Errorf("off %v: alone from %g to %g", off, from, to)
		}
	}
}

// The start and a mark are told to the fraction of a second; a stop in the same second, and
// a readiness in its own, without. None contradicts another.
func TestStepsInWholeSeconds(t *testing.T) {
	for _, c := range []struct {
		stop    float64
		ignored string
		at      float64 // of the stop as it is taken
	}{
		{60, "", 60.8}, {61, "", 61}, {60.1, "deploy.started drain.marked", 60.1}, {59, "deploy.started drain.marked", 59},
	} {
		s := newShape(t, "a", "b")
		s.up("a", 0, 62, 80, 300)
		s.up("b", 0, 300)
		s.obs.Deploy.StartedAt = s.at(60.4)
		for i := range s.obs.Steps {
			if x := &s.obs.Steps[i]; x.Kind == StepDeployStarted {
				x.At = s.at(60.4)
			}
		}
		s.step(StepDrainMarked, "a", 60.8)
		s.step(StepRestartBegan, "a", c.stop)
		s.step(StepAppReady, "a", 70)
		r := Judge(s.obs)
		var ignored []string
		for _, x := range r.Steps {
			if x.Ignored {
				ignored = append(ignored, string(x.Kind))
			}
		}
		if got := strings.Join(ignored, " "); got != c.ignored {
			t.Errorf("stopped at %g: ignored %q, want %q", c.stop, got, c.ignored)
		}
		if at := r.Targets[0].RestartAt; !at.Equal(s.at(c.at)) {
			t.Errorf("stopped at %g: taken for %s", c.stop, at.Sub(s.zero))
		}
	}
}
