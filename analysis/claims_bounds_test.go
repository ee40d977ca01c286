package analysis

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// clean lays down evidence of which a claim of no failure is borne out: a log that was
// read, is whole and had users at risk, and likewise a probe.
func (b *table) clean() {
	b.obs.Service.Probes = []Probe{{Name: "store", Class: ClassProbe}, {Name: "health", Class: ClassHealth}}
	for _, source := range []string{"alb", "store", "health"} {
		b.coverage[source] = &Coverage{Source: source}
	}
	b.coverage["alb"].HorizonPassed = new(true)
	b.cell("alb", "api-1", 61, 62, 5)
	b.prober[ClassProbe] = true
	b.phase("baseline", 0, 60)
	b.phase("drain", 60, 300)
	// Without a status, so that it need not be in the log.
	b.obs.Probes = append(b.obs.Probes, ProbeRequest{Source: "store", Probe: "store", Class: ClassProbe, Run: "clean", Sent: b.at(61), Done: b.at(62), Outcome: OutcomeOK})
}

func TestStateOfAClaimOfNoFailure(t *testing.T) {
	const user, probe = ClassUser, ClassProbe
	blind := func(source string, from, to float64, reason string) func(*table) {
		return func(b *table) {
			b.coverage[source].Blind = []Blind{{Time{b.at(from)}, Time{b.at(to)}, reason, ""}}
		}
	}
	fails := func(class Class, cause Cause, start, end float64, n int) func(*table) {
		return func(b *table) {
			f := b.lost("api-1", start, end)
			f.class, f.cause, f.n = class, cause, n
		}
	}
	// surges finds a surge of refusals, of which one lies at a moment.
	surges := func(class Class, route string, of Class, at float64) func(*table) {
		return func(b *table) {
			b.surges = []surge{{class: class, outcome: OutcomeRejected, route: route}}
			if of == probe {
				b.obs.Probes = append(b.obs.Probes, ProbeRequest{Probe: route, Class: of, Sent: b.at(at), Done: b.at(at + 1), Outcome: OutcomeRejected})
				return
			}
			c := b.cell("alb", "api-1", at, at+.5, 1)
			c.Class, c.Outcome = of, OutcomeRejected
		}
	}
	for _, c := range []struct {
		name   string
		class  Class
		caused bool
		bend   func(*table)
		want   string // state, reason and evidence
	}{
		{"clean", user, true, func(*table) {}, "supported no_failure"},
		{"clean for probes", probe, true, func(*table) {}, "supported no_failure"},
		{"a failure of the deploy's", user, true, fails(user, CauseDeploy, 100, 101, 1), "disproved caused_by_deploy requests 101–101 (1)"},
		{"of the version's", user, true, fails(user, CauseVersion, 100, 101, 1), "disproved caused_by_version requests 101–101 (1)"},
		{"background, taken literally", user, false, fails(user, CauseBackground, 100, 101, 1), "disproved failure_in_scope requests 101–101 (1)"},
		{"background", user, true, fails(user, CauseBackground, 100, 101, 1), "supported no_failure requests 101–101 (1)"},
		{"three, with a probe's between and one before the deploy", user, true, func(b *table) {
			fails(user, CauseDeploy, 50, 59, 1)(b)
			fails(user, CauseDeploy, 100, 101, 2)(b)
			fails(probe, CauseDeploy, 100, 102, 1)(b)
			fails(user, CauseDeploy, 103, 104, 1)(b)
		}, "disproved caused_by_deploy requests 101–104 (3)"},
		{"a probe's", probe, true, fails(probe, CauseDeploy, 100, 101, 1), "disproved caused_by_deploy probes 101–101 (1)"},
		{"shared", user, true, fails(user, CauseShared, 100, 101, 1), "inconclusive shared_failure requests 101–101 (1)"},
		{"unexplained", user, true, fails(user, CauseUnexplained, 100, 101, 1), "inconclusive unexplained_failure requests 101–101 (1)"},
		{"no log that counts", user, true, func(b *table) { b.counting = map[string]bool{} }, "untested not_measured"},
		{"records of a probe that is not configured", probe, true, func(b *table) { b.obs.Service.Probes = nil }, "untested not_measured"},
		{"a log of which nothing was read", user, true, func(b *table) { b.obs.Cells = nil }, "untested not_measured"},
		{"a log of which nothing is known", user, true, func(b *table) { delete(b.coverage, "alb") }, "inconclusive not_measured"},
		{"a surge of users", user, true, surges(user, OtherRoute, user, 60), "inconclusive surge"},
		{"to the scope's last second", user, true, surges(user, OtherRoute, user, 299), "inconclusive surge"},
		{"a surge after it", user, true, surges(user, OtherRoute, user, 300), "supported no_failure"},
		{"before it", user, true, surges(user, OtherRoute, user, 59), "supported no_failure"},
		{"on another route", user, true, surges(user, "order", user, 100), "supported no_failure"},
		{"of others in the scope", user, true, surges(user, OtherRoute, ClassTool, 100), "supported no_failure"},
		{"in a log that does not count", user, true, func(b *table) {
			surges(user, OtherRoute, user, 100)(b)
			b.obs.Cells[len(b.obs.Cells)-1].Source = "edge"
		}, "supported no_failure"},
		{"of another ending in the scope", user, true, func(b *table) {
			surges(user, OtherRoute, user, 100)(b)
			b.obs.Cells[len(b.obs.Cells)-1].Outcome = OutcomeClientError
		}, "supported no_failure"},
		{"a surge of probes", user, true, surges(probe, "store", probe, 100), "supported no_failure"},
		{"of probes, for probes", probe, true, surges(probe, "store", probe, 60), "inconclusive surge"},
		{"of probes, after the scope", probe, true, surges(probe, "store", probe, 300), "supported no_failure"},
		{"blind until the deploy began", user, true, blind("alb", 50, 60, blindGap), "supported no_failure"},
		{"blind for a moment of it", user, true, blind("alb", 50, 60.1, blindGap), "inconclusive source_blind"},
		{"blind from the window's end on", user, true, blind("alb", 300, 310, blindGap), "supported no_failure"},
		{"blind at its end", user, true, blind("alb", 299.9, 310, blindGap), "inconclusive source_blind"},
		{"waiting is not blind", user, true, blind("alb", 100, 300, blindHorizon), "supported no_failure"},
		{"a probe that was blind", probe, true, blind("store", 100, 101, blindGap), "inconclusive source_blind"},
		{"the health samples were", probe, true, blind("health", 100, 101, blindGap), "supported no_failure"},
		{"its horizon has not passed", user, true, func(b *table) { b.coverage["alb"].HorizonPassed = new(false) }, "inconclusive horizon_not_passed"},
		{"the window is not over", user, true, func(b *table) { b.seenTo = b.at(299) }, "inconclusive horizon_not_passed"},
		{"nor for probes", probe, true, func(b *table) { b.seenTo = b.at(299) }, "inconclusive horizon_not_passed"},
		{"a known request is missing", user, true, func(b *table) { b.known(3, 2) }, "inconclusive source_incomplete"},
		{"all known are there", user, true, func(b *table) { b.known(3, 3) }, "supported no_failure"},
		{"the load balancer counted more", user, true, func(b *table) {
			b.counted = []countedSum{{log: "alb", known: 100, found: 90}}
		}, "inconclusive source_incomplete"},
		{"lines that were not understood", user, true, func(b *table) {
			b.obs.Objects = []Object{{Source: "alb", SetAside: 1, From: b.at(100), To: b.at(160)}}
		}, "inconclusive source_incomplete"},
		{"blind and incomplete is blind", user, true, func(b *table) {
			blind("alb", 100, 101, blindGap)(b)
			b.known(3, 2)
		}, "inconclusive source_blind"},
		{"not reported", user, true, func(b *table) { b.obs.Deploy.ReportedAt = time.Time{} }, "inconclusive deploy_not_over"},
		{"clocks disagree, and something failed", user, true, func(b *table) { b.doubtful = true; fails(user, CauseBackground, 1, 2, 1)(b) }, "inconclusive clocks_disagree"},
		{"clocks disagree, and a probe failed", user, true, func(b *table) { b.doubtful = true; fails(probe, CauseBackground, 1, 2, 1)(b) }, "supported no_failure"},
		{"nobody at risk", user, true, func(b *table) { b.report.Phases[1].From = Time{b.at(63)} }, "untested nobody_in_risky_phases"},
		{"a probe failed after the window", probe, true, func(b *table) {
			add := func(sent, done float64, outcome Outcome) {
				b.obs.Probes = append(b.obs.Probes, ProbeRequest{Source: "store", Probe: "store", Class: probe, Sent: b.at(sent), Done: b.at(done), Outcome: outcome})
			}
			add(59.9, 301, OutcomeTimeout) // sent before the scope
			add(60, 300, OutcomeTimeout)
			add(299, 302, OutcomeTimeout)
			add(300, 303, OutcomeTimeout) // sent after it
			add(299, 299.9, OutcomeTimeout)
			add(298, 304, OutcomeOK)
			add(298, 304, OutcomeTimeout)
			b.obs.Probes[len(b.obs.Probes)-1].Class = ClassHealth
		}, "inconclusive failure_ended_after_window probes 60–302 (2)"},
		{"users' requests failed after the window", user, true, func(b *table) {
			add := func(start, end float64, outcome Outcome) *Request {
				b.obs.Requests = append(b.obs.Requests, Request{CellKey: CellKey{Source: "alb", Class: user, Outcome: outcome}, Start: b.at(start), End: b.at(end)})
				return &b.obs.Requests[len(b.obs.Requests)-1]
			}
			add(59.9, 301, OutcomeLB5xx) // began before the scope
			add(60, 300, OutcomeLB5xx)
			add(299, 302, OutcomeTarget5xx)
			add(300, 303, OutcomeLB5xx) // began after it
			add(299, 299.9, OutcomeLB5xx)
			add(298, 304, OutcomeOK)
			add(298, 304, OutcomeLB5xx).Class = ClassTool
			add(298, 304, OutcomeLB5xx).Source = "edge" // which does not count
		}, "inconclusive failure_ended_after_window requests 60–302 (2)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newTable()
			b.clean()
			c.bend(b)
			claim := Claim{Scope: Scope{c.class, Time{b.started}, Time{b.to}}}
			b.judgeFailures(&claim, c.caused)
			if got := b.claim(claim); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// claim prints a claim's state, its reason and its evidence.
func (b *table) claim(c Claim) string {
	words := []string{string(c.State), c.Reason}
	for _, e := range c.Evidence {
		words = append(words, e.Kind, b.seconds(e.From.Time)+"–"+b.seconds(e.To.Time))
		if e.Count > 0 {
			words = append(words, fmt.Sprintf("(%d)", e.Count))
		}
	}
	return strings.Join(words, " ")
}

// The deploy's target is drained from 100 and restarts at 110; what is served again by 130
// is back in the phase from 120.
func TestWhetherAnybodyWasThere(t *testing.T) {
	for _, c := range []struct {
		name    string
		at      []float64 // of users
		serving float64   // the target served again; 0: it did not
		want    bool
	}{
		{"before and after", []float64{99.9, 130}, 130, true},
		{"as the drain began", []float64{100}, 130, false},
		{"before it served again", []float64{129.9}, 130, false},
		{"it did not serve again", []float64{139.9}, 0, false},
		{"in the tail", []float64{140}, 0, true},
		{"it served again as it was ready", []float64{120}, 120, true},
	} {
		b := newTable()
		for _, kind := range []struct {
			kind     string
			from, to float64
		}{{"baseline", 0, 60}, {"build", 60, 100}, {"drain", 100, 110}, {"restart", 110, 120}, {"back", 120, 140}, {"tail", 140, 300}} {
			p := b.phase(kind.kind, kind.from, kind.to)
			if p.risky() && c.serving != 0 {
				p.serving = b.at(c.serving)
			}
		}
		for _, at := range c.at {
			b.cell("alb", "api-2", at, at, 1)
		}
		if got := b.nobodyIn(Scope{ClassUser, Time{b.started}, Time{b.to}}); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
		n, risky := b.usersAtRisk()
		if !risky || n == 0 != c.want {
			t.Errorf("%s: %d at risk, %t", c.name, n, risky)
		}
	}
	b := newTable()
	b.phase("build", 60, 300)
	if n, risky := b.usersAtRisk(); n != 0 || risky {
		t.Errorf("%d at risk, %t, where nothing was taken down", n, risky)
	}
}

func TestStateOfAlwaysOneTarget(t *testing.T) {
	for _, c := range []struct {
		name string
		bend func(*table)
		want string
	}{
		{"clean", func(*table) {}, "supported no_failure"},
		{"none for 10 s, beside what lies outside the deploy", func(b *table) {
			b.zero = []TargetGroupSpan{{Span: b.span(10, 60)}, {Span: b.span(50, 61)}, {Span: b.span(100, 110)}}
		}, "disproved zero_targets requests 50–61 requests 100–110"},
		{"none until it began", func(b *table) { b.zero = []TargetGroupSpan{{Span: b.span(10, 60)}} }, "supported no_failure"},
		{"none from the end on", func(b *table) { b.zero = []TargetGroupSpan{{Span: b.span(300, 310)}} }, "supported no_failure"},
		{"perhaps none", func(b *table) { b.maybeZero = []TargetGroupSpan{{Span: b.span(100, 110)}} }, "inconclusive served_unknown"},
		{"perhaps none before it", func(b *table) { b.maybeZero = []TargetGroupSpan{{Span: b.span(10, 60)}} }, "supported no_failure"},
		{"nobody known to have served", func(b *table) { b.life("api-1").points = nil }, "inconclusive served_unknown"},
		{"nor any source", func(b *table) {
			b.life("api-1").points = nil
			b.counting, b.obs.Service.Probes = map[string]bool{}, nil
		}, "untested not_measured"},
		{"no source but what they served", func(b *table) { b.counting, b.obs.Service.Probes = map[string]bool{}, nil }, "supported no_failure"},
		{"the log is blind", func(b *table) {
			b.coverage["alb"].Blind = []Blind{{Time{b.at(100)}, Time{b.at(101)}, blindGap, ""}}
		}, "inconclusive source_blind"},
		{"the log is blind and does not count", func(b *table) {
			b.coverage["alb"].Blind = []Blind{{Time{b.at(100)}, Time{b.at(101)}, blindGap, ""}}
			b.counting = map[string]bool{}
		}, "supported no_failure"},
		{"the probe is blind", func(b *table) {
			b.coverage["store"].Blind = []Blind{{Time{b.at(100)}, Time{b.at(101)}, blindGap, ""}}
		}, "supported no_failure"},
		{"the probe is blind, and no log counts", func(b *table) {
			b.coverage["store"].Blind = []Blind{{Time{b.at(100)}, Time{b.at(101)}, blindGap, ""}}
			b.counting = map[string]bool{}
		}, "inconclusive source_blind"},
		{"not over", func(b *table) { b.obs.Deploy.ReportedAt = time.Time{} }, "inconclusive deploy_not_over"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newTable()
			b.clean()
			b.life("api-1", 1)
			c.bend(b)
			var claim Claim
			b.judgeAlwaysOne(&claim)
			if got := b.claim(claim); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestStateOfEjectedBeforeStop(t *testing.T) {
	stop := func(b *table) *cycle { // api-2 served 100 requests meanwhile: api-1 was out
		b.cell("alb", "api-2", 101, 102, 100)
		c := b.cycle("api-1", 100, 110, 115)
		c.lastServed = b.at(99)
		return c
	}
	checks := func(out ...float64) func(*table) {
		return func(b *table) {
			stop(b)
			l := b.life("api-1")
			l.checked = &checked{source: "checks", nodes: []nodeChecks{{first: b.at(0), last: b.at(299), known: []span{{b.at(0), b.at(299)}}}}}
			for _, s := range out {
				l.checked.changes = append(l.checked.changes, checkedChange{at: b.at(s)})
			}
		}
	}
	for _, c := range []struct {
		name string
		bend func(*table)
		want string
	}{
		{"out", func(b *table) { stop(b) }, "supported no_failure"},
		{"a fault", func(b *table) { stop(b); b.obs.Deploy.Kind = KindFault }, "untested not_applicable"},
		{"no deploy", func(b *table) { stop(b); b.obs.Deploy.ID = "" }, "untested not_applicable"},
		{"no log", func(b *table) { stop(b); b.counting = map[string]bool{} }, "untested not_measured"},
		{"nothing stopped", func(*table) {}, "inconclusive stop_unknown"},
		{"a cycle without a stop", func(b *table) { stop(b).stop = time.Time{} }, "inconclusive stop_unknown"},
		{"one that was ready again without a word of its stop, and one with", func(b *table) {
			stop(b)
			b.cycle("api-2", 0, 200, 0).lastServed = b.at(150)
		}, "inconclusive stop_unknown"},
		{"and one after it that was marked, and not stopped", func(b *table) {
			stop(b)
			b.cycle("api-2", 0, 200, 0).lastServed = b.at(150)
			b.cycle("api-2", 0, 0, 0).marked = b.at(220)
		}, "inconclusive stop_unknown"},
		{"a cycle without a stop, and one with", func(b *table) {
			stop(b)
			b.cycle("api-2", 0, 200, 0)
		}, "supported no_failure"},
		{"the log is blind", func(b *table) {
			stop(b)
			b.coverage["alb"].Blind = []Blind{{Time{b.at(200)}, Time{b.at(201)}, blindGap, ""}}
		}, "inconclusive source_blind"},
		{"too little traffic to tell", func(b *table) {
			stop(b)
			b.obs.Cells = b.obs.Cells[:1]
		}, "inconclusive served_unknown"},
		{"still sent to", func(b *table) {
			stop(b)
			b.cell("alb", "api-1", 101, 102, 3)
			b.cell("alb", "api-1", 109, 109.5, 2).Class = ClassProbe
		}, "disproved stopped_in_rotation requests 100–109.5 (3) requests 100–109.5 (2)"},
		{"at the stop, and as it was ready", func(b *table) {
			stop(b)
			b.cell("alb", "api-1", 100, 101, 3)
			b.cell("alb", "api-1", 110, 111, 3)
		}, "supported no_failure"},
		{"within what the clocks leave open", func(b *table) {
			stop(b)
			b.doubt = time.Second
			b.cell("alb", "api-1", 101, 102, 3)
		}, "supported no_failure"},
		{"not answered by it, failed, another's, by another log", func(b *table) {
			stop(b)
			b.cell("alb", "api-1", 101, 102, 3).TargetStatus = 0
			b.cell("alb", "api-1", 101, 102, 3).Outcome = OutcomeTarget5xx
			b.cell("alb", "api-2", 101, 102, 3)
			b.cell("edge", "api-1", 101, 102, 3)
		}, "supported no_failure"},
		{"out by the checks", checks(95), "supported no_failure"},
		{"in by the checks", checks(), "disproved stopped_in_rotation checks 100–100"},
		{"out just after by the checks, which clocks leave open", checks(101), "supported no_failure"},
		{"in by the checks, sent to as well", func(b *table) { checks()(b); b.cell("alb", "api-1", 101, 102, 3) }, "disproved stopped_in_rotation requests 100–102 (3)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newTable()
			b.clean()
			c.bend(b)
			claim := Claim{}
			b.judgeEjected(&claim)
			if got := b.claim(claim); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestVerdictIsThatOfTheClaims(t *testing.T) {
	for _, c := range []struct{ user, probe, want VerdictState }{
		{Supported, Supported, Supported}, {Inconclusive, Supported, Inconclusive}, {Untested, Inconclusive, Untested},
		{Supported, Disproved, Disproved}, {Disproved, Supported, Disproved}, {Disproved, Disproved, Disproved},
	} {
		b := newTable()
		b.report.Claims = []Claim{{ID: ClaimNoUserFailure, State: Untested}, {ID: ClaimNoUserFailureCaused, State: c.user}, {ID: ClaimNoProbeFailureCaused, State: c.probe}}
		v := b.verdict()
		claim := ClaimNoUserFailureCaused
		if c.user != Disproved && c.probe == Disproved {
			claim = ClaimNoProbeFailureCaused
		}
		if v.State != c.want || v.Claim != claim {
			t.Errorf("users %s, probes %s: %s by %s", c.user, c.probe, v.State, v.Claim)
		}
	}
	b := newTable()
	if got := b.claimState(ClaimNoUserFailure); got != Untested {
		t.Errorf("not judged: %s", got)
	}
}

func TestConditions(t *testing.T) {
	const last = "single-run"
	const nobody = "users-not-measured;" + last
	for _, c := range []struct {
		name string
		lay  func(*table)
		want string
	}{
		{"sealed, nothing measured", func(*table) {}, nobody},
		{"not sealed", func(b *table) { b.report.Window.State = WindowSettling }, "provisional until=330;" + nobody},
		{"objects awaited", func(b *table) {
			b.report.Window.State = WindowSettling
			b.report.Coverage = []Coverage{{Source: "alb", Awaited: []Awaited{{Node: "n1"}, {Node: "n2"}}}, {Source: "edge", Awaited: []Awaited{{}}}, {Source: "store"}}
		}, "provisional awaited=map[alb:[n1,n2],edge:[]] until=330;" + nobody},
		{"noticed", func(b *table) {
			b.obs.Deploy.SeenUntil, b.obs.Deploy.ReportedAt = b.at(200), time.Time{}
		}, "noticed from=60 to=200;" + nobody},
		{"probes only", func(b *table) { b.report.Totals[ClassProbe] = &Total{Requests: 299, Failures: 2} },
			"users-not-measured probe_failures=2 probe_requests=299;one-vantage-point;" + last},
		// 1 − .05^(1/299) is .00997: below 1 %, with 95 %.
		{"no probe failed", func(b *table) { b.report.Totals[ClassProbe] = &Total{Requests: 299} },
			"users-not-measured probe_failures=0 probe_requests=299;failure-rate-bound below=0.00996915 requests=299 traffic=probe;one-vantage-point;" + last},
		{"probes that sent nothing", func(b *table) { b.report.Totals[ClassProbe] = &Total{} },
			"users-not-measured probe_failures=0 probe_requests=0;one-vantage-point;" + last},
		{"new connections, of a probe that is no health sample and does so", func(b *table) {
			b.report.Totals[ClassProbe] = &Total{Requests: 1, Failures: 1}
			b.obs.Service.Probes = []Probe{{Name: "a", Class: ClassProbe, NewConnections: true}, {Name: "b", Class: ClassHealth, NewConnections: true}, {Name: "c", Class: ClassProbe}}
		}, "users-not-measured probe_failures=1 probe_requests=1;new-connections-only probe=a;one-vantage-point;" + last},
		{"health samples from elsewhere, too", func(b *table) {
			b.report.Totals[ClassProbe] = &Total{Requests: 1, Failures: 1}
			b.obs.Service.Probes = []Probe{{Name: "health", Class: ClassHealth}}
			b.obs.Probes = []ProbeRequest{{Probe: "health", Source: "health@seoul", Class: ClassHealth}}
		}, "users-not-measured probe_failures=1 probe_requests=1;one-vantage-point;" + last},
		{"probes from elsewhere, too", func(b *table) {
			b.report.Totals[ClassProbe] = &Total{Requests: 1, Failures: 1}
			b.obs.Service.Probes = []Probe{{Name: "store", Class: ClassProbe}}
			b.obs.Probes = []ProbeRequest{{Probe: "store", Source: "store@seoul", Class: ClassProbe}}
		}, "users-not-measured probe_failures=1 probe_requests=1;" + last},
		{"new connections of a probe that did not run", func(b *table) {
			b.obs.Service.Probes = []Probe{{Name: "a", Class: ClassProbe, NewConnections: true}}
		}, nobody},
		{"unexplained and shared failures", func(b *table) {
			b.lost("", 100, 101).cause = CauseUnexplained
			b.lost("", 100, 101).cause = CauseShared
			b.lost("", 100, 101).cause = CauseShared
			b.lost("", 100, 101).cause = CauseDeploy
		}, "users-not-measured;unexplained-failures count=3 traffic=user;" + last},
		{"of no target any stop is known", func(b *table) { b.life("api-1").cycles = nil }, "stops-unknown targets=[];users-not-measured;" + last},
		{"of no target any stop is known, nor of a deploy", func(b *table) { b.life("api-1").cycles, b.obs.Deploy.ID = nil, "" }, "users-not-measured;" + last},
		{"a target that was ready, and no step tells of its stop", untold, "stops-unknown targets=[api-1];users-not-measured;" + last},
		{"a target that was not at work before it was ready", func(b *table) { untold(b); b.life("api-1").cycles[0].lastServed = time.Time{} }, "users-not-measured;" + last},
		{"a target that is inferred to have been gone", func(b *table) {
			b.life("api-1").cycles[0] = cycle{inferred: inferredFromTraffic, lastServed: b.at(95), firstServed: b.at(115)}
		}, "steps-inferred targets=[api-1];users-not-measured;" + last},
		{"ambiguous joins", func(b *table) {
			b.report.Attribution = []Attribution{{Probe: "store", Sent: 9, Ambiguous: 1}, {Probe: "item", Sent: 9}}
		}, "users-not-measured;ambiguous-joins count=1 probe=store sent=9;" + last},
		{"a failure that ended after the window", func(b *table) {
			b.prober[ClassProbe] = true
			b.obs.Probes = []ProbeRequest{{Class: ClassProbe, Sent: b.at(299), Done: b.at(301), Outcome: OutcomeTimeout}}
		}, "users-not-measured;ended-after-window count=1 traffic=probe;" + last},
		{"blind, and waiting", func(b *table) {
			b.report.Coverage = []Coverage{{Source: "alb", Blind: []Blind{{Time{b.at(290)}, Time{b.at(300)}, blindHorizon, ""}, {Time{b.at(100)}, Time{b.at(102.5)}, blindGap, ""}, {Time{b.at(110)}, Time{b.at(112)}, BlindTargetDown, ""}}}}
		}, "users-not-measured;horizon source=alb;blind-spot from=100 reason=gap seconds=2.5 source=alb to=102.5;" + last},
		{"the worst chance of each probe to miss 400 ms", func(b *table) {
			miss := func(probe, target string, p float64) Detection {
				return Detection{Scope: probe, Phase: "drain", Target: target, Miss: []Miss{{WindowMS: 100, Probability: .99}, {WindowMS: 400, Probability: p}}}
			}
			b.report.Detection = []Detection{miss("store", "api-1", .2), miss("item", "api-1", .1), miss("store", "api-2", .3), miss("store", "api-3", .3), miss("store", "api-4", .25)}
		}, "users-not-measured;miss-chance phase=drain probability=0.3 probe=store target=api-2 window_ms=400;" +
			"miss-chance phase=drain probability=0.1 probe=item target=api-1 window_ms=400;" + last},
		{"the longest outage that each probe could well have missed", func(b *table) {
			longest := func(probe, target string, ms float64) Detection {
				return Detection{Scope: probe, Phase: "drain", Target: target, LongestMissed: &ms}
			}
			b.report.Detection = []Detection{{Scope: "store", Target: "api-9"}, longest("store", "api-1", 200), longest("item", "api-1", 100), longest("store", "api-2", 300), longest("store", "api-3", 300), longest("store", "api-4", 250)}
		}, "users-not-measured;longest-missed phase=drain probe=store target=api-2 window_ms=300;" +
			"longest-missed phase=drain probe=item target=api-1 window_ms=100;" + last},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newTable()
			b.counting = map[string]bool{}
			b.report.Window.State = WindowSealed
			b.report.Totals = map[Class]*Total{}
			b.cut("api-1")
			c.lay(b)
			if got := b.printed(b.conditions()); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func (b *table) printed(conditions []Condition) string {
	var all []string
	for _, c := range conditions {
		words := []string{c.Code}
		for _, k := range sortedKeys(c.Values) {
			words = append(words, k+"="+b.word(c.Values[k]))
		}
		all = append(all, strings.Join(words, " "))
	}
	return strings.Join(all, ";")
}

func TestConditionsOfUsers(t *testing.T) {
	const first, last = "status-codes-only traffic=user;", ";single-run"
	unchecked := "log-unchecked node= source=alb"
	known := func(b *table, known, found int) {
		b.known(known, found)
		b.coverage["alb"] = &Coverage{}
	}
	for _, c := range []struct {
		name string
		lay  func(*table)
		want string
	}{
		{"nothing known of the log", func(*table) {}, first + unchecked + last},
		{"a census", func(b *table) {
			known(b, 3, 3)
			b.report.Claims = []Claim{{ID: ClaimNoUserFailure, State: Supported}}
			b.cell("alb", "api-1", 0, 1, 4)
			b.cell("alb", "api-1", 299, 299, 5)
			b.cell("alb", "api-1", -1, 0, 7)
			b.cell("alb", "api-1", 300, 301, 7)
			b.cell("edge", "api-1", 100, 101, 7)
			b.cell("alb", "api-1", 100, 101, 7).Class = ClassProbe
		}, first + "census requests=9 source=alb" + last},
		{"a census that counts a failure by its end", func(b *table) {
			known(b, 3, 3)
			b.report.Claims = []Claim{{ID: ClaimNoUserFailure, State: Supported}}
			b.cell("alb", "api-1", 10, 11, 4)
			b.cell("alb", "api-1", 10, 11, 7).Outcome = OutcomeLB5xx // of which two ended in the window
			fail := func(source string, class Class, n int) {
				f := b.lost("api-1", 10, 11)
				f.source, f.class, f.n, f.cause = source, class, n, CauseBackground
			}
			fail("alb", ClassUser, 2)
			fail("edge", ClassUser, 16)
			fail("alb", ClassTool, 32)
		}, first + "census requests=6 source=alb" + last},
		{"no census of what was not found clean", func(b *table) { known(b, 3, 3) }, strings.TrimSuffix(first, ";") + last},
		{"no census of a log that nothing checks", func(b *table) {
			b.report.Claims = []Claim{{ID: ClaimNoUserFailure, State: Supported}}
		}, first + unchecked + last},
		{"missing rows", func(b *table) { known(b, 3, 2) }, first + "log-incomplete found=2 known=3 source=alb" + last},
		{"missing rows that may still come", func(b *table) { known(b, 3, 2); b.obs.At = b.at(329) }, strings.TrimSuffix(first, ";") + last},
		{"the load balancer counted more", func(b *table) {
			known(b, 3, 3)
			b.counted = []countedSum{{log: "alb", metric: MetricRequests, known: 100, found: 90}}
		}, first + "log-incomplete found=90 known=100 metric=RequestCount source=alb" + last},
		{"lines that were not understood", func(b *table) {
			known(b, 3, 3)
			b.obs.Objects = []Object{{Source: "alb", SetAside: 2, From: b.at(100), To: b.at(160)}}
		}, first + "lines-not-understood lines=2 source=alb" + last},
		{"a node that no probe met", func(b *table) {
			known(b, 3, 3)
			b.obs.Objects = []Object{{Source: "alb", Node: "n2", Lines: 1}}
		}, first + "log-unchecked node=n2 source=alb" + last},
		{"other traffic failed", func(b *table) {
			known(b, 3, 3)
			b.lost("", 100, 101).class = ClassHealth
			b.lost("", 100, 101).class = ClassTool
			b.lost("", 100, 101).class = ClassTool
			f := b.lost("", 100, 101)
			f.class, f.cause = ClassTool, CauseBackground
		}, first + "other-traffic-failed count=1 traffic=health;other-traffic-failed count=2 traffic=tool" + last},
		{"29 at risk", func(b *table) {
			known(b, 3, 3)
			b.phase("drain", 60, 100)
			b.cell("alb", "api-1", 70, 70.5, 29)
		}, first + "low-traffic requests=29" + last},
		{"30 at risk", func(b *table) {
			known(b, 3, 3)
			b.phase("drain", 60, 100)
			b.cell("alb", "api-1", 70, 70.5, 30)
		}, strings.TrimSuffix(first, ";") + last},
		{"nothing at risk", func(b *table) { known(b, 3, 3); b.phase("tail", 60, 100) }, strings.TrimSuffix(first, ";") + last},
		{"critical routes that nobody asked for while it mattered", func(b *table) {
			known(b, 3, 3)
			b.obs.Service.Routes = []Route{{Name: "order", Critical: true}, {Name: "menu", Critical: true}, {Name: "login", Critical: true}, {Name: "store"}, {Name: "edge", Critical: true}, {Name: "tool", Critical: true}}
			b.phase("baseline", 0, 60)
			b.phase("drain", 60, 100)
			b.phase("tail", 100, 300)
			ask := func(at float64, source, route string, class Class) {
				c := b.cell(source, "api-1", at, at+.5, 1)
				c.Route, c.Class = route, class
			}
			ask(60, "alb", "order", ClassUser)
			b.obs.Cells[0].Count = 30
			ask(59, "alb", "menu", ClassUser)
			ask(100, "alb", "login", ClassUser)
			ask(70, "edge", "edge", ClassUser) // a log that does not count
			ask(70, "alb", "tool", ClassTool)
		}, strings.TrimSuffix(first, ";") + ";critical-route-untried route=menu;critical-route-untried route=login;critical-route-untried route=edge;critical-route-untried route=tool" + last},
		{"a critical route that was asked for in the first phase", func(b *table) {
			known(b, 3, 3)
			b.obs.Service.Routes = []Route{{Name: "order", Critical: true}}
			b.phase("drain", 0, 150)
			b.phase("drain", 150, 300)
			b.cell("alb", "api-1", 61, 62, 30).Route = "order"
			b.cell("alb", "api-1", 200, 201, 1)
		}, strings.TrimSuffix(first, ";") + last},
		{"critical routes where nobody asked for anything", func(b *table) {
			known(b, 3, 3)
			b.obs.Service.Routes = []Route{{Name: "order", Critical: true}}
			b.phase("tail", 0, 300)
		}, strings.TrimSuffix(first, ";") + last},
		{"29 at risk without a deploy", func(b *table) {
			known(b, 3, 3)
			b.obs.Deploy.ID = ""
			b.phase("drain", 60, 100)
			b.cell("alb", "api-1", 70, 70.5, 29)
		}, strings.TrimSuffix(first, ";") + last},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newTable()
			b.report.Window.State = WindowSealed
			b.report.Totals = map[Class]*Total{ClassUser: {}}
			b.cut("api-1")
			c.lay(b)
			if got := b.printed(b.conditions()); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
