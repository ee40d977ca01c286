package store_test

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"gapless/analysis"
	"gapless/store"
)

var start = time.Date(2026, 10, 14, 6, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time {
	return start.Add(time.Duration(seconds * float64(time.Second))).Truncate(time.Microsecond)
}

func TestServicesRoundTrip(t *testing.T) {
	db, ctx := open(t)
	want := service("orders-api")
	want.Targets = []analysis.TargetName{{Name: "api-1", Address: "10.0.1.11:8080", Aliases: []string{"i-0abc:8080"}}}
	put(t, db, want)
	put(t, db, service("another"))
	got, err := db.Service(ctx, "orders-api")
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	all, err := db.Services(ctx)
	if err != nil || len(all) != 2 || all[0].Name != "another" {
		t.Errorf("got %+v, %v; want both by name", all, err)
	}
	if _, err := db.Service(ctx, "none"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("unknown service: %v, want ErrNotFound", err)
	}
	if _, err := db.AddSteps(ctx, "none", []analysis.Step{{Kind: analysis.StepAppReady, At: start}}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("steps of an unknown service: %v, want ErrNotFound", err)
	}
}

func TestDeployIsToldOnce(t *testing.T) {
	db, ctx := open(t)
	d := deploy("d1", at(0))
	d.VersionAfter = "2.0"
	for i, want := range []bool{true, false} {
		if stored, err := db.StartDeploy(ctx, d); err != nil || stored != want {
			t.Errorf("start %d: stored %v, %v; want %v", i, stored, err, want)
		}
	}
	put(t, db, service("other"))
	stolen := d
	stolen.Service = "other"
	if _, err := db.StartDeploy(ctx, stolen); !errors.Is(err, store.ErrConflict) {
		t.Errorf("same id for another service: %v, want ErrConflict", err)
	}
	if _, err := db.AddSteps(ctx, "other", []analysis.Step{{Deploy: "d1", Kind: analysis.StepAppReady, At: at(1)}}); !errors.Is(err, store.ErrConflict) {
		t.Errorf("step of another service's deploy: %v, want ErrConflict", err)
	}
	if stored, err := db.FinishDeploy(ctx, "d1", at(60), "succeeded", "ci"); err != nil || !stored {
		t.Errorf("finish: %v, %v; want stored", stored, err)
	}
	if stored, err := db.FinishDeploy(ctx, "d1", at(90), "failed", "ci"); err != nil || stored {
		t.Errorf("finish again: %v, %v; want the first to win", stored, err)
	}
	if _, err := db.FinishDeploy(ctx, "none", at(90), "failed", "ci"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("finish of an unknown deploy: %v, want ErrNotFound", err)
	}
	got, err := db.Deploy(ctx, "d1")
	want := d
	want.ReportedAt, want.Result = at(60), "succeeded"
	if err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	o, err := db.Observations(ctx, "d1")
	if err != nil {
		t.Fatal(err)
	}
	wantSteps := []analysis.Step{
		{Deploy: "d1", Kind: analysis.StepDeployStarted, At: at(0), Source: "ci"},
		{Deploy: "d1", Kind: analysis.StepDeployReported, At: at(60), Source: "ci"},
	}
	if !slices.Equal(o.Steps, wantSteps) {
		t.Errorf("steps %+v, want %+v", o.Steps, wantSteps)
	}
}

func TestStepsMakeDeploysInAnyOrder(t *testing.T) {
	db, ctx := open(t)
	reported := analysis.Step{Deploy: "d1", Kind: analysis.StepDeployReported, At: at(60), Source: "file"}
	started := analysis.Step{Deploy: "d1", Kind: analysis.StepDeployStarted, At: at(0), Source: "file"}
	for _, step := range []analysis.Step{reported, started} {
		for i, want := range []int{1, 0} {
			if stored, err := db.AddSteps(ctx, "orders-api", []analysis.Step{step}); err != nil || stored != want {
				t.Errorf("%s, time %d: stored %d, %v; want %d", step.Kind, i, stored, err, want)
			}
		}
	}
	got, err := db.Deploy(ctx, "d1")
	want := analysis.Deploy{ID: "d1", Service: "orders-api", Kind: analysis.KindRolling, Source: "file", StartedAt: at(0), ReportedAt: at(60)}
	if err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	full := deploy("d1", at(0))
	full.Kind, full.Actor = analysis.KindFault, "ada"
	if stored, err := db.StartDeploy(ctx, full); err != nil || !stored {
		t.Errorf("start with more: %v, %v; want it to fill in", stored, err)
	}
	if stored, err := db.FinishDeploy(ctx, "d1", at(99), "cancelled", "ci"); err != nil || !stored {
		t.Errorf("finish with a result: %v, %v; want it to fill in", stored, err)
	}
	want.Kind, want.Actor, want.Result = analysis.KindFault, "ada", "cancelled"
	if got, err := db.Deploy(ctx, "d1"); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

// Helpers.

func open(t testing.TB) (*store.DB, context.Context) {
	t.Helper()
	db, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "gapless.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	db.Now = func() time.Time { return at(3600) }
	put(t, db, service("orders-api"))
	return db, context.Background()
}

func service(name string) analysis.Service {
	return analysis.Service{Name: name, Window: analysis.WindowSettings{
		Baseline: 5 * time.Minute, Tail: 10 * time.Minute, Settle: 15 * time.Minute, Max: 2 * time.Hour}}
}

func put(t testing.TB, db *store.DB, s analysis.Service) {
	t.Helper()
	if err := db.PutService(context.Background(), s); err != nil {
		t.Fatal(err)
	}
}

func deploy(id string, started time.Time) analysis.Deploy {
	return analysis.Deploy{ID: id, Service: "orders-api", Kind: analysis.KindRolling, Source: "ci", StartedAt: started}
}
