package analysis

// healthCheckNeverPasses fires when a target was ready, and its polled state did not
// come into rotation in twice the time that the settings allow.
func healthCheckNeverPasses(b *bench) ([]Finding, string) {
	if len(b.obs.States) == 0 {
		return nil, whyNoStates
	}
	var found []Finding
	evaluable := false
	for _, l := range b.lives {
		h := b.health(l.group)
		for _, c := range l.cycles {
			if c.ready.IsZero() || !h.Known() || !l.polled {
				continue
			}
			since := c.ready
			if c.arrives { // it is checked from its registration on
				registered := latest(c.registered, b.registeredBy(l, c.ready))
				if registered.IsZero() {
					continue
				}
				since = latest(since, registered)
			}
			due := since.Add(2 * predictedReturn(h))
			if due.After(b.seenTo) {
				continue
			}
			evaluable = true
			in := false
			for _, s := range b.obs.States {
				in = in || s.Target == l.name && s.State.InRotation() && s.At.After(c.ready)
			}
			if in {
				continue
			}
			found = append(found, Finding{
				Severity: SeverityHigh, Target: new(l.name), From: Time{c.ready}, To: Time{b.seenTo},
				Values:   map[string]any{"waited_s": seconds(b.seenTo.Sub(since)), "expected_s": seconds(predictedReturn(h)), "path": h.Path},
				Evidence: []Evidence{{Kind: "states", Source: "states", From: Time{c.ready}, To: Time{b.seenTo}}},
			})
		}
	}
	if !evaluable {
		return nil, whyNoStop
	}
	return found, ""
}
