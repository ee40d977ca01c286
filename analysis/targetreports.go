package analysis

import (
	"math"
	"slices"
	"time"
)

// targetReports prints each target's table.
func (b *bench) targetReports() []TargetReport {
	reports := []TargetReport{}
	for _, l := range b.lives {
		if len(l.cycles) == 0 {
			r := b.targetReport(l, cycle{})
			reports = append(reports, r)
			continue
		}
		for _, c := range l.cycles {
			reports = append(reports, b.targetReport(l, c))
		}
	}
	return reports
}

func (b *bench) targetReport(l *life, c cycle) TargetReport {
	d := b.obs.Deploy
	r := TargetReport{
		Target: l.name, TargetGroup: l.group,
		VersionBefore: known(d.VersionBefore), VersionAfter: known(d.VersionAfter),
		DrainMarkedAt: Time{c.marked}, DeregisteredAt: Time{c.deregistered}, LastServedAt: Time{c.lastServedAt()},
		RestartAt: Time{c.restart}, KilledAt: Time{c.killed}, ReadyAt: Time{c.ready}, FirstServedAt: Time{c.firstServedAt()},
		EjectedBasis: []string{}, FailureWindows: b.failureWindows(l, c), InferredFrom: known(c.inferred),
	}
	if c.arrives { // it did not run before
		r.VersionBefore = nil
	} else if b.newSince(l, c).IsZero() { // for all that is known, it still runs what it ran
		r.VersionAfter = nil
	}
	told := func(at time.Time) dated { return b.toldAt(l.name, at) }
	last, first := b.served(c.lastServed), b.served(c.firstServed)
	if r.Eject = b.between(told(earliest(c.marked, c.deregistered)), last, Lower); r.Eject != nil {
		r.Eject.Value = max(r.Eject.Value, 0)
	}
	restarted := c.restart
	if restarted.IsZero() {
		restarted = c.killed // whoever brought it up again told nobody when
	}
	r.LastServedToRestart = b.between(last, told(restarted), Upper)
	if !c.killed.IsZero() && c.restart.After(c.killed) {
		r.KillToRestart = b.between(told(c.killed), told(c.restart), Exact)
	}
	r.Boot = b.between(b.bootBegan(l, c), told(c.ready), Exact)
	r.RestartToFirstRequest = b.between(told(restarted), first, Upper)
	r.ReadyToFirstRequest = b.between(told(c.ready), first, Upper)
	r.ReportedToFirstServed = b.between(b.toldAt("", d.ReportedAt), first, Upper)
	r.ReturnToNextDrain = b.returnToNextDrain(l, c)
	r.StateLagDown, r.StateLagUp = b.stateLags(l, c)
	h := b.health(l.group)
	if h.Known() {
		r.Predicted = predict(h)
		if !c.deregistered.IsZero() || c.arrives { // it comes back as a new target, after a single pass: within I + T
			r.Predicted.Return = Interval{0, seconds(h.Interval + h.Timeout)}
		}
		if !c.stop.IsZero() && c.onPurpose {
			// The first report measured twice the theory, so the margin is as much again.
			wait := 2 * r.Predicted.Eject.To
			if longest := b.longestEjection(); longest > 0 {
				wait = max(wait, 1.5*seconds(longest))
			}
			r.RecommendedDrainWait = new(math.Ceil(wait*10) / 10)
		}
	}
	r.InFlightAtStop, r.InFlightOf = b.inFlightAtStop(l, c)
	r.Checks = b.checksReport(l, c)
	r.Ejected, r.EjectedBasis = b.ejected(l, c, h, r)
	return r
}

// bootBegan is when a target's process was told to stop or killed, whichever came last: as the
// clock tells it that tells when it was ready, where that clock tells both.
func (b *bench) bootBegan(l *life, c cycle) dated {
	at, kind := c.restart, StepRestartBegan
	if c.killed.After(at) {
		at, kind = c.killed, StepProcessKilled
	}
	clock := b.toldAt(l.name, c.ready).clock
	for _, s := range b.steps {
		if s.Target == l.name && s.Kind == kind && !at.IsZero() && within(s.At, at, c.ready) && stepClock(s.Step) == clock {
			return dated{s.At, clock}
		}
	}
	return b.toldAt(l.name, at)
}

// longestEjection is the longest that a target took to leave rotation in the service's
// own history, exactly or at most. What is known from below says nothing of how long to
// wait.
func (b *bench) longestEjection() time.Duration {
	longest := time.Duration(0)
	for _, e := range b.obs.Ejections {
		if e.Bound != Lower {
			longest = max(longest, e.Took)
		}
	}
	return longest
}

// predict is what the settings alone imply, with checks started every Interval:
// ejection between (U−1)·I and U·I+T after the first failing moment, return
// between (H−1)·I and H·I+T after ready (spec: domain facts §2, Transitions). Where the
// balancer waits Interval after each answer, they end at U·(I+T) and H·(I+T).
func predict(h HealthCheck) *Predicted {
	span := func(n int) Interval {
		n = max(n, 1)
		return Interval{seconds(time.Duration(n-1) * h.Interval), seconds(h.reach(n))}
	}
	return &Predicted{Eject: span(h.Unhealthy), Return: span(h.Healthy)}
}

// predictedReturn is the longest time that the settings let a ready target wait.
func predictedReturn(h HealthCheck) time.Duration {
	return h.reach(max(h.Healthy, 1))
}

// ejected says whether the load balancer took the target out before or while it
// was down, with the grounds, strongest first.
func (b *bench) ejected(l *life, c cycle, h HealthCheck, r TargetReport) (string, []string) {
	if c.inferred != "" {
		return b.ejectedInferred(l, c, h)
	}
	if c.stop.IsZero() {
		return "unknown", []string{}
	}
	no, yes := []string{}, []string{}
	byChecks := b.ejectedByChecks(l, c)
	switch byChecks {
	case "yes":
		yes = append(yes, BasisHealthCheckLog)
	case "no":
		no = append(no, BasisHealthCheckLog)
	}
	// A target that was deregistered comes back as a new one, after a single pass.
	_, waited := b.apart(b.toldAt(l.name, c.ready), b.served(c.firstServed))
	if h.Known() && h.Healthy > 1 && c.deregistered.IsZero() && !c.ready.IsZero() && !c.firstServed.IsZero() &&
		waited < time.Duration(h.Healthy-1)*h.Interval {
		no = append(no, "served-right-after-ready")
	}
	sent, lastSent := b.sentWhileDown(l, c)
	end := c.back(time.Time{})
	if sent.all() > 0 && h.Known() && !end.IsZero() && end.Sub(lastSent) < h.Interval {
		no = append(no, "failures-shared-to-the-end")
	}
	for _, w := range r.FailureWindows {
		meets := !w.To.Before(c.stopBy().at) && (end.IsZero() || w.From.Before(end))
		if meets && h.Known() && w.Upper != nil && *w.Upper < seconds(time.Duration(h.Unhealthy-1)*h.Interval) {
			no = append(no, "window-shorter-than-checks")
			break
		}
	}
	out := slices.ContainsFunc(l.changes, func(ch change) bool {
		return !ch.in && ch.seen.After(earliest(c.begin(), c.stop)) && ch.seen.Before(c.until)
	})
	if l.polled && !out {
		no = append(no, "state-never-changed")
	}
	quiet, _ := b.apart(b.served(latest(c.lastServed, c.lastServedBy, b.lastSent(l.name, c.lastServed, c.stopBy().at))), b.toldAt(l.name, c.stop))
	if sent.all() == 0 && !c.lastServed.IsZero() && b.wouldHaveSeen(l, c) && (quiet > 0 && h.Known() && quiet >= h.Interval/2 || out) {
		yes = append(yes, "nothing-sent-before-stop")
	}
	if out {
		yes = append(yes, "state-changed")
	}
	switch {
	case sent.all() > 0 && b.openFor(l.group, c.stop, lastSent):
		return "no", append([]string{BasisFailOpen}, no...)
	case byChecks == "yes":
		return "yes", yes
	case byChecks == "no":
		return "no", no
	case len(no) > 0 && (len(no) > 1 || no[0] != "state-never-changed" || len(yes) == 0):
		return "no", no
	case len(yes) > 0:
		return "yes", yes
	}
	return "unknown", []string{}
}

// triedSomewhere reports whether, between two moments, attempts failed of which the
// log does not say where they were sent.
func (b *bench) triedSomewhere(from, to time.Time) bool {
	for i := range b.obs.Requests {
		if r := &b.obs.Requests[i]; b.triedOn(r, "") && !r.End.Before(from) && r.moment().Before(to) {
			return true
		}
	}
	return false
}

// wouldHaveSeen reports whether so many requests came through each load-balancer node from
// the last one that was sent to the target until it was ready again that none of them going
// to it cannot be chance (5 %), had it been in rotation; and none failed that may have been.
func (b *bench) wouldHaveSeen(l *life, c cycle) bool {
	until := c.back(c.until)
	since := latest(c.lastServed, b.lastSent(l.name, c.lastServed, until), b.from)
	if b.groupSize(l.group) < 2 || b.triedSomewhere(since, until) || b.failedSomewhere(l, c) {
		return false
	}
	return b.passedOverByAll(l, c, since, until)
}

// failedSomewhere reports whether requests failed that may have been sent to a target after
// it was told to stop: nobody says where they were, and it is not known to have been out.
// What the load balancer refused for want of a target was sent to none.
func (b *bench) failedSomewhere(l *life, c cycle) bool {
	until := c.back(c.until)
	return slices.ContainsFunc(b.failures, func(f failure) bool {
		from, to := b.cycleAhead(l, c, b.clock(&f)).between(&f)
		wanted := (&CellKey{Source: f.source, Status: f.status, Outcome: f.outcome, TargetGroup: f.group})
		return f.target == "" && b.meantForPool(&f, b.pool(l.group)) && !to.Before(c.stopBy().at) && from.Before(until) &&
			!b.wasOut(l, c, &f) && !b.wantsTarget(wanted, b.pool(l.group))
	})
}

// returnToNextDrain is the time from this target's return until another one of its
// group was next taken down.
func (b *bench) returnToNextDrain(l *life, c cycle) *Bounded {
	if c.firstServed.IsZero() {
		return nil
	}
	var next dated
	for _, other := range b.lives {
		if other == l || other.group != l.group {
			continue
		}
		for _, oc := range other.cycles {
			if begin := oc.begin(); !c.stop.IsZero() && begin.After(c.stop) && (next.at.IsZero() || begin.Before(next.at)) {
				if next = b.toldAt(other.name, begin); oc.inferred != "" {
					next = b.served(begin)
				}
			}
		}
	}
	return b.between(b.served(c.firstServed), next, Lower)
}

// stateLags are how far the displayed state trailed traffic: out of rotation after
// the last request served, into rotation after the first.
func (b *bench) stateLags(l *life, c cycle) (down, up *Interval) {
	for _, ch := range l.changes {
		lag := func(from, by time.Time) *Interval {
			least, _ := b.apart(b.served(latest(from, by)), dated{ch.before, ch.source})
			_, most := b.apart(b.served(from), dated{ch.seen, ch.source})
			return &Interval{seconds(least), seconds(most)}
		}
		switch {
		case !ch.seen.Before(c.until):
		case !ch.in && down == nil && !c.lastServed.IsZero() && !ch.seen.Before(c.begin()):
			down = lag(c.lastServed, c.lastServedBy)
		case ch.in && down != nil && up == nil && !c.firstServed.IsZero():
			up = lag(c.servesFrom(), c.firstServed)
		}
	}
	return down, up
}
