package analysis

import "time"

// returnedBeforeEject fires when a target died unasked and was back before the
// health checks could fail often enough: nothing went wrong in the checks, they are
// slower than the restart. needed_s is the shortest time in which they could have
// ejected it, (U−1)·I.
func returnedBeforeEject(b *bench) ([]Finding, string) {
	var found []Finding
	deaths := 0
	unknown := ""
	for _, l := range b.lives {
		for _, c := range l.cycles {
			if c.killed.IsZero() || c.onPurpose {
				continue
			}
			deaths++
			if c.ready.IsZero() || c.firstServed.IsZero() {
				unknown = whyServed
				continue
			}
			h := b.health(l.group)
			verdict, _ := b.ejected(l, c, h, TargetReport{FailureWindows: b.failureWindows(l, c)})
			switch verdict {
			case "yes":
				continue
			case "unknown":
				unknown = whyServed
				continue
			}
			values := map[string]any{
				"down_s": seconds(c.ready.Sub(c.killed)), "needed_s": nil, "interval_s": nil, "unhealthy": nil,
				"requests": 0, "failed": 0, "served_by_others": 0,
			}
			if h.Known() {
				values["needed_s"] = seconds(time.Duration(h.Unhealthy-1) * h.Interval)
				values["interval_s"], values["unhealthy"] = seconds(h.Interval), h.Unhealthy
			}
			requests, failed, others := 0, 0, 0
			for _, w := range b.failureWindows(l, c) {
				if w.Traffic == ClassProbe || w.Traffic == ClassUser && !b.byProber(ClassProbe) {
					requests, failed, others = requests+w.Requests, failed+w.Failed, others+w.ServedByOthers
				}
			}
			values["requests"], values["failed"], values["served_by_others"] = requests, failed, others
			found = append(found, Finding{
				Severity: SeverityHigh, Target: new(l.name), From: Time{c.killed}, To: Time{c.firstServed}, Values: values,
				Evidence: []Evidence{{Kind: "requests", Source: "traffic", From: Time{c.killed}, To: Time{c.firstServed}, Count: failed}},
			})
		}
	}
	if len(found) == 0 && deaths == 0 && len(b.obs.Service.AppLogs) == 0 {
		return nil, whySignals // only an application log tells an unasked death
	}
	return found, unknown
}
