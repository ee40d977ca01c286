package analysis

import (
	"slices"
	"time"
)

// returnedThenFailed fires when a target failed requests after it had served again:
// at least three that the service's background does not explain, or its state left
// rotation without a stop. What it does once another deploy stopped it is that one's.
func returnedThenFailed(b *bench) ([]Finding, string) {
	var found []Finding
	returned := false
	for _, l := range b.lives {
		for i, c := range l.cycles {
			if c.firstServed.IsZero() {
				continue
			}
			returned = true
			slack, next := b.slack(l.group), time.Time{} // when it was next stopped
			if i+1 < len(l.cycles) {
				next = l.cycles[i+1].began()
			}
			until := b.seenTo
			if next = b.otherStop(l.name, c.firstServed, next); !next.IsZero() {
				until = earliest(until, next.Add(-slack))
			}
			failed := perClass{}
			from, to := c.firstServed, c.firstServed
			for _, f := range b.failures {
				began, ended := b.asServedIfKnown(&f)
				if f.target == l.name && f.cause != CauseBackground && began.After(c.firstServed.Add(slack)) && ended.Before(until) {
					failed.add(f.class, f.n)
					to = latest(to, f.end)
				}
			}
			out := slices.ContainsFunc(l.changes, func(ch change) bool {
				return !ch.in && ch.before.After(c.firstServed.Add(slack)) && ch.seen.Before(until)
			})
			// Coming back, a target is put in by passes; a lone leftover "out" between
			// its first request and its first displayed pass is lag, not a relapse.
			if returnShown := slices.ContainsFunc(l.changes, func(ch change) bool { return ch.in && ch.seen.After(c.firstServed) }); !returnShown && c.onPurpose {
				out = false
			}
			if failed.all() < 3 && !out {
				continue
			}
			found = append(found, Finding{
				Severity: SeverityHigh, Target: new(l.name), From: Time{from}, To: Time{latest(to, from)},
				Values:   map[string]any{"failed": failed, "left_rotation": out},
				Evidence: failed.evidence(from, to),
			})
		}
	}
	if !returned {
		return nil, whyNoStop
	}
	return found, ""
}
