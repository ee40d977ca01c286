package store_test

import (
	"testing"
	"time"

	"gapless/analysis"
	"gapless/store"
)

// A source that is refused again and again says nothing new of a window that was
// sealed: the window is judged anew when the source ends otherwise, and not before.
func TestRefusedAgainIsNoNews(t *testing.T) {
	db, ctx := open(t)
	s := service("orders-api")
	s.Window = analysis.WindowSettings{Baseline: 10 * time.Second, Tail: 10 * time.Second, Settle: 10 * time.Second, Max: time.Hour}
	put(t, db, s)
	if _, err := db.StartDeploy(ctx, deploy("d1", at(10))); err != nil {
		t.Fatal(err)
	}
	if _, err := db.FinishDeploy(ctx, "d1", at(20), "succeeded", "workflow"); err != nil {
		t.Fatal(err)
	}
	run := func(from, to float64, code string) {
		t.Helper()
		if err := db.AddRun(ctx, "orders-api", analysis.Run{Source: "loki", Kind: "loki", From: at(from), To: at(to), At: at(to), Code: code, Error: code}); err != nil {
			t.Fatal(err)
		}
	}
	due := func(what string, want bool) {
		t.Helper()
		db.Now = func() time.Time { return at(1000) }
		unsealed, err := db.Unsealed(ctx)
		if err != nil || (len(unsealed) == 1) != want {
			t.Errorf("%s: %d windows to judge, %v; want one: %v", what, len(unsealed), err, want)
		}
	}
	seal := func() {
		t.Helper()
		o, err := db.Observations(ctx, "d1")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.SaveRevision(ctx, store.Revision{Deploy: "d1", State: analysis.WindowSealed, At: at(1000), Change: o.Change, Report: []byte("{}"), Verdict: analysis.Inconclusive}); err != nil {
			t.Fatal(err)
		}
	}
	run(0, 5, "")
	run(5, 15, "unreachable")
	run(5, 35, "unreachable")
	due("before it was sealed", true)
	seal()
	due("sealed", false)
	for to := 45.0; to < 500; to += 10 {
		run(5, to, "unreachable")
	}
	due("refused again and again", false)
	run(5, 510, "forbidden")
	due("refused otherwise", true)
	seal()
	run(5, 520, "forbidden")
	due("refused so again", false)
	run(5, 530, "")
	due("answered at last", true)
	seal()
	run(5, 540, "")
	due("answered again", false)
	run(5, 550, "forbidden")
	due("refused after it had been answered", true)
}
