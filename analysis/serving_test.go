package analysis

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// What was served is in order, whatever the order of the records, however long the window
// is, and where records lie outside of it.
func TestServedInOrder(t *testing.T) {
	for _, window := range []float64{300, 50_000, -1} {
		b := newTable()
		b.to = b.at(window)
		random := rand.New(rand.NewPCG(1, 1))
		for range 500 {
			at := float64(random.IntN(60_000)) - 5000
			b.cell("alb", "api-1", at, at+random.Float64(), 3)
		}
		b.cell("alb", "", 100, 101, 2) // of a target that the log does not name
		b.placeServed()
		points := b.byName["api-1"].points
		if len(points) != 1000 || !slices.IsSortedFunc(points, func(x, y served) int { return x.at.Compare(y.at) }) {
			t.Errorf("window of %v s: %d moments, in order: %t", window, len(points), slices.IsSortedFunc(points, func(x, y served) int { return x.at.Compare(y.at) }))
		}
	}
}

// A target surely was sent nothing from the last moment at which it may have been to the
// next; within what one cell counts, no pause is known.
func TestPauses(t *testing.T) {
	for _, c := range []struct {
		name string
		cut  time.Duration
		lay  func(*table)
		want string
	}{
		{"one cell after another", 0, func(b *table) { b.cell("alb", "api-1", 100, 100.5, 3); b.cell("alb", "api-1", 101, 101.2, 3) }, "100.5–101"},
		{"one within another", 0, func(b *table) {
			b.cell("alb", "api-1", 100, 100.9, 3)
			b.cell("alb", "api-1", 100.2, 100.3, 3)
			b.cell("alb", "api-1", 102, 102.5, 3)
		}, "100.9–102"},
		{"one begins within another", 0, func(b *table) {
			b.cell("alb", "api-1", 100, 100.5, 3)
			b.cell("alb", "api-1", 100.4, 100.8, 3)
			b.cell("alb", "api-1", 102, 102.5, 3)
		}, "100.8–102"},
		{"one begins as another ends", 0, func(b *table) { b.cell("alb", "api-1", 100, 100.5, 3); b.cell("alb", "api-1", 100.5, 100.8, 3) }, ""},
		{"single requests", 0, func(b *table) {
			b.cell("alb", "api-1", 100, 100, 1)
			b.cell("alb", "api-1", 100, 100, 1)
			b.cell("alb", "api-1", 101, 101, 1)
			b.cell("alb", "api-1", 103, 103, 1)
		}, "100–101 101–103"},
		{"what failed was sent as well", 0, func(b *table) {
			b.cell("alb", "api-1", 100, 100, 1)
			b.cell("alb", "api-1", 101, 101, 1).Outcome = OutcomeTarget5xx
			b.cell("alb", "api-1", 103, 103, 1)
		}, "100–101 101–103"},
		{"seconds that follow", time.Second, func(b *table) { b.cell("alb", "api-1", 100, 100, 1); b.cell("alb", "api-1", 101, 101, 1) }, ""},
		{"seconds with one between", time.Second, func(b *table) { b.cell("alb", "api-1", 100, 100, 1); b.cell("alb", "api-1", 102, 102, 1) }, "101–102"},
	} {
		b := newTable()
		b.cuts = map[string]time.Duration{"alb": c.cut}
		c.lay(b)
		b.placeServed()
		var list []string
		for _, p := range b.byName["api-1"].pauses() {
			sure := p.sure()
			list = append(list, fmt.Sprintf("%s–%s", b.seconds(sure.from), b.seconds(sure.to)))
		}
		if got := strings.Join(list, " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// The pauses of two clocks are of one: what the slower one dates comes as much later.
func TestPausesByOneClock(t *testing.T) {
	b := newTable()
	b.counting["edge"], b.servingClock = true, "alb"
	b.offsets = []ClockOffset{{A: "alb", B: "edge", Offset: Interval{10_000, 10_000}}}
	b.cell("alb", "api-1", 100, 100, 1)
	b.cell("edge", "api-1", 120, 120, 1) // 110 by the other
	b.placeServed()
	if got := b.byName["api-1"].pauses(); len(got) != 1 || !got[0].sure().to.Equal(b.at(110)) {
		t.Errorf("%+v", got)
	}
}

// The usual pause is one that was made.
func TestUsualPause(t *testing.T) {
	for _, c := range []struct {
		points []float64
		want   time.Duration
	}{{nil, 0}, {[]float64{100}, 0}, {[]float64{100, 105}, 5 * time.Second}, {[]float64{100, 105, 107}, 5 * time.Second}} {
		if got := percentilePause(newTable().life("api-1", c.points...).points); got != c.want {
			t.Errorf("%v: %s", c.points, got)
		}
	}
}

// A target is deregistered at 150 and serves until 152; of its stop nobody tells. One is
// registered again and serves from 180 on.
func TestServedUntilItWasDeregistered(t *testing.T) {
	for _, again := range []bool{false, true} {
		s := newShape(t, "api-1", "api-2")
		s.serve("alb", "api", "api-1", 10, 0, 152, false)
		s.serve("alb", "api", "api-2", 10, 0, 300, false)
		s.step(StepTargetDeregistered, "api-1", 150)
		var first time.Time
		if again {
			first = s.at(180)
			s.serve("alb", "api", "api-1", 10, 180, 300, false)
		}
		x := Judge(s.obs).Targets[0]
		if last := s.at(151.901); !x.LastServedAt.Equal(last) || !x.FirstServedAt.Equal(first) {
			t.Errorf("again %t: last served %v, first %v", again, x.LastServedAt, x.FirstServedAt)
		}
		if x.Eject == nil || *x.Eject != (Bounded{1.901, Lower}) {
			t.Errorf("again %t: eject %v", again, x.Eject)
		}
	}
}
