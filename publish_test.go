package main

import (
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gapless/analysis"
	"gapless/store"
)

// What is told of a deploy is told once, however often it is looked at and by whom.
func TestReporterTellsEverythingOnce(t *testing.T) {
	ctx := t.Context()
	db, err := store.Open(ctx, filepath.Join(t.TempDir(), "gapless.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	start := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	now := start
	db.Now = func() time.Time { return now }
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	service := analysis.Service{Name: "orders-api", Window: analysis.WindowSettings{Baseline: time.Minute, Tail: time.Minute, Settle: time.Minute, Max: time.Hour}}
	check(db.PutService(ctx, service))
	r := &reporter{db: db, log: slog.New(slog.DiscardHandler), told: map[string]reported{}}
	// kinds are those of all markers that wait, after two looks and one by another console.
	kinds := func(r *reporter) string {
		t.Helper()
		for _, each := range []*reporter{r, r, {db: db, log: r.log, told: map[string]reported{}}} {
			check(each.announce(ctx, service.Name))
		}
		waiting, err := db.WaitingMarkers(ctx, 1000)
		check(err)
		var kinds []string
		for _, m := range waiting {
			kinds = append(kinds, m.Kind)
		}
		slices.Sort(kinds)
		return strings.Join(kinds, " ")
	}
	seal := func() {
		t.Helper()
		check((&sealer{db: db, judge: judge{}.judge, log: r.log}).pass(ctx))
	}

	_, err = db.StartDeploy(ctx, analysis.Deploy{ID: "old", Service: "orders-api", Source: "ci", StartedAt: start.Add(-8 * 24 * time.Hour)})
	check(err)
	_, err = db.StartDeploy(ctx, analysis.Deploy{ID: "d-1", Service: "orders-api", Source: "ci", StartedAt: start})
	check(err)
	if got := kinds(r); got != "deploy" {
		t.Errorf("started: %s", got)
	}
	step := analysis.Step{Deploy: "d-1", Kind: analysis.StepRestartBegan, At: start.Add(10 * time.Second), Target: "api-1", Source: "ci"}
	_, err = db.AddSteps(ctx, "orders-api", []analysis.Step{step})
	check(err)
	if got := kinds(r); got != "deploy step" {
		t.Errorf("with a step: %s", got)
	}
	_, err = db.FinishDeploy(ctx, "d-1", start.Add(time.Minute), "succeeded", "ci")
	check(err)
	now = start.Add(10 * time.Minute)
	seal()
	first := kinds(r)
	if !strings.HasPrefix(first, "deploy deploy ") || !strings.HasSuffix(first, "step verdict") {
		t.Errorf("sealed: %s", first)
	}

	// Late evidence: another revision, another verdict.
	latest, err := db.LatestRevision(ctx, "d-1")
	check(err)
	check(db.AddProbes(ctx, "orders-api", analysis.Run{Source: "store", Kind: "probe", From: start, To: now, At: now}, []analysis.ProbeRequest{{
		Source: "store", Probe: "store", Class: analysis.ClassProbe, Run: "r1", Seq: 1, Sent: start.Add(time.Second), Done: start.Add(2 * time.Second), Status: 502, Outcome: analysis.OutcomeLB5xx}}))
	seal()
	if again, err := db.LatestRevision(ctx, "d-1"); err != nil || again.Number != latest.Number+1 {
		t.Fatalf("revision %d after %d, %v", again.Number, latest.Number, err)
	}
	if got := kinds(r); strings.Count(got, "verdict") != 2 {
		t.Errorf("sealed again: %s", got)
	}
	// Two more revisions before anybody looks: both verdicts are told.
	for second := range 2 {
		at := start.Add(time.Duration(10+second) * time.Second)
		check(db.AddProbes(ctx, "orders-api", analysis.Run{Source: "store", Kind: "probe", From: start, To: now, At: now.Add(time.Duration(1+second) * time.Second)}, []analysis.ProbeRequest{{
			Source: "store", Probe: "store", Class: analysis.ClassProbe, Run: "r1", Seq: 2 + second, Sent: at, Done: at.Add(time.Second), Status: 502, Outcome: analysis.OutcomeLB5xx}}))
		seal()
	}
	if again, err := db.LatestRevision(ctx, "d-1"); err != nil || again.Number != latest.Number+3 {
		t.Fatalf("revision %d after %d, %v", again.Number, latest.Number, err)
	}
	if got := kinds(r); strings.Count(got, "verdict") != 4 {
		t.Errorf("sealed twice between two looks: %s", got)
	}
	var report analysis.Report
	check(json.Unmarshal(latest.Report, &report))
	if strings.Count(first, "finding") != len(report.Findings) {
		t.Errorf("%d findings: %s", len(report.Findings), first)
	}
}

// The dashboard asks for what is told, and for nothing else.
func TestGrafanaDashboard(t *testing.T) {
	body, err := os.ReadFile(filepath.Join("static", "grafana", "deploys.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Annotations struct{ List []struct{ Expr string } }
		Panels      []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal(body, &dashboard); err != nil {
		t.Fatal(err)
	}
	var queries []string
	for _, annotation := range dashboard.Annotations.List {
		queries = append(queries, annotation.Expr)
	}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			queries = append(queries, target.Expr)
		}
	}
	asked := map[string]bool{}
	for _, query := range queries {
		if !strings.Contains(query, `{job="gapless", service=~"$service"`) {
			t.Errorf("%s does not ask for a service's markers", query)
		}
		if m := regexp.MustCompile(`kind="(\w+)"`).FindStringSubmatch(query); m != nil {
			asked[m[1]] = true
		}
	}
	want := map[string]bool{analysis.MarkerDeploy: true, analysis.MarkerStep: true, analysis.MarkerFinding: true, analysis.MarkerVerdict: true}
	if !maps.Equal(asked, want) {
		t.Errorf("it asks for kinds %v, want %v", asked, want)
	}
	for _, state := range []analysis.VerdictState{analysis.Supported, analysis.Disproved, analysis.Inconclusive, analysis.Untested} {
		if !slices.ContainsFunc(queries, func(q string) bool { return strings.Contains(q, "state=") && strings.Contains(q, string(state)) }) {
			t.Errorf("no annotation for verdicts that are %s", state)
		}
	}
}
