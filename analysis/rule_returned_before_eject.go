package analysis

import "time"

// returnedBeforeEject fires when a target died unasked and was back before the
// health checks could fail often enough: nothing went wrong in the checks, they are
// slower than the restart. needed_s is the shortest time in which they could have
// ejected it, (U−1)·I.
func returnedBeforeEject(b *bench) ([]Finding, string) {
	var found []Finding
	died := false
	unknown := ""
	for _, l := range b.lives {
		for _, c := range l.cycles {
			if c.killed.IsZero() || c.onPurpose {
				continue
			}
			died = true
			if c.leaves {
				continue
			}
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
			}
			if h.Known() {
				values["needed_s"] = seconds(time.Duration(h.Unhealthy-1) * h.Interval)
				values["interval_s"], values["unhealthy"] = seconds(h.Interval), h.Unhealthy
			}
			requests, failed, others, unattributed := perClass{}, perClass{}, perClass{}, perClass{}
			for _, w := range b.failureWindows(l, c) {
				requests.add(w.Traffic, w.Requests)
				failed.add(w.Traffic, w.Failed)
				others.add(w.Traffic, w.ServedByOthers)
				unattributed.add(w.Traffic, w.Unattributed)
			}
			values["requests"], values["failed"], values["served_by_others"] = requests, failed, others
			if len(unattributed) > 0 {
				values["unattributed"] = unattributed
			}
			found = append(found, Finding{
				Severity: SeverityHigh, Target: new(l.name), From: Time{c.killed}, To: Time{c.firstServed}, Values: values,
				Evidence: failed.evidence(c.killed, c.firstServed),
			})
		}
	}
	if !died && len(b.obs.Service.AppLogs) == 0 {
		return nil, whySignals // only an application log tells an unasked death
	}
	for _, log := range b.obs.Service.AppLogs {
		if c := b.coverage[log.Name]; len(found) == 0 && unknown == "" && (c == nil || len(c.Blind) > 0) {
			unknown = whyAppLogBlind // a death may stand in what was not read
		}
	}
	return found, unknown
}
