package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gapless/analysis"
)

func TestGate(t *testing.T) {
	open, settling, sealed := analysis.WindowOpen, analysis.WindowSettling, analysis.WindowSealed
	for name, test := range map[string]struct {
		answers []gateAnswer // one after another; the last one again and again
		args    []string
		status  int
		says    string // in what is printed
		asked   int    // how often, at most; 0: does not matter
	}{
		"supported":                    {answers: []gateAnswer{gateReport(sealed, analysis.Supported)}, status: exitOK, says: "orders-api deploy d-1: supported", asked: 1},
		"disproved":                    {answers: []gateAnswer{gateReport(sealed, analysis.Disproved)}, status: exitDisproved, says: "Drain it first.", asked: 1},
		"inconclusive":                 {answers: []gateAnswer{gateReport(sealed, analysis.Inconclusive)}, status: exitInconclusive, says: "inconclusive", asked: 1},
		"untested":                     {answers: []gateAnswer{gateReport(sealed, analysis.Untested)}, status: exitInconclusive, says: "untested", asked: 1},
		"disproved while it is open":   {answers: []gateAnswer{gateReport(open, analysis.Disproved)}, status: exitDisproved, says: "One request failed.", asked: 1},
		"it settles":                   {answers: []gateAnswer{gateReport(open, analysis.Supported), gateReport(settling, analysis.Supported), gateReport(sealed, analysis.Supported)}, status: exitOK, says: "the window is settling, so far supported", asked: 3},
		"it is disproved in the end":   {answers: []gateAnswer{gateReport(settling, analysis.Supported), gateReport(settling, analysis.Disproved)}, status: exitDisproved, asked: 2},
		"it never settles":             {answers: []gateAnswer{gateReport(settling, analysis.Supported)}, status: exitInconclusive, says: "This is not final: the window is settling"},
		"it stays provisional":         {answers: []gateAnswer{provisional(gateReport(sealed, analysis.Supported))}, status: exitInconclusive, says: "This is not final"},
		"one look":                     {answers: []gateAnswer{gateReport(open, analysis.Supported)}, args: []string{"--wait", "0s"}, status: exitInconclusive, says: "This is not final", asked: 1},
		"one look that has an answer":  {answers: []gateAnswer{gateReport(sealed, analysis.Supported)}, args: []string{"--wait", "0s"}, status: exitOK, asked: 1},
		"one look without one":         {answers: []gateAnswer{{status: 503}}, args: []string{"--wait", "0s"}, status: exitFailed, says: "503", asked: 1},
		"no token":                     {answers: []gateAnswer{{status: 401}}, args: []string{"--wait", "30m"}, status: exitFailed, says: "GAPLESS_TOKEN", asked: 1},
		"unknown deploy":               {answers: []gateAnswer{{status: 404, body: `{"title":"Not found","detail":"There is nothing by that name here."}`}}, args: []string{"--wait", "30m"}, status: exitFailed, says: "There is nothing by that name here.", asked: 1},
		"a server that comes back":     {answers: []gateAnswer{{status: 503}, {status: 429}, {status: 200, body: "oops"}, gateReport(sealed, analysis.Supported)}, status: exitOK, asked: 4},
		"a server that goes away":      {answers: []gateAnswer{gateReport(open, analysis.Supported), {status: 502}}, status: exitFailed, says: "502"},
		"slow":                         {answers: []gateAnswer{{hang: true}}, status: exitFailed, says: "reach the server"},
		"slow in the middle":           {answers: []gateAnswer{{status: 200, body: `{"schema":1,`, hang: true}}, status: exitFailed, says: "read the server's answer"},
		"garbage":                      {answers: []gateAnswer{{status: 200, body: "<html>Welcome</html>"}}, status: exitFailed, says: "not a report"},
		"nothing":                      {answers: []gateAnswer{{status: 200}}, status: exitFailed, says: "not a report"},
		"an object":                    {answers: []gateAnswer{{status: 200, body: "{}"}}, status: exitFailed, says: "not the report of this deploy"},
		"the report of another deploy": {answers: []gateAnswer{{status: 200, body: strings.Replace(gateReport(sealed, analysis.Supported).body, "d-1", "d-2", 1)}}, status: exitFailed, says: "not the report of this deploy"},
		"another schema":               {answers: []gateAnswer{{status: 200, body: strings.Replace(gateReport(sealed, analysis.Supported).body, `"schema":1`, `"schema":2`, 1)}}, status: exitFailed, says: "not the report of this deploy"},
		"a verdict nobody knows":       {answers: []gateAnswer{gateReport(sealed, "splendid")}, status: exitFailed, says: "splendid"},
		"a verdict that is missing":    {answers: []gateAnswer{gateReport(sealed, "")}, status: exitFailed},
		"a window nobody knows":        {answers: []gateAnswer{gateReport("ajar", analysis.Supported)}, status: exitInconclusive, says: "ajar"},
		"probes only":                  {answers: []gateAnswer{withProbes(gateReport(sealed, analysis.Untested), analysis.Supported)}, args: []string{"--probe-only"}, status: exitOK, says: "By the probes alone"},
		"probes only, disproved":       {answers: []gateAnswer{withProbes(gateReport(open, analysis.Supported), analysis.Disproved)}, args: []string{"--probe-only"}, status: exitDisproved},
		"probes only, not yet":         {answers: []gateAnswer{withProbes(gateReport(open, analysis.Untested), analysis.Supported)}, args: []string{"--probe-only"}, status: exitInconclusive, says: "not final"},
		"probes only, users lost":      {answers: []gateAnswer{withProbes(gateReport(sealed, analysis.Disproved), analysis.Supported)}, args: []string{"--probe-only"}, status: exitDisproved, says: "One request failed."},
		"probes only, users unknown":   {answers: []gateAnswer{withProbes(gateReport(sealed, analysis.Inconclusive), analysis.Supported)}, args: []string{"--probe-only"}, status: exitInconclusive},
		"probes only, users too":       {answers: []gateAnswer{withProbes(gateReport(sealed, analysis.Supported), analysis.Untested)}, args: []string{"--probe-only"}, status: exitOK},
		"probes only, none":            {answers: []gateAnswer{withProbes(gateReport(sealed, analysis.Untested), analysis.Untested)}, args: []string{"--probe-only"}, status: exitInconclusive, says: "By the probes alone"},
		"probes only, no such claim":   {answers: []gateAnswer{gateReport(sealed, analysis.Untested)}, args: []string{"--probe-only"}, status: exitFailed, says: "no-probe-failure-caused"},
		"a wait before now":            {answers: []gateAnswer{gateReport(sealed, analysis.Supported)}, args: []string{"--wait=-1s"}, status: exitFailed, says: "less than nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				n := int(asked.Add(1)) - 1
				if r.URL.EscapedPath() != "/api/v1/deploys/d-1/report" || r.Header.Get("Authorization") != "Bearer secret" {
					t.Errorf("asked for %s as %q", r.URL, r.Header.Get("Authorization"))
				}
				test.answers[min(n, len(test.answers)-1)].send(w, r)
			}))
			defer server.Close()
			args := append([]string{"gate", "--deploy", "d-1"}, test.args...)
			if len(test.args) == 0 || test.args[0] == "--probe-only" {
				args = append(args, "--wait", "1200ms")
			}
			env := map[string]string{"GAPLESS_URL": server.URL, "GAPLESS_TOKEN": "secret"}
			began := time.Now()
			status, stdout, stderr := runProgram(t, env, args...)
			if status != test.status || !strings.Contains(stdout+stderr, test.says) {
				t.Errorf("exit %d, want %d and %q:\n%s%s", status, test.status, test.says, stdout, stderr)
			}
			if n := int(asked.Load()); test.asked > 0 && n != test.asked {
				t.Errorf("asked %d times, want %d", n, test.asked)
			}
			if status == exitFailed && stdout != "" {
				t.Errorf("a verdict was printed: %s", stdout)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

func TestGateOfAServerThatIsDown(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	began := time.Now()
	status, stdout, stderr := runProgram(t, map[string]string{"GAPLESS_URL": server.URL}, "gate", "--deploy", "d-1", "--wait", "500ms")
	if status != exitFailed || stdout != "" || !strings.Contains(stderr, "reach the server") {
		t.Errorf("exit %d: %s%s", status, stdout, stderr)
	}
	if took := time.Since(began); took < 500*time.Millisecond {
		t.Errorf("it gave up after %s", took)
	}
	// However long the wait, patience with a server that never answers ends.
	c := &gateCommand{Deploy: "d-1", Wait: time.Hour}
	client, err := newClient(server.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.wait(t.Context(), client, 300*time.Millisecond, io.Discard); err == nil {
		t.Error("no error of a server that is down")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.wait(ctx, client, time.Hour, io.Discard); err == nil {
		t.Error("no error of a gate that was stopped")
	}
	if status, _, _ := runProgram(t, map[string]string{"GAPLESS_URL": "localhost"}, "gate", "--deploy", "d-1"); status != exitFailed {
		t.Errorf("an address that is none: exit %d", status)
	}
}

// The gate of a real server, whose deploy lost requests.
func TestGateOfAServer(t *testing.T) {
	db, _ := auditedDatabase(t)
	server := startServe(t, nil, "--listen", "127.0.0.1:0", "--db", db)
	env := map[string]string{"GAPLESS_URL": server.url}
	status, stdout, stderr := runProgram(t, env, "gate", "--deploy", "d-1", "--wait", "10s")
	if status != exitDisproved || !strings.Contains(stdout, "orders-api deploy d-1: disproved") ||
		!strings.Contains(stdout, "restart-before-eject") || !strings.Contains(stdout, "Depends on") {
		t.Errorf("exit %d: %s%s", status, stdout, stderr)
	}
	if status, stdout, _ := runProgram(t, env, "gate", "--deploy", "d-1", "--probe-only"); status != exitDisproved || !strings.Contains(stdout, "disproved") {
		t.Errorf("probes only, while users lost requests: exit %d, %s", status, stdout)
	}
	if status, _, stderr := runProgram(t, env, "gate", "--deploy", "d-9", "--wait", "30m"); status != exitFailed || !strings.Contains(stderr, "404") {
		t.Errorf("unknown deploy: exit %d, %s", status, stderr)
	}
	// The bundle of a server is that of its database.
	file := t.TempDir() + "/a.zip"
	if status, _, stderr := runProgram(t, env, "bundle", "--deploy", "d-1", "-o", file); status != exitOK {
		t.Errorf("bundle: exit %d, %s", status, stderr)
	}
	if status, stdout, _ := runProgram(t, nil, "verify", file); status != exitOK || !strings.Contains(stdout, "disproved") {
		t.Errorf("verify: exit %d, %s", status, stdout)
	}
}

// gateAnswer is what a server says, or that it does not.
type gateAnswer struct {
	status int
	body   string
	hang   bool
}

func (a gateAnswer) send(w http.ResponseWriter, r *http.Request) {
	if a.status != 0 {
		w.WriteHeader(a.status)
		_, _ = io.WriteString(w, a.body)
	}
	if a.hang {
		if flusher, ok := w.(http.Flusher); ok && a.status != 0 {
			flusher.Flush()
		}
		<-r.Context().Done()
	}
}

// report is an answer with a report of deploy d-1.
func gateReport(state analysis.WindowState, verdict analysis.VerdictState) gateAnswer {
	r := analysis.Report{
		Schema: 1, Deploy: analysis.DeployReport{ID: "d-1", Service: "orders-api"}, Window: analysis.WindowReport{State: state},
		Verdict: analysis.Verdict{State: verdict, Claim: analysis.ClaimNoUserFailureCaused, Sentence: "One request failed."},
		Claims:  []analysis.Claim{{ID: analysis.ClaimNoUserFailureCaused, State: verdict}},
	}
	if verdict == analysis.Disproved {
		r.Findings = []analysis.Finding{{Code: "restart-before-eject", Severity: analysis.SeverityHigh, Sentence: "It was stopped.", Remedy: "Drain it first."}}
	}
	return gateAnswerOf(r)
}

func provisional(a gateAnswer) gateAnswer {
	return withChange(a, func(r *analysis.Report) { r.Verdict.Conditions = []analysis.Condition{{Code: "provisional"}} })
}

func withProbes(a gateAnswer, state analysis.VerdictState) gateAnswer {
	return withChange(a, func(r *analysis.Report) {
		r.Claims = append(r.Claims, analysis.Claim{ID: analysis.ClaimNoProbeFailureCaused, Text: "No probe failed.", State: state})
	})
}

func withChange(a gateAnswer, change func(*analysis.Report)) gateAnswer {
	var r analysis.Report
	if err := json.Unmarshal([]byte(a.body), &r); err != nil {
		panic(fmt.Sprint(err))
	}
	change(&r)
	return gateAnswerOf(r)
}

func gateAnswerOf(r analysis.Report) gateAnswer {
	body, err := json.Marshal(r)
	if err != nil {
		panic(fmt.Sprint(err))
	}
	return gateAnswer{status: http.StatusOK, body: string(body)}
}
