package analysis

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// Only the start and the report of the deploy are told. api-1 restarts in a second and
// fails two users, as one had failed there before; no state changes. That this was no
// stop's doing nobody can say.
func TestAFailureIsNoBackgroundWhereNoStopIsKnown(t *testing.T) {
	s := newShape(t, "api-1", "api-2")
	s.serve("alb", "api", "api-2", 4, 0, 300, false)
	s.serve("alb", "api", "api-1", 4, 0, 120, false)
	s.serve("alb", "api", "api-1", 4, 121, 300, false)
	s.serve("alb", "api", "api-1", 1, 30, 31, true)
	s.serve("alb", "api", "api-1", 2, 120, 121, true)
	r := Judge(s.obs)
	if causes := r.Totals[ClassUser].Causes; causes[CauseBackground] != 1 || causes[CauseUnexplained] != 2 {
		t.Errorf("causes %v, want one before the deploy and two unexplained", causes)
	}
	s.claim(r, ClaimNoUserFailureCaused, Inconclusive, ReasonUnexplained)
	s.condition(r, "stops-unknown")

	// A stop of the other that is told says nothing of this one, which served nobody for as
	// long as that one took.
	s.restart("api-2", 200, 201)
	r = Judge(s.obs)
	if causes := r.Totals[ClassUser].Causes; causes[CauseBackground] != 1 || causes[CauseUnexplained] != 2 {
		t.Errorf("causes %v, want one before the deploy and two unexplained", causes)
	}
	s.condition(r, "targets-untold")
	// One that took longer than this one can have been away does.
	steps := s.obs.Steps
	s.obs.Steps = slices.Clone(steps[:len(steps)-2])
	s.restart("api-2", 200, 203)
	r = Judge(s.obs)
	if causes := r.Totals[ClassUser].Causes; causes[CauseBackground] != 3 {
		t.Errorf("causes %v, want background alone", causes)
	}
	// In a span without a deploy nobody was stopped by one.
	s.obs.Deploy, s.obs.Steps = Deploy{}, nil
	r = Judge(s.obs)
	if causes := r.Totals[ClassUser].Causes; causes[CauseUnexplained] != 3 {
		t.Errorf("causes %v, want nothing to compare with", causes)
	}
}

// Of api-1 only the line is known by which it was ready, at 126. It served until 100, and
// again from 126 on: it was stopped in between, and two of the users who were sent to it
// failed.
func TestReadyWithoutAStopWasDownSinceItServed(t *testing.T) {
	s := newShape(t, "api-1", "api-2")
	for at := 0.0; at < 300; at += 2 {
		s.serve("alb", "api", "api-2", 1, at, at+1, false)
		if at < 100 || at >= 126 {
			s.serve("alb", "api", "api-1", 1, at+1, at+2, false)
		}
	}
	s.serve("alb", "api", "api-1", 1, 30, 31, true)
	s.serve("alb", "api", "api-1", 1, 108, 109, true)
	s.serve("alb", "api", "api-1", 1, 117, 118, true)
	s.appStep(StepAppReady, "api-1", 126)
	r := Judge(s.obs)
	if causes := r.Totals[ClassUser].Causes; causes[CauseDeploy] != 2 || causes[CauseBackground] != 1 {
		t.Errorf("causes %v, want two by the deploy and one before it", causes)
	}
	s.claim(r, ClaimNoUserFailureCaused, Disproved, ReasonCausedByDeploy)
	s.claim(r, ClaimEjectedBeforeStop, Inconclusive, ReasonStopUnknown)
	s.condition(r, "stops-unknown")
	s.phases(r, "baseline", "build", "api-1 down", "api-1 back", "tail")
	if p := r.Phases[2]; !p.Inferred || !p.From.Equal(s.at(99)) || !p.To.Equal(s.at(126)) {
		t.Errorf("down from %s to %s", p.From.Sub(s.zero), p.To.Sub(s.zero))
	}
	if len(r.SingleTarget) != 1 || r.SingleTarget[0].Target != "api-2" || !r.SingleTarget[0].From.Equal(s.at(99)) || !r.SingleTarget[0].To.Equal(s.at(127)) {
		t.Errorf("single %+v", r.SingleTarget)
	}

	// It had not served since before the deploy began: the phase begins with the deploy.
	s.obs.Deploy.StartedAt = s.at(110)
	s.obs.Steps[0].At = s.at(110)
	r = Judge(s.obs)
	s.phases(r, "baseline", "api-1 down", "api-1 back", "tail")
	if p := r.Phases[1]; !p.From.Equal(s.at(110)) {
		t.Errorf("down from %s", p.From.Sub(s.zero))
	}

	// Where its stop is told, that says when it was gone.
	s.step(StepRestartBegan, "api-1", 116)
	r = Judge(s.obs)
	s.phases(r, "baseline", "build", "api-1 restart", "api-1 back", "tail")
}

// A mark tells of the way out, so that the drain is the phase, though the stop stays
// unknown and the target had not served for a while.
func TestMarkedAndReadyWithoutAStop(t *testing.T) {
	s := newShape(t, "api-1", "api-2")
	s.serve("alb", "api", "api-2", 4, 0, 300, false)
	s.serve("alb", "api", "api-1", 4, 0, 98, false)
	s.serve("alb", "api", "api-1", 4, 126, 300, false)
	s.step(StepDrainMarked, "api-1", 100)
	s.appStep(StepAppReady, "api-1", 120)
	r := Judge(s.obs)
	s.phases(r, "baseline", "build", "api-1 drain", "api-1 back", "tail")
	s.claim(r, ClaimNoUserFailureCaused, Supported, ReasonNoFailure)
	s.condition(r, "stops-unknown")
	if got := time.Duration(r.SingleTarget[0].Seconds * float64(time.Second)); got < 28*time.Second || got > 28300*time.Millisecond {
		t.Errorf("alone for %s, want 28 s", got)
	}
}

// api-1 was stopped at 100 and ready at 110; of api-2 no step tells, and a request that it
// was sent from 200 to 201 failed.
func TestWhetherAnUntoldTargetMayHaveRestarted(t *testing.T) {
	around := func(at ...float64) func(*table) { return func(b *table) { b.life("api-2", at...) } }
	for _, c := range []struct {
		name string
		lay  func(*table)
		want bool
	}{
		{"it served within half of that", around(198, 202.999), false},
		{"not within half", around(198, 203), true},
		{"never before", around(202), true},
		{"never after", around(199), true},
		{"as the request began and ended", around(200, 201), false},
		{"in between, and long after", around(198, 200.5, 203), true},
		{"badly soon after", func(b *table) { b.life("api-2", 198, 202, 203.5).points[1].failed = true }, true},
		{"only in between", around(200.1, 200.9), true},
		{"badly before", func(b *table) { b.life("api-2", 198, 199.9, 202.9).points[1].failed = true }, false},
		{"well so long before only", func(b *table) { b.life("api-2", 190, 199.9, 202.9).points[1].failed = true }, true},
		{"in whole seconds, perhaps not before", func(b *table) { b.coarse("api-2", 196, 199.5, 201) }, true},
		{"in whole seconds", func(b *table) { b.coarse("api-2", 198, 199, 201) }, false},
		{"a shorter restart is known", func(b *table) { b.cut("api-1").ready = b.at(104); around(198, 200, 202)(b) }, true},
		{"a longer one is known as well", func(b *table) { b.cut("api-1").ready = b.at(113); around(198, 203)(b) }, true},
		{"one that was back at once", func(b *table) { b.cut("api-1").ready = b.at(100); around(198, 202.9)(b) }, false},
		{"one without an end is known as well", func(b *table) { b.cycle("api-1", 150, 0, 0); around(198, 202.9)(b) }, false},
		{"one without a stop is known as well", func(b *table) { b.cycle("api-1", 0, 150, 151); around(198, 202.9)(b) }, false},
		{"no restart of its own group is known", func(b *table) { b.byName["api-1"].group = "web"; around(199.9, 201.1)(b) }, true},
		{"no stop is known", func(b *table) {
			b.byName["api-1"].cycles[0].stop = time.Time{}
			around(199.9, 201.1)(b)
		}, true},
		{"no restart is known from stop to return", func(b *table) {
			b.byName["api-1"].cycles[0].ready, b.byName["api-1"].cycles[0].firstServed = time.Time{}, time.Time{}
			around(199.9, 201.1)(b)
		}, true},
	} {
		b := newTable()
		b.cut("api-1")
		c.lay(b)
		if got := b.mayHaveRestarted(b.byName["api-2"], b.lost("api-2", 200, 201)); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

// Nothing tells of a target where something tells of another one of its group, in a deploy
// that goes from one to the next.
func TestOfWhomNothingTells(t *testing.T) {
	for _, c := range []struct {
		name string
		lay  func(*table)
		want string
	}{
		{"the other", func(*table) {}, "api-2"},
		{"a deploy in place", func(b *table) { b.obs.Deploy.Kind = KindInPlace }, "api-2"},
		{"a fault is of one target", func(b *table) { b.obs.Deploy.Kind = KindFault }, ""},
		{"blue and green", func(b *table) { b.obs.Deploy.Kind = KindBlueGreen }, ""},
		{"no deploy", func(b *table) { b.obs.Deploy.ID = "" }, ""},
		{"both are told", func(b *table) { b.cut("api-2") }, ""},
		{"none is told", func(b *table) { b.byName["api-1"].cycles = nil }, ""},
		{"the told one is of another group", func(b *table) { b.byName["api-1"].group = "web" }, ""},
		{"it was sent nothing", func(b *table) { b.byName["api-2"].points = nil }, ""},
	} {
		b := newTable()
		b.life("api-1", 90, 120)
		b.life("api-2", 90, 120)
		b.cut("api-1")
		c.lay(b)
		if got := strings.Join(b.untoldTargets(), " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
