package analysis

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// The log's clock is that of the prober, and api-1's is from 9.9 to 10.1 s ahead of it; of
// the workflow's nothing is known but that it may be 20 s off.
func newClocks() *table {
	b := newTable()
	b.offsets = []ClockOffset{{"prober", "alb", Interval{0, 0}}, {"prober", "api-1.log", Interval{9900, 10100}}}
	b.doubt, b.servingClock = 20*time.Second, "alb"
	return b
}

// What two clocks say of a length is no more than what is known of the clocks.
func TestLengthsBetweenClocks(t *testing.T) {
	for _, c := range []struct {
		from, to   float64
		of, than   string // clocks of from and of to
		bound      Bound
		want       string
		surelyThen bool
	}{
		{100, 130, "alb", "alb", Exact, "exact 30", true},
		{100, 130, "alb", "alb", Lower, "lower 30", true},
		{100, 130, "alb", "alb", Upper, "upper 30", true},
		{100, 130, "alb", "prober", Exact, "exact 30", true}, // known to the microsecond
		{100, 130, "alb", "api-1.log", Exact, "upper 20.1", true},
		{100, 130, "alb", "api-1.log", Lower, "lower 19.9", true},
		{100, 130, "api-1.log", "alb", Lower, "lower 39.9", true},
		{100, 130, "api-1.log", "alb", Upper, "upper 40.1", true},
		{100, 130, "workflow", "alb", Lower, "lower 10", true},
		{100, 130, "workflow", "api-1.log", Upper, "upper 50", true},
		{100, 120, "workflow", "alb", Upper, "upper 40", false},
		{100, 110.1, "alb", "api-1.log", Lower, "lower 0", false},
		{100, 110.2, "alb", "api-1.log", Lower, "lower 0.1", true},
	} {
		b := newClocks()
		from, to := dated{b.at(c.from), c.of}, dated{b.at(c.to), c.than}
		got := b.between(from, to, c.bound)
		if s := fmt.Sprint(got.Bound, " ", got.Value); s != c.want || b.surelyBefore(from, to) != c.surelyThen {
			t.Errorf("%+v: %s, surely in this order %t", c, s, b.surelyBefore(from, to))
		}
		if b.between(dated{clock: c.of}, to, c.bound) != nil || b.between(from, dated{clock: c.than}, c.bound) != nil {
			t.Error("a length without an end")
		}
	}
}

// A step's moment is by the clock of its source, or by that which it names.
func TestWhoToldAMoment(t *testing.T) {
	b := newClocks()
	for _, s := range []Step{
		{Target: "api-2", Source: "other", At: b.at(100)}, {Target: "api-1", Source: "workflow", At: b.at(100)},
		{Target: "api-1", Source: "ci", Clock: "api-1.log", At: b.at(110)}, {Source: "ci", At: b.at(240)},
	} {
		b.steps = append(b.steps, step{Step: s})
	}
	for _, c := range []struct {
		target string
		at     float64
		want   string
	}{{"api-1", 100, "workflow"}, {"api-1", 110, "api-1.log"}, {"api-1", 105, ""}, {"", 240, "ci"}} {
		if got := b.toldAt(c.target, b.at(c.at)); got.clock != c.want || !got.at.Equal(b.at(c.at)) {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

// What api-1's own log tells of its serving is taken by the access log's clock, within
// what is known of the two; the moments remain as they were recorded.
func TestServingByAnotherClock(t *testing.T) {
	b := newClocks()
	b.cell("alb", "api-2", 50, 51, 2)
	for i, at := range []float64{100, 130} {
		b.obs.Handled = append(b.obs.Handled, HandledRequest{Source: "api-1.log", Target: "api-1", Run: "r", Seq: i, At: b.at(at), Status: 200})
	}
	b.readServing()
	l := b.byName["api-1"]
	c := cycle{stop: b.at(100), ready: b.at(110)}
	b.serve(l, &c, b.to)
	if got, want := b.moments(c.lastServed, c.lastServedBy, c.firstServedFrom, c.firstServed, c.lastServedAt(), c.firstServedAt()), " 89.9 90.1 119.9 120.1 100 130"; got != want {
		t.Errorf("served%s, want%s", got, want)
	}
	if l.witnesses["api-1.log"] || !l.witnesses["alb"] {
		t.Errorf("by %v", l.witnesses)
	}
	// Of two that came first, the one that surely was there by then is printed.
	l.points = append(l.points, served{point: point{at: b.at(119.8), by: b.at(120)}})
	slices.SortFunc(l.points, func(x, y served) int { return x.at.Compare(y.at) })
	c = cycle{stop: b.at(100), ready: b.at(110)}
	if b.serve(l, &c, b.to); !c.firstServedAt().Equal(b.at(120)) {
		t.Errorf("first %s", b.seconds(c.firstServedAt()))
	}
}

// The serving clock is that of the first access log which counts and shows who served.
func TestServingClock(t *testing.T) {
	for _, c := range []struct {
		name string
		lay  func(*table)
		want string
	}{
		{"no log shows anything", func(*table) {}, "prober"},
		{"one does", func(b *table) { b.cell("alb", "api-1", 1, 2, 1) }, "alb"},
		{"it does not count", func(b *table) { b.cell("edge", "api-1", 1, 2, 1) }, "prober"},
		{"no target", func(b *table) { b.cell("alb", "", 1, 2, 1) }, "prober"},
		{"no answer", func(b *table) { b.cell("alb", "api-1", 1, 2, 1).TargetStatus = 0 }, "prober"},
		{"the first of two", func(b *table) {
			b.obs.Service.LoadBalancers[0].AccessLogs[1].Counts = true
			b.cell("edge", "api-1", 1, 2, 1)
			b.cell("alb", "api-1", 1, 2, 1)
		}, "alb"},
	} {
		b := newTable()
		c.lay(b)
		if got := b.findServingClock(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// The log's clock, by which api-1 served, is a second ahead of the prober's, by which
// probes failed: one at 101–102 and one at 105–106, which are 102–103 and 106–107.
func TestAFailureWindowOfAnotherClock(t *testing.T) {
	for _, c := range []struct {
		name   string
		served []float64
		want   string
	}{
		{"served in between", []float64{90, 105.5, 120}, "probe 0 to 15.5 s, 1 failed; probe 0 to 14.5 s, 1 failed"},
		{"served while it failed, by the log's clock", []float64{90, 102.5, 106.5, 120}, "probe 4 to 30 s, 2 failed"},
		{"just before and just after", []float64{90, 101.5, 107.5}, "probe 4 to 6 s, 2 failed"},
		{"as it began, and as it ended", []float64{102, 107, 108}, "probe 4 to 6 s, 2 failed"},
	} {
		b := newTable()
		b.offsets = []ClockOffset{{"prober", "alb", Interval{1000, 1000}}}
		b.servingClock, b.prober[ClassProbe] = "alb", true
		for _, at := range []float64{101, 105} {
			f := b.lost("api-1", at, at+1)
			f.class, f.source = ClassProbe, "store"
		}
		l := b.life("api-1", c.served...)
		if got := windows(TargetReport{FailureWindows: b.failureWindows(l, cycle{})}); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// api-1 is marked at 85, is sent its last request at 94.95, stops at 110, is ready at 135
// and serves again from 155 on. Whatever its own clock is off by, what is printed as a
// bound is one, who served alone does not move, and no rule takes the clock for the
// target. The access log's clock is not known; then it is, by two requests of ours.
func TestAnApplicationsClockIsOff(t *testing.T) {
	for _, known := range []bool{false, true} {
		for _, off := range []time.Duration{0, 10 * time.Second, -10 * time.Second} {
			s := newScene(t)
			s.stop("api-1", 110, 135, true)
			s.prepare()
			for i := range s.obs.Handled {
				s.obs.Handled[i].At = s.obs.Handled[i].At.Add(off)
			}
			for i := range s.obs.Steps {
				if s.obs.Steps[i].Inferred {
					s.obs.Steps[i].At = s.obs.Steps[i].At.Add(off)
				}
			}
			if known {
				for _, p := range s.obs.Probes[:2] {
					key := CellKey{Second: p.Sent.Unix(), Source: "alb", Class: ClassProbe, Outcome: OutcomeOK, Status: 200, TargetStatus: 200}
					s.obs.Requests = append(s.obs.Requests, Request{CellKey: key, Start: p.Sent.Add(time.Millisecond + time.Microsecond), End: p.Done.Add(-time.Millisecond), ProbeRun: p.Run, ProbeSeq: p.Seq})
				}
			}
			r := s.judge()
			x := r.Targets[0]
			if e, w, f := x.Eject.Value, x.LastServedToRestart.Value, x.ReadyToFirstRequest.Value; e > 10 || w < 15 || f < 20 {
				t.Errorf("off %v: ejected ≥ %g, last request to restart ≤ %g, ready to first request ≤ %g; they were 10, 15 and 20", off, e, w, f)
			} else if known && f > 20.1 || off == 0 && (e < 9.9 || w > 15.1) {
				t.Errorf("off %v: ejected ≥ %g, last request to restart ≤ %g, ready to first request ≤ %g, which is little", off, e, w, f)
			}
			if *x.Boot != (Bounded{24.99, Exact}) {
				t.Errorf("off %v: boot %+v", off, *x.Boot)
			}
			if len(r.SingleTarget) != 1 || r.SingleTarget[0].Seconds < 60 || r.SingleTarget[0].Seconds > 60.1 {
				t.Errorf("off %v: alone %+v", off, r.SingleTarget)
			}
			want := []string{"single-target"}
			if off != 0 {
				want = []string{"clock-skew", "clock-skew", "single-target"}
			}
			s.fired(r, want...)
			s.claim(r, ClaimNoUserFailureCaused, Supported, ReasonNoFailure)
		}
	}
}
