package analysis

import (
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

	// A stop of the other that is told says when this deploy was at work.
	s.restart("api-2", 200, 201)
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
