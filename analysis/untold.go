package analysis

import (
	"slices"
	"time"
)

// A deploy may tell nothing of what it did to its targets, or something of some. What
// nobody told may have happened all the same, so that a failure in such a time is not
// compared with what was there before.

// stopsUnknown reports whether neither a step nor a state nor traffic tells of any target
// what the deploy did to it.
func (b *bench) stopsUnknown() bool {
	return b.obs.Deploy.ID != "" && !slices.ContainsFunc(b.lives, func(l *life) bool { return len(l.cycles) > 0 })
}

// untoldStops are the targets that were ready again without a word of their stop.
func (b *bench) untoldStops() []string {
	names := []string{}
	for _, l := range b.lives {
		if slices.ContainsFunc(l.cycles, func(c cycle) bool { return c.inferred == "" && c.stop.IsZero() && !c.fell().IsZero() }) {
			names = append(names, l.name)
		}
	}
	return names
}

// passedBy reports whether nothing tells what a rolling deploy, or one in place, did to a
// target, while it tells of others of its group: a canary may have left it alone, and the
// steps of a deploy of all may be lost.
func (b *bench) passedBy(l *life) bool {
	if k := b.obs.Deploy.Kind; b.obs.Deploy.ID == "" || len(l.cycles) > 0 || k != KindRolling && k != KindInPlace {
		return false
	}
	return slices.ContainsFunc(b.lives, func(other *life) bool { return b.mates(l, other) && len(other.cycles) > 0 })
}

// untoldTargets are the targets of which nothing tells what the deploy did to them, and
// which requests were sent to.
func (b *bench) untoldTargets() []string {
	var names []string
	for _, l := range b.lives {
		if b.passedBy(l) && len(l.points) > 0 {
			names = append(names, l.name)
		}
	}
	return names
}

// mayHaveRestarted reports whether a target may have been away at a failure for half as
// long as the shortest restart of its group that is known took: it is not known to have
// been sent what it answered well so soon before and after. Where no restart is known from
// stop to return, none is too short.
func (b *bench) mayHaveRestarted(l *life, f *failure) bool {
	var restarts []time.Duration
	for _, other := range b.lives {
		if !b.mates(l, other) {
			continue
		}
		for _, c := range other.cycles {
			if back := c.back(time.Time{}); !c.stop.IsZero() && back.After(c.stopBy().by) {
				restarts = append(restarts, back.Sub(c.stopBy().by))
			}
		}
	}
	if len(restarts) == 0 {
		return true
	}
	from, to := b.asServed(f)
	var before, after time.Time
	next, _ := slices.BinarySearchFunc(l.points, from.Add(time.Nanosecond), func(p served, t time.Time) int { return p.at.Compare(t) })
	for i := next - 1; i >= 0 && before.IsZero(); i-- {
		if p := l.points[i]; !p.failed && !p.by.After(from) {
			before = p.at
		}
	}
	for i := next; i < len(l.points) && after.IsZero(); i++ {
		if p := l.points[i]; !p.failed && !p.at.Before(to) {
			after = p.by
		}
	}
	return before.IsZero() || after.IsZero() || 2*after.Sub(before) >= slices.Min(restarts)
}

// mates reports whether two targets share the requests of a group.
func (b *bench) mates(l, other *life) bool {
	return other != l && b.pool(other.group) == b.pool(l.group)
}
