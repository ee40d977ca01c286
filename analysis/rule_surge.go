package analysis

// surgeRule fires for one outcome on every route and class where it surged: far
// more of it than the baseline lets expect, so that a claim about failures must not
// pass it over.
func surgeRule(outcome Outcome) func(*bench) ([]Finding, string) {
	return func(b *bench) ([]Finding, string) {
		if before, _ := b.exposure(ClassUser); before == 0 {
			if before, _ = b.exposure(ClassProbe); before == 0 {
				return nil, whyNoBaseline
			}
		}
		var found []Finding
		for _, s := range b.surges {
			if s.outcome != outcome {
				continue
			}
			found = append(found, Finding{
				Severity: SeverityMedium, From: Time{b.started}, To: Time{b.seenTo},
				Values: map[string]any{
					"traffic": s.class, "outcome": s.outcome, "route": s.route, "p": s.test.P,
					"baseline": s.test.BaselineFailures, "baseline_requests": s.test.BaselineRequests,
					"window": s.test.WindowFailures, "window_requests": s.test.WindowRequests,
				},
				Evidence: []Evidence{{Kind: "requests", Source: "traffic", From: Time{b.started}, To: Time{b.seenTo}, Count: s.test.WindowFailures}},
			})
		}
		return found, ""
	}
}
