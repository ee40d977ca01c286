package analysis

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// laid are spans one after another, with a pause between them, in which requests leave
// the gaps given, edges included, all in whole microseconds.
func (b *table) laid(gaps ...[]float64) (spans []span, at []time.Time) {
	now := b.at(0)
	for _, list := range gaps {
		from := now
		for i, g := range list {
			now = now.Add(time.Duration(math.Round(g*1e6)) * time.Microsecond)
			if i < len(list)-1 {
				at = append(at, now)
			}
		}
		spans = append(spans, span{from, now})
		now = now.Add(7 * time.Second)
	}
	return spans, at
}

func TestLongestMissedByHand(t *testing.T) {
	b := newTable()
	every := func(gap float64, n int) []float64 { return slices.Repeat([]float64{gap}, n) }
	// Shorter spans, full of requests, beside one of 20 s with a hole of 16 s.
	rising := [][]float64{slices.Concat(every(.1, 20), []float64{16}, every(.1, 20))}
	for range 40 {
		rising = append(rising, every(.1, 150))
	}
	for _, c := range []struct {
		name  string
		share float64
		gaps  [][]float64
		want  float64 // in seconds
	}{
		// Each of 100 gaps has 1 − w to hide in, of 100 − w: 20·(100 − 100·w) = 100 − w.
		{"a request a second", 1, [][]float64{every(1, 100)}, 1900. / 1999},
		// 20·2·(5 − w) = 10 − w.
		{"one in the middle", 1, [][]float64{{5, 5}}, 190. / 39},
		// The gaps of 0.5 s have closed: 20·(8 − w) = 100 − w.
		{"one long gap", 1, [][]float64{append(every(.5, 184), 8)}, 60. / 19},
		// That of 4 s is 4 % of all, and so it takes the others: 20·(4 − w + 192·(0.5 − w)) = 100 − w.
		{"one that is too short", 1, [][]float64{append(every(.5, 192), 4)}, 1900. / 3859},
		{"no request", 1, [][]float64{{10}}, 10}, // whatever fits is missed
		{"two at the edges", 1, [][]float64{{0, 10, 0}}, 10},
		{"a microsecond", 1, [][]float64{{.000001}}, .000001},
		// Above 10 s only the empty span has room.
		{"none in the longer of two", 1, [][]float64{every(.01, 1000), {20}}, 20},
		// 20·(3 − w) = (40 − w) + (3 − w).
		{"none in the shorter of two", 1, [][]float64{every(.1, 400), {3}}, 17. / 18},
		// 1.5 of 41.5 s are too few: 20·(1.5 − w + 400·(0.1 − w)) = 41.5 − 2·w.
		{"the shorter of two is too short", 1, [][]float64{every(.1, 400), {1.5}}, 19 * 41.5 / 8018},
		// 19·(10 − w) = 20 − w, in microseconds: above 10 only the one full of requests has room.
		{"just shorter than the empty one", 1, [][]float64{{.00001}, every(.000001, 20)}, .00017 / 18},
		{"two of one length", 1, [][]float64{{5, 5}, {5, 5}}, 190. / 39},
		{"a span of no length", 1, [][]float64{{5, 5}, {0}}, 190. / 39},
		// Of 1 s, (16 − 1) ÷ (620 − 41) are missed, 2.6 %; but above 15 s the others have no
		// room: 20·(16 − w) = 20 − w.
		{"it rises again", 1, rising, 300. / 19},
		// Six requests at once in the middle of 10 s, each reaching it with 1/2: an outage
		// over them is missed with 1/64. 20·(2·(5 − w) + w/64) = 10 − w.
		{"with a share", .5, [][]float64{{5, 0, 0, 0, 0, 0, 5}}, 190 / (39 - 20./64)},
		// Four leave 1/16, which is more than 5 %.
		{"with a share, never met surely enough", .5, [][]float64{{5, 0, 0, 0, 5}}, 10},
		{"with no share", 0, [][]float64{every(.1, 100)}, 10},
		// Over the one request 1/20 is missed: no more is wanted, however the last bit falls.
		{"with just 5 %", .95, [][]float64{{5, 5}}, 10},
	} {
		spans, at := b.laid(c.gaps...)
		reach := sendingsOf(b.at(0), at, func(time.Time) float64 { return c.share })
		got := outages{spans, reach.meanMiss}.longestMissed()
		if got == nil || *got > c.want*1000+1e-6 || *got < c.want*1000-.001+1e-6 { // whole microseconds
			t.Errorf("%s: %s ms, want %v", c.name, b.word(got), c.want*1000)
		}
	}
	if got := (outages{mean: sendingsOf(b.at(0), nil, surely).meanMiss}).longestMissed(); got != nil {
		t.Errorf("no time in rotation: %v ms", *got)
	}
}

// The first report's gaps, as in [TestMissChanceOfTheFirstReport]: at 0.5 s those of
// 0.2 and 0.4 s have closed. 20·(858·(0.6 − w) + 117·(0.8 − w) + 3·(2.6 − w)) = 1458.6 − w.
func TestLongestMissedOfTheFirstReport(t *testing.T) {
	var gaps []float64
	for _, g := range []struct {
		seconds float64
		n       int
	}{{.2, 1638}, {.4, 1287}, {.6, 858}, {.8, 117}, {2.6, 3}} {
		gaps = append(gaps, slices.Repeat([]float64{g.seconds}, g.n)...)
	}
	b := newTable()
	spans, at := b.laid(gaps)
	got := outages{spans, sendingsOf(b.at(0), at, surely).meanMiss}.longestMissed()
	if want := 1000 * 10865.4 / 19559; *got > want || *got < want-.001 {
		t.Errorf("%v ms, want %v", *got, want)
	}
	// By the gaps alone it has that chance.
	list, _ := gapsIn(spans, at)
	if p, _ := missChance(list, lengths(spans), fromMilliseconds(*got)); p < .05 || p > .05+1e-5 {
		t.Errorf("missed with %v", p)
	}
}

// At the length that is told the chance is 5 %, and of a hundred longer ones none has it.
func TestLongestMissedAtRandom(t *testing.T) {
	b := newTable()
	random := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		var gaps [][]float64
		for range 1 + random.IntN(4) {
			var list []float64
			for range 1 + random.IntN(12) {
				list = append(list, random.ExpFloat64())
			}
			gaps = append(gaps, list)
		}
		spans, at := b.laid(gaps...)
		share := []float64{1, 1, .5, .2}[random.IntN(4)]
		reach := sendingsOf(b.at(0), at, func(time.Time) float64 { return share })
		got := outages{spans, reach.meanMiss}.longestMissed()
		longest := slices.Max(lengths(spans))
		w := fromMilliseconds(*got).Round(time.Microsecond)
		if p, ok := reach.missIn(spans, w); ok && (p < .05-1e-9 || p > .05+1e-4) && longest-w > time.Microsecond {
			t.Fatalf("%v, share %v: %v is missed with %v", gaps, share, w, p)
		}
		for i := range 100 {
			longer := w + (longest-w)*time.Duration(i+1)/101 + time.Microsecond
			if p, ok := reach.missIn(spans, longer); ok && p > .05+1e-6 {
				t.Fatalf("%v, share %v: %v is told, %v is missed with %v", gaps, share, w, longer, p)
			}
		}
		// Where every request reached it, it is the formula over the gaps.
		list, _ := gapsIn(spans, at)
		p, ok := missChance(list, lengths(spans), time.Second)
		surely := sendingsOf(b.at(0), at, surely)
		if q, too := surely.missIn(spans, time.Second); ok != too || math.Abs(p-q) > 1e-9 {
			t.Fatalf("%v: %v by gaps, %v by beginnings", gaps, p, q)
		}
	}
}
