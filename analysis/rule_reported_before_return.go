package analysis

import "time"

// reportedBeforeReturn fires when success surely was reported before every target that was
// stopped served again: a deploy started then would have found one target fewer.
func reportedBeforeReturn(b *bench) ([]Finding, string) {
	reported := b.obs.Deploy.ReportedAt
	switch {
	case b.obs.Deploy.ID == "":
		return nil, whyNoDeploy
	case reported.IsZero():
		return nil, whyNotReported
	case !b.obs.Deploy.Succeeded():
		return nil, whyNotApply
	}
	var found []Finding
	stopped, unknown := false, ""
	for _, l := range b.lives {
		c, away := l.awayBy(reported)
		if !away || c.leaves || c.firstServed.IsZero() && b.left(l) {
			continue
		}
		stopped = true
		if len(l.points) == 0 {
			unknown = whyServed
			continue
		}
		late, _ := b.apart(b.toldAt("", reported), b.served(c.servesFrom()))
		if _, most := b.apart(b.toldAt("", reported), b.served(c.firstServed)); !c.firstServed.IsZero() && most <= 0 {
			continue
		}
		if !c.firstServed.IsZero() && late <= 0 { // it may have served by then
			unknown = whyServed
			continue
		}
		values := map[string]any{"reported_at": Time{reported}, "first_served_at": moment(c.firstServedAt()), "late_s": nil}
		until := c.firstServed
		if until.IsZero() {
			until = b.seenTo
		} else {
			values["late_s"] = seconds(late)
		}
		found = append(found, Finding{
			Severity: SeverityMedium, Target: new(l.name), From: Time{reported}, To: Time{latest(until, reported.Add(time.Microsecond))}, Values: values,
			Evidence: []Evidence{{Kind: "steps", Source: b.obs.Deploy.Source, From: Time{reported}, To: Time{reported}, Count: 1}},
		})
	}
	if !stopped {
		return nil, whyNoStop
	}
	return found, unknown
}

// awayBy is the last of a target's cycles that had begun with a stop, or as it arrived, by a
// moment. If it served only after it had been stopped once more, that is when it was back.
func (l *life) awayBy(at time.Time) (last cycle, ok bool) {
	for _, c := range l.cycles {
		switch {
		case !c.stop.IsZero() && !c.stop.After(at) || c.arrives && !c.begin().After(at):
			last, ok = c, true
		case last.firstServed.IsZero():
			last.firstServed, last.firstServedFrom, last.firstAhead = c.firstServed, c.firstServedFrom, c.firstAhead
		}
	}
	return last, ok
}
