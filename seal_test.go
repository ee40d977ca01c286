package main

import (
	"encoding/json"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"gapless/analysis"
	"gapless/store"
)

// A window is sealed when its settle time has passed, not before. Evidence that comes
// later makes a revision that says what changed; evidence that changes nothing makes
// none.
func TestSealing(t *testing.T) {
	ctx := t.Context()
	db, err := store.Open(ctx, filepath.Join(t.TempDir(), "gapless.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	start := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	now := start
	db.Now = func() time.Time { return now }
	service := analysis.Service{
		Name: "orders-api", Window: analysis.WindowSettings{Baseline: time.Minute, Tail: time.Minute, Settle: time.Minute, Max: time.Hour},
		Probes: []analysis.Probe{{Name: "store", Class: analysis.ClassProbe, Every: time.Second, Timeout: time.Second, NewConnections: true}},
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s := &sealer{db: db, judge: judge{"c0ffee"}.judge, log: slog.New(slog.DiscardHandler), every: time.Second}
	// pass lets a moment pass and returns the latest revision, 0 where there is none.
	pass := func(at time.Duration) (store.Revision, analysis.Report) {
		t.Helper()
		now = start.Add(at)
		check(s.pass(ctx))
		revision, err := db.LatestRevision(ctx, "d-1")
		var report analysis.Report
		if err == nil {
			check(json.Unmarshal(revision.Report, &report))
		}
		return revision, report
	}
	probed := func(seq int, outcome analysis.Outcome) {
		t.Helper()
		at := start.Add(time.Duration(seq) * time.Second)
		run := analysis.Run{Source: "store", Kind: "probe", From: at, To: at.Add(time.Second), At: now, Rows: 1}
		check(db.AddProbes(ctx, "orders-api", run, []analysis.ProbeRequest{{
			Source: "store", Probe: "store", Class: analysis.ClassProbe, Run: "r1", Seq: seq,
			Sent: at, Done: at.Add(10 * time.Millisecond), Status: 200, Outcome: outcome,
		}}))
	}

	check(db.PutService(ctx, service))
	_, err = db.StartDeploy(ctx, analysis.Deploy{ID: "d-1", Service: "orders-api", Kind: analysis.KindRolling, Source: "test", StartedAt: start})
	check(err)
	if revision, _ := pass(30 * time.Minute); revision.Number != 0 {
		t.Error("a deploy that has not reported was sealed")
	}
	_, err = db.FinishDeploy(ctx, "d-1", start.Add(time.Minute), "succeeded", "test")
	check(err)
	probed(1, analysis.OutcomeOK)
	if revision, _ := pass(2*time.Minute + 59*time.Second); revision.Number != 0 {
		t.Error("sealed before the settle time had passed")
	}
	revision, report := pass(3 * time.Minute)
	if revision.Number != 1 || revision.State != analysis.WindowSealed || revision.ProbeRequests == nil || *revision.ProbeRequests != 1 || revision.UserRequests != nil {
		t.Errorf("first revision: %+v", revision)
	}
	if report.Window.State != analysis.WindowSealed || report.Window.Revision != 1 || report.Window.SealedAt.IsZero() || report.Verdict.Sentence == "" ||
		report.Provenance.ConfigSHA256 != "c0ffee" || report.Provenance.Previous != nil {
		t.Errorf("first report: %+v %+v", report.Window, report.Provenance)
	}
	if revision, _ = pass(4 * time.Minute); revision.Number != 1 {
		t.Error("sealed again without new evidence")
	}

	probed(2, analysis.OutcomeLB5xx)
	revision, report = pass(5 * time.Minute)
	if revision.Number != 2 || *revision.ProbeFailures != 1 {
		t.Errorf("after late evidence: %+v", revision)
	}
	if !slices.Contains(report.Provenance.Changes, "probe requests: 1 → 2") || !slices.Contains(report.Provenance.Changes, "probe failures: 0 → 1") ||
		report.Provenance.Previous == nil || *report.Provenance.Previous != "1" {
		t.Errorf("what changed: %v since %v", report.Provenance.Changes, report.Provenance.Previous)
	}

	check(db.AddRun(ctx, "orders-api", analysis.Run{Source: "store", Kind: "probe", From: start, To: start.Add(time.Second), At: now}))
	if revision, _ = pass(6 * time.Minute); revision.Number != 2 {
		t.Error("evidence that changes nothing made a revision")
	}
	if due, err := db.Unsealed(ctx); err != nil || len(due) != 0 {
		t.Errorf("%d deploys are due still, %v", len(due), err)
	}
}
