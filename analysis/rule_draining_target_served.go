package analysis

import "time"

// drainingTargetServed fires when a target was sent requests after it had been
// deregistered: new requests should stop at once (spec: domain facts §2).
func drainingTargetServed(b *bench) ([]Finding, string) {
	var found []Finding
	gone := false
	for _, l := range b.lives {
		for _, c := range l.cycles {
			if c.deregistered.IsZero() {
				continue
			}
			gone = true
			until := earliest(c.stopBy().at, c.readyBy().at, c.firstServed)
			if until.IsZero() {
				until = b.to
			}
			n := perClass{}
			var last time.Time
			for i := range b.obs.Cells {
				cell := &b.obs.Cells[i]
				if cell.Target == l.name && b.counting[cell.Source] && b.surely(cell.Source, cell.First, c.deregistered, until) {
					n.add(cell.Class, cell.Count)
					last = latest(last, cell.begun().to)
				}
			}
			if n.all() == 0 {
				continue
			}
			found = append(found, Finding{
				Severity: SeverityMedium, Target: new(l.name), From: Time{c.deregistered}, To: Time{last},
				Values:   map[string]any{"requests": n, "after_s": seconds(last.Sub(c.deregistered))},
				Evidence: n.evidence(c.deregistered, last),
			})
		}
	}
	switch {
	case !gone:
		return nil, whyNoMark
	case !b.logRead():
		return nil, whyNoAccessLog
	}
	return found, ""
}
