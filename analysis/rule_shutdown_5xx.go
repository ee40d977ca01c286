package analysis

// shutdown5xx fires when a target answered requests with a 5xx of its own while it
// was stopping: between the stop and its return, or within the health check's
// timeout before the stop.
func shutdown5xx(b *bench) ([]Finding, string) {
	var found []Finding
	stops := 0
	for _, l := range b.lives {
		for _, c := range l.cycles {
			if c.stop.IsZero() {
				continue
			}
			stops++
			until := c.back(b.to)
			failed := 0
			from, to := c.stop, c.stop
			for _, f := range b.failures {
				if f.outcome == OutcomeTarget5xx && f.target == l.name && f.class != ClassHealth && f.end.After(c.stop.Add(-b.slack(l.group))) && f.start.Before(until) {
					failed += f.n
					from, to = earliest(from, f.end), latest(to, f.end)
				}
			}
			if failed > 0 {
				found = append(found, Finding{
					Severity: SeverityHigh, Target: new(l.name), From: Time{from}, To: Time{to}, Values: map[string]any{"failed": failed},
					Evidence: []Evidence{{Kind: "requests", Source: "traffic", From: Time{from}, To: Time{to}, Count: failed}},
				})
			}
		}
	}
	switch {
	case stops == 0:
		return nil, whyNoStop
	case len(found) == 0 && !b.logRead():
		return nil, whyNoAccessLog
	}
	return found, ""
}
