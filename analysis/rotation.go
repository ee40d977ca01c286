package analysis

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// inRotation are the spans in [from, to) in which a target was in rotation as far
// as traffic shows: all of it, less the time between the last request before each
// stop and the first one after, and less the time before the first request it served
// at all, or after the last, where others served meanwhile and it usually does not
// pause so long: a target that was added or taken away; and less what shows that none
// of its group was.
func (b *bench) inRotation(l *life, from, to time.Time) []span {
	in := []span{{from, to}}
	if first, last := b.servedFrom, b.servedTo; len(l.points) > 0 {
		pause := pollReach * max(l.usualPause, time.Second)
		if l.points[0].at.Sub(first) > pause {
			in = subtract(in, span{b.from, l.points[0].by})
		}
		if end := l.points[len(l.points)-1].at; last.Sub(end) > pause {
			in = subtract(in, span{end, b.to})
		}
	}
	for _, c := range l.cycles {
		if gone, back, ok := b.down(c); ok {
			in = subtract(in, span{gone, back})
		}
		switch {
		case c.arrives:
			came := c.firstServed
			if came.IsZero() {
				came = b.to
			}
			in = subtract(in, span{b.from, came})
		case c.leaves: // it is gone once it served for the last time, where no stop is told
			in = subtract(in, span{latest(c.begin(), l.lastPoint()), b.to})
		}
	}
	return union(without(without(in, b.empty[b.pool(l.group)]), l.absent))
}

// lastPoint is when the target last served at all; zero where it did not.
func (l *life) lastPoint() time.Time {
	if len(l.points) == 0 {
		return time.Time{}
	}
	return l.points[len(l.points)-1].at
}

// servedAtAll reports whether any target is known to have served.
func (b *bench) servedAtAll() bool {
	return slices.ContainsFunc(b.lives, func(l *life) bool { return l.points != nil })
}

// findDips finds the time in which only one target of a group, or none, was in
// rotation as far as traffic shows. Beside a target of which no source could have told
// that it served, none is known to have been alone, and where no other served, only that
// it was down too shows that none did.
func (b *bench) findDips() {
	var single []TargetSpan
	var zero, maybe []TargetGroupSpan
	if b.servedTo.After(b.servedFrom) {
		single, zero = []TargetSpan{}, []TargetGroupSpan{} // measured, and perhaps none
	}
	sure := map[string][]span{}
	maps.Copy(sure, b.empty)
	for _, name := range sortedKeys(b.open) {
		for _, s := range b.open[name] {
			maybe = append(maybe, TargetGroupSpan{name, reported(s.from, s.to)})
		}
	}
	groups, hidden := map[string][]*life{}, map[string][]*life{}
	for _, l := range b.lives {
		if len(l.points) > 0 {
			groups[b.pool(l.group)] = append(groups[b.pool(l.group)], l)
		} else if !b.logRead() && b.voiceless(l.name) {
			hidden[b.pool(l.group)] = append(hidden[b.pool(l.group)], l)
		}
	}
	for _, name := range sortedKeys(groups) {
		mates := groups[name]
		edges := []time.Time{b.from, b.seenTo}
		in := make([][]span, len(mates))
		for i, l := range mates {
			in[i] = b.inRotation(l, b.from, b.seenTo)
			for _, s := range in[i] {
				edges = append(edges, s.from, s.to)
			}
		}
		slices.SortFunc(edges, time.Time.Compare)
		edges = slices.CompactFunc(edges, time.Time.Equal)
		var outer []span
		for i := 1; i < len(edges); i++ { // at every edge some target comes or goes
			from, to := edges[i-1], edges[i]
			left, alone := 0, ""
			for j, l := range mates {
				if slices.ContainsFunc(in[j], func(s span) bool { return within(from, s.from, s.to) }) {
					left++
					alone = l.name
				}
			}
			switch left {
			case 0:
				outer = append(outer, span{from, to})
			case 1:
				if b.standing(name) < 2 {
					break // it never had another
				}
				if len(hidden[name]) > 0 {
					b.undecided = true
					break
				}
				single = append(single, TargetSpan{alone, reported(from, to)})
			}
		}
		for _, o := range outer {
			sure[name] = append(slices.Clip(sure[name]), b.surelyZero(name, append(slices.Clip(mates), hidden[name]...), o)...)
			if !b.handedOver(mates, o) {
				maybe = append(maybe, TargetGroupSpan{name, reported(o.from, o.to)})
			}
		}
	}
	for _, name := range sortedKeys(sure) {
		for _, s := range union(sure[name]) {
			zero = append(zero, TargetGroupSpan{name, reported(s.from, s.to)})
		}
	}
	b.single, b.zero, b.maybeZero = single, zero, maybe
}

// surelyZero is the part of a span without any request served in which no target of
// the group can have been in rotation: all of them were stopped and not yet ready, or
// requests were refused by the load balancer. A pause in traffic proves nothing.
func (b *bench) surelyZero(group string, mates []*life, outer span) []span {
	inner := []span{outer}
	for _, l := range mates {
		up := []span{outer}
		for _, c := range l.cycles {
			back := c.back(c.until)
			if !c.stop.IsZero() {
				up = subtract(up, span{c.stopBy().by, back})
			}
		}
		for _, s := range up {
			inner = subtract(inner, s)
		}
	}
	var from, to time.Time
	for i := range b.obs.Requests {
		r := &b.obs.Requests[i]
		if b.refusedBy(&r.CellKey, group) && within(r.End, outer.from, outer.to) {
			from, to = earliest(from, b.by(r.Source, r.moment())), latest(to, r.End)
		}
	}
	for _, c := range b.unkept {
		if b.refusedBy(&c.CellKey, group) && within(c.Last, outer.from, outer.to) {
			from, to = earliest(from, b.by(c.Source, c.First)), latest(to, c.Last)
		}
	}
	return union(append(inner, span{latest(from, outer.from), to}))
}

// groupSize is how many targets a group has, whether they served or not.
func (b *bench) groupSize(group string) int {
	n := 0
	for _, l := range b.lives {
		if b.pool(l.group) == b.pool(group) {
			n++
		}
	}
	return n
}

// reported is a stretch of time as the report prints it.
func reported(from, to time.Time) Span {
	return Span{Time{from}, Time{to}, seconds(to.Sub(from))}
}

// statesOf are the polled states of one target, in order.
func (b *bench) statesOf(name string) []StateSample {
	var states []StateSample
	for _, s := range b.obs.States {
		if s.Target == name {
			states = append(states, s)
		}
	}
	slices.SortStableFunc(states, func(x, y StateSample) int { return cmp.Or(x.At.Compare(y.At), strings.Compare(x.Source, y.Source)) })
	return states
}
