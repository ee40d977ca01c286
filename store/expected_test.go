package store_test

import (
	"strings"
	"testing"

	"gapless/analysis"
	"gapless/store"
)

// A source that is configured is listed before it runs, or if it never does.
func TestExpectedSourcesAreListed(t *testing.T) {
	db, ctx := open(t)
	must(t, db.AddRun(ctx, "orders-api", run("alb", at(0), at(10))))
	for range 2 {
		must(t, db.Expect(ctx, "orders-api", []store.Source{{Name: "alb", Kind: ""}, {Name: "elbv2", Kind: "elbv2"}}))
	}
	all, err := db.Collectors(ctx)
	must(t, err)
	if len(all) != 2 || all[0].Source != "alb" || all[0].LastRun.IsZero() || all[1].Source != "elbv2" || all[1].Kind != "elbv2" || !all[1].LastRun.IsZero() {
		t.Errorf("collectors %+v", all)
	}
}

// A source fails until each of its objects is read, also while runs that wait to try
// one again are good.
func TestSourceFailsWhileAnObjectIsUnread(t *testing.T) {
	db, ctx := open(t)
	failing := func(want bool) {
		t.Helper()
		all, err := db.Collectors(ctx)
		must(t, err)
		if c := all[0]; c.LastErrorAt.After(c.LastSuccess) != want || want && !strings.Contains(c.LastError, "o is still not read: 403") {
			t.Errorf("failing %v, want %v: %+v", !want, want, c)
		}
	}
	unread := analysis.ObjectBatch{Object: analysis.Object{Source: "alb", Key: "o", From: at(0), To: at(300), Error: "403"}}
	_, err := db.AddObject(ctx, "orders-api", unread)
	must(t, err)
	must(t, db.AddRun(ctx, "orders-api", run("alb", at(0), at(10))))
	failing(true)
	must(t, db.AddRun(ctx, "orders-api", run("alb", at(10), at(20))))
	failing(true)
	_, err = db.AddObject(ctx, "orders-api", batch("o", at(0)))
	must(t, err)
	failing(false)
}

// What a console left is collected from its last good run on.
func TestCollected(t *testing.T) {
	db, ctx := open(t)
	if from, until, err := db.Collected(ctx, "orders-api", "alb", at(1e6)); err != nil || !from.IsZero() || !until.IsZero() {
		t.Errorf("without runs: %v to %v, %v", from, until, err)
	}
	for _, span := range [][2]float64{{20, 130}, {10, 100}, {500, 600}, {500, 1e9}} {
		must(t, db.AddRun(ctx, "orders-api", run("alb", at(span[0]), at(span[1]))))
	}
	failed := run("alb", at(600), at(700))
	failed.Code, failed.Error = "unreachable", "no answer"
	must(t, db.AddRun(ctx, "orders-api", failed))
	for by, want := range map[float64]float64{400: 130, 600: 600, 1000: 600} {
		if from, until, err := db.Collected(ctx, "orders-api", "alb", at(by)); err != nil || !from.Equal(at(10)) || !until.Equal(at(want)) {
			t.Errorf("by %g: %v to %v, %v; want %v to %v", by, from, until, err, at(10), at(want))
		}
	}
}
