package analysis

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
)

// findCauses puts every failure down to the first cause of DESIGN's list that the
// evidence bears out, and fills the causes of the totals.
func (b *bench) findCauses() {
	b.findForeignStops()
	b.report.Baseline = b.baselineTests()
	b.findWorseRoutes()
	quiet := map[string]bool{}
	for _, t := range b.report.Baseline {
		quiet[t.Kind] = !t.Significant
	}
	widen := b.doubt
	for i := range b.failures {
		f := &b.failures[i]
		switch {
		case b.meetsNeighbor(f, widen): // whatever else it meets
			f.cause = CauseShared
		case f.end.Before(b.started): // nothing had begun: the service's own background
			f.cause = CauseBackground
		case b.meetsDeploy(f, widen):
			f.cause = CauseDeploy
		case b.byNewVersion(f) && b.worse[routeKey{f.class, f.route}] != nil:
			f.cause = CauseVersion
		case quiet[f.kind()] && !b.atRisk(f) && !b.doubtful:
			f.cause = CauseBackground
		case f.byClient():
			f.cause = CauseClient
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
// target, where no witness names one; or a time with no target in rotation.
func (b *bench) meetsDeploy(f *failure, widen time.Duration) bool {
	if b.obs.Deploy.ID == "" {
		return false
	}
	from, to := f.start.Add(-widen), f.end.Add(widen)
	for _, l := range b.lives {
		if f.target != "" && f.target != l.name {
			continue
		}
		slack := b.slack(l.group)
		for _, c := range l.cycles {
			met := false
			down, back, ok := b.down(c)
			switch {
			case c.arrives: // nobody can be failed by a target that is not asked: it must be named
				met = f.target != "" && !to.Before(c.begin()) && (c.firstServed.IsZero() || from.Before(c.firstServed))
			case ok:
				if c.leaves && f.target == "" { // it is gone for good, and nobody is sent to it any more
					back = c.stop
				}
				met = !to.Before(down) && from.Before(back) || near(from, to, c.stop, slack)
			}
			if met || (c.arrives || ok) && near(from, to, c.firstServed, slack) {
				return true
			}
		}
	}
	if f.target != "" {
		return false
	}
	return slices.ContainsFunc(b.zero, func(s Span) bool { return !to.Before(s.From.Time) && from.Before(s.To.Time) })
}

// atRisk reports whether a failure lies in its target's own risky time, from its
// drain mark or stop to its return, with slack.
func (b *bench) atRisk(f *failure) bool {
	l := b.byName[f.target]
	if l == nil {
		return true
	}
	slack := b.slack(l.group)
	return slices.ContainsFunc(l.cycles, func(c cycle) bool {
		back := latest(c.firstServed, c.ready)
		if back.IsZero() {
			back = b.to
		}
		return !f.end.Before(c.begin().Add(-slack)) && !f.start.After(back.Add(slack))
	})
}

// meetsNeighbor reports whether a failure meets the time from a stop of the target by
// another deploy to its next readiness, widened by the check's timeout.
func (b *bench) meetsNeighbor(f *failure, widen time.Duration) bool {
	from, to := f.start.Add(-widen), f.end.Add(widen)
	return slices.ContainsFunc(b.foreign, func(d drain) bool {
		return (f.target == "" && !d.named || f.target == d.target) && !to.Before(d.from) && !from.After(d.to)
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
		back := b.readyAfter(s)
		slack := time.Second
		if l := b.byName[s.Target]; l != nil {
			slack = b.slack(l.group)
		}
		named := slices.ContainsFunc(b.obs.Neighbors, func(d Deploy) bool { return d.ID == owner && d.Kind == KindBlueGreen })
		if back.IsZero() {
			back = b.to
			if named {
				b.foreign = append(b.foreign, drain{target: s.Target, from: s.At.Add(-slack), to: s.At.Add(slack)})
			}
		}
		b.foreign = append(b.foreign, drain{target: s.Target, from: s.At.Add(-slack), to: back.Add(slack), named: named})
	}
}

func near(from, to, moment time.Time, slack time.Duration) bool {
	return !to.Before(moment.Add(-slack)) && !from.After(moment.Add(slack))
}

// clockDoubt is how far from each other two clocks may be by the bounds on their
// offsets; 0 where no request was matched.
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

// byNewVersion reports whether the target itself failed the request while it ran
// the new version.
func (b *bench) byNewVersion(f *failure) bool {
	return f.targetAnswers && f.outcome == OutcomeTarget5xx && b.runsNew(f.target, f.start)
}

// runsNew reports whether a target had come back with the new version by a moment.
func (b *bench) runsNew(target string, at time.Time) bool {
	l := b.byName[target]
	return b.versionsKnown() && l != nil && slices.ContainsFunc(l.cycles, func(c cycle) bool {
		return (c.arrives || !c.ready.IsZero()) && !at.Before(latest(c.ready, c.begin()))
	})
}

// arm is one side of a comparison.
type arm struct{ failed, all int }

// worse is a route on which the new version fails significantly more.
type worse struct {
	old, new arm
	p        float64
}

// findWorseRoutes finds the routes on which the new version fails significantly
// more than the old: Fisher's exact test, one-sided, corrected over routes
// (Bonferroni).
func (b *bench) findWorseRoutes() {
	b.worse = map[routeKey]*worse{}
	if !b.versionsKnown() {
		return
	}
	before, after := map[routeKey]arm{}, map[routeKey]arm{}
	add := func(k routeKey, target string, at time.Time, n int, failed bool) {
		arms := before
		if b.runsNew(target, at) {
			arms = after
		}
		a := arms[k]
		a.all += n
		if failed {
			a.failed += n
		}
		arms[k] = a
	}
	for i := range b.obs.Cells {
		c := &b.obs.Cells[i]
		if b.counting[c.Source] && c.TargetStatus > 0 && !b.byProber(c.Class) {
			add(routeKey{c.Class, c.Route}, c.Target, time.Unix(c.Second, 0), c.Count, c.Outcome == OutcomeTarget5xx)
		}
	}
	for i := range b.obs.Probes {
		p := &b.obs.Probes[i]
		if target, answered := b.sentTo(p); answered && b.inWindow(p.Sent) {
			add(routeKey{p.Class, p.Probe}, target, p.Sent, 1, b.probeOutcome(p) == OutcomeTarget5xx)
		}
	}
	for k, n := range after {
		o := before[k]
		b.versionsCompared = b.versionsCompared || o.all > 0
		if p := fisherGreater(n.failed, n.all, o.failed, o.all); p < significance/float64(len(after)) {
			b.worse[k] = &worse{old: o, new: n, p: p}
		}
	}
}

// versionsKnown reports whether the deploy names two different versions.
func (b *bench) versionsKnown() bool {
	d := b.obs.Deploy
	return d.VersionBefore != "" && d.VersionAfter != "" && d.VersionBefore != d.VersionAfter
}

// baselineTests compare, per kind of failure that the baseline has too, the window
// after the start with the baseline: given all failures of the kind, the window's
// number is binomial with the window's share of the requests.
func (b *bench) baselineTests() []BaselineTest {
	type pair struct{ baseline, window int }
	kinds := map[string]pair{}
	classes := map[string]Class{}
	for _, f := range b.failures {
		p := kinds[f.kind()]
		if b.meetsNeighbor(&f, b.doubt) {
			continue // another deploy's, not the service's background
		}
		if f.end.Before(b.started) {
			p.baseline += f.n
		} else {
			p.window += f.n
		}
		kinds[f.kind()] = p
		classes[f.kind()] = f.class
	}
	var tests []BaselineTest
	if b.measured(ClassUser) || b.measured(ClassProbe) {
		tests = []BaselineTest{}
	}
	days := b.background()
	for _, kind := range sortedKeys(kinds) {
		p, d := kinds[kind], days.kinds[kind]
		if p.baseline == 0 && d.Count == 0 {
			continue
		}
		t := BaselineTest{Kind: kind, BaselineFailures: p.baseline, WindowFailures: p.window}
		t.BaselineRequests, t.WindowRequests = b.exposure(classes[kind])
		// An outage in the days before counts as one stretch like any other.
		usual := min(d.Count, d.Spans*d.Typical)
		t.BackgroundFailures, t.BackgroundSpans = d.Count, d.Spans
		if d.Count > 0 {
			t.BackgroundRequests = days.requests[classes[kind]]
		}
		t.P = binomialAtLeast(p.window, p.baseline+usual+p.window, share(t.WindowRequests, t.BaselineRequests+t.BackgroundRequests))
		t.P = min(t.P, b.clusterChance(kind))
		if p.baseline == 0 {
			t.P = min(t.P, b.meetingChance(d))
		}
		t.Significant = t.P < significance
		tests = append(tests, t)
	}
	return tests
}

// background is what the service's last days outside of windows had, of those sources
// that count each class in this window.
type background struct {
	kinds    map[string]BackgroundCount
	requests map[Class]int
}

func (b *bench) background() background {
	days := background{map[string]BackgroundCount{}, map[Class]int{}}
	for _, c := range b.obs.Background {
		if counts := b.counting[c.Source]; b.byProber(c.Class) && b.isAccessLog(c.Source) || !b.byProber(c.Class) && !counts {
			continue // another witness counts this class
		}
		if c.Outcome == "" {
			days.requests[c.Class] += c.Count
		} else {
			kind := failure{class: c.Class, outcome: c.Outcome, status: c.Status, route: c.Route}.kind()
			sum := days.kinds[kind]
			// Two logs that have the kind do not have it in the same stretches of necessity.
			sum.Count, sum.Spans, sum.Of, sum.Typical = sum.Count+c.Count, sum.Spans+c.Spans, sum.Of+c.Of, max(sum.Typical, c.Typical)
			days.kinds[kind] = sum
		}
	}
	return days
}

// isAccessLog reports whether a source is an access log, whether it counts users or not.
func (b *bench) isAccessLog(source string) bool {
	return slices.ContainsFunc(b.obs.Service.LoadBalancers, func(l LoadBalancer) bool {
		return slices.ContainsFunc(l.AccessLogs, func(log AccessLog) bool { return log.Name == source })
	})
}

// meetingChance is the chance that a time as long as the one after the deploy's start
// has a kind at all, by the share of the stretches in the days before that had it. A
// kind that came all at once, in an outage, is no background of this window, however
// often it came then.
func (b *bench) meetingChance(d BackgroundCount) float64 {
	if d.Of == 0 {
		return 0
	}
	stretches := max(seconds(b.seenTo.Sub(b.started))/BackgroundSpan.Seconds(), 1)
	return 1 - math.Pow(1-float64(min(d.Spans, d.Of))/float64(d.Of), stretches)
}

// clusterSpans are the lengths in which failures are looked at for coming together.
var clusterSpans = []time.Duration{5 * time.Second, 30 * time.Second}

// clusterChance is an upper bound on the chance that failures of a kind, scattered
// over the window at their own rate, come together anywhere after the deploy's start
// as closely as they did (Poisson, Bonferroni over the places a span can have): a
// total that is no larger than the baseline's may still lie in one hole.
func (b *bench) clusterChance(kind string) float64 {
	type moment struct {
		at time.Time
		n  int
	}
	var at []moment
	all := 0
	for _, f := range b.failures {
		if f.kind() != kind || b.meetsNeighbor(&f, b.doubt) {
			continue
		}
		all += f.n
		if !f.end.Before(b.started) {
			at = append(at, moment{f.end, f.n})
		}
	}
	length := seconds(b.seenTo.Sub(b.from))
	chance := 1.0
	for _, span := range clusterSpans {
		most, within := 0, 0
		for i, j := 0, 0; i < len(at); i++ {
			within += at[i].n
			for ; at[i].at.Sub(at[j].at) > span; j++ {
				within -= at[j].n
			}
			most = max(most, within)
		}
		if most < 3 || length <= seconds(span) {
			continue
		}
		places := length / seconds(span)
		chance = min(chance, places*poissonAtLeast(most, float64(all)*seconds(span)/length))
	}
	return chance
}

// exposure is how many requests of a class the baseline and the time after had.
func (b *bench) exposure(class Class) (baseline, window int) {
	for _, phase := range b.report.Phases {
		counts := phase.Traffic[class]
		switch {
		case counts == nil:
		case phase.Kind == "baseline":
			baseline += counts.Requests
		default:
			window += counts.Requests
		}
	}
	return baseline, window
}

// causedIn counts the failures of a class after the deploy's start, by cause.
func (b *bench) causedIn(class Class) map[Cause]int {
	return b.causesIn(Scope{class, Time{b.started}, Time{b.to}})
}

// causesIn counts the failures in a scope, by cause.
func (b *bench) causesIn(s Scope) map[Cause]int {
	n := map[Cause]int{}
	for i := range b.failures {
		if f := &b.failures[i]; f.in(s) {
			n[f.cause] += f.n
		}
	}
	return n
}

// in reports whether a failure lies in a scope: it ended in it; failures that were
// only counted reach into it.
func (f *failure) in(s Scope) bool {
	return f.class == s.Traffic && !f.end.Before(s.From.Time) && f.counted().Before(s.To.Time)
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
