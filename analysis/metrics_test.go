package analysis

import (
	"slices"
	"testing"
	"time"
)

// withMetrics gives a scene whose window is five whole minutes (06:25 to 06:30) the
// load balancer's own sums; a negative one is a minute without a point.
func (s *scene) withMetrics(metric string, sums ...float64) {
	s.obs.Service.LoadBalancers[0].AccessLogs[0].Metrics = "alb-cloudwatch"
	for i, sum := range sums {
		if sum >= 0 {
			s.obs.Metrics = append(s.obs.Metrics, MetricSum{Source: "alb-cloudwatch", Metric: metric, At: s.at(60 * float64(i)), Period: time.Minute, Sum: sum})
		}
	}
}

// perMinute counts the rows of the scene's log that chose a target, by the minute in
// which they ended.
func (s *scene) perMinute() []float64 {
	s.prepare()
	sums := make([]float64, 5)
	for _, c := range s.obs.Cells {
		if c.Target != "" {
			sums[int(c.Last.Sub(s.zero).Minutes())] += float64(c.Count)
		}
	}
	return sums
}

func (r Report) wholeMinutes() *Completeness {
	for i := range r.Completeness {
		if r.Completeness[i].Phase == WholeMinutes {
			return &r.Completeness[i]
		}
	}
	return nil
}

func TestLogAgainstTheLoadBalancersOwnCounts(t *testing.T) {
	for _, c := range []struct {
		name         string
		change       func(sums []float64)
		known, found int // differences from what the log has
		gap          bool
		claim        VerdictState
		reason       string
	}{
		{"equal", func([]float64) {}, 0, 0, false, Supported, ReasonNoFailure},
		{"one per cent more is within what monitoring promises", func(s []float64) { s[1] += 78 }, 78, 0, false, Supported, ReasonNoFailure}, // of 7800: 0.99 %
		{"more than that: rows are missing", func(s []float64) { s[1] += 80 }, 80, 0, true, Inconclusive, ReasonIncomplete},
		{"fewer: not the same requests, which makes the log no less whole", func(s []float64) { s[1] -= 80 }, -80, 0, true, Supported, ReasonNoFailure},
		{"a missing point is not a zero: that minute is not compared", func(s []float64) { s[2] = -1 }, -1560, -1560, false, Supported, ReasonNoFailure},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t)
			s.stop("api-1", 100, 110, true)
			s.stop("api-2", 160, 170, true)
			sums := s.perMinute()
			total := 0
			for _, sum := range sums {
				total += int(sum)
			}
			if total != 7800 || sums[2] != 1560 { // 20 + 5 + 1 a second, 300 seconds
				t.Fatalf("the scene has %d rows, %v", total, sums)
			}
			c.change(sums)
			s.withMetrics(MetricRequests, sums...)
			r := s.judge()
			row := r.wholeMinutes()
			if row == nil || row.Known != total+c.known || row.Found != total+c.found || row.Matched != "count" || row.Source != "alb" {
				t.Fatalf("row %+v, want %d known and %d found", row, total+c.known, total+c.found)
			}
			fired := slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Code == "log-incomplete" && f.Values["metric"] == MetricRequests })
			if fired != c.gap {
				t.Errorf("log-incomplete fired: %v", fired)
			}
			if c.gap {
				s.condition(r, "log-incomplete")
			}
			s.claim(r, ClaimNoUserFailureCaused, c.claim, c.reason)
		})
	}
}

// Rows whose requests began in one minute and ended in the next may have been
// counted in either: they alone are no gap.
func TestRowsAstrideOfMinutesAreNoGap(t *testing.T) {
	s := newScene(t)
	s.stop("api-1", 100, 110, true)
	sums := s.perMinute()
	for i := range s.obs.Cells {
		c := &s.obs.Cells[i]
		if c.Second == s.at(119).Unix() && c.Target == "api-2" && c.Class == ClassUser {
			c.Last = s.at(121) // twenty requests that took long
		}
	}
	s.withMetrics(MetricRequests, -1, sums[1], -1, -1, -1)
	r := s.judge()
	row := r.wholeMinutes()
	if row == nil || row.Known-row.Found != 20 {
		t.Fatalf("row %+v", row)
	}
	if slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Values["metric"] != nil }) {
		t.Errorf("a finding of rows that may stand in the next minute: %+v", r.Findings)
	}
}

func TestFailuresAgainstTheLoadBalancersOwnCounts(t *testing.T) {
	s := newScene(t)
	s.stop("api-1", 100, 104, false)
	s.prepare()
	made := 0
	for _, q := range s.obs.Requests {
		if q.Status >= 500 && q.TargetStatus == 0 {
			made++
		}
	}
	if made < 20 {
		t.Fatalf("%d failures", made)
	}
	s.withMetrics(MetricBalancer5xx, -1, float64(made), -1, -1, -1)
	if r := s.judge(); slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Code == "log-incomplete" }) {
		t.Errorf("equal counts: %+v", r.Findings)
	}
	s.obs.Metrics[0].Sum += 5
	r := s.judge()
	i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Code == "log-incomplete" })
	if i < 0 || r.Findings[i].Values["metric"] != MetricBalancer5xx || r.Findings[i].Values["known"] != made+5 || r.Findings[i].Values["found"] != made {
		t.Errorf("findings %+v", r.Findings)
	}
	if row := r.wholeMinutes(); row != nil {
		t.Errorf("failures alone say nothing of how many rows there are: %+v", row)
	}
}

func TestRequestsSentUnhealthyAreFailOpen(t *testing.T) {
	s := newScene(t)
	s.stop("api-1", 100, 110, true)
	s.withMetrics(MetricUnhealthySent, 0, 40, 2, -1, 7)
	r := s.judge()
	var got [][2]any
	for _, f := range r.Findings {
		if f.Code == "fail-open" {
			got = append(got, [2]any{f.From.Sub(s.zero).Seconds(), f.Values["requests"]})
			if f.Values["counted_by"] != "alb-cloudwatch" || f.Severity != SeverityHigh {
				t.Errorf("finding %+v", f)
			}
		}
	}
	if want := [][2]any{{60.0, 42}, {240.0, 7}}; !slices.Equal(got, want) {
		t.Errorf("fail-open %v, want %v", got, want)
	}
	s.obs.States, s.obs.Metrics = nil, s.obs.Metrics[:1] // a zero, and no states
	for _, rule := range s.judge().Rules {
		if rule.Code == "fail-open" && rule.State != RuleNotEvaluable {
			t.Errorf("a zero of one minute clears the window: %+v", rule)
		}
	}
}
