package web

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"gapless/analysis"
	"gapless/store"
)

var formHeader = map[string]string{"Content-Type": "application/x-www-form-urlencoded"}

func TestClaimFromTheFormReachesThePageAndTheReport(t *testing.T) {
	s := newServer(t, Config{})
	s.start(t, "d1", began)
	evil := `<script>alert("no customer noticed")</script>`
	form := url.Values{"service": {"orders"}, "deploy": {"d1"}, "about": {"user"}, "says": {"caused"}, "basis": {"health"}, "of": {"deploy"}, "text": {evil}, "by": {"<b>ada"}}
	got, _ := s.request(t, "POST", "/claims", form.Encode(), formHeader)
	if got.StatusCode != http.StatusSeeOther || got.Header.Get("Location") != "/deploys/d1#h-claims" {
		t.Fatalf("%d %q", got.StatusCode, got.Header.Get("Location"))
	}
	page, _ := s.requestBody(t, "/deploys/d1")
	for _, want := range []string{"“&lt;script&gt;alert(&#34;no customer noticed&#34;)&lt;/script&gt;” (typed)", "typed by &lt;b&gt;ada", "rests on health samples", "health-sample-claim"} {
		if !strings.Contains(page, want) {
			t.Errorf("the deploy page lacks %q", want)
		}
	}
	if strings.Contains(page, "<script>alert") || strings.Contains(page, "<b>ada") {
		t.Error("hostile text reached the page unescaped")
	}
	report, _ := s.requestBody(t, "/api/v1/deploys/d1/report")
	if !strings.Contains(report, `"basis":"health","by":"\u003cb\u003eada"`) || !strings.Contains(report, `"rests_on_health_samples"`) {
		t.Error("the report lacks the claim")
	}
	register, _ := s.requestBody(t, "/claims")
	if strings.Contains(register, "<script>alert") || !strings.Contains(register, "of deploy d1") || !strings.Contains(register, "in no sealed deploy yet") {
		t.Error("the register lacks the claim, or prints it unescaped")
	}
}

func TestClaimThatCannotBeTakenIsAskedAgain(t *testing.T) {
	s := newServer(t, Config{})
	s.start(t, "d1", began)
	for want, change := range map[string]url.Values{
		"must be dates":              {"from": {"yesterday"}},
		"is none of user":            {"about": {"tool"}},
		"To must be after from":      {"from": {"2026-10-14T15:00"}, "to": {"2026-10-14T14:00"}},
		"names no deploy needs":      {"of": {"span"}},
		"has no such deploy":         {"deploy": {"d2"}},
		"longer than 500 characters": {"text": {strings.Repeat("x", 501)}},
	} {
		form := url.Values{"service": {"orders"}, "deploy": {"d1"}, "about": {"user"}, "says": {"literal"}, "of": {"deploy"}, "text": {"kept <i>words</i>"}}
		maps.Copy(form, change)
		got, body := s.request(t, "POST", "/claims", form.Encode(), formHeader)
		if got.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(body, want) {
			t.Errorf("%s: %d", want, got.StatusCode)
		}
		if _, replaced := change["text"]; !replaced && !strings.Contains(body, "kept &lt;i&gt;words") {
			t.Errorf("%s: what was typed is lost", want)
		}
	}
	if got, _ := s.request(t, "POST", "/claims", "service=orders", map[string]string{"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "cross-site"}); got.StatusCode != http.StatusForbidden {
		t.Errorf("another site's form: %d", got.StatusCode)
	}
	if got, _ := newServer(t, Config{Token: "t"}).request(t, "POST", "/claims", "service=orders", formHeader); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("without the token: %d", got.StatusCode)
	}
}

func TestClaimOfASpanLeadsToTheSpan(t *testing.T) {
	s := newServer(t, Config{})
	form := url.Values{"service": {"orders"}, "about": {"probe"}, "says": {"literal"}, "from": {"2026-10-14T14:00"}, "to": {"2026-10-14T16:00"}}
	got, _ := s.request(t, "POST", "/claims", form.Encode(), formHeader)
	place := got.Header.Get("Location")
	if place != "/services/orders/span?from=2026-10-14T05%3A00%3A00Z&to=2026-10-14T07%3A00%3A00Z#h-claims" {
		t.Fatalf("%d %q", got.StatusCode, place)
	}
	if page, status := s.requestBody(t, strings.TrimSuffix(place, "#h-claims")); status != 200 || !strings.Contains(page, "No probe request failed.") {
		t.Errorf("%d: the page of the span lacks the claim", status)
	}
}

func TestClaimsByTheAPI(t *testing.T) {
	s := newServer(t, Config{})
	s.start(t, "d1", began)
	for _, test := range []struct {
		body   string
		status int
		has    string
	}{
		{`{"deploy":"d1","caused":true,"text":"nobody noticed","by":"ada"}`, 201, `"stored":true,"page":"/deploys/d1#h-claims"`},
		{`{"deploy":"d1","caused":true,"text":"nobody noticed","by":"somebody else"}`, 200, `"stored":false`},
		{`{"service":"orders","from":"2026-10-14T05:00:00Z","to":"2026-10-14T07:00:00Z","about":"health"}`, 201, `"page":"/services/orders/span?`},
		{`{"deploy":"d9"}`, 404, "Not found"},
		{`{"service":"orders"}`, 400, "needs from and to"},
		{`{"service":"other","from":"2026-10-14T05:00:00Z","to":"2026-10-14T07:00:00Z"}`, 404, "known are: orders."},
		{`{"deploy":"d1","about":"everybody"}`, 400, "everybody"},
		{`[]`, 400, "not a claim"},
		{`{"deploy":"d1","says":"literal","claim":"x"}`, 400, `A claim has no key \"claim\", \"says\"; allowed: id, service, deploy, about, basis, text, from, to, by, registered_at, caused.`},
		{`{"id":"x","deploy":"d1","text":"by default"}`, 201, `"stored":true`},
	} {
		got, body := s.request(t, "POST", "/api/v1/claims", test.body, nil)
		if got.StatusCode != test.status || !strings.Contains(body, test.has) {
			t.Errorf("%s: %d %s, want %d %s", test.body, got.StatusCode, body, test.status, test.has)
		}
	}
	all, _ := s.requestBody(t, "/api/v1/claims?service=orders")
	if !strings.Contains(all, `"deploy":"d1","about":"user","caused":true,"basis":null,"text":"nobody noticed","from":null,"to":null,"by":"ada"`) || !strings.Contains(all, `"claims":null`) ||
		!strings.Contains(all, `"caused":true,"basis":null,"text":"by default"`) {
		t.Error(all)
	}
}

func TestRegisterShowsWhatBecameOfClaims(t *testing.T) {
	s := newServer(t, Config{})
	for i, id := range []string{"d1", "d2"} {
		s.start(t, id, began.Add(time.Duration(i)*time.Hour))
		state := []analysis.VerdictState{analysis.Disproved, analysis.Supported}[i]
		_, err := s.db.SaveRevision(t.Context(), store.Revision{Deploy: id, State: analysis.WindowSealed, At: began, Report: []byte("{}"), Verdict: state,
			Claims: []store.ClaimState{{ID: "no-user-failure", State: state, Reason: "failure_in_scope"}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	page, _ := s.requestBody(t, "/claims")
	if first, second := strings.Index(page, `href="/deploys/d2"`), strings.Index(page, `href="/deploys/d1"`); first < 0 || second < first {
		t.Error("the deploys do not stand newest first")
	}
	if !strings.Contains(page, "1 supported · 1 disproved") {
		t.Error("the states are not counted")
	}
	if page, _ := s.requestBody(t, "/claims?state=disproved&service=orders"); strings.Contains(page, `href="/deploys/d2"`) || !strings.Contains(page, `href="/deploys/d1"`) {
		t.Error("the filter by state shows the wrong deploy")
	}
	if page, _ := s.requestBody(t, "/claims?state=untested"); !strings.Contains(page, "No claim was untested in any deploy") {
		t.Error("a state that no claim was in shows something")
	}
	if _, status := s.requestBody(t, "/claims?state=sideways"); status != 400 {
		t.Errorf("a state that there is not: %d", status)
	}
}

func TestComparison(t *testing.T) {
	s := newServer(t, Config{})
	s.start(t, "d1", began)
	s.start(t, "d2", began.Add(2*time.Hour))
	s.step(t, "d1", analysis.StepRestartBegan, began.Add(time.Minute))
	s.step(t, "d2", analysis.StepRestartBegan, began.Add(2*time.Hour+3*time.Minute))
	for page, links := range map[string]int{"/deploys/d1": 0, "/deploys/d2": 1, "/": 1} {
		if body, _ := s.requestBody(t, page); strings.Count(body, `href="/compare?b=d2"`) != links || strings.Contains(body, `href="/compare?b=d1"`) {
			t.Errorf("%s: a comparison is offered where there is none before, or not where there is one", page)
		}
	}
	for _, test := range []struct {
		path   string
		status int
		has    string
	}{
		{"/compare?a=d1&b=d2", 200, "aligned at the first stop of each"},
		{"/compare?b=d2", 200, `href="/deploys/d1"`},
		{"/compare?a=d1&b=d1", 200, "Both sides are the same deploy"},
		{"/compare?b=d1", 404, "is the first of its service"},
		{"/compare?b=d9", 404, "There is no deploy &#34;d9&#34;"},
		{"/compare?a=d1&b=" + url.QueryEscape("<script>alert(1)"), 404, "is not known"},
		{"/compare", 400, "must name the deploys"},
	} {
		page, status := s.requestBody(t, test.path)
		if status != test.status || !strings.Contains(page, test.has) || strings.Contains(page, "<script>alert") {
			t.Errorf("%s: %d, want %d and %q", test.path, status, test.status, test.has)
		}
	}
}

func TestServicesPage(t *testing.T) {
	s := newServer(t, Config{})
	s.start(t, "d1", began)
	if err := s.db.AddRun(t.Context(), "orders", analysis.Run{Source: "elbv2", Kind: "elbv2", From: began, To: began.Add(time.Minute), At: began.Add(time.Minute), Code: "throttled", Error: "Rate <exceeded>"}); err != nil {
		t.Fatal(err)
	}
	page, _ := s.requestBody(t, "/services")
	for _, want := range []string{`href="/deploys/d1"`, `title="10.0.0.1:80">api-1`, "failing: throttled", `sse-connect="/services/stream"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if event := <-s.stream(t, "/services/stream"); event.name != "services" || !strings.Contains(event.data, "api-1") {
		t.Errorf("%s %.200s", event.name, event.data)
	}
}
