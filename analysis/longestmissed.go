package analysis

import (
	"slices"
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
	for i := len(lengths) - 1; i > 0; i-- { // between two of them the same spans have room
		if w, ok := o.longestIn(lengths[i-1], lengths[i], o.means(lengths[i-1])); ok {
			return new(milliseconds(w))
		}
	}
	return nil
}

// longestIn looks between two lengths, and knows the mean chances at the lower one. They
// only fall, and with them as they are the excess is a straight line, so where that is
// below the 5 % at both ends no length between the two reaches them.
func (o outages) longestIn(lo, hi time.Duration, means []float64) (w time.Duration, ok bool) {
	here := o.excess(means, lo)
	if here < 0 && o.excess(means, hi) <= 0 {
		return 0, false
	}
	if hi-lo <= time.Microsecond {
		if o.excess(o.means(hi), hi) >= 0 { // as where there is no more room
			return hi, here >= 0
		}
		return lo, here >= 0
	}
	middle := lo + ((hi - lo) / 2).Truncate(time.Microsecond)
	if w, ok = o.longestIn(middle, hi, o.means(middle)); ok {
		return w, true
	}
	return o.longestIn(lo, middle, means)
}

// means are the chances in each span; 0 where an outage of that length has no room.
func (o outages) means(w time.Duration) []float64 {
	list := make([]float64, len(o.spans))
	for i, s := range o.spans {
		if s.to.Sub(s.from) > w {
			list[i] = o.mean(s, w)
		}
	}
	return list
}

// excess is by how much the places that are missed exceed 5 % of all places, in seconds,
// for outages of length w and given chances.
func (o outages) excess(means []float64, w time.Duration) float64 {
	sum := 0.0
	for i, s := range o.spans {
		sum += max(0, s.to.Sub(s.from)-w).Seconds() * (means[i] - missedAtLeast)
	}
	return sum
}
