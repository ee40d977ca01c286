package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A restart that nobody announced opens a deploy by itself; the announcement that
// comes late takes its place, and its address leads there.
func TestUnannouncedDeploy(t *testing.T) {
	dir := t.TempDir()
	config, log := filepath.Join(dir, "gapless.yml"), filepath.Join(dir, "api-1.log")
	line := func(at time.Time, text string) string {
		return fmt.Sprintf("%s  INFO 1 --- [main] app : %s\n", at.Format("2006-01-02T15:04:05.000Z07:00"), text)
	}
	now := time.Now().UTC()
	stopped := now.Add(-30 * time.Second)
	write(t, log, line(now.Add(-5*time.Minute), "Started App in 1.0 seconds (process running for 1.2)")+line(stopped, "Commencing graceful shutdown. Waiting for active requests to complete"))
	write(t, config, `
services:
  - name: orders-api
    window: {baseline: 1m, tail: 5m, settle: 1m, max: 1h}
    targets: [{name: api-1, address: "127.0.0.1:1"}]
    app_logs: [{name: api-1, kind: file, url: "file://api-1.log", target: api-1, every: 50ms}]
    log_rules: [spring-boot]
`)
	server := startServe(t, nil, "-c", config, "--listen", "127.0.0.1:0")
	type deploy struct{ ID, Source, Kind string }
	deploys := func() []deploy {
		var body struct{ Deploys []deploy }
		if err := json.Unmarshal(get(t, server.url+"/api/v1/deploys"), &body); err != nil {
			t.Fatal(err)
		}
		return body.Deploys
	}
	var noticed string
	eventually(t, "the restart is noticed", func() bool {
		all := deploys()
		if len(all) == 1 {
			noticed = all[0].ID
		}
		return len(all) == 1 && all[0].Source == "noticed" && all[0].Kind == "rolling"
	})
	page := "/deploys/" + noticed
	if body := string(get(t, server.url+page)); !strings.Contains(body, "Nobody announced this deploy") {
		t.Error("the page does not say that nobody announced the deploy")
	}
	file, err := os.OpenFile(log, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString(line(now.Add(-20*time.Second), "Started App in 9.0 seconds (process running for 9.2)")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "more of it is seen", func() bool {
		var report struct {
			Deploy struct {
				SeenUntil time.Time `json:"seen_until"`
			}
		}
		return json.Unmarshal(get(t, server.url+"/api/v1/deploys/"+noticed+"/report"), &report) == nil && report.Deploy.SeenUntil.After(stopped)
	})

	status, _, stderr := runProgram(t, map[string]string{"GAPLESS_URL": server.url}, "deploy", "start", "--service", "orders-api", "--deploy", "d-1",
		"--at", now.Add(-40*time.Second).Format(time.RFC3339))
	if status != exitOK {
		t.Fatalf("start: exit %d, %s", status, stderr)
	}
	eventually(t, "they are one deploy", func() bool {
		all := deploys()
		return len(all) == 1 && all[0].ID == "d-1"
	})
	follow := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := follow.Get(server.url + page)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusMovedPermanently || response.Header.Get("Location") != "/deploys/d-1" {
		t.Errorf("%s answers %d, to %q", page, response.StatusCode, response.Header.Get("Location"))
	}
	for _, what := range []string{"", "/report?from=2026-01-01T00:00:00Z&to=2026-01-01T00:01:00Z", "/events", "/bundle"} {
		response, err := follow.Get(server.url + "/api/v1/deploys/" + noticed + what)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if want := "/api/v1/deploys/d-1" + what; response.StatusCode != http.StatusPermanentRedirect || response.Header.Get("Location") != want {
			t.Errorf("%s of the API answers %d, to %q; want to %q", what, response.StatusCode, response.Header.Get("Location"), want)
		}
	}
	status, stdout, stderr := runProgram(t, map[string]string{"GAPLESS_URL": server.url}, "gate", "--deploy", noticed, "--wait", "0s")
	if status != exitInconclusive || !strings.Contains(stdout, "Deploy "+noticed+" was announced later, as d-1: this is its report.") {
		t.Errorf("the gate: exit %d, %s%s", status, stdout, stderr)
	}
}
