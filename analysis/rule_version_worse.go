package analysis

// versionWorse fires for every route on which the new version fails significantly
// more of the requests that it answers than the old one did.
func versionWorse(b *bench) ([]Finding, string) {
	if !b.versionsKnown() {
		return nil, whyVersions
	}
	if !b.versionsCompared {
		return nil, whyServed
	}
	var found []Finding
	for _, class := range Classes {
		routes := map[string]*worse{}
		for k, w := range b.worse {
			if k.class == class {
				routes[k.route] = w
			}
		}
		for _, route := range sortedKeys(routes) {
			w := routes[route]
			found = append(found, Finding{
				Severity: SeverityHigh, From: Time{b.started}, To: Time{b.seenTo},
				Values: map[string]any{
					"traffic": class, "route": route, "p": w.p, "new_failed": w.new.failed, "new_requests": w.new.all,
					"old_failed": w.old.failed, "old_requests": w.old.all,
				},
				Evidence: []Evidence{{Kind: "requests", Source: "traffic", Traffic: class, From: Time{b.started}, To: Time{b.seenTo}, Count: w.new.failed}},
			})
		}
	}
	return found, ""
}
