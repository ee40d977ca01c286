package views

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"gapless/analysis"
)

// openWindow is a deploy that began five minutes ago, in a window that may last hours.
func openWindow() (analysis.Observations, analysis.Report, time.Time) {
	start := time.Date(2026, 10, 14, 6, 0, 0, 0, time.UTC)
	now := start.Add(5 * time.Minute)
	target := "api-1"
	obs := analysis.Observations{
		Deploy: analysis.Deploy{ID: "d1", Service: "orders", StartedAt: start}, From: start.Add(-5 * time.Minute), To: start.Add(2 * time.Hour), At: now,
		Service: analysis.Service{Name: "orders", LoadBalancers: []analysis.LoadBalancer{{AccessLogs: []analysis.AccessLog{{Name: "alb", Counts: true}}, TargetGroups: []analysis.TargetGroup{{States: []analysis.StateSource{{Name: "elbv2", Every: time.Hour}}}}}}},
		States:  []analysis.StateSample{{Source: "elbv2", Target: target, At: start, State: analysis.StateHealthy}},
	}
	r := analysis.Report{
		Deploy:   analysis.DeployReport{ID: "d1", Service: "orders", StartedAt: analysis.Time{Time: start}},
		Window:   analysis.WindowReport{From: analysis.Time{Time: obs.From}, To: analysis.Time{Time: obs.To}, State: analysis.WindowOpen},
		Phases:   []analysis.Phase{{Name: "baseline", From: analysis.Time{Time: obs.From}, To: analysis.Time{Time: start}}, {Name: "build", From: analysis.Time{Time: start}, To: analysis.Time{Time: obs.To}}},
		Targets:  []analysis.TargetReport{{Target: target}},
		Steps:    []analysis.StepReport{{Kind: analysis.StepRestartBegan, At: analysis.Time{Time: start.Add(time.Minute)}, Target: &target}},
		Coverage: []analysis.Coverage{{Source: "alb", Blind: []analysis.Blind{{From: analysis.Time{Time: now.Add(-time.Minute)}, To: analysis.Time{Time: obs.To}, Reason: "horizon"}}}},
	}
	return obs, r, now
}

func TestTheTimelineOfAnOpenWindowEndsNow(t *testing.T) {
	obs, r, now := openWindow()
	page := NewDeployPage(obs, r, time.UTC)
	picture := page.Timeline
	if picture.Now == nil || !strings.Contains(picture.Now.Title, "06:05:00") {
		t.Fatalf("no mark of the present: %+v", picture.Now)
	}
	if to := picture.to; !to.After(now) || to.After(now.Add(time.Minute)) {
		t.Errorf("the axis ends at %s", to)
	}
	if want := strconv.FormatInt(picture.to.UnixMilli(), 10); picture.Zoom.To != want {
		t.Errorf("a drag is measured against %s, the axis ends at %s", picture.Zoom.To, want)
	}
	edge := number64(t, picture.Now.X)
	bars := append([]Bar{}, picture.Phases...)
	for _, lane := range picture.Targets[0].Lanes {
		bars = append(append(bars, lane.Bars...), lane.Hidden...)
	}
	for _, lane := range picture.Blind {
		bars = append(bars, lane.Bars...)
	}
	if len(bars) < 7 {
		t.Errorf("%d bars are drawn", len(bars))
	}
	for _, bar := range bars {
		if end := number64(t, bar.X) + number64(t, bar.W); end > edge+0.2 {
			t.Errorf("%s (%s) is painted to %.1f, past now at %.1f", bar.Class, bar.Title, end, edge)
		}
	}
	for _, fact := range page.Facts {
		if fact.Label == "Window" && (fact.To != nil || fact.Text != " – " || fact.Note != "(open)") {
			t.Errorf("the window's fact is %+v", fact)
		}
	}

	obs.At, r.Window.State = obs.To.Add(time.Minute), analysis.WindowSettling
	if over := newTimeline(&obs, &r, time.UTC); over.Now != nil || !over.to.Equal(obs.To) {
		t.Errorf("a window that is over: %+v, to %s", over.Now, over.to)
	}
}

func TestTicksStayInThePicture(t *testing.T) {
	start := time.Date(2026, 10, 14, 6, 0, 0, 0, time.UTC)
	for _, length := range []time.Duration{5 * time.Second, 50 * time.Second, 10 * time.Minute, 3 * time.Hour} {
		picture := Timeline{}
		picture.ticks(newScale(start, start.Add(length), time.UTC))
		last := picture.Ticks[len(picture.Ticks)-1]
		half := float64(len(last.Label)) * axisDigit / 2
		if last.Anchor == "end" {
			half = 0
		}
		if number64(t, last.X)+half > timelineWide {
			t.Errorf("%s: the label %s at %s reaches beyond %d", length, last.Label, last.X, timelineWide)
		}
	}
}

func number64(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestNegativeLengthsAreWorded(t *testing.T) {
	cell := negative(&analysis.Bounded{Value: -0.01, Bound: analysis.Upper}, "served until %s after the stop")
	if cell.Text != "served until 0.01 s after the stop" || !strings.Contains(cell.Title, "upper bound") {
		t.Errorf("%+v", cell)
	}
	if cell := negative(&analysis.Bounded{Value: 2, Bound: analysis.Upper}, "%s"); cell.Text != "≤ 2 s" {
		t.Errorf("%+v", cell)
	}
}

func TestFindingsAreCountedNotRules(t *testing.T) {
	counts, groups := ruleGroups(&analysis.Report{
		Findings: []analysis.Finding{{Code: "restart-before-eject"}, {Code: "restart-before-eject"}},
		Rules: []analysis.RuleState{{Code: "restart-before-eject", State: analysis.RuleFired}, {Code: "fail-open", State: analysis.RuleClear},
			{Code: "state-lag", State: analysis.RuleNotEvaluable, Why: "no_states"}, {Code: "job-stopped", State: analysis.RuleNotEvaluable, Why: "rule_never_matched"},
			{Code: "torn-write", State: analysis.RuleNotEvaluable, Why: "needs_application_signals"}},
	})
	if counts != "2 findings · 1 rule clear · 3 not evaluable" {
		t.Error(counts)
	}
	if last := groups[len(groups)-1]; last.State != "not evaluable" || len(last.Rules) != 3 {
		t.Errorf("%+v", groups)
	}
}

func TestEndedSourcesAndReadings(t *testing.T) {
	now := time.Date(2026, 10, 14, 6, 0, 0, 0, time.UTC)
	source := CollectorStatus{Source: "alb", LastRun: now.Add(-time.Hour), LastSuccess: now.Add(-time.Hour), LastEvidence: now.Add(-time.Hour), Ended: true}
	if view := collectorView(&source, now, time.UTC); view.State != "ended" || view.Lag != Missing {
		t.Errorf("%+v", view)
	}
	source.LastErrorAt = now
	if view := collectorView(&source, now, time.UTC); view.State != "failing" {
		t.Errorf("a source that failed at its end: %+v", view)
	}
	page := NewReadingPage(Reading{ID: "r", Finished: true, Problem: "collect alb: a\ncollect loki: b", Stages: []Stage{{Name: "alb", Done: 1, Total: 2}, {Name: "loki"}}}, time.UTC)
	if len(page.Problems) != 2 || page.Stages[0].Text != "1 of 2 objects" || page.Stages[1].Text != "read" {
		t.Errorf("%+v", page)
	}
}

func TestBlindSecondsCountOnce(t *testing.T) {
	start := time.Date(2026, 10, 14, 6, 0, 0, 0, time.UTC)
	hole := func(from, to int) analysis.Blind {
		return analysis.Blind{From: analysis.Time{Time: start.Add(time.Duration(from) * time.Second)}, To: analysis.Time{Time: start.Add(time.Duration(to) * time.Second)}}
	}
	holes := []analysis.Blind{hole(10, 40), hole(0, 20), hole(15, 18), hole(50, 90)}
	if got := blindSeconds(holes, start, start.Add(time.Minute)); got != 50 {
		t.Errorf("%g s of a minute, want 50", got)
	}
}
