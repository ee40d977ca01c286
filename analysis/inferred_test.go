package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// gone prints what was inferred of each target.
func gone(s *scene, r Report) string {
	at := func(t Time) string {
		if t.IsZero() {
			return "-"
		}
		return fmt.Sprintf("%.0f", t.Sub(s.zero).Seconds())
	}
	var list []string
	for _, t := range r.Targets {
		if t.InferredFrom != nil {
			list = append(list, strings.TrimSpace(fmt.Sprintf("%s %s–%s by %s, ejected %s %s", t.Target, at(t.LastServedAt), at(t.FirstServedAt), *t.InferredFrom, t.Ejected, strings.Join(t.EjectedBasis, " "))))
		}
	}
	return strings.Join(list, "; ")
}

func ruleState(r Report, code string) string {
	for _, x := range r.Rules {
		if x.Code == code {
			return strings.TrimSpace(x.State + " " + x.Why)
		}
	}
	return ""
}

// Only the start and the report of a deploy were told. Drained, api-1 is out of rotation
// from 105 to 150, and nobody is failed; stopped from 120 to 130 as it serves, half of
// the requests fail there. When it was stopped nobody can say.
func TestWhatNoStepTellsIsInferred(t *testing.T) {
	s := newScene(t)
	s.stop("api-1", 120, 130, true)
	s.obs.Steps = s.obs.Steps[:2]
	r := s.judge()
	s.phases(r, "baseline", "build", "api-1 down", "api-1 back", "tail")
	for _, p := range r.Phases {
		if inferred := p.Kind == "down" || p.Kind == "back"; p.Inferred != inferred {
			t.Errorf("phase %s: inferred %t", p.Name, p.Inferred)
		}
	}
	if got := gone(s, r); got != "api-1 105–150 by states, ejected yes state-changed" {
		t.Error(got)
	}
	s.fired(r, "single-target")
	if x := r.SingleTarget[0]; len(r.SingleTarget) != 1 || x.Target != "api-2" || x.Seconds < 45 || x.Seconds > 45.1 {
		t.Errorf("single %+v", r.SingleTarget)
	}
	s.claim(r, ClaimNoUserFailureCaused, Supported, ReasonNoFailure)
	s.claim(r, ClaimEjectedBeforeStop, Inconclusive, ReasonStopUnknown)
	s.condition(r, "steps-inferred")
	if got := ruleState(r, "restart-before-eject"); got != "not_evaluable no_stop_time" {
		t.Error(got)
	}
	for _, d := range r.Detection {
		if d.Phase == "api-1 down" && d.Target == "api-1" && d.Requests > 0 {
			t.Errorf("it was not in rotation, and %d requests reached it", d.Requests)
		}
	}

	s = newScene(t)
	s.stop("api-1", 120, 130, false)
	s.obs.Steps = s.obs.Steps[:2]
	r = s.judge()
	s.phases(r, "baseline", "build", "api-1 down", "api-1 back", "tail")
	if got := gone(s, r); got != "api-1 120–130 by traffic, ejected no failures-shared-to-the-end" {
		t.Error(got)
	}
	s.fired(r, "single-target")
	s.claim(r, ClaimNoUserFailureCaused, Disproved, ReasonCausedByDeploy)
	s.claim(r, ClaimNoProbeFailureCaused, Disproved, ReasonCausedByDeploy)
	s.claim(r, ClaimEjectedBeforeStop, Inconclusive, ReasonStopUnknown)
	if users := r.Totals[ClassUser]; users.Failures == 0 || users.Causes[CauseDeploy] != users.Failures {
		t.Errorf("%d failures, causes %v", users.Failures, users.Causes)
	}
}

// A step that was told is never overridden: neither in what it tells, nor by others of
// which none was told, whose absence then is shown and not put down to the deploy.
func TestToldStepsStand(t *testing.T) {
	s := newScene(t)
	s.stop("api-1", 120, 130, true)
	s.out["api-2"] = []span{{s.at(180), s.at(200)}}
	r := s.judge()
	if got := gone(s, r); got != "" {
		t.Error(got)
	}
	var single []string
	for _, x := range r.SingleTarget {
		single = append(single, fmt.Sprintf("%s %.0f–%.0f", x.Target, x.From.Sub(s.zero).Seconds(), x.To.Sub(s.zero).Seconds()))
	}
	if got := strings.Join(single, ", "); got != "api-2 105–150, api-1 180–200" {
		t.Error(got)
	}
	if slices.ContainsFunc(r.Verdict.Conditions, func(c Condition) bool { return c.Code == "steps-inferred" }) {
		t.Error("nothing was inferred of the deploy")
	}
}

// Two targets serve ten requests a second each; api-1 serves none from 100 to 110.
func TestWhenAnAbsenceIsInferred(t *testing.T) {
	poll := func(s *shape, state TargetState, from, to float64) {
		for at := 0.0; at < 300; at++ {
			x := StateSample{Source: "states", TargetGroup: "api", Target: "api-1", At: s.at(at), State: StateHealthy}
			if at >= from && at < to {
				x.State = state
			}
			s.obs.States = append(s.obs.States, x)
		}
	}
	for _, c := range []struct {
		name        string
		lay         func(*shape)
		want, alone string
	}{
		{"nothing displays its state", func(*shape) {}, "api-1 100–110 by traffic, ejected unknown", "fired"},
		{"displayed out", func(s *shape) { poll(s, StateUnhealthy, 102, 112) }, "api-1 100–110 by states, ejected yes state-changed", "fired"},
		{"deregistered", func(s *shape) { poll(s, StateDraining, 102, 112) }, "api-1 100–110 by states, ejected yes state-changed", "fired"},
		{"displayed in: it is idle", func(s *shape) { poll(s, StateHealthy, 0, 0) }, "", "clear"},
		{"displayed in, and it answered none of 20", func(s *shape) {
			poll(s, StateHealthy, 0, 0)
			s.serve("alb", "api", "api-1", 2, 100, 110, true)
		}, "api-1 100–110 by traffic, ejected no failures-shared-to-the-end", "fired"},
		{"displayed in, and it answered none of four", func(s *shape) {
			poll(s, StateHealthy, 0, 0)
			s.serve("alb", "api", "api-1", 2, 100, 102, true)
		}, "", "clear"},
		{"displayed out while it served", func(s *shape) { poll(s, StateUnhealthy, 200, 220) }, "", "clear"},
		{"before the deploy began", func(s *shape) { s.obs.Deploy.StartedAt = s.at(150); s.obs.Steps[0].At = s.at(150) }, "", "clear"},
		{"no deploy", func(s *shape) { s.obs.Deploy, s.obs.Steps = Deploy{}, nil }, "", "fired"},
	} {
		s := newShape(t, "api-1", "api-2")
		s.serve("alb", "api", "api-1", 10, 0, 100, false)
		s.serve("alb", "api", "api-1", 10, 110, 300, false)
		s.serve("alb", "api", "api-2", 10, 0, 300, false)
		c.lay(s)
		r := Judge(s.obs)
		if got := gone(&s.scene, r); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if got := ruleState(r, "single-target"); got != c.alone {
			t.Errorf("%s: single-target %s, want %s", c.name, got, c.alone)
		}
	}
}

// Of a target that is hardly sent anything, that it was displayed out and served nothing
// meanwhile may be chance: whether another one was alone is not known.
func TestDisplayedOutAndHardlyUsed(t *testing.T) {
	for _, displayed := range []bool{true, false} {
		s := newShape(t, "api-1", "api-2")
		for at := 0.0; at < 300; at += 20 {
			s.serve("alb", "api", "api-1", 1, at, at+1, false)
			s.serve("alb", "api", "api-2", 1, at+10, at+11, false)
		}
		for at := 0.0; at < 300; at++ {
			state := StateHealthy
			if displayed && at >= 105 && at < 115 {
				state = StateUnhealthy
			}
			s.obs.States = append(s.obs.States, StateSample{Source: "states", TargetGroup: "api", Target: "api-1", At: s.at(at), State: state})
		}
		want := "clear"
		if displayed {
			want = "not_evaluable served_unknown"
		}
		if got := ruleState(Judge(s.obs), "single-target"); got != want {
			t.Errorf("displayed out %t: %s, want %s", displayed, got, want)
		}
	}
}

// The health-check log is asked before polled states, and only what ended counts.
func TestWhatDisplaysATarget(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	polls := []change{{before: at(9), seen: at(10), source: "states"}, {before: at(10), seen: at(11), source: "other"}, {in: true, before: at(19), seen: at(20), source: "states"}, {in: true, before: at(20), seen: at(21), source: "other"}, {before: at(30), seen: at(31), source: "states"}}
	log := &checked{source: "checks", changes: []checkedChange{{in: true, at: at(5)}, {at: at(8)}, {in: true, at: at(18)}, {at: at(40)}}}
	gossip := []change{{in: true, before: at(4), seen: at(5), source: "gossip"}, {before: at(9), seen: at(10), source: "gossip"}, {in: true, before: at(19), seen: at(20), source: "gossip"}}
	for _, c := range []struct {
		l    life
		want string
	}{
		{life{}, ""},
		{life{polled: true}, "states"},
		{life{polled: true, changes: polls}, "9–20 states"},
		{life{polled: true, changes: gossip}, "9–20 gossip"},
		{life{polled: true, changes: polls, checked: log}, "8–18 checks"},
	} {
		spans, source := c.l.displayed()
		got := ""
		for _, s := range spans {
			got += fmt.Sprintf("%d–%d ", s.from.Unix(), s.to.Unix())
		}
		if got += source; got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// A target was gone when it was told to stop; where nobody told, and it was ready again
// or is inferred to have been gone, when it last served.
func TestWhenATargetFell(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0).UTC() }
	for name, c := range map[string]struct {
		cycle cycle
		want  time.Time
	}{
		"told":                     {cycle{stop: at(100), ready: at(110), lastServed: at(90)}, at(100)},
		"told, and not ready":      {cycle{stop: at(100), lastServed: at(90)}, at(100)},
		"ready, and no stop told":  {cycle{ready: at(110), lastServed: at(90)}, at(90)},
		"inferred":                 {cycle{inferred: inferredFromTraffic, lastServed: at(90)}, at(90)},
		"marked only":              {cycle{marked: at(80), lastServed: at(90)}, time.Time{}},
		"new: it never served yet": {cycle{ready: at(110)}, time.Time{}},
	} {
		if got := c.cycle.fell(); !got.Equal(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
