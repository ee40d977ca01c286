package analysis

// zeroTargets fires for the time after the deploy's start in which, by traffic, no
// target of a group was in rotation.
func zeroTargets(b *bench) ([]Finding, string) {
	if !b.servedAtAll() {
		return nil, whyServed
	}
	var found []Finding
	for _, s := range b.zero {
		if !s.To.After(b.started) {
			continue
		}
		failed := 0
		for _, f := range b.failures {
			if f.class == ClassUser && within(f.end, s.From.Time, s.To.Time) {
				failed += f.n
			}
		}
		found = append(found, Finding{
			Severity: SeverityHigh, From: s.From, To: s.To,
			Values:   map[string]any{"seconds": s.Seconds, "failed_user": failed},
			Evidence: []Evidence{{Kind: "requests", Source: "traffic", From: s.From, To: s.To, Count: failed}},
		})
	}
	return found, ""
}
