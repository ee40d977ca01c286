package analysis

import (
	"testing"
)

// A target's share of what its group was sent before a moment; of fewer than 30 requests
// nobody can tell, and it is taken for an equal one.
func TestShareOfATarget(t *testing.T) {
	for _, c := range []struct {
		name string
		lay  func(*table)
		want float64
	}{
		{"of 30", func(b *table) { b.cell("alb", "api-1", 10, 11, 10); b.cell("alb", "api-2", 10, 11, 20) }, 1. / 3},
		{"of 29", func(b *table) { b.cell("alb", "api-1", 10, 11, 10); b.cell("alb", "api-2", 10, 11, 19) }, .5},
		{"those until the moment do not count", func(b *table) {
			b.cell("alb", "api-1", 10, 11, 10)
			b.cell("alb", "api-2", 10, 11, 20)
			b.cell("alb", "api-2", 99, 100, 100)
		}, 1. / 3},
		{"nor those of a log that does not count", func(b *table) {
			b.cell("alb", "api-1", 10, 11, 10)
			b.cell("alb", "api-2", 10, 11, 20)
			b.cell("edge", "api-2", 10, 11, 100)
		}, 1. / 3},
		{"nor those of one that nobody asks about", func(b *table) {
			b.cell("alb", "api-1", 10, 11, 10)
			b.cell("alb", "api-2", 10, 11, 20)
			b.cell("alb", "api-3", 10, 11, 100)
			b.byName["api-3"] = &life{name: "api-3", group: "api"}
		}, 1. / 3},
		{"nor those while the other was told to stop", func(b *table) {
			b.cell("alb", "api-1", 10, 11, 10)
			b.cell("alb", "api-2", 10, 11, 20)
			b.cycle("api-2", 40, 50, 60)
			b.cell("alb", "api-1", 39, 39.5, 10)
			b.cell("alb", "api-1", 40, 41, 100)
			b.cell("alb", "api-1", 59, 59.5, 100)
			b.cell("alb", "api-1", 60, 61, 20)
		}, 40. / 60},
		{"nor those while it was away itself", func(b *table) {
			b.cell("alb", "api-1", 10, 11, 10)
			b.cell("alb", "api-2", 10, 11, 20)
			b.cycle("api-1", 40, 50, 60)
			b.cell("alb", "api-2", 50, 51, 100)
		}, 1. / 3},
		// Both serve every second, but api-2 not between 40 and 44: longer than three times
		// as long as ever.
		{"nor those while the other paused as it never does", func(b *table) {
			var at []float64
			for s := 10.; s < 150; s++ {
				if s <= 40 || s >= 44 {
					at = append(at, s)
				}
			}
			b.life("api-2", at...)
			b.servedFrom, b.servedTo = b.at(10), b.at(150)
			b.cell("alb", "api-1", 10, 11, 10)
			b.cell("alb", "api-2", 10, 11, 20)
			b.cell("alb", "api-1", 41, 42, 100)
		}, 1. / 3},
		{"but those while it paused for three times as long", func(b *table) {
			b.life("api-2", 10, 13, 16, 19, 22, 25, 28, 31, 34, 37, 40, 43, 46, 299)
			b.servedFrom, b.servedTo = b.at(10), b.at(20)
			b.cell("alb", "api-1", 10, 11, 10)
			b.cell("alb", "api-2", 10, 11, 20)
			b.cell("alb", "api-1", 41, 42, 40)
		}, 50. / 70},
		{"nor those that no target was chosen for", func(b *table) {
			b.cell("alb", "api-1", 10, 11, 10)
			b.cell("alb", "api-2", 10, 11, 20)
			b.cell("alb", "", 10, 11, 100)
		}, 1. / 3},
	} {
		b := newTable()
		c.lay(b)
		if got := b.share([]*life{b.life("api-1"), b.life("api-2")}, b.at(100)); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// Each of two targets has half of the requests: that four go to the other one is chance once
// in 16 times, that five do once in 32. The target stops at 100.
func TestPassedOverByAllNodes(t *testing.T) {
	for _, c := range []struct {
		name         string
		lay          func(b *table)
		pooled, each bool
	}{
		{"nobody asked", func(*table) {}, false, false},
		{"four", func(b *table) { b.cell("alb", "api-2", 91, 92, 4) }, false, false},
		{"five", func(b *table) { b.cell("alb", "api-2", 91, 92, 5) }, true, true},
		{"in a log that does not count", func(b *table) { b.cell("edge", "api-2", 91, 92, 5) }, false, false},
		{"that no target was chosen for", func(b *table) { b.cell("alb", "", 91, 92, 5) }, false, false},
		{"of another group", func(b *table) {
			b.cell("alb", "web-1", 91, 92, 5)
			b.byName["web-1"] = &life{name: "web-1", group: "web"}
		}, false, false},
		{"its own", func(b *table) { b.cell("alb", "api-1", 91, 92, 5) }, false, false},
		{"before", func(b *table) { b.cell("alb", "api-2", 89, 89.5, 5) }, false, false},
		{"as the time ends", func(b *table) { b.cell("alb", "api-2", 100, 101, 5) }, false, false},
		{"by two nodes together", func(b *table) {
			b.cell("alb", "api-2", 91, 92, 4)
			b.cell("alb", "api-2", 91, 92, 4).Node = "n2"
		}, true, false},
		{"by each of two, in several cells", func(b *table) {
			b.cell("alb", "api-2", 91, 92, 5)
			b.cell("alb", "api-2", 91, 92, 3).Node = "n2"
			b.cell("alb", "api-2", 93, 94, 2).Node = "n2"
		}, true, true},
		{"a second node sent it its own", func(b *table) {
			b.cell("alb", "api-2", 91, 92, 5)
			b.cell("alb", "api-1", 91, 92, 1).Node = "n2"
		}, true, false},
		{"a second load balancer", func(b *table) {
			b.counting["edge"] = true
			b.cell("alb", "api-2", 91, 92, 5)
			b.cell("edge", "api-2", 91, 92, 1)
		}, true, false},
		{"one that was gone", func(b *table) {
			b.cell("alb", "api-2", 91, 92, 5)
			b.cell("alb", "api-1", 20, 21, 1).Node = "n2"
			b.cell("alb", "api-1", 89, 89.5, 1).Node = "n2"
		}, true, true},
		{"one that was there before and after", func(b *table) {
			b.cell("alb", "api-2", 91, 92, 5)
			b.cell("alb", "api-1", 89, 89.5, 1).Node = "n2"
			b.cell("alb", "api-1", 110, 111, 1).Node = "n2"
		}, true, false},
		{"one that was there as the time began", func(b *table) {
			b.cell("alb", "api-2", 91, 92, 5)
			b.cell("alb", "api-1", 90, 91, 1).Node = "n2"
		}, true, false},
		{"one that came later", func(b *table) {
			b.cell("alb", "api-2", 91, 92, 5)
			b.cell("alb", "api-1", 100, 101, 1).Node = "n2"
		}, true, true},
	} {
		b := newTable()
		c.lay(b)
		l, stop := b.life("api-1"), b.cycle("api-1", 100, 110, 115)
		if got := b.passedOver(l, *stop, b.at(90), b.at(100)); got != c.pooled {
			t.Errorf("%s: %t together", c.name, got)
		}
		if got := b.passedOverByAll(l, *stop, b.at(90), b.at(100)); got != c.each {
			t.Errorf("%s: %t by each", c.name, got)
		}
	}
}

// A request a second. One target is away from 80 to 200; at 219.5 the other serves for the
// last time, and the four that come until it is ready again at 223.5 go to the first.
// While both were there each had half, so that chance does so once in 16 times.
func TestEjectedByTheShareWhileAllWereThere(t *testing.T) {
	s := newShape(t, "api-1", "api-2")
	for at := 0.; at < 300; at++ {
		target := []string{"api-1", "api-2"}[int(at)%2]
		switch {
		case at >= 80 && at < 200:
			target = "api-2"
		case at >= 220 && at < 224:
			target = "api-1"
		}
		s.serve("alb", "api", target, 1, at, at+1, false)
	}
	s.step(StepDrainMarked, "api-1", 70)
	s.restart("api-1", 90, 190)
	s.restart("api-2", 220.5, 223.5)
	s.claim(Judge(s.obs), ClaimEjectedBeforeStop, Inconclusive, ReasonServedUnknown)
}

// One node ejected the target at 85, ten seconds before its stop; whether the other did,
// of which a request comes every ten seconds, is not known.
func TestEjectedAtTheLastNode(t *testing.T) {
	for second, want := range map[bool]VerdictState{false: Supported, true: Inconclusive} {
		s := newShape(t, "api-1", "api-2")
		s.serve("alb", "api", "api-1", 10, 0, 85, false)
		s.serve("alb", "api", "api-1", 10, 120, 300, false)
		s.serve("alb", "api", "api-2", 10, 0, 300, false)
		first := len(s.obs.Cells)
		for at := 5.; second && at < 300; at += 20 {
			s.serve("alb", "api", "api-1", 1, at, at+1, false)
			s.serve("alb", "api", "api-2", 1, at+10, at+11, false)
		}
		for i := range s.obs.Cells[first:] {
			s.obs.Cells[first+i].Node = "n2"
		}
		s.step(StepDrainMarked, "api-1", 80)
		s.restart("api-1", 96, 104)
		reason := map[VerdictState]string{Supported: ReasonNoFailure, Inconclusive: ReasonServedUnknown}[want]
		s.claim(Judge(s.obs), ClaimEjectedBeforeStop, want, reason)
	}
}
