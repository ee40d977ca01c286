package analysis

import (
	"math"
	"slices"
	"time"
)

// sendings are requests by when they were sent, and the chance of each to reach a target.
type sendings struct {
	zero time.Time
	at   []time.Duration // after zero, ascending
	// Of the first i of them: how many surely reach it, and the sum of the logarithms of
	// the others' chances not to.
	sure   []int
	spared []float64
}

// sendingsOf takes moments in order and the share of requests that went to the target at
// each.
func sendingsOf(zero time.Time, at []time.Time, share func(time.Time) float64) sendings {
	s := sendings{zero: zero, at: make([]time.Duration, len(at)), sure: make([]int, len(at)+1), spared: make([]float64, len(at)+1)}
	for i, t := range at {
		s.at[i] = t.Sub(zero)
		s.sure[i+1], s.spared[i+1] = s.sure[i], s.spared[i]
		if to := share(t); to < 1 {
			s.spared[i+1] += math.Log1p(-to)
		} else {
			s.sure[i+1]++
		}
	}
	return s
}

// surely is the share of requests that are known to have reached the target.
func surely(time.Time) float64 { return 1 }

// none is the chance that no request from number i to before number j reached the target.
func (s sendings) none(i, j int) float64 {
	if s.sure[i] < s.sure[j] {
		return 0
	}
	return math.Exp(s.spared[j] - s.spared[i])
}

// meanMiss is the mean, over all beginnings of an outage of length w in a longer span, of
// the chance that no request sent in it reached the target. Which requests those are
// changes only where the outage's end passes one, or its beginning does.
func (s sendings) meanMiss(in span, w time.Duration) float64 {
	now, last := in.from.Sub(s.zero), in.to.Sub(s.zero)-w
	first := now
	leave, _ := slices.BinarySearch(s.at, now)
	enter := leave
	sum := 0.0
	for now < last {
		switch {
		case enter < len(s.at) && s.at[enter]-w <= now:
			enter++
		case leave < enter && s.at[leave] <= now:
			leave++
		default:
			next := last
			if enter < len(s.at) {
				next = min(next, s.at[enter]-w)
			}
			if leave < enter {
				next = min(next, s.at[leave])
			}
			sum += s.none(leave, enter) * (next - now).Seconds()
			now = next
		}
	}
	return sum / (last - first).Seconds()
}

// missIn is the same for an outage within any of the spans; ok is false when none is
// longer than it.
func (s sendings) missIn(spans []span, w time.Duration) (p float64, ok bool) {
	sum, room := 0.0, 0.0
	for _, in := range spans {
		if own := in.to.Sub(in.from) - w; own > 0 {
			sum += own.Seconds() * s.meanMiss(in, w)
			room += own.Seconds()
		}
	}
	if room == 0 {
		return 0, false
	}
	return sum / room, true
}
