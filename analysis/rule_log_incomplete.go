package analysis

// logIncomplete fires when requests that surely passed the load balancer are not in
// its access log, and when the load balancer's own monitoring counted more than one
// per cent more or fewer than the log has.
func logIncomplete(b *bench) ([]Finding, string) {
	if !b.logRead() {
		return nil, whyNoAccessLog
	}
	var found []Finding
	compared := len(b.counted) > 0
	for _, source := range sortedKeys(b.counting) {
		known, in := b.knownFound(source, b.started, b.to)
		compared = compared || known > 0
		if in >= known {
			continue
		}
		found = append(found, Finding{
			Severity: SeverityMedium, From: Time{b.started}, To: Time{b.seenTo},
			Values:   map[string]any{"source": source, "known": known, "found": in},
			Evidence: []Evidence{{Kind: "objects", Source: source, From: Time{b.started}, To: Time{b.seenTo}}},
		})
	}
	for _, source := range sortedKeys(b.counting) {
		for _, gap := range b.metricGaps(source) {
			found = append(found, Finding{
				Severity: SeverityMedium, From: Time{gap.from}, To: Time{gap.to}, Values: gap.values(),
				Evidence: []Evidence{{Kind: "objects", Source: source, From: Time{gap.from}, To: Time{gap.to}}},
			})
		}
	}
	if !compared {
		return nil, whyNoProbes
	}
	if len(found) > 0 && !b.settled() {
		return nil, whyHorizon // what is missing may still arrive
	}
	return found, ""
}
