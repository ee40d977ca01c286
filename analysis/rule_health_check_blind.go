package analysis

// healthCheckBlind fires when a target surely was down for longer than ejection can take,
// its state was polled all the while, and every poll told what the last one before
// it stopped serving had told: the check does not look at what died, or it could not
// pass before either. It fires too where the load balancer says that checks are
// disabled.
func healthCheckBlind(b *bench) ([]Finding, string) {
	if len(b.obs.States) == 0 {
		return nil, whyNoStates
	}
	var found []Finding
	long := false
	for _, l := range b.lives {
		h := b.health(l.group)
		for _, c := range l.cycles {
			if c.stop.IsZero() || c.ready.IsZero() || !h.Known() || !l.polled {
				continue
			}
			stop, ready := b.toldAt(l.name, c.stop), b.toldAt(l.name, c.ready)
			down, _ := b.apart(stop, ready)
			if seconds(down) <= predict(h).Eject.To {
				continue
			}
			long = true
			polls, changed, source := 0, false, ""
			alive := StateHealthy // what is said of a target that serves
			for _, s := range b.statesOf(l.name) {
				poll := dated{s.At, s.Source}
				switch {
				case !c.lastServed.IsZero() && b.surelyBefore(poll, b.served(c.lastServed)):
					alive = s.State
				case b.surelyBefore(stop, poll) && b.surelyBefore(poll, ready):
					polls++
					source = s.Source
					changed = changed || s.State.InRotation() != alive.InRotation()
				}
			}
			if polls == 0 || changed {
				continue
			}
			found = append(found, Finding{
				Severity: SeverityHigh, Target: new(l.name), From: Time{c.stop}, To: Time{c.ready},
				Values:   map[string]any{"down_s": seconds(down), "eject_within_s": predict(h).Eject.To, "polls": polls, "path": h.Path},
				Evidence: []Evidence{{Kind: "states", Source: source, From: Time{c.stop}, To: Time{c.ready}, Count: polls}},
			})
		}
	}
	for _, s := range b.obs.States {
		if s.State == StateUnavailable && s.Reason == "Target.HealthCheckDisabled" && b.inWindow(s.At) {
			found = append(found, Finding{
				Severity: SeverityMedium, Target: new(s.Target), From: Time{s.At}, To: Time{s.At},
				Values:   map[string]any{"down_s": nil, "eject_within_s": nil, "polls": 1, "path": nil},
				Evidence: []Evidence{{Kind: "states", Source: s.Source, From: Time{s.At}, To: Time{s.At}, Count: 1}},
			})
			break
		}
	}
	if len(found) == 0 && !long {
		return nil, whyNoStop
	}
	return found, ""
}
