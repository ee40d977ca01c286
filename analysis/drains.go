package analysis

import "time"

// drainRule runs a check on every stop that a drain mark preceded.
func (b *bench) drainRule(check func(*life, cycle, time.Time) *Finding) ([]Finding, string) {
	var found []Finding
	marked := false
	for _, l := range b.lives {
		for _, c := range l.cycles {
			mark := earliest(c.marked, c.deregistered)
			if mark.IsZero() || c.stop.IsZero() {
				continue
			}
			marked = true
			if f := check(l, c, mark); f != nil {
				f.Target = new(l.name)
				f.Evidence = []Evidence{{Kind: "requests", Source: "traffic", From: f.From, To: f.To}}
				found = append(found, *f)
			}
		}
	}
	if !marked {
		return nil, whyNoMark
	}
	return found, ""
}
