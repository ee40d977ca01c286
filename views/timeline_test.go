package views

import (
	"slices"
	"testing"
	"time"

	"gapless/analysis"
)

// A window that begins and ends within a second must not show a rate that nobody sent.
func TestRateColumnsAreWholeSeconds(t *testing.T) {
	from := time.Date(2026, 10, 14, 6, 0, 0, 600_000_000, time.UTC)
	s := newScale(from, from.Add(4600*time.Millisecond), time.UTC).wholeSeconds()
	obs := analysis.Observations{}
	for second := range int64(5) {
		obs.Cells = append(obs.Cells, analysis.Cell{CellKey: analysis.CellKey{Second: from.Unix() + 1 + second, Target: "a", Class: analysis.ClassUser}, Count: 20})
	}
	if got := rateColumns(s, &obs, analysis.ClassUser)["a"]; !slices.Equal(got, []float64{20, 20, 20, 20, 20}) {
		t.Errorf("got %v", got)
	}
	if x := s.x(s.first); x <= plotLeft {
		t.Errorf("the first column begins at %v, before the second it counts", x)
	}
}

func TestServedLanePartsAtRealGapsOnly(t *testing.T) {
	from := time.Unix(1_760_000_000, 0)
	s := newScale(from, from.Add(30*time.Second), time.UTC)
	obs := analysis.Observations{}
	for i := range 200 { // one request in 150 ms, with a gap of three seconds
		at := from.Add(time.Duration(i) * 150 * time.Millisecond)
		if i >= 100 && i < 120 {
			continue
		}
		obs.Handled = append(obs.Handled, analysis.HandledRequest{Target: "a", At: at, Seq: i})
	}
	if bars := servedBars(s, servedColumns(s, &obs)["a"], make([]bool, s.columns)); len(bars) != 2 {
		t.Errorf("%d bars, want two: %+v", len(bars), bars)
	}
}

// A stop between two requests shows in the lane however short it was.
func TestServedLanePartsAtStops(t *testing.T) {
	from := time.Unix(1_760_000_000, 0)
	s := newScale(from, from.Add(30*time.Second), time.UTC)
	served := make([]bool, s.columns)
	for i := range served {
		served[i] = true
	}
	at := func(seconds float64) analysis.Time {
		return analysis.Time{Time: from.Add(time.Duration(seconds * float64(time.Second)))}
	}
	r := analysis.Report{Targets: []analysis.TargetReport{{Target: "a", LastServedAt: at(10), FirstServedAt: at(10.7)}, {Target: "b", LastServedAt: at(20), FirstServedAt: at(21)}}}
	if bars := servedBars(s, served, silentColumns(s, &r, "a")); len(bars) != 2 {
		t.Errorf("%d bars, want two: %+v", len(bars), bars)
	}
}

func TestPolledStatesEndWhereNobodyPolled(t *testing.T) {
	obs, r := firstReport(t)
	bars := stateBars(newScale(obs.From, obs.To, seoul), &obs, &r.Targets[1])
	var classes []string
	for _, bar := range bars {
		classes = append(classes, bar.Class)
	}
	// In rotation, out, blind for 24 s while out, out, in rotation again.
	if want := []string{"up", "out", "out", "up"}; !slices.Equal(classes, want) {
		t.Errorf("got %v, want %v", classes, want)
	}
}

func TestAppLaneFollowsTheSteps(t *testing.T) {
	obs, r := firstReport(t)
	var classes []string
	for _, bar := range appBars(newScale(obs.From, obs.To, seoul), &r, "api-1") {
		classes = append(classes, bar.Class)
	}
	if want := []string{"app", "drain", "down", "app"}; !slices.Equal(classes, want) {
		t.Errorf("got %v, want %v", classes, want)
	}
}

func TestAppLaneBeginsWhereATargetThatWasStartedIsReady(t *testing.T) {
	from := time.Unix(1_760_000_000, 0)
	ready := from.Add(20 * time.Second)
	green := "green"
	r := analysis.Report{Steps: []analysis.StepReport{
		{Kind: analysis.StepAppReady, Target: &green, At: analysis.Time{Time: ready}},
		{Kind: analysis.StepTargetRegistered, Target: &green, At: analysis.Time{Time: ready.Add(time.Second)}},
	}}
	s := newScale(from, from.Add(40*time.Second), time.UTC)
	bars := appBars(s, &r, green)
	if want := appBar(s, "app", ready, s.seen); len(bars) != 1 || bars[0].X != want.X || bars[0].W != want.W || bars[0].Class != "app" {
		t.Errorf("got %+v, want one bar from readiness on, %+v", bars, want)
	}
}

func TestColumnsAreBounded(t *testing.T) {
	from := time.Unix(1_760_000_000, 0)
	for _, length := range []time.Duration{time.Millisecond, time.Second, 30 * time.Second, time.Hour, 31 * 24 * time.Hour} {
		for _, s := range []scale{newScale(from, from.Add(length), time.UTC), newScale(from.Add(time.Millisecond), from.Add(length+time.Millisecond), time.UTC).wholeSeconds()} {
			if s.columns < 1 || s.columns > maxColumns {
				t.Errorf("%s: %d columns", length, s.columns)
			}
		}
	}
}
