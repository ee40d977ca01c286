package store_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"gapless/analysis"
	"gapless/store"
)

func TestClaimsReachTheWindowsTheyAreAbout(t *testing.T) {
	db, ctx := open(t)
	put(t, db, service("other"))
	for _, d := range []analysis.Deploy{deploy("d1", at(0)), deploy("d2", at(7*24*3600))} {
		if _, err := db.StartDeploy(ctx, d); err != nil {
			t.Fatal(err)
		}
	}
	of := analysis.TypedClaim{Service: "orders-api", Deploy: "d1", About: analysis.ClassUser, Caused: true, Text: "nobody noticed", By: "ada"}
	day := analysis.TypedClaim{Service: "orders-api", About: analysis.ClassProbe, Basis: analysis.ClassHealth, From: at(-3600), To: at(86400)}
	elsewhere := analysis.TypedClaim{Service: "other", About: analysis.ClassHealth, From: at(-3600), To: at(86400)}
	for i, c := range []analysis.TypedClaim{of, day, elsewhere} {
		db.Now = func() time.Time { return at(3600 + float64(i)) }
		for again, want := range []bool{true, false} {
			id, stored, err := db.AddClaim(ctx, c)
			if err != nil || stored != want || id != c.Key() {
				t.Errorf("claim %d, time %d: %s, %v, %v; want stored %v", i, again, id, stored, err, want)
			}
		}
	}
	of.ID, of.RegisteredAt = of.Key(), at(3600)
	day.ID, day.RegisteredAt = day.Key(), at(3601)
	for id, want := range map[string][]analysis.TypedClaim{"d1": {of, day}, "d2": nil} {
		o, err := db.Observations(ctx, id)
		if err != nil || !reflect.DeepEqual(o.Claims, want) {
			t.Errorf("%s: got %+v, %v; want %+v", id, o.Claims, err, want)
		}
	}
	o, err := db.ObservationsBetween(ctx, "orders-api", at(3600), at(7200), "")
	if err != nil || !reflect.DeepEqual(o.Claims, []analysis.TypedClaim{day}) {
		t.Errorf("a span without a deploy: %+v, %v", o.Claims, err)
	}
	r, err := db.Claims(ctx, "orders-api", 10)
	if err != nil || len(r.Typed) != 2 || r.Typed[0].ID != day.ID || len(r.Deploys) != 2 || r.Deploys[0].Deploy != "d2" || len(r.Services) != 2 {
		t.Errorf("register: %+v, %v; want the newest first", r, err)
	}
	if r, err := db.Claims(ctx, "", 10); err != nil || len(r.Typed) != 3 {
		t.Errorf("register of all: %+v, %v", r, err)
	}
}

func TestClaimThatNobodyCanHold(t *testing.T) {
	db, ctx := open(t)
	put(t, db, service("other"))
	if _, err := db.StartDeploy(ctx, deploy("d1", at(0))); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		claim analysis.TypedClaim
		want  error
	}{
		{analysis.TypedClaim{Service: "none", Deploy: "d1", About: analysis.ClassUser}, store.ErrNotFound},
		{analysis.TypedClaim{Service: "orders-api", Deploy: "d9", About: analysis.ClassUser}, store.ErrNotFound},
		{analysis.TypedClaim{Service: "other", Deploy: "d1", About: analysis.ClassUser}, store.ErrConflict},
	} {
		if _, _, err := db.AddClaim(ctx, test.claim); !errors.Is(err, test.want) {
			t.Errorf("%+v: %v, want %v", test.claim, err, test.want)
		}
	}
	if _, _, err := db.AddClaim(ctx, analysis.TypedClaim{Service: "orders-api"}); err == nil {
		t.Error("a claim about nothing was stored")
	}
}

// A claim typed after a window was sealed makes the window due again, and its state is
// in the register with the next revision.
func TestLateClaimIsJudged(t *testing.T) {
	db, ctx := open(t)
	if _, err := db.StartDeploy(ctx, deploy("d1", at(0))); err != nil {
		t.Fatal(err)
	}
	save := func(claims ...store.ClaimState) {
		t.Helper()
		_, err := db.SaveRevision(ctx, store.Revision{Deploy: "d1", State: analysis.WindowSealed, At: at(100), Report: []byte(`{}`), Verdict: analysis.Supported, Claims: claims})
		if err != nil {
			t.Fatal(err)
		}
	}
	due := func() int {
		t.Helper()
		deploys, err := db.Unsealed(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return len(deploys)
	}
	save()
	if n := due(); n != 0 {
		t.Fatalf("%d deploys are due after sealing", n)
	}
	id, _, err := db.AddClaim(ctx, analysis.TypedClaim{Service: "orders-api", About: analysis.ClassUser, From: at(-60), To: at(60)})
	if err != nil {
		t.Fatal(err)
	}
	if n := due(); n != 1 {
		t.Errorf("%d deploys are due after the claim, want its one", n)
	}
	want := store.ClaimState{ID: id, State: analysis.Untested, Reason: "not_measured"}
	save(want)
	r, err := db.Claims(ctx, "", 10)
	if err != nil || len(r.Deploys) != 1 || !reflect.DeepEqual(r.Deploys[0].Claims, []store.ClaimState{want}) {
		t.Errorf("register: %+v, %v", r, err)
	}
	latest, err := db.LatestRevision(ctx, "d1")
	if err != nil || !reflect.DeepEqual(latest.Claims, []store.ClaimState{want}) {
		t.Errorf("revision: %+v, %v", latest, err)
	}
}
