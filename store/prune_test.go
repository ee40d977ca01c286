package store_test

import (
	"fmt"
	"testing"

	"gapless/analysis"
)

func TestPruneKeepsWindows(t *testing.T) {
	db, ctx := open(t)
	day := 86400.0
	// One deploy a hundred days ago; evidence of every kind in its window, far from
	// any window, and recently.
	_, err := db.StartDeploy(ctx, deploy("d1", at(0)))
	must(t, err)
	_, err = db.FinishDeploy(ctx, "d1", at(60), "succeeded", "ci")
	must(t, err)
	for _, from := range []float64{0, 10 * day, 99 * day} {
		_, err := db.AddObject(ctx, "orders-api", batch(fmt.Sprint(from), at(from), cell(at(from), 200, 1, 2, 3), cell(at(from+1), 502)))
		must(t, err)
		must(t, db.AddStates(ctx, "orders-api", run("elbv2", at(from-1), at(from)), []analysis.StateSample{sample("api-1", at(from), "healthy")}))
		p := probe(int(from), at(from))
		must(t, db.AddProbes(ctx, "orders-api", run("store", at(from-1), at(from)), []analysis.ProbeRequest{p}))
		b := appBatch(fmt.Sprint(from))
		b.Before, err = db.Position(ctx, "orders-api", b.Source, b.File)
		must(t, err)
		b.From, b.To, b.At = at(from), at(from), at(from)
		b.Handled[0].At, b.Counts[0].Second = at(from), at(from)
		b.Steps = []analysis.Step{{Kind: analysis.StepAppReady, At: at(from), Source: "app"}}
		b.Signals = []analysis.Signal{signal(analysis.EventWorkBegan, at(from)), signal(analysis.EventJobBegan, at(from))}
		b.Journeys = []analysis.JourneyStep{journeyStep("app", at(from))}
		must(t, db.AddAppBatch(ctx, "orders-api", b))
		must(t, db.AddGauges(ctx, "orders-api", run("metrics", at(from-1), at(from)), []analysis.Gauge{gauge(at(from), 1)}))
	}
	count := func(from float64) string {
		o, err := db.ObservationsBetween(ctx, "orders-api", at(from-300), at(from+600), "")
		must(t, err)
		steps := 0
		for _, s := range o.Steps {
			if s.Source == "app" {
				steps++
			}
		}
		return fmt.Sprint(len(o.Cells), len(o.Requests), len(o.Known), len(o.Objects), len(o.Probes), len(o.Handled), len(o.Counts), len(o.Runs), steps, len(o.Signals), len(o.Journeys), len(o.Gauges))
	}
	all := count(0)
	if all != "2 1 1 1 1 1 1 4 1 2 1 1" {
		t.Fatalf("before pruning: %s", all)
	}
	for range 2 { // again changes nothing
		must(t, db.Prune(ctx, at(50*day)))
		for from, want := range map[float64]string{0: all, 10 * day: "0 0 0 0 0 0 0 0 0 0 0 0", 99 * day: all} {
			if got := count(from); got != want {
				t.Errorf("at day %g: %s left, want %s", from/day, got, want)
			}
		}
	}
	served, err := db.ServedDays(ctx, "orders-api", at(0), at(100*day))
	must(t, err)
	if len(served) != 1 || served[0].Requests != 4 || served[0].Failures != 1 || served[0].Target != "api-1" || !served[0].Day.Equal(at(10*day-6*3600)) {
		t.Errorf("served days %+v, want one of 4 requests, 1 failed", served)
	}
}

// What is read again after it was pruned, and pruned again, is in the record of days
// once; so is an object that is pruned in two parts.
func TestServedDaysCountOnce(t *testing.T) {
	db, ctx := open(t)
	add := func(version, node string, seconds ...float64) {
		t.Helper()
		b := batch("k"+node, at(0))
		for _, s := range seconds {
			c := cell(at(s), 200, 1, 2, 3)
			c.Node = node
			b.Cells = append(b.Cells, c)
		}
		b.Latencies, b.Node, b.Version = nil, node, version
		_, err := db.AddObject(ctx, "orders-api", b)
		must(t, err)
	}
	check := func(what string, want int) {
		t.Helper()
		days, err := db.ServedDays(ctx, "orders-api", at(-86400), at(86400))
		must(t, err)
		sum := 0
		for _, d := range days {
			sum += d.Requests
		}
		if sum != want {
			t.Errorf("%s: %d requests in the record, want %d", what, sum, want)
		}
	}
	add("v1", "10.0.0.1", 0, 200)
	must(t, db.Prune(ctx, at(100)))
	check("half of it", 3)
	add("v2", "10.0.0.1", 0, 200) // another version, while a part of it is there
	must(t, db.Prune(ctx, at(150)))
	check("the same half", 3)
	must(t, db.Prune(ctx, at(1000)))
	check("the other half", 6)
	for range 2 {
		add("v2", "10.0.0.1", 0, 200)
		must(t, db.Prune(ctx, at(1000)))
		check("again", 6)
	}
	add("v1", "10.0.0.2", 0, 210)
	must(t, db.Prune(ctx, at(1000)))
	check("another node", 12)
}
