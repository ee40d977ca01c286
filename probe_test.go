package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gapless/analysis"
)

// A prober at another place tells what it saw: its requests count, its gaps are its
// own, and the report no longer says that the probes looked from one place only.
func TestProbeFromAnotherPlace(t *testing.T) {
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") }))
	defer target.Close()
	config := filepath.Join(t.TempDir(), "gapless.yml")
	write(t, config, fmt.Sprintf(`
services:
  - name: orders-api
    window: {baseline: 1s, tail: 1s, settle: 1s, max: 1m}
    targets: [{name: api-1, address: "127.0.0.1:1"}]
    probes: [{name: store, url: %q, every: 50ms, timeout: 1s}]
`, target.URL))
	server := startServe(t, map[string]string{"GAPLESS_TOKEN": "secret"}, "-c", config, "--listen", "127.0.0.1:0")
	env := map[string]string{"GAPLESS_URL": server.url, "GAPLESS_TOKEN": "secret"}
	if status, _, stderr := runProgram(t, env, "deploy", "start", "--service", "orders-api", "--deploy", "d-1"); status != exitOK {
		t.Fatalf("start: exit %d, %s", status, stderr)
	}
	for _, wrong := range []struct {
		env  map[string]string
		args []string
		want string
	}{
		{map[string]string{"GAPLESS_URL": server.url}, nil, "401"},
		{env, []string{"--vantage", "a@b"}, "@"},
		{map[string]string{"GAPLESS_URL": "http://127.0.0.1:1"}, nil, "reach the server"},
	} {
		status, _, stderr := runProgram(t, wrong.env, append([]string{"probe", "-c", config, "--service", "orders-api"}, wrong.args...)...)
		if status != exitFailed || !strings.Contains(stderr, wrong.want) {
			t.Errorf("%v: exit %d, %s; want %q", wrong.args, status, stderr, wrong.want)
		}
	}
	start(t, env, "probe", "-c", config, "--service", "orders-api", "--vantage", "office")
	var report analysis.Report
	eventually(t, "both places are in the report", func() bool {
		if err := json.Unmarshal(get(t, server.url+"/api/v1/deploys/d-1/report"), &report); err != nil {
			t.Fatal(err)
		}
		sources := map[string]bool{}
		for _, c := range report.Coverage {
			sources[c.Source] = true
		}
		return sources["store"] && sources["store@office"]
	})
	for _, condition := range report.Verdict.Conditions {
		if condition.Code == "one-vantage-point" {
			t.Error("the report says that the probes looked from one place only")
		}
	}
}

// Requests that were kept while the server was away are told in calls that a server
// takes, and the stretch that they cover with the last.
func TestProbesKeptForLong(t *testing.T) {
	began := time.Date(2026, 10, 14, 6, 0, 0, 0, time.UTC)
	var got []analysis.ProbeReport
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var report analysis.ProbeReport
		if err := json.NewDecoder(r.Body).Decode(&report); err != nil {
			t.Error(err)
		}
		if err := report.Validate(); err != nil {
			t.Error(err)
		}
		if err := report.CheckTimes(began.Add(6*time.Hour), began, time.Second); err != nil {
			t.Error(err)
		}
		got = append(got, report)
		w.WriteHeader(http.StatusNoContent)
	}))
	defer server.Close()
	var requests []analysis.ProbeRequest
	for seq := range 5000 { // five hours
		sent := began.Add(time.Duration(seq) * 3600 * time.Millisecond)
		requests = append(requests, analysis.ProbeRequest{Run: "r1", Seq: seq, Sent: sent, Done: sent, Outcome: analysis.OutcomeTimeout})
	}
	run := analysis.Run{Source: "store@office", From: began, To: began.Add(time.Second), Code: "error", Error: "stopped"}
	sink := remoteProbes{client: &client{server: server.URL, http: server.Client()}, vantage: "office"}
	if err := sink.AddProbes(t.Context(), "orders", run, requests); err != nil {
		t.Fatal(err)
	}
	told := 0
	for i, report := range got {
		told += len(report.Requests)
		last := i == len(got)-1
		if last != (report.Code == "error") || last != report.To.After(report.From.Time) || len(report.Requests) > probesACall {
			t.Errorf("call %d: %s–%s, code %q, %d requests", i+1, report.From, report.To, report.Code, len(report.Requests))
		}
	}
	if told != 5000 {
		t.Errorf("%d requests were told", told)
	}
}
