package analysis

// restartBeforeEject fires when a target was stopped on purpose while the load
// balancer still sent to it. Evidence, either suffices: requests that an access log
// says were sent to it from its stop until it was ready; or failures that the judge put
// down to it, of what was sent in that time. What it had before and did not end, or
// fails once it is back, it was not sent while it was stopped.
func restartBeforeEject(b *bench) ([]Finding, string) {
	if b.obs.Deploy.ID == "" {
		return nil, whyNoDeploy
	}
	var found []Finding
	stops, seen := 0, 0
	for _, l := range b.lives {
		for _, c := range l.cycles {
			if c.stop.IsZero() || !c.onPurpose {
				continue
			}
			stops++
			sent, last := b.sentWhileDown(l, c)
			user, sentUser := b.failedAround(l, c, ClassUser)
			probe, sentProbe := b.failedAround(l, c, ClassProbe)
			if b.wouldHaveSeen(l, c) { // if any was sent, the rule fires
				seen++
			}
			if sent.all() == 0 && !sentUser && !sentProbe {
				continue
			}
			mark := earliest(c.marked, c.deregistered)
			values := map[string]any{
				"stop_at": Time{c.stop}, "last_served_at": moment(c.lastServedAt()), "marked_at": moment(mark), "wait_s": nil,
				"predicted_from_s": nil, "predicted_to_s": nil, "failed_user": user, "failed_probe": probe, "sent_after_stop": sent,
			}
			if !mark.IsZero() {
				values["wait_s"] = seconds(c.stop.Sub(mark))
			}
			if h := b.health(l.group); h.Known() {
				p := predict(h)
				values["predicted_from_s"], values["predicted_to_s"] = p.Eject.From, p.Eject.To
			}
			until := latest(last, c.ready, c.stop)
			shown := sent
			if sent.all() == 0 {
				shown = perClass{ClassUser: user, ClassProbe: probe}
			}
			found = append(found, Finding{
				Severity: SeverityHigh, Target: new(l.name), From: Time{c.stop}, To: Time{until}, Values: values,
				Evidence: shown.evidence(c.stop, until),
			})
		}
	}
	switch {
	case len(found) > 0:
		return found, ""
	case stops == 0 && b.obs.Deploy.Kind == KindFault:
		return nil, whyNotApply
	case stops == 0:
		return nil, whyNoStop
	case !b.logRead():
		return nil, whyNoAccessLog
	case seen < stops:
		return nil, whyServed
	}
	return nil, ""
}

// failedAround counts a class's failures that the judge put down to the deploy and
// to this stop of this target, and tells whether any of them surely was sent from the
// stop until it was back.
func (b *bench) failedAround(l *life, c cycle, class Class) (n int, sent bool) {
	for _, f := range b.failures {
		if f.class == class && f.cause == CauseDeploy && b.failedTarget(f) == l.name && l.belongs(c, f) {
			n += f.n
			sent = sent || b.surelyAfter(l, c, b.clock(&f), f.start) && f.start.Add(b.ahead(b.servingClock, b.clock(&f)).most).Before(c.back(c.until))
		}
	}
	return n, sent
}
