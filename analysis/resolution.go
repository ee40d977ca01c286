package analysis

import (
	"slices"
	"time"
)

// A log that writes whole seconds (nginx's $time_local) says of a moment in second S
// only that it lies in [S, S+1s). What follows from such a moment is an interval too:
// an upper bound takes its later end, a lower bound its earlier one, and something is
// sure only where it holds at both. The start of a request, its end less the time that
// it took, is no finer than its end.

// cutsOf tells, by source, to what the moments in it are cut: a second where no request
// of an access log ended, and no line of an application's log was written, at any other
// moment than a full second; of finer logs nothing, which are taken as they stand.
func cutsOf(o *Observations) map[string]time.Duration {
	fine := map[string]bool{}
	see := func(source string, t time.Time) {
		if !t.IsZero() {
			fine[source] = fine[source] || cutTo(t) < time.Second
		}
	}
	for i := range o.Cells {
		see(o.Cells[i].Source, o.Cells[i].Last)
	}
	for i := range o.Requests {
		see(o.Requests[i].Source, o.Requests[i].End)
	}
	for i := range o.Handled {
		see(o.Handled[i].Source, o.Handled[i].At)
	}
	cuts := map[string]time.Duration{}
	for source, fine := range fine {
		if !fine {
			cuts[source] = time.Second
		}
	}
	return cuts
}

// by is the latest that a moment of a source can have been; the earliest is as logged.
// Where the two differ, it was before the later one.
func (b *bench) by(source string, t time.Time) time.Time { return t.Add(b.cuts[source]) }

// surely reports whether a moment of a source lies in [from, to), wherever in its
// interval it was.
func (b *bench) surely(source string, t, from, to time.Time) bool {
	return !t.Before(from) && b.point(source, t).before(to)
}

// cellInside reports whether the requests of a cell surely lie in [from, to).
func (b *bench) cellInside(c *Cell, from, to time.Time) bool {
	return !c.First.Before(from) && b.surely(c.Source, c.Last, from, to)
}

// point is a moment that was not before at, and at the latest by.
type point struct{ at, by time.Time }

// before reports whether it surely was before another moment.
func (p point) before(t time.Time) bool { return p.at.Before(t) && !p.by.After(t) }

// told is a moment as it stands.
func told(t time.Time) point { return point{at: t, by: t} }

// point is a moment of a source.
func (b *bench) point(source string, t time.Time) point { return point{at: t, by: b.by(source, t)} }

// than is a point by another clock, which the one that recorded it is ahead of; by the
// same one where it is nil.
func (p point) than(ahead *spread) point {
	if ahead == nil {
		return p
	}
	return point{p.at.Add(-ahead.most), p.by.Add(-ahead.least)}
}

// begun are the first and the last moment at which a cell's requests may have begun.
func (c *Cell) begun() span {
	second := time.Unix(c.Second, 0).UTC()
	from := c.First
	if from.Before(second) {
		from = second
	}
	to := from
	if c.Count > 1 {
		to = latest(from, earliest(c.Last, second.Add(time.Second-time.Microsecond)))
	}
	return span{from, to}
}

// meets reports whether requests of a cell may have begun in one of some spans.
func (c *Cell) meets(spans []span) bool {
	began := c.begun()
	return slices.ContainsFunc(spans, func(s span) bool { return !began.to.Before(s.from) && began.from.Before(s.to) })
}
