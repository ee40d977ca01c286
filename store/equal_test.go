package store_test

import (
	"fmt"
	"testing"

	"gapless/analysis"
)

// Ten equal lines and ten equal steps are ten, wherever reading stopped between them;
// the last stretch again, or a second look at all of it, adds none.
func TestEqualLinesOverSeveralReads(t *testing.T) {
	for _, reads := range []int{1, 2, 5, 10} {
		db, ctx := open(t)
		var before []byte
		for i := range reads {
			b := analysis.AppBatch{Run: run("app", at(float64(i)), at(float64(i+1))), File: "a.log", Before: before, Position: fmt.Append(nil, "p", i)}
			for range 10 / reads {
				b.Signals = append(b.Signals, signal(analysis.EventCallSent, at(2)))
				b.Journeys = append(b.Journeys, journeyStep("app", at(2)))
			}
			must(t, db.AddAppBatch(ctx, "orders-api", b))
			must(t, db.AddAppBatch(ctx, "orders-api", b)) // it was not known that it was stored
			before = b.Position
		}
		count := func(what string, want int) {
			t.Helper()
			o, err := db.ObservationsBetween(ctx, "orders-api", at(-10), at(10), "")
			must(t, err)
			if len(o.Signals) != want || len(o.Journeys) != want {
				t.Errorf("%d reads, %s: %d signals and %d steps, want %d", reads, what, len(o.Signals), len(o.Journeys), want)
			}
		}
		count("read on", 10)
		again := analysis.AppBatch{Run: run("app", at(20), at(21)), File: "a.log", Before: before, Position: []byte("looked again"), Again: true}
		for range 11 { // one came late
			again.Signals = append(again.Signals, signal(analysis.EventCallSent, at(2)))
			again.Journeys = append(again.Journeys, journeyStep("app", at(2)))
		}
		must(t, db.AddAppBatch(ctx, "orders-api", again))
		count("looked at again", 11)
	}
}

// Equal lines of two files of one log are different ones, unless the file may be a copy.
func TestEqualLinesOfTwoFiles(t *testing.T) {
	db, ctx := open(t)
	for i, again := range []bool{false, false, true} {
		b := analysis.AppBatch{Run: run("app", at(float64(i)), at(float64(i+1))), File: fmt.Sprintf("w-%d.log", i), Position: []byte("end"), Again: again}
		for range 3 {
			b.Signals = append(b.Signals, signal(analysis.EventCallSent, at(2)))
			b.Journeys = append(b.Journeys, journeyStep("app", at(2)))
		}
		must(t, db.AddAppBatch(ctx, "orders-api", b))
	}
	o, err := db.ObservationsBetween(ctx, "orders-api", at(-10), at(10), "")
	must(t, err)
	if len(o.Signals) != 6 || len(o.Journeys) != 6 {
		t.Errorf("%d signals and %d steps, want 6", len(o.Signals), len(o.Journeys))
	}
}
