package store_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"gapless/analysis"
	"gapless/store"
)

// fillSignals stores signals, journeys and gauges in and around the window of
// [fill], whose reach is 60 s for signals, 90 s for journeys and an hour for jobs.
func fillSignals(t *testing.T, db *store.DB) {
	t.Helper()
	ctx := context.Background()
	must(t, db.PutService(ctx, reaching()))
	b := analysis.AppBatch{Run: run("app", at(5), at(6)), File: "other.log", Position: []byte("s1")}
	b.Signals = signalsAround()
	b.Journeys = []analysis.JourneyStep{journeyStep("app", at(3))}
	must(t, db.AddAppBatch(ctx, "orders-api", b))
	must(t, db.AddJourneys(ctx, "orders-api", run("client", at(0), at(5)), "journeys.ndjson", nil, []byte("1"), journeysAround()))
	must(t, db.AddGauges(ctx, "orders-api", run("metrics", at(0), at(5)), []analysis.Gauge{gauge(at(-301), 1), gauge(at(-300), 2.5), gauge(at(659), 3), gauge(at(660), 4)}))
}

func signalsAround() []analysis.Signal {
	return []analysis.Signal{
		signal(analysis.EventJobBegan, at(-300-3601)), // too early
		signal(analysis.EventJobBegan, at(-300-3600)),
		signal(analysis.EventWorkBegan, at(-361)), // too early
		signal(analysis.EventWorkBegan, at(-360)),
		{Source: "app", Rule: "own", At: at(1), Event: "odd \xff", Key: "bytes \xfe", Values: map[string]string{"a\xff": "", "b": "\xfe=\n"}},
		signal(analysis.EventPoolExhausted, at(2)), signal(analysis.EventPoolExhausted, at(2)), // two threads, one millisecond
		signal(analysis.EventWorkBegan, at(719)),
		signal(analysis.EventWorkBegan, at(720)), // too late
	}
}

func journeysAround() []analysis.JourneyStep {
	return []analysis.JourneyStep{
		journeyStep("client", at(-391)), // too early
		journeyStep("client", at(-390)), journeyStep("client", at(-390)),
		journeyStep("client", at(749)),
		journeyStep("client", at(750)), // too late
	}
}

func wantSignals(t *testing.T, o analysis.Observations) {
	t.Helper()
	all := signalsAround()
	equal(t, "signals", o.Signals, append([]analysis.Signal{all[1]}, all[3:8]...))
	equal(t, "journeys", o.Journeys, append([]analysis.JourneyStep{journeyStep("app", at(3))}, journeysAround()[1:4]...))
	equal(t, "gauges", o.Gauges, []analysis.Gauge{gauge(at(-300), 2.5), gauge(at(659), 3)})
}

// What a source says about another source, without a time, or without a number is
// refused, and nothing else of the batch is stored.
func TestSignalsThatAreRefused(t *testing.T) {
	db, ctx := open(t)
	good := signal(analysis.EventWorkBegan, at(0))
	other, timeless := good, good
	other.Source, timeless.At = "other", time.Time{}
	for name, add := range map[string]func() error{
		"signal of another source": func() error {
			return db.AddAppBatch(ctx, "orders-api", analysis.AppBatch{Run: run("app", at(0), at(1)), Signals: []analysis.Signal{good, other}})
		},
		"signal without a time": func() error {
			return db.AddAppBatch(ctx, "orders-api", analysis.AppBatch{Run: run("app", at(0), at(1)), Signals: []analysis.Signal{good, timeless}})
		},
		"journey of another source": func() error {
			return db.AddJourneys(ctx, "orders-api", run("app", at(0), at(1)), "f", nil, []byte("1"), []analysis.JourneyStep{journeyStep("app", at(0)), journeyStep("x", at(0))})
		},
		"journey without a time": func() error {
			return db.AddJourneys(ctx, "orders-api", run("app", at(0), at(1)), "f", nil, []byte("1"), []analysis.JourneyStep{journeyStep("app", time.Time{})})
		},
		"gauge without a number": func() error {
			return db.AddGauges(ctx, "orders-api", run("metrics", at(0), at(1)), []analysis.Gauge{gauge(at(0), 1), gauge(at(1), math.NaN())})
		},
		"gauge without an end": func() error {
			return db.AddGauges(ctx, "orders-api", run("metrics", at(0), at(1)), []analysis.Gauge{gauge(at(1), math.Inf(-1))})
		},
		"gauge without a time": func() error {
			return db.AddGauges(ctx, "orders-api", run("metrics", at(0), at(1)), []analysis.Gauge{gauge(time.Time{}, 1)})
		},
	} {
		if err := add(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	o, err := db.ObservationsBetween(ctx, "orders-api", at(-10), at(10), "")
	must(t, err)
	if len(o.Signals)+len(o.Journeys)+len(o.Gauges)+len(o.Runs) != 0 {
		t.Errorf("stored all the same: %v, %v, %v, %v", o.Signals, o.Journeys, o.Gauges, o.Runs)
	}
}

// Two readers of one file of records do not both move it on.
func TestJourneyRecordsMoveOn(t *testing.T) {
	db, ctx := open(t)
	add := func(before, position string) error {
		var from []byte
		if before != "" {
			from = []byte(before)
		}
		return db.AddJourneys(ctx, "orders-api", run("client", at(0), at(1)), "f", from, []byte(position), []analysis.JourneyStep{journeyStep("client", at(0))})
	}
	must(t, add("", "10"))
	must(t, add("", "10")) // the same again
	must(t, add("10", "20"))
	if err := add("10", "30"); !errors.Is(err, analysis.ErrMoved) {
		t.Errorf("a read that was overtaken: %v", err)
	}
	if position, err := db.Position(ctx, "orders-api", "client", "f"); err != nil || string(position) != "20" {
		t.Errorf("position %q, %v", position, err)
	}
}

// A journey's step after the window is news to the windows in which it may have
// begun, and the same step again is none.
func TestLateJourneyStepTouchesTheWindow(t *testing.T) {
	db, ctx := open(t)
	must(t, db.PutService(ctx, reaching()))
	_, err := db.StartDeploy(ctx, deploy("d1", at(0)))
	must(t, err)
	_, err = db.FinishDeploy(ctx, "d1", at(60), "succeeded", "ci") // its window ends at 660 s
	must(t, err)
	o, err := db.Observations(ctx, "d1")
	must(t, err)
	_, err = db.SaveRevision(ctx, store.Revision{Deploy: "d1", Number: 1, State: analysis.WindowSealed, At: at(5000), Change: o.Change, Report: []byte("{}"), Verdict: analysis.Supported})
	must(t, err)
	news := func(when float64) bool {
		must(t, db.AddJourneys(ctx, "orders-api", run("client", at(6000), at(6000)), "f", nil, nil, []analysis.JourneyStep{journeyStep("client", at(when))}))
		due, err := db.Unsealed(ctx)
		must(t, err)
		return len(due) > 0
	}
	if news(751) {
		t.Error("a step 91 s after the window, of journeys that take 90 s, was news to it")
	}
	if !news(740) {
		t.Error("a step 80 s after the window, of journeys that take 90 s, was none")
	}
	o, err = db.Observations(ctx, "d1")
	must(t, err)
	_, err = db.SaveRevision(ctx, store.Revision{Deploy: "d1", Number: 2, State: analysis.WindowSealed, At: at(5000), Change: o.Change, Report: []byte("{}"), Verdict: analysis.Supported})
	must(t, err)
	if news(740) {
		t.Error("the same step again was news")
	}
}

// Helpers.

func reaching() analysis.Service {
	s := service("orders-api")
	s.Journeys = []analysis.Journey{{Name: "order", Steps: []string{"create", "ack"}, Within: 90 * time.Second, Sources: []string{"client", "app"}}}
	s.Jobs = []analysis.Job{{Name: "invoice", Every: 20 * time.Minute}}
	return s
}

func signal(event analysis.Event, when time.Time) analysis.Signal {
	return analysis.Signal{Source: "app", Rule: "own/rule", Target: "api-1", At: when, Event: event, Name: "n", Key: "k", Outcome: analysis.OutcomeOK,
		Values: map[string]string{"by": "breaker", "ü": "x"}}
}

func journeyStep(source string, when time.Time) analysis.JourneyStep {
	return analysis.JourneyStep{Source: source, Journey: "order", Key: "o-1", Step: "create", At: when, Outcome: analysis.OutcomeOK, Target: "api-1"}
}

func gauge(when time.Time, value float64) analysis.Gauge {
	return analysis.Gauge{Source: "metrics", Target: "api-1", Metric: analysis.GaugeBusyThreads, At: when, Value: value}
}
