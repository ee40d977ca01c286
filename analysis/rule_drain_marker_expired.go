package analysis

import "time"

// drainMarkerExpired fires when a marked target went quiet for at least a
// health-check interval and then served again before it was stopped: the mark had
// lapsed. A deregistration does not lapse; see [reregistered].
func drainMarkerExpired(b *bench) ([]Finding, string) {
	if b.servedFrom.IsZero() {
		return nil, whyServed
	}
	return b.drainRule(func(l *life, c cycle, mark time.Time) *Finding {
		h := b.health(l.group)
		if !h.Known() || c.marked.IsZero() {
			return nil
		}
		before := mark
		for _, p := range l.points {
			if !p.before(c.stopBy().at) {
				continue
			}
			if p.at.Sub(before) >= max(h.Interval, 2*l.usualPause) {
				return &Finding{Severity: SeverityHigh, From: Time{p.at}, To: Time{c.stop}, Values: map[string]any{"quiet_s": seconds(p.at.Sub(before)), "wait_s": seconds(c.stop.Sub(mark))}}
			}
			before = latest(before, p.by)
		}
		return nil
	})
}
