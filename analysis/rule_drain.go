package analysis

import "time"

// drainWaitTooShort fires when a target was marked for draining and stopped while
// the load balancer still sent to it: the wait was shorter than ejection took.
func drainWaitTooShort(b *bench) ([]Finding, string) {
	if !b.logRead() {
		return nil, whyNoAccessLog
	}
	return b.drainRule(func(l *life, c cycle, mark time.Time) *Finding {
		sent, last := b.sentWhileDown(l, c)
		if sent.all() == 0 {
			return nil
		}
		values := map[string]any{"wait_s": seconds(c.stop.Sub(mark)), "sent_after_stop": sent, "predicted_from_s": nil, "predicted_to_s": nil}
		if h := b.health(l.group); h.Known() {
			p := predict(h)
			values["predicted_from_s"], values["predicted_to_s"] = p.Eject.From, p.Eject.To
		}
		return &Finding{Severity: SeverityHigh, From: Time{mark}, To: Time{latest(last, c.stop)}, Values: values}
	})
}

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
		if quiet := c.stop.Sub(c.lastServed); c.lastServed.IsZero() || quiet > max(2*l.usualPause, time.Second) {
			return nil
		}
		return &Finding{Severity: SeverityMedium, From: Time{mark}, To: Time{c.stop}, Values: map[string]any{"wait_s": seconds(c.stop.Sub(mark))}}
	})
}

// drainMarkerExpired fires when a marked target went quiet for at least a
// health-check interval and then served again before it was stopped: the mark had
// lapsed.
func drainMarkerExpired(b *bench) ([]Finding, string) {
	if b.servedFrom.IsZero() {
		return nil, whyServed
	}
	return b.drainRule(func(l *life, c cycle, mark time.Time) *Finding {
		h := b.health(l.group)
		if !h.Known() {
			return nil
		}
		before := mark
		for _, p := range l.points {
			if p.Before(mark) || !p.Before(c.stop) {
				continue
			}
			if p.Sub(before) >= max(h.Interval, 2*l.usualPause) {
				return &Finding{Severity: SeverityHigh, From: Time{p}, To: Time{c.stop}, Values: map[string]any{"quiet_s": seconds(p.Sub(before)), "wait_s": seconds(c.stop.Sub(mark))}}
			}
			before = p
		}
		return nil
	})
}

// drainRule runs a check on every stop that a drain mark preceded.
func (b *bench) drainRule(check func(*life, cycle, time.Time) *Finding) ([]Finding, string) {
	var found []Finding
	marked := 0
	for _, l := range b.lives {
		for _, c := range l.cycles {
			mark := earliest(c.marked, c.deregistered)
			if mark.IsZero() || c.stop.IsZero() {
				continue
			}
			marked++
			if f := check(l, c, mark); f != nil {
				f.Target = new(l.name)
				f.Evidence = []Evidence{{Kind: "requests", Source: "traffic", From: f.From, To: f.To}}
				found = append(found, *f)
			}
		}
	}
	if marked == 0 {
		return nil, whyNoMark
	}
	return found, ""
}
