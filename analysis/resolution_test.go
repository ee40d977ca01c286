package analysis

import (
	"fmt"
	"testing"
	"time"
)

// Only a log without anything finer has whole seconds; one with milliseconds is taken as
// it stands, and so is one of which nothing is known.
func TestToWhatALogIsCut(t *testing.T) {
	at := func(s float64) time.Time { return time.Unix(1_000_000, 0).Add(time.Duration(s * float64(time.Second))) }
	cell := func(source string, first, last float64) Cell {
		return Cell{CellKey: CellKey{Source: source}, First: at(first), Last: at(last)}
	}
	cuts := cutsOf(&Observations{
		Cells: []Cell{
			cell("nginx", .962, 1), cell("nginx", 1.9, 2), {CellKey: CellKey{Source: "nginx"}},
			cell("msec", 1, 2), cell("msec", 2, 3.004), cell("both", 1, 2), {CellKey: CellKey{Source: "empty"}},
		},
		Requests: []Request{{CellKey: CellKey{Source: "both"}, End: at(2.5)}, {CellKey: CellKey{Source: "nginx"}, Start: at(1.5), End: at(3)}},
		Handled:  []HandledRequest{{Source: "app", At: at(7)}, {Source: "fine", At: at(7)}, {Source: "fine", At: at(7.001)}},
	})
	if got, want := fmt.Sprint(cuts), "map[app:1s nginx:1s]"; got != want {
		t.Errorf("cut to %s, want %s", got, want)
	}
}

// A moment of a log of whole seconds is before another one, or in a stretch, only where
// both of its ends are.
func TestWhatIsSureOfAMoment(t *testing.T) {
	b := newTable()
	b.cuts = map[string]time.Duration{"edge": time.Second}
	for _, c := range []struct {
		source   string
		at       float64
		from, to float64
		want     bool
	}{
		{"alb", 100, 100, 101, true},
		{"alb", 101, 100, 101, false},
		{"alb", 99.9, 100, 101, false},
		{"edge", 100, 100, 101, true}, // it was before 101
		{"edge", 100.1, 100, 101, false},
		{"edge", 99.9, 100, 101, false},
	} {
		if got := b.surely(c.source, b.at(c.at), b.at(c.from), b.at(c.to)); got != c.want {
			t.Errorf("%s at %v surely in [%v, %v): %v", c.source, c.at, c.from, c.to, got)
		}
	}
	cell := b.cell("edge", "api-1", 100, 102, 2)
	for _, c := range []struct {
		from, to float64
		want     bool
	}{{100, 103, true}, {100.1, 103, false}, {100, 102.9, false}} {
		if got := b.cellInside(cell, b.at(c.from), b.at(c.to)); got != c.want {
			t.Errorf("the cell lies in [%v, %v): %v", c.from, c.to, got)
		}
	}
}

// coarse gives a target moments that a log of whole seconds dates.
func (b *table) coarse(name string, points ...float64) *life {
	l := b.byName[name]
	for _, p := range points {
		l.points = append(l.points, served{point: point{at: b.at(p), by: b.at(p + 1)}})
	}
	return l
}

// Whether a target served between two moments, surely and perhaps, and when around one.
func TestServingOfWholeSeconds(t *testing.T) {
	b := newTable()
	l := b.coarse("api-1", 90, 100, 110)
	for _, c := range []struct {
		from, to    float64
		surely, may bool
	}{
		{99.9, 101, true, true},
		{99.9, 100.9, false, true},
		{100, 101, false, true}, // it may have been the first moment of it
		{100.9, 102, false, true},
		{101, 110, false, false},
		{95, 100, false, false},
		{95, 110.5, true, true},
		{109, 110.5, false, true},
	} {
		if surely, may := l.surelyServed(b.at(c.from), b.at(c.to)), l.mayHaveServed(b.at(c.from), b.at(c.to)); surely != c.surely || may != c.may {
			t.Errorf("served in (%v, %v): surely %v, perhaps %v", c.from, c.to, surely, may)
		}
		if well := l.surelyServedWell(b.at(c.from), b.at(c.to)); well != c.surely {
			t.Errorf("served well in (%v, %v): %v", c.from, c.to, well)
		}
	}
	for _, c := range []struct{ at, before, after float64 }{
		{105, 100, 111}, {100.5, 90, 111}, {100, 90, 101}, {101, 100, 111}, {90.5, 0, 101}, {111, 110, 0},
	} {
		before, after := l.servedAround(b.at(c.at))
		if got, want := b.moments(before, after), b.moments(b.orZero(c.before), b.orZero(c.after)); got != want {
			t.Errorf("around %v: %s, want %s", c.at, got, want)
		}
	}
	// A failure that ended in [100, 101), and began then: from the success that surely was
	// before to the one that surely was after.
	l.points = nil
	b.coarse("api-1", 98, 99.5, 100, 100.5, 101, 102)
	if got := l.upperBound(b.at(100), b.at(100), b.at(101)); got == nil || *got != 4 { // from 98 to 102
		t.Errorf("successes around are at most %v s apart", got)
	}
}

func (b *table) orZero(s float64) time.Time {
	if s == 0 {
		return time.Time{}
	}
	return b.at(s)
}

func (b *table) moments(times ...time.Time) string {
	s := ""
	for _, t := range times {
		if t.IsZero() {
			s += " -"
			continue
		}
		s += fmt.Sprint(" ", t.Sub(b.from).Seconds())
	}
	return s
}

// The last request before a stop at 100 and the first after its target was ready at 110.
func TestServingAroundAStopInWholeSeconds(t *testing.T) {
	for _, c := range []struct {
		name  string
		stop  float64
		serve []float64
		want  string // surely served last, at the latest; at the earliest, surely first
	}{
		{"clear of both", 100, []float64{98, 99, 111, 112}, " 99 100 111 112"},
		{"until it was ready, and from then on", 100, []float64{99, 109, 110}, " 109 110 110 111"},
		{"perhaps before it was ready", 100, []float64{99, 109.5, 110.5}, " 99 100 110 111.5"},
		{"perhaps before it was ready, and never again", 100, []float64{99, 109.5}, " 99 100 110 110.5"},
		{"a stop shorter than a second", 109.8, []float64{99, 109.5, 110.5}, " 99 110 110 111.5"},
		{"never again", 100, []float64{99}, " 99 100 - -"},
	} {
		b := newTable()
		l := b.coarse("api-1", c.serve...)
		cut := &cycle{stop: b.at(c.stop), ready: b.at(110)}
		b.serve(l, cut, b.to)
		if got := b.moments(cut.lastServed, cut.lastServedBy, cut.firstServedFrom, cut.firstServed); got != c.want {
			t.Errorf("%s:%s, want%s", c.name, got, c.want)
		}
	}
}

// A failure that may have come after the deploy's start, as its log has whole seconds or
// clocks are apart, counts after it only where the deploy caused it; else whether it does
// is open. The next second's counts anyway.
func TestFailuresOfTheSecondOfAStart(t *testing.T) {
	for _, c := range []struct {
		end       float64
		cut, late time.Duration
		cause     Cause
		caused    float64 // start of the deploy that did
		from      float64
		want      string
	}{
		{59.3, time.Second, 0, CauseDeploy, 60, 60, "in it"},
		{57, 0, 3 * time.Second, CauseDeploy, 60, 60, "in it"},
		{59.3, time.Second, 0, CauseDeploy, 50, 60, "open for both"},
		{59.3, time.Second, 0, CauseUnexplained, 0, 60, "open for both"},
		{59.3, time.Second, 0, CauseShared, 0, 60, "open for both"},
		{59.3, time.Second, 0, CauseBackground, 0, 60, "open for all"},
		{59.3, time.Second, 0, CauseClient, 0, 60, "open for all"},
		{57.1, 0, 3 * time.Second, CauseUnexplained, 0, 60, "open for both"},
		{56.1, time.Second, 3 * time.Second, CauseUnexplained, 0, 60, "open for both"},
		{57, 0, 3 * time.Second, CauseUnexplained, 0, 60, "out of it"},
		{59, time.Second, 0, CauseUnexplained, 0, 60, "out of it"}, // before 60
		{59.3, 0, 0, CauseUnexplained, 0, 60, "out of it"},
		{60, 0, 0, CauseUnexplained, 0, 60, "in it"},
		{300, time.Second, 0, CauseUnexplained, 0, 60, "out of it"}, // at its end
	} {
		b := newTable()
		f := b.lost("api-1", c.end, c.end)
		f.cut, f.late, f.cause = c.cut, c.late, c.cause
		if c.caused > 0 {
			f.caused = b.at(c.caused)
		}
		scope := Scope{ClassUser, Time{b.at(c.from)}, Time{b.to}}
		got := "out of it"
		switch {
		case b.in(f, scope):
			got = "in it"
		case b.mayBeIn(scope, true):
			got = "open for both"
		case b.mayBeIn(scope, false):
			got = "open for all"
		}
		if got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
		if other := (Scope{ClassProbe, scope.From, scope.To}); b.in(f, other) || b.mayBeIn(other, false) {
			t.Errorf("%+v: of another class", c)
		}
	}
	// At a scope's end, which is not the window's.
	for _, c := range []struct {
		end  float64
		cut  time.Duration
		to   float64
		want string
	}{
		{109, time.Second, 110, "in it"},
		{109, time.Second, 109.5, "open"},
		{109, 0, 109.5, "in it"},
		{110, time.Second, 110, "out of it"},
		{299, time.Second, 299.5, "open"},
	} {
		for _, unkept := range []bool{false, true} {
			b := newTable()
			f := b.lost("api-1", c.end, c.end)
			f.cut, f.unkept = c.cut, unkept
			scope := Scope{ClassUser, Time{b.at(60)}, Time{b.at(c.to)}}
			got := "out of it"
			switch {
			case b.in(f, scope):
				got = "in it"
			case b.mayBeIn(scope, false):
				got = "open"
			}
			if got != c.want {
				t.Errorf("%+v: %s", c, got)
			}
			if b.to = scope.To.Time; c.want == "open" && !b.in(f, scope) {
				t.Errorf("%+v: what the window counts is not in it", c)
			}
		}
	}
}

// A failure window is at least from the latest end of its first failure to the last
// one's earliest.
func TestFailureWindowInWholeSeconds(t *testing.T) {
	b := newTable()
	l := b.coarse("api-1", 95, 120)
	first, second := *b.lost("api-1", 100, 100), *b.lost("api-1", 104, 104)
	first.cut, second.cut = time.Second, time.Second
	w := b.failureWindow(l, ClassUser, []failure{first, second})
	if w.Seconds != 3 || w.Upper == nil || *w.Upper != 26 || !w.From.Equal(b.at(100)) || !w.To.Equal(b.at(104)) {
		t.Errorf("%+v, upper %v", w, w.Upper)
	}
	l.points = nil
	if w := b.failureWindow(b.coarse("api-1", 95, 105), ClassUser, []failure{first, second}); w.Upper == nil || *w.Upper != 11 { // until 106
		t.Errorf("served in the very next second: upper %v", w.Upper)
	}
	if w := b.failureWindow(l, ClassUser, []failure{first}); w.Seconds != 0 {
		t.Errorf("one failure lasted %v s", w.Seconds)
	}
}

// A failed request was not sent to a target that was out only where it was out at both
// ends of its moment; the target is back when it can first have served.
func TestWasOutInWholeSeconds(t *testing.T) {
	b := newTable()
	l := b.byName["api-1"]
	for _, c := range []struct {
		start, from float64
		cut         time.Duration
		want        bool
	}{
		{105, 110, time.Second, true},
		{109, 110, time.Second, false},
		{109, 110, 0, true},
		{109, 108.5, 0, false},
		{101.5, 110, time.Second, false},
		{102, 110, 0, false}, // one that was under way may have failed until then
	} {
		f := &failure{start: b.at(c.start), cut: c.cut}
		if got := b.wasOut(l, cycle{out: b.at(100), firstServed: b.at(111), firstServedFrom: b.at(c.from)}, f); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// The same by clocks that may be some seconds apart: it was out by all of them.
func TestWasOutByClocksInDoubt(t *testing.T) {
	for _, c := range []struct {
		start float64
		doubt time.Duration
		want  bool
	}{
		{105, 2 * time.Second, true},
		{105, 3 * time.Second, false}, // 102 by one of them: one that was under way may have failed until then
		{107, 2 * time.Second, true},
		{107, 3 * time.Second, false}, // 110 by one of them: it may have served again
	} {
		b := newTable()
		b.doubt = c.doubt
		cut := cycle{stop: b.at(100), out: b.at(100), firstServed: b.at(110)}
		if got := b.wasOut(b.byName["api-1"], cut, &failure{start: b.at(c.start)}); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
