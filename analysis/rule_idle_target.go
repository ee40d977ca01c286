package analysis

// enoughDue is how many requests of a class must have been due to a target before its
// silence is worth a warning.
const enoughDue = 5

// idleTarget fires when a target was in rotation by its polled state throughout a
// phase, yet served nothing where at least five requests of some class were due to it:
// an equal part of those that were sent to its group. Phases in which any target is on
// its way out or back are left to the other rules.
func idleTarget(b *bench) ([]Finding, string) {
	if len(b.obs.States) == 0 {
		return nil, whyNoStates
	}
	if !b.logRead() {
		return nil, whyNoAccessLog
	}
	var found []Finding
	for _, phase := range b.report.Phases {
		if phase.risky() {
			continue
		}
		dispatched := map[string]perClass{}
		for i := range b.obs.Cells {
			c := &b.obs.Cells[i]
			if b.counting[c.Source] && c.Target != "" && b.cellInside(c, phase.From.Time, phase.To.Time) {
				group := b.byName[c.Target].group
				if dispatched[group] == nil {
					dispatched[group] = perClass{}
				}
				dispatched[group].add(c.Class, c.Count)
			}
		}
		for _, l := range b.lives {
			due, enough := perClass{}, false
			for _, class := range Classes {
				due.add(class, dispatched[l.group][class]/b.groupSize(l.group))
				enough = enough || due[class] >= enoughDue
			}
			if !enough || !b.healthyThroughout(l, phase) || l.mayHaveServed(phase.From.Time, phase.To.Time) {
				continue
			}
			found = append(found, Finding{
				Severity: SeverityMedium, Target: new(l.name), From: phase.From, To: phase.To, Values: map[string]any{"due": due},
				Evidence: []Evidence{{Kind: "requests", Source: "traffic", From: phase.From, To: phase.To}},
			})
		}
	}
	return found, ""
}

func (b *bench) healthyThroughout(l *life, phase Phase) bool {
	polls := 0
	for _, s := range b.obs.States {
		if s.Target == l.name && within(s.At, phase.From.Time, phase.To.Time) {
			if !s.State.InRotation() {
				return false
			}
			polls++
		}
	}
	return polls > 1
}
