package analysis

import (
	"math"
	"time"
)

// gathering is a span after the deploy's start in which requests of one kind came
// together.
type gathering struct {
	from, to time.Time
	n        int
	p        float64
}

// gatheringLeast is the number of requests from which those that come together are a
// surge: fewer may be one client that left a page, whose requests all end at once.
const gatheringLeast = 10

// series counts requests of one sort, before the deploy's start and after it, and in each
// second of the window.
type series struct {
	before, after int
	each          []int
}

func (s *series) all() int { return s.before + s.after }

// addTo counts n requests of a sort that were sent at a moment of the window.
func addTo[K comparable](b *bench, counts map[K]*series, k K, at time.Time, n int) {
	s := counts[k]
	if s == nil {
		s = &series{each: make([]int, b.second(b.to)+1)}
		counts[k] = s
	}
	if at.Before(b.started) {
		s.before += n
	} else {
		s.after += n
	}
	s.each[b.second(at)] += n
}

// second numbers the seconds of the window, from 0.
func (b *bench) second(at time.Time) int { return int(at.Unix() - b.from.Unix()) }

// gather finds whether requests of a kind came together in one of [clusterSpans] after
// the deploy's start, while the deploy was at work on a target: at least
// [gatheringLeast], more than the baseline ever had in such a span and more than the
// route's requests in it explain, both by [surgeRatio], and so many that chance makes it
// less often than the limit, were each of the route's requests as likely one of the kind
// (binomial, Bonferroni over the places a span can have). Of several spans it is the one
// that has most standard deviations more than that. Nil where they did not.
func (b *bench) gather(of, all *series, limit float64) *gathering {
	kind, route := sums(of.each), sums(all.each)
	// The first that lies after it as a whole; the deploy may begin outside of the window.
	start := min(max(b.second(b.started.Add(time.Second-1)), 0), len(of.each))
	for _, length := range clusterSpans {
		n := min(int(length/time.Second), len(of.each))
		usual := 0
		for i := 0; i+n <= start; i++ {
			usual = max(usual, kind[i+n]-kind[i])
		}
		most, at, excess := 0, 0, 0.0
		for i := start; i+n < len(kind); i++ {
			in, due := kind[i+n]-kind[i], share(route[i+n]-route[i], all.all()-(route[i+n]-route[i]))*float64(of.all())
			if in < gatheringLeast || float64(in) < surgeRatio*due || float64(in) < surgeRatio*float64(usual) || !b.atWork(i, i+n) {
				continue
			}
			if above := (float64(in) - due) / math.Sqrt(due); above >= excess {
				most, at, excess = in, i, above
			}
		}
		there := route[at+n] - route[at]
		places := float64(len(of.each)) / float64(n)
		if p := places * binomialAtLeast(most, of.all(), share(there, all.all()-there)); p < limit {
			from := time.Unix(b.from.Unix()+int64(at), 0).UTC()
			return &gathering{from, from.Add(length), most, p}
		}
	}
	return nil
}

// atWork reports whether a span of seconds of the window meets a time in which a target
// was on its way out, gone or on its way back, or no such time is known.
func (b *bench) atWork(from, to int) bool {
	known := false
	for _, p := range b.report.Phases {
		if p.risky() || p.Kind == "fault" {
			known = true
			if b.second(p.From.Time) < to && b.second(p.To.Time) >= from {
				return true
			}
		}
	}
	return !known
}

// sums are the sums of a list's first elements: of none, of one, and so on to all.
func sums(list []int) []int {
	s := make([]int, len(list)+1)
	for i, n := range list {
		s[i+1] = s[i] + n
	}
	return s
}
