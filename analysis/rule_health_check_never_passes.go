package analysis

// healthCheckNeverPasses fires when a target was ready, twice the time that the
// settings allow for its return has passed, and no poll since it was ready has it in
// rotation. One that came late has passed after all.
func healthCheckNeverPasses(b *bench) ([]Finding, string) {
	if len(b.obs.States) == 0 {
		return nil, whyNoStates
	}
	var found []Finding
	evaluable := false
	for _, l := range b.lives {
		h := b.health(l.group)
		for _, c := range l.cycles {
			if c.ready.IsZero() || !h.Known() {
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
			in, polls, source := false, 0, ""
			for _, s := range b.obs.States {
				if s.Target == l.name && s.At.After(c.ready) {
					in = in || s.State.InRotation()
					polls++
					source = s.Source
				}
			}
			if polls == 0 { // nobody looked
				continue
			}
			evaluable = true
			if in {
				continue
			}
			found = append(found, Finding{
				Severity: SeverityHigh, Target: new(l.name), From: Time{c.ready}, To: Time{b.seenTo},
				Values:   map[string]any{"waited_s": seconds(b.seenTo.Sub(since)), "expected_s": seconds(predictedReturn(h)), "path": h.Path},
				Evidence: []Evidence{{Kind: "states", Source: source, From: Time{c.ready}, To: Time{b.seenTo}, Count: polls}},
			})
		}
	}
	if !evaluable {
		return nil, whyNoStop
	}
	return found, ""
}
