package analysis

import (
	"slices"
	"time"
)

// served is a moment at which a target was sent a request that it answered, by the
// serving clock.
type served struct {
	point
	recorded *spread // by how much the clock that recorded it is ahead; nil where that is the serving clock
	failed   bool    // it answered badly
	edge     edge
}

// edge tells which end of a stretch a moment is: of that in which the requests of one
// second's cell were sent, of which it is not known when each was.
type edge int8

const (
	alone edge = iota // of none
	opens
	closes
)

// ahead is by how much the clock that recorded a moment is ahead of the serving clock.
func (p *served) ahead() spread {
	if p.recorded == nil {
		return spread{}
	}
	return *p.recorded
}

// slots is into how many equal parts a window is cut at most to put in order what was
// served in it.
const slots = 1 << 12

// readServing finds when each target is known to have served: the first and the last
// start of every second's cell in the counting access logs in which it answered, and
// every probe request that its own log answers. What it served is dated by when it was
// sent: that it still worked on a request which it had before says of no later moment
// that the load balancer sent to it. And all of it is dated by one clock, the serving
// clock, within what is known of the one that recorded it.
func (b *bench) readServing() {
	b.servingClock = b.findServingClock()
	b.placeServed()
	for _, l := range b.lives {
		if n := len(l.points); n > 0 {
			l.witnesses[b.servingClock] = true
			l.usualPause = percentilePause(l.points)
			b.servedFrom, b.servedTo = earliest(b.servedFrom, l.points[0].at), latest(b.servedTo, l.points[n-1].at)
		}
	}
	b.readStates()
}

// placeServed gives each target the moments at which it served, in order. There may be
// millions: they are counted by slots of time, which tells where those of each begin, and
// only within a slot they need to be sorted.
func (b *bench) placeServed() {
	window := max(b.to.Sub(b.from), 0)
	width := max(time.Second, window/slots)
	last := int(window / width)
	slot := func(t time.Time) int { return min(max(int(t.Sub(b.from)/width), 0), last) }
	ends := map[*life][]int32{} // of each slot, in points; at first how many are in it, then its begin, which grows
	b.eachServed(func(l *life, p served) {
		if ends[l] == nil {
			ends[l] = make([]int32, last+1)
		}
		ends[l][slot(p.at)]++
	})
	for l, ends := range ends {
		var n int32
		for i, more := range ends {
			ends[i], n = n, n+more
		}
		l.points = make([]served, n)
	}
	b.eachServed(func(l *life, p served) {
		next := &ends[l][slot(p.at)]
		l.points[*next] = p
		*next++
	})
	for l, ends := range ends {
		var from int32
		for _, to := range ends {
			slices.SortFunc(l.points[from:to], func(x, y served) int {
				if c := x.at.Compare(y.at); c != 0 {
					return c
				}
				return x.by.Compare(y.by)
			})
			from = to
		}
	}
}

// eachServed visits what targets are known to have answered.
func (b *bench) eachServed(visit func(l *life, p served)) {
	clocks := map[string]*spread{b.servingClock: nil}
	ahead := func(source string) *spread {
		s, ok := clocks[source]
		if !ok {
			s = new(b.ahead(source, b.servingClock))
			clocks[source] = s
		}
		return s
	}
	for i := range b.obs.Cells {
		c := &b.obs.Cells[i]
		if c.TargetStatus == 0 || c.Target == "" || !b.counting[c.Source] {
			continue
		}
		l, began, ahead := b.byName[c.Target], c.begun(), ahead(c.Source)
		visit(l, served{b.point(c.Source, began.from).than(ahead), ahead, c.Outcome.Failure(), opens})
		visit(l, served{b.point(c.Source, began.to).than(ahead), ahead, c.Outcome.Failure(), closes})
	}
	for i := range b.obs.Handled {
		if at, ok := b.servedAt(i); ok {
			h := &b.obs.Handled[i]
			ahead := ahead(h.Source)
			visit(b.byName[h.Target], served{b.sentBefore(h, at).than(ahead), ahead, b.handledBadly(h), alone})
		}
	}
}

// findServingClock is the clock of the first access log that counts and shows a target
// serving; our own where none does.
func (b *bench) findServingClock() string {
	shows := map[string]bool{}
	for i := range b.obs.Cells {
		if c := &b.obs.Cells[i]; c.TargetStatus > 0 && c.Target != "" {
			shows[c.Source] = true
		}
	}
	for _, balancer := range b.obs.Service.LoadBalancers {
		for _, log := range balancer.AccessLogs {
			if log.Counts && shows[log.Name] {
				return log.Name
			}
		}
	}
	return proberAt("")
}

// sentBefore is when a request that an application answered at a moment was sent to it:
// no longer before than the prober waited for the answer.
func (b *bench) sentBefore(h *HandledRequest, at time.Time) point {
	sent := b.point(h.Source, at)
	if p := b.sent[probeID{h.Run, h.Seq}]; p != nil {
		sent.at = at.Add(-p.Done.Sub(p.Sent))
	}
	return sent
}

// handledBadly reports whether a request that an application answered was no success:
// as its prober saw it, or, where nothing of that is known, by the status.
func (b *bench) handledBadly(h *HandledRequest) bool {
	if p := b.sent[probeID{h.Run, h.Seq}]; p != nil {
		return p.Outcome.Failure() || p.Outcome == OutcomeDrain503
	}
	return h.Status >= 500
}

// percentilePause is the 99th percentile of the pauses between moments in order.
func percentilePause(points []served) time.Duration {
	if len(points) < 2 {
		return 0
	}
	gaps := make([]time.Duration, 0, len(points))
	for i := 1; i < len(points); i++ {
		gaps = append(gaps, points[i].at.Sub(points[i-1].at))
	}
	slices.Sort(gaps)
	return gaps[nearestRank(.99, len(gaps))-1]
}

// surelyServed reports whether a target surely was sent what it answered between two
// moments.
func (l *life) surelyServed(from, to time.Time) bool {
	return slices.ContainsFunc(l.between(from, to), func(p served) bool { return !p.by.After(to) })
}

// surelyServedWell is the same of what it answered well.
func (l *life) surelyServedWell(from, to time.Time) bool {
	return slices.ContainsFunc(l.between(from, to), func(p served) bool { return !p.failed && !p.by.After(to) })
}

// between are the moments that were after one at the earliest, and before another.
func (l *life) between(from, to time.Time) []served {
	return inside(l.points, func(p served) time.Time { return p.at }, from.Add(time.Nanosecond), to)
}

// mayHaveServed reports whether one of the moments at which a target served can have
// been between two others.
func (l *life) mayHaveServed(from, to time.Time) bool {
	return slices.ContainsFunc(l.points, func(p served) bool { return p.by.After(from) && p.at.Before(to) })
}

// servedAround are the last moment at which a target is known to have served until
// another one, and the first from then on; zero where it did not.
func (l *life) servedAround(at time.Time) (before, after time.Time) {
	first, _ := slices.BinarySearchFunc(l.points, at, func(p served, t time.Time) int { return p.at.Compare(t) })
	for i := first - 1; i >= 0 && before.IsZero(); i-- {
		if l.points[i].before(at) {
			before = l.points[i].at
		}
	}
	if first < len(l.points) {
		if after = l.points[first].by; after.Equal(at) {
			before = after
		}
	}
	return before, after
}

// pause is what lies between two moments at which a target served.
type pause struct{ last, next point }

// sure is when it served nothing, wherever in their seconds the two moments were.
func (p pause) sure() span { return span{p.last.by, p.next.at} }

// pauses are the stretches, ascending, in which a target surely was sent nothing that it
// answered: each from a moment at which it was to the next at which it may have been.
// Within a second's cell, when it served is not known.
func (l *life) pauses() []pause {
	var list []pause
	var last point
	open := 0
	for i, p := range l.points {
		if i > 0 && open == 0 && last.by.Before(p.at) {
			list = append(list, pause{last, p.point})
		}
		switch p.edge {
		case opens:
			open++
		case closes:
			open--
		}
		last = point{at: latest(last.at, p.at), by: latest(last.by, p.by)}
	}
	return list
}
