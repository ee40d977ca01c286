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
			if f.class == ClassUser && b.meantForPool(&f, s.TargetGroup) && !f.end.Before(s.From.Time) && !f.end.After(s.To.Time) {
				failed += f.n
			}
		}
		values := map[string]any{"seconds": s.Seconds, "failed_user": failed}
		if b.groupSize(s.TargetGroup) < len(b.lives) { // there are others
			values["target_group"] = s.TargetGroup
		}
		found = append(found, Finding{
			Severity: SeverityHigh, From: s.From, To: s.To,
			Values:   values,
			Evidence: []Evidence{{Kind: "requests", Source: "traffic", Traffic: ClassUser, From: s.From, To: s.To, Count: failed}},
		})
	}
	if len(found) == 0 && b.zeroAfter(b.maybeZero) {
		return nil, whyServed
	}
	return found, ""
}
