package analysis

// Bounds of a multiplication of calls: below them it may be chance, or a retry now and
// then that nobody would call a load.
const (
	amplified      = 1.5
	amplifiedCalls = 20
)

// retryAmplification fires when more calls were sent to a dependency than were asked
// for, by the identifier of what each was for: a dependency that is slow already is
// given a multiple of its load. Refused calls were never sent and are no part of it.
func retryAmplification(b *bench) ([]Finding, string) {
	if len(b.report.Dependencies) == 0 {
		return nil, b.callsUntold()
	}
	var found []Finding
	judged := false
	for i := range b.report.Dependencies {
		d := &b.report.Dependencies[i]
		if d.Amplification == nil {
			continue
		}
		judged = true
		before, _ := b.amplification(d.Dependency, func(c call) bool { return c.sent.Before(b.started) })
		after, sent := b.amplification(d.Dependency, func(c call) bool { return !c.sent.Before(b.started) })
		if sent < amplifiedCalls || after <= amplified {
			continue
		}
		d.Amplified = true // so that whoever shows the number need not judge it again
		var from, to Time
		for _, c := range b.called {
			if c.dependency == d.Dependency && b.inWindow(c.sent) && !c.sent.Before(b.started) {
				from, to = Time{earliest(from.Time, c.sent)}, Time{latest(to.Time, c.sent)}
			}
		}
		values := map[string]any{"dependency": d.Dependency, "factor": after, "factor_before": nil, "sent": sent, "results": d.Results}
		if before > 0 {
			values["factor_before"] = before
		}
		found = append(found, Finding{Severity: SeverityMedium, From: from, To: to, Values: values, Evidence: b.callEvidence(d.Dependency, from.Time, to.Time)})
	}
	switch {
	case len(found) > 0:
		return found, ""
	case !judged:
		return nil, whyNoKeys
	}
	return nil, b.silenceUntold()
}

// amplification is how often a call was sent for one identifier, of some calls of the
// window; zero without one.
func (b *bench) amplification(dependency string, of func(call) bool) (factor float64, sent int) {
	keys := map[string]struct{}{}
	for _, c := range b.called {
		if c.dependency == dependency && b.inWindow(c.sent) && of(c) {
			sent++
			keys[c.key] = struct{}{}
		}
	}
	if sent == 0 {
		return 0, 0
	}
	return float64(sent) / float64(len(keys)), sent
}

// callsUntold says why nothing is known of calls to dependencies.
func (b *bench) callsUntold() string {
	if why := b.untold(EventCallSent); why != "" {
		return why
	}
	return whyNoCalls
}
