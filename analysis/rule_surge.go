package analysis

import "slices"

// surgeRule fires for one outcome on every route and class where it surged: far
// more of it than the baseline lets expect, or much of it at once, so that a claim about
// failures must not pass it over. Where one surged that has no baseline, or all of a class
// has none, it cannot be evaluated.
func surgeRule(outcome Outcome) func(*bench) ([]Finding, string) {
	return func(b *bench) ([]Finding, string) {
		var found []Finding
		for _, s := range b.surges {
			if s.outcome != outcome || s.alone {
				continue
			}
			f := Finding{
				Severity: SeverityMedium, From: Time{b.started}, To: Time{b.seenTo},
				Values: map[string]any{
					"traffic": s.class, "outcome": s.outcome, "route": s.route, "p": s.test.P,
					"baseline": s.test.BaselineFailures, "baseline_requests": s.test.BaselineRequests,
					"window": s.test.WindowFailures, "window_requests": s.test.WindowRequests,
				},
				Evidence: []Evidence{{Kind: "requests", Source: "traffic", Traffic: s.class, From: Time{b.started}, To: Time{b.seenTo}, Count: s.test.WindowFailures}},
			}
			if g := s.gathering; g != nil {
				f.From, f.To = Time{g.from}, Time{g.to}
				f.Values["together"], f.Values["within_s"] = g.n, seconds(g.to.Sub(g.from))
				f.Evidence[0].From, f.Evidence[0].To, f.Evidence[0].Count = f.From, f.To, g.n
			}
			found = append(found, f)
		}
		if alone := func(s surge) bool { return s.outcome == outcome }; len(found) == 0 && slices.ContainsFunc(b.surges, alone) {
			return nil, whyNoBaseline
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
