package analysis

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// A request's id joins our record of it with what a server logged of it. The server's
// moment must lie between send and receive, whatever its clock is off by. Where the
// records of one clock and one minute agree on an offset, every join is certain. Where
// no offset satisfies all of them, those that the one most records agree on leaves out
// are ambiguous: an id used twice, a line of another time, or a clock that jumped. What
// rests on them is then not known, rather than guessed.

// pairing is one record of a server, with what it says of its clock's offset.
type pairing struct {
	probe     *ProbeRequest
	low, high float64 // of (its clock − the prober's), in milliseconds
}

type clockMinute struct {
	source string
	at     int64 // Unix minute of the send
}

// findAmbiguous finds the joins that clocks make doubtful, and takes them out of what
// the judge believes of single requests.
func (b *bench) findAmbiguous() {
	type record struct {
		pairing
		handled int // index, or −1
		id      probeID
	}
	groups := map[clockMinute][]record{}
	resolution := resolutions(b.handledInside())
	for i, h := range b.obs.Handled {
		id := probeID{h.Run, h.Seq}
		p := b.sent[id]
		if p == nil || p.Status == 0 || h.At.IsZero() {
			continue
		}
		j := pairing{p, milliseconds(h.At.Sub(p.Done)), milliseconds(h.At.Add(resolution[h.Source]).Sub(p.Sent))}
		m := clockMinute{h.Source, p.Sent.Unix() / 60}
		groups[m] = append(groups[m], record{j, i, id})
	}
	for id, r := range b.logged {
		if p := b.sent[id]; p != nil && p.Status > 0 && !r.Start.IsZero() {
			j := pairing{p, milliseconds(r.End.Sub(p.Done)), milliseconds(r.Start.Add(cutTo(r.Start, r.End)).Sub(p.Sent))}
			m := clockMinute{r.Source, p.Sent.Unix() / 60}
			groups[m] = append(groups[m], record{j, -1, id})
		}
	}
	for _, records := range groups {
		joins := make([]pairing, len(records))
		for i, r := range records {
			joins[i] = r.pairing
		}
		from, to, all := agreement(joins)
		if all {
			continue
		}
		for _, r := range records {
			if r.high >= from && r.low <= to {
				continue
			}
			b.ambiguous[r.id] = true
			if r.handled < 0 {
				delete(b.logged, r.id)
				continue
			}
			h := b.obs.Handled[r.handled]
			b.doubtfulLines[r.handled] = true
			b.handled[r.id] = slices.DeleteFunc(b.handled[r.id], func(x HandledRequest) bool { return x == h })
		}
	}
}

// agreement is the stretch of offsets that most of the joins allow (Marzullo's
// algorithm), and whether all do. Of several such stretches it is the hull, so that
// none of two equal camps is believed against the other.
func agreement(joins []pairing) (from, to float64, all bool) {
	from, to = math.Inf(-1), math.Inf(1)
	for _, j := range joins {
		from, to = max(from, min(j.low, j.high)), min(to, max(j.low, j.high))
	}
	if from <= to {
		return from, to, true
	}
	type edge struct {
		at    float64
		delta int
	}
	edges := make([]edge, 0, 2*len(joins))
	for _, j := range joins {
		low, high := min(j.low, j.high), max(j.low, j.high)
		edges = append(edges, edge{low, 1}, edge{high, -1})
	}
	slices.SortFunc(edges, func(x, y edge) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(y.delta, x.delta)) })
	depth, most := 0, 0
	for i, e := range edges {
		depth += e.delta
		if e.delta < 0 || depth < most {
			continue
		}
		if depth > most {
			most, from = depth, e.at
		}
		to = edges[i+1].at
	}
	return from, to, false
}

// servedAt reports whether an application's line dates a request that it answered.
func (b *bench) servedAt(i int) (time.Time, bool) {
	h := &b.obs.Handled[i]
	return h.At, !h.Begun && h.Target != "" && !b.doubtfulLines[i] && b.inWindow(h.At)
}
