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

// usersAtRisk counts the user requests in the risky phases while a target was not back;
// ok is false where the window has no such time.
func (b *bench) usersAtRisk() (n int, ok bool) {
	spans := b.riskySpans()
	return b.requestsIn(ClassUser, spans), len(spans) > 0
}
