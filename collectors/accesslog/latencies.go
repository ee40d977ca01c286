package accesslog

import (
	"cmp"
	"slices"

	"gapless/analysis"
)

// looseLatencies bounds the sketches that are kept ready for adding.
const looseLatencies = 512

// latencies collects how long requests took, by second, node, class and route.
type latencies struct {
	place map[latencyKey]int32
	sums  []latencySum
	loose []int32 // those that are not packed, first used first
}

// latencyKey is [analysis.LatencyKey] with numbers for names.
type latencyKey struct {
	second      int64
	node, route uint32
	class       uint8
}

type latencySum struct {
	key  latencyKey
	took *analysis.Histogram
}

func newLatencies() latencies { return latencies{place: map[latencyKey]int32{}} }

// of is the place of the latencies of a cell's requests.
func (l *latencies) of(cell *cellKey) int32 {
	key := latencyKey{cell.second, cell.node, cell.route, cell.class}
	place, ok := l.place[key]
	if !ok {
		place = int32(len(l.sums))
		l.place[key] = place
		l.sums = append(l.sums, latencySum{key, new(analysis.Histogram)})
		l.loosen(place)
	}
	return place
}

// add adds microseconds.
func (l *latencies) add(place int32, took int64) {
	h := l.sums[place].took
	if h.Packed() {
		l.loosen(place)
	}
	h.Add(took)
}

// loosen notes a sketch that is about to be added to. Of too many it packs the half
// that are loose longest: lines come nearly in the order of their time, so few of
// those are added to again, and memory follows from the number of sketches, not from
// the requests in them.
func (l *latencies) loosen(place int32) {
	if len(l.loose) >= looseLatencies {
		older := len(l.loose) / 2
		for _, place := range l.loose[:older] {
			l.sums[place].took.Pack()
		}
		l.loose = l.loose[:copy(l.loose, l.loose[older:])]
	}
	l.loose = append(l.loose, place)
}

// all are the latencies in the order of their keys, with the names of a rollup.
func (l *latencies) all(r *rollup) []analysis.Latencies {
	slices.SortFunc(l.sums, func(a, b latencySum) int {
		return cmp.Or(cmp.Compare(a.key.second, b.key.second), cmp.Compare(a.key.node, b.key.node),
			cmp.Compare(a.key.class, b.key.class), cmp.Compare(a.key.route, b.key.route))
	})
	list := make([]analysis.Latencies, len(l.sums))
	for i, s := range l.sums {
		list[i] = analysis.Latencies{LatencyKey: analysis.LatencyKey{
			Second: s.key.second, Source: r.source, Node: r.node(s.key.node), Class: analysis.Classes[s.key.class], Route: r.routes.name(s.key.route),
		}, Took: s.took}
	}
	return list
}
