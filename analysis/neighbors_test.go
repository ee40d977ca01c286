package analysis

import "testing"

// The deploy before stopped api-1 at 10, and nobody told when it was ready: it served
// again from 20 on. This deploy stops it at 100 while it is in rotation, and the 50
// requests that it loses until 105 are its own.
func TestAnotherDeploysStopEndsWhereItsTargetServed(t *testing.T) {
	for _, told := range []bool{false, true} {
		s := newShape(t, "api-1", "api-2")
		s.obs.Neighbors = []Deploy{{ID: "d0", StartedAt: s.at(-100), ReportedAt: s.at(30)}}
		s.obs.Steps = append(s.obs.Steps, Step{Deploy: "d0", Kind: StepRestartBegan, Target: "api-1", At: s.at(10), Source: "ci"})
		if told {
			s.obs.Steps = append(s.obs.Steps, Step{Deploy: "d0", Kind: StepAppReady, Target: "api-1", At: s.at(19), Source: "ci"})
		}
		s.serve("alb", "api", "api-1", 10, 0, 10, false)
		s.serve("alb", "api", "api-1", 10, 20, 100, false)
		s.serve("alb", "api", "api-1", 10, 100, 105, true)
		s.serve("alb", "api", "api-1", 10, 105, 300, false)
		s.serve("alb", "api", "api-2", 10, 0, 300, false)
		s.restart("api-1", 100, 104.9)
		r := Judge(s.obs)
		if causes := r.Totals[ClassUser].Causes; causes[CauseDeploy] != 50 || len(causes) != 1 {
			t.Errorf("told %t: causes %v, want 50 by the deploy", told, causes)
		}
		s.claim(r, ClaimNoUserFailureCaused, Disproved, ReasonCausedByDeploy)
	}
}

// The deploy before takes api-1 down at 70, while this one builds; at 100 this one takes it
// over, and it serves again from 110. Until then api-1's failures are not this one's;
// then they are, whatever the other had done.
func TestATargetThatAnotherDeployLeftDown(t *testing.T) {
	s := newShape(t, "api-1", "api-2")
	s.obs.Neighbors = []Deploy{{ID: "d0", StartedAt: s.at(-100), ReportedAt: s.at(75)}}
	s.obs.Steps = append(s.obs.Steps, Step{Deploy: "d0", Kind: StepRestartBegan, Target: "api-1", At: s.at(70), Source: "ci"})
	s.serve("alb", "api", "api-1", 10, 0, 70, false)
	s.serve("alb", "api", "api-1", 10, 70, 110, true)
	s.serve("alb", "api", "api-1", 10, 110, 300, false)
	s.serve("alb", "api", "api-2", 10, 0, 300, false)
	s.restart("api-1", 100, 109.9)
	r := Judge(s.obs)
	// From 98 on, the check's timeout before the stop.
	if causes := r.Totals[ClassUser].Causes; causes[CauseShared] != 280 || causes[CauseDeploy] != 120 {
		t.Errorf("causes %v, want 280 shared and 120 by the deploy", causes)
	}
}

// The deploy before stops api-2 at 55 and tells of no readiness: only api-2's own line does, at
// 70, when this deploy has run for 10 s. That return ends the other's stop, and so do the
// failures until then. This one drains api-1 and loses nothing; or it stops api-2 again at
// 130, long after it left.
func TestAReadinessEndsTheStopOfTheDeployThatMadeIt(t *testing.T) {
	for _, own := range []string{"api-1", "api-2"} {
		s := newShape(t, "api-1", "api-2")
		s.obs.Neighbors = []Deploy{{ID: "d0", StartedAt: s.at(40), ReportedAt: s.at(72)}}
		s.obs.Steps = append(s.obs.Steps, Step{Deploy: "d0", Kind: StepRestartBegan, Target: "api-2", At: s.at(55), Source: "ci"})
		s.appStep(StepAppReady, "api-2", 70)
		other := map[string]string{"api-1": "api-2", "api-2": "api-1"}[own]
		s.serve("alb", "api", "api-2", 10, 0, 55, false)
		s.serve("alb", "api", "api-2", 10, 55, 70, true)
		s.serve("alb", "api", "api-1", 10, 0, 70, false)
		s.serve("alb", "api", other, 10, 70, 300, false)
		s.serve("alb", "api", own, 10, 70, 115, false)
		s.serve("alb", "api", own, 10, 150, 300, false)
		s.step(StepDrainMarked, own, 105)
		s.restart(own, 130, 140)
		r := Judge(s.obs)
		// 100 from 60 on, and 50 before it.
		if causes := r.Totals[ClassUser].Causes; causes[CauseShared] != 150 || len(causes) != 1 {
			t.Errorf("%s: causes %v, want 150 shared", own, causes)
		}
		s.claim(r, ClaimNoUserFailureCaused, Inconclusive, ReasonShared)
		ready := 0
		for _, x := range r.Targets {
			if !x.ReadyAt.IsZero() {
				ready++
			}
		}
		if ready != 1 {
			t.Errorf("%s: %d readinesses, want the one of its own stop", own, ready)
		}
	}
}

// Whose a readiness at 200 is that its target's own line tells: of the deploy that began last
// (d1, at 60), unless it ends a stop of the other one.
func TestWhoseAReadinessIs(t *testing.T) {
	for _, c := range []struct {
		name string
		lay  func(step func(deploy string, kind StepKind, target string, at float64))
		want string
	}{
		{"no stop", func(func(string, StepKind, string, float64)) {}, "d1"},
		{"of the other's stop", func(step func(string, StepKind, string, float64)) { step("d0", StepRestartBegan, "api-1", 50) }, "d0"},
		{"of a stop that only a line told", func(step func(string, StepKind, string, float64)) { step("", StepProcessKilled, "api-1", 50) }, "d0"},
		{"of the later stop", func(step func(string, StepKind, string, float64)) {
			step("d0", StepRestartBegan, "api-1", 50)
			step("d1", StepRestartBegan, "api-1", 150)
		}, "d1"},
		{"of another target's", func(step func(string, StepKind, string, float64)) { step("d0", StepRestartBegan, "api-2", 50) }, "d1"},
		{"of a later one", func(step func(string, StepKind, string, float64)) { step("d0", StepRestartBegan, "api-1", 200) }, "d1"},
		{"told by another source a minute before", func(step func(string, StepKind, string, float64)) {
			step("d0", StepRestartBegan, "api-1", 50)
			step("", StepAppReady, "api-1", 140)
		}, "d0"},
		{"after one that ended the stop", func(step func(string, StepKind, string, float64)) {
			step("d0", StepRestartBegan, "api-1", 50)
			step("", StepAppReady, "api-1", 139.9)
		}, "d1"},
		{"after another target's", func(step func(string, StepKind, string, float64)) {
			step("d0", StepRestartBegan, "api-1", 50)
			step("", StepAppReady, "api-2", 100)
		}, "d0"},
		{"though the last deploy told of one soon after", func(step func(string, StepKind, string, float64)) {
			step("d0", StepRestartBegan, "api-1", 50)
			step("d1", StepAppReady, "api-1", 230)
		}, "d0"},
	} {
		b := newTable()
		b.obs.Neighbors = []Deploy{{ID: "d0", StartedAt: b.at(40)}}
		c.lay(func(deploy string, kind StepKind, target string, at float64) {
			b.obs.Steps = append(b.obs.Steps, Step{Deploy: deploy, Kind: kind, Target: target, At: b.at(at), Inferred: deploy == ""})
		})
		if got := b.owner(Step{Kind: StepAppReady, Target: "api-1", At: b.at(200), Inferred: true}); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// This deploy reports at 70 and tells of no target. The next one begins at 95 and stops api-1
// at 100, which it tells or not; api-1 fails 200 users until it serves again from 120 on. None
// of that is this deploy's; where both stops are untold, whose it is stays open. And what
// api-1 does while the next one has not begun is this one's.
func TestAnUntoldStopOfTheNextDeploy(t *testing.T) {
	for _, c := range []struct {
		name   string
		next   float64 // its start; 0: there is none
		tells  string
		cause  Cause
		state  VerdictState
		reason string
	}{
		{"told", 95, "d2", CauseShared, Inconclusive, ReasonShared},
		{"told by a line", 95, "", CauseShared, Inconclusive, ReasonShared},
		{"untold", 95, "nobody", CauseUnexplained, Inconclusive, ReasonUnexplained},
		{"told, and its start is told late", 101, "d2", CauseShared, Inconclusive, ReasonShared},
		{"before it", 130, "nobody", CauseDeploy, Disproved, ReasonCausedByDeploy},
		{"without one", 0, "nobody", CauseDeploy, Disproved, ReasonCausedByDeploy},
	} {
		s := newShape(t, "api-1", "api-2")
		s.obs.Deploy.ReportedAt, s.obs.Steps[1].At = s.at(70), s.at(70)
		if c.next > 0 {
			s.obs.Neighbors = []Deploy{{ID: "d2", StartedAt: s.at(c.next), ReportedAt: s.at(200)}}
		}
		if c.tells != "nobody" {
			s.obs.Steps = append(s.obs.Steps, Step{Deploy: c.tells, Kind: StepRestartBegan, Target: "api-1", At: s.at(100), Source: "ci", Inferred: c.tells == ""})
		}
		s.serve("alb", "api", "api-2", 10, 0, 300, false)
		s.serve("alb", "api", "api-1", 10, 0, 100, false)
		s.serve("alb", "api", "api-1", 10, 100, 120, true)
		s.serve("alb", "api", "api-1", 10, 120, 300, false)
		r := Judge(s.obs)
		if causes := r.Totals[ClassUser].Causes; causes[c.cause] != 200 {
			t.Errorf("%s: causes %v, want 200 %s", c.name, causes, c.cause)
		}
		s.claim(r, ClaimNoUserFailureCaused, c.state, c.reason)
		if x := r.SingleTarget; len(x) != 1 || x[0].Seconds < 20 || x[0].Seconds > 20.2 {
			t.Errorf("%s: alone %+v, want api-2 from 100 to 120", c.name, x)
		}
	}
}

// api-1 served nothing from 100 to 120, and another deploy had stopped it in that time or
// not: by the log's clock, or by one that is from 9.9 to 10.1 s ahead of it.
func TestStoppedByAnotherDeploy(t *testing.T) {
	for _, c := range []struct {
		target, clock string
		from, to      float64
		want          bool
	}{
		{"api-1", "alb", 98, 100, false}, {"api-1", "alb", 98, 100.1, true}, {"api-2", "alb", 98, 100.1, false},
		{"api-1", "alb", 119.9, 130, true}, {"api-1", "alb", 120, 130, false}, {"api-2", "alb", 119.9, 130, false},
		{"api-1", "api-1.log", 105, 109.9, false}, {"api-1", "api-1.log", 105, 110, true},
		{"api-1", "api-1.log", 130, 140, true}, {"api-1", "api-1.log", 130.1, 140, false},
	} {
		b := newClocks()
		b.foreign = []drain{{target: c.target, clock: c.clock, from: b.at(c.from), to: b.at(c.to)}}
		if got := b.stoppedByNeighbor(b.life("api-1"), cycle{lastServed: b.at(100), firstServed: b.at(120)}); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}
