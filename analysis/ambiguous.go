package analysis

import (
	"cmp"
	"slices"
	"time"
)

// A request's id joins our record of it with what a server logged of it. The server's
// moment must lie between send and receive, whatever its clock is off by. Where the
// records of one clock and one minute agree on an offset, every join is certain. Where
// no offset satisfies all of them, those that the one most records agree on leaves out
// are ambiguous: an id used twice, a line of another time, or a clock that jumped. What
// rests on them is then not known, rather than guessed.

// findAmbiguous finds the joins that clocks make doubtful, and takes them out of what
// the judge believes of single requests.
func (b *bench) findAmbiguous() {
	groups := map[clockMinute][]pairing{}
	for _, j := range b.pairings() {
		// A server that says it took longer than we waited leaves what lies between.
		j.low, j.high = min(j.low, j.high), max(j.low, j.high)
		groups[j.minute()] = append(groups[j.minute()], j)
	}
	for _, joins := range groups {
		from, to := agreement(joins)
		for _, j := range joins {
			if j.high >= from && j.low <= to {
				continue
			}
			b.ambiguous[j.id] = true
			if j.handled < 0 {
				delete(b.logged, j.id)
				continue
			}
			h := b.obs.Handled[j.handled]
			b.doubtfulLines[j.handled] = true
			b.handled[j.id] = slices.DeleteFunc(b.handled[j.id], func(x HandledRequest) bool { return x == h })
		}
	}
}

// agreement is the stretch of offsets that most of the joins allow (Marzullo's
// algorithm). Of several such stretches it is the hull, so that none of two equal camps
// is believed against the other.
func agreement(joins []pairing) (from, to float64) {
	type edge struct {
		at    float64
		delta int
	}
	edges := make([]edge, 0, 2*len(joins))
	for _, j := range joins {
		edges = append(edges, edge{j.low, 1}, edge{j.high, -1})
	}
	slices.SortFunc(edges, func(x, y edge) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(y.delta, x.delta)) })
	depth, most := 0, 0
	for i, e := range edges {
		depth += e.delta
		if depth < most {
			continue // as after every end
		}
		if depth > most {
			most, from = depth, e.at
		}
		to = edges[i+1].at
	}
	return from, to
}

// servedAt reports whether an application's line dates a request that it answered.
func (b *bench) servedAt(i int) (time.Time, bool) {
	h := &b.obs.Handled[i]
	return h.At, !h.Begun && h.Target != "" && !b.doubtfulLines[i] && b.inWindow(h.At)
}
