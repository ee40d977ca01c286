package analysis

import (
	"fmt"
	"testing"
	"time"
)

// call adds the lines about one call; result empty: none tells its end.
func (s *scene) call(target, key string, sent, took float64, result string) {
	s.signal(target, sent, EventCallSent, "gateway", key)
	if result != "" {
		s.values(s.signal(target, sent+took, EventCallEnded, "gateway", key), "result", result)
	}
}

// callsEvery adds calls of a length at a steady pace in [from, to).
func (s *scene) callsEvery(target string, from, to, every, took float64, result string) {
	for i, at := 0, from; at < to; i, at = i+1, from+float64(i+1)*every {
		s.call(target, fmt.Sprintf("%s-%g-%d", target, from, i), at, took, result)
	}
}

// callCases are about calls to dependencies.
func callCases() []ruleCase {
	return []ruleCase{
		{
			name: "three calls for each payment", fires: "retry-amplification", build: drainedScene,
			bend: func(s *scene) {
				for i := range 30 {
					s.call("api-1", fmt.Sprint("p", i), 10+float64(i), .05, "ok")
					for attempt := range 3 {
						s.call("api-1", fmt.Sprint("q", i), 200+float64(i)+.3*float64(attempt), .2, "timeout")
					}
				}
				s.values(s.signal("api-1", 240, EventCallRefused, "gateway", "q99"), "by", "breaker")
			},
			check: func(t *testing.T, f Finding) {
				if f.Values["dependency"] != "gateway" || f.Values["factor"] != 3.0 || f.Values["factor_before"] != 1.0 || f.Values["sent"] != 90 || f.Evidence[0].Count != 90 {
					t.Errorf("%+v", f)
				}
			},
		},
		{
			name: "two windows of a limiter met", fires: "burst-over-limit", build: drainedScene,
			bend: func(s *scene) {
				s.obs.Service.Dependencies = []Dependency{{Name: "gateway", PerSecond: 20}}
				s.callsEvery("api-1", 200.6, 201, .02, .01, "ok")
				s.callsEvery("api-2", 201, 201.4, .02, .01, "ok")
			},
			check: func(t *testing.T, f Finding) {
				if f.Values["most"] != 40 || f.Values["limit"] != 20 {
					t.Errorf("%+v", f)
				}
			},
		},
		{
			name: "more wait at once than may", fires: "unbounded-wait", build: drainedScene,
			bend: func(s *scene) {
				s.obs.Service.Dependencies = []Dependency{{Name: "gateway", InFlight: 5}}
				s.callsEvery("api-1", 200, 203, .5, 10, "ok")
				s.call("api-1", "before", 190, 5, "ok") // over by then
				s.signal("api-1", 205, EventPoolExhausted, "http", "")
				s.signal("api-2", 205, EventPoolExhausted, "http", "") // another target's
				s.signal("api-1", 230, EventPoolExhausted, "http", "") // long after
			},
			check: func(t *testing.T, f Finding) {
				if !f.From.Equal(time.Date(2026, 10, 14, 6, 28, 20, 0, time.UTC)) || f.To.Sub(f.From.Time) != 12500*time.Millisecond || f.Evidence[len(f.Evidence)-1].Count != 1 {
					t.Errorf("from %s to %s, %+v", f.From, f.To, f.Evidence)
				}
				if f.Values["ground"] != waitOverLimit || f.Values["most"] != 6 || f.Values["limit"] != 5 || *f.Target != "api-1" || f.Values["before"] != 0 {
					t.Errorf("%+v", f)
				}
			},
		},
		{
			name: "every thread waits", fires: "unbounded-wait", build: drainedScene,
			bend: func(s *scene) {
				s.callsEvery("api-1", 200, 210, 1, 30, "timeout")
				s.gauges("api-1", GaugeMaxThreads, 200, 300, 10)
				s.gauges("api-1", GaugeBusyThreads, 209, 210, 10)
			},
			check: func(t *testing.T, f Finding) {
				if f.Values["ground"] != waitThreads || f.Values["busy_threads"] != 10.0 {
					t.Errorf("%+v", f)
				}
			},
		},
		{
			name: "they grow, and nothing ends them", fires: "unbounded-wait", build: drainedScene,
			bend: func(s *scene) {
				s.callsEvery("api-1", 10, 50, 1, .05, "ok")
				s.callsEvery("api-1", 200, 230, .5, 40, "ok")
			},
			check: func(t *testing.T, f Finding) {
				if f.Values["ground"] != waitNothingEnd || f.Values["most"] != 60 || f.Values["before"] != 1 {
					t.Errorf("%+v", f)
				}
			},
		},
		{
			name: "users of another route fail while calls hang", fires: "unrelated-collapse", build: drainedScene,
			bend: func(s *scene) {
				s.hang()
				s.turn(ClassUser, 215, 240, OutcomeLB5xx, 504)
				s.obs.Service.Metrics = []MetricsSource{{Name: "api-1-metrics", Target: "api-1", Every: 5 * time.Second}}
				s.obs.Runs = append(s.obs.Runs, Run{Source: "api-1-metrics", From: s.at(216), To: s.at(221), At: s.at(221), Code: "unreachable", Error: "timeout"})
			},
			check: func(t *testing.T, f Finding) {
				if f.Values["route"] != OtherRoute || f.Values["traffic"] != ClassUser || f.Values["failed"].(int) < 100 || f.Values["scrapes_failed"] != 1 {
					t.Errorf("%+v", f)
				}
			},
		},
	}
}

// Requests collapse when enough of them fail, or when they take long enough: each bound
// alone, from both sides.
func TestCollapse(t *testing.T) {
	of := func(requests, failures int, p95 float64) *tally {
		made := newTally(false)
		made.requests, made.failures = requests, failures
		if p95 > 0 {
			made.exact = []float64{p95}
		}
		return made
	}
	for name, c := range map[string]struct {
		during, apart *tally
		want          bool
	}{
		"a tenth fails":            {of(50, 5, 0), of(100, 0, 50), true},
		"less than a tenth":        {of(51, 5, 0), of(100, 0, 50), false},
		"too few failures":         {of(8, 4, 0), of(100, 0, 50), false},
		"three times as many":      {of(100, 30, 0), of(100, 10, 50), true},
		"not three times as many":  {of(100, 29, 0), of(100, 10, 50), false},
		"three times as slow":      {of(9, 0, 150), of(9, 0, 50), true},
		"not three times as slow":  {of(9, 0, 149.9), of(9, 0, 50), false},
		"not so, though by 0.15 s": {of(9, 0, 250), of(9, 0, 100), false},
		"slower by less than 0.1s": {of(9, 0, 129.9), of(9, 0, 30), false},
		"slower by 0.1 s":          {of(9, 0, 130), of(9, 0, 30), true},
		"nothing ended well":       {of(9, 0, 0), of(9, 0, 30), false},
		"nothing to compare":       {of(9, 0, 500), of(9, 0, 0), false},
		"nobody there":             {of(0, 0, 0), of(9, 0, 50), false},
		"nobody there before":      {of(50, 25, 0), of(0, 0, 0), false},
	} {
		if got := collapse(c.during, c.apart); (got != nil) != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Probes collapse by their own records, those of the time of the hang only.
func TestProbesCollapse(t *testing.T) {
	s := newScene(t)
	drainedScene(s)
	s.prepare()
	s.hang()
	for i := range s.obs.Probes {
		p := &s.obs.Probes[i]
		if !p.Sent.Before(s.at(211)) && p.Sent.Before(s.at(245)) {
			p.Done = p.Sent.Add(800 * time.Millisecond)
		}
	}
	r := Judge(s.obs)
	found := 0
	for _, f := range r.Findings {
		if f.Code == "unrelated-collapse" {
			found++
			if f.Values["route"] != "store" || f.Values["traffic"] != ClassProbe || f.Values["requests"] != 170 || f.Values["p95_ms"] != 800.0 || f.Values["usual_p95_ms"] != 9.0 || f.Values["scrapes_failed"] != 0 {
				t.Errorf("%+v", f.Values)
			}
		}
	}
	if found != 1 {
		t.Errorf("%d findings: %+v", found, ruleOf(r, "unrelated-collapse"))
	}
}

// hang lets calls to the gateway, which the route "pay" makes, hang from 211 to 245 s.
func (s *scene) hang() {
	s.obs.Service.Dependencies = []Dependency{{Name: "gateway", Routes: []string{"pay"}}}
	s.callsEvery("api-1", 10, 50, 1, .05, "ok")
	s.callsEvery("api-1", 210, 215, .1, 30, "ok") // more of them than ever before
}

func (s *scene) gauges(target, metric string, from, to, value float64) {
	for at := from; at < to; at++ {
		s.obs.Gauges = append(s.obs.Gauges, Gauge{Source: target + "-metrics", Target: target, Metric: metric, At: s.at(at), Value: value})
	}
}

func TestCallsThatAreNoFinding(t *testing.T) {
	for _, c := range []struct {
		name, code, state, why string
		bend                   func(*scene)
	}{
		{"one call each", "retry-amplification", RuleClear, "", func(s *scene) { s.callsEvery("api-1", 200, 240, 1, .1, "timeout") }},
		{"few calls", "retry-amplification", RuleClear, "", func(s *scene) {
			for range 3 {
				s.call("api-1", "p", 200, .1, "timeout")
			}
		}},
		{"calls without identifiers", "retry-amplification", RuleNotEvaluable, whyNoKeys, func(s *scene) {
			for range 60 {
				s.call("api-1", "", 200, .1, "timeout")
			}
		}},
		{"as many as may", "burst-over-limit", RuleClear, "", func(s *scene) {
			s.obs.Service.Dependencies = []Dependency{{Name: "gateway", PerSecond: 20}}
			s.callsEvery("api-1", 200, 210, .05, .01, "ok")
		}},
		{"lines a little closer than the calls", "burst-over-limit", RuleClear, "", func(s *scene) {
			s.obs.Service.Dependencies = []Dependency{{Name: "gateway", PerSecond: 20}}
			s.callsEvery("api-1", 200, 200.2, .01, .01, "ok")
			s.callsEvery("api-1", 200.97, 201.17, .01, .01, "ok")
		}},
		{"no limit", "burst-over-limit", RuleNotEvaluable, whyNoLimit, func(s *scene) { s.callsEvery("api-1", 200, 210, .01, .01, "ok") }},
		{"no calls", "burst-over-limit", RuleNotEvaluable, whySignals, func(*scene) {}},
		{"a timeout bounds them", "unbounded-wait", RuleClear, "", func(s *scene) {
			s.callsEvery("api-1", 200, 230, .1, 3, "timeout")
		}},
		{"a bulkhead bounds them", "unbounded-wait", RuleClear, "", func(s *scene) {
			s.callsEvery("api-1", 200, 230, .5, 40, "ok")
			s.values(s.signal("api-1", 231, EventCallRefused, "gateway", "x"), "by", "bulkhead")
		}},
		{"as many as ever", "unbounded-wait", RuleClear, "", func(s *scene) {
			s.callsEvery("api-1", 20, 58, .1, 3, "ok")
			s.callsEvery("api-1", 200, 230, .1, 3, "ok")
		}},
		{"its process died with the calls", "unbounded-wait", RuleClear, "", func(s *scene) {
			s.call("api-1", "y", 70, .1, "ok")
			s.callsEvery("api-1", 80, 100, 2, 0, "")
			s.callsEvery("api-1", 120, 145, 2, 0, "")
			s.call("api-1", "x", 200, .1, "ok")
		}},
		{"ends are not told", "unbounded-wait", RuleNotEvaluable, whySignals, func(s *scene) { s.callsEvery("api-1", 200, 230, .1, 3, "") }},
		{"they may have ended where nobody read", "unbounded-wait", RuleNotEvaluable, whyAppLogBlind, func(s *scene) {
			s.obs.Service.Dependencies = []Dependency{{Name: "gateway", InFlight: 5}}
			s.call("api-1", "x", 195, .1, "ok")
			s.callsEvery("api-1", 200, 203, .1, 0, "")
			s.blind("api-1.log", 203, 205)
		}},
		{"and where their process died later", "unbounded-wait", RuleNotEvaluable, whyAppLogBlind, func(s *scene) {
			s.obs.Service.Dependencies = []Dependency{{Name: "gateway", InFlight: 5}}
			s.call("api-1", "x", 70, .1, "ok")
			s.callsEvery("api-1", 90, 95, .1, 0, "")
			s.blind("api-1.log", 95, 97)
		}},
		{"a refusal may stand where nobody read", "unbounded-wait", RuleNotEvaluable, whyAppLogBlind, func(s *scene) {
			s.callsEvery("api-1", 200, 230, .5, 40, "ok")
			s.blind("api-1.log", 195, 196)
		}},
		{"as many may have waited before", "unbounded-wait", RuleNotEvaluable, whyAppLogBlind, func(s *scene) {
			s.callsEvery("api-1", 200, 230, .5, 40, "ok")
			s.blind("api-1.log", 30, 31)
		}},
		{"calls hang only where nobody read", "unrelated-collapse", RuleNotEvaluable, whyAppLogBlind, func(s *scene) {
			s.obs.Service.Dependencies = []Dependency{{Name: "gateway", Routes: []string{"payment"}}}
			s.call("api-1", "x", 195, .1, "ok")
			s.callsEvery("api-1", 200, 203, .1, 0, "")
			s.blind("api-1.log", 203, 205)
			s.turn(ClassUser, 215, 240, OutcomeLB5xx, 504)
		}},
		{"more may have been sent where nobody read", "retry-amplification", RuleNotEvaluable, whyAppLogBlind, func(s *scene) {
			s.callsEvery("api-1", 200, 230, 1, .1, "ok")
			s.blind("api-2.log", 60, 61)
		}},
		{"blind before the deploy", "retry-amplification", RuleClear, "", func(s *scene) {
			s.callsEvery("api-1", 200, 230, 1, .1, "ok")
			s.blind("api-2.log", 50, 60)
		}},
		{"a burst may stand where nobody read", "burst-over-limit", RuleNotEvaluable, whyAppLogBlind, func(s *scene) {
			s.obs.Service.Dependencies = []Dependency{{Name: "gateway", PerSecond: 20}}
			s.callsEvery("api-1", 200, 210, 1, .1, "ok")
			s.blind("api-2.log", 299, 300)
		}},
		{"nothing else ended them in what was read", "unbounded-wait", RuleNotEvaluable, whyAppLogBlind, func(s *scene) {
			s.callsEvery("api-1", 200, 230, 1, .1, "ok")
			s.blind("api-2.log", 100, 101)
		}},
		{"the route that calls fails", "unrelated-collapse", RuleClear, "", func(s *scene) {
			s.hang()
			s.obs.Service.Dependencies[0].Routes = []string{OtherRoute}
			s.turn(ClassUser, 215, 240, OutcomeLB5xx, 504)
		}},
		{"another route fails at another time", "unrelated-collapse", RuleClear, "", func(s *scene) {
			s.hang()
			s.turn(ClassUser, 252, 270, OutcomeLB5xx, 504)
		}},
		{"nobody says which routes call it", "unrelated-collapse", RuleNotEvaluable, whyNoRoutes, func(s *scene) {
			s.hang()
			s.obs.Service.Dependencies = nil
			s.turn(ClassUser, 215, 240, OutcomeLB5xx, 504)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t)
			drainedScene(s)
			s.prepare()
			c.bend(s)
			if got := ruleOf(Judge(s.obs), c.code); got.State != c.state || got.Why != c.why {
				t.Errorf("%s is %s for %q, want %s for %q", c.code, got.State, got.Why, c.state, c.why)
			}
		})
	}
}

func TestDependenciesAndBreakers(t *testing.T) {
	s := newScene(t)
	drainedScene(s)
	s.prepare()
	s.callsEvery("api-1", 10, 20, 1, .05, "ok")
	s.callsEvery("api-1", 200, 205, 1, 3, "timeout")
	s.call("api-1", "open", 206, 0, "")
	change := func(at float64, from, to string) {
		s.values(s.signal("api-1", at, EventBreakerChanged, "gateway", ""), "from", from, "to", to)
	}
	change(207, "CLOSED", "OPEN")
	for i := range 7 {
		s.values(s.signal("api-1", 208+float64(i), EventCallRefused, "gateway", fmt.Sprint("r", i)), "by", "breaker")
	}
	s.values(s.signal("api-2", 208, EventCallRefused, "gateway", "x"), "by", "breaker") // of another target's breaker
	for i := range 3 {                                                                  // told a second time, by who called
		again := s.signal("api-1", 208+float64(i), EventCallRefused, "gateway", fmt.Sprint("r", i))
		again.Rule = "another"
		s.values(again, "by", "breaker")
	}
	change(217, "OPEN", "HALF_OPEN")
	s.call("api-1", "half", 218, .1, "ok")
	change(218.2, "HALF_OPEN", "CLOSED")
	r := Judge(s.obs)
	if len(r.Dependencies) != 1 {
		t.Fatalf("%+v", r.Dependencies)
	}
	d := r.Dependencies[0]
	if d.Sent != 17 || d.Wanted != 25 || d.Refused["breaker"] != 8 || d.Results["ok"] != 11 || d.Results["timeout"] != 5 || d.Results["none"] != 1 ||
		*d.Amplification != 1 || d.MaxPerSecond != 1 || *d.MaxInFlight != 3 {
		t.Errorf("%+v, in flight %d", d, *d.MaxInFlight)
	}
	got := ""
	for _, span := range r.Breakers {
		got += fmt.Sprintf("%s %g sent %d refused %d; ", span.State, span.Seconds, span.Sent, span.Refused)
	}
	if want := "CLOSED 207 sent 16 refused 0; OPEN 10 sent 0 refused 7; HALF_OPEN 1.2 sent 1 refused 0; CLOSED 81.8 sent 0 refused 0; "; got != want {
		t.Errorf("breaker %s\nwant    %s", got, want)
	}
}

func TestGauges(t *testing.T) {
	s := newScene(t)
	drainedScene(s)
	s.prepare()
	s.obs.Service.Metrics = []MetricsSource{{Name: "api-1-metrics", Target: "api-1", Every: time.Second}}
	s.gauges("api-1", GaugeBusyThreads, 0, 60, 2)
	s.gauges("api-1", GaugeBusyThreads, 60, 100, 9)
	s.gauges("api-1", GaugeBusyThreads, 115, 200, 5)
	s.gauges("api-1", GaugeBusyThreads, 200, 201, 12)
	s.gauges("api-1", GaugeBusyThreads, 201, 260, 5)
	s.gauges("api-1", GaugeBusyThreads, 270, 300, 4)
	r := Judge(s.obs)
	if len(r.Gauges) != 1 {
		t.Fatalf("%+v", r.Gauges)
	}
	g := r.Gauges[0]
	if *g.Before != 2 || *g.Max != 12 || !g.MaxAt.Equal(s.at(200)) || *g.After < 4 || *g.After > 5 {
		t.Errorf("before %v, most %v at %s, after %v", *g.Before, *g.Max, g.MaxAt, *g.After)
	}
	// It could not be asked while it was stopped, which is no gap; at 260 s it could.
	reasons := map[string]float64{}
	for _, c := range r.Coverage {
		if c.Source == "api-1-metrics" {
			for _, blind := range c.Blind {
				reasons[blind.Reason] += seconds(blind.To.Sub(blind.From.Time))
			}
		}
	}
	if len(reasons) != 2 || reasons[BlindTargetDown] != 15 || reasons[blindGap] != 11 {
		t.Errorf("blind %v", reasons)
	}
	spots := 0
	for _, f := range r.Findings {
		if f.Code == "blind-spot" {
			spots++
			if f.Values["seconds"] != 11.0 {
				t.Errorf("%+v", f.Values)
			}
		}
	}
	if spots != 1 {
		t.Errorf("%d blind spots", spots)
	}
	// A scrape that failed does not vouch for anything, though it brought some values.
	s.gauges("api-1", GaugeBusyThreads, 261, 270, 5)
	s.obs.Runs = append(s.obs.Runs, Run{Source: "api-1-metrics", From: s.at(259), To: s.at(269), At: s.at(269), Code: "bad_reply", Error: "cut short"})
	for _, c := range Judge(s.obs).Coverage {
		if c.Source == "api-1-metrics" && (len(c.Blind) != 2 || c.Blind[1].Reason != blindQueryFailed || c.Blind[1].To.Sub(c.Blind[1].From.Time) != 11*time.Second) {
			t.Errorf("with a scrape that failed: %+v", c.Blind)
		}
	}
	// Nothing that is claimed of users rests on it.
	s.claim(r, ClaimNoUserFailureCaused, Supported, ReasonNoFailure)
}

// The report says itself whether calls were multiplied.
func TestAmplifiedIsInTheReport(t *testing.T) {
	for again, want := range map[int]bool{1: false, 3: true} {
		s := newScene(t)
		drainedScene(s)
		s.prepare()
		for i := range 30 {
			for attempt := range again {
				s.call("api-1", fmt.Sprint("q", i), 200+float64(i)+.3*float64(attempt), .2, "timeout")
			}
		}
		if d := Judge(s.obs).Dependencies[0]; d.Amplified != want {
			t.Errorf("%d calls each: %+v", again, d)
		}
	}
}
