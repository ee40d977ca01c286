//go:build peers

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gapless/analysis"
)

// A deploy behind real nginx: api-1 is taken out of its configuration by a reload,
// restarted and put back the same way; then api-2 is killed with requests in it. The
// judge, by nginx's own log, counts what the clients counted: nothing for api-1, and
// for api-2 the POSTs, which are not sent twice. The GETs are retried and masked.
func TestPeerNginx(t *testing.T) {
	p := newProxied(t, "nginx")
	config := func(servers ...string) {
		lines := ""
		for _, s := range servers {
			lines += fmt.Sprintf("server %s max_fails=1 fail_timeout=1s; ", s)
		}
		write(t, filepath.Join(p.dir, "nginx.conf"), fmt.Sprintf(`
user root;
worker_processes 2;
pid nginx.pid;
error_log error.log;
events { worker_connections 256; }
http {
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  log_format timed '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" '
    'rt=$request_time uct="$upstream_connect_time" uht="$upstream_header_time" urt="$upstream_response_time" ua="$upstream_addr" us="$upstream_status"';
  log_format json escape=json '{"msec":"$msec","remote_addr":"$remote_addr","request":"$request","status":"$status","request_time":"$request_time",'
    '"upstream_addr":"$upstream_addr","upstream_status":"$upstream_status","upstream_header_time":"$upstream_header_time","http_user_agent":"$http_user_agent"}';
  access_log access.log timed;
  access_log access.json json;
  upstream api { %s}
  server {
    listen %s;
    location / { proxy_pass http://api; proxy_set_header Connection close; add_header X-Attempts $upstream_addr always; }
  }
}
`, lines, p.listen))
	}
	config(p.api[0].address, p.api[1].address)
	nginx := p.start("nginx", "-p", p.dir, "-c", filepath.Join(p.dir, "nginx.conf"), "-g", "daemon off;")
	reload := func(servers ...string) {
		config(servers...)
		if err := nginx.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // nginx does not say when the new workers have taken over
	}
	p.traffic()
	p.step("deploy.started", "")
	p.step("drain.marked", "api-1")
	reload(p.api[1].address)
	p.step("restart.began", "api-1")
	p.api[0].kill()
	p.api[0].serve(t)
	p.step("app.ready", "api-1")
	reload(p.api[0].address, p.api[1].address)

	// In the midst of it the log rotates as logrotate does it.
	for _, name := range []string{"access.log", "access.json"} {
		if err := os.Rename(filepath.Join(p.dir, name), filepath.Join(p.dir, name+".1")); err != nil {
			t.Fatal(err)
		}
	}
	if err := nginx.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	time.Sleep(500 * time.Millisecond)

	p.api[1].killBusy(t)
	p.step("process.killed", "api-2")
	time.Sleep(500 * time.Millisecond)
	p.api[1].serve(t)
	p.step("app.ready", "api-2")
	time.Sleep(1500 * time.Millisecond)
	p.finish()

	text := p.audit("nginx", `{name: edge, kind: nginx, url: "file://access.log*"}`)
	asJSON := p.audit("json", `{name: edge, kind: nginx-json, url: "file://access.json*"}`)
	for name, report := range map[string]analysis.Report{"text": text, "json": asJSON} {
		p.compare(name, report)
		masked := 0
		for _, f := range report.Findings {
			if f.Code == "retry-masked" {
				masked += int(f.Values["masked"].(float64))
			}
		}
		if seen := int(p.masked.Load()); masked != seen || masked == 0 {
			t.Errorf("%s: %d requests whose failed attempt was hidden, the clients saw %d", name, masked, seen)
		}
	}
	// What was being done when it was killed is lost, and no more than that.
	for _, f := range text.Failures {
		if f.Target == nil || *f.Target != "api-2" || f.Status == nil || *f.Status != 502 || f.TargetStatus != nil || !strings.HasPrefix(f.Request, "POST") || f.Cause != analysis.CauseDeploy {
			t.Errorf("failed: %+v", f)
		}
	}
}

// The same behind real HAProxy, in another zone than ours. It does not send twice
// what it has sent once; only connections that were refused are tried elsewhere.
func TestPeerHAProxy(t *testing.T) {
	p := newProxied(t, "haproxy")
	p.env = []string{"TZ=KST-9"}
	config := func(servers ...int) {
		lines := ""
		for _, i := range servers {
			lines += fmt.Sprintf("  server api-%d %s check inter 400ms fall 2 rise 1\n", i+1, p.api[i].address)
		}
		write(t, filepath.Join(p.dir, "haproxy.cfg"), fmt.Sprintf(`
global
  log stdout len 8192 format raw local0
defaults
  mode http
  log global
  option httplog
  option dontlognull
  option redispatch 1
  retries 2
  timeout connect 1s
  timeout client 5s
  timeout server 5s
frontend public
  bind %s
  http-request capture req.hdr(User-Agent) len 64
  default_backend api
backend api
  balance roundrobin
  http-reuse never
%s`, p.listen, lines))
	}
	config(0, 1)
	haproxy := p.start("haproxy", "-W", "-f", filepath.Join(p.dir, "haproxy.cfg"))
	reload := func(servers ...int) {
		config(servers...)
		if err := haproxy.Process.Signal(syscall.SIGUSR2); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
	}
	p.traffic()
	p.step("deploy.started", "")
	p.step("drain.marked", "api-1")
	reload(1)
	p.step("restart.began", "api-1")
	p.api[0].kill()
	p.api[0].serve(t)
	p.step("app.ready", "api-1")
	reload(0, 1)
	p.api[1].killBusy(t)
	p.step("process.killed", "api-2")
	time.Sleep(500 * time.Millisecond)
	p.api[1].serve(t)
	p.step("app.ready", "api-2")
	time.Sleep(1500 * time.Millisecond)
	p.finish()

	report := p.audit("haproxy", `{name: edge, kind: haproxy, url: "file://haproxy.out", zone: Asia/Seoul}`)
	p.compare("haproxy", report)
	for _, f := range report.Failures {
		if f.Target == nil || *f.Target != "api-2" || f.Cause != analysis.CauseDeploy {
			t.Errorf("failed: %+v", f)
		}
	}
	log, err := os.ReadFile(filepath.Join(p.dir, "haproxy.out"))
	if err != nil {
		t.Fatal(err)
	}
	retried := 0
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, " 200 ") && strings.Contains(line, "/+") {
			retried++
		}
	}
	masked := 0
	for _, f := range report.Findings {
		if f.Code == "retry-masked" {
			masked += int(f.Values["masked"].(float64))
		}
	}
	if masked != retried || masked == 0 {
		t.Errorf("%d requests whose failed attempt was hidden, the log has %d", masked, retried)
	}
}

// proxied is a service of two targets behind a proxy, with the clients that use it.
type proxied struct {
	t      *testing.T
	name   string
	dir    string
	listen string
	env    []string
	api    [2]*upstreamServer

	steps   strings.Builder
	started time.Time
	stop    context.CancelFunc
	clients sync.WaitGroup

	requests, failures, masked, aborted atomic.Int64
}

// upstreamServer is one target: it takes 30 ms for a request.
type upstreamServer struct {
	address    string
	server     *http.Server
	gets, rest atomic.Int64 // requests that it is at work on
}

func newProxied(t *testing.T, program string) *proxied {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Fatalf("no %s: %v", program, err)
	}
	p := &proxied{t: t, name: program, dir: t.TempDir(), listen: freeAddress(t)}
	for i := range p.api {
		p.api[i] = &upstreamServer{address: freeAddress(t)}
		p.api[i].serve(t)
		t.Cleanup(p.api[i].kill)
	}
	return p
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (u *upstreamServer) serve(t *testing.T) {
	t.Helper()
	var l net.Listener
	eventually(t, "the address is free", func() (ok bool) {
		var err error
		l, err = net.Listen("tcp", u.address)
		return err == nil
	})
	u.server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		busy := &u.rest
		if r.Method == http.MethodGet {
			busy = &u.gets
		}
		busy.Add(1)
		defer busy.Add(-1)
		time.Sleep(30 * time.Millisecond)
		fmt.Fprintln(w, "ok")
	})}
	go func(s *http.Server) { _ = s.Serve(l) }(u.server)
}

// kill closes the listener and every connection, as the death of a process does.
func (u *upstreamServer) kill() { _ = u.server.Close() }

// killBusy kills it while it is at work on a GET and on a POST.
func (u *upstreamServer) killBusy(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); u.gets.Load() == 0 || u.rest.Load() == 0; time.Sleep(100 * time.Microsecond) {
		if time.Now().After(end) {
			t.Fatal("never at work on both a GET and a POST")
		}
	}
	u.kill()
}

// start runs the proxy. What it prints goes to a file, to which HAProxy logs.
func (p *proxied) start(program string, args ...string) *exec.Cmd {
	p.t.Helper()
	out, err := os.OpenFile(filepath.Join(p.dir, program+".out"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	command := exec.Command(program, args...)
	command.Stdout, command.Stderr, command.Env = out, out, append(os.Environ(), p.env...)
	if err := command.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
		_ = out.Close()
	})
	eventually(p.t, program+" listens", func() bool {
		c, err := net.Dial("tcp", p.listen)
		if err != nil {
			return false
		}
		_ = c.Close()
		return true
	})
	return command
}

// traffic lets eight clients send, each a request at a time on a connection of its
// own, half of them POSTs.
func (p *proxied) traffic() {
	ctx, stop := context.WithCancel(p.t.Context())
	p.stop = stop
	transport := &http.Transport{DisableKeepAlives: true}
	for i := range 8 {
		p.clients.Go(func() {
			for n := i; ctx.Err() == nil; n++ {
				p.send(transport, []string{http.MethodGet, http.MethodPost}[rand.IntN(2)], n)
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
	time.Sleep(time.Second)
}

func (p *proxied) send(transport http.RoundTripper, method string, n int) {
	request, err := http.NewRequest(method, fmt.Sprintf("http://%s/v1/orders?n=%d", p.listen, n), strings.NewReader(""))
	if err != nil {
		p.t.Error(err)
		return
	}
	request.Header.Set("User-Agent", "peer-client/1")
	p.requests.Add(1)
	answer, err := transport.RoundTrip(request)
	if err != nil {
		p.aborted.Add(1)
		p.t.Errorf("no answer: %v", err)
		return
	}
	defer answer.Body.Close()
	switch {
	case answer.StatusCode >= 500:
		p.failures.Add(1)
	case strings.Contains(answer.Header.Get("X-Attempts"), ","):
		p.masked.Add(1)
	}
}

func (p *proxied) step(kind, target string) {
	now := time.Now()
	if p.started.IsZero() {
		p.started = now
	}
	fmt.Fprintf(&p.steps, `{"deploy":"d-1","service":"orders-api","kind":%q,"at":%q,"target":%q,"source":"test"}`+"\n", kind, stamp(now), target)
}

// finish ends the traffic and the deploy.
func (p *proxied) finish() {
	p.stop()
	p.clients.Wait()
	p.step("deploy.reported", "")
	write(p.t, filepath.Join(p.dir, "steps.ndjson"), p.steps.String())
	time.Sleep(1500 * time.Millisecond) // until the window is over
}

// audit judges the deploy by one log. Its exit status says that users lost requests.
func (p *proxied) audit(name, log string) analysis.Report {
	p.t.Helper()
	config := filepath.Join(p.dir, name+".yml")
	write(p.t, config, fmt.Sprintf(`
services:
  - name: orders-api
    window: {baseline: 5s, tail: 1s, settle: 0s, max: 5m}
    targets:
      - {name: api-1, address: %q}
      - {name: api-2, address: %q}
    load_balancers:
      - name: public
        access_logs: [%s]
        target_groups: [{name: api, health_check: {interval: 400ms, timeout: 400ms, unhealthy: 2, healthy: 1}}]
    steps: [{name: steps, kind: file, path: steps.ndjson}]
`, p.api[0].address, p.api[1].address, log))
	status, stdout, stderr := runProgram(p.t, nil, "audit", "-c", config, "--service", "orders-api", "--format", "json")
	var report analysis.Report
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		p.t.Fatalf("%v: exit %d\n%s%s", err, status, stdout, stderr)
	}
	if status != exitDisproved {
		p.t.Errorf("%s: exit %d: %s", name, status, report.Verdict.Sentence)
	}
	return report
}

// compare holds the judge's counts against the clients'.
func (p *proxied) compare(name string, report analysis.Report) {
	p.t.Helper()
	users := report.Totals[analysis.ClassUser]
	if users == nil {
		p.t.Fatalf("%s: users were not measured", name)
	}
	if requests, failures := int(p.requests.Load()), int(p.failures.Load()); users.Requests != requests || users.Failures != failures || failures == 0 {
		p.t.Errorf("%s: %d requests and %d failures, by the clients %d and %d", name, users.Requests, users.Failures, requests, failures)
	}
	if !slices.ContainsFunc(report.Findings, func(f analysis.Finding) bool { return f.Code == "retry-masked" }) {
		p.t.Errorf("%s: no retry-masked among %d findings", name, len(report.Findings))
	}
	p.t.Logf("%s: %d requests, %d failures, %d masked as seen by clients: %s", name, users.Requests, users.Failures, p.masked.Load(), report.Verdict.Sentence)
}
