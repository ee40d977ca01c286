package analysis

import "testing"

// waiting lays down calls of a target to the gateway that were all sent at one moment and
// answered at another; ended 0: never.
func (b *table) waiting(target string, n int, sent, ended float64) {
	for range n {
		c := call{dependency: "gateway", target: target, source: target + ".log", sent: b.at(sent)}
		b.tell(target, sent, EventCallSent, "gateway")
		if ended > 0 {
			c.ended, c.result = b.at(ended), resultOK
		}
		b.called = append(b.called, c)
	}
}

// gauge lays down what a target told of itself.
func (b *table) gauge(target, metric string, at, value float64) {
	b.obs.Gauges = append(b.obs.Gauges, Gauge{Source: target + "-metrics", Target: target, Metric: metric, At: b.at(at), Value: value})
}

func TestUnboundedWaitBounds(t *testing.T) {
	// The deploy began at 60, and the window ends at 300. Some call has ended, so that ends
	// are told; calls of api-1 to the gateway wait from 100 to 110.
	use := func(b *table) *DependencyUse {
		b.logs()
		b.tell("api-1", 10, EventCallEnded, "gateway")
		b.report.Dependencies = []DependencyUse{{Dependency: "gateway", Refused: map[string]int{}, Results: map[string]int{}}}
		return &b.report.Dependencies[0]
	}
	limit := func(b *table, inFlight int) {
		b.obs.Service.Dependencies = []Dependency{{Name: "gateway", InFlight: inFlight}}
	}
	lay := func(of ...func(*table)) func(*table) {
		return func(b *table) {
			use(b)
			for _, each := range of {
				each(b)
			}
		}
	}
	calls := func(n int, from, to float64) func(*table) {
		return func(b *table) { b.waiting("api-1", n, from, to) }
	}
	limited := func(n int) func(*table) { return func(b *table) { limit(b, n) } }
	full := func(most, busy float64) func(*table) {
		return func(b *table) {
			b.gauge("api-1", GaugeMaxThreads, 90, most)
			b.gauge("api-1", GaugeBusyThreads, 105, busy)
		}
	}
	said := func(target string, at float64) func(*table) {
		return func(b *table) { b.tell(target, at, EventPoolExhausted, "http") }
	}
	blind := func(source string, from, to float64) func(*table) {
		return func(b *table) { b.blind(source, from, to) }
	}
	const (
		over    = "api-1 100–110 before=0 busy_threads=- dependency=gateway ground=over_limit limit=5 most=6 most_at=100 refused=0 timeouts=0 (6)"
		nothing = "api-1 100–110 before=0 busy_threads=- dependency=gateway ground=no_bound_seen limit=- most=20 most_at=100 refused=0 timeouts=0 (20)"
		threads = "api-1 100–110 before=0 busy_threads=10 dependency=gateway ground=threads_exhausted limit=- most=8 most_at=100 refused=0 timeouts=0 (8) (1)"
	)
	tryRule(t, unboundedWait, []tableCase{
		{"no rule tells of calls", func(*table) {}, whySignals},
		{"ends are not told", func(b *table) { use(b); b.obs.Signals = nil; calls(20, 100, 110)(b) }, whySignals},

		{"as many as may", lay(limited(5), calls(5, 100, 110)), "clear"},
		{"more than may", lay(limited(5), calls(6, 100, 110)), over},
		{"more than may, whatever nobody read", lay(limited(5), calls(6, 100, 110), blind("api-1.log", 200, 201)), over},
		{"more than may, some refused and timed out", func(b *table) {
			d := use(b)
			d.Refused["bulkhead"], d.Refused["limiter"], d.Results[resultTimeout] = 2, 1, 4
			limit(b, 5)
			b.waiting("api-1", 6, 100, 110)
		}, "api-1 100–110 before=0 busy_threads=- dependency=gateway ground=over_limit limit=5 most=6 most_at=100 refused=3 timeouts=4 (6)"},
		{"more than may on two targets together", lay(limited(5), calls(5, 100, 110), func(b *table) { b.waiting("api-2", 5, 100, 110) }), "clear"},
		{"more than may before the deploy", lay(limited(5), calls(6, 40, 60)), "clear"},
		{"more than may until the deploy began", lay(limited(5), calls(6, 40, 61)),
			"api-1 40–61 before=6 busy_threads=- dependency=gateway ground=over_limit limit=5 most=6 most_at=60 refused=0 timeouts=0 (6)"},

		{"twenty, and nothing bounds them", lay(calls(20, 100, 110)), nothing},
		{"nineteen", lay(calls(19, 100, 110)), "clear"},
		{"twenty, within a wide limit", lay(limited(30), calls(20, 100, 110)), "clear"},
		{"twenty, and one was refused", func(b *table) { use(b).Refused["breaker"] = 1; b.waiting("api-1", 20, 100, 110) }, "clear"},
		{"twenty, and one timed out", func(b *table) { use(b).Results[resultTimeout] = 1; b.waiting("api-1", 20, 100, 110) }, "clear"},
		{"twenty, and four before", lay(calls(4, 30, 40), calls(20, 100, 110)),
			"api-1 100–110 before=4 busy_threads=- dependency=gateway ground=no_bound_seen limit=- most=20 most_at=100 refused=0 timeouts=0 (20)"},
		{"twenty, and five before", lay(calls(5, 30, 40), calls(20, 100, 110)), "clear"},

		{"a refusal may stand where nobody read", lay(calls(20, 100, 110), blind("api-1.log", 200, 201)), whyAppLogBlind},
		{"as many may have waited before, where nobody read", lay(calls(20, 100, 110), blind("api-1.log", 30, 31)), whyAppLogBlind},
		{"the other target's log was blind", lay(calls(20, 100, 110), blind("api-2.log", 30, 31)), nothing},
		{"of the first target nobody knows, of the second nothing is wrong", lay(calls(20, 100, 110), blind("api-1.log", 30, 31),
			func(b *table) { b.waiting("api-2", 1, 100, 110) }), whyAppLogBlind},
		{"of the second target nobody knows, of the first nothing is wrong", lay(calls(1, 100, 110), blind("api-2.log", 30, 31),
			func(b *table) { b.waiting("api-2", 20, 100, 110) }), whyAppLogBlind},
		{"nothing is wrong, and nobody read a log since the deploy began", lay(calls(1, 100, 110), blind("api-2.log", 100, 101)), whyAppLogBlind},
		{"nothing is wrong, and nobody read a log before the deploy", lay(calls(1, 100, 110), blind("api-2.log", 30, 31)), "clear"},
		// A sidecar tells of some calls too. Its log, which no target is said to write, was blind.
		{"who told of its calls was blind", lay(calls(20, 100, 110), sidecar("gateway", "api-1"), blind("sidecar.log", 30, 31)), whyAppLogBlind},
		{"who told of another target's calls was blind", lay(calls(20, 100, 110), sidecar("gateway", "api-2"), blind("sidecar.log", 30, 31)), nothing},
		{"who told of its calls to another was blind", lay(calls(20, 100, 110), sidecar("mail", "api-1"), blind("sidecar.log", 30, 31)), nothing},

		{"every thread waits", lay(calls(8, 100, 110), full(10, 10)), threads},
		{"not every busy thread waits for it", lay(calls(7, 100, 110), full(10, 10)), "clear"},
		{"nineteen of twenty threads are as good as all", lay(calls(16, 100, 110), full(20, 19)),
			"api-1 100–110 before=0 busy_threads=19 dependency=gateway ground=threads_exhausted limit=- most=16 most_at=100 refused=0 timeouts=0 (16) (1)"},
		{"a thread is free", lay(calls(16, 100, 110), full(20, 18.9)), "clear"},
		{"the first moment at which they were busy", lay(calls(8, 100, 110), full(10, 10), func(b *table) { b.gauge("api-1", GaugeBusyThreads, 106, 9.9) }), threads},
		{"it has no threads", lay(calls(8, 100, 110), full(0, 0)), "clear"},
		{"it tells of its busy threads only", lay(calls(8, 100, 110), func(b *table) { b.gauge("api-1", GaugeBusyThreads, 105, 10) }), "clear"},
		{"it tells of all its threads only", lay(calls(8, 100, 110), func(b *table) { b.gauge("api-1", GaugeMaxThreads, 105, 10) }), "clear"},
		{"another target's threads were busy", lay(calls(8, 100, 110), func(b *table) {
			b.gauge("api-1", GaugeMaxThreads, 90, 10)
			b.gauge("api-2", GaugeBusyThreads, 105, 10)
		}), "clear"},
		{"another target has fewer threads", lay(calls(8, 100, 110), func(b *table) {
			b.gauge("api-2", GaugeMaxThreads, 90, 10)
			b.gauge("api-1", GaugeBusyThreads, 105, 10)
		}), "clear"},
		{"another target has more threads", lay(calls(8, 100, 110), full(10, 10), func(b *table) { b.gauge("api-2", GaugeMaxThreads, 90, 40) }), threads},
		{"something else than its threads was as many", lay(calls(8, 100, 110), func(b *table) {
			b.gauge("api-1", GaugeMaxThreads, 90, 10)
			b.gauge("api-1", GaugePoolActive, 105, 10)
		}), "clear"},
		{"there was more of something else than of its threads", lay(calls(8, 100, 110), full(10, 10), func(b *table) { b.gauge("api-1", GaugePoolMax, 90, 40) }), threads},
		{"they were busy after the window", lay(calls(8, 100, 110), func(b *table) {
			b.gauge("api-1", GaugeMaxThreads, 90, 10)
			b.gauge("api-1", GaugeBusyThreads, 300, 10)
		}), "clear"},
		{"it had more threads before the window", lay(calls(8, 100, 110), full(10, 10), func(b *table) { b.gauge("api-1", GaugeMaxThreads, -1, 40) }), threads},
		{"over the limit goes before busy threads", lay(limited(5), calls(8, 100, 110), full(10, 10)),
			"api-1 100–110 before=0 busy_threads=10 dependency=gateway ground=over_limit limit=5 most=8 most_at=100 refused=0 timeouts=0 (8) (1)"},

		// The stretch is that of the calls that waited then, from the first sent to the last ended.
		{"from the first sent to the last ended", lay(limited(5), calls(1, 95, 101), calls(5, 100, 110), calls(1, 90, 99)),
			"api-1 95–110 before=0 busy_threads=- dependency=gateway ground=over_limit limit=5 most=6 most_at=100 refused=0 timeouts=0 (6)"},
		{"one ended as the last was sent, one was sent as it ended", lay(limited(5), calls(1, 90, 100), calls(6, 100, 110), calls(1, 110, 120)),
			"api-1 100–110 before=0 busy_threads=- dependency=gateway ground=over_limit limit=5 most=6 most_at=100 refused=0 timeouts=0 (6)"},
		{"one never ended", lay(limited(5), calls(1, 100, 0), calls(5, 100, 110)),
			"api-1 100–300 before=0 busy_threads=- dependency=gateway ground=over_limit limit=5 most=6 most_at=100 refused=0 timeouts=0 (6)"},
		{"from before the window until after it", lay(limited(5), calls(6, -5, 310)),
			"api-1 0–300 before=6 busy_threads=- dependency=gateway ground=over_limit limit=5 most=6 most_at=60 refused=0 timeouts=0"},
		{"another target's and another dependency's wait longer", lay(limited(5), calls(6, 100, 110),
			func(b *table) { b.waiting("api-2", 1, 90, 120) }, sidecar("mail", "api-1")), over},
		{"of one nobody knows its length", lay(limited(5), calls(6, 100, 110), func(b *table) {
			b.called = append(b.called, call{dependency: "gateway", target: "api-1", sent: b.at(90), unseen: true})
		}), over},

		{"its pool had nothing left", lay(limited(5), calls(6, 100, 110), said("api-1", 100), said("api-1", 110)), over + " (2)"},
		{"its pool had nothing left before and after", lay(limited(5), calls(6, 100, 110), said("api-1", 99.9), said("api-1", 110.1)), over},
		{"another target's pool had nothing left", lay(limited(5), calls(6, 100, 110), said("api-2", 105)), over},
		{"nobody says whose calls they are: any pool", lay(limited(5), func(b *table) { b.waiting("", 6, 100, 110) }, said("api-2", 105)),
			"100–110 before=0 busy_threads=- dependency=gateway ground=over_limit limit=5 most=6 most_at=100 refused=0 timeouts=0 (6) (1)"},
	})
}

// sidecar lays down one call that another log tells, of which all is known but for what
// a test leaves out.
func sidecar(dependency, target string) func(*table) {
	return func(b *table) {
		b.coverage["sidecar.log"] = &Coverage{Source: "sidecar.log"}
		b.called = append(b.called, call{dependency: dependency, target: target, source: "sidecar.log", sent: b.at(90), ended: b.at(120), result: resultOK})
	}
}
