package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"gapless/analysis"
	"gapless/store"
)

func TestRevisionsAndTheListOfDeploys(t *testing.T) {
	db, ctx := open(t)
	if _, err := db.LatestRevision(ctx, "d1"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("no revision: %v, want ErrNotFound", err)
	}
	if _, err := db.SaveRevision(ctx, store.Revision{Deploy: "d1"}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("revision of an unknown deploy: %v, want ErrNotFound", err)
	}
	_, err := db.StartDeploy(ctx, deploy("d0", at(-9000)))
	must(t, err)
	_, err = db.StartDeploy(ctx, deploy("d1", at(0)))
	must(t, err)
	_, err = db.FinishDeploy(ctx, "d1", at(60), "succeeded", "ci")
	must(t, err)
	requests, failures := 100, 7
	for want, state := range []analysis.WindowState{analysis.WindowOpen, analysis.WindowSealed} {
		r := store.Revision{Deploy: "d1", State: state, At: at(100), Report: []byte(`{"schema":1}`), Verdict: analysis.Disproved,
			UserRequests: &requests, UserFailures: &failures, Findings: []string{"blind-spot", "single-target"}}
		if number, err := db.SaveRevision(ctx, r); err != nil || number != want+1 {
			t.Errorf("revision %d, %v; want %d", number, err, want+1)
		}
	}
	r, err := db.LatestRevision(ctx, "d1")
	must(t, err)
	if r.Number != 2 || r.State != analysis.WindowSealed || string(r.Report) != `{"schema":1}` || *r.UserFailures != 7 || r.ProbeRequests != nil || len(r.Findings) != 2 || !r.At.Equal(at(100)) {
		t.Errorf("latest %+v", r)
	}
	list, err := db.Deploys(ctx, "orders-api", 0)
	must(t, err)
	if len(list) != 2 || list[0].ID != "d1" || list[1].ID != "d0" {
		t.Fatalf("list %+v, want d1 and d0", list)
	}
	d := list[0]
	if d.Revision != 2 || d.Verdict != analysis.Disproved || *d.UserRequests != 100 || *d.UserFailures != 7 || d.ProbeFailures != nil || len(d.Findings) != 2 ||
		!d.From.Equal(at(-300)) || !d.To.Equal(at(660)) || d.State != analysis.WindowSealed {
		t.Errorf("summary %+v", d)
	}
	if d := list[1]; d.Revision != 0 || d.Verdict != "" || d.UserRequests != nil || d.State != analysis.WindowSettling {
		t.Errorf("summary without a revision %+v", d)
	}
	if list, err := db.Deploys(ctx, "", 1); err != nil || len(list) != 1 || list[0].ID != "d1" {
		t.Errorf("newest one %+v, %v", list, err)
	}
	o, err := db.Observations(ctx, "d1")
	must(t, err)
	if o.Revision != 2 || !o.SealedAt.Equal(at(100)) {
		t.Errorf("observations of revision %d sealed at %s", o.Revision, o.SealedAt)
	}
	in, err := db.DeploysIn(ctx, "orders-api", at(-10), at(10))
	if err != nil || len(in) != 1 || in[0].ID != "d1" {
		t.Errorf("deploys in the span %+v, %v", in, err)
	}
}

func TestLateEvidenceUnseals(t *testing.T) {
	pass := func(from, to, when float64, code string) func(*testing.T, *store.DB) {
		return func(t *testing.T, db *store.DB) {
			must(t, db.AddRun(context.Background(), "orders-api", analysis.Run{Source: "alb", Kind: "alb", From: at(from), To: at(to), At: at(when), Code: code}))
		}
	}
	object := func(key string, from float64) func(*testing.T, *store.DB) {
		return func(t *testing.T, db *store.DB) {
			_, err := db.AddObject(context.Background(), "orders-api", batch(key, at(from), cell(at(from), 200, 1)))
			must(t, err)
		}
	}
	for name, c := range map[string]struct {
		late     func(*testing.T, *store.DB)
		unsealed bool
	}{
		"nothing":                                 {func(*testing.T, *store.DB) {}, false},
		"an object in the window":                 {object("new", 300), true},
		"an object that ends where it begins":     {object("new", -601), false},
		"an object from before":                   {object("new", -900), false},
		"an object from after":                    {object("new", 660), false},
		"an object that is known":                 {object("known", 0), false},
		"a pass over a time never looked at":      {pass(500, 700, 2000, ""), true},
		"a pass that finds nothing new":           {pass(-300, 400, 2000, ""), false},
		"a pass over a later time":                {pass(660, 800, 2000, ""), false},
		"a failure":                               {pass(0, 100, 2000, "throttled"), true},
		"a pass that heals a failure":             {pass(410, 415, 2000, ""), true},
		"a step of the deploy, out of its window": {step("d1", 9000), true},
		"a step of another deploy in the window":  {step("", 100), true},
		"a step out of the window of no deploy":   {step("", 9000), false},
		"a deploy whose window touches": {func(t *testing.T, db *store.DB) {
			_, err := db.StartDeploy(context.Background(), deploy("d2", at(800)))
			must(t, err)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			db, ctx := open(t)
			_, err := db.StartDeploy(ctx, deploy("d1", at(0)))
			must(t, err)
			_, err = db.FinishDeploy(ctx, "d1", at(60), "succeeded", "ci")
			must(t, err)
			object("known", 0)(t, db)
			pass(-300, 450, 600, "")(t, db)
			pass(405, 420, 610, "unreachable")(t, db)
			o, err := db.Observations(ctx, "d1")
			must(t, err)
			_, err = db.SaveRevision(ctx, store.Revision{Deploy: "d1", State: analysis.WindowSealed, At: o.At, Change: o.Change, Report: []byte("{}")})
			must(t, err)
			c.late(t, db)
			unsealed := false
			all, err := db.Unsealed(ctx)
			must(t, err)
			for _, d := range all {
				unsealed = unsealed || d.ID == "d1"
			}
			if unsealed != c.unsealed {
				t.Errorf("unsealed: %v, want %v", unsealed, c.unsealed)
			}
			if o, err = db.Observations(ctx, "d1"); err != nil || o.SealedAt.IsZero() != c.unsealed {
				t.Errorf("sealed at %s, %v; want it zero: %v", o.SealedAt, err, c.unsealed)
			}
			list, err := db.Deploys(ctx, "orders-api", 0)
			must(t, err)
			if d := list[len(list)-1]; (d.State != analysis.WindowSealed) != c.unsealed {
				t.Errorf("listed as %s, want it sealed: %v", d.State, !c.unsealed)
			}
		})
	}
}

// TestEvidenceBetweenReadingAndSavingUnseals is about evidence that comes while the
// report is made: its revision has not seen it.
func TestEvidenceBetweenReadingAndSavingUnseals(t *testing.T) {
	db, ctx := open(t)
	_, err := db.StartDeploy(ctx, deploy("d1", at(0)))
	must(t, err)
	o, err := db.Observations(ctx, "d1")
	must(t, err)
	_, err = db.AddObject(ctx, "orders-api", batch("late", at(0)))
	must(t, err)
	_, err = db.SaveRevision(ctx, store.Revision{Deploy: "d1", State: analysis.WindowSealed, At: o.At, Change: o.Change, Report: []byte("{}")})
	must(t, err)
	if all, err := db.Unsealed(ctx); err != nil || len(all) != 1 {
		t.Errorf("unsealed %+v, %v; want d1", all, err)
	}
}

func TestSubscribersHearOfEveryServiceAfterItsCommit(t *testing.T) {
	db, ctx := open(t)
	put(t, db, service("other"))
	changes, cancel := db.Subscribe()
	slow, cancelSlow := db.Subscribe()
	defer cancelSlow()
	for i := range 50 { // nobody listens meanwhile, and no write waits
		_, err := db.AddSteps(ctx, "orders-api", []analysis.Step{{Kind: analysis.StepAppReady, At: at(float64(i)), Source: "log"}})
		must(t, err)
	}
	put(t, db, service("other"))
	for name, c := range map[string]<-chan string{"one": changes, "another": slow} {
		heard := map[string]bool{}
		for n := 0; len(heard) < 2; n++ {
			select {
			case service := <-c:
				heard[service] = true
			case <-time.After(5 * time.Second):
				t.Fatalf("%s subscriber heard only %v", name, heard)
			}
			if n > 5 {
				t.Errorf("%s subscriber: changes were not joined", name)
			}
		}
	}
	cancel()
	closes(t, "cancelled", changes)
	must(t, db.Close())
	closes(t, "closed with the database", slow)
	late, _ := db.Subscribe()
	closes(t, "made after closing", late)
}

// Helpers.

func closes(t *testing.T, what string, changes <-chan string) {
	t.Helper()
	select {
	case name, open := <-changes:
		if open {
			t.Errorf("a subscription %s yields %q", what, name)
		}
	case <-time.After(5 * time.Second):
		t.Errorf("a subscription %s stays open", what)
	}
}

func step(deploy string, when float64) func(*testing.T, *store.DB) {
	return func(t *testing.T, db *store.DB) {
		_, err := db.AddSteps(context.Background(), "orders-api", []analysis.Step{{Deploy: deploy, Kind: analysis.StepAppReady, At: at(when), Target: "api-9", Source: "log"}})
		must(t, err)
	}
}

func TestConfirmedRevisionIsNotDueAgain(t *testing.T) {
	db, ctx := open(t)
	_, err := db.StartDeploy(ctx, deploy("d1", at(0)))
	must(t, err)
	number, err := db.SaveRevision(ctx, store.Revision{Deploy: "d1", State: analysis.WindowSealed, At: at(100), Report: []byte(`{}`), Verdict: analysis.Supported})
	must(t, err)
	must(t, db.AddRun(ctx, "orders-api", analysis.Run{Source: "alb", Kind: "alb", From: at(1), To: at(2), At: at(3), Code: "error", Error: "no"}))
	due, err := db.Unsealed(ctx)
	must(t, err)
	if len(due) != 1 {
		t.Fatalf("after late evidence %d deploys are due, want 1", len(due))
	}
	o, err := db.Observations(ctx, "d1")
	must(t, err)
	must(t, db.ConfirmRevision(ctx, "d1", number, o.Change))
	if due, err = db.Unsealed(ctx); err != nil || len(due) != 0 {
		t.Errorf("after it was confirmed %d deploys are due, %v; want none", len(due), err)
	}
	if r, err := db.LatestRevision(ctx, "d1"); err != nil || r.Number != number {
		t.Errorf("revision %d, %v; want %d still", r.Number, err, number)
	}
}
