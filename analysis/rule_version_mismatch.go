package analysis

import (
	"slices"
	"strings"
)

// versionMismatch fires when a target, after its return, tells another version of
// itself than the one that was deployed. What it told before its stop says nothing.
func versionMismatch(b *bench) ([]Finding, string) {
	want := b.obs.Deploy.VersionAfter
	if want == "" {
		return nil, whyVersions
	}
	var found []Finding
	returned, told := 0, 0
	for _, l := range b.lives {
		for i, c := range l.cycles {
			if c.ready.IsZero() && c.firstServed.IsZero() {
				continue // it did not come back
			}
			since := latest(c.restart, c.killed)
			if since.IsZero() {
				since = c.begin()
			}
			until := b.seenTo
			if i+1 < len(l.cycles) {
				until = l.cycles[i+1].begin()
			}
			returned++
			var last *Signal
			for j := range b.obs.Signals {
				s := &b.obs.Signals[j]
				if s.Target == l.name && s.Values["version"] != "" && (s.Event == EventVersion || s.Event == EventProcessStarting) &&
					!s.At.Before(since.Add(-b.doubt)) && s.At.Before(until) && (last == nil || s.At.After(last.At)) {
					last = s
				}
			}
			if last == nil {
				continue
			}
			told++
			if sameVersion(last.Values["version"], want) {
				continue
			}
			found = append(found, Finding{
				Severity: SeverityHigh, Target: new(l.name), From: Time{last.At}, To: Time{last.At},
				Values:   map[string]any{"version": last.Values["version"], "deployed": want, "before": known(b.obs.Deploy.VersionBefore)},
				Evidence: []Evidence{{Kind: "signals", Source: last.Source, From: Time{last.At}, To: Time{last.At}, Count: 1}},
			})
		}
	}
	switch {
	case len(found) == 0 && returned == 0:
		return nil, whyNoStop
	case len(found) == 0 && told < returned:
		return nil, whyVersions
	}
	return found, ""
}

// sameVersion compares what an application and a workflow call a version: a leading v
// does not matter, and of two commit hashes the shorter may abbreviate the longer.
func sameVersion(a, b string) bool {
	a, b = strings.TrimPrefix(strings.TrimSpace(a), "v"), strings.TrimPrefix(strings.TrimSpace(b), "v")
	if len(a) > len(b) {
		a, b = b, a
	}
	hash := len(a) >= 7 && !slices.ContainsFunc([]byte(a+b), func(c byte) bool { return !strings.ContainsRune("0123456789abcdef", rune(c)) })
	return a == b || hash && strings.HasPrefix(b, a)
}
