package analysis

import (
	"slices"
	"testing"
	"time"
)

// noticed makes of the scene a deploy that nobody announced, as it would be noticed.
func (s *shape) noticed() {
	s.t.Helper()
	n := Notice(s.obs.Service, s.obs.Steps, s.obs.States, nil, s.at(400))
	if len(n.Deploys) != 1 {
		s.t.Fatalf("noticed %+v", n)
	}
	s.obs.Deploy = n.Deploys[0]
	s.obs.From, s.obs.To = WindowOf(s.obs.Deploy, s.obs.Service.Window)
	s.obs.Steps = append(s.obs.Steps, Step{Deploy: s.obs.Deploy.ID, Kind: StepDeployStarted, At: s.obs.Deploy.StartedAt, Source: NoticedSource, Inferred: true})
}

// Nobody announced anything. api-1 dies at 100 and fails 190 users until it is ejected,
// as a poll at 119 shows: the first sign is the poll at 118. What it failed on the way to
// the sign is the fault's; what it and the other failed apart from that is not.
func TestAFaultBeginsWithWhatFailedBeforeItsFirstSign(t *testing.T) {
	s := newShape(t, "api-1", "api-2")
	s.obs.Steps = nil
	s.serve("alb", "api", "api-2", 10, 0, 300, false)
	s.serve("alb", "api", "api-1", 10, 0, 100, false)
	s.serve("alb", "api", "api-1", 1, 70, 71, true)
	s.serve("alb", "api", "api-2", 1, 80, 81, true)
	s.serve("alb", "api", "api-1", 10, 100, 119, true)
	s.serve("alb", "api", "api-1", 10, 171, 300, false)
	for at := 0.0; at < 300; at++ {
		for _, name := range []string{"api-1", "api-2"} {
			state := StateHealthy
			if name == "api-1" && at >= 119 && at < 170 {
				state = StateUnhealthy
			}
			s.obs.States = append(s.obs.States, StateSample{Source: "states", TargetGroup: "api", Target: name, At: s.at(at), State: state})
		}
	}
	s.noticed()
	r := Judge(s.obs)
	if !r.Deploy.StartedAt.Equal(s.at(118)) || r.Deploy.Kind != KindFault {
		t.Fatalf("noticed %+v", r.Deploy)
	}
	if causes := r.Totals[ClassUser].Causes; causes[CauseDeploy] != 190 || causes[CauseBackground] != 2 || len(causes) != 2 {
		t.Errorf("causes %v, want 190 by the fault and two of before", causes)
	}
	s.claim(r, ClaimNoUserFailureCaused, Disproved, ReasonCausedByDeploy)
	if e := r.Claims[0].Evidence; len(e) != 1 || e[0].Count != 190 {
		t.Errorf("evidence %+v", e)
	}
	s.phases(r, "baseline", "api-1 down", "api-1 back")
	if at := r.Phases[0].To; !at.Equal(s.at(100.001)) {
		t.Errorf("the baseline ends at %s", at.Sub(s.zero))
	}
	if got := r.Steps[1]; got.Kind != StepDeployStarted || !got.At.Equal(s.at(100.001)) {
		t.Errorf("step after the last request: %+v", got)
	}
	// A deploy that began while api-1 was away is not the one that took it away.
	s.obs.Neighbors = []Deploy{{ID: "d2", StartedAt: s.at(150)}}
	if causes := Judge(s.obs).Totals[ClassUser].Causes; causes[CauseDeploy] != 190 {
		t.Errorf("causes %v, want 190 by the fault", causes)
	}
}

// A kill that no line tells of: api-1 says at 126 that it is ready, and that is the first
// sign. It had failed 240 users since 100.
func TestAKillThatOnlyReadinessTells(t *testing.T) {
	s := newShape(t, "api-1", "api-2")
	s.obs.Steps = nil
	s.serve("alb", "api", "api-2", 10, 0, 300, false)
	s.serve("alb", "api", "api-1", 10, 0, 100, false)
	s.serve("alb", "api", "api-1", 10, 100, 124, true)
	s.serve("alb", "api", "api-1", 10, 127, 300, false)
	s.appStep(StepAppReady, "api-1", -7200) // it was at work before
	s.appStep(StepAppReady, "api-1", 126)
	s.noticed()
	r := Judge(s.obs)
	if causes := r.Totals[ClassUser].Causes; causes[CauseDeploy] != 240 || len(causes) != 1 {
		t.Errorf("causes %v, want 240 by the kill", causes)
	}
	s.claim(r, ClaimNoUserFailureCaused, Disproved, ReasonCausedByDeploy)
	s.phases(r, "baseline", "api-1 down", "api-1 back", "tail")
}

// The first sign is at 60: api-1 is ready. It last answered well at 40.
func TestWhenANoticedDeployBegan(t *testing.T) {
	failed := func(b *table, target string, start, end float64) *Request {
		b.obs.Requests = append(b.obs.Requests, Request{CellKey: CellKey{Source: "alb", TargetGroup: "api", Target: target, Class: ClassUser, Outcome: OutcomeLB5xx, Status: 502}, Start: b.at(start), End: b.at(end)})
		return &b.obs.Requests[len(b.obs.Requests)-1]
	}
	step := func(b *table, kind StepKind, target string, at float64) {
		b.obs.Steps = append(b.obs.Steps, Step{Kind: kind, Target: target, At: b.at(at), Source: target + ".log", Inferred: true})
	}
	well := func(b *table, target string, at float64) *Cell {
		return b.cell("alb", target, at, at, 1)
	}
	ready := func(b *table) { step(b, StepAppReady, "api-1", 60); well(b, "api-1", 40) }
	out := func(b *table, target string, at float64) {
		l := b.life(target)
		l.changes = append(l.changes, change{before: b.at(at), seen: b.at(at + 1), source: "states"})
	}
	for _, c := range []struct {
		name string
		lay  func(*table)
		want string
	}{
		{"nothing failed", ready, "60"},
		{"failed since then", func(b *table) { ready(b); failed(b, "api-1", 50, 51); failed(b, "api-1", 41, 42) }, "42"},
		{"announced", func(b *table) { ready(b); failed(b, "api-1", 50, 51); b.obs.Deploy.SeenUntil = time.Time{} }, "60"},
		{"failed as it answered", func(b *table) { ready(b); failed(b, "api-1", 39, 40) }, "60"},
		{"failed as the sign came", func(b *table) { ready(b); failed(b, "api-1", 59, 60) }, "60"},
		{"sent before it answered, and failed after", func(b *table) { ready(b); failed(b, "api-1", 39, 40.5) }, "40.5"},
		{"only counted, and reaching beyond the sign", func(b *table) {
			ready(b)
			cell := b.cell("alb", "api-1", 59.5, 60.5, 2)
			cell.Outcome, cell.Status, cell.TargetStatus = OutcomeLB5xx, 502, 0
		}, "59.5"},
		{"the other failed", func(b *table) { ready(b); failed(b, "api-2", 50, 51) }, "60"},
		{"nobody named", func(b *table) { ready(b); failed(b, "", 50, 51) }, "51"},
		{"nobody named, before it last answered", func(b *table) { ready(b); failed(b, "", 38, 39) }, "60"},
		{"nobody named, of another group", func(b *table) {
			ready(b)
			b.life("api-2").groups["web"] = true
			failed(b, "", 50, 51).TargetGroup = "web"
		}, "60"},
		{"it answered, but not well", func(b *table) {
			ready(b)
			cell := well(b, "api-1", 55)
			cell.Outcome, cell.Status, cell.TargetStatus = OutcomeTarget5xx, 500, 500
			failed(b, "api-1", 50, 51)
		}, "51"},
		{"answered as the sign came", func(b *table) { ready(b); well(b, "api-1", 60); failed(b, "api-1", 50, 51) }, "51"},
		{"answered well in between", func(b *table) { ready(b); well(b, "api-1", 55); failed(b, "api-1", 50, 51) }, "60"},
		{"it never answered before", func(b *table) { step(b, StepAppReady, "api-1", 60); well(b, "api-2", 40); failed(b, "api-1", 1, 2) }, "2"},
		{"it never answered before, and nobody is named", func(b *table) { step(b, StepAppReady, "api-1", 60); well(b, "api-2", 40); failed(b, "", 1, 2) }, "60"},
		{"nothing tells who answered, and nobody is named", func(b *table) { step(b, StepAppReady, "api-1", 60); failed(b, "", 1, 2) }, "2"},
		{"nothing tells of it", func(b *table) { failed(b, "api-1", 50, 51) }, "60"},
		{"stopped", func(b *table) { step(b, StepProcessKilled, "api-1", 60); failed(b, "api-1", 58, 59) }, "59"},
		{"marked", func(b *table) { step(b, StepDrainMarked, "api-1", 60); failed(b, "api-1", 58, 59) }, "60"},
		{"registered", func(b *table) { step(b, StepTargetRegistered, "api-1", 60); failed(b, "api-1", 58, 59) }, "60"},
		{"stopped before the first sign", func(b *table) { step(b, StepProcessKilled, "api-1", 59.9); failed(b, "api-1", 58, 59) }, "60"},
		{"the other gave a sign later, after it had failed early", func(b *table) {
			ready(b)
			step(b, StepProcessKilled, "api-2", 100)
			well(b, "api-2", 30)
			failed(b, "api-1", 50, 51)
			failed(b, "api-2", 34, 35)
		}, "35"},
		// With checks every 10 s, two of them and a timeout of 2 s, they may have failed since 38.
		{"ejected, though it answered", func(b *table) { out(b, "api-1", 60); well(b, "api-1", 55); failed(b, "api-1", 38, 39) }, "39"},
		{"ejected, long after a failure", func(b *table) { out(b, "api-1", 60); well(b, "api-1", 55); failed(b, "api-1", 37, 38) }, "60"},
		{"ejected, and had not answered for longer", func(b *table) { out(b, "api-1", 60); well(b, "api-1", 20); failed(b, "api-1", 24, 25) }, "25"},
		{"ejected by checks of which nothing is known", func(b *table) {
			out(b, "api-1", 60)
			well(b, "api-1", 55)
			failed(b, "api-1", 38, 39)
			b.obs.Service.LoadBalancers[0].TargetGroups[0].Health = HealthCheck{}
		}, "60"},
		{"ejected by checks of which nothing is known, and never answered", func(b *table) {
			out(b, "api-1", 60)
			failed(b, "api-1", 1, 2)
			b.obs.Service.LoadBalancers[0].TargetGroups[0].Health = HealthCheck{}
		}, "2"},
		{"ejected before the first sign", func(b *table) { out(b, "api-1", 59.9); failed(b, "api-1", 58, 59) }, "60"},
		{"in rotation again", func(b *table) {
			out(b, "api-1", 60)
			b.life("api-1").changes[0].in = true
			failed(b, "api-1", 58, 59)
		}, "60"},
		{"ejected, and then stopped", func(b *table) {
			out(b, "api-1", 60)
			step(b, StepRestartBegan, "api-1", 65)
			well(b, "api-1", 55)
			failed(b, "api-1", 38, 39)
		}, "39"},
		{"stopped, and ejected by that", func(b *table) {
			out(b, "api-1", 60)
			step(b, StepRestartBegan, "api-1", 60)
			well(b, "api-1", 55)
			failed(b, "api-1", 38, 39)
		}, "60"},
		{"ejected for the first time", func(b *table) {
			out(b, "api-1", 60)
			out(b, "api-1", 90)
			well(b, "api-1", 55)
			well(b, "api-1", 75)
			failed(b, "api-1", 38, 39)
		}, "39"},
	} {
		b := newTable()
		b.obs.Deploy.ReportedAt, b.obs.Deploy.SeenUntil = time.Time{}, b.at(120)
		b.obs.Steps = []Step{{Deploy: "d1", Kind: StepDeployStarted, At: b.at(60), Source: NoticedSource, Inferred: true}}
		c.lay(b)
		b.findUnkept()
		b.readServing()
		b.readSteps()
		if got := b.seconds(b.started); got != c.want {
			t.Errorf("%s: began at %s, want %s", c.name, got, c.want)
		}
		start := b.steps[slices.IndexFunc(b.steps, isStart)]
		if moved := c.want != "60"; b.seconds(start.At) != c.want || moved != (start.Clock == "alb") {
			t.Errorf("%s: starts with %+v", c.name, start)
		}
		if len(b.failures) > 0 {
			t.Errorf("%s: %d failures are there before they are collected", c.name, len(b.failures))
		}
	}
}

func isStart(s step) bool { return s.Kind == StepDeployStarted }
