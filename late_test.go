package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gapless/analysis"
	"gapless/store"
	"gapless/web"
)

// A log object that came after the window was sealed makes a revision, the report and
// the page say what it changed, and that it was late.
func TestLateObjectMakesARevision(t *testing.T) {
	ctx := t.Context()
	db, err := store.Open(ctx, filepath.Join(t.TempDir(), "gapless.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	start := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	now := start
	db.Now = func() time.Time { return now }
	check(db.PutService(ctx, analysis.Service{
		Name: "orders-api", Window: analysis.WindowSettings{Baseline: time.Minute, Tail: time.Minute, Settle: 15 * time.Minute, Max: time.Hour},
		LoadBalancers: []analysis.LoadBalancer{{Name: "public", AccessLogs: []analysis.AccessLog{{Name: "alb", Kind: "alb", Counts: true}}}},
	}))
	// object is one of five minutes with so many requests, the last of which failed.
	object := func(key, node string, arrived time.Time, requests int) {
		t.Helper()
		b := analysis.ObjectBatch{Object: analysis.Object{Source: "alb", Node: node, Key: key, From: start.Add(-2 * time.Minute), To: start.Add(3 * time.Minute),
			Lines: requests, Understood: requests, Arrived: arrived}}
		for i := range requests {
			at := start.Add(time.Duration(i) * time.Second)
			c := analysis.CellKey{Second: at.Unix(), Source: "alb", Node: node, TargetGroup: "api", Target: "api-1", Class: analysis.ClassUser,
				Outcome: analysis.OutcomeOK, Route: "other", Status: 200, TargetStatus: 200}
			if i == requests-1 {
				c.Outcome, c.Status, c.TargetStatus = analysis.OutcomeLB5xx, 502, 0
				b.Requests = append(b.Requests, analysis.Request{CellKey: c, Start: at, End: at.Add(time.Millisecond), Duration: time.Millisecond, Object: key, Line: i + 1})
			}
			b.Cells = append(b.Cells, analysis.Cell{CellKey: c, Count: 1, First: at, Last: at.Add(time.Millisecond)})
		}
		_, err := db.AddObject(ctx, "orders-api", b)
		check(err)
		check(db.AddRun(ctx, "orders-api", analysis.Run{Source: "alb", Kind: "alb", From: start.Add(-time.Hour), To: now, At: now}))
	}
	_, err = db.StartDeploy(ctx, analysis.Deploy{ID: "d-1", Service: "orders-api", Kind: analysis.KindRolling, Source: "test", StartedAt: start})
	check(err)
	_, err = db.FinishDeploy(ctx, "d-1", start.Add(time.Minute), "succeeded", "test")
	check(err)

	judges := judge{"c0ffee"}.judge
	server, err := web.New(web.Config{Store: db, Judge: judges, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now }})
	check(err)
	defer server.Close()
	get := func(path string) string {
		t.Helper()
		w := httptest.NewRecorder()
		server.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+path, nil))
		if w.Code != http.StatusOK {
			t.Fatalf("%s: %d", path, w.Code)
		}
		return w.Body.String()
	}

	// Four minutes after the end one of two nodes has delivered; the other is known.
	now = start.Add(6 * time.Minute)
	object("first", "10.0.0.1", start.Add(5*time.Minute), 3)
	page := get("/deploys/d-1")
	for _, want := range []string{"provisional", "counts are provisional"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of a window that settles lacks %q", want)
		}
	}

	s := &sealer{db: db, judge: judges, log: slog.New(slog.DiscardHandler), every: time.Second}
	now = start.Add(17 * time.Minute)
	check(s.pass(ctx))
	if page = get("/deploys/d-1"); strings.Contains(page, "counts are provisional") || strings.Contains(page, "Late evidence changed") {
		t.Error("the page of a sealed window is provisional, or tells of changes that are not")
	}

	now = start.Add(50 * time.Minute)
	object("late", "10.0.0.2", start.Add(48*time.Minute), 5)
	check(s.pass(ctx))
	revision, err := db.LatestRevision(ctx, "d-1")
	check(err)
	want := []string{"user requests: 3 → 8", "user failures: 1 → 2", "finding log-late: new"}
	for _, each := range want {
		if revision.Number != 2 || !slices.Contains(revision.Changes, each) {
			t.Errorf("revision %d changed %q, want %q", revision.Number, revision.Changes, each)
		}
	}
	var report analysis.Report
	check(json.NewDecoder(bytes.NewBufferString(get("/api/v1/deploys/d-1/report"))).Decode(&report))
	if report.Window.Revision != 2 || report.Provenance.Previous == nil || *report.Provenance.Previous != "1" || !slices.Equal(report.Provenance.Changes, revision.Changes) {
		t.Errorf("the API tells revision %d after %v: %q", report.Window.Revision, report.Provenance.Previous, report.Provenance.Changes)
	}
	page = get("/deploys/d-1")
	for _, each := range append(want, "Late evidence changed", "Revisions", "1 log object of alb came later than is waited for") {
		if !strings.Contains(page, each) {
			t.Errorf("the page lacks %q", each)
		}
	}
	// The same object once more is nothing new.
	object("late", "10.0.0.2", start.Add(48*time.Minute), 5)
	check(s.pass(ctx))
	if again, err := db.LatestRevision(ctx, "d-1"); err != nil || again.Number != 2 {
		t.Errorf("the same object again made revision %d, %v", again.Number, err)
	}
}
