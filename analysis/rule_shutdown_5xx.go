package analysis

import (
	"cmp"
	"time"
)

// shutdown5xx fires when a target answered requests with a 5xx of its own while it
// was stopping: between the stop and its return, or within the health check's
// timeout before the stop. The access log tells it; where there is none, the
// application's own log does, for requests of ours.
func shutdown5xx(b *bench) ([]Finding, string) {
	var found []Finding
	stopped := false
	for _, l := range b.lives {
		for _, c := range l.cycles {
			if c.stop.IsZero() {
				continue
			}
			stopped = true
			slack := b.slack(l.group)
			since, until := c.stopBy().at.Add(-slack), c.back(c.until)
			ownSince, ownUntil := c.stop.Add(-slack), cmp.Or(c.ready, until) // by the target's own log
			failed, source := perClass{}, "traffic"
			from, to := c.stop, c.stop
			for _, f := range b.failures {
				began, ended := b.asServedIfKnown(&f)
				if f.outcome == OutcomeTarget5xx && f.target == l.name && f.class != ClassHealth && ended.After(since) && began.Before(until) {
					failed.add(f.class, f.n)
					from, to = earliest(from, f.end), latest(to, f.end)
				}
			}
			if failed.all() == 0 {
				for _, h := range b.answered5xx(l.name, ownSince, ownUntil) {
					source = h.Source
					failed.add(ClassProbe, 1)
					from, to = earliest(from, h.At), latest(to, h.At)
				}
			}
			if failed.all() == 0 {
				continue
			}
			values := map[string]any{"failed": failed, "shutdown_began_at": nil, "pool_exhausted": 0}
			for i := range b.stoppings {
				if s := &b.stoppings[i]; s.target == l.name && !s.from().After(ownUntil) && !s.from().Before(ownSince) {
					values["shutdown_began_at"] = moment(s.began)
				}
			}
			f := Finding{
				Severity: SeverityHigh, Target: new(l.name), From: Time{from}, To: Time{to}, Values: values,
				Evidence: failed.evidence(from, to),
			}
			for i := range f.Evidence {
				f.Evidence[i].Source = source
			}
			pool := b.poolEvidence(l.name, ownSince, ownUntil)
			for _, e := range pool {
				values["pool_exhausted"] = values["pool_exhausted"].(int) + e.Count
			}
			f.Evidence = append(f.Evidence, pool...)
			found = append(found, f)
		}
	}
	switch {
	case !stopped:
		return nil, whyNoStop
	case len(found) == 0 && !b.logRead() && !b.statusesLogged():
		return nil, whyNoAccessLog
	}
	return found, ""
}

// answered5xx are requests of our business probes that a target's own log says it
// answered with a 5xx in (from, to).
func (b *bench) answered5xx(target string, from, to time.Time) []HandledRequest {
	health := map[probeID]bool{}
	for i := range b.obs.Probes {
		if p := &b.obs.Probes[i]; p.Class == ClassHealth {
			health[probeID{p.Run, p.Seq}] = true
		}
	}
	var list []HandledRequest
	for _, h := range b.obs.Handled {
		if h.Target == target && !h.Begun && h.Status >= 500 && h.At.After(from) && h.At.Before(to) && !health[probeID{h.Run, h.Seq}] {
			list = append(list, h)
		}
	}
	return list
}

// statusesLogged reports whether the application logs tell with what a request was
// answered.
func (b *bench) statusesLogged() bool {
	for _, h := range b.obs.Handled {
		if !h.Begun && h.Status > 0 {
			return true
		}
	}
	return false
}
