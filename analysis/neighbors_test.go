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
