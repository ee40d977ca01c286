package analysis

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// findCauses puts every failure down to the first of the [Cause] constants, in their
// order, that the evidence bears out, and fills the causes of the totals. What failed
// before the start by all that the clocks may say, when nothing had begun, is the
// service's own background, or what another deploy did.
func (b *bench) findCauses() {
	for i := range b.failures {
		f := &b.failures[i]
		f.late = max(b.startAhead(b.clock(f)).most, 0)
	}
	b.report.Baseline = b.baselineTests()
	b.findWorseRoutes()
	quiet := map[string]bool{}
	for _, t := range b.report.Baseline {
		quiet[t.Kind] = !t.Significant
	}
	for i := range b.failures {
		f := &b.failures[i]
		switch {
		case f.ended().before(b.started) && b.meetsNeighbor(f):
			f.cause = CauseShared
		case f.ended().before(b.started): // nothing had begun: the service's own background
			f.cause = CauseBackground
		case b.meetsDeploy(f):
			f.cause, f.caused = CauseDeploy, b.started
		case b.byNewVersion(f) && b.worse[routeKey{f.class, f.route}] != nil:
			f.cause = CauseVersion
		case quiet[f.kind()] && !b.atRisk(f) && !b.meetsNeighbor(f) && !b.doubtful:
			f.cause = CauseBackground
		case f.byClient():
			f.cause = CauseClient
		case b.meetsNeighbor(f):
			f.cause = CauseShared
		default:
			f.cause = CauseUnexplained
		}
		if total := b.report.Totals[f.class]; total != nil {
			total.Causes[f.cause] += f.n
		}
	}
}

// meetsDeploy reports whether a failure meets the down interval, or the moments of
// stop and return ± the check's timeout, of the target it was sent to; or of any
// target in rotation, where no witness names one; or a time with no target in rotation.
func (b *bench) meetsDeploy(f *failure) bool {
	if b.obs.Deploy.ID == "" {
		return false
	}
	for _, l := range b.lives {
		if !b.concerns(f, l) {
			continue
		}
		slack := b.slack(l.group)
		for _, c := range l.cycles {
			met := false
			from, to := b.cycleAhead(l, c, b.clock(f)).between(f)
			down, back, cut, ok := b.ownPart(l, c)
			switch {
			case c.arrives: // nobody can be failed by a target that is not asked: it must be named
				met = f.target != "" && !to.Before(c.begin()) && (c.firstServed.IsZero() || from.Before(c.firstServed))
			case ok:
				if c.leaves && f.target == "" { // it is gone for good, and nobody is sent to it any more
					back = c.stopBy().by
				}
				stopFrom, stopTo := b.stopAhead(l.name, c.stop, b.clock(f)).between(f)
				met = !to.Before(down) && from.Before(back) || near(stopFrom, stopTo, c.stop, slack)
				if f.target == "" && b.wasOut(l, c, f) && b.othersServe(l, f.end) {
					met = false // it was not sent there, and there was another one to send it to
				}
			}
			if met || (c.arrives || ok) && !cut && near(from, to, c.firstServed, slack) {
				return true
			}
		}
	}
	if f.target != "" {
		return false
	}
	return slices.ContainsFunc(b.zero, func(s TargetGroupSpan) bool {
		from, to := b.groupAhead(s.TargetGroup, b.clock(f)).between(f)
		return b.meantForPool(f, s.TargetGroup) && !to.Before(s.From.Time) && from.Before(s.To.Time)
	})
}

// atRisk reports whether a failure lies in its target's own risky time, from its
// drain mark or stop to its return, with slack; or may, where nothing tells when it was
// stopped.
func (b *bench) atRisk(f *failure) bool {
	l := b.byName[f.target]
	if l == nil || b.stopsUnknown() || b.passedBy(l) && b.mayHaveRestarted(l, f) {
		return true
	}
	slack := b.slack(l.group)
	return slices.ContainsFunc(l.cycles, func(c cycle) bool {
		back := c.returned(time.Time{})
		if back.IsZero() {
			back = b.to
		}
		from, to := b.cycleAhead(l, c, b.clock(f)).between(f)
		return !to.Before(c.atRiskFrom().Add(-slack)) && !from.After(back.Add(slack))
	})
}

// meetsNeighbor reports whether a failure meets the time from a stop of the target by
// another deploy to its next readiness, widened by the check's timeout.
func (b *bench) meetsNeighbor(f *failure) bool {
	return slices.ContainsFunc(b.foreign, func(d drain) bool {
		l := b.byName[d.target]
		from, to := b.ahead(d.clock, b.clock(f)).between(f)
		return (f.target == "" && !d.named && (l == nil || b.concerns(f, l)) || f.target == d.target) && !to.Before(d.from) && !from.After(d.to)
	})
}

// stoppedByNeighbor reports whether a time in which a target served nothing meets one in
// which another deploy had it stopped.
func (b *bench) stoppedByNeighbor(l *life, c cycle) bool {
	return slices.ContainsFunc(b.foreign, func(d drain) bool {
		ahead := b.ahead(d.clock, b.servingClock)
		return d.target == l.name && overlap(d.from.Add(-ahead.most), d.to.Add(-ahead.least), c.lastServed, c.firstServed)
	})
}

// findForeignStops lists the stops that other deploys made in this window. A
// blue/green deploy starts new targets and stops old ones for good: away from the
// moment of such a stop, only what was sent to that very target can have met it.
func (b *bench) findForeignStops() {
	for _, s := range b.obs.Steps {
		owner := b.owner(s)
		if rank(s.Kind) != 2 || owner == "" || owner == b.obs.Deploy.ID {
			continue
		}
		back := b.backAfter(s, owner)
		slack := time.Second
		if l := b.byName[s.Target]; l != nil {
			slack = b.slack(l.group)
		}
		named := slices.ContainsFunc(b.obs.Neighbors, func(d Deploy) bool { return d.ID == owner && d.Kind == KindBlueGreen })
		if back.IsZero() {
			back = b.to
			if named {
				b.foreign = append(b.foreign, drain{target: s.Target, clock: stepClock(s), at: s.At, from: s.At.Add(-slack), to: s.At.Add(slack)})
			}
		}
		b.foreign = append(b.foreign, drain{target: s.Target, clock: stepClock(s), at: s.At, from: s.At.Add(-slack), to: back.Add(slack), named: named})
	}
}

// backAfter is when the target that another deploy stopped was back: as a step says, or,
// where none does before the next deploy takes it in hand, as it served again. Where
// it did not until then, its next readiness ends both; zero where there is none.
func (b *bench) backAfter(stop Step, owner string) (back time.Time) {
	until := b.to
	for _, s := range b.obs.Steps {
		if r := rank(s.Kind); (r == 1 || r == 2) && s.Target == stop.Target && s.At.After(stop.At) && b.owner(s) != owner {
			until = earliest(until, s.At)
		}
	}
	for _, s := range b.obs.Steps {
		told := s.Kind == StepAppReady || s.Kind == StepTargetHealthy || s.Kind == StepFirstRequest
		if told && s.Target == stop.Target && s.At.After(stop.At) && s.At.Before(until) {
			back = earliest(back, s.At)
		}
	}
	if l := b.byName[stop.Target]; l != nil && back.IsZero() {
		if served, _ := b.returnAfter(l, stop.At, until); served.Before(until) {
			back = served
		}
	}
	if back.IsZero() {
		back = b.readyAfter(stop)
	}
	return back
}

// ownPart is what of the time in which a target may not have served is this deploy's
// doing: not what it was away for by another one's stop when this one took it in hand,
// nor what it is from another one's stop on, after it was ready; cut tells the latter.
func (b *bench) ownPart(l *life, c cycle) (down, back time.Time, cut, ok bool) {
	down, back, ok = b.down(c)
	for _, d := range b.foreign {
		switch {
		case d.target != l.name:
		case d.from.Before(c.begin()) && !d.to.Before(c.begin()):
			down = latest(down, c.begin())
		case !c.ready.IsZero() && d.from.After(c.ready) && d.from.Before(back):
			back, cut = d.from, true
		}
	}
	return down, back, cut, ok
}

func near(from, to, moment time.Time, slack time.Duration) bool {
	return !to.Before(moment.Add(-slack)) && !from.After(moment.Add(slack))
}

// clockDoubt is how far from each other two clocks may be of which nothing more is known,
// by the bounds on the offsets of the others; 0 where no request was matched.
func (b *bench) clockDoubt() time.Duration {
	doubt := 0.0
	for _, o := range b.offsets {
		doubt = max(doubt, o.Offset.To, -o.Offset.From)
	}
	return time.Duration(doubt * float64(time.Millisecond))
}

// byClient reports whether a failure is the client's doing: the load balancer refused,
// without asking a target, what no target could have understood (501: a transfer
// encoding that it does not know; 505: an HTTP version that it does not). Malformed
// requests answered with 400, aborts and refusals by a firewall (403) are no failures
// at all.
func (f *failure) byClient() bool {
	return f.outcome == OutcomeLB5xx && f.target == "" && (f.status == 501 || f.status == 505)
}

type routeKey struct {
	class Class
	route string
}

// causedIn counts the failures of a class after the deploy's start, by cause.
func (b *bench) causedIn(class Class) map[Cause]int {
	return b.causesIn(Scope{class, Time{b.started}, Time{b.to}})
}

// causesIn counts the failures in a scope, by cause.
func (b *bench) causesIn(s Scope) map[Cause]int {
	n := map[Cause]int{}
	for i := range b.failures {
		if f := &b.failures[i]; b.in(f, s) {
			n[f.cause] += f.n
		}
	}
	return n
}

// in reports whether a failure lies in a scope: it surely ended in it; failures that were
// only counted reach into it. One that a deploy caused came after that one's start,
// whatever its clock says, and all of them count as having come before the window's end.
func (b *bench) in(f *failure, s Scope) bool {
	begun := !f.end.Before(s.From.Time) || !f.caused.Before(s.From.Time)
	ended := point{at: f.counted(), by: f.counted()}
	if s.To.Before(b.to) {
		ended.by = ended.by.Add(f.cut)
	}
	return f.class == s.Traffic && begun && ended.before(s.To.Time)
}

// mayBeIn reports whether any failure may have ended in a scope, as its log cuts the
// moment or clocks are apart: any at all, or one that may be a deploy's doing.
func (b *bench) mayBeIn(s Scope, blamed bool) bool {
	return slices.ContainsFunc(b.failures, func(f failure) bool {
		maybe := f.cause != CauseBackground && f.cause != CauseClient
		return f.class == s.Traffic && !f.ended().before(s.From.Time) && f.counted().Before(s.To.Time) && (maybe || !blamed)
	})
}

// byTime orders findings: worst first, then by time and target.
func byTime(x, y Finding) int {
	order := map[Severity]int{SeverityHigh: 0, SeverityMedium: 1, SeverityInfo: 2}
	name := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	return cmp.Or(cmp.Compare(order[x.Severity], order[y.Severity]), x.From.Compare(y.From.Time),
		strings.Compare(x.Code, y.Code), strings.Compare(name(x.Target), name(y.Target)))
}
