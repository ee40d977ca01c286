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
		if len(l.cycles) == 0 {
			continue
		}
		c := l.cycles[len(l.cycles)-1]
		if c.leaves || (c.stop.IsZero() || c.stop.After(reported)) && (!c.arrives || c.begin().After(reported)) {
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
