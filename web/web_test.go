package web

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gapless/analysis"
	"gapless/store"
)

var began = time.Date(2026, 10, 14, 6, 0, 0, 0, time.UTC)

func TestRequests(t *testing.T) {
	s := newServer(t, Config{})
	evil := `<script>alert("1")</script>`
	s.start(t, "d1", began)
	s.start(t, "a/b", began.Add(time.Hour))
	s.start(t, evil, began.Add(2*time.Hour))
	const html, problem, jsonType, csvType = "text/html; charset=UTF-8", "application/problem+json", "application/json", "text/csv; charset=utf-8; header=present"
	for _, test := range []struct {
		method, path, body string
		header             map[string]string
		status             int
		contentType        string
		has, hasNot        string
	}{
		{method: "GET", path: "/", status: 200, contentType: html, has: `href="/deploys/d1"`, hasNot: "<script>alert"},
		{method: "GET", path: "/", status: 200, contentType: html, has: "&lt;script&gt;alert"},
		{method: "GET", path: "/?service=nothing", status: 200, contentType: html, has: "No deploy is known yet"},
		{method: "GET", path: "/deploys/d1", status: 200, contentType: html, has: `sse-connect="/deploys/d1/stream"`},
		{method: "GET", path: "/deploys/a%2Fb", status: 200, contentType: html, has: `sse-connect="/deploys/a%2Fb/stream"`},
		{method: "GET", path: "/deploys/" + url.PathEscape(evil), status: 200, contentType: html, has: "&lt;script&gt;alert", hasNot: "<script>alert"},
		{method: "GET", path: "/deploys/" + url.PathEscape("<script>alert(2)"), status: 404, contentType: html, has: "Not found", hasNot: "<script>alert"},
		{method: "GET", path: "/services/orders/span?from=2026-10-14T05:00:00Z&to=2026-10-14T06:00:00Z", status: 200, contentType: html, has: "span without a deploy"},
		{method: "GET", path: "/services/orders/span?from=x&to=y", status: 400, contentType: html, has: "from &#34;x&#34; is not a time"},
		{method: "GET", path: "/services/none/span?from=2026-10-14T05:00:00Z&to=2026-10-14T06:00:00Z", status: 404, contentType: html},
		{method: "GET", path: "/deploys/d1?from=2026-10-14T06:00:00Z&to=2026-10-14T06:01:00Z", status: 200, contentType: html, has: `href="/deploys/d1">Back to the whole window`},
		{method: "GET", path: "/deploys/d1?from=2026-10-14T06:00:00Z&to=2026-10-14T06:01:00Z", status: 200, contentType: html, has: `sse-connect="/deploys/d1/stream?from=2026-10-14T06%3A00%3A00Z&amp;to=2026-10-14T06%3A01%3A00Z"`},
		{method: "GET", path: "/deploys/d1?from=2026-10-14T06:00:00Z&to=2026-10-14T05:59:30Z", status: 400, contentType: html, has: "must end after it begins"},
		{method: "GET", path: "/deploys/d1?from=2026-10-14T06:00:00Z", status: 400, contentType: html, has: "to &#34;&#34; is not a time"},
		{method: "GET", path: "/deploys/d1?from=2026-10-14T03:00:00Z&to=2026-10-14T06:01:00Z", status: 400, contentType: html, has: "must lie in the deploy&#39;s window, from 2026-10-14T05:59:00Z to 2026-10-14T07:00:00Z"},
		{method: "GET", path: "/deploys/d1/stream?from=x&to=y", status: 400, contentType: html},
		{method: "GET", path: "/deploys/d1/phases.csv", status: 200, contentType: csvType, has: "phase,kind,inferred,targets,from,to,seconds,traffic,requests,failures,", hasNot: "<"},
		{method: "GET", path: "/deploys/d1/phases.csv?from=2026-10-14T06:00:00Z&to=2026-10-14T06:01:00Z", status: 200, contentType: csvType, has: "build,build,false,,2026-10-14T06:00:00.000000Z,2026-10-14T06:01:00.000000Z,60,user,,,"},
		{method: "GET", path: "/deploys/d1/targets.csv", status: 200, contentType: csvType, has: "api-1"},
		{method: "GET", path: "/deploys/a%2Fb/failures.csv", status: 200, contentType: csvType, has: "traffic,start,end,target"},
		{method: "GET", path: "/deploys/none/failures.csv", status: 404, contentType: html},
		{method: "GET", path: "/deploys/d1/secrets.csv", status: 404, contentType: html},
		{method: "GET", path: "/services/orders/span/phases.csv?from=2026-10-14T05:00:00Z&to=2026-10-14T06:00:00Z", status: 200, contentType: csvType, has: "whole,whole"},
		{method: "GET", path: "/services/orders/span/phases.csv?from=2026-10-14T05:00:00Z", status: 400, contentType: html},
		{method: "GET", path: "/api/v1/deploys/d1/report?from=2026-10-14T06:00:00Z&to=2026-10-14T06:01:00Z", status: 200, contentType: jsonType, has: `"part_of":{"from":"2026-10-14T05:59:00.000000Z"`},
		{method: "GET", path: "/collectors", status: 200, contentType: html, has: "Collectors"},
		{method: "GET", path: "/retrospectives/new", status: 200, contentType: html, has: `<option value="orders"`},
		{method: "GET", path: "/retrospectives/nothing", status: 404, contentType: html},
		{method: "GET", path: "/nowhere", status: 404, contentType: html, has: "no page at this address"},
		{method: "GET", path: "/nowhere", header: map[string]string{"Accept": "application/json"}, status: 404, contentType: problem},
		{method: "DELETE", path: "/", status: 405, contentType: html},
		{method: "GET", path: "/metrics", status: 200, contentType: "text/plain; version=0.0.4; charset=utf-8; escaping=underscores", has: "gapless_build_info"},
		{method: "GET", path: "/static/app.css", status: 404, contentType: "text/plain; charset=utf-8"},
		{method: "GET", path: "/openapi.json", status: 200, contentType: jsonType, has: `"openapi"`},

		{method: "GET", path: "/api/v1/deploys?limit=1", status: 200, contentType: jsonType, has: `"verdict":null`, hasNot: `"d1"`},
		{method: "GET", path: "/api/v1/deploys?limit=zero", status: 400, contentType: problem, has: "limit"},
		{method: "GET", path: "/api/v1/deploys/d1", status: 200, contentType: jsonType, has: `"started_at":"2026-10-14T06:00:00.000000Z","reported_at":null`},
		{method: "GET", path: "/api/v1/deploys/a%2Fb", status: 200, contentType: jsonType, has: `"page":"/deploys/a%2Fb"`},
		{method: "GET", path: "/api/v1/deploys/d1/report", status: 200, contentType: jsonType, has: `"schema":1`},
		{method: "GET", path: "/api/v1/deploys/none/report", status: 404, contentType: problem, has: `"status":404`},
		{method: "GET", path: "/api/v1/deploys/none/events", status: 404, contentType: problem},
		{method: "POST", path: "/api/v1/deploys", body: `{"service":"other"}`, status: 404, contentType: problem, has: `known are: orders.`},
		{method: "POST", path: "/api/v1/deploys", body: `{"service":"orders","kind":"sideways"}`, status: 400, contentType: problem, has: "sideways"},
		{method: "POST", path: "/api/v1/deploys", body: `{"service":"orders","id":".."}`, status: 400, contentType: problem, has: "cannot be an id"},
		{method: "POST", path: "/api/v1/deploys", body: `{"service":"orders","id":"a/../b"}`, status: 400, contentType: problem, has: "has a slash"},
		{method: "POST", path: "/api/v1/deploys", body: `{"service":"orders","id":"a\u0000b"}`, status: 400, contentType: problem, has: "control characters"},
		{method: "POST", path: "/api/v1/deploys", body: `{"service":"orders","id":"` + strings.Repeat("x", 201) + `"}`, status: 400, contentType: problem, has: "more than 200"},
		{method: "POST", path: "/api/v1/deploys", body: `{"service":"orders","at":"yesterday"}`, status: 400, contentType: problem, has: `The body is not a deploy: at \"yesterday\" is not a time; allowed: RFC 3339, such as 2026-10-14T03:00:00Z.`},
		{method: "POST", path: "/api/v1/deploys/d1/steps", body: `[{"kind":"drain.marked","at":7}]`, status: 400, contentType: problem, has: `at 7 is not a time; allowed: RFC 3339`},
		{method: "GET", path: "/api/v1/deploys/d1/report?from=noon&to=2026-10-14T06:01:00Z", status: 400, contentType: problem, has: `from \"noon\" is not a time; allowed: RFC 3339`},
		{method: "POST", path: "/api/v1/deploys", body: `{"service"`, status: 400, contentType: problem},
		{method: "POST", path: "/api/v1/deploys", body: strings.Repeat(" ", maxBody+1), status: 413, contentType: problem},
		{method: "POST", path: "/api/v1/deploys", body: `{"service":"orders","id":"x1"}`, header: map[string]string{"Sec-Fetch-Site": "cross-site"}, status: 403, contentType: problem},
		{method: "POST", path: "/api/v1/deploys/d1/steps", body: `{"kind":"drain.sideways","at":"2026-10-14T06:00:01Z"}`, status: 400, contentType: problem, has: "drain.sideways"},
		{method: "POST", path: "/api/v1/deploys/d1/steps", body: `[]`, status: 400, contentType: problem},
		{method: "POST", path: "/api/v1/deploys/none/steps", body: `{"kind":"drain.marked","at":"2026-10-14T06:00:01Z"}`, status: 404, contentType: problem},
		{method: "POST", path: "/api/v1/deploys/d1/steps", body: `{"deploy":"other","kind":"drain.marked","at":"2026-10-14T06:00:01Z"}`, status: 400, contentType: problem},
		{method: "POST", path: "/api/v1/services/nobody/probes", body: `{"probe":"store","vantage":"office","from":"2026-10-14T06:00:00Z","to":"2026-10-14T06:00:01Z","requests":[]}`, status: 404, contentType: problem, has: "known are: orders."},
		{method: "POST", path: "/api/v1/services/orders/probes", body: `{"probe":"shop","vantage":"office","from":"2026-10-14T06:00:00Z","to":"2026-10-14T06:00:01Z","requests":[]}`, status: 404, contentType: problem, has: "it has: store."},
		{method: "POST", path: "/api/v1/services/orders/probes", body: `{"probe":"store","vantage":"a@b","from":"2026-10-14T06:00:00Z","to":"2026-10-14T06:00:01Z","requests":[]}`, status: 400, contentType: problem, has: "has an @"},
		{method: "POST", path: "/api/v1/services/orders/probes", body: `{"probe":"store","vantage":"office","from":"2026-10-14T06:00:02Z","to":"2026-10-14T06:00:01Z","requests":[]}`, status: 400, contentType: problem, has: "no stretch of time"},
		{method: "POST", path: "/api/v1/services/orders/probes", body: `{"probe":"store","vantage":"office","from":"2026-10-14T06:00:00Z","to":"2026-10-14T06:00:01Z","requests":[{"id":"r-1","sent":"2026-10-14T06:00:00Z","outcome":"fine"}]}`, status: 400, contentType: problem, has: "Request 1: outcome"},
		{method: "POST", path: "/api/v1/services/orders/probes", body: `{"probe":"store","vantage":"office","from":"2026-10-14T06:00:00Z","to":"2026-10-14T06:00:01Z","requests":[{"id":"r-1","sent":"2026-10-14T06:00:00Z","status":200,"outcome":"ok"}]}`, status: 204},
		{method: "POST", path: "/retrospectives", body: "service=orders&from=2026-10-14T06:00&to=2026-10-14T05:00", header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, status: 422, contentType: html, has: "must end after it begins"},
		{method: "POST", path: "/retrospectives", body: "service=%3Cscript%3E&from=2026-10-14T05:00&to=2026-10-14T06:00", header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, status: 422, contentType: html, hasNot: "<script>alert"},
	} {
		got, body := s.request(t, test.method, test.path, test.body, test.header)
		name := test.method + " " + test.path
		if got.StatusCode != test.status || got.Header.Get("Content-Type") != test.contentType {
			t.Errorf("%s: %d %q, want %d %q; %.300s", name, got.StatusCode, got.Header.Get("Content-Type"), test.status, test.contentType, body)
		}
		if !strings.Contains(body, test.has) || test.hasNot != "" && strings.Contains(body, test.hasNot) {
			t.Errorf("%s: the body has not %q, or has %q: %.400s", name, test.has, test.hasNot, body)
		}
		for header, want := range map[string]string{"Content-Security-Policy": contentPolicy, "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin"} {
			if got.Header.Get(header) != want {
				t.Errorf("%s: %s is %q", name, header, got.Header.Get(header))
			}
		}
		if got.Header.Get("X-Request-Id") == "" {
			t.Errorf("%s: no request id", name)
		}
	}
}

func TestPolicyAllowsNothingInline(t *testing.T) {
	if strings.Contains(contentPolicy, "unsafe") || !strings.HasPrefix(contentPolicy, "default-src 'none'") {
		t.Error(contentPolicy)
	}
}

func TestTellingTwiceStoresOnce(t *testing.T) {
	s := newServer(t, Config{})
	tell := func(path, body string, want int, stored string) {
		t.Helper()
		got, told := s.request(t, "POST", path, body, nil)
		if got.StatusCode != want || !strings.Contains(told, `"stored":`+stored) {
			t.Errorf("POST %s %s: %d %s", path, body, got.StatusCode, told)
		}
	}
	start := `{"id":"d9","service":"orders","kind":"rolling","version_before":"a","version_after":"b","at":"2026-10-14T06:00:00Z"}`
	tell("/api/v1/deploys", start, 201, "true")
	tell("/api/v1/deploys", start, 200, "false")
	tell("/api/v1/deploys", `{"deploy":"d10","service":"orders","kind":"deploy.started","deploy_kind":"fault","at":"2026-10-14T06:50:00Z"}`, 201, "true")
	mark := `{"kind":"drain.marked","target":"10.0.0.1:80","at":"2026-10-14T06:00:05Z"}`
	tell("/api/v1/deploys/d9/steps", mark, 201, "true")
	tell("/api/v1/deploys/d9/steps", mark, 200, "false")
	tell("/api/v1/deploys/d9/steps", `[`+mark+`,{"kind":"deploy.reported","result":"succeeded","at":"2026-10-14T06:05:00Z","service":"orders","deploy":"d9"}]`, 201, "true")
	for path, ahead := range map[string]string{
		"/api/v1/deploys":          `{"id":"d11","service":"orders","at":"2026-10-14T07:01:01Z"}`,
		"/api/v1/deploys/d9/steps": `{"kind":"drain.marked","at":"9999-01-01T00:00:00Z"}`,
	} {
		if got, told := s.request(t, "POST", path, ahead, nil); got.StatusCode != 400 || !strings.Contains(told, "an hour ahead of the server's clock, 2026-10-14T06:01:00Z") {
			t.Errorf("POST %s %s: %d %s", path, ahead, got.StatusCode, told)
		}
	}
	deploy, err := s.db.Deploy(t.Context(), "d9")
	if err != nil || deploy.Result != "succeeded" || deploy.VersionAfter != "b" || deploy.Source != "api" || deploy.ReportedAt.IsZero() {
		t.Errorf("stored %+v, %v", deploy, err)
	}
	fault, err := s.db.Deploy(t.Context(), "d10")
	if err != nil || fault.Kind != analysis.KindFault {
		t.Errorf("stored %+v, %v", fault, err)
	}
	observations, err := s.db.Observations(t.Context(), "d9")
	if err != nil {
		t.Fatal(err)
	}
	marks := 0
	for _, step := range observations.Steps {
		if step.Kind == analysis.StepDrainMarked {
			marks++
			if step.Target != "api-1" {
				t.Errorf("the step's target is %q: an address must become its name", step.Target)
			}
		}
	}
	if marks != 1 {
		t.Errorf("%d marks stored, want 1", marks)
	}
}

func TestStepsAreAllStoredOrNone(t *testing.T) {
	s := newServer(t, Config{})
	s.start(t, "d1", began)
	if err := s.db.PutService(t.Context(), analysis.Service{Name: "other"}); err != nil {
		t.Fatal(err)
	}
	steps := func() int {
		t.Helper()
		observations, err := s.db.Observations(t.Context(), "d1")
		if err != nil {
			t.Fatal(err)
		}
		return len(observations.Steps)
	}
	before := steps()
	const mark, late = `{"kind":"drain.marked","target":"api-1","at":"2026-10-14T06:00:05Z"}`, `{"kind":"deploy.reported","result":"lost","at":"2026-10-14T06:05:00Z"}`
	if got, body := s.request(t, "POST", "/api/v1/deploys/d1/steps", "["+mark+","+late+"]", nil); got.StatusCode != 400 || steps() != before {
		t.Errorf("%d %s, %d steps more", got.StatusCode, body, steps()-before)
	}
	for _, body := range []string{mark, `{"service":"orders","kind":"drain.marked","at":"2026-10-14T06:00:05Z"}`, `{"service":"orders","kind":"deploy.reported","result":"failed","at":"2026-10-14T06:05:00Z"}`} {
		if got, told := s.request(t, "POST", "/api/v1/deploys/none/steps", body, nil); got.StatusCode != 404 || !strings.Contains(told, `There is no deploy \"none\"`) {
			t.Errorf("%s of a deploy that is not known: %d %s", body, got.StatusCode, told)
		}
	}
	// In one call the order does not matter.
	all := `[{"kind":"deploy.reported","result":"succeeded","at":"2026-10-14T06:05:00Z"},` + mark + `,{"service":"orders","kind":"deploy.started","at":"2026-10-14T06:00:00Z"}]`
	if got, told := s.request(t, "POST", "/api/v1/deploys/d2/steps", all, nil); got.StatusCode != 201 || strings.Contains(told, "warnings") {
		t.Errorf("%d %s", got.StatusCode, told)
	}
	if deploy, err := s.db.Deploy(t.Context(), "d2"); err != nil || deploy.Result != "succeeded" {
		t.Errorf("%+v, %v", deploy, err)
	}
	if got, told := s.request(t, "POST", "/api/v1/deploys/d2/steps", all, nil); got.StatusCode != 200 || !strings.Contains(told, `"stored":false`) {
		t.Errorf("told again: %d %s", got.StatusCode, told)
	}
	before = steps()
	got, told := s.request(t, "POST", "/api/v1/deploys/d1/steps", `{"kind":"restart.began","target":"api-9","at":"2026-10-14T06:00:06Z"}`, nil)
	if got.StatusCode != 201 || !strings.Contains(told, `"warnings":["target \"api-9\"`) || steps() != before+1 {
		t.Errorf("an unknown target: %d %s, %d steps more", got.StatusCode, told, steps()-before)
	}
}

func TestWhoMayDoWhat(t *testing.T) {
	const open, read, write = "GET /", "GET /api/v1/deploys", "POST /api/v1/deploys"
	const form = "POST /retrospectives"
	bearer := func(secret string) map[string]string { return map[string]string{"Authorization": "Bearer " + secret} }
	basic := func(secret string) map[string]string {
		r := httptest.NewRequest("GET", "/", nil)
		r.SetBasicAuth("anybody", secret)
		return map[string]string{"Authorization": r.Header.Get("Authorization")}
	}
	for _, test := range []struct {
		name            string
		token, password string
		header          map[string]string
		allowed         []string
	}{
		{"nothing set", "", "", nil, []string{open, read, write, form}},
		{"token, without", "t", "", nil, []string{open, read}},
		{"token, with", "t", "", bearer("t"), []string{open, read, write, form}},
		{"token, wrong", "t", "", bearer("x"), []string{open, read}},
		{"token, empty", "t", "", bearer(""), []string{open, read}},
		{"token, by basic", "t", "", basic("t"), []string{open, read, write, form}},
		{"password, without", "", "p", nil, nil},
		{"password, with", "", "p", basic("p"), []string{open, read, write, form}},
		{"password, wrong", "", "p", basic("x"), nil},
		{"password, empty", "", "p", basic(""), nil},
		{"both, without", "t", "p", nil, nil},
		{"both, password", "t", "p", basic("p"), []string{open, read, form}},
		{"both, token", "t", "p", bearer("t"), []string{open, read, write, form}},
	} {
		s := newServer(t, Config{Token: test.token, Password: test.password})
		for _, call := range []string{open, read, write, form} {
			method, path, _ := strings.Cut(call, " ")
			got, body := s.request(t, method, path, "{}", test.header)
			allowed := strings.Contains(strings.Join(test.allowed, ","), call)
			if allowed == (got.StatusCode == http.StatusUnauthorized) {
				t.Errorf("%s, %s: %d %.200s", test.name, call, got.StatusCode, body)
			}
			if !allowed && got.Header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s, %s: no challenge", test.name, call)
			}
		}
		for _, path := range []string{"/metrics", "/openapi.json", "/static/app.css", "/deploys/x/stream"} {
			got, _ := s.request(t, "GET", path, "", test.header)
			if closed := test.password != "" && len(test.allowed) == 0; closed != (got.StatusCode == http.StatusUnauthorized) {
				t.Errorf("%s, GET %s: %d", test.name, path, got.StatusCode)
			}
		}
	}
}

func TestInternalErrorsShowNoDetail(t *testing.T) {
	var logged strings.Builder
	s := newServer(t, Config{Judge: func(analysis.Observations) analysis.Report { panic("secret detail") }, Log: textLog(&logged)})
	s.start(t, "d1", began)
	for _, path := range []string{"/deploys/d1", "/api/v1/deploys/d1/report"} {
		got, body := s.request(t, "GET", path, "", nil)
		id := got.Header.Get("X-Request-Id")
		if got.StatusCode != 500 || strings.Contains(body, "secret") || !strings.Contains(body, id) {
			t.Errorf("%s: %d %s", path, got.StatusCode, body)
		}
		if !strings.Contains(logged.String(), id) || !strings.Contains(logged.String(), "secret detail") {
			t.Errorf("the log lacks %s or the detail: %s", id, logged.String())
		}
	}
}

func TestDeployStream(t *testing.T) {
	state := analysis.WindowOpen
	asked := make(chan bool, 100)
	s := newServer(t, Config{Judge: func(o analysis.Observations) analysis.Report {
		asked <- true
		r := analysis.Judge(o)
		r.Window.State = state
		return r
	}})
	s.pace.judge, s.pace.heartbeat = 10*time.Millisecond, time.Hour
	s.start(t, "d1", began)
	events := s.stream(t, "/deploys/d1/stream")
	first := <-events
	page, _ := s.requestBody(t, "/deploys/d1")
	if first.name != "deploy" || !strings.Contains(strings.Join(strings.Fields(page), " "), strings.Join(strings.Fields(first.data), " ")) {
		t.Errorf("the stream's first event is not what the page shows: %s", first.name)
	}
	for len(asked) > 0 {
		<-asked
	}
	// Another service's change asks nothing, and the same content is not sent twice.
	if err := s.db.PutService(t.Context(), analysis.Service{Name: "other"}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-asked:
		t.Error("a change of another service was judged")
	case <-time.After(60 * time.Millisecond):
	}
	s.step(t, "d1", analysis.StepDrainMarked, began.Add(time.Minute))
	if next := <-events; next.name != "deploy" || !strings.Contains(next.data, "drain marked") {
		t.Errorf("the step did not reach the stream: %s %.200s", next.name, next.data)
	}
	state = analysis.WindowSealed
	s.step(t, "d1", analysis.StepRestartBegan, began.Add(2*time.Minute))
	if next := <-events; next.name != "deploy" {
		t.Errorf("got %s", next.name)
	}
	if next := <-events; next.name != "sealed" {
		t.Errorf("a sealed window ends its stream with %s", next.name)
	}
	if _, more := <-events; more {
		t.Error("the stream goes on after its end")
	}
}

func TestStreamsEndWithTheServerAndBeatMeanwhile(t *testing.T) {
	s := newServer(t, Config{})
	s.pace.heartbeat = 5 * time.Millisecond
	s.start(t, "d1", began)
	for _, path := range []string{"/stream", "/collectors/stream", "/api/v1/deploys/d1/events"} {
		response, err := http.Get(s.url + path) //nolint:bodyclose // closed at the end of the test
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		lines := bufio.NewScanner(response.Body)
		lines.Buffer(nil, 1<<20)
		beat := false
		for lines.Scan() && !beat {
			beat = strings.HasPrefix(lines.Text(), ":")
		}
		if !beat {
			t.Errorf("%s: no heartbeat", path)
		}
		if path == "/api/v1/deploys/d1/events" {
			ended := make(chan error, 1)
			go func() { _, err := io.Copy(io.Discard, response.Body); ended <- err }()
			s.Close()
			select {
			case err := <-ended:
				if err != nil {
					t.Errorf("the stream broke off: %v", err)
				}
			case <-time.After(5 * time.Second):
				t.Error("the stream outlived the server")
			}
		}
	}
}

func TestAPIEventsCarryTheReport(t *testing.T) {
	s := newServer(t, Config{})
	s.start(t, "d1", began)
	var report analysis.Report
	event := <-s.stream(t, "/api/v1/deploys/d1/events")
	if err := json.Unmarshal([]byte(event.data), &report); err != nil || event.name != "report" || report.Deploy.ID != "d1" {
		t.Errorf("%s %.200s: %v", event.name, event.data, err)
	}
}

func TestRetrospectiveEndsInTheDeployPage(t *testing.T) {
	proceed := make(chan bool)
	var s *testServer
	s = newServer(t, Config{Collect: func(ctx context.Context, service string, from, _ time.Time, progress func(string, int, int)) error {
		progress("alb", 1, 2)
		<-proceed
		progress("alb", 2, 2)
		_, err := s.db.StartDeploy(ctx, analysis.Deploy{ID: "found", Service: service, Kind: analysis.KindRolling, StartedAt: from.Add(time.Minute)})
		return err
	}})
	form := url.Values{"service": {"orders"}, "from": {"2026-10-14T15:00:00"}, "to": {"2026-10-14T16:00"}}.Encode()
	header := map[string]string{"Content-Type": "application/x-www-form-urlencoded"}
	got, _ := s.request(t, "POST", "/retrospectives", form, header)
	place := got.Header.Get("Location")
	if got.StatusCode != http.StatusSeeOther || !strings.HasPrefix(place, "/retrospectives/") {
		t.Fatalf("%d %q", got.StatusCode, place)
	}
	if again, body := s.request(t, "POST", "/retrospectives", form, header); again.StatusCode != 422 || !strings.Contains(body, "being read already") {
		t.Errorf("a second reading of the same service: %d", again.StatusCode)
	}
	events := s.stream(t, place+"/stream")
	for event := range events {
		if strings.Contains(event.data, "1 of 2") {
			break
		}
	}
	if page, _ := s.requestBody(t, place); !strings.Contains(page, "2026-10-14 15:00:00") || !strings.Contains(page, "06:00:00.000 UTC") {
		t.Error("the page does not show the span in the zone and in UTC")
	}
	close(proceed)
	last := streamEvent{}
	for event := range events {
		if event.name == "done" {
			break
		}
		last = event
	}
	if !strings.Contains(last.data, `href="/deploys/found"`) || !strings.Contains(last.data, "data-goto") {
		t.Errorf("the last event leads nowhere: %s", last.data)
	}
	if got, _ := s.request(t, "GET", place, "", nil); got.StatusCode != http.StatusSeeOther || got.Header.Get("Location") != "/deploys/found" {
		t.Errorf("%d %q", got.StatusCode, got.Header.Get("Location"))
	}
}

func TestRetrospectivesAreOfferedWhereThereAreSources(t *testing.T) {
	collect := func(context.Context, string, time.Time, time.Time, func(string, int, int)) error { return nil }
	for _, test := range []struct {
		cfg   Config
		links int
	}{{Config{Collect: collect}, 2}, {Config{}, 0}} { // the head's and the empty list's
		page, _ := newServer(t, test.cfg).requestBody(t, "/")
		if n := strings.Count(page, `href="/retrospectives/new"`); n != test.links || strings.Contains(page, "read one that is over") != (test.links > 0) {
			t.Errorf("%d links to a retrospective, want %d", n, test.links)
		}
	}
}

func TestRetrospectiveThatFails(t *testing.T) {
	s := newServer(t, Config{Collect: func(context.Context, string, time.Time, time.Time, func(string, int, int)) error {
		return errors.New("list objects under <b>s3</b>: forbidden")
	}})
	got, _ := s.request(t, "POST", "/retrospectives", "service=orders&from=2026-10-14T15:00&to=2026-10-14T16:00", map[string]string{"Content-Type": "application/x-www-form-urlencoded"})
	s.running.Wait()
	page, status := s.requestBody(t, got.Header.Get("Location"))
	if status != 200 || !strings.Contains(page, "Not read whole") || !strings.Contains(page, "&lt;b&gt;s3") || !strings.Contains(page, "/services/orders/span?") {
		t.Errorf("%d %s", status, page)
	}
}

func TestCollectorsPageShowsErrorsAndLines(t *testing.T) {
	s := newServer(t, Config{})
	if err := s.db.AddRun(t.Context(), "orders", analysis.Run{Source: "elbv2", Kind: "elbv2", From: began, To: began.Add(time.Minute), At: began.Add(time.Minute), Code: "throttled", Error: "Rate <exceeded>"}); err != nil {
		t.Fatal(err)
	}
	page, _ := s.requestBody(t, "/collectors")
	if !strings.Contains(page, "failing: throttled") || !strings.Contains(page, "Rate &lt;exceeded&gt;") {
		t.Error(page)
	}
	metrics, _ := s.requestBody(t, "/metrics")
	if !strings.Contains(metrics, `gapless_source_failing{kind="elbv2",service="orders",source="elbv2"} 1`) {
		t.Error("the failing source is not in the metrics")
	}
}

func TestOpenAPIFitsTheRoutes(t *testing.T) {
	var document struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(openAPIDocument, &document); err != nil {
		t.Fatal(err)
	}
	described := map[string]bool{}
	for path, operations := range document.Paths {
		for method := range operations {
			if method != "parameters" {
				described[strings.ToUpper(method)+" "+path] = true
			}
		}
	}
	for _, route := range newServer(t, Config{}).echo.Routes() {
		if !strings.HasPrefix(route.Path, "/api/") && route.Path != "/openapi.json" || route.Method == http.MethodHead {
			continue
		}
		call := route.Method + " " + strings.NewReplacer(":id", "{id}", ":service", "{service}").Replace(route.Path)
		if !described[call] {
			t.Errorf("%s is not described", call)
		}
		delete(described, call)
	}
	for call := range described {
		t.Errorf("%s is described and does not exist", call)
	}
	checkRefs(t)
}

// checkRefs follows every reference of the document, and holds its list of step kinds
// against the vocabulary.
func checkRefs(t *testing.T) {
	t.Helper()
	var document map[string]any
	if err := json.Unmarshal(openAPIDocument, &document); err != nil {
		t.Fatal(err)
	}
	var walk func(any)
	walk = func(node any) {
		switch node := node.(type) {
		case []any:
			for _, each := range node {
				walk(each)
			}
		case map[string]any:
			if ref, ok := node["$ref"].(string); ok {
				var at any = document
				for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
					at, _ = at.(map[string]any)[part]
				}
				if at == nil {
					t.Errorf("%s leads nowhere", ref)
				}
			}
			for _, each := range node {
				walk(each)
			}
		}
	}
	walk(document)
	for _, kind := range analysis.StepKinds {
		if !strings.Contains(string(openAPIDocument), `"`+string(kind)+`"`) {
			t.Errorf("step kind %s is not described", kind)
		}
	}
}

// testServer is a console over a real database in a temporary file.
type testServer struct {
	*Server
	db  *store.DB
	url string
}

func newServer(t *testing.T, cfg Config) *testServer {
	t.Helper()
	db, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "gapless.db"))
	if err != nil {
		t.Fatal(err)
	}
	db.Now = func() time.Time { return began.Add(time.Minute) }
	service := analysis.Service{Name: "orders", Window: analysis.WindowSettings{Baseline: time.Minute, Tail: time.Minute, Settle: time.Minute, Max: time.Hour},
		Targets: []analysis.TargetName{{Name: "api-1", Address: "10.0.0.1:80"}}, Probes: []analysis.Probe{{Name: "store", Class: analysis.ClassProbe, Every: time.Second}}}
	if err := db.PutService(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	cfg.Store, cfg.Zone = db, time.FixedZone("Asia/Seoul", 9*60*60)
	if cfg.Now == nil {
		cfg.Now = db.Now
	}
	if cfg.Judge == nil {
		cfg.Judge = analysis.Judge
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	httpServer := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		s.Close()
		httpServer.Close()
		_ = db.Close()
	})
	return &testServer{Server: s, db: db, url: httpServer.URL}
}

func (s *testServer) start(t *testing.T, id string, at time.Time) {
	t.Helper()
	if _, err := s.db.StartDeploy(t.Context(), analysis.Deploy{ID: id, Service: "orders", Kind: analysis.KindRolling, StartedAt: at}); err != nil {
		t.Fatal(err)
	}
}

func (s *testServer) step(t *testing.T, deploy string, kind analysis.StepKind, at time.Time) {
	t.Helper()
	if _, err := s.db.AddSteps(t.Context(), "orders", []analysis.Step{{Deploy: deploy, Kind: kind, At: at, Target: "api-1", Source: "test"}}); err != nil {
		t.Fatal(err)
	}
}

// answer is a response whose body has been read.
type answer struct {
	StatusCode int
	Header     http.Header
}

func (s *testServer) request(t *testing.T, method, path, body string, header map[string]string) (answer, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Timeout: 10 * time.Second}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header}, string(content)
}

func (s *testServer) requestBody(t *testing.T, path string) (body string, status int) {
	t.Helper()
	response, body := s.request(t, "GET", path, "", nil)
	return body, response.StatusCode
}

type streamEvent struct{ name, data string }

// stream reads events until the server ends the stream or the test does.
func (s *testServer) stream(t *testing.T, path string) <-chan streamEvent {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), "GET", s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request) //nolint:bodyclose // closed by the goroutine that reads it
	if err != nil {
		t.Fatal(err)
	}
	if response.Header.Get("Content-Type") != "text/event-stream; charset=utf-8" {
		t.Fatalf("%s: %d %s", path, response.StatusCode, response.Header.Get("Content-Type"))
	}
	events := make(chan streamEvent)
	go func() {
		defer close(events)
		defer response.Body.Close()
		lines := bufio.NewScanner(response.Body)
		lines.Buffer(nil, 1<<22)
		event := streamEvent{}
		for lines.Scan() {
			line := lines.Text()
			switch {
			case strings.HasPrefix(line, "event: "):
				event.name = line[len("event: "):]
			case strings.HasPrefix(line, "data: "):
				event.data += line[len("data: "):] + "\n"
			case line == "" && event.name != "":
				select {
				case events <- event:
				case <-t.Context().Done():
					return
				}
				event = streamEvent{}
			}
		}
	}()
	return events
}

func textLog(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }
