package analysis

import (
	"testing"
	"time"
)

// A failure of a kind that the window's own baseline does not have, and the service's
// last seven days outside of windows do. 5 minutes after the start have 4,800 users.
func TestBackgroundOfSevenDays(t *testing.T) {
	kind := BackgroundCount{Source: "alb", Class: ClassUser, Outcome: OutcomeLB5xx, Status: 502, Route: OtherRoute}
	all := BackgroundCount{Source: "alb", Class: ClassUser, Count: 6_000_000, Spans: 1000, Typical: 6000, Of: 1000}
	with := func(count, spans, typical int) []BackgroundCount {
		k := kind
		k.Count, k.Spans, k.Typical, k.Of = count, spans, typical, 1000
		return []BackgroundCount{all, k}
	}
	for _, c := range []struct {
		name   string
		days   []BackgroundCount
		at     []float64
		cause  Cause
		reason string
	}{
		{"nothing is known of the days before", nil, []float64{150}, CauseUnexplained, ReasonUnexplained},
		// 168 of 1,000 stretches had one: the chance that 4 minutes meet it is 17 %.
		{"once an hour", with(168, 168, 1), []float64{150}, CauseBackground, ReasonNoFailure},
		// By 168 in six million, 0.13 are due among 4,800: three are p = 0.0003.
		{"once an hour, and now three times", with(168, 168, 1), []float64{150, 190, 230}, CauseUnexplained, ReasonUnexplained},
		// An outage of twenty minutes and nothing else: two stretches of 1,000, p = 0.002.
		{"all at once in an outage", with(5000, 2, 2500), []float64{150}, CauseUnexplained, ReasonUnexplained},
		// Once an hour, and an outage: the outage counts as two stretches like any other.
		{"once an hour and in an outage", with(5168, 170, 1), []float64{150, 190, 230}, CauseUnexplained, ReasonUnexplained},
		{"another log", func() []BackgroundCount {
			days := with(168, 168, 1)
			days[0].Source, days[1].Source = "edge", "edge"
			return days
		}(), []float64{150}, CauseUnexplained, ReasonUnexplained},
		{"another route", func() []BackgroundCount {
			days := with(168, 168, 1)
			days[1].Route = "order"
			return days
		}(), []float64{150}, CauseUnexplained, ReasonUnexplained},
	} {
		s := newScene(t)
		s.stop("api-1", 100, 115, true)
		s.prepare()
		for _, at := range c.at {
			r := Request{Start: s.at(at), End: s.at(at + .005)}
			r.CellKey = CellKey{Second: r.Start.Unix(), Source: "alb", TargetGroup: "api", Target: "api-2", Class: ClassUser, Outcome: OutcomeLB5xx, Route: OtherRoute, Status: 502}
			s.obs.Requests = append(s.obs.Requests, r)
			s.obs.Cells = append(s.obs.Cells, Cell{CellKey: r.CellKey, Count: 1, First: r.Start, Last: r.End})
		}
		s.obs.Background = c.days
		r := Judge(s.obs)
		if causes := r.Totals[ClassUser].Causes; causes[c.cause] != len(c.at) {
			t.Errorf("%s: %v, want %s; tests %+v", c.name, causes, c.cause, r.Baseline)
		}
		state := Inconclusive
		if c.cause == CauseBackground {
			state = Supported
			if b := r.Baseline[0]; b.BackgroundFailures != 168 || b.BackgroundRequests != 6_000_000 || b.BackgroundSpans != 168 || b.BaselineFailures != 0 {
				t.Errorf("%+v", b)
			}
		}
		s.claim(r, ClaimNoUserFailureCaused, state, c.reason)
	}
}

// Ejection takes 10 to 22 s by the settings, so 44 s are recommended; where earlier
// deploys measured 40 s, exactly or at most, half as much again. A lower bound says
// nothing, however long.
func TestRecommendedWaitByHistory(t *testing.T) {
	for _, c := range []struct {
		past []PastEjection
		want float64
	}{
		{nil, 44},
		{[]PastEjection{{Took: 12 * time.Second, Bound: Exact}}, 44},
		{[]PastEjection{{Took: 40 * time.Second, Bound: Exact}, {Took: 30 * time.Second, Bound: Upper}}, 60},
		{[]PastEjection{{Took: 40 * time.Second, Bound: Upper}}, 60},
		{[]PastEjection{{Took: 400 * time.Second, Bound: Lower}}, 44},
	} {
		s := newScene(t)
		s.stop("api-1", 100, 115, true)
		s.obs.Ejections = c.past
		if got := s.judge().Targets[0].RecommendedDrainWait; got == nil || *got != c.want {
			t.Errorf("after %+v: %v, want %v", c.past, got, c.want)
		}
	}
}

// Probes are counted by their own records in the days before as well: what access logs
// have of them is the same requests again, whether the log counts users or not.
func TestBackgroundOfProbesIsTheirOwn(t *testing.T) {
	s := newScene(t)
	s.obs.Service.LoadBalancers[0].AccessLogs = append(s.obs.Service.LoadBalancers[0].AccessLogs, AccessLog{Name: "edge", Kind: "nginx"})
	s.prepare()
	for source, n := range map[string]int{"store": 1000, "alb": 900, "edge": 800} {
		s.obs.Background = append(s.obs.Background, BackgroundCount{Source: source, Class: ClassProbe, Count: n, Spans: 10, Of: 10})
	}
	s.obs.Background = append(s.obs.Background, BackgroundCount{Source: "alb", Class: ClassUser, Count: 70, Spans: 10, Of: 10}, BackgroundCount{Source: "edge", Class: ClassUser, Count: 60, Spans: 10, Of: 10})
	b := newBench(s.obs)
	if got := b.background().requests; got[ClassProbe] != 1000 || got[ClassUser] != 70 {
		t.Errorf("requests %v, want 1,000 of probes and 70 of users", got)
	}
}
