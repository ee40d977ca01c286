package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gapless/analysis"
)

// The evidence of a small deploy: one user request a tenth of a second, a restart of
// api-1 that is (or is not) told to the load balancer first.
var auditStart = time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)

func TestAudit(t *testing.T) {
	naive := auditFolder(t, auditDeploy{id: "d-1", failing: true})
	sound := auditFolder(t, auditDeploy{id: "d-1"})
	two := auditFolder(t, auditDeploy{id: "d-1"}, auditDeploy{id: "d-2", after: time.Minute})
	none := auditFolder(t)
	span := []string{"--from", "2026-11-29T10:00:00Z", "--to", "2026-11-29T10:00:20Z"}
	early := []string{"--from", "2026-11-29T08:00:00Z", "--to", "2026-11-29T09:00:00Z"}
	for _, test := range []struct {
		name   string
		config string
		args   []string
		status int
		says   []string // in the report, or in what is printed beside it
	}{
		{"a deploy that lost requests", naive, nil, exitDisproved, []string{"d-1", "disproved", "2 of "}},
		{"the same by its id", naive, []string{"--deploy", "d-1"}, exitDisproved, []string{"d-1", "disproved"}},
		{"a deploy that lost none", sound, nil, exitOK, []string{"d-1", "supported"}},
		{"several deploys", two, nil, exitFailed, []string{"2 deploys", "--deploy", "d-1, d-2"}},
		{"one of several", two, []string{"--deploy", "d-2"}, exitOK, []string{"d-2", "supported"}},
		{"the only one in the span", two, span, exitOK, []string{"d-1", "supported"}},
		{"no deploy and no span", none, nil, exitFailed, []string{"--from", "--to"}},
		{"a span without a deploy", none, span, exitOK, []string{"without a deploy"}},
		{"nothing in the span", none, early, exitInconclusive, []string{"untested"}},
		{"unknown deploy", naive, []string{"--deploy", "d-9"}, exitFailed, []string{`"d-9"`}},
		{"unknown service", naive, []string{"--service", "nobody"}, exitFailed, []string{`"nobody"`, "orders-api"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			args := append([]string{"audit", "-c", test.config, "--service", "orders-api"}, test.args...)
			status, stdout, stderr := runProgram(t, nil, args...)
			if status != test.status {
				t.Errorf("exit %d, want %d\n%s%s", status, test.status, stdout, stderr)
			}
			for _, want := range test.says {
				if !strings.Contains(stdout+stderr, want) {
					t.Errorf("it does not say %q:\n%s%s", want, stdout, stderr)
				}
			}
		})
	}
}

func TestAuditFormats(t *testing.T) {
	config := auditFolder(t, auditDeploy{id: "d-1", failing: true})
	report := func(format string) string {
		out := filepath.Join(t.TempDir(), "report")
		status, stdout, stderr := runProgram(t, nil, "audit", "-c", config, "--service", "orders-api", "--format", format, "-o", out)
		if status != exitDisproved || stdout != "" {
			t.Fatalf("%s: exit %d, %q, %s", format, status, stdout, stderr)
		}
		body, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	var parsed analysis.Report
	if err := json.Unmarshal([]byte(report("json")), &parsed); err != nil {
		t.Fatal(err)
	}
	if parsed.Schema != 1 || parsed.Deploy.ID != "d-1" || parsed.Totals[analysis.ClassUser].Failures != 2 || len(parsed.Provenance.ConfigSHA256) != 64 {
		t.Errorf("report: %+v", parsed)
	}
	for format, wants := range map[string][]string{
		"text": {"orders-api deploy d-1: disproved", parsed.Verdict.Sentence, "Claims", "user", "api-1"},
		"md":   {"# orders-api deploy d-1: disproved", "| --- |", "## Findings"},
		"html": {"<!doctype html>", "<style>", "d-1", parsed.Verdict.Sentence},
	} {
		body := report(format)
		for _, want := range wants {
			if !strings.Contains(body, want) {
				t.Errorf("%s does not say %q:\n%.3000s", format, want, body)
			}
		}
	}
	if page := report("html"); strings.Contains(page, "<script") || strings.Contains(page, "<link") {
		t.Error("the HTML report needs other files")
	}
}

// A source that cannot be read is a blind spot, never an absence of failures.
func TestAuditOfMissingEvidence(t *testing.T) {
	config := auditFolder(t, auditDeploy{id: "d-1"})
	if err := os.RemoveAll(filepath.Join(filepath.Dir(config), "alb")); err != nil {
		t.Fatal(err)
	}
	status, stdout, stderr := runProgram(t, nil, "audit", "-c", config, "--service", "orders-api", "--format", "json")
	var report analysis.Report
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	if status != exitInconclusive {
		t.Errorf("exit %d with verdict %s", status, report.Verdict.State)
	}
	if !strings.Contains(stderr, "alb") {
		t.Errorf("standard error does not name the source: %s", stderr)
	}
	blind := 0
	for _, c := range report.Coverage {
		if c.Source == "alb" {
			blind += len(c.Blind)
		}
	}
	if blind == 0 {
		t.Error("the log that is missing is no blind spot")
	}
}

type auditDeploy struct {
	id      string
	after   time.Duration // after auditStart
	failing bool
}

// auditFolder writes a configuration with its sources and returns its path.
func auditFolder(t *testing.T, deploys ...auditDeploy) string {
	t.Helper()
	dir := t.TempDir()
	var log, states, steps strings.Builder
	spans := deploys
	if len(spans) == 0 {
		spans = []auditDeploy{{}} // traffic only
	}
	for _, d := range spans {
		start := auditStart.Add(d.after)
		stop, ready := start.Add(8*time.Second), start.Add(10*time.Second)
		for at := start; at.Before(start.Add(20 * time.Second)); at = at.Add(100 * time.Millisecond) {
			target, status := "127.0.0.1:1", 200
			if at.UnixMilli()/100%2 == 0 || (at.After(stop.Add(-2*time.Second)) && at.Before(ready.Add(time.Second))) {
				target = "127.0.0.1:2"
			}
			if d.failing && (at.Equal(stop.Add(200*time.Millisecond)) || at.Equal(stop.Add(400*time.Millisecond))) {
				target, status = "127.0.0.1:1", 502
			}
			fmt.Fprintln(&log, albLine(stamp(at), stamp(at.Add(5*time.Millisecond)), target, status, "Mozilla/5.0"))
		}
		for at := start.Add(-time.Second); at.Before(start.Add(21 * time.Second)); at = at.Add(500 * time.Millisecond) {
			for _, target := range []string{"api-1", "api-2"} {
				fmt.Fprintf(&states, `{"at":%q,"target":%q,"state":"healthy","reason":""}`+"\n", stamp(at), target)
			}
		}
		if d.id == "" {
			continue
		}
		for _, step := range []struct {
			kind, more string
			at         time.Time
		}{
			{"deploy.started", `,"deploy_kind":"rolling","version_after":"2"`, start.Add(5 * time.Second)},
			{"restart.began", `,"target":"api-1"`, stop},
			{"app.ready", `,"target":"api-1"`, ready},
			{"deploy.reported", `,"result":"succeeded"`, start.Add(15 * time.Second)},
		} {
			fmt.Fprintf(&steps, `{"deploy":%q,"service":"orders-api","kind":%q,"at":%q%s,"source":"workflow"}`+"\n", d.id, step.kind, stamp(step.at), step.more)
		}
	}
	write(t, filepath.Join(dir, "alb", "access.log"), log.String())
	write(t, filepath.Join(dir, "states.ndjson"), states.String())
	write(t, filepath.Join(dir, "steps.ndjson"), steps.String())
	config := filepath.Join(dir, "gapless.yml")
	write(t, config, `
services:
  - name: orders-api
    window: {baseline: 5s, tail: 5s, settle: 3s, max: 1m}
    targets:
      - {name: api-1, address: "127.0.0.1:1"}
      - {name: api-2, address: "127.0.0.1:2"}
    load_balancers:
      - name: public
        access_logs: [{name: alb, kind: alb, url: "file://alb"}]
        target_groups:
          - name: api
            health_check: {interval: 1s, timeout: 300ms, unhealthy: 2, healthy: 2}
            states: [{name: states, kind: file, path: states.ndjson, every: 500ms}]
    steps: [{name: steps, kind: file, path: steps.ndjson}]
`)
	return config
}

func stamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000000Z") }

// albLine is a line of an ALB access log: a request that came at start and was
// answered at end. A 502 is one that the target refused.
func albLine(start, end, target string, status int, userAgent string) string {
	times, targetStatus := "0.000 0.004 0.001", fmt.Sprint(status)
	if status == 502 {
		times, targetStatus = "-1 -1 -1", "-"
	}
	return fmt.Sprintf(`http %s app/lab/0123456789abcdef 10.9.8.7:40000 %s %s %d %s 120 340 "GET http://lb:80/v1/orders/1 HTTP/1.1" %q - - arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/api/0123456789abcdef "Root=1-1-1" "-" "-" 0 %s "forward" "-" "-" %q %q "-" "-" TID_1 "-" "-" "-" 127.0.0.1`,
		end, target, times, status, targetStatus, userAgent, start, target, targetStatus)
}
