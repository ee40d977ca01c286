package analysis

import "time"

// drainWaitTooShort fires when a target was marked for draining and stopped while
// the load balancer still sent to it: the wait was shorter than ejection took. It does
// not where the wait had nothing to do with it: no target was in rotation, so that the
// load balancer sent to all of them (fail-open), or something had put this one back.
func drainWaitTooShort(b *bench) ([]Finding, string) {
	if !b.logRead() {
		return nil, whyNoAccessLog
	}
	return b.drainRule(func(l *life, c cycle, mark time.Time) *Finding {
		sent, last := b.sentWhileDown(l, c)
		if sent.all() == 0 || b.openFor(l.group, c.stop, last) {
			return nil
		}
		if _, _, back := b.putBack(l, c); back {
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
