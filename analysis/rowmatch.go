package analysis

import (
	"maps"
	"slices"
	"time"
)

// What a log without ids may lack is told by its rows: each request of ours must have one
// in the second at which it was sent, by the log's clock.

const (
	// rowClock is how far the clock of a log without ids is taken to be from ours at most,
	// either way, and rowStep in what steps that is tried: no id holds the two together.
	rowClock = time.Second
	rowStep  = 100 * time.Millisecond

	// rowLate is how much later than others a request may have reached the load balancer.
	rowLate = 250 * time.Millisecond
)

// matchRows finds which requests a log without ids can have rows of: those of our
// business probes, or the health samples where there are none. They are set against the
// log's rows of that class, second by second, at the one difference of clocks that finds
// most; where rows of a second are missing, so are requests, and no others stand for
// them. What was sent in the first or last second of the window may stand outside of it,
// and is not asked for. Others may send the like, and hide as many. A class of which only
// another log has rows did not pass here.
func (b *bench) matchRows(source string, l *passing) {
	class := ClassProbe
	if !b.byProber(class) {
		class = ClassHealth
	}
	rows := map[int64]int{}
	there := false
	for i := range b.obs.Cells {
		switch c := &b.obs.Cells[i]; {
		case c.Class != class || !b.counting[c.Source]:
		case c.Source == source:
			rows[c.Second] += c.Count
		default:
			there = true
		}
	}
	sent := l.requests
	l.requests = nil
	if there && len(rows) == 0 {
		return
	}
	for _, p := range sent {
		if p.Class == class && within(p.Sent, b.from.Add(time.Second), b.seenTo.Add(-time.Second)) {
			l.requests = append(l.requests, p)
		}
	}
	slices.SortStableFunc(l.requests, func(x, y *ProbeRequest) int { return x.Sent.Compare(y.Sent) })
	most, found := -1, []bool{}
	for ahead := -rowClock; ahead <= rowClock; ahead += rowStep {
		left, n := maps.Clone(rows), 0
		has := make([]bool, len(l.requests))
		for i, p := range l.requests {
			at := p.Sent.Add(ahead)
			if has[i] = takeRow(left, at.Unix(), at.Add(rowLate).Unix()); has[i] {
				n++
			}
		}
		if n > most {
			most, found = n, has
		}
	}
	for i, p := range l.requests {
		l.has[probeID{p.Run, p.Seq}] = found[i]
	}
}

// takeRow takes a row of the first of the seconds that has one left.
func takeRow(left map[int64]int, from, to int64) bool {
	for second := from; second <= to; second++ {
		if left[second] > 0 {
			left[second]--
			return true
		}
	}
	return false
}
