package analysis

// lowTrafficRule fires when hardly any user was there in the risky phases: a clean
// result then says little about users.
func lowTrafficRule(b *bench) ([]Finding, string) {
	if b.report.Totals[ClassUser] == nil {
		return nil, whyNoAccessLog
	}
	n, risky := b.usersAtRisk()
	switch {
	case !risky:
		return nil, whyNoStop
	case n >= lowTraffic:
		return nil, ""
	}
	return []Finding{{
		Severity: SeverityInfo, From: Time{b.started}, To: Time{b.seenTo},
		Values: map[string]any{"requests": n, "enough": lowTraffic},
	}}, ""
}

// usersAtRisk counts the user requests in the risky phases; ok is false where the
// window has none.
func (b *bench) usersAtRisk() (n int, ok bool) {
	for _, phase := range b.report.Phases {
		if !phase.risky() {
			continue
		}
		ok = true
		if counts := phase.Traffic[ClassUser]; counts != nil {
			n += counts.Requests
		}
	}
	return n, ok
}
