// Package virtual makes deploys in virtual time: thousands of random ones in a
// minute, without sockets or processes, each with the observations that a console
// would have and with the truth. It is how verdicts are calibrated.
//
// What belongs here: the simulated world, what its instruments see of it, and the
// comparison of verdicts with the truth. It never looks into the judge.
package virtual

import (
	"math"
	"math/rand/v2"
	"time"

	"gapless/analysis"
)

// World is one random deploy as it truly happened. Times are seconds after Zero.
type World struct {
	Zero     time.Time
	Seconds  float64 // length of the window
	Start    float64 // deploy.started
	Reported float64
	Health   analysis.HealthCheck
	Targets  []target
	Requests []request // every one, by start
	Outages  []outage  // that the deploy did not cause
	random   *rand.Rand
	rate     float64 // user requests a second
}

// target is one node's true way through the deploy.
type target struct {
	name         string
	marked       float64 // NaN: no drain
	stop, ready  float64 // NaN: not restarted
	out, back    float64 // when the balancer stopped and began again to send to it; NaN: never left
	failingSince float64 // when its health checks began to fail
}

// outage is a stretch in which a target answers every request with 500.
type outage struct {
	target   int
	from, to float64
}

// request is one request as it truly went.
type request struct {
	class    analysis.Class
	seq      int
	at, took float64
	target   int // -1: there was none to send it to
	outcome  analysis.Outcome
	byDeploy bool // it failed because a target was restarted, or none was left
}

// NewWorld draws a deploy: 1 to 8 targets, 0.1 to 1,000 user requests a second, a
// restart of each target with or without a drain, and perhaps an outage of 0 to
// 60 s and a background of failures that have nothing to do with it.
func NewWorld(seed uint64) *World {
	random := rand.New(rand.NewPCG(seed, 0x9a91e55))
	w := &World{
		Zero: time.Date(2026, 10, 14, 6, 0, 0, 0, time.UTC), random: random,
		rate: math.Pow(10, -1+4*random.Float64()),
		Health: analysis.HealthCheck{
			Interval: time.Duration(2+random.IntN(9)) * time.Second, Timeout: time.Second,
			Unhealthy: 2 + random.IntN(2), Healthy: 2 + random.IntN(2),
		},
	}
	w.Start = 30 + 60*random.Float64()
	at := w.Start + 10*random.Float64()
	drains := random.IntN(3) > 0
	restarts := random.IntN(10) > 0
	for i := range 1 + random.IntN(8) {
		t := target{name: "api-" + string(rune('1'+i)), marked: math.NaN(), stop: math.NaN(), ready: math.NaN(), out: math.NaN(), back: math.NaN(), failingSince: math.NaN()}
		if restarts {
			at = w.restart(&t, at, drains)
		}
		w.Targets = append(w.Targets, t)
	}
	w.Reported = at + 5*random.Float64()
	w.Seconds = w.Reported + 30 + 30*random.Float64()
	if random.IntN(4) == 0 {
		from := w.Seconds * random.Float64()
		w.Outages = append(w.Outages, outage{random.IntN(len(w.Targets)), from, from + 60*math.Pow(random.Float64(), 3)})
	}
	w.send()
	return w
}

// restart takes a target down and up again from a moment on, and says when the next
// one may follow.
func (w *World) restart(t *target, at float64, drain bool) float64 {
	interval, timeout := w.Health.Interval.Seconds(), w.Health.Timeout.Seconds()
	span := func(n int) float64 {
		return float64(n-1)*interval + (interval+timeout)*w.random.Float64()
	}
	t.failingSince = at
	t.stop = at
	if drain {
		t.marked = at
		t.stop = at + (float64(w.Health.Unhealthy)*interval+timeout)*1.6*w.random.Float64()
	}
	t.ready = t.stop + 60*math.Pow(w.random.Float64(), 2)
	served := t.ready
	if out := t.failingSince + span(w.Health.Unhealthy); out < t.ready {
		t.out = out
		t.back = t.ready + span(w.Health.Healthy)
		served = t.back
	}
	if w.random.IntN(3) == 0 { // an impatient workflow does not wait for the return
		return t.ready + 2*w.random.Float64()
	}
	return served + 5*w.random.Float64()
}

// send draws every request of users and probes and lets it meet the targets.
func (w *World) send() {
	background := 0.0
	if w.random.IntN(3) == 0 {
		background = math.Pow(10, -4+2*w.random.Float64())
	}
	probe, seq, user := 0.2*w.random.Float64(), 0, w.random.ExpFloat64()/w.rate
	for probe < w.Seconds || user < w.Seconds {
		r := request{class: analysis.ClassUser, at: user}
		if probe < user {
			r = request{class: analysis.ClassProbe, at: probe, seq: seq}
			seq++
			probe += 0.2
		} else {
			user += w.random.ExpFloat64() / w.rate
		}
		if r.at >= w.Seconds {
			continue
		}
		w.meet(&r, background)
		w.Requests = append(w.Requests, r)
	}
}

// meet decides where a request goes and how it ends: to one of the targets in
// rotation at random; to any target, when none is (fail-open).
func (w *World) meet(r *request, background float64) {
	r.took = 0.004 + 0.03*w.random.ExpFloat64()
	in := make([]int, 0, 8)
	for i := range w.Targets {
		if t := &w.Targets[i]; !(r.at >= t.out && r.at < t.back) {
			in = append(in, i)
		}
	}
	if len(in) == 0 {
		for i := range w.Targets {
			in = append(in, i)
		}
	}
	r.target = in[w.random.IntN(len(in))]
	t := &w.Targets[r.target]
	r.outcome = analysis.OutcomeOK
	switch {
	case r.at >= t.stop && r.at < t.ready:
		r.outcome, r.byDeploy, r.took = analysis.OutcomeLB5xx, true, 0.001
	case w.random.Float64() < background:
		r.outcome = analysis.OutcomeTarget5xx
	default:
		for _, o := range w.Outages {
			if o.target == r.target && r.at >= o.from && r.at < o.to {
				r.outcome = analysis.OutcomeTarget5xx
			}
		}
	}
}

// Failures counts the true failures of a class that ended after the deploy began,
// and those of them that it caused.
func (w *World) Failures(class analysis.Class) (all, byDeploy int) {
	for _, r := range w.Requests {
		if r.class == class && r.outcome.Failure() && r.at+r.took >= w.Start && r.at+r.took < w.Seconds {
			all++
			if r.byDeploy {
				byDeploy++
			}
		}
	}
	return all, byDeploy
}

func (w *World) time(seconds float64) time.Time {
	return w.Zero.Add(time.Duration(math.Round(seconds*1e6)) * time.Microsecond)
}
