package analysis

import "time"

// drainNeverSeen fires when a target was marked for draining, yet nothing shows that
// it drained: its state stayed in rotation, no health sample got the deliberate
// answer, and it served until the stop.
func drainNeverSeen(b *bench) ([]Finding, string) {
	if len(b.obs.States) == 0 && !b.byProber(ClassHealth) {
		return nil, whyNoStates
	}
	return b.drainRule(func(l *life, c cycle, mark time.Time) *Finding {
		for _, ch := range l.changes {
			if !ch.in && ch.seen.After(mark) {
				return nil
			}
		}
		if l.checked != nil {
			if _, ok := l.checked.out(mark, c.stop); ok {
				return nil
			}
		}
		for i := range b.obs.Probes {
			p := &b.obs.Probes[i]
			if p.OutOfService && !p.Done.Before(mark) && p.Sent.Before(c.stop) {
				return nil
			}
		}
		if quiet := c.stopBy().at.Sub(c.lastServed); quiet > max(2*l.usualPause, time.Second) {
			return nil
		}
		return &Finding{Severity: SeverityMedium, From: Time{mark}, To: Time{c.stop}, Values: map[string]any{"wait_s": seconds(c.stop.Sub(mark))}}
	})
}
