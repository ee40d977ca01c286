package analysis

import (
	"testing"
	"time"
)

// A route is asked ten times in each of the 300 s, the deploy starts at 60.
func TestGatherings(t *testing.T) {
	// put lays n of a kind into every second of a stretch.
	put := func(s *series, from, to, n int) {
		for i := from; i < to; i++ {
			s.each[i] += n
			if i < 60 {
				s.before += n
			} else {
				s.after += n
			}
		}
	}
	steady := func(_, all *series) { put(all, 0, 300, 10) }
	most := func(of, all *series) { put(all, 10, 20, 10); put(all, 100, 105, 20); put(of, 100, 105, 2) }
	for _, c := range []struct {
		name  string
		lay   func(of, all *series)
		limit float64
		want  string
	}{
		{"ten in a second", func(of, all *series) { steady(of, all); put(of, 100, 101, 10) }, .01, "100–105 10"},
		{"nine in a second", func(of, all *series) { steady(of, all); put(of, 100, 101, 9) }, .01, ""},
		{"in the first second after the start", func(of, all *series) { steady(of, all); put(of, 60, 61, 10) }, .01, "60–65 10"},
		{"in the last one before it", func(of, all *series) { steady(of, all); put(of, 59, 60, 10) }, .01, ""},
		{"nine on either side of the start", func(of, all *series) { steady(of, all); put(of, 59, 61, 9) }, .01, ""},
		{"in the last one of the window", func(of, all *series) { steady(of, all); put(of, 299, 300, 10) }, .01, "296–301 10"},
		{"as in the baseline", func(of, all *series) { steady(of, all); put(of, 59, 60, 10); put(of, 100, 101, 10) }, .01, ""},
		{"half as many again as in the baseline", func(of, all *series) { steady(of, all); put(of, 59, 60, 10); put(of, 100, 101, 15) }, .01, "100–105 15"},
		{"one less than that", func(of, all *series) { steady(of, all); put(of, 59, 60, 10); put(of, 100, 101, 14) }, .01, ""},
		{"in half a minute", func(of, all *series) { steady(of, all); put(of, 100, 112, 1) }, .01, "100–130 12"},
		{"all the time", func(of, all *series) { steady(of, all); put(of, 0, 300, 1) }, .01, ""},
		{"the baseline is quieter, and it goes on", func(of, all *series) { steady(of, all); put(of, 60, 300, 1) }, .01, ""},
		// 295 s with 3,900 and 5 s with 5,900 of 10,000: 29,500 where 1/60 of all is 19,667.
		{"half as many again as elsewhere", func(of, all *series) {
			put(all, 0, 300, 10_000)
			put(of, 0, 300, 3900)
			put(of, 100, 105, 2000)
		}, .01, "100–105 29500"},
		{"hardly fewer", func(of, all *series) {
			put(all, 0, 300, 10_000)
			put(of, 0, 300, 3901)
			put(of, 100, 105, 1999)
		}, .01, ""},
		{"few of few, and more of very many: the few stand out", func(of, all *series) {
			steady(of, all)
			put(of, 100, 101, 12)
			put(all, 200, 205, 1000)
			put(of, 200, 201, 13)
		}, .01, "100–105 12"},
		// At 100 all ten of ten, where 0.2 are due; at 200 it is 160 where 97 are.
		{"what stands out most", func(of, all *series) {
			put(all, 0, 100, 1000)
			put(all, 100, 105, 2)
			put(all, 105, 300, 1000)
			put(of, 60, 100, 24)
			put(of, 100, 105, 2)
			put(of, 105, 200, 24)
			put(of, 200, 205, 32)
			put(of, 205, 300, 24)
		}, .01, "100–105 10"},
		// Half of the route's requests are in those 5 s: 1/1024, at 60.2 places of 5 s or 10.03 of 30 s.
		{"where the route is asked most", most, .0097, ""},
		{"the same, of a laxer test", most, .0099, "100–130 10"},
		{"the same, of a much laxer one", most, .06, "100–105 10"},
	} {
		b := newTable()
		of, all := &series{each: make([]int, 301)}, &series{each: make([]int, 301)}
		c.lay(of, all)
		got := ""
		if g := b.gather(of, all, c.limit); g != nil {
			got = b.seconds(g.from) + "–" + b.seconds(g.to) + " " + b.word(g.n)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}

	// A window that is shorter than half a minute has one place for it.
	b := newTable()
	of, all := &series{each: make([]int, 21), after: 12}, &series{each: make([]int, 21), after: 24}
	b.to, b.started = b.at(20), b.from
	for i := range 12 {
		of.each[i], all.each[i] = 1, 2
	}
	if g := b.gather(of, all, .01); g != nil {
		t.Errorf("%+v", g)
	}
}

// A gathering, here in the seconds 100 to 104, says something of the deploy only where that
// was at work on a target; where no such time is known, anywhere after its start.
func TestGatheringsWhileTheDeployIsAtWork(t *testing.T) {
	for _, c := range []struct {
		name string
		lay  func(*table)
		want bool
	}{
		{"nothing known", func(*table) {}, true},
		{"the build alone", func(b *table) { b.phase("build", 60, 90) }, true},
		{"a drain before", func(b *table) { b.phase("drain", 70, 80) }, false},
		{"a restart before, and a return then", func(b *table) { b.phase("restart", 80, 90); b.phase("back", 90, 120) }, true},
		{"a fault", func(b *table) { b.phase("fault", 102, 103) }, true},
		{"a fault before", func(b *table) { b.phase("fault", 80, 90) }, false},
		{"a return that ends in its first second", func(b *table) { b.phase("back", 70, 100.5) }, true},
		{"and one second earlier", func(b *table) { b.phase("back", 70, 99.5) }, false},
		{"a drain that begins in its last second", func(b *table) { b.phase("drain", 104.5, 120) }, true},
		{"and one second later", func(b *table) { b.phase("drain", 105, 120) }, false},
	} {
		b := newTable()
		b.report.Phases = nil
		c.lay(b)
		if got := b.atWork(100, 105); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
	b := newTable()
	of, all := &series{each: make([]int, 301), after: 10}, &series{each: make([]int, 301), before: 600, after: 2400}
	for i := range 300 {
		all.each[i] = 10
	}
	of.each[100] = 10
	b.report.Phases = nil
	b.phase("drain", 200, 210)
	if g := b.gather(of, all, .01); g != nil {
		t.Errorf("long before the drain: %+v", g)
	}
}

// A window may begin after the deploy did, and then all of it is after the start; or end
// before, and then nothing is.
func TestGatheringsWhereTheDeployBeginsOutsideOfTheWindow(t *testing.T) {
	for _, c := range []struct {
		started float64
		want    bool
	}{{-90, true}, {0, true}, {500, false}} {
		b := newTable()
		b.started = b.from.Add(time.Duration(c.started * float64(time.Second)))
		of, all := &series{each: make([]int, 301), after: 10}, &series{each: make([]int, 301), after: 3000}
		for i := range 300 {
			all.each[i] = 10
		}
		of.each[0] = 10
		if g := b.gather(of, all, .01); (g != nil) != c.want || g != nil && !g.from.Equal(b.from) {
			t.Errorf("started at %v: %+v", c.started, g)
		}
	}
}
