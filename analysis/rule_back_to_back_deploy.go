package analysis

import (
	"slices"
	"time"
)

// backToBackDeploy fires when this deploy began before the one before it had all
// targets serving: before that one reported, or while a target that it stopped had
// not served yet.
func backToBackDeploy(b *bench) ([]Finding, string) {
	if b.obs.Deploy.ID == "" {
		return nil, whyNoDeploy
	}
	var found []Finding
	for _, d := range b.obs.Neighbors {
		if !d.StartedAt.Before(b.started) {
			continue
		}
		away := b.awayAt(d)
		open := d.ReportedAt.IsZero() || d.ReportedAt.After(b.started)
		if !open && len(away) == 0 {
			continue
		}
		values := map[string]any{"previous": d.ID, "previous_reported_at": moment(d.ReportedAt), "gap_s": nil, "not_serving": away}
		if !d.ReportedAt.IsZero() {
			values["gap_s"] = seconds(b.started.Sub(d.ReportedAt))
		}
		found = append(found, Finding{
			Severity: SeverityHigh, From: Time{b.started}, To: Time{b.started}, Values: values,
			Evidence: []Evidence{{Kind: "steps", Source: d.ID, From: Time{d.StartedAt}, To: Time{b.started}, Count: 1}},
		})
	}
	return found, ""
}

// readyAfter is when the target of a step was ready again, whoever told it; zero where
// nobody did.
func (b *bench) readyAfter(s Step) (back time.Time) {
	for _, r := range b.obs.Steps {
		if r.Kind == StepAppReady && r.Target == s.Target && r.At.After(s.At) {
			back = earliest(back, r.At)
		}
	}
	return back
}

// awayAt lists the targets that an earlier deploy had stopped and that had not
// served again when this one started.
func (b *bench) awayAt(d Deploy) []string {
	away := []string{}
	for _, s := range b.obs.Steps {
		l := b.byName[s.Target]
		if s.Deploy != d.ID || l == nil || rank(s.Kind) != 2 || s.At.After(b.started) || len(l.points) == 0 {
			continue
		}
		back := b.readyAfter(s)
		if back.IsZero() {
			if d.Kind == KindBlueGreen {
				continue // it was stopped for good
			}
			back = s.At // until it is known to be ready, what it serves may be left from before the stop
		}
		if !l.mayHaveServed(back, b.started) && !slices.Contains(away, l.name) {
			away = append(away, l.name)
		}
	}
	return away
}
