package analysis

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// begin lets the window begin at a moment, and leaves of what was seen what the store
// gives of such a window: the deploy's own steps whole, of the rest only what lies in it.
func (s *scene) begin(at float64) {
	s.prepare()
	from := s.at(at)
	s.obs.From = from
	s.obs.Cells = slices.DeleteFunc(s.obs.Cells, func(c Cell) bool { return c.Second < from.Unix() })
	s.obs.States = slices.DeleteFunc(s.obs.States, func(x StateSample) bool { return x.At.Before(from) })
	s.obs.Requests = slices.DeleteFunc(s.obs.Requests, func(r Request) bool { return r.End.Before(from) })
	s.obs.Probes = slices.DeleteFunc(s.obs.Probes, func(p ProbeRequest) bool { return p.Sent.Before(from) })
	s.obs.Handled = slices.DeleteFunc(s.obs.Handled, func(h HandledRequest) bool { return h.At.Before(from) })
	s.obs.Steps = slices.DeleteFunc(s.obs.Steps, func(x Step) bool { return x.Deploy == "" && x.At.Before(from) })
}

// The deploy stopped api-1 at 100 and said so; it was ready at 120. The window begins in
// between: what failed in it is the deploy's, however usual its kind is.
func TestAWindowThatBeginsInAnOutage(t *testing.T) {
	for _, usual := range []bool{false, true} {
		s := newScene(t)
		s.stop("api-1", 100, 120, false)
		s.begin(105)
		if usual {
			s.obs.Background = []BackgroundCount{
				{Source: "alb", Class: ClassUser, Count: 12_000_000, Spans: 1000, Of: 1000},
				{Source: "alb", Class: ClassUser, Outcome: OutcomeLB5xx, Status: 502, Route: OtherRoute, Count: 50_000, Spans: 1000, Typical: 50, Of: 1000},
			}
		}
		r := Judge(s.obs)
		s.claim(r, ClaimNoUserFailureCaused, Disproved, ReasonCausedByDeploy)
		s.claim(r, ClaimEjectedBeforeStop, Disproved, ReasonStoppedInUse)
		s.phases(r, "api-1 restart", "api-1 back", "tail")
		if users := r.Totals[ClassUser]; users.Failures == 0 || users.Causes[CauseDeploy] != users.Failures {
			t.Errorf("%d failures, causes %v", users.Failures, users.Causes)
		}
		if x := r.Targets[0]; !x.RestartAt.Equal(s.at(100)) || !x.LastServedAt.IsZero() {
			t.Errorf("stopped %v, served last %v, which nobody saw", x.RestartAt, x.LastServedAt)
		}
	}
}

// The deploy starts at 60, drains at 85, stops at 110, is back from 120 on and reports at 240.
func TestPhasesOfAWindowThatBeginsLater(t *testing.T) {
	for from, want := range map[float64]string{
		0:   "baseline 0, build 60, a drain 85, a restart 110, a back 115, tail 240, end 300",
		60:  "build 60, a drain 85, a restart 110, a back 115, tail 240, end 300",
		65:  "build 65, a drain 85, a restart 110, a back 115, tail 240, end 300",
		110: "a restart 110, a back 115, tail 240, end 300",
		112: "a restart 112, a back 115, tail 240, end 300",
		240: "tail 240, end 300",
		250: "tail 250, end 300",
	} {
		s := newShape(t, "a", "b")
		s.up("b", 0, 300)
		s.step(StepDrainMarked, "a", 85)
		s.restart("a", 110, 115)
		s.up("a", 0, 90, 120, 300)
		s.begin(from)
		if got := s.course(); got != want {
			t.Errorf("from %g:\ngot  %s\nwant %s", from, got, want)
		}
	}
}

// What was told of a time before the deploy began is none of it, wherever the window begins.
func TestStepsBeforeALaterWindow(t *testing.T) {
	for _, c := range []struct {
		at   float64
		want int
	}{{59.9, 0}, {60, 1}, {69.9, 1}} {
		s := newScene(t)
		s.step(StepRestartBegan, "api-1", c.at)
		s.step(StepAppReady, "api-1", 80)
		s.begin(70)
		stops := 0
		for _, x := range Judge(s.obs).Steps {
			if x.Kind == StepRestartBegan {
				stops++
			}
		}
		if stops != c.want {
			t.Errorf("told at %g: %d stops, want %d", c.at, stops, c.want)
		}
	}
}

// A drained deploy that harmed nobody, by a window that begins after its start: what was
// before is not known, so that nothing is claimed of the whole of it, but of a part.
func TestNobodySawTheDeploysStart(t *testing.T) {
	const late = "inconclusive deploy_began_before"
	for from, want := range map[float64][3]string{
		60: {"supported no_failure", "supported no_failure", "supported no_failure"},
		61: {late, late, late},
		// Of the stop at 110 it is known, too, that nothing was sent to api-1 then.
		100: {late, late, late},
	} {
		s := newScene(t)
		s.stop("api-1", 110, 120, true)
		s.begin(from)
		s.obs.Claims = []TypedClaim{
			{ID: "whole", About: ClassUser},
			{ID: "tail", About: ClassUser, From: s.at(240), To: s.at(300)},
		}
		state := map[string]string{}
		for _, c := range Judge(s.obs).Claims {
			state[c.ID] = string(c.State) + " " + c.Reason
		}
		got := [3]string{state[ClaimNoUserFailureCaused], state[ClaimAlwaysOneTarget], state[ClaimEjectedBeforeStop]}
		if got != want {
			t.Errorf("from %g: %s, want %s", from, got, want)
		}
		if state["whole"] != want[0] || state["tail"] != "supported no_failure" {
			t.Errorf("from %g, typed: %s, and of the tail alone %s", from, state["whole"], state["tail"])
		}
		s.obs.Part = Part{s.at(105), s.at(200)}
		s.claim(Judge(s.obs), ClaimNoUserFailureCaused, Supported, ReasonNoFailure)
	}
}

func TestAWindowWithoutABaseline(t *testing.T) {
	for from, want := range map[float64]string{59: "", 60: "60–60", 65: "65–65"} {
		s := newScene(t)
		s.stop("api-1", 110, 120, true)
		s.begin(from)
		got := ""
		for _, f := range Judge(s.obs).Findings {
			if f.Code == "no-baseline" && f.Values["traffic"] == ClassUser {
				got = fmt.Sprintf("%g–%g", f.From.Sub(s.zero).Seconds(), f.To.Sub(s.zero).Seconds())
			}
		}
		if got != want {
			t.Errorf("from %g: %q, want %q", from, got, want)
		}
	}
}

// A deploy that has not reported when the window ends, and stops one more after it.
func TestEjectedBeforeAStopAfterTheWindow(t *testing.T) {
	for _, c := range []struct {
		reported time.Duration
		state    VerdictState
		reason   string
	}{{299, Supported, ReasonNoFailure}, {300, Inconclusive, ReasonNotOver}} {
		s := newScene(t)
		s.stop("api-1", 100, 120, true)
		s.obs.Deploy.ReportedAt = s.zero.Add(c.reported * time.Second)
		s.obs.Steps[1].At = s.obs.Deploy.ReportedAt
		s.claim(s.judge(), ClaimEjectedBeforeStop, c.state, c.reason)
	}
}
