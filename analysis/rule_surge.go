package analysis

// surgeRule fires for one outcome on every route and class where it surged: far
// more of it than the baseline lets expect, so that a claim about failures must not
// pass it over.
func surgeRule(outcome Outcome) func(*bench) ([]Finding, string) {
	return func(b *bench) ([]Finding, string) {
		var found []Finding
		for _, s := range b.surges {
			if s.outcome != outcome || s.alone {
				continue
			}
			found = append(found, Finding{
				Severity: SeverityMedium, From: Time{b.started}, To: Time{b.seenTo},
				Values: map[string]any{
					"traffic": s.class, "outcome": s.outcome, "route": s.route, "p": s.test.P,
					"baseline": s.test.BaselineFailures, "baseline_requests": s.test.BaselineRequests,
					"window": s.test.WindowFailures, "window_requests": s.test.WindowRequests,
				},
				Evidence: []Evidence{{Kind: "requests", Source: "traffic", Traffic: s.class, From: Time{b.started}, To: Time{b.seenTo}, Count: s.test.WindowFailures}},
			})
		}
		for _, class := range []Class{ClassUser, ClassProbe} {
			if before, after := b.exposure(class); len(found) == 0 && before == 0 && after > 0 {
				return nil, whyNoBaseline
			}
		}
		if !b.measured(ClassUser) && !b.measured(ClassProbe) {
			return nil, whyNoAccessLog
		}
		return found, ""
	}
}
