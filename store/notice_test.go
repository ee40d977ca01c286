package store_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"gapless/analysis"
	"gapless/store"
)

// A deploy that nobody announced is opened, grows with what is seen of it, and
// becomes the announced one when the announcement comes late.
func TestNoticedDeploy(t *testing.T) {
	db, ctx := open(t)
	put(t, db, service("orders-api"))
	db.Now = func() time.Time { return at(100) }
	notice := func(want int) {
		t.Helper()
		if changed, err := db.Notice(ctx, "orders-api"); err != nil || changed != want {
			t.Fatalf("noticed %d, %v; want %d", changed, err, want)
		}
	}
	steps := func(steps ...analysis.Step) {
		t.Helper()
		for i := range steps {
			steps[i].Source, steps[i].Inferred = "app.log", true
		}
		if _, err := db.AddSteps(ctx, "orders-api", steps); err != nil {
			t.Fatal(err)
		}
	}
	only := func() store.DeploySummary {
		t.Helper()
		all, err := db.Deploys(ctx, "orders-api", 0)
		if err != nil || len(all) != 1 {
			t.Fatalf("%d deploys, %v; want one", len(all), err)
		}
		return all[0]
	}
	notice(0)
	steps(analysis.Step{Kind: analysis.StepRestartBegan, At: at(10), Target: "api-1"})
	notice(1)
	notice(0)
	steps(analysis.Step{Kind: analysis.StepAppReady, At: at(30), Target: "api-1"})
	notice(1)
	d := only()
	if !d.Noticed() || !d.StartedAt.Equal(at(10)) || !d.SeenUntil.Equal(at(30)) || d.Kind != analysis.KindRolling {
		t.Errorf("noticed as %+v", d.Deploy)
	}
	o, err := db.Observations(ctx, d.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, to := analysis.WindowOf(d.Deploy, o.Service.Window); !o.To.Equal(to) || !o.Deploy.SeenUntil.Equal(at(30)) {
		t.Errorf("window to %v, deploy %+v; want %v", o.To, o.Deploy, to)
	}
	started := 0
	for _, s := range o.Steps {
		if s.Kind == analysis.StepDeployStarted {
			started++
			if !s.Inferred || !s.At.Equal(at(10)) {
				t.Errorf("its start is %+v, want an inferred one", s)
			}
		}
	}
	if started != 1 {
		t.Errorf("%d starts, want one", started)
	}

	// A claim was typed and a report saved before the announcement came.
	claim := analysis.TypedClaim{Service: "orders-api", Deploy: d.ID, About: analysis.ClassUser, Text: "Nobody noticed.", RegisteredAt: at(40)}
	if _, _, err := db.AddClaim(ctx, claim); err != nil {
		t.Fatal(err)
	}
	if _, err := db.SaveRevision(ctx, store.Revision{Deploy: d.ID, State: analysis.WindowSealed, At: at(90), Report: []byte("{}"), Verdict: analysis.Supported}); err != nil {
		t.Fatal(err)
	}
	if _, err := db.StartDeploy(ctx, deploy("d1", at(5))); err != nil {
		t.Fatal(err)
	}
	before, err := db.Observations(ctx, "d1") // judged before the two were one
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.SaveRevision(ctx, store.Revision{Deploy: "d1", State: analysis.WindowSealed, At: at(95), Change: before.Change, Report: []byte("{}"), Verdict: analysis.Supported}); err != nil {
		t.Fatal(err)
	}
	notice(1)
	notice(0)
	if due, err := db.Unsealed(ctx); err != nil || len(due) != 1 || due[0].ID != "d1" {
		t.Errorf("to be judged again: %+v, %v; want d1", due, err)
	}
	if d := only(); d.ID != "d1" || d.Noticed() {
		t.Errorf("after the announcement there is %+v", d.Deploy)
	}
	if into, err := db.MergedInto(ctx, d.ID); err != nil || into != "d1" {
		t.Errorf("%s became %q, %v", d.ID, into, err)
	}
	if _, err := db.MergedInto(ctx, "d1"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("d1 became something: %v", err)
	}
	if o, err := db.Observations(ctx, "d1"); err != nil || len(o.Claims) != 1 || len(o.Steps) != 3 {
		t.Errorf("%d claims and %d steps of d1, %v; want the claim and the application's two steps with the start", len(o.Claims), len(o.Steps), err)
	}
}

// The polls between two states that are alike are no signs, and what is older than
// the reach is not noticed any more.
func TestNoticeReadsStates(t *testing.T) {
	db, ctx := open(t)
	s := service("orders-api")
	s.Window = analysis.WindowSettings{Baseline: time.Minute, Tail: time.Minute, Settle: time.Minute, Max: time.Hour}
	put(t, db, s)
	var samples []analysis.StateSample
	for i := range 600 {
		for _, target := range []string{"api-1", "api-2"} {
			state := analysis.StateHealthy
			if target == "api-2" && i > 300 && i < 340 {
				state = analysis.StateUnhealthy
			}
			samples = append(samples, analysis.StateSample{Source: "elbv2", TargetGroup: "api", Target: target, At: at(float64(i)), State: state})
		}
	}
	run := analysis.Run{Source: "elbv2", Kind: "elbv2", From: at(0), To: at(600), At: at(600)}
	if err := db.AddStates(ctx, "orders-api", run, samples); err != nil {
		t.Fatal(err)
	}
	db.Now = func() time.Time { return at(4*3600 + 600) }
	if changed, err := db.Notice(ctx, "orders-api"); err != nil || changed != 0 {
		t.Fatalf("noticed %d of four hours ago, %v", changed, err)
	}
	db.Now = func() time.Time { return at(600) }
	if changed, err := db.Notice(ctx, "orders-api"); err != nil || changed != 1 {
		t.Fatalf("noticed %d, %v", changed, err)
	}
	all, err := db.Deploys(ctx, "", 0)
	if err != nil || len(all) != 1 || !strings.HasPrefix(all[0].ID, "noticed-orders-api-") || all[0].Kind != analysis.KindFault ||
		!all[0].StartedAt.Equal(at(300)) || !all[0].SeenUntil.Equal(at(340)) {
		t.Errorf("noticed %+v, %v; want a fault from the last good poll to the first good one", all, err)
	}
}
