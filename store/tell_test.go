package store

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"gapless/analysis"
)

// One event that cannot be stored takes the others of its call with it.
func TestTellStoresAllOrNothing(t *testing.T) {
	ctx := t.Context()
	db, err := Open(ctx, filepath.Join(t.TempDir(), "gapless.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	at := time.Date(2026, 10, 14, 6, 0, 0, 0, time.UTC)
	for _, name := range []string{"orders", "billing"} {
		service := analysis.Service{Name: name, Targets: []analysis.TargetName{{Name: "api-1", Address: "10.0.0.1:80"}}}
		if err := db.PutService(ctx, service); err != nil {
			t.Fatal(err)
		}
	}
	event := func(deploy string, kind analysis.StepKind, target string) analysis.StepEvent {
		return analysis.StepEvent{Deploy: deploy, Service: "orders", Kind: kind, At: analysis.Time{Time: at}, Target: target, Result: "succeeded"}
	}
	if _, err := db.StartDeploy(ctx, analysis.Deploy{ID: "b1", Service: "billing", StartedAt: at}); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		last analysis.StepEvent
		want error
	}{
		"a deploy that never started":     {event("none", analysis.StepDrainMarked, "api-1"), ErrNotFound},
		"a report of one":                 {event("none", analysis.StepDeployReported, ""), ErrNotFound},
		"a deploy of another service":     {event("b1", analysis.StepDrainMarked, "api-1"), ErrConflict},
		"the start of another service's":  {event("b1", analysis.StepDeployStarted, ""), ErrConflict},
		"the report of another service's": {event("b1", analysis.StepDeployReported, ""), ErrConflict},
	} {
		_, err := db.Tell(ctx, "orders", []analysis.StepEvent{event("d1", analysis.StepDeployStarted, ""), event("d1", analysis.StepDrainMarked, "api-1"), test.last})
		if !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
		if _, err := db.Deploy(ctx, "d1"); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: the rest was stored: %v", name, err)
		}
	}
	if told, err := db.Tell(ctx, "orders", []analysis.StepEvent{event("", analysis.StepAppReady, "api-1")}); err != nil || told.Stored != 1 {
		t.Errorf("a step of no deploy: %+v, %v", told, err)
	}
	told, err := db.Tell(ctx, "orders", []analysis.StepEvent{
		event("d1", analysis.StepDrainMarked, "10.0.0.1:80"), event("d1", analysis.StepRestartBegan, "api-9"), event("d1", analysis.StepDeployStarted, ""),
	})
	if err != nil || told.Stored != 3 || len(told.Unknown) != 1 || told.Unknown[0] != "api-9" {
		t.Errorf("%+v, %v", told, err)
	}
}
