package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// api-1 is marked at 70, is sent nothing from 85 on, restarts at 100, is ready at 125 and
// serves again from 145 on; of its last second, the last of ten requests came at 84.9.
func newDrained(t *testing.T) *shape {
	s := newShape(t, "api-1", "api-2")
	s.obs.Service.LoadBalancers[0].TargetGroups[0].States[0].Every = time.Second
	s.serve("alb", "api", "api-2", 10, 0, 300, false)
	s.serve("alb", "api", "api-1", 10, 0, 85, false)
	s.serve("alb", "api", "api-1", 10, 145, 300, false)
	s.step(StepDrainMarked, "api-1", 70)
	s.restart("api-1", 100, 125)
	for at := 0.0; at < 300; at++ {
		for _, name := range []string{"api-1", "api-2"} {
			state := StateHealthy
			if name == "api-1" && at >= 85 && at < 145 {
				state = StateUnhealthy
			}
			s.obs.States = append(s.obs.States, StateSample{Source: "states", TargetGroup: "api", Target: name, At: s.at(at), State: state})
		}
	}
	return s
}

// bounds are the lengths of api-1's row, and how long api-2 was alone.
func bounds(r Report) string {
	x := r.Targets[0]
	words := []string{"ejected " + x.Ejected}
	for _, b := range []*Bounded{x.Eject, x.LastServedToRestart, x.ReadyToFirstRequest} {
		if b == nil {
			words = append(words, "-")
			continue
		}
		words = append(words, fmt.Sprint(map[Bound]string{Lower: "≥ ", Upper: "≤ "}[b.Bound], b.Value))
	}
	for _, alone := range r.SingleTarget {
		words = append(words, fmt.Sprint(alone.Target, " alone ", alone.Seconds))
	}
	return strings.Join(words, ", ")
}

// A download from 82.5 to 112 is still under way when its target stops, ends well, and
// changes nothing: it was sent before the target left rotation. Neither do clocks
// disagree, so that the failure in the baseline remains the service's background.
func TestARequestThatOutlastsAStop(t *testing.T) {
	const exactly = "ejected yes, ≥ 14.901, ≤ 15.099, ≤ 20, api-2 alone 60.099"
	for _, c := range []struct {
		name     string
		lay      func(s *shape)
		inFlight int
		want     string
	}{
		{"none", func(*shape) {}, 0, exactly},
		{"in the access log", func(s *shape) {
			key := CellKey{Second: s.at(82).Unix(), Source: "alb", TargetGroup: "api", Target: "api-1", Class: ClassUser, Outcome: OutcomeOK, Route: "download", Status: 200, TargetStatus: 200}
			s.obs.Cells = append(s.obs.Cells, Cell{CellKey: key, Count: 1, First: s.at(82.5), Last: s.at(112)})
			s.obs.Requests = append(s.obs.Requests, Request{CellKey: key, Start: s.at(82.5), End: s.at(112), Duration: 29500 * time.Millisecond, Connected: true})
		}, 1, exactly},
		{"in the application's log", func(s *shape) {
			s.obs.Probes = append(s.obs.Probes, ProbeRequest{Source: "store", Probe: "store", Class: ClassProbe, Run: "r", Sent: s.at(82.5), Done: s.at(112), Status: 200, Outcome: OutcomeOK, Target: "api-1"})
			s.obs.Handled = append(s.obs.Handled, HandledRequest{Source: "api-1.log", Target: "api-1", Run: "r", At: s.at(112), Status: 200})
			// One that took 2 ms bounds the application's clock to two of them.
			s.obs.Probes = append(s.obs.Probes, ProbeRequest{Source: "store", Probe: "store", Class: ClassProbe, Run: "r", Seq: 1, Sent: s.at(80), Done: s.at(80.002), Status: 200, Outcome: OutcomeOK, Target: "api-1"})
			s.obs.Handled = append(s.obs.Handled, HandledRequest{Source: "api-1.log", Target: "api-1", Run: "r", Seq: 1, At: s.at(80.001), Status: 200})
			s.obs.Known = []KnownRequests{{Source: "alb", Run: "r", Seqs: []uint32{0, 1}}}
		}, 1, "ejected yes, ≥ 14.899, ≤ 15.101, ≤ 20.002, api-2 alone 60.099"},
	} {
		s := newDrained(t)
		s.serve("alb", "api", "api-2", 1, 20, 21, true)
		c.lay(s)
		r := Judge(s.obs)
		if got := bounds(r); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
		for _, f := range r.Findings {
			if f.Code == "clock-skew" || f.Code == "health-check-blind" {
				t.Errorf("%s: %s %v", c.name, f.Code, f.Values)
			}
		}
		if n := r.Targets[0].InFlightAtStop; n == nil || *n != c.inFlight {
			t.Errorf("%s: %v in flight at the stop, want %d", c.name, n, c.inFlight)
		}
		if r.Totals[ClassUser].Causes[CauseBackground] != 1 {
			t.Errorf("%s: causes %v", c.name, r.Totals[ClassUser].Causes)
		}
		s.claim(r, ClaimNoUserFailureCaused, Supported, ReasonNoFailure)
	}
}

// Where no step tells, the time in which a target was sent nothing is found all the same.
func TestARequestThatOutlastsAnAbsence(t *testing.T) {
	for _, long := range []bool{false, true} {
		s := newDrained(t)
		s.obs.Steps = s.obs.Steps[:2]
		if long {
			*s.longest() = Cell{CellKey: s.longest().CellKey, Count: 1, First: s.at(82.5), Last: s.at(112)}
		}
		r := Judge(s.obs)
		if got := r.Targets[0]; known(*got.InferredFrom) == nil || !got.LastServedAt.Equal(s.at(84.901)) || !got.FirstServedAt.Equal(s.at(145)) {
			t.Errorf("long %v: gone from %v to %v", long, got.LastServedAt, got.FirstServedAt)
		}
	}
}

// longest is one more cell of api-1.
func (s *shape) longest() *Cell {
	i := slices.IndexFunc(s.obs.Cells, func(c Cell) bool { return c.Target == "api-1" && c.Second == s.at(82).Unix() })
	s.obs.Cells = append(s.obs.Cells, s.obs.Cells[i])
	return &s.obs.Cells[len(s.obs.Cells)-1]
}

// answers lets what failed in some seconds be answered by the target itself, with 500.
func (s *shape) answers(from, to float64) {
	fail := func(k *CellKey) {
		if k.Outcome.Failure() && within(time.Unix(k.Second, 0).UTC(), s.at(from), s.at(to)) {
			k.Outcome, k.Status, k.TargetStatus = OutcomeTarget5xx, 500, 500
		}
	}
	for i := range s.obs.Cells {
		fail(&s.obs.Cells[i].CellKey)
	}
	for i := range s.obs.Requests {
		fail(&s.obs.Requests[i].CellKey)
	}
}

// probes sends one to api-1 every two seconds, from 0.35 on; between two moments to
// api-2, and with the outcome that the spans name.
func (s *shape) probes(awayFrom, awayTo float64, failing map[Outcome][2]float64) {
	s.obs.Service.Probes = []Probe{{Name: "store", Class: ClassProbe, Every: 2 * time.Second, Timeout: 5 * time.Second}}
	for seq := range 150 {
		at := float64(2*seq) + .35
		p := ProbeRequest{Source: "store", Probe: "store", Class: ClassProbe, Run: "r", Seq: seq, Sent: s.at(at), Done: s.at(at + .01), Status: 200, Outcome: OutcomeOK, Target: "api-1"}
		if at > awayFrom && at < awayTo {
			p.Target = "api-2"
		}
		for outcome, when := range failing {
			if at >= when[0] && at < when[1] {
				p.Status, p.Outcome = 500, outcome
			}
		}
		s.obs.Probes = append(s.obs.Probes, p)
	}
}

// windows are a target's failure windows: class, lower and upper bound, failures.
func windows(x TargetReport) string {
	var all []string
	for _, w := range x.FailureWindows {
		upper := "-"
		if w.Upper != nil {
			upper = fmt.Sprint(*w.Upper)
		}
		all = append(all, fmt.Sprintf("%s %g to %s s, %d failed", w.Traffic, w.Seconds, upper, w.Failed))
	}
	return strings.Join(all, "; ")
}

// api-1 is stopped in rotation at 100, answers 500 until 108, then nothing; it is
// displayed out of rotation from 113 on and served well last at 99.901, and again from
// 172 on. What it answered while it stopped was no success, and no clock is wrong.
func TestFailuresOfATargetThatStops(t *testing.T) {
	s := newShape(t, "api-1", "api-2")
	s.serve("alb", "api", "api-2", 10, 0, 300, false)
	s.serve("alb", "api", "api-1", 10, 0, 100, false)
	s.serve("alb", "api", "api-1", 10, 100, 113, true)
	s.answers(100, 108)
	s.serve("alb", "api", "api-1", 10, 172, 300, false)
	s.restart("api-1", 100, 150)
	s.probes(113, 172, map[Outcome][2]float64{OutcomeTarget5xx: {100, 108}, OutcomeLB5xx: {108, 113}})
	for at := 0.0; at < 300; at++ {
		state := StateHealthy
		if at >= 113 && at < 172 {
			state = StateUnhealthy
		}
		s.obs.States = append(s.obs.States, StateSample{Source: "states", TargetGroup: "api", Target: "api-1", At: s.at(at), State: state})
	}
	r := Judge(s.obs)
	x := r.Targets[0]
	if got, want := windows(x), "user 12.9 to 72.099 s, 130 failed; probe 12 to 72.099 s, 7 failed"; got != want {
		t.Errorf("windows %s, want %s", got, want)
	}
	if x.Ejected != "yes" || !slices.Equal(x.EjectedBasis, []string{"state-changed"}) {
		t.Errorf("ejected %s %v", x.Ejected, x.EjectedBasis)
	}
	for _, f := range r.Findings {
		if f.Code == "clock-skew" {
			t.Errorf("%+v", f)
		}
	}
	if !x.LastServedAt.Equal(s.at(107.9)) && !x.LastServedAt.Equal(s.at(107.901)) {
		t.Errorf("it answered last at %v, if badly", x.LastServedAt)
	}
}

// api-1 answers 500 for 20 s after its return: that lies between the success of 89.901
// and the one of 140, whoever sent what failed.
func TestFailuresAfterAReturn(t *testing.T) {
	s := newShape(t, "api-1", "api-2")
	s.serve("alb", "api", "api-2", 10, 0, 300, false)
	s.serve("alb", "api", "api-1", 10, 0, 90, false)
	s.serve("alb", "api", "api-1", 10, 120, 140, true)
	s.answers(120, 140)
	s.serve("alb", "api", "api-1", 10, 140, 300, false)
	s.probes(90, 120, map[Outcome][2]float64{OutcomeTarget5xx: {120, 140}})
	s.restart("api-1", 110, 115)
	r := Judge(s.obs)
	if got, want := windows(r.Targets[0]), "user 19.9 to 50.099 s, 200 failed; probe 18 to 50.099 s, 10 failed"; got != want {
		t.Errorf("windows %s, want %s", got, want)
	}
}

// What an application's line says of how a request went.
func TestWhatALineSaysOfASuccess(t *testing.T) {
	for _, c := range []struct {
		name    string
		status  int
		outcome Outcome // as its prober saw it; empty: nobody knows
		well    bool
	}{
		{"answered", 200, "", true},
		{"without a status", 0, "", true},
		{"the client's fault", 499, "", true},
		{"answered badly", 500, "", false},
		{"the prober agrees", 200, OutcomeOK, true},
		{"the prober saw a wrong body", 200, OutcomeBadBody, false},
		{"the prober did not wait for it", 200, OutcomeTimeout, false},
		{"the deliberate answer of a drain", 503, OutcomeDrain503, false},
		{"refused", 429, OutcomeRejected, true},
	} {
		b := newTable()
		b.obs.Handled = []HandledRequest{{Source: "api-1.log", Target: "api-1", Run: "r", At: b.at(100), Status: c.status}}
		if c.outcome != "" {
			b.sent[probeID{"r", 0}] = &ProbeRequest{Run: "r", Sent: b.at(97), Done: b.at(101), Outcome: c.outcome}
		}
		b.readServing()
		l := b.byName["api-1"]
		if len(l.points) != 1 || l.points[0].failed == c.well {
			t.Errorf("%s: %+v, well %v", c.name, l.points, c.well)
		}
		from := 100.0
		if c.outcome != "" {
			from = 96 // four seconds before the answer at most
		}
		if p := l.points[0]; !p.at.Equal(b.at(from)) || !p.by.Equal(b.at(100)) {
			t.Errorf("%s: sent from %s to %s", c.name, b.seconds(p.at), b.seconds(p.by))
		}
	}
}
