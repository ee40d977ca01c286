package accesslog

import (
	"container/heap"
	"math/bits"

	"gapless/analysis"
)

const (
	// slowKept bounds the slow outliers kept one by one per object: the slowest.
	slowKept = 100

	// wholeKept is how many failures of an object are all kept one by one: some 400
	// bytes each, of the five minutes of a node at most 0.8 MB. Of more than that a
	// sample is kept: alikeKept of a cell, that is of one second and one kind (node,
	// target, route, status, class), and failuresKept of the object. What is beyond is
	// in the cells only, with the first start and the last end of each second. Requests
	// that a proxy's retry saved count among them.
	wholeKept    = 2000
	alikeKept    = 8
	failuresKept = 1000

	// probesKept bounds the failed requests of known probes kept one by one per object.
	// They are matched with the prober's records by their ids, so no sample will do; a
	// prober that fails sixty times a second reaches it.
	probesKept = 20000
)

// singles are the requests of an object that are kept one by one.
type singles struct {
	failures []single
	probes   []analysis.Request
	slowest  slowHeap

	sampled bool            // there were more than wholeKept failures
	level   int             // failures of a lower weight are not kept
	cells   map[int32]int   // how many failed, by cell
	levels  map[int32]int   // the same as level, of cells that reached alikeKept
	kinds   map[cellKey]int // how many cells failed, by their kind: the key without its second
}

// single is a failure that is kept while its weight is not too low.
type single struct {
	request analysis.Request
	cell    int32
	weight  int
}

func newSingles() singles {
	return singles{cells: map[int32]int{}, levels: map[int32]int{}, kinds: map[cellKey]int{}}
}

// Every failure has a weight by its place among its like: of those of one cell every
// second one has at least 1, every fourth at least 2, and so on, so that those of at
// least any weight are spread evenly over it, whatever is still to come. The first of
// a cell weighs more than all others, and by the place of its cell among those of its
// kind likewise; the first of a kind stays in any case.
const firstWeight = 64

func evenly(place int) int {
	if place == 0 {
		return firstWeight - 1
	}
	return bits.TrailingZeros(uint(place))
}

// weigh counts a failure of a cell and answers its weight, and whether it is heavy
// enough to be kept at all.
func (s *singles) weigh(cell int32, key cellKey) (weight int, keep bool) {
	place := s.cells[cell]
	s.cells[cell] = place + 1
	if weight = evenly(place); place == 0 {
		key.second = 0
		weight = firstWeight + evenly(s.kinds[key])
		s.kinds[key]++
	}
	return weight, !s.sampled || weight >= max(s.level, s.levels[cell])
}

// keep takes a failure that was weighed.
func (s *singles) keep(q analysis.Request, cell int32, weight int) {
	s.failures = append(s.failures, single{q, cell, weight})
	switch {
	case s.sampled:
		s.thin(cell)
	case len(s.failures) > wholeKept:
		s.sampled = true
		for cell := range s.cells {
			s.thin(cell)
		}
	default:
		return
	}
	for len(s.failures) > failuresKept && s.level < 2*firstWeight-1 {
		s.level++
		s.drop(func(x *single) bool { return x.weight < s.level })
	}
}

// thin leaves of a cell what is kept of it.
func (s *singles) thin(cell int32) {
	if s.cells[cell] <= alikeKept {
		return
	}
	alike := 0
	for i := range s.failures {
		if s.failures[i].cell == cell {
			alike++
		}
	}
	for alike > alikeKept {
		s.levels[cell]++
		alike -= s.drop(func(x *single) bool { return x.cell == cell && x.weight < s.levels[cell] })
	}
}

// drop lets go of the failures that are too light, and answers how many.
func (s *singles) drop(light func(*single) bool) int {
	kept := s.failures[:0]
	for i := range s.failures {
		if !light(&s.failures[i]) {
			kept = append(kept, s.failures[i])
		}
	}
	n := len(s.failures) - len(kept)
	clear(s.failures[len(kept):])
	s.failures = kept
	return n
}

// all are the requests that are kept, in no order.
func (s *singles) all() []analysis.Request {
	requests := make([]analysis.Request, 0, len(s.failures)+len(s.probes)+len(s.slowest))
	for i := range s.failures {
		requests = append(requests, s.failures[i].request)
	}
	return append(append(requests, s.probes...), s.slowest...)
}

// slow keeps a request while it is among the slowest.
func (s *singles) slow(took int64, request func() analysis.Request) {
	switch {
	case len(s.slowest) < slowKept:
		heap.Push(&s.slowest, request())
	case s.slowest[0].Duration.Microseconds() < took:
		s.slowest[0] = request()
		heap.Fix(&s.slowest, 0)
	}
}

// slowHeap has the fastest of the slow requests on top.
type slowHeap []analysis.Request

func (h slowHeap) Len() int           { return len(h) }
func (h slowHeap) Less(i, j int) bool { return h[i].Duration < h[j].Duration }
func (h slowHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *slowHeap) Push(x any)        { *h = append(*h, x.(analysis.Request)) }
func (h *slowHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
