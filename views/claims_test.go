package views

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"gapless/analysis"
)

func TestTypedClaimsHaveWords(t *testing.T) {
	_, r := lossy(t)
	health, ada := analysis.ClassHealth, "ada"
	scope := analysis.Scope{Traffic: analysis.ClassUser, From: r.Window.From, To: r.Window.To}
	r.Claims = append(r.Claims,
		analysis.Claim{ID: "typed-1", Text: "no customer noticed", Scope: scope, State: analysis.Untested, Reason: "rests_on_health_samples", Typed: &analysis.Typed{Basis: &health, By: &ada, Deploy: &r.Deploy.ID}, RegisteredAt: r.Window.To},
		analysis.Claim{ID: "typed-2", Scope: scope, State: analysis.Supported, Typed: &analysis.Typed{Caused: true}})
	page := NewDeployPage(analysis.Observations{}, r, seoul)
	chips := page.Verdict.Claims[len(page.Verdict.Claims)-2:]
	if chips[0].Label != "“no customer noticed” (typed)" || chips[0].Tone != "unt" || chips[1].Label != "“No user request failed because of the deploy.” (typed)" {
		t.Errorf("chips: %+v", chips)
	}
	rows := page.Claims.Rows[len(page.Claims.Rows)-2:]
	if got := rows[0].Cells[0].Under; got != "typed by ada on 2026-10-14 15:51 · about user requests, literally · rests on health samples · 15:25:00–15:51:25" {
		t.Errorf("note: %q", got)
	}
	if got := rows[0].Cells[2].Text; got != "it rests on health samples, which are not users" {
		t.Errorf("why: %q", got)
	}
	if got := rows[1].Cells[0].Under; !strings.HasSuffix(got, "15:25:00–15:51:25 of a longer time") {
		t.Errorf("note of a claim about a span: %q", got)
	}
}

func TestHealthSampleClaimNamesItsFigures(t *testing.T) {
	for _, test := range []struct {
		values map[string]any
		want   string
		remedy string
	}{
		{map[string]any{"text": "no customer noticed", "told": true, "health_requests": 46, "health_failures": 3, "user_requests": 246, "user_failures": 15, "needs": []string{}},
			"“no customer noticed” is about users and rests on health samples. 46 health samples, of which 3 failed, say nothing about 246 user requests, of which 15 failed.", "Go by what was measured"},
		{map[string]any{"text": "", "told": false, "health_requests": 46, "health_failures": 0, "user_requests": nil, "user_failures": nil, "needs": []string{"access_log", "probes"}},
			"A typed claim is about users and rests on health samples, since nothing else was measured. 46 health samples, of which none failed, say nothing about user requests, which were not measured.",
			"To say it of users, read the access log that counts users over that time and let business probes run, checked to the body."},
	} {
		finding := analysis.Finding{Code: "health-sample-claim", Values: test.values}
		content, err := json.Marshal(finding)
		if err != nil {
			t.Fatal(err)
		}
		var stored analysis.Finding
		if err := json.Unmarshal(content, &stored); err != nil {
			t.Fatal(err)
		}
		for _, f := range []analysis.Finding{finding, stored} {
			r := analysis.Report{Findings: []analysis.Finding{f}}
			FillSentences(&r)
			if r.Findings[0].Sentence != test.want || !strings.HasPrefix(r.Findings[0].Remedy, test.remedy) {
				t.Errorf("got %q, %q", r.Findings[0].Sentence, r.Findings[0].Remedy)
			}
		}
	}
}

func TestRegister(t *testing.T) {
	at := time.Date(2026, 10, 14, 6, 0, 0, 0, time.UTC)
	typed := []analysis.TypedClaim{
		{ID: "typed-1", Service: "orders", Deploy: "d1", About: analysis.ClassUser, Basis: analysis.ClassHealth, Text: "<b>fine</b>", RegisteredAt: at},
		{ID: "typed-2", Service: "orders", About: analysis.ClassProbe, From: at, To: at.Add(24 * time.Hour), RegisteredAt: at},
	}
	deploys := []ClaimOutcome{
		{Deploy: "d2", Service: "orders", StartedAt: at.Add(time.Hour), Claims: []ClaimState{{"no-user-failure", analysis.Supported, "no_failure"}, {"typed-2", analysis.Supported, ""}}},
		{Deploy: "x1", Service: "other", StartedAt: at.Add(time.Minute)},
		{Deploy: "d1", Service: "orders", StartedAt: at, Claims: []ClaimState{{"no-user-failure", analysis.Disproved, "failure_in_scope"}, {"typed-1", analysis.Untested, "rests_on_health_samples"}}},
	}
	page := NewClaimsPage([]string{"orders", "other"}, typed, deploys, "", "", 3, seoul)
	if len(page.Groups) != 1 || len(page.Groups[0].Claims) != 3 || page.More == "" {
		t.Fatalf("%+v", page.Groups)
	}
	first, second, third := page.Groups[0].Claims[0], page.Groups[0].Claims[1], page.Groups[0].Claims[2]
	if first.Text != "“<b>fine</b>”" || first.Now.State != "untested" || !strings.Contains(first.Marks[0].Title, "it rests on health samples") || first.SpanURL != "" {
		t.Errorf("typed of a deploy: %+v", first)
	}
	if second.Text != "No probe request failed." || second.SpanURL == "" || len(second.Marks) != 1 {
		t.Errorf("typed of a day: %+v", second)
	}
	if third.Now.State != "supported" || len(third.Marks) != 2 || third.Marks[1].Tone != "dis" || third.Counts != "1 supported · 1 disproved" {
		t.Errorf("built-in: %+v", third)
	}
	page = NewClaimsPage([]string{"orders", "other"}, typed, deploys, "orders", analysis.Disproved, 200, seoul)
	if len(page.Groups) != 1 || len(page.Groups[0].Claims) != 1 || len(page.Groups[0].Claims[0].Marks) != 1 || page.Groups[0].Claims[0].Now.State != "supported" {
		t.Errorf("disproved only: %+v", page.Groups)
	}
	if html := render(t, Claims(NewClaimsPage([]string{"orders"}, typed, deploys, "", "", 200, seoul))); strings.Contains(html, "<b>fine") {
		t.Error("hostile text reached the page unescaped")
	}
}

func TestLagIsHonest(t *testing.T) {
	now := time.Date(2026, 10, 14, 6, 0, 0, 0, time.UTC)
	for want, evidence := range map[string]time.Time{Missing: {}, "30 s": now.Add(-30 * time.Second), "0 s": now, "45 s ahead": now.Add(45 * time.Second)} {
		if got, _ := lag(evidence, now); got != want {
			t.Errorf("evidence at %v: %q, want %q", evidence, got, want)
		}
	}
}

func TestServicesPage(t *testing.T) {
	now := time.Date(2026, 10, 14, 6, 0, 0, 0, time.UTC)
	requests, failures := 100, 3
	services := []ServiceOverview{{
		Service: analysis.Service{Name: "<orders>", Targets: []analysis.TargetName{{Name: "api-1", Address: "10.0.0.1:80"}}},
		Deploys: []DeploySummary{
			{Deploy: analysis.Deploy{ID: "d2", Service: "<orders>", StartedAt: now}, Verdict: analysis.Disproved, UserRequests: &requests, UserFailures: &failures, State: analysis.WindowSealed},
			{Deploy: analysis.Deploy{ID: "d1", Service: "<orders>", StartedAt: now.Add(-time.Hour)}, State: analysis.WindowOpen}},
		Collectors: []CollectorStatus{{Service: "<orders>", Source: "alb", Kind: "alb", LastRun: now, LastSuccess: now, LastEvidence: now.Add(-5 * time.Second)}},
	}, {Service: analysis.Service{Name: "quiet"}}}
	page := NewServicesPage(services, now, seoul)
	card := page.Services[0]
	if len(card.Marks) != 2 || card.Marks[0].Tone != "dis" || card.Marks[1].State != "Not judged yet" || card.Last.Users.Failures != "3" {
		t.Errorf("%+v", card)
	}
	if got := strings.Join(texts(card.Sources.Rows[0]), "|"); got != "alb|alb|✓ well|2026-10-14 14:59:55|5 s" {
		t.Errorf("source: %s", got)
	}
	html := render(t, Services(page))
	if strings.Contains(html, "<orders>") || !strings.Contains(html, "No deploy of it is known yet") {
		t.Error("hostile text unescaped, or an empty service not said to be empty")
	}
}

func TestDeploysWithoutOneBeforeOfferNoComparison(t *testing.T) {
	at := time.Date(2026, 10, 14, 6, 0, 0, 0, time.UTC)
	deploys := []DeploySummary{{Deploy: analysis.Deploy{ID: "a2", Service: "a", StartedAt: at}}, {Deploy: analysis.Deploy{ID: "b1", Service: "b", StartedAt: at}, First: true}, {Deploy: analysis.Deploy{ID: "a1", Service: "a", StartedAt: at}}}
	rows := NewDeploysPage(deploys, []string{"a", "b"}, "", 100, seoul).Deploys
	if rows[0].CompareURL != "/compare?b=a2" || rows[1].CompareURL != "" || rows[2].CompareURL != "/compare?b=a1" {
		t.Errorf("%q %q %q", rows[0].CompareURL, rows[1].CompareURL, rows[2].CompareURL)
	}
}
