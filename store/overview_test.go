package store_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"gapless/analysis"
	"gapless/store"
)

func TestOverviewIsWhatTheSingleCallsSay(t *testing.T) {
	db, ctx := open(t)
	put(t, db, service("another"))
	for i, id := range []string{"d1", "d2", "d3"} {
		if _, err := db.StartDeploy(ctx, deploy(id, at(float64(i)*600))); err != nil {
			t.Fatal(err)
		}
	}
	must(t, db.AddRun(ctx, "orders-api", analysis.Run{Source: "alb", Kind: "alb", From: at(0), To: at(60), At: at(61), Code: "forbidden", Error: "no"}))
	lines := []analysis.SetAsideLine{{Line: 3, Reason: "too_few_fields", Raw: []byte("x")}}
	_, err := db.AddObject(ctx, "orders-api", analysis.ObjectBatch{Object: analysis.Object{Source: "alb", Key: "k", From: at(0), To: at(60), Lines: 4, SetAside: 1}, Lines: lines})
	must(t, err)
	all, err := db.Overview(ctx, 2)
	must(t, err)
	if len(all) != 2 || all[0].Service.Name != "another" || len(all[0].Deploys)+len(all[0].Collectors) != 0 {
		t.Fatalf("overview %+v", all)
	}
	collectors, err := db.Collectors(ctx)
	must(t, err)
	summaries, err := db.Deploys(ctx, "orders-api", 2)
	must(t, err)
	if !reflect.DeepEqual(all[1].Collectors, collectors) || !reflect.DeepEqual(all[1].Deploys, summaries) || len(summaries) != 2 {
		t.Errorf("the overview differs from the single calls: %+v", all[1])
	}
	aside, err := db.SetAsideLines(ctx, "orders-api", "alb", 0, 10)
	must(t, err)
	if len(aside.Rows) != 1 || !reflect.DeepEqual(collectors[0].LastSetAside, aside.Rows) {
		t.Errorf("lines with the source: %+v, by themselves: %+v", collectors[0].LastSetAside, aside.Rows)
	}
	list, err := db.DeployList(ctx, "orders-api", 2)
	must(t, err)
	if !reflect.DeepEqual(list, store.DeployList{Services: []string{"another", "orders-api"}, Deploys: summaries}) {
		t.Errorf("list %+v", list)
	}
}

func TestObservationsOfTwoDeploys(t *testing.T) {
	db, ctx := open(t)
	put(t, db, service("another"))
	for i, id := range []string{"d1", "d2"} {
		if _, err := db.StartDeploy(ctx, deploy(id, at(float64(i)*600))); err != nil {
			t.Fatal(err)
		}
	}
	other := deploy("x1", at(300))
	other.Service = "another"
	if _, err := db.StartDeploy(ctx, other); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ first, second, want string }{{"d1", "d2", "d1"}, {"", "d2", "d1"}, {"x1", "d2", "x1"}, {"d2", "d2", "d2"}} {
		a, b, err := db.ObservationsOfTwo(ctx, test.first, test.second)
		must(t, err)
		whole, err := db.Observations(ctx, test.second)
		must(t, err)
		if a.Deploy.ID != test.want || !reflect.DeepEqual(b, whole) {
			t.Errorf("%+v: got %s and %s", test, a.Deploy.ID, b.Deploy.ID)
		}
	}
	for _, test := range [][2]string{{"", "d1"}, {"", "x1"}, {"d9", "d1"}, {"d1", "d9"}} {
		if _, _, err := db.ObservationsOfTwo(ctx, test[0], test[1]); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%q: %v, want ErrNotFound", test, err)
		}
	}
}

// A log object that is named for a minute which has hardly begun is evidence up to its
// last row only; one whose period is over, up to its end.
func TestLatestEvidenceOfALogIsNotInTheFuture(t *testing.T) {
	for _, test := range []struct {
		name     string
		now      float64
		rows     bool
		evidence time.Time
	}{
		{"the period is over", 400, true, at(300)},
		{"the period is not over", 100, true, at(90.25)},
		{"not over, and empty", 100, false, time.Time{}},
		{"over, and empty", 400, false, at(300)},
	} {
		db, ctx := open(t)
		db.Now = func() time.Time { return at(test.now) }
		b := analysis.ObjectBatch{Object: analysis.Object{Source: "alb", Key: "k", From: at(0), To: at(300)}}
		if test.rows {
			b.Cells = []analysis.Cell{{CellKey: analysis.CellKey{Second: at(90).Unix(), Source: "alb", Class: analysis.ClassUser, Outcome: analysis.OutcomeOK}, Count: 1, First: at(90), Last: at(90.25)}}
		}
		_, err := db.AddObject(ctx, "orders-api", b)
		must(t, err)
		all, err := db.Collectors(ctx)
		must(t, err)
		if len(all) != 1 || !all[0].LastEvidence.Equal(test.evidence) {
			t.Errorf("%s: %+v, want evidence up to %v", test.name, all, test.evidence)
		}
	}
}

// An application that writes lines which no rule matches is not silent.
func TestLatestEvidenceOfALogIsItsLastLine(t *testing.T) {
	db, ctx := open(t)
	b := analysis.AppBatch{Run: analysis.Run{Source: "app", At: at(100), From: at(0), To: at(100)}, File: "f", Position: []byte("p"),
		Handled: []analysis.HandledRequest{{Source: "app", At: at(10.5), Target: "a", Run: "r", Seq: 1}},
		Counts:  []analysis.RuleCount{{Source: "app", Rule: "ready", Second: at(90), Lines: 7}, {Source: "app", Rule: "ready", Second: at(89), Lines: 7}}}
	must(t, db.AddAppBatch(ctx, "orders-api", b))
	all, err := db.Collectors(ctx)
	must(t, err)
	if len(all) != 1 || !all[0].LastEvidence.Equal(at(90)) {
		t.Errorf("%+v, want evidence up to %v", all, at(90))
	}
}
