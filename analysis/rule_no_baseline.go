package analysis

// noBaseline fires when the window has no request before the deploy to compare
// with: a failure that has nothing to do with the deploy cannot then be told.
func noBaseline(b *bench) ([]Finding, string) {
	if b.obs.Deploy.ID == "" {
		return nil, whyNoDeploy
	}
	var found []Finding
	for _, class := range []Class{ClassUser, ClassProbe} {
		if before, after := b.exposure(class); before == 0 && after > 0 {
			found = append(found, Finding{
				Severity: SeverityInfo, From: Time{b.from}, To: Time{latest(b.from, b.started)},
				Values: map[string]any{"traffic": class, "requests": after},
			})
		}
	}
	return found, ""
}
