package analysis

import (
	"cmp"
	"slices"
	"time"
)

// byNewVersion reports whether the target itself failed the request while it ran
// the new version.
func (b *bench) byNewVersion(f *failure) bool {
	return f.targetAnswers && f.outcome.byTarget() && b.runsNew(f.target, f.start)
}

// byTarget reports whether it is what a target answered that makes a failure: a 5xx of
// its own, or a body that belies its status.
func (o Outcome) byTarget() bool { return o == OutcomeTarget5xx || o == OutcomeBadBody }

// runsNew reports whether a target had come back with the new version by a moment, and no
// other deploy had stopped it since.
func (b *bench) runsNew(target string, at time.Time) bool {
	l := b.byName[target]
	return b.versionsKnown() && l != nil && slices.ContainsFunc(l.cycles, func(c cycle) bool {
		since := b.newSince(l, c)
		return !since.IsZero() && !at.Before(since) && !b.stoppedByOther(target, since, at)
	})
}

// runsOld reports whether neither this deploy nor, since its start, another one had taken
// a target in hand by a moment. What it answers from its stop until it surely runs the new
// version is neither version's.
func (b *bench) runsOld(target string, at time.Time) bool {
	l := b.byName[target]
	return l != nil && !b.stoppedByOther(target, b.started, at) && !slices.ContainsFunc(l.cycles, func(c cycle) bool {
		return c.arrives || !at.Before(cmp.Or(c.stopBy().at, c.begin()))
	})
}

// newSince is from when on a target surely runs the new version after a cycle: since it
// was ready; or, where nobody tells that, since it served again after its stop and a pause
// that is longer than any that it usually makes. Zero where that is not known.
func (b *bench) newSince(l *life, c cycle) time.Time {
	switch paused := c.firstServed.Sub(latest(c.stopBy().by, c.lastServed)); {
	case !c.ready.IsZero():
		return c.readyBy().by
	case c.arrives:
		return c.begin()
	case !c.stop.IsZero() && paused > pollReach*max(l.usualPause, time.Second):
		return c.firstServed
	}
	return time.Time{}
}

// stoppedByOther reports whether another deploy stopped a target from one moment on and
// before another.
func (b *bench) stoppedByOther(target string, from, to time.Time) bool {
	return b.otherStop(target, from, to).Before(to)
}

// otherStop is when another deploy first stopped a target from a moment on, or another
// moment where none did before that.
func (b *bench) otherStop(target string, from, otherwise time.Time) time.Time {
	for _, d := range b.foreign {
		if d.target == target && !d.at.Before(from) {
			otherwise = earliest(otherwise, d.at)
		}
	}
	return otherwise
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
// (Bonferroni). What a target answered while another deploy had stopped it, or after it
// had, tells nothing of either.
func (b *bench) findWorseRoutes() {
	b.worse = map[routeKey]*worse{}
	if !b.versionsKnown() {
		return
	}
	before, after := map[routeKey]arm{}, map[routeKey]arm{}
	add := func(k routeKey, target string, sent span, n int, failed bool) {
		arms := before
		switch {
		case b.runsNew(target, sent.from):
			arms = after
		case !b.runsOld(target, sent.to):
			return
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
			add(routeKey{c.Class, c.Route}, c.Target, c.begun(), c.Count, c.Outcome.byTarget())
		}
	}
	for i := range b.obs.Probes {
		p := &b.obs.Probes[i]
		target, answered := b.sentTo(p)
		other := failure{class: p.Class, source: p.Source, target: target, start: p.Sent, end: p.Done}
		if answered && b.inWindow(p.Sent) && !b.meetsNeighbor(&other) {
			add(routeKey{p.Class, p.Probe}, target, span{p.Sent, p.Sent}, 1, b.probeOutcome(p).byTarget())
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
