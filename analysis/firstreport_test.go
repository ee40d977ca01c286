package analysis

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// TestFirstReport makes records to the numbers of the report that gapless grew from
// (a rolling deploy with drain, 7,799 reads in 1,585.8 s) and expects its tables back.
//
// Two differences are meant. The report cuts its last phase where success was
// reported; here the tail begins when the last target has served again, 22.6 s later,
// so 113 of the tail's 2,989 reads stand under "api-2 back". And percentiles over all
// phases are not compared, since only those per phase are known.
func TestFirstReport(t *testing.T) {
	w := newReportWindow(t)
	w.phase([3]float64{107, 206, 1981}, stretch{319.2, 761, 809, 1})
	w.started()
	w.phase([3]float64{104, 157, 387}, stretch{150.5, 372, 368, 1})
	w.drain("api-1", 42, 67)
	w.phase([3]float64{113, 357, 1115}, stretch{42, 101, 103, 1}, stretch{121.5, 0, 387, 2})
	w.step(StepRestartBegan, "api-1", w.now)
	w.phase([3]float64{112, 148, 149}, stretch{17.8, 0, 89, 2})
	w.step(StepAppReady, "api-1", w.now)
	w.back("api-1", 51.6, 91)
	w.phase([3]float64{111, 331, 5255}, stretch{51.6, 0, 247, 2}, stretch{228.6, 421, 425, 2})
	w.drain("api-2", 55, 61)
	w.phase([3]float64{92, 195, 335}, stretch{55, 156, 103, 2}, stretch{119.7, 304, 0, 1})
	w.step(StepRestartBegan, "api-2", w.now)
	w.phase([3]float64{91, 232, 274}, stretch{19.4, 97, 0, 1})
	w.step(StepAppReady, "api-2", w.now)
	w.back("api-2", 36.2, 107)
	w.phase([3]float64{109, 163, 170}, stretch{13.6, 67, 0, 1})
	w.reported(w.now)
	w.phase([3]float64{110, 281, 703}, stretch{22.6, 113, 0, 1}, stretch{595.5, 1470, 1406, 1})
	w.health()
	r := Judge(w.obs)

	rows := []struct {
		name                string
		requests, one, two  int
		p50, p99, max, long float64
	}{
		{"baseline", 1570, 761, 809, 107, 206, 1981, 319.2},
		{"build", 740, 372, 368, 104, 157, 387, 150.5},
		{"api-1 drain", 591, 101, 490, 113, 357, 1115, 121.5},
		{"api-1 restart", 89, 0, 89, 112, 149, 149, 17.8}, // of fewer than 100, the nearest rank of p99 is the maximum
		{"api-1 back", 1093, 421, 672, 111, 331, 5255, 228.6},
		{"api-2 drain", 563, 460, 103, 92, 195, 335, 119.7},
		{"api-2 restart", 97, 97, 0, 91, 274, 274, 19.4},
		{"api-2 back", 67 + 113 + 1, 67 + 113, 1, 0, 0, 0, 13.6 + 22.6}, // the one that ended the wait was sent in it
		{"tail", 2989 - 113 - 1, 1583 - 113, 1406 - 1, 0, 0, 0, 595.5 - 22.6},
	}
	if len(r.Phases) != len(rows) {
		t.Fatalf("%d phases, want %d", len(r.Phases), len(rows))
	}
	for i, want := range rows {
		p := r.Phases[i]
		c := p.Traffic[ClassProbe]
		if p.Name != want.name || c.Requests != want.requests || c.Failures != 0 || c.ByTarget["api-1"] != want.one || c.ByTarget["api-2"] != want.two {
			t.Errorf("%s: %d requests, %d failed, by target %v; want %s with %d, %d · %d", p.Name, c.Requests, c.Failures, c.ByTarget, want.name, want.requests, want.one, want.two)
		}
		if want.p50 > 0 && (*c.P50 != want.p50 || *c.P99 != want.p99 || *c.Max != want.max) {
			t.Errorf("%s: %g / %g / %g ms, want %g / %g / %g", p.Name, *c.P50, *c.P99, *c.Max, want.p50, want.p99, want.max)
		}
		if long := seconds(p.To.Sub(p.From.Time)); math.Abs(long-want.long) > .3 {
			t.Errorf("%s lasted %g s, want %g", p.Name, long, want.long)
		}
	}
	total := r.Totals[ClassProbe]
	if total.Requests != 7799 || total.Failures != 0 || total.ByTarget["api-1"] != 3862 || total.ByTarget["api-2"] != 3937 || *total.Max != 5255 {
		t.Errorf("totals %+v", total)
	}
	if health := r.Totals[ClassHealth]; health.Requests != 1586 || health.Outcomes[OutcomeOK] != 1542 || health.Outcomes[OutcomeDrain503] != 44 || health.Failures != 0 {
		t.Errorf("health %+v", health)
	}
	a := r.Attribution[1]
	if a.Probe != "store" || a.Sent != 7799 || a.Attributed != 7799 || a.Duplicates+*a.SuccessWithoutRecord+*a.FailedWithoutRecord != 0 {
		t.Errorf("attribution %+v", a)
	}
	for i, want := range []float64{149, 120} {
		if alone := r.SingleTarget[i]; math.Abs(alone.Seconds-want) > 1 {
			t.Errorf("%s alone for %g s, want about %g", alone.Target, alone.Seconds, want)
		}
	}
	w.target(r, "api-1", "≥ 42", "79.5", "69.4", "51.6", 67, 91)
	w.target(r, "api-2", "≥ 55", "64.7", "55.6", "36.2", 61, 107)
	if late := *r.Targets[1].ReportedToFirstServed; late.Value < 13 || late.Value > 23 {
		t.Errorf("api-2 served %g s after the report, want 13 to 23", late.Value)
	}
	// Reads came alone, so nobody's claim but the probes' can be judged; the stall of
	// 5.255 s has no second witness.
	w.claim(r, ClaimNoProbeFailure, Supported, ReasonNoFailure)
	w.claim(r, ClaimAlwaysOneTarget, Supported, ReasonNoFailure)
	w.claim(r, ClaimNoUserFailureCaused, Untested, ReasonNotMeasured)
	w.fired(r, "probe-stall", "probe-stall", "probe-stall", "reported-before-return", "single-target", "single-target", "state-lag", "state-lag")
	for _, f := range r.Findings {
		if f.Code == "probe-stall" && f.Values["cause"] != stallUndetermined {
			t.Errorf("stall %+v", f.Values)
		}
	}
	if r.Targets[0].Predicted.Eject != (Interval{30, 65}) {
		t.Errorf("predicted %+v", r.Targets[0].Predicted)
	}
}

// reportWindow writes down what the report's instruments saw, phase by phase.
type reportWindow struct {
	scene
	now  float64
	seq  int
	down map[string][2]float64 // state DOWN from, to
}

// stretch is a part of a phase, until so many seconds after the phase's start, with
// the requests that each target served in it, spread evenly; its last request goes to
// the target named last.
type stretch struct {
	until    float64
	one, two int
	last     int
}

func newReportWindow(t *testing.T) *reportWindow {
	w := &reportWindow{scene: *newScene(t), down: map[string][2]float64{}}
	w.prepared = true
	o := &w.obs
	o.Service.LoadBalancers[0].AccessLogs = nil
	group := &o.Service.LoadBalancers[0].TargetGroups[0]
	group.Health = HealthCheck{Interval: 30 * time.Second, Timeout: 5 * time.Second, Unhealthy: 2, Healthy: 2}
	group.States[0].Every = 5500 * time.Millisecond
	o.Steps = nil
	o.To = w.at(1585.8)
	o.At = w.at(9000)
	o.Runs = []Run{{Source: "api-1.log", From: w.at(-1), To: w.at(1600), At: w.at(1700)}, {Source: "api-2.log", From: w.at(-1), To: w.at(1600), At: w.at(1700)}}
	return w
}

func (w *reportWindow) started() {
	w.obs.Deploy.StartedAt = w.at(w.now)
	w.step(StepDeployStarted, "", w.now)
}

func (w *reportWindow) reported(at float64) {
	w.obs.Deploy.ReportedAt = w.at(at)
	w.step(StepDeployReported, "", at)
}

// drain marks a target that serves for so many seconds more; lag is how long after
// its last request its state went DOWN.
func (w *reportWindow) drain(target string, serves, lag float64) {
	w.step(StepDrainMarked, target, w.now)
	w.down[target] = [2]float64{w.now + serves + lag, math.Inf(1)}
}

func (w *reportWindow) back(target string, first, lag float64) {
	w.down[target] = [2]float64{w.down[target][0], w.now + first + lag}
}

// phase sends the requests of its stretches, and time passes.
func (w *reportWindow) phase(ms [3]float64, stretches ...stretch) {
	var served []int
	var times []float64
	from := 0.0
	for _, s := range stretches {
		count := s.one + s.two
		share := s.one
		if s.last == 2 {
			share = s.two
		}
		for i := range count {
			times = append(times, w.now+from+(s.until-from)*float64(i+1)/float64(count)-.02)
			target := s.last
			if (i+1)*share/count == i*share/count {
				target = 3 - s.last
			}
			served = append(served, target)
		}
		from = s.until
	}
	w.record(times, served, ms)
	w.now += from
}

func (w *reportWindow) record(times []float64, served []int, ms [3]float64) {
	n := len(times)
	for i, at := range times {
		took := ms[0]
		if rank := i + 1; rank == n {
			took = ms[2]
		} else if rank >= nearestRank(.99, n) {
			took = ms[1]
		}
		target := fmt.Sprintf("api-%d", served[i])
		sent := w.at(at)
		p := ProbeRequest{Source: "store", Probe: "store", Class: ClassProbe, Run: "r", Seq: w.seq, Sent: sent, Done: sent.Add(time.Duration(took * 1e6)), Status: 200, Outcome: OutcomeOK}
		w.obs.Probes = append(w.obs.Probes, p)
		w.obs.Handled = append(w.obs.Handled, HandledRequest{Source: target + ".log", Target: target, Run: "r", Seq: w.seq, At: sent.Add(10 * time.Millisecond), Status: 200})
		w.seq++
	}
}

// health adds a sample each second, 24 and 20 of them drain answers, and the polls.
func (w *reportWindow) health() {
	marks := map[string]float64{}
	for _, s := range w.obs.Steps {
		if s.Kind == StepDrainMarked {
			marks[s.Target] = s.At.Sub(w.zero).Seconds()
		}
	}
	for i := range 1586 {
		at := float64(i)*.9998 + .001
		p := ProbeRequest{Source: "health", Probe: "health", Class: ClassHealth, Run: "h", Seq: i, Sent: w.at(at), Done: w.at(at + .05), Status: 200, Outcome: OutcomeOK}
		for target, n := range map[string]float64{"api-1": 24, "api-2": 20} {
			if k := at - marks[target] - 1; k >= 0 && k < n*.9998 {
				p.Status, p.Outcome, p.OutOfService, p.Target = 503, OutcomeDrain503, true, target
			}
		}
		w.obs.Probes = append(w.obs.Probes, p)
	}
	for at := 0.0; at < 1585.8; at += 5.5 {
		for target, down := range w.down {
			state := StateUp
			if at >= down[0] && at < down[1] {
				state = StateDown
			}
			w.obs.States = append(w.obs.States, StateSample{Source: "states", TargetGroup: "api", Target: target, At: w.at(at), State: state})
		}
	}
}

// target compares one row of the report's table per node; lags within one poll, one read, and
// what clocks leave open.
func (w *reportWindow) target(r Report, name, eject, quiet, restart, ready string, down, up float64) {
	w.t.Helper()
	for _, x := range r.Targets {
		if x.Target != name {
			continue
		}
		show := func(b *Bounded) string { return fmt.Sprintf("%.1f", b.Value) }
		if got := fmt.Sprintf("≥ %.0f", x.Eject.Value); got != eject || x.Eject.Bound != Lower {
			w.t.Errorf("%s ejected after %s, want %s", name, got, eject)
		}
		for what, pair := range map[string][2]string{
			"last request to restart": {show(x.LastServedToRestart), quiet}, "restart to first request": {show(x.RestartToFirstRequest), restart}, "ready to first request": {show(x.ReadyToFirstRequest), ready},
		} {
			var got, want float64
			if _, err := fmt.Sscan(pair[0]+" "+pair[1], &got, &want); err != nil {
				w.t.Fatal(err)
			}
			if math.Abs(got-want) > .45 {
				w.t.Errorf("%s: %s %s, want %s", name, what, pair[0], pair[1])
			}
		}
		if l := x.StateLagDown; l.From > down+.3 || l.To < down-.3 || l.To-l.From > 5.9 {
			w.t.Errorf("%s: state lag down %+v, want around %v", name, l, down)
		}
		if l := x.StateLagUp; l.From > up+.3 || l.To < up-.3 {
			w.t.Errorf("%s: state lag up %+v, want around %v", name, l, up)
		}
	}
}
