//go:build peers

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gapless/analysis"
	"gapless/collectors/loki/lokitest"
)

// TestPeerLokiReadAndWritten runs the console beside a real Loki: it reads an
// application's log from there, and tells what it found; while Loki is away nothing
// waits for it, and what was to be told arrives, once, when it is back.
func TestPeerLokiReadAndWritten(t *testing.T) {
	loki := lokitest.Start(t)
	target, err := url.Parse(loki)
	if err != nil {
		t.Fatal(err)
	}
	var away atomic.Bool
	through := httputil.NewSingleHostReverseProxy(target)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			http.Error(w, "away", http.StatusServiceUnavailable)
			return
		}
		through.ServeHTTP(w, r)
	}))
	defer proxy.Close()

	dir := t.TempDir()
	config := filepath.Join(dir, "gapless.yml")
	write(t, config, fmt.Sprintf(`
publish: {loki: {url: %q, tenant: %s, labels: {job: gapless, env: test}}}
services:
  - name: orders-api
    window: {baseline: 5s, tail: 100ms, settle: 10s, max: 5m}
    targets: [{name: api-1, address: "127.0.0.1:1", aliases: [node-1]}]
    app_logs: [{name: loki, kind: loki, url: %q, query: '{app="orders"}', target_label: host, tenant: %s, every: 100ms, delay: 100ms}]
    log_rules: [spring-boot]
`, proxy.URL, lokitest.Tenant, proxy.URL, lokitest.Tenant))
	server := startServe(t, nil, "-c", config, "--listen", "127.0.0.1:0")
	tell := func(args ...string) {
		t.Helper()
		env := map[string]string{"GAPLESS_URL": server.url}
		if status, _, stderr := runProgram(t, env, append([]string{"deploy"}, args...)...); status != exitOK {
			t.Fatalf("%v: exit %d, %s", args, status, stderr)
		}
	}
	deploy := []string{"--service", "orders-api", "--deploy", "d-1"}
	start := time.Now().Truncate(time.Millisecond)
	at := func(ms int) string {
		return start.Add(time.Duration(ms) * time.Millisecond).UTC().Format(time.RFC3339Nano)
	}

	away.Store(true)
	tell(append([]string{"start", "--at", at(0), "--version-after", "v42"}, deploy...)...)
	tell(append([]string{"step", "--kind", "drain.marked", "--target", "api-1", "--at", at(500)}, deploy...)...)
	patiently(t, "the collectors page says that Loki is away", func() bool {
		page := string(get(t, server.url+"/collectors"))
		return strings.Contains(page, "2 markers waiting") && strings.Contains(page, "Loki answered 503")
	})
	lokitest.Push(t, loki, map[string]string{"app": "orders", "host": "node-1"}, []lokitest.Line{
		{At: start.Add(600 * time.Millisecond), Text: "2026-10-14T06:26:00.000+09:00  INFO 4711 --- [ionShutdownHook] o.s.b.w.e.tomcat.GracefulShutdown        : Commencing graceful shutdown. Waiting for active requests to complete"},
		{At: start.Add(900 * time.Millisecond), Text: "2026-10-14T06:26:00.300+09:00  INFO 4712 --- [           main] c.e.orders.OrdersApplication             : Started OrdersApplication in 2.3 seconds (process running for 2.9)"},
	})
	away.Store(false)
	// Told after a later one has arrived: an old Loki takes lines of a stream in order only.
	tell(append([]string{"step", "--kind", "target.registered", "--target", "api-1", "--at", at(950)}, deploy...)...)
	patiently(t, "the later step has arrived", func() bool { return len(markersIn(t, loki, `{job="gapless",env="test",kind="step"}`)) >= 2 })
	tell(append([]string{"step", "--kind", "target.deregistered", "--target", "api-1", "--at", at(550)}, deploy...)...)
	tell(append([]string{"finish", "--result", "succeeded", "--at", at(1000)}, deploy...)...)
	patiently(t, "the verdict has arrived", func() bool { return len(markersIn(t, loki, `{kind="verdict"}`)) > 0 })

	var report analysis.Report
	if err := json.Unmarshal(get(t, server.url+"/api/v1/deploys/d-1/report"), &report); err != nil {
		t.Fatal(err)
	}
	var steps []string
	for _, step := range report.Steps {
		if step.Source == "loki" && step.Target != nil && *step.Target == "api-1" && step.Inferred {
			steps = append(steps, string(step.Kind))
		}
	}
	if !slices.Equal(steps, []string{"restart.began", "app.ready"}) {
		t.Errorf("steps read from Loki: %v of %+v", steps, report.Steps)
	}

	server.stop()
	server = startServe(t, nil, "-c", config, "--listen", "127.0.0.1:0") // looks at everything anew
	tell("start", "--service", "orders-api", "--deploy", "d-2", "--at", at(30_000))
	patiently(t, "the next deploy has arrived", func() bool { return len(markersIn(t, loki, `{kind="deploy"}`)) == 3 })
	all := markersIn(t, loki, `{job="gapless",service="orders-api"}`)
	count := map[string]int{}
	for _, m := range all {
		count[m]++
		if count[m] > 1 {
			t.Errorf("told twice: %s", m)
		}
	}
	for _, want := range []string{
		at(0) + ` text="orders-api d-1: deploy began · v42" deploy="d-1" version_after="v42"`,
		at(500) + ` text="orders-api d-1: api-1 · drain.marked" deploy="d-1" step="drain.marked" target="api-1" source="cli" inferred="false"`,
		at(550) + ` text="orders-api d-1: api-1 · target.deregistered" deploy="d-1" step="target.deregistered" target="api-1" source="cli" inferred="false"`,
		at(600) + ` text="orders-api d-1: api-1 · restart.began (inferred)" deploy="d-1" step="restart.began" target="api-1" source="loki" inferred="true"`,
		at(1000) + ` text="orders-api d-1: reported · succeeded" deploy="d-1" result="succeeded"`,
	} {
		if !slices.ContainsFunc(all, func(m string) bool { return strings.HasPrefix(m, want) }) {
			t.Errorf("not told: %s\nof %s", want, strings.Join(all, "\n"))
		}
	}
}

// patiently waits as long as a machine with other things to do may take.
func patiently(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("in vain waited until %s", what)
}

// markersIn are the lines that a Loki has for a query, each after its time.
func markersIn(t *testing.T, address, query string) []string {
	t.Helper()
	values := url.Values{"query": {query}, "limit": {"5000"}, "direction": {"forward"}, "start": {strconv.FormatInt(time.Now().Add(-time.Hour).UnixNano(), 10)}, "end": {strconv.FormatInt(time.Now().Add(time.Hour).UnixNano(), 10)}}
	request, err := http.NewRequest(http.MethodGet, address+"/loki/api/v1/query_range?"+values.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Scope-OrgID", lokitest.Tenant)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer struct {
		Data struct {
			Result []struct{ Values [][2]string }
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, stream := range answer.Data.Result {
		for _, value := range stream.Values {
			at, err := strconv.ParseInt(value[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, time.Unix(0, at).UTC().Format(time.RFC3339Nano)+" "+value[1])
		}
	}
	return lines
}
