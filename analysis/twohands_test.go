package analysis

import "testing"

// A target that something put back while it drained is stopped in the middle of its
// traffic. The wait was long enough, and no mark lapsed.
func TestPutBackWhileItDrained(t *testing.T) {
	s := newScene(t)
	s.step(StepTargetDeregistered, "api-1", 77.5)
	s.out["api-1"] = append(s.out["api-1"], span{s.at(77.5), s.at(91)})
	s.stop("api-1", 110, 118, false)
	s.step(StepTargetRegistered, "api-1", 118.5)
	s.prepare()
	for i := range s.obs.States {
		if x := &s.obs.States[i]; x.Target == "api-1" && x.State == StateUnhealthy {
			x.State = StateDraining
		}
	}
	s.fired(s.judge(), "reregistered", "draining-target-served", "restart-before-eject", "single-target")
}

// A target that was ejected in time is sent requests all the same when no other is in
// rotation. Its wait was long enough, and its state does not lag when it serves before
// it is healthy.
func TestStoppedWhileNobodyWasInRotation(t *testing.T) {
	s := newScene(t)
	s.step(StepDrainMarked, "api-1", 75)
	s.stop("api-1", 100, 104, false)
	s.out["api-2"] = append(s.out["api-2"], span{s.at(0), s.at(85)})
	s.out["api-1"] = append(s.out["api-1"], span{s.at(112), s.at(124)})
	s.prepare()
	for i := range s.obs.States {
		switch x := &s.obs.States[i]; x.Target {
		case "api-1":
			x.State = stateIf(x.At.Before(s.at(85)) || !x.At.Before(s.at(124)))
		case "api-2":
			x.State = stateIf(!x.At.Before(s.at(112)))
		}
	}
	r := s.judge()
	// alone: api-1 until 85, api-2 from 100 to 104, and, of which no step tells, from 112 to 124
	s.fired(r, "fail-open", "restart-before-eject", "single-target", "single-target", "single-target")
	if api := r.Targets[0]; api.Ejected != "no" || api.EjectedBasis[0] != BasisFailOpen {
		t.Errorf("ejected %s for %v", api.Ejected, api.EjectedBasis)
	}
}

func stateIf(healthy bool) TargetState {
	if healthy {
		return StateHealthy
	}
	return StateUnhealthy
}

// The health answers of a drain that the deploy before this one ordered are drain
// answers in this deploy's window too.
func TestDrainOfTheDeployBefore(t *testing.T) {
	s := newScene(t)
	s.obs.Neighbors = []Deploy{{ID: "d0", StartedAt: s.at(-50), ReportedAt: s.at(55)}}
	s.obs.Steps = append(s.obs.Steps,
		Step{Deploy: "d0", Kind: StepDrainMarked, Target: "api-2", At: s.at(3), Source: "workflow"},
		Step{Deploy: "d0", Kind: StepRestartBegan, Target: "api-2", At: s.at(20), Source: "workflow"},
	)
	s.appStep(StepAppReady, "api-2", 25)
	s.stop("api-1", 100, 115, true)
	s.stop("api-2", 170, 185, true)
	s.prepare()
	marked := 0
	for i := range s.obs.Probes {
		if p := &s.obs.Probes[i]; p.Class == ClassHealth && p.Sent.After(s.at(5)) && p.Sent.Before(s.at(15)) {
			p.Status, p.Outcome = 503, OutcomeDrain503
			marked++
		}
	}
	health := s.judge().Totals[ClassHealth]
	served := 0 // by api-1, which nobody had marked
	for _, h := range s.obs.Handled {
		if h.Target == "api-1" && h.Seq >= 100_000 && h.At.After(s.at(5)) && h.At.Before(s.at(15)) {
			served++
		}
	}
	if served == 0 || health.Outcomes[OutcomeTarget5xx] != served || health.Outcomes[OutcomeDrain503] != marked-served {
		t.Errorf("%d answers, %d of them by api-1: counted as %v", marked, served, health.Outcomes)
	}
}
