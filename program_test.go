package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"gapless/lab"
)

// asProgram makes this test binary the program itself, for tests that need it in a
// process of its own.
const asProgram = "GAPLESS_TEST_AS_PROGRAM"

// The lab starts its nodes from the running binary, which here is this test.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == lab.NodeCommand {
		os.Exit(lab.ChildMain(os.Args[2:]))
	}
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

func TestUsageErrorsExit3(t *testing.T) {
	config := filepath.Join(t.TempDir(), "gapless.yml")
	write(t, config, "services: [{name: a, windo: {}}]")
	for name, test := range map[string]struct {
		args []string
		says string
	}{
		"nothing":                {nil, "Usage: gapless <command>"},
		"unknown command":        {[]string{"divine", "--deploy", "x"}, "unexpected argument divine"},
		"unknown flag":           {[]string{"serve", "--lissen", "x"}, "--lissen"},
		"missing flag":           {[]string{"audit", "--service", "a"}, "--config"},
		"unknown format":         {[]string{"audit", "-c", config, "--service", "a", "--format", "pdf"}, "pdf"},
		"unknown key":            {[]string{"audit", "-c", config, "--service", "a"}, ":1: services[0].windo: unknown key"},
		"no such file":           {[]string{"serve", "-c", config + "x"}, "no such file"},
		"unknown scenario":       {[]string{"demo", "--scenario", "earthquake"}, "rolling-naive"},
		"scenario twice":         {[]string{"demo", "--scenario", "kill", "--scenario", "kill"}, "twice"},
		"unknown log format":     {[]string{"parse", "--format", "apache"}, "apache"},
		"log format of an ALB":   {[]string{"parse", "--format", "alb", "--log-format", "main"}, "--log-format is for --format nginx"},
		"zone of nowhere":        {[]string{"parse", "--format", "haproxy", "--zone", "Nowhere/Land"}, "Nowhere/Land"},
		"half a span":            {[]string{"audit", "-c", config, "--service", "a", "--from", "2026-01-01T00:00:00Z"}, "--from and --to go together"},
		"not a time":             {[]string{"deploy", "start", "--service", "a", "--at", "noon"}, "RFC 3339"},
		"not a server":           {[]string{"deploy", "start", "--service", "a", "--server", "localhost"}, "not a URL"},
		"step that starts":       {[]string{"deploy", "step", "--service", "a", "--deploy", "d", "--kind", "deploy.started"}, "gapless deploy start"},
		"step of no kind":        {[]string{"deploy", "step", "--service", "a", "--deploy", "d", "--kind", "coffee"}, "coffee"},
		"address of everybody":   {[]string{"serve", "--listen", "0.0.0.0:0", "--db", filepath.Join(t.TempDir(), "a.db")}, "GAPLESS_PASSWORD"},
		"address of all, IPv6":   {[]string{"serve", "--listen", "[::]:0", "--db", filepath.Join(t.TempDir(), "a.db")}, "GAPLESS_TOKEN"},
		"address without a host": {[]string{"serve", "--listen", ":0", "--db", filepath.Join(t.TempDir(), "a.db")}, "GAPLESS_TOKEN"},
		"demo for everybody":     {[]string{"demo", "--exit", "--listen", "0.0.0.0:0"}, "GAPLESS_TOKEN"},
	} {
		t.Run(name, func(t *testing.T) {
			status, _, stderr := runProgram(t, nil, test.args...)
			if status != exitFailed || !strings.Contains(stderr, test.says) {
				t.Errorf("exit %d, want %d and %q in:\n%s", status, exitFailed, test.says, stderr)
			}
		})
	}
}

func TestHelpAndVersion(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"audit", "--help"}, {"version"}, {"--version"}} {
		status, stdout, stderr := runProgram(t, nil, args...)
		if status != exitOK || !strings.Contains(stdout, "gapless") || stderr != "" {
			t.Errorf("%v: exit %d, %q, %q", args, status, stdout, stderr)
		}
	}
}

// A server is told about a deploy, shows it, and ends with status 0 when asked to.
func TestServeAndDeploy(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "gapless.yml")
	write(t, config, `
services:
  - name: orders-api
    window: {baseline: 1s, tail: 100ms, settle: 100ms, max: 1m}
    targets: [{name: api-1, address: "127.0.0.1:1"}]
    probes: [{name: nobody, url: "http://127.0.0.1:1/", every: 50ms, timeout: 50ms}]
    app_logs: [{name: api-1, kind: file, url: "file://missing.log", target: api-1, every: 50ms}]
    steps: [{name: steps, kind: file, path: steps.ndjson, every: 50ms}]
`)
	server := startServe(t, map[string]string{"GAPLESS_TOKEN": "secret"}, "-c", config, "--listen", "127.0.0.1:0")
	env := map[string]string{"GAPLESS_URL": server.url, "GAPLESS_TOKEN": "secret"}

	status, stdout, stderr := runProgram(t, env, "deploy", "start", "--service", "orders-api", "--deploy", "d-1", "--version-after", "2")
	if status != exitOK || stdout != "d-1\n" {
		t.Fatalf("start: exit %d, %q, %s", status, stdout, stderr)
	}
	at := time.Now().UTC().Format(time.RFC3339Nano)
	for range 2 { // told twice, stored once
		status, _, stderr = runProgram(t, env, "deploy", "step", "--service", "orders-api", "--deploy", "d-1", "--kind", "restart.began", "--target", "api-1", "--at", at)
		if status != exitOK {
			t.Fatalf("step: exit %d, %s", status, stderr)
		}
	}
	status, _, stderr = runProgram(t, env, "deploy", "step", "--service", "orders-api", "--deploy", "d-1", "--kind", "drain.marked", "--target", "api-9")
	if status != exitOK || !strings.Contains(stderr, `warning: target "api-9"`) {
		t.Errorf("step of an unknown target: exit %d, %s", status, stderr)
	}
	token := filepath.Join(dir, "token")
	write(t, token, "secret\n")
	status, _, stderr = runProgram(t, map[string]string{"GAPLESS_URL": server.url}, "deploy", "finish", "--service", "orders-api", "--deploy", "d-1", "--token-file", token)
	if status != exitOK {
		t.Fatalf("finish: exit %d, %s", status, stderr)
	}
	status, _, stderr = runProgram(t, map[string]string{"GAPLESS_URL": server.url}, "deploy", "finish", "--service", "orders-api", "--deploy", "d-1")
	if status != exitFailed || !strings.Contains(stderr, "401") || !strings.Contains(stderr, "none was sent: set GAPLESS_TOKEN or --token-file") {
		t.Errorf("without the token: exit %d, %s", status, stderr)
	}
	status, _, stderr = runProgram(t, map[string]string{"GAPLESS_URL": server.url, "GAPLESS_TOKEN": "guess"}, "deploy", "finish", "--service", "orders-api", "--deploy", "d-1")
	if status != exitFailed || !strings.Contains(stderr, "the token that was sent") {
		t.Errorf("with a wrong token: exit %d, %s", status, stderr)
	}
	for want, args := range map[string][]string{
		"warning: deploy d-1 has already started at ":                                               {"start", "--version-after", "3"},
		"as version 2; that stays, and the start at ":                                               {"start", "--version-after", "3"},
		"warning: deploy d-1 has already reported succeeded at ":                                    {"finish", "--result", "failed"},
		"warning: restart.began at 2026-01-14T06:27:05Z lies outside of the deploy's window, from ": {"step", "--kind", "restart.began", "--at", "2026-01-14T06:27:05Z"},
	} {
		status, _, stderr = runProgram(t, env, append([]string{"deploy", args[0], "--service", "orders-api", "--deploy", "d-1"}, args[1:]...)...)
		if status != exitOK || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit %d, %s", args, status, stderr)
		}
	}
	status, _, stderr = runProgram(t, env, "gate", "--deploy", "nobody-1", "--wait", "1m")
	if status != exitFailed || !strings.Contains(stderr, "no verdict on deploy nobody-1") || !strings.Contains(stderr, `There is no deploy "nobody-1" here.`) {
		t.Errorf("gate of an unknown deploy: exit %d, %s", status, stderr)
	}
	status, _, stderr = runProgram(t, env, "deploy", "start", "--service", "nobody", "--deploy", "d-2")
	if status != exitFailed || !strings.Contains(stderr, "nobody") || !strings.Contains(stderr, "orders-api") {
		t.Errorf("unknown service: exit %d, %s", status, stderr)
	}

	var report struct {
		Deploy struct {
			ID           string
			VersionAfter string `json:"version_after"`
			Result       string
		}
		Window  struct{ State string }
		Verdict struct{ State, Sentence string }
		Steps   []struct{ Kind, Target, Source string }
		Totals  map[string]*struct{ Requests, Failures int }
	}
	// The probes write what they saw now and then: that may be late evidence here.
	eventually(t, "the window is sealed with what the probes saw", func() bool {
		body := get(t, server.url+"/api/v1/deploys/d-1/report")
		if err := json.Unmarshal(body, &report); err != nil {
			t.Fatalf("%v in %s", err, body)
		}
		return report.Window.State == "sealed" && report.Totals["probe"] != nil && report.Totals["probe"].Requests > 0
	})
	restarts := 0
	for _, step := range report.Steps {
		if step.Kind == "restart.began" {
			restarts++
		}
	}
	if report.Deploy.ID != "d-1" || report.Deploy.VersionAfter != "2" || report.Deploy.Result != "succeeded" || restarts != 1 {
		t.Errorf("report: %+v", report)
	}
	if report.Verdict.Sentence == "" {
		t.Error("the verdict has no sentence")
	}
	// The probe got no connection, which is a count; the log that is missing is
	// visible, and the program goes on.
	if probes := report.Totals["probe"]; probes == nil || probes.Requests == 0 || probes.Failures != probes.Requests {
		t.Errorf("probes: %+v", probes)
	}
	if page := string(get(t, server.url+"/collectors")); !strings.Contains(page, "missing.log") {
		t.Error("the collectors page does not show the log that is missing")
	}
	if page := string(get(t, server.url+"/")); !strings.Contains(page, "d-1") {
		t.Error("the list of deploys lacks the deploy")
	}

	if status := server.stop(); status != exitOK {
		t.Errorf("serve ended with %d", status)
	}
	if strings.Contains(server.stderr.String()+server.stdout.String(), "secret") {
		t.Error("a secret was printed")
	}
	for line := range strings.Lines(server.stderr.String()) {
		if strings.Count(line, " service=") > 1 {
			t.Errorf("a line of the log names its service twice: %s", line)
		}
	}
}

func TestServeTakesAnotherAddressWithAPassword(t *testing.T) {
	server := startServe(t, map[string]string{"GAPLESS_PASSWORD": "secret"}, "--listen", "0.0.0.0:0", "--db", filepath.Join(t.TempDir(), "gapless.db"))
	response, err := http.Get(server.url + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusUnauthorized {
		t.Errorf("a page without the password: %s", response.Status)
	}
	if status := server.stop(); status != exitOK {
		t.Errorf("serve ended with %d", status)
	}
}

func TestServeAnswersToItsConfiguredHosts(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "gapless.yml")
	write(t, config, "hosts: [gapless.example]\nservices: []\n")
	server := startServe(t, nil, "-c", config, "--listen", "127.0.0.1:0")
	for host, want := range map[string]int{"gapless.example": http.StatusOK, "other.example": http.StatusMisdirectedRequest, "localhost": http.StatusOK} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.url+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = host
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%s: %d, want %d", host, response.StatusCode, want)
		}
	}
}

func TestServeSaysThatThePortIsTaken(t *testing.T) {
	server := startServe(t, nil, "--listen", "127.0.0.1:0", "--db", filepath.Join(t.TempDir(), "gapless.db"))
	defer server.stop()
	status, _, stderr := runProgram(t, nil, "serve", "--listen", strings.TrimPrefix(server.url, "http://"), "--db", filepath.Join(t.TempDir(), "gapless.db"))
	if status != exitFailed || !strings.Contains(stderr, "in use") {
		t.Errorf("exit %d, %s", status, stderr)
	}
}

func TestOneServerADatabase(t *testing.T) {
	db := filepath.Join(t.TempDir(), "gapless.db")
	server := startServe(t, nil, "--listen", "127.0.0.1:0", "--db", db)
	for _, args := range [][]string{
		{"serve", "--listen", "127.0.0.1:0", "--db", db},
		{"demo", "--exit", "--listen", "127.0.0.1:0", "--db", db},
	} {
		status, _, stderr := runProgram(t, nil, args...)
		if status != exitFailed || !strings.Contains(stderr, "served by another gapless") || !strings.Contains(stderr, "--db") {
			t.Errorf("%v: exit %d, %s", args, status, stderr)
		}
	}
	// An audit into the same database goes on beside the server.
	config := auditFolder(t, auditDeploy{id: "d-1", failing: true})
	if status, _, stderr := runProgram(t, nil, "audit", "-c", config, "--service", "orders-api", "--db", db); status != exitDisproved {
		t.Errorf("audit: exit %d, %s", status, stderr)
	}
	response, err := http.Get(server.url + "/deploys/d-1")
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("the server does not show what the audit collected: %s %v", response.Status, err)
	}
	server.stop()
	again := startServe(t, nil, "--listen", "127.0.0.1:0", "--db", db)
	again.stop()
}

func TestParse(t *testing.T) {
	good := albLine("2026-11-29T10:00:00.100000Z", "2026-11-29T10:00:00.150000Z", "127.0.0.1:1", 200, "curl/8")
	file := filepath.Join(t.TempDir(), "log")
	write(t, file, good+"\n")
	status, stdout, stderr := runProgram(t, nil, "parse", "--format", "alb", file)
	if status != exitOK || !strings.Contains(stdout, `"ok":true`) {
		t.Errorf("exit %d, %s%s", status, stdout, stderr)
	}
	status, stdout, _ = runProgramWith(t, strings.NewReader(good+"\nnot a log line\n"), nil, "parse", "--format", "alb")
	if status != exitDisproved || strings.Count(stdout, "\n") != 2 || !strings.Contains(stdout, `"line":2,"ok":false`) {
		t.Errorf("exit %d, %s", status, stdout)
	}
	damaged := file + ".gz"
	write(t, damaged, "\x1f\x8b not gzip")
	status, stdout, stderr = runProgram(t, nil, "parse", "--format", "alb", damaged, file)
	if status != exitDisproved || strings.Count(stdout, `"ok":true`) != 1 || !strings.Contains(stderr, damaged) {
		t.Errorf("exit %d, %s%s", status, stdout, stderr)
	}
	nginx := "1791945000.123 502 10.0.1.11:8080\n"
	status, stdout, stderr = runProgramWith(t, strings.NewReader(nginx), nil, "parse", "--format", "nginx", "--log-format", "$msec $status $upstream_addr")
	if status != exitOK || !strings.Contains(stdout, `"target":"10.0.1.11:8080"`) {
		t.Errorf("exit %d, %s%s", status, stdout, stderr)
	}
	haproxy := "192.0.2.9:1 [26/Mar/2025:14:35:48.889] web web/s1 0/0/1/5/6 200 187 - - ---- 7/6/1/1/0 0/0 \"GET /x HTTP/1.1\"\n"
	status, stdout, stderr = runProgramWith(t, strings.NewReader(haproxy), nil, "parse", "--format", "haproxy", "--zone", "Asia/Seoul")
	if status != exitOK || !strings.Contains(stdout, `"start":"2025-03-26T05:35:48.889000Z"`) {
		t.Errorf("exit %d, %s%s", status, stdout, stderr)
	}
	status, _, stderr = runProgram(t, nil, "parse", "--format", "alb", file+"x")
	if status != exitFailed || !strings.Contains(stderr, "no such file") {
		t.Errorf("exit %d, %s", status, stderr)
	}
}

// served is a server that runs in this process.
type served struct {
	url            string
	stdout, stderr *buffer
	stop           func() int // ends it and returns its exit status
}

func startServe(t *testing.T, env map[string]string, args ...string) *served {
	t.Helper()
	return start(t, env, append([]string{"serve"}, args...)...)
}

// start runs a command that prints its address and goes on until it is stopped.
func start(t *testing.T, env map[string]string, args ...string) *served {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s := &served{stdout: &buffer{}, stderr: &buffer{}}
	status := make(chan int, 1)
	go func() { status <- run(ctx, args, lookup(env), strings.NewReader(""), s.stdout, s.stderr) }()
	s.stop = func() int {
		cancel()
		select {
		case code := <-status:
			status <- code
			return code
		case <-time.After(30 * time.Second):
			t.Fatalf("%v does not end:\n%s", args, s.stderr)
			return -1
		}
	}
	t.Cleanup(func() { s.stop() })
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
	eventually(t, "it prints its address", func() bool {
		s.url = address.FindString(s.stdout.String() + s.stderr.String())
		select {
		case code := <-status:
			status <- code
			t.Fatalf("%v ended with %d:\n%s", args, code, s.stderr)
		default:
		}
		return s.url != ""
	})
	return s
}

func runProgram(t *testing.T, env map[string]string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	return runProgramWith(t, strings.NewReader(""), env, args...)
}

func runProgramWith(t *testing.T, stdin io.Reader, env map[string]string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, err buffer
	status = run(t.Context(), args, lookup(env), stdin, &out, &err)
	return status, out.String(), err.String()
}

func lookup(env map[string]string) environment {
	return func(name string) string { return env[name] }
}

// buffer is a bytes.Buffer that may be read while a program writes to it.
type buffer struct {
	mu   sync.Mutex
	body bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.body.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.body.String()
}

func get(t *testing.T, url string) []byte {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v: %s", url, response.Status, err, body)
	}
	return body
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Helper()
	t.Fatalf("in vain waited until %s", what)
}

func write(t *testing.T, path, body string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
}
