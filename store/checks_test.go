package store_test

import (
	"fmt"
	"testing"
	"time"

	"gapless/analysis"
	"gapless/store"
)

func healthCheck(when time.Time, pass bool) analysis.HealthCheckResult {
	c := analysis.HealthCheckResult{Source: "checks", Node: "10.0.0.1", TargetGroup: "api", Target: "api-1", At: when, Latency: 2 * time.Millisecond, Pass: pass, Status: 200}
	if !pass {
		c.Status, c.Reason = 0, "TimedOut"
	}
	return c
}

func checksObject(key string, checks ...analysis.HealthCheckResult) analysis.ObjectBatch {
	return analysis.ObjectBatch{Object: analysis.Object{Source: "checks", Node: "10.0.0.1", Key: key, From: at(0), To: at(300),
		Lines: 9, Understood: 8, SetAside: 1, Requestless: 1, Unmatched: 2, Arrived: at(330)}, Checks: checks}
}

func TestHealthChecksReachBeforeTheWindow(t *testing.T) {
	db, ctx := open(t)
	reach := analysis.CheckReach.Seconds()
	inside := []analysis.HealthCheckResult{healthCheck(at(100-reach), true), healthCheck(at(100), false), healthCheck(at(199.5), true)}
	outside := []analysis.HealthCheckResult{healthCheck(at(100-reach-1), true), healthCheck(at(200), true)}
	for _, key := range []string{"first", "the same, delivered again"} {
		stored, err := db.AddObject(ctx, "orders-api", checksObject(key, append(outside, inside...)...))
		if err != nil || !stored {
			t.Fatal(stored, err)
		}
	}
	o, err := db.ObservationsBetween(ctx, "orders-api", at(100), at(200), "")
	must(t, err)
	equal(t, "checks", o.Checks, inside)
	equal(t, "objects", o.Objects, []analysis.Object{checksObject("first").Object, checksObject("the same, delivered again").Object})
}

// A check before a window may change what is said of it, so it makes a sealed one due.
func TestHealthChecksBeforeAWindowMakeItDue(t *testing.T) {
	db, ctx := open(t)
	_, err := db.StartDeploy(ctx, deploy("d1", at(1000)))
	must(t, err)
	_, err = db.FinishDeploy(ctx, "d1", at(1060), "succeeded", "ci")
	must(t, err)
	_, err = db.SaveRevision(ctx, revisionOf("d1"))
	must(t, err)
	b := checksObject("before", healthCheck(at(650), false)) // the window begins at 700
	_, err = db.AddObject(ctx, "orders-api", b)
	must(t, err)
	due, err := db.Unsealed(ctx)
	must(t, err)
	if len(due) != 1 {
		t.Errorf("%d deploys are due, want the one", len(due))
	}
}

func revisionOf(id string) (r store.Revision) {
	r.Deploy, r.State, r.At, r.Report, r.Verdict = id, analysis.WindowSealed, at(5000), []byte("{}"), analysis.Supported
	return r
}

func TestMetricsThatSettleLaterAreReplaced(t *testing.T) {
	db, ctx := open(t)
	sum := func(minute float64, value float64) analysis.MetricSum {
		return analysis.MetricSum{Source: "cw", Metric: "RequestCount", At: at(60 * minute), Period: time.Minute, Sum: value}
	}
	must(t, db.AddMetrics(ctx, "orders-api", run("cw", at(0), at(180)), []analysis.MetricSum{sum(0, 10), sum(1, 20), sum(3, 1)}))
	later := run("cw", at(0), at(240))
	later.At = later.At.Add(time.Minute)
	must(t, db.AddMetrics(ctx, "orders-api", later, []analysis.MetricSum{sum(0, 10), sum(1, 21.5)}))
	o, err := db.ObservationsBetween(ctx, "orders-api", at(30), at(180), "")
	must(t, err)
	equal(t, "metrics", o.Metrics, []analysis.MetricSum{sum(0, 10), sum(1, 21.5)}) // the minute that holds its start too
}

func TestPruneTakesChecksAndMetrics(t *testing.T) {
	db, ctx := open(t)
	day := 86400.0
	for _, from := range []float64{0, 99 * day} {
		b := checksObject(fmt.Sprint(from), healthCheck(at(from), true))
		b.From, b.To = at(from), at(from+300)
		_, err := db.AddObject(ctx, "orders-api", b)
		must(t, err)
		must(t, db.AddMetrics(ctx, "orders-api", run("cw", at(from), at(from+60)), []analysis.MetricSum{{Source: "cw", Metric: "RequestCount", At: at(from), Period: time.Minute, Sum: 1}}))
	}
	must(t, db.Prune(ctx, at(50*day)))
	for from, want := range map[float64]string{0: "0 0", 99 * day: "1 1"} {
		o, err := db.ObservationsBetween(ctx, "orders-api", at(from), at(from+60), "")
		must(t, err)
		if got := fmt.Sprint(len(o.Checks), len(o.Metrics)); got != want {
			t.Errorf("day %g: %s checks and metrics left, want %s", from/day, got, want)
		}
	}
}
