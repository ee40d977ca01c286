package store_test

import (
	"encoding/json"
	"testing"
	"time"

	"gapless/analysis"
	"gapless/store"
)

// The window of d1 is [−300, 660). What the seven days before it had is counted in
// whole stretches of ten minutes that no window meets, however often and in whatever
// pieces it was stored.
func TestBackground(t *testing.T) {
	db, ctx := open(t)
	_, err := db.StartDeploy(ctx, deploy("d1", at(0)))
	must(t, err)
	_, err = db.FinishDeploy(ctx, "d1", at(60), "succeeded", "ci")
	must(t, err)
	// Another deploy a day before: the window is [−86700, −85740).
	_, err = db.StartDeploy(ctx, deploy("d0", at(-86400)))
	must(t, err)
	_, err = db.FinishDeploy(ctx, "d0", at(-86340), "succeeded", "ci")
	must(t, err)
	stretch := func(n float64) float64 { // a moment 100 s into the n-th stretch before d1's window
		first := float64((start.Unix()-300)/600*600-start.Unix()) - 600*n
		return first + 100
	}
	add := func(key string, from float64, cells ...analysis.Cell) {
		t.Helper()
		_, err := db.AddObject(ctx, "orders-api", batch(key, at(from), cells...))
		must(t, err)
	}
	fill := func() {
		add("inside", 0, cell(at(0), 200, 1), cell(at(1), 502))
		add("inside d0", -86400, cell(at(-86400), 502))
		add("one", stretch(1), cell(at(stretch(1)), 200, 1, 2), cell(at(stretch(1)+1), 502))
		add("two", stretch(2), cell(at(stretch(2)), 200, 1), cell(at(stretch(2)+1), 502), cell(at(stretch(2)+2), 502))
		add("three", stretch(3), cell(at(stretch(3)), 200, 1))
		add("too old", stretch(7*144+2), cell(at(stretch(7*144+2)), 502))
		lost := probe(7, at(stretch(1)))
		lost.Outcome, lost.Status = analysis.OutcomeTimeout, 0
		must(t, db.AddProbes(ctx, "orders-api", run("store", at(stretch(1)), at(stretch(1)+1)), []analysis.ProbeRequest{lost, probe(8, at(stretch(1)+1))}))
		// One of them is known, one is new.
		must(t, db.AddProbes(ctx, "orders-api", run("store", at(stretch(1)+1), at(stretch(1)+2)), []analysis.ProbeRequest{probe(8, at(stretch(1)+1)), probe(9, at(stretch(1)+2))}))
	}
	want := []analysis.BackgroundCount{
		{Source: "alb", Class: analysis.ClassUser, Count: 7, Spans: 3, Typical: 3, Of: 3},
		{Source: "alb", Class: analysis.ClassUser, Outcome: analysis.OutcomeLB5xx, Status: 502, Route: "order", Count: 3, Spans: 2, Typical: 2, Of: 3},
		{Source: "store", Class: analysis.ClassProbe, Count: 3, Spans: 1, Typical: 3, Of: 1},
		{Source: "store", Class: analysis.ClassProbe, Outcome: analysis.OutcomeTimeout, Route: "store", Count: 1, Spans: 1, Typical: 1, Of: 1},
	}
	read := func() []analysis.BackgroundCount {
		o, err := db.Observations(ctx, "d1")
		must(t, err)
		return o.Background
	}
	for range 2 {
		fill()
		equal(t, "background", read(), want)
	}

	// A reading that is better takes the place of the one before, here too.
	short := batch("four", at(stretch(4)), cell(at(stretch(4)), 502))
	short.Partial, short.Object.Lines = true, 1
	_, err = db.AddObject(ctx, "orders-api", short)
	must(t, err)
	if got := read()[1]; got.Count != 4 || got.Spans != 3 {
		t.Errorf("with a short object: %+v", got)
	}
	add("four", stretch(4), cell(at(stretch(4)), 502), cell(at(stretch(4)+1), 502))
	if got := read()[1]; got.Count != 5 || got.Spans != 3 {
		t.Errorf("with the whole object: %+v", got)
	}

	// What a window looks back to stays when the log itself has gone.
	must(t, db.Prune(ctx, at(30*86400)))
	o, err := db.ObservationsBetween(ctx, "orders-api", at(stretch(3)-100), at(stretch(3)+500), "")
	must(t, err)
	if len(o.Cells) != 0 {
		t.Errorf("%d cells were not pruned", len(o.Cells))
	}
	if got := read()[1]; got.Count != 5 || got.Spans != 3 {
		t.Errorf("after pruning: %+v", got)
	}
}

// Of sealed reports of earlier deploys, what was measured exactly or from above.
func TestEjectionsOfEarlierDeploys(t *testing.T) {
	db, ctx := open(t)
	seconds := func(v float64, bound analysis.Bound) *analysis.Bounded {
		return &analysis.Bounded{Value: v, Bound: bound}
	}
	mark := analysis.Time{Time: at(-9000)}
	targets := []analysis.TargetReport{
		{Target: "by checks", DrainMarkedAt: mark, Checks: &analysis.ChecksReport{Eject: seconds(12.5, analysis.Exact)}},
		{Target: "by polls", DeregisteredAt: mark, LastServedAt: analysis.Time{Time: at(-8990)}, StateLagDown: &analysis.Interval{From: 3, To: 8}},
		{Target: "by traffic", DrainMarkedAt: mark, Eject: seconds(40, analysis.Lower)},
		{Target: "by checks that end early", DrainMarkedAt: mark, Checks: &analysis.ChecksReport{Eject: seconds(50, analysis.Lower)}},
		{Target: "never marked", Checks: &analysis.ChecksReport{Eject: seconds(60, analysis.Exact)}},
	}
	for _, d := range []analysis.Deploy{deploy("open", at(-9500)), deploy("before", at(-9000)), deploy("overlapping", at(-900)), deploy("now", at(0)), deploy("later", at(9000))} {
		_, err := db.StartDeploy(ctx, d)
		must(t, err)
		state := analysis.WindowSealed
		if d.ID == "open" {
			state = analysis.WindowSettling
		}
		report, err := json.Marshal(map[string]any{"deploy": map[string]any{"id": d.ID}, "targets": targets})
		must(t, err)
		_, err = db.SaveRevision(ctx, store.Revision{Deploy: d.ID, State: state, At: at(100), Report: report, Verdict: analysis.Supported})
		must(t, err)
	}
	o, err := db.Observations(ctx, "now")
	must(t, err)
	equal(t, "ejections", o.Ejections, []analysis.PastEjection{
		{Deploy: "before", Target: "by checks", At: at(-9000), Took: 12500 * time.Millisecond, Bound: analysis.Exact},
		{Deploy: "before", Target: "by polls", At: at(-9000), Took: 18 * time.Second, Bound: analysis.Upper},
	})
	if _, err := db.SaveRevision(ctx, store.Revision{Deploy: "now", Report: []byte("{"), State: analysis.WindowSealed}); err == nil {
		t.Error("a report that is no JSON was saved")
	}
}

func TestConfig(t *testing.T) {
	db, ctx := open(t)
	if got, err := db.Config(ctx, "orders-api"); got != "" || err != nil {
		t.Errorf("%q, %v before any was noted", got, err)
	}
	must(t, db.NoteConfig(ctx, "orders-api", "c0ffee"))
	put(t, db, service("orders-api"))
	if got, err := db.Config(ctx, "orders-api"); got != "c0ffee" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
