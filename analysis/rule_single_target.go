package analysis

// singleTarget fires for the time after the deploy's start in which, by traffic,
// only one target of a group was in rotation. It is no failure: it says how long
// the service stood on one leg, and how much that one served.
func singleTarget(b *bench) ([]Finding, string) {
	switch {
	case !b.servedAtAll():
		return nil, whyServed
	case len(b.lives) < 2:
		return nil, whyOneTarget
	}
	var found []Finding
	for _, s := range b.report.SingleTarget {
		if !s.To.After(b.started) {
			continue
		}
		requests := perClass{} // at least so many: a span within one second holds no whole cell
		for i := range b.obs.Cells {
			c := &b.obs.Cells[i]
			if b.counting[c.Source] && c.Target == s.Target && c.TargetStatus > 0 && b.cellInside(c, s.From.Time, s.To.Time) {
				requests.add(c.Class, c.Count)
			}
		}
		others := []string{}
		for _, l := range b.lives {
			if l.name != s.Target && b.pool(l.group) == b.pool(b.byName[s.Target].group) {
				others = append(others, l.name)
			}
		}
		found = append(found, Finding{
			Severity: SeverityInfo, Target: new(s.Target), From: s.From, To: s.To,
			Values:   map[string]any{"seconds": s.Seconds, "requests": requests, "others": others},
			Evidence: requests.evidence(s.From.Time, s.To.Time),
		})
	}
	if len(found) == 0 && b.undecided { // one was displayed as gone, and it may have left another alone
		return nil, whyServed
	}
	return found, ""
}
