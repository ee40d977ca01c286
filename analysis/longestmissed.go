package analysis

import (
	"slices"
	"sort"
	"time"
)

// missedAtLeast is the chance from which on an outage could well have been missed: 5 %,
// less what floating point may lose on the way.
const missedAtLeast = 0.05 - 1e-12

// outages are total outages that lie within one of some spans, and the chance to miss
// one: mean gives it for outages of length w that begin anywhere in a span longer than w.
// In one span it never rises with w, since an outage that is longer by a little holds the
// shorter one that begins at the same share of the way; over several spans it may, where
// the shorter of them have no more room.
type outages struct {
	spans []span
	mean  func(s span, w time.Duration) float64
}

// longestMissed is the longest outage, in milliseconds and whole microseconds, that is
// missed with a chance of at least 5 %: longer ones, as far as there is room for them, are
// missed more rarely. It is nil where there is no room for any; else it is above 0, since
// what is short enough is always missed.
func (o outages) longestMissed() *float64 {
	lengths := []time.Duration{0}
	for _, s := range o.spans {
		lengths = append(lengths, s.to.Sub(s.from).Truncate(time.Microsecond))
	}
	slices.Sort(lengths)
	lengths = slices.Compact(lengths)
	for i := len(lengths) - 1; i > 0; i-- {
		if o.often(lengths[i-1]) {
			return new(milliseconds(o.longestIn(lengths[i-1], lengths[i])))
		}
	}
	return nil
}

// longestIn looks between two lengths, where the same spans have room; of the lower one
// it is known that it is missed often, and of those above the upper one that they are not.
// An outage that grows loses places to the span's end and to each request, and to each
// with the chance that nothing else in it was noticed, which only falls: the excess over
// 5 % of the places is convex. So it comes below 0 once, and stays there until the upper
// length, at which it is 0 where nothing longer has room.
func (o outages) longestIn(lo, hi time.Duration) time.Duration {
	steps := int((hi - lo) / time.Microsecond)
	rare := sort.Search(steps, func(n int) bool { return !o.often(lo + time.Duration(n)*time.Microsecond) })
	if rare == steps && o.often(hi) { // as where there is no more room
		return hi
	}
	return lo + time.Duration(rare-1)*time.Microsecond
}

// often reports whether outages of length w are missed with a chance of at least 5 %:
// whether the places that are missed exceed that part of all of them.
func (o outages) often(w time.Duration) bool {
	excess := 0.0 // in seconds
	for _, s := range o.spans {
		if room := s.to.Sub(s.from) - w; room > 0 {
			excess += room.Seconds() * (o.mean(s, w) - missedAtLeast)
		}
	}
	return excess >= 0
}
