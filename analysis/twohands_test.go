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
	s.fired(s.judge(), "fail-open", "restart-before-eject", "single-target", "single-target")
}

func stateIf(healthy bool) TargetState {
	if healthy {
		return StateHealthy
	}
	return StateUnhealthy
}
