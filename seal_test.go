package main

import (
	"encoding/json"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
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

// What cannot be judged keeps nothing else from being sealed.
func TestSealingGoesOnAfterAPanic(t *testing.T) {
	ctx := t.Context()
	db, err := store.Open(ctx, filepath.Join(t.TempDir(), "gapless.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	start := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	db.Now = func() time.Time { return start.Add(24 * time.Hour) }
	window := analysis.WindowSettings{Baseline: time.Minute, Tail: time.Minute, Settle: time.Minute, Max: time.Hour}
	if err := db.PutService(ctx, analysis.Service{Name: "orders-api", Window: window}); err != nil {
		t.Fatal(err)
	}
	for i, id := range []string{"bad", "good"} {
		if _, err := db.StartDeploy(ctx, analysis.Deploy{ID: id, Service: "orders-api", Kind: analysis.KindRolling, StartedAt: start.Add(time.Duration(i) * time.Minute)}); err != nil {
			t.Fatal(err)
		}
	}
	s := &sealer{db: db, log: slog.New(slog.DiscardHandler), judge: func(o analysis.Observations) analysis.Report {
		if o.Deploy.ID == "bad" {
			panic("no such phase")
		}
		return judge{}.judge(o)
	}}
	err = s.pass(ctx)
	if err == nil || !strings.Contains(err.Error(), "deploy bad: panic: no such phase") || !strings.Contains(err.Error(), "seal_test.go") {
		t.Errorf("the panic is told as %v", err)
	}
	if _, err := db.LatestRevision(ctx, "good"); err != nil {
		t.Errorf("the other deploy: %v", err)
	}
}

// A noticed deploy that becomes one with an announced one while it is judged is no error.
func TestSealingADeployThatIsMergedMeanwhile(t *testing.T) {
	ctx := t.Context()
	db, err := store.Open(ctx, filepath.Join(t.TempDir(), "gapless.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	start := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	db.Now = func() time.Time { return start.Add(20 * time.Minute) }
	window := analysis.WindowSettings{Baseline: time.Minute, Tail: time.Minute, Settle: time.Minute, Max: time.Hour}
	if err := db.PutService(ctx, analysis.Service{Name: "orders-api", Window: window}); err != nil {
		t.Fatal(err)
	}
	steps := []analysis.Step{{Kind: analysis.StepRestartBegan, At: start, Target: "api-1", Source: "app.log", Inferred: true}, {Kind: analysis.StepAppReady, At: start.Add(10 * time.Second), Target: "api-1", Source: "app.log", Inferred: true}}
	if _, err := db.AddSteps(ctx, "orders-api", steps); err != nil {
		t.Fatal(err)
	}
	if n, err := db.Notice(ctx, "orders-api"); err != nil || n != 1 {
		t.Fatalf("noticed %d, %v", n, err)
	}
	judged := ""
	s := &sealer{db: db, log: slog.New(slog.DiscardHandler), judge: func(o analysis.Observations) analysis.Report {
		if judged == "" {
			judged = o.Deploy.ID
			if _, err := db.StartDeploy(ctx, analysis.Deploy{ID: "d-1", Service: "orders-api", Kind: analysis.KindRolling, StartedAt: start.Add(-5 * time.Second)}); err != nil {
				t.Error(err)
			}
			if _, err := db.Notice(ctx, "orders-api"); err != nil {
				t.Error(err)
			}
		}
		return judge{}.judge(o)
	}}
	if err := s.pass(ctx); err != nil {
		t.Errorf("it is told as an error: %v", err)
	}
	if into, err := db.MergedInto(ctx, judged); err != nil || into != "d-1" {
		t.Errorf("%s, which was judged, became %q, %v", judged, into, err)
	}
}

// A sealed deploy's report is the one that was saved under its number, whoever asks
// and whatever judges by then. Once evidence came after it, the report is settling
// and says so, until the next revision is there.
func TestSealedReportsStayWhatTheyAre(t *testing.T) {
	ctx := t.Context()
	db, err := store.Open(ctx, filepath.Join(t.TempDir(), "gapless.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	start := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	now := start.Add(24 * time.Hour)
	db.Now = func() time.Time { return now }
	window := analysis.WindowSettings{Baseline: time.Minute, Tail: time.Minute, Settle: time.Minute, Max: time.Hour}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(db.PutService(ctx, analysis.Service{Name: "orders-api", Window: window}))
	_, err = db.StartDeploy(ctx, analysis.Deploy{ID: "d-1", Service: "orders-api", Kind: analysis.KindRolling, StartedAt: start})
	check(err)
	c, err := newConsole(ctx, noConfig(func(string) string { return "" }), db, slog.New(slog.DiscardHandler))
	check(err)
	shown := func() analysis.Report {
		t.Helper()
		o, err := db.Observations(ctx, "d-1")
		check(err)
		return c.judge(o)
	}
	seal := &sealer{db: db, judge: c.roster.judge, log: slog.New(slog.DiscardHandler)}
	due := func(r analysis.Report) string {
		for _, condition := range r.Verdict.Conditions {
			if condition.Code == "revision-due" {
				return condition.Sentence
			}
		}
		return ""
	}
	if r := shown(); r.Window.State != analysis.WindowSettling || due(r) == "" {
		t.Errorf("before it is sealed: %s, %q", r.Window.State, due(r))
	}
	check(seal.pass(ctx))
	first, err := db.LatestRevision(ctx, "d-1")
	check(err)

	// Another version, or other settings, would judge otherwise by now.
	now = now.Add(time.Hour)
	c.roster.add(&serviceConfig{Service: analysis.Service{Name: "orders-api"}, configSHA256: "another"})
	body, err := json.Marshal(shown())
	check(err)
	if string(body) != string(first.Report) {
		t.Errorf("revision 1 changed under its number:\n%s\n%s", first.Report, body)
	}

	_, err = db.AddSteps(ctx, "orders-api", []analysis.Step{{Deploy: "d-1", Kind: analysis.StepRestartBegan, Target: "api-1", At: start.Add(time.Second), Source: "late"}})
	check(err)
	if r := shown(); r.Window.State != analysis.WindowSettling || !strings.Contains(due(r), "after revision 1 was sealed") || len(r.Steps) != 2 {
		t.Errorf("after late evidence: %+v, %q, %d steps", r.Window, due(r), len(r.Steps))
	}
	check(seal.pass(ctx))
	if r := shown(); r.Window.State != analysis.WindowSealed || r.Window.Revision != 2 || due(r) != "" {
		t.Errorf("after the next revision: %+v, %q", r.Window, due(r))
	}
}

func TestChangesBetweenReports(t *testing.T) {
	report := func(change func(*analysis.Report)) *analysis.Report {
		r := &analysis.Report{
			Verdict: analysis.Verdict{State: analysis.Supported, Sentence: "a"},
			Claims:  []analysis.Claim{{ID: "no-user-failure", State: analysis.Supported, Reason: "no_failure"}},
			Totals:  map[analysis.Class]*analysis.Total{analysis.ClassUser: nil},
			Rules:   []analysis.RuleState{{Code: "fail-open", State: "clear"}},
		}
		change(r)
		return r
	}
	for name, test := range map[string]struct {
		change func(*analysis.Report)
		want   []string
	}{
		"nothing": {func(*analysis.Report) {}, nil},
		"what two same reports may differ in": {func(r *analysis.Report) {
			r.Verdict.Sentence, r.Claims[0].Text, r.Claims[0].Evidence = "b", "b", []analysis.Evidence{{}}
			r.Window.State, r.Window.Revision, r.Window.SealedAt = analysis.WindowSealed, 2, analysis.Time{Time: time.Unix(1, 0)}
			r.Deploy.Source, r.Provenance.Binary = "b", "b"
			r.Coverage = []analysis.Coverage{{Source: "alb"}}
		}, nil},
		"measured now": {func(r *analysis.Report) {
			r.Totals[analysis.ClassUser] = &analysis.Total{Requests: 120}
		}, []string{"user requests: not measured → 120", "user failures: not measured → 0"}},
		"a reason":      {func(r *analysis.Report) { r.Claims[0].Reason = "surge" }, []string{"claim no-user-failure, still supported: no failure was found → refusals, aborts or 4xx rose and nothing declared explains it"}},
		"a claim gone":  {func(r *analysis.Report) { r.Claims = nil }, []string{"claim no-user-failure: gone"}},
		"a condition":   {func(r *analysis.Report) { r.Verdict.Conditions = []analysis.Condition{{Code: "single-run"}} }, []string{"verdict: it depends on other things"}},
		"a single span": {func(r *analysis.Report) { r.SingleTarget = []analysis.TargetSpan{{Target: "api-1"}} }, []string{"single target: other figures"}},
		"a clock":       {func(r *analysis.Report) { r.Clocks = []analysis.ClockOffset{{A: "a"}} }, []string{"clocks: other figures"}},
		"a rule":        {func(r *analysis.Report) { r.Rules[0].State = "not_evaluable" }, []string{"rules: others could be evaluated"}},
	} {
		got, err := changesBetween(report(func(*analysis.Report) {}), report(test.change))
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, test.want)
		}
	}
}
