package analysis

// reregistered fires when a target that the deploy had deregistered was back in the
// group, by its polled state, before the deploy registered it again or the target
// was ready: something other than the deploy puts targets back.
func reregistered(b *bench) ([]Finding, string) {
	if len(b.obs.States) == 0 {
		return nil, whyNoStates
	}
	var found []Finding
	gone := 0
	for _, l := range b.lives {
		for _, c := range l.cycles {
			if c.deregistered.IsZero() {
				continue
			}
			gone++
			until, told := b.moment(l.name, c.deregistered, StepTargetRegistered)
			if !told {
				until = earliest(c.ready, c.firstServed)
			}
			if until.IsZero() {
				until = b.seenTo
			}
			left := false
			for _, s := range b.statesOf(l.name) {
				if !s.At.After(c.deregistered) || !s.At.Before(until) {
					continue
				}
				here := s.State.InRotation() || s.State == StateInitial || s.State == StateUnhealthy
				if left && here {
					found = append(found, Finding{
						Severity: SeverityHigh, Target: new(l.name), From: Time{s.At}, To: Time{until},
						Values:   map[string]any{"state": s.State, "after_s": seconds(s.At.Sub(c.deregistered))},
						Evidence: []Evidence{{Kind: "states", Source: s.Source, From: Time{s.At}, To: Time{until}, Count: 1}},
					})
					break
				}
				left = left || s.State == StateDraining || s.State == StateUnused || s.State == StateUnusedNCP
			}
		}
	}
	if gone == 0 {
		return nil, whyNoMark
	}
	return found, ""
}
