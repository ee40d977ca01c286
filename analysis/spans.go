package analysis

import (
	"slices"
	"time"
)

// span is a half-open stretch of time.
type span struct{ from, to time.Time }

// within reports whether a moment lies in [from, to).
func within(t, from, to time.Time) bool { return !t.Before(from) && t.Before(to) }

// inside are the items of a list that lie in [from, to); the list ascends by their times.
func inside[T any](list []T, at func(T) time.Time, from, to time.Time) []T {
	compare := func(item T, t time.Time) int { return at(item).Compare(t) }
	first, _ := slices.BinarySearchFunc(list, from, compare)
	n, _ := slices.BinarySearchFunc(list[first:], to, compare)
	return list[first : first+n]
}

// covers reports whether one of some spans, which are in order and disjoint, holds a
// moment.
func covers(spans []span, t time.Time) bool {
	begun := inside(spans, func(s span) time.Time { return s.from }, time.Time{}, t.Add(time.Nanosecond))
	return len(begun) > 0 && t.Before(begun[len(begun)-1].to)
}

// overlap reports whether two half-open stretches of time share a moment; one without
// a length shares those that lie on both sides of it.
func overlap(from, to, otherFrom, otherTo time.Time) bool {
	return from.Before(otherTo) && otherFrom.Before(to)
}

// union merges spans into disjoint ones, ascending.
func union(spans []span) []span {
	spans = slices.Clone(spans)
	slices.SortFunc(spans, func(x, y span) int { return x.from.Compare(y.from) })
	var merged []span
	for _, s := range spans {
		if !s.from.Before(s.to) {
			continue
		}
		if n := len(merged); n > 0 && !s.from.After(merged[n-1].to) {
			merged[n-1].to = latest(merged[n-1].to, s.to)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// cover adds a span to some that will be united. One that meets the last of them is put
// into it, so that what comes nearly in order stays few.
func cover(spans []span, s span) []span {
	if n := len(spans); n > 0 && !s.from.After(spans[n-1].to) && !spans[n-1].from.After(s.to) {
		last := &spans[n-1]
		last.from, last.to = earliest(last.from, s.from), latest(last.to, s.to)
		return spans
	}
	return append(spans, s)
}

// subtract removes a span from others.
func subtract(spans []span, gone span) []span {
	var left []span
	for _, s := range spans {
		if !overlap(s.from, s.to, gone.from, gone.to) {
			left = append(left, s)
			continue
		}
		if s.from.Before(gone.from) {
			left = append(left, span{s.from, gone.from})
		}
		if gone.to.Before(s.to) {
			left = append(left, span{gone.to, s.to})
		}
	}
	return left
}

// holes are the parts of [from, to) that no span covers.
func holes(from, to time.Time, covered []span) []span {
	var left []span
	for _, s := range union(covered) { // in their order, and apart from each other
		if s.from.After(from) && from.Before(to) {
			left = append(left, span{from, earliest(s.from, to)})
		}
		from = latest(from, s.to)
	}
	if from.Before(to) {
		left = append(left, span{from, to})
	}
	return left
}
