package analysis

import "strings"

// versionMismatch fires when a target, after its return, tells another version of
// itself than the one that was deployed. What it told before its stop, or after
// another deploy's, says nothing.
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
			until = b.otherStop(l.name, since, until)
			returned++
			var last *Signal // they lie in the order of their times
			for j := range b.obs.Signals {
				s := &b.obs.Signals[j]
				if s.Target == l.name && s.Values["version"] != "" && (s.Event == EventVersion || s.Event == EventProcessStarting) &&
					within(s.At, since.Add(-b.doubt), until) {
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
	case len(found) > 0:
		return found, ""
	case returned == 0:
		return nil, whyNoStop
	case told < returned:
		return nil, whyVersions
	}
	return nil, ""
}

// sameVersion compares what an application and a workflow call a version: a leading v
// does not matter, and of two commit hashes the shorter may abbreviate the longer.
func sameVersion(a, b string) bool {
	a, b = strings.TrimPrefix(strings.TrimSpace(a), "v"), strings.TrimPrefix(strings.TrimSpace(b), "v")
	return a == b || abbreviates(a, b) || abbreviates(b, a)
}

// Lengths of a commit hash: as git abbreviates it, and whole.
const (
	shortHash = 7
	wholeHash = 40
)

// abbreviates reports whether one version is the beginning of another's commit hash.
// Digits alone may as well be a date or a build's number: they abbreviate a whole hash
// only.
func abbreviates(short, long string) bool {
	return len(short) >= shortHash && strings.HasPrefix(long, short) && strings.Trim(long, "0123456789abcdef") == "" &&
		(strings.ContainsAny(short, "abcdef") || len(long) == wholeHash)
}
