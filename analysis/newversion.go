package analysis

import (
	"slices"
	"time"
)

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
// (Bonferroni). What a target answered while another deploy had stopped it tells
// nothing of either.
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
		other := failure{class: c.Class, source: c.Source, target: c.Target, start: c.First, end: c.Last}
		if b.counting[c.Source] && c.TargetStatus > 0 && !b.byProber(c.Class) && !b.meetsNeighbor(&other) {
			add(routeKey{c.Class, c.Route}, c.Target, time.Unix(c.Second, 0), c.Count, c.Outcome == OutcomeTarget5xx)
		}
	}
	for i := range b.obs.Probes {
		p := &b.obs.Probes[i]
		target, answered := b.sentTo(p)
		other := failure{class: p.Class, source: p.Source, target: target, start: p.Sent, end: p.Done}
		if answered && b.inWindow(p.Sent) && !b.meetsNeighbor(&other) {
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
