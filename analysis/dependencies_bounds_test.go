package analysis

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// asked tells that a target sent a call for an identifier; answered, how one ended.
func (b *table) asked(target, dependency, key string, at float64) {
	b.tell(target, at, EventCallSent, dependency).Key = key
}

func (b *table) answered(target, dependency, key string, at float64, result string) {
	b.tell(target, at, EventCallEnded, dependency, "result", result).Key = key
}

// callTook tells that a target sent a call, and that it was answered after a while.
func (b *table) callTook(target, dependency string, at, took float64) {
	key := fmt.Sprint(target, at)
	b.asked(target, dependency, key, at)
	b.answered(target, dependency, key, at+took, resultOK)
}

func (b *table) refused(rule, target, dependency, key string, at float64, by string) {
	s := b.tell(target, at, EventCallRefused, dependency, "by", by)
	s.Key, s.Rule = key, rule
}

// uses prints how dependencies were used.
func (b *table) uses() string {
	b.countDependencies()
	var all []string
	for _, d := range b.report.Dependencies {
		amplification, inFlight := "-", "-"
		if d.Amplification != nil {
			amplification = b.word(*d.Amplification)
		}
		if d.MaxInFlight != nil {
			inFlight = fmt.Sprint(*d.MaxInFlight)
		}
		all = append(all, fmt.Sprintf("%s wanted=%d sent=%d ×%s refused=%v results=%v a second=%d at=%s waiting=%s",
			d.Dependency, d.Wanted, d.Sent, amplification, d.Refused, d.Results, d.MaxPerSecond, b.seconds(d.MaxAt.Time), inFlight))
	}
	return strings.Join(all, "; ")
}

func TestUseOfDependencies(t *testing.T) {
	for _, c := range []struct {
		name string
		lay  func(*table)
		want string
	}{
		{"nothing told", func(*table) {}, ""},
		{"a call that was answered", func(b *table) { b.callTook("api-1", "gateway", 100, 1) },
			"gateway wanted=1 sent=1 ×1 refused=map[] results=map[ok:1] a second=1 at=100 waiting=1"},
		{"before the window", func(b *table) { b.callTook("api-1", "gateway", -1, 1) }, ""},
		{"one before the window, one in it", func(b *table) { b.callTook("api-1", "gateway", -1, .5); b.callTook("api-1", "gateway", 100, 1) },
			"gateway wanted=1 sent=1 ×1 refused=map[] results=map[ok:1] a second=1 at=100 waiting=1"},
		{"its end is not told, nor that of any", func(b *table) { b.asked("api-1", "gateway", "o", 100) },
			"gateway wanted=1 sent=1 ×1 refused=map[] results=map[none:1] a second=1 at=100 waiting=-"},
		{"its end is not told, that of another is", func(b *table) { b.asked("api-1", "gateway", "o", 100); b.callTook("api-1", "gateway", 200, 1) },
			"gateway wanted=2 sent=2 ×1 refused=map[] results=map[none:1 ok:1] a second=1 at=100 waiting=2"},
		{"its end is not told, only that of one of another target", func(b *table) { b.asked("api-1", "gateway", "o", 100); b.callTook("api-2", "gateway", 200, 1) },
			"gateway wanted=2 sent=2 ×1 refused=map[] results=map[none:1 ok:1] a second=1 at=100 waiting=1"},
		{"its end is not told, only that of one of another dependency", func(b *table) {
			b.asked("api-1", "gateway", "o", 100)
			b.blind("api-1.log", 150, 151)
			b.callTook("api-1", "mail", 200, 1)
		}, "gateway wanted=1 sent=1 ×1 refused=map[] results=map[none:1] a second=1 at=100 waiting=-; " +
			"mail wanted=1 sent=1 ×1 refused=map[] results=map[ok:1] a second=1 at=200 waiting=1"},
		{"refused only", func(b *table) { b.refused("own", "api-1", "gateway", "o", 100, "breaker") },
			"gateway wanted=1 sent=0 ×- refused=map[breaker:1] results=map[] a second=0 at=- waiting=-"},
		{"one refusal, told by two rules as often: the first by name is believed", func(b *table) {
			b.refused("b", "api-1", "gateway", "", 100, "breaker")
			b.refused("a", "api-1", "gateway", "o", 100, "breaker")
		}, "gateway wanted=1 sent=0 ×- refused=map[breaker:1] results=map[] a second=0 at=- waiting=-"},
		{"refusals, told more often by the second by name", func(b *table) {
			b.refused("a", "api-1", "gateway", "o", 100, "breaker")
			b.refused("b", "api-1", "gateway", "", 100, "breaker")
			b.refused("b", "api-1", "gateway", "", 101, "breaker")
		}, "gateway wanted=0 sent=0 ×- refused=map[breaker:2] results=map[] a second=0 at=- waiting=-"},
		{"two seconds with as many: the first is told", func(b *table) {
			for _, at := range []float64{100, 100.5, 200, 200.5} {
				b.callTook("api-1", "gateway", at, .1)
			}
		}, "gateway wanted=4 sent=4 ×1 refused=map[] results=map[ok:4] a second=2 at=100 waiting=1"},
		{"most of one target, not of both", func(b *table) { b.callTook("api-1", "gateway", 100, 10); b.callTook("api-2", "gateway", 101, 1) },
			"gateway wanted=2 sent=2 ×1 refused=map[] results=map[ok:2] a second=1 at=100 waiting=1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newTable()
			b.logs()
			c.lay(b)
			if got := b.uses(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestMostInFlight(t *testing.T) {
	for _, c := range []struct {
		name string
		lay  func(*table)
		want string
	}{
		{"none", func(*table) {}, "0 at -"},
		{"one after the other", func(b *table) { b.callTook("api-1", "gateway", 100, 1); b.callTook("api-1", "gateway", 101, 1) }, "1 at 100"},
		{"the second before the first was answered", func(b *table) { b.callTook("api-1", "gateway", 100, 1); b.callTook("api-1", "gateway", 100.9, 1) }, "2 at 100.9"},
		{"as many twice: the first time", func(b *table) {
			for _, at := range []float64{100, 100.5, 200, 200.5} {
				b.callTook("api-1", "gateway", at, 1)
			}
		}, "2 at 100.5"},
		{"another dependency's", func(b *table) { b.callTook("api-1", "gateway", 100, 1); b.callTook("api-1", "mail", 100.5, 1) }, "1 at 100"},
		{"another target's", func(b *table) { b.callTook("api-1", "gateway", 100, 1); b.callTook("api-2", "gateway", 100.5, 1) }, "1 at 100"},
		{"sent before the stretch, and waiting in it", func(b *table) { b.callTook("api-1", "gateway", 50, 20) }, "1 at 60"},
		{"answered as the stretch begins", func(b *table) { b.callTook("api-1", "gateway", 50, 10); b.callTook("api-1", "gateway", 61, 1) }, "1 at 61"},
		{"answered before the stretch begins", func(b *table) { b.callTook("api-1", "gateway", 50, 9); b.callTook("api-1", "gateway", 61, 1) }, "1 at 61"},
		{"sent as the stretch ends", func(b *table) { b.callTook("api-1", "gateway", 239, 9); b.callTook("api-1", "gateway", 240, 9) }, "1 at 239"},
		{"sent after the stretch", func(b *table) {
			for _, at := range []float64{239, 241, 242} {
				b.callTook("api-1", "gateway", at, 9)
			}
		}, "1 at 239"},
		{"its process was gone when the next was sent", func(b *table) {
			b.callTook("api-1", "gateway", 70, 1)
			b.asked("api-1", "gateway", "o", 90)
			b.stoppings = []stopping{{target: "api-1", killed: b.at(100)}}
			b.callTook("api-1", "gateway", 110, 1)
		}, "1 at 70"},
		{"the other target's process was gone", func(b *table) {
			b.callTook("api-1", "gateway", 70, 1)
			b.asked("api-1", "gateway", "o", 90)
			b.stoppings = []stopping{{target: "api-2", killed: b.at(100)}}
			b.callTook("api-1", "gateway", 110, 1)
		}, "2 at 110"},
		{"nobody saw its process go", func(b *table) {
			b.callTook("api-1", "gateway", 70, 1)
			b.asked("api-1", "gateway", "o", 90)
			b.stoppings = []stopping{{target: "api-1", asked: b.at(100)}}
			b.callTook("api-1", "gateway", 110, 1)
		}, "2 at 110"},
		{"told in a log that nobody vouches for", func(b *table) {
			b.callTook("api-1", "gateway", 70, 1)
			s := b.tell("api-1", 90, EventCallSent, "gateway")
			s.Key, s.Source = "o", "gateway.log"
			b.callTook("api-1", "gateway", 110, 1)
		}, "1 at 70"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newTable()
			b.logs()
			c.lay(b)
			b.countDependencies()
			most, at := b.mostInFlight("gateway", "api-1", b.at(60), b.at(240))
			if got := fmt.Sprintf("%d at %s", most, b.seconds(at)); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// A call hangs once it has waited for a second and ten times the usual time.
func TestHangs(t *testing.T) {
	for _, c := range []struct {
		name string
		lay  func(*table)
		want string
	}{
		{"no call", func(*table) {}, ""},
		{"as long as the limit", func(b *table) { b.callTook("api-1", "gateway", 100, 1) }, ""},
		{"the usual time is not known: a second", func(b *table) {
			b.asked("api-1", "gateway", "o", 100)
			b.answered("api-1", "gateway", "o", 105, resultTimeout)
		}, "101–105"},
		{"ten times a usual time of 0.05 s is less than a second", func(b *table) { b.callTook("api-1", "gateway", 10, .05); b.callTook("api-1", "gateway", 100, 5) }, "101–105"},
		{"ten times a usual time of 0.2 s", func(b *table) { b.callTook("api-1", "gateway", 10, .2); b.callTook("api-1", "gateway", 100, 5) }, "102–105"},
		{"those that were answered before the deploy began are usual", func(b *table) {
			b.callTook("api-1", "gateway", 10, .2)
			b.callTook("api-1", "gateway", 100, 5)
			b.callTook("api-1", "gateway", 110, .1)
			b.callTook("api-1", "gateway", 120, .1)
		}, "102–105"},
		{"one that was answered as it began is not of before", func(b *table) {
			b.callTook("api-1", "gateway", 59.75, .25)
			b.callTook("api-1", "gateway", 100, 5)
			b.callTook("api-1", "gateway", 110, .2)
			b.callTook("api-1", "gateway", 120, .2)
			b.callTook("api-1", "gateway", 130, .2)
		}, "102–105"},
		{"none was answered before: those after are usual", func(b *table) {
			b.callTook("api-1", "gateway", 110, .2)
			b.callTook("api-1", "gateway", 120, .2)
			b.callTook("api-1", "gateway", 130, .2)
			b.callTook("api-1", "gateway", 140, 5)
		}, "142–145"},
		{"how long one took that failed says nothing", func(b *table) {
			b.asked("api-1", "gateway", "o", 10)
			b.answered("api-1", "gateway", "o", 10.01, "failed")
			b.callTook("api-1", "gateway", 20, .2)
			b.callTook("api-1", "gateway", 100, 5)
		}, "102–105"},
		{"how long another dependency takes says nothing", func(b *table) {
			b.callTook("api-1", "mail", 10, .01)
			b.callTook("api-1", "gateway", 20, .2)
			b.callTook("api-1", "gateway", 100, 5)
		}, "102–105"},
		{"another dependency hangs", func(b *table) { b.callTook("api-1", "gateway", 20, .2); b.callTook("api-1", "mail", 100, 5) }, ""},
		{"two at once", func(b *table) {
			b.callTook("api-1", "gateway", 10, .05)
			b.callTook("api-1", "gateway", 100, 5)
			b.callTook("api-2", "gateway", 103, 5)
		}, "101–108"},
		{"two apart", func(b *table) {
			b.callTook("api-1", "gateway", 10, .05)
			b.callTook("api-1", "gateway", 100, 5)
			b.callTook("api-2", "gateway", 105, 5)
		}, "101–105 106–110"},
		{"it began before the window", func(b *table) { b.callTook("api-1", "gateway", 10, .05); b.callTook("api-2", "gateway", -10, 20) }, "0–10"},
		{"it goes on after the window", func(b *table) { b.callTook("api-1", "gateway", 10, .05); b.callTook("api-2", "gateway", 290, 20) }, "291–300"},
		{"it was not answered", func(b *table) { b.callTook("api-1", "gateway", 10, .05); b.asked("api-1", "gateway", "o", 290) }, "291–300"},
		{"its end may stand where nobody read", func(b *table) {
			b.callTook("api-1", "gateway", 10, .05)
			b.asked("api-1", "gateway", "o", 290)
			b.blind("api-1.log", 295, 296)
		}, ""},
		{"sent in the very moment in which its process went", func(b *table) {
			b.callTook("api-1", "gateway", 10, .05)
			b.asked("api-1", "gateway", "o", 100)
			b.stoppings = []stopping{{target: "api-1", killed: b.at(100)}}
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newTable()
			b.logs()
			c.lay(b)
			b.called = b.bench.calls()
			var got []string
			for _, s := range b.hangs("gateway") {
				got = append(got, b.seconds(s.from)+"–"+b.seconds(s.to))
			}
			if got := strings.Join(got, " "); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestUnrelatedCollapseBounds(t *testing.T) {
	// Payments call the gateway, which hangs from 101 to 110 s. Of users who ask for their
	// balance 100 come before, and 10 in that time, of whom 5 fail.
	hang := func(b *table) {
		b.logs()
		b.obs.Service.Dependencies = []Dependency{{Name: "gateway", Routes: []string{"pay"}}}
		b.callTook("api-1", "gateway", 10, .05)
		b.callTook("api-1", "gateway", 100, 10)
	}
	users := func(b *table, at float64, n int, outcome Outcome) *Cell {
		c := b.cell("alb", "api-1", at, at, n)
		c.Route, c.Outcome = "balance", outcome
		return c
	}
	collapsed := func(b *table) {
		hang(b)
		users(b, 20, 100, OutcomeOK)
		users(b, 105, 5, OutcomeOK)
		users(b, 105, 5, OutcomeLB5xx)
	}
	latencies := func(b *table, at float64, took int64) *Latencies {
		l := Latencies{LatencyKey{Second: b.at(at).Unix(), Source: "alb", Class: ClassUser, Route: "balance"}, &Histogram{}}
		l.Took.Add(took)
		b.obs.Latencies = append(b.obs.Latencies, l)
		return &b.obs.Latencies[len(b.obs.Latencies)-1]
	}
	probe := func(b *table, class Class, name string, at, took float64) {
		b.obs.Probes = append(b.obs.Probes, ProbeRequest{Source: name, Probe: name, Class: class, Sent: b.at(at), Done: b.at(at + took), Status: 200, Outcome: OutcomeOK})
	}
	scrape := func(b *table, source string, from, to float64, code string) {
		b.obs.Runs = append(b.obs.Runs, Run{Source: source, From: b.at(from), To: b.at(to), Code: code})
	}
	metrics := func(b *table) {
		collapsed(b)
		b.obs.Service.Metrics = []MetricsSource{{Name: "api-1-metrics"}}
	}
	const fails = "101–110 dependency=gateway failed=5 p95_ms=- requests=10 route=balance scrapes_failed=0 traffic=user usual_failed=0 usual_p95_ms=- usual_requests=100 (10)"
	more := func(usual, during int) string {
		return fmt.Sprintf("101–110 dependency=gateway failed=5 p95_ms=- requests=%d route=balance scrapes_failed=0 traffic=user usual_failed=0 usual_p95_ms=- usual_requests=%d (%[1]d)", during, usual)
	}
	scraped := func(n int) string {
		return fmt.Sprintf("101–110 dependency=gateway failed=5 p95_ms=- requests=10 route=balance scrapes_failed=%d traffic=user usual_failed=0 usual_p95_ms=- usual_requests=100 (%[1]d) (10)", n)
	}
	probed := func(usual string) string {
		return "101–110 dependency=gateway failed=0 p95_ms=800 requests=1 route=store scrapes_failed=0 traffic=probe usual_failed=0 usual_p95_ms=" + usual + " usual_requests=1 (1)"
	}
	cases := []tableCase{
		{"nothing tells of calls", func(*table) {}, whySignals},
		{"nothing tells how calls end", func(b *table) { b.logs(); b.asked("api-1", "gateway", "o", 100) }, whySignals},
		{"nobody says which routes call it", func(b *table) { collapsed(b); b.obs.Service.Dependencies = nil }, whyNoRoutes},
		{"a dependency of which nobody says so, and one that hangs", func(b *table) { collapsed(b); b.callTook("api-1", "a", 100, 10) }, fails},
		{"users of another route fail", collapsed, fails},
		{"users of the route that calls it fail", func(b *table) { collapsed(b); b.obs.Service.Dependencies[0].Routes = []string{"balance"} }, "clear"},
		{"no call hangs", func(b *table) {
			collapsed(b)
			b.obs.Signals = b.obs.Signals[:2]
			b.readSignals()
		}, "clear"},
		{"no call hangs, as far as was read", func(b *table) {
			collapsed(b)
			b.obs.Signals = b.obs.Signals[:2]
			b.readSignals()
			b.blind("api-2.log", 200, 201)
		}, whyAppLogBlind},
		{"calls of a process that told the end of none", func(b *table) {
			collapsed(b)
			b.obs.Signals = b.obs.Signals[:2]
			b.asked("api-2", "gateway", "o", 299)
		}, whyNeverMatched},
		{"such calls after the window", func(b *table) {
			collapsed(b)
			b.obs.Signals = b.obs.Signals[:2]
			b.asked("api-2", "gateway", "o", 300)
		}, "clear"},
		{"in the second in which it begins to hang", func(b *table) { collapsed(b); users(b, 101, 1, OutcomeOK) }, more(100, 11)},
		{"in the second before", func(b *table) { collapsed(b); users(b, 100, 1, OutcomeOK) }, more(101, 10)},
		{"in the second in which it ends", func(b *table) { collapsed(b); users(b, 110, 1, OutcomeOK) }, more(101, 10)},
		{"users before the window", func(b *table) { collapsed(b); users(b, -1, 1, OutcomeOK) }, fails},
		{"users after the window", func(b *table) { collapsed(b); users(b, 300, 1, OutcomeOK) }, fails},
		{"users of a third route", func(b *table) { collapsed(b); users(b, 20, 1, OutcomeOK).Route = "home" }, fails},
		{"users in a log that does not count", func(b *table) { collapsed(b); users(b, 20, 1, OutcomeOK).Source = "edge" }, fails},
		{"others than users", func(b *table) { collapsed(b); users(b, 20, 1, OutcomeOK).Class = ClassTool }, fails},
		{"others than users fail", func(b *table) {
			collapsed(b)
			for i := range b.obs.Cells {
				b.obs.Cells[i].Class = ClassTool
			}
		}, "clear"},
		{"users fail in a log that does not count", func(b *table) {
			collapsed(b)
			for i := range b.obs.Cells {
				b.obs.Cells[i].Source = "edge"
			}
		}, "clear"},
		{"it hangs twice: users between are apart", func(b *table) {
			collapsed(b)
			b.callTook("api-1", "gateway", 120, 5)
			users(b, 115, 1, OutcomeOK)
		}, "101–125 dependency=gateway failed=5 p95_ms=- requests=10 route=balance scrapes_failed=0 traffic=user usual_failed=0 usual_p95_ms=- usual_requests=101 (10)"},
		{"a pool had nothing left", func(b *table) { collapsed(b); b.tell("api-2", 105, EventPoolExhausted, "http") }, fails + " (1)"},
		{"metrics could not be scraped", func(b *table) { metrics(b); scrape(b, "api-1-metrics", 100, 102, "unreachable") }, scraped(1)},
		{"twice", func(b *table) {
			metrics(b)
			scrape(b, "api-1-metrics", 100, 102, "unreachable")
			scrape(b, "api-1-metrics", 105, 107, "unreachable")
		}, scraped(2)},
		{"they could", func(b *table) { metrics(b); scrape(b, "api-1-metrics", 100, 102, "") }, fails},
		{"they could not be scraped before it hung", func(b *table) { metrics(b); scrape(b, "api-1-metrics", 100, 101, "unreachable") }, fails},
		{"something else could not be read", func(b *table) { metrics(b); scrape(b, "alb", 100, 102, "unreachable") }, fails},
		{"users take long", func(b *table) {
			hang(b)
			users(b, 20, 1, OutcomeOK)
			users(b, 105, 1, OutcomeOK)
			latencies(b, 20, 7000)
			latencies(b, 105, 900_000)
			latencies(b, 20, 900_000).Route = "home"
			latencies(b, 20, 900_000).Source = "edge"
			latencies(b, 20, 900_000).Class = ClassTool
			latencies(b, -1, 900_000)
			latencies(b, 300, 900_000)
		}, "slow"},
		{"a probe takes long", func(b *table) {
			hang(b)
			probe(b, ClassProbe, "store", 20, .009)
			probe(b, ClassProbe, "store", 105, .8)
		}, probed("9")},
		{"another probe does not", func(b *table) {
			hang(b)
			probe(b, ClassProbe, "store", 20, .009)
			probe(b, ClassProbe, "store", 105, .8)
			probe(b, ClassProbe, "basket", 20, .009)
			probe(b, ClassProbe, "basket", 105, .009)
		}, probed("9")},
		{"a probe that calls it takes long", func(b *table) { hang(b); probe(b, ClassProbe, "pay", 20, .009); probe(b, ClassProbe, "pay", 105, .8) }, "clear"},
		{"health samples take long", func(b *table) {
			hang(b)
			probe(b, ClassHealth, "health", 20, .009)
			probe(b, ClassHealth, "health", 105, .8)
		}, "clear"},
		{"a probe outside of the window", func(b *table) {
			hang(b)
			probe(b, ClassProbe, "store", -1, .9)
			probe(b, ClassProbe, "store", 20, .009)
			probe(b, ClassProbe, "store", 105, .8)
			probe(b, ClassProbe, "store", 300, .9)
		}, probed("9")},
		{"how long it takes where it fails says nothing", func(b *table) {
			hang(b)
			probe(b, ClassProbe, "store", 20, .009)
			probe(b, ClassProbe, "store", 21, .9)
			b.obs.Probes[1].Outcome = OutcomeLB5xx
			probe(b, ClassProbe, "store", 105, .8)
		}, "101–110 dependency=gateway failed=0 p95_ms=800 requests=1 route=store scrapes_failed=0 traffic=probe usual_failed=1 usual_p95_ms=9 usual_requests=2 (1)"},
	}
	for i := range cases {
		lay := cases[i].lay
		cases[i].lay = func(b *table) { lay(b); b.countDependencies() }
		if cases[i].want == "slow" {
			h, usual := &Histogram{}, &Histogram{}
			h.Add(900_000)
			usual.Add(7000)
			cases[i].want = fmt.Sprintf("101–110 dependency=gateway failed=0 p95_ms=%g requests=1 route=balance scrapes_failed=0 traffic=user usual_failed=0 usual_p95_ms=%g usual_requests=1 (1)",
				float64(h.Quantiles(.95)[0])/1e3, float64(usual.Quantiles(.95)[0])/1e3)
		}
	}
	tryRule(t, unrelatedCollapse, cases)
}

// The lanes of circuit breakers.
func TestBreakerSpans(t *testing.T) {
	change := func(b *table, target string, at float64, from, to string) {
		b.tell(target, at, EventBreakerChanged, "gateway", "from", from, "to", to)
	}
	for _, c := range []struct {
		name string
		lay  func(*table)
		want string
	}{
		{"none changed", func(*table) {}, ""},
		{"one opened", func(b *table) { change(b, "api-1", 100, "CLOSED", "OPEN") }, "gateway api-1 CLOSED 0–100, gateway api-1 OPEN 100–300"},
		{"the line does not say from what", func(b *table) { change(b, "api-1", 100, "", "OPEN") }, "gateway api-1 OPEN 100–300"},
		{"as the window began", func(b *table) { change(b, "api-1", 0, "CLOSED", "OPEN") }, "gateway api-1 OPEN 0–300"},
		{"before the window", func(b *table) { change(b, "api-1", -10, "CLOSED", "OPEN") }, "gateway api-1 OPEN 0–300"},
		{"as the window ended", func(b *table) { change(b, "api-1", 300, "CLOSED", "OPEN") }, ""},
		{"two targets at once", func(b *table) { change(b, "api-2", 100, "", "OPEN"); change(b, "api-1", 100, "", "OPEN") },
			"gateway api-1 OPEN 100–300, gateway api-2 OPEN 100–300"},
		{"one target later", func(b *table) { change(b, "api-2", 100, "", "OPEN"); change(b, "api-1", 101, "", "OPEN") },
			"gateway api-2 OPEN 100–300, gateway api-1 OPEN 101–300"},
		{"two breakers at once", func(b *table) {
			change(b, "api-1", 100, "", "OPEN")
			b.tell("api-2", 100, EventBreakerChanged, "a", "to", "OPEN")
		}, "a api-2 OPEN 100–300, gateway api-1 OPEN 100–300"},
		{"calls were sent and refused", func(b *table) {
			change(b, "api-1", 100, "", "OPEN")
			b.callTook("api-1", "gateway", 110, 1)
			b.callTook("api-1", "gateway", 111, 1)
			b.refused("own", "api-1", "gateway", "o", 112, "breaker")
		}, "gateway api-1 OPEN 100–300 sent 2 refused 1"},
		{"by another target", func(b *table) {
			change(b, "api-1", 100, "", "OPEN")
			b.callTook("api-2", "gateway", 110, 1)
			b.refused("own", "api-2", "gateway", "o", 112, "breaker")
		}, "gateway api-1 OPEN 100–300"},
		{"to another dependency", func(b *table) {
			change(b, "api-1", 100, "", "OPEN")
			b.callTook("api-1", "gateway", 90, 1)
			b.callTook("api-1", "mail", 110, 1)
			b.refused("own", "api-1", "mail", "o", 112, "breaker")
		}, "gateway api-1 OPEN 100–300"},
		{"by something else", func(b *table) {
			change(b, "api-1", 100, "", "OPEN")
			b.refused("own", "api-1", "gateway", "o", 112, "bulkhead")
		}, "gateway api-1 OPEN 100–300"},
		{"to the only dependency, which has another name", func(b *table) {
			change(b, "api-1", 100, "", "OPEN")
			b.callTook("api-1", "payments", 110, 1)
			b.refused("own", "api-1", "payments", "o", 112, "breaker")
		}, "gateway api-1 OPEN 100–300 sent 1 refused 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newTable()
			b.logs()
			c.lay(b)
			b.countDependencies()
			b.followBreakers()
			var got []string
			for _, s := range b.report.Breakers {
				word := fmt.Sprintf("%s %s %s %s–%s", s.Breaker, s.Target, s.State, b.seconds(s.From.Time), b.seconds(s.To.Time))
				if s.Sent+s.Refused > 0 {
					word += fmt.Sprintf(" sent %d refused %d", s.Sent, s.Refused)
				}
				got = append(got, word)
			}
			if got := strings.Join(got, ", "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// While the evidence goes no further than some moment, no breaker is known to be in a
// state after it.
func TestBreakersSoFar(t *testing.T) {
	b := newTable()
	b.seenTo = b.at(200)
	b.tell("api-1", 100, EventBreakerChanged, "gateway", "from", "CLOSED", "to", "OPEN")
	b.followBreakers()
	if last := b.report.Breakers[1]; !last.To.Equal(b.at(200)) || last.Seconds != (100*time.Second).Seconds() {
		t.Errorf("%+v", last)
	}
}
