package analysis

import (
	"slices"
	"time"
)

// inRotation are the spans in [from, to) in which a target was in rotation as far
// as traffic shows: all of it, less the time between the last request before each
// stop and the first one after.
func (b *bench) inRotation(l *life, from, to time.Time) []span {
	if !from.Before(to) {
		return nil
	}
	in := []span{{from, to}}
	for _, c := range l.cycles {
		if gone, back, ok := b.down(c); ok {
			in = subtract(in, span{gone, back})
		}
	}
	return in
}

// findDips finds the time in which only one target of a group, or none, was in
// rotation as far as traffic shows.
func (b *bench) findDips() {
	single, zero := []TargetSpan{}, []Span{}
	groups := map[string][]*life{}
	for _, l := range b.lives {
		if len(l.points) > 0 {
			groups[l.group] = append(groups[l.group], l)
		}
	}
	for _, name := range sortedKeys(groups) {
		mates := groups[name]
		if len(mates) < 2 {
			continue
		}
		edges := []time.Time{b.from, b.seenTo}
		in := make([][]span, len(mates))
		for i, l := range mates {
			in[i] = b.inRotation(l, b.from, b.seenTo)
			for _, s := range in[i] {
				edges = append(edges, s.from, s.to)
			}
		}
		slices.SortFunc(edges, time.Time.Compare)
		for i := 1; i < len(edges); i++ {
			from, to := edges[i-1], edges[i]
			if !from.Before(to) {
				continue
			}
			left, alone := 0, ""
			for j, l := range mates {
				if slices.ContainsFunc(in[j], func(s span) bool { return !from.Before(s.from) && from.Before(s.to) }) {
					left++
					alone = l.name
				}
			}
			switch left {
			case 0:
				zero = appendSpan(zero, from, to)
			case 1:
				if n := len(single); n > 0 && single[n-1].Target == alone && single[n-1].To.Equal(from) {
					single[n-1].To, single[n-1].Seconds = Time{to}, seconds(to.Sub(single[n-1].From.Time))
				} else {
					single = append(single, TargetSpan{alone, Span{Time{from}, Time{to}, seconds(to.Sub(from))}})
				}
			}
		}
	}
	b.single, b.zero = single, zero
}

func appendSpan(spans []Span, from, to time.Time) []Span {
	if n := len(spans); n > 0 && spans[n-1].To.Equal(from) {
		spans[n-1].To, spans[n-1].Seconds = Time{to}, seconds(to.Sub(spans[n-1].From.Time))
		return spans
	}
	return append(spans, Span{Time{from}, Time{to}, seconds(to.Sub(from))})
}

// statesOf are the polled states of one target, in order.
func (b *bench) statesOf(name string) []StateSample {
	var states []StateSample
	for _, s := range b.obs.States {
		if s.Target == name {
			states = append(states, s)
		}
	}
	slices.SortStableFunc(states, func(x, y StateSample) int { return x.At.Compare(y.At) })
	return states
}
