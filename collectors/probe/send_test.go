package probe

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gapless/analysis"
)

func TestOutcomes(t *testing.T) {
	const expect = `status == 200 && body.success == true && body.data.id == 9007199254740993 && len(body.data) >= 2 && body.error == null`
	const ok = `{"success":true,"data":{"id":9007199254740993,"name":"x"}}`
	classify := map[string]string{"rejected": `body.reason == "RATE_LIMITED"`, "unknown": "status == 202"}
	for _, test := range []struct {
		name    string
		cfg     Config
		status  int
		body    string
		want    analysis.Outcome
		err     string
		target  string
		drained bool
	}{
		{name: "success", cfg: Config{Expect: expect}, status: 200, body: ok, want: analysis.OutcomeOK},
		{name: "another id", cfg: Config{Expect: expect}, status: 200, body: strings.Replace(ok, "993", "992", 1), want: analysis.OutcomeBadBody, err: "expect does not hold"},
		{name: "success false", cfg: Config{Expect: expect}, status: 200, body: `{"success":false}`, want: analysis.OutcomeBadBody, err: "expect does not hold"},
		{name: "page instead of JSON", cfg: Config{Expect: expect}, status: 200, body: "<html>", want: analysis.OutcomeBadBody, err: "expect: "},
		{name: "JSON and more", cfg: Config{Expect: "body.a == 1"}, status: 200, body: `{"a":1}{"a":1}`, want: analysis.OutcomeBadBody},
		{name: "no expectation", status: 204, want: analysis.OutcomeOK},
		{name: "redirect is not followed", status: 302, want: analysis.OutcomeOK},
		{name: "declared success of a 404", cfg: Config{Expect: "status == 404"}, status: 404, want: analysis.OutcomeOK},
		{name: "not found", cfg: Config{Expect: expect}, status: 404, want: analysis.OutcomeClientError},
		{name: "too many", cfg: Config{Expect: expect}, status: 429, want: analysis.OutcomeRejected},
		{name: "rejected by its body", cfg: Config{Expect: expect, Classify: classify}, status: 200, body: `{"reason":"RATE_LIMITED"}`, want: analysis.OutcomeRejected},
		{name: "result not known", cfg: Config{Expect: "status < 300", Classify: classify}, status: 202, want: analysis.OutcomeUnknown},
		{name: "drain", cfg: Config{Drain: `status == 503 && body.status == "OUT_OF_SERVICE"`}, status: 503, body: `{"status":"OUT_OF_SERVICE"}`, want: analysis.OutcomeDrain503, drained: true},
		{name: "503 that is no drain", cfg: Config{Drain: `status == 503 && body.status == "OUT_OF_SERVICE"`}, status: 503, body: "503 Service Unavailable", want: analysis.OutcomeLB5xx},
		{name: "5xx of whom is not known", status: 500, want: analysis.OutcomeLB5xx},
		{name: "5xx that proves its maker", cfg: Config{FromTarget: `header("x-app") == "orders"`}, status: 500, want: analysis.OutcomeTarget5xx},
		{name: "5xx that names its maker", cfg: Config{Target: `body.node`}, status: 500, body: `{"node":"10.0.1.11:8080"}`, want: analysis.OutcomeTarget5xx, target: "api-1"},
		{name: "header by its name", cfg: Config{Expect: `headers["X-App"] == "orders"`}, status: 200, want: analysis.OutcomeOK},
		{name: "body over the bound", cfg: Config{Expect: "body.a == 1", MaxBody: 8}, status: 200, body: `{"a":1,"b":22222222}`, want: analysis.OutcomeBadBody, err: "longer than 8 bytes"},
		{name: "hostile text", cfg: Config{Target: "text", Expect: "false"}, status: 200, body: "\xff\xfe" + strings.Repeat("a", 5000), want: analysis.OutcomeBadBody, target: "\uFFFD" + strings.Repeat("a", 197) + "…"},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-App", "orders")
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			}))
			defer server.Close()
			r := once(t, server.URL, test.cfg)
			if r.Outcome != test.want || r.Status != test.status || r.OutOfService != test.drained || !strings.Contains(r.Error, test.err) {
				t.Errorf("got %+v, want outcome %s", r, test.want)
			}
			if test.target != "" && r.Target != test.target {
				t.Errorf("target %q, want %q", r.Target, test.target)
			}
			if r.Done.Before(r.Sent) {
				t.Errorf("done %v before sent %v", r.Done, r.Sent)
			}
		})
	}
}

func TestConnectionsThatFail(t *testing.T) {
	raw := func(serve func(net.Conn)) string {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { listener.Close() })
		go func() {
			for {
				c, err := listener.Accept()
				if err != nil {
					return
				}
				go serve(c)
			}
		}()
		return "http://" + listener.Addr().String()
	}
	closed := httptest.NewServer(nil)
	closed.Close()
	for _, test := range []struct {
		name, url string
		want      analysis.Outcome
		status    int
	}{
		{"refused", closed.URL, analysis.OutcomeConnectionError, 0},
		{"reset", raw(func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0); c.Close() }), analysis.OutcomeConnectionError, 0},
		{"closed before the answer", raw(func(c net.Conn) { read(c); c.Close() }), analysis.OutcomeConnectionError, 0},
		{"silent", raw(func(c net.Conn) { read(c); time.Sleep(5 * time.Second); c.Close() }), analysis.OutcomeTimeout, 0},
		{"cut in the body", raw(func(c net.Conn) {
			read(c)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
			c.Close()
		}), analysis.OutcomeConnectionError, 200},
		{"stuck in the body", raw(func(c net.Conn) {
			read(c)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
			time.Sleep(5 * time.Second)
			c.Close()
		}), analysis.OutcomeTimeout, 200},
		{"not HTTP", raw(func(c net.Conn) { read(c); _, _ = io.WriteString(c, "SSH-2.0-x\r\n\r\n"); c.Close() }), analysis.OutcomeConnectionError, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := once(t, test.url, Config{Timeout: 200 * time.Millisecond})
			if r.Outcome != test.want || r.Status != test.status || r.Error == "" {
				t.Errorf("got %+v, want %s", r, test.want)
			}
			if took := r.Done.Sub(r.Sent); test.want == analysis.OutcomeTimeout && (took < 190*time.Millisecond || took > 4*time.Second) {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestWhatIsSent(t *testing.T) {
	for _, test := range []struct {
		name      string
		keepAlive bool
		tls       bool
	}{{"new connections", false, false}, {"new TLS connections", false, true}, {"kept connections", true, false}} {
		t.Run(test.name, func(t *testing.T) {
			var mu sync.Mutex
			connections := map[string]bool{}
			var got *http.Request
			var body []byte
			handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				connections[r.RemoteAddr] = true
				got = r
				body, _ = io.ReadAll(r.Body)
				if r.TLS != nil && r.TLS.DidResume {
					t.Error("a TLS session was resumed")
				}
			})
			cfg := Config{KeepAlive: test.keepAlive, Method: "POST", Body: `{"a":1}`, Version: "1.2 beta",
				Headers: map[string]string{"Host": "api.example.com", "Authorization": "Bearer x"}, Class: analysis.ClassHealth}
			server := httptest.NewUnstartedServer(handler)
			if server.Start(); test.tls {
				server.Close()
				server = httptest.NewTLSServer(handler)
				transport := newTransport(false, 1)
				transport.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig
				cfg.Transport = transport
			}
			defer server.Close()
			p := httpProber(t, server.URL, cfg)
			for seq := 1; seq <= 3; seq++ {
				r := p.blank(seq, time.Now(), "", "")
				if p.send(t.Context(), &r); r.Outcome != analysis.OutcomeOK {
					t.Fatalf("request %+v", r)
				}
			}
			want := 3
			if test.keepAlive {
				want = 1
			}
			id := p.RunID() + "-000003"
			if len(connections) != want {
				t.Errorf("%d connections, want %d", len(connections), want)
			}
			if got.UserAgent() != "gapless-health/1.2-beta "+id || got.Header.Get("X-Request-Id") != id ||
				got.Host != "api.example.com" || got.Method != "POST" || string(body) != `{"a":1}` || got.ContentLength != 7 {
				t.Errorf("request %+v, body %s", got, body)
			}
			if run, seq, ok := analysis.ProbeUserAgent(got.UserAgent()); !ok || run != p.RunID() || seq != 3 {
				t.Errorf("user agent is read as %s %d %v", run, seq, ok)
			}
		})
	}
}

// net/http repeats a GET when a kept connection breaks before the answer. A probe
// that did so would hide the failure it is there to see.
func TestNothingIsSentTwice(t *testing.T) {
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) == 2 {
			c, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				c.Close()
			}
		}
	}))
	defer server.Close()
	p := httpProber(t, server.URL, Config{KeepAlive: true})
	var outcomes []string
	for seq := 1; seq <= 2; seq++ {
		r := p.blank(seq, time.Now(), "", "")
		p.send(t.Context(), &r)
		outcomes = append(outcomes, string(r.Outcome))
	}
	if requests.Load() != 2 || fmt.Sprint(outcomes) != "[ok connection_error]" {
		t.Errorf("the server saw %d requests, outcomes %v", requests.Load(), outcomes)
	}
}

func TestLiveAgainstAServer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"ok":true}`) }))
	defer server.Close()
	s := &sink{}
	p, err := New(Config{Service: "s", Source: "store", URL: server.URL, Every: 20 * time.Millisecond, Timeout: time.Second, Expect: "body.ok"}, s)
	if err != nil {
		t.Fatal(err)
	}
	runFor(t, p, 300*time.Millisecond)
	if len(s.requests) < 5 {
		t.Errorf("%d requests", len(s.requests))
	}
	for i, r := range s.requests {
		if r.Outcome != analysis.OutcomeOK || r.Seq != i+1 || r.Run != p.RunID() || r.Source != "store" || r.Class != analysis.ClassProbe {
			t.Errorf("request %+v", r)
		}
	}
}

func once(t *testing.T, url string, cfg Config) analysis.ProbeRequest {
	t.Helper()
	p := httpProber(t, url, cfg)
	r := p.blank(1, time.Now(), "", "")
	p.send(t.Context(), &r)
	return r
}

func httpProber(t *testing.T, url string, cfg Config) *Prober {
	t.Helper()
	cfg.Source, cfg.URL, cfg.Every = "store", url, time.Second
	if cfg.Timeout == 0 {
		cfg.Timeout = 5 * time.Second
	}
	names, err := analysis.NewClassifier(analysis.Service{Targets: []analysis.TargetName{{Name: "api-1", Address: "10.0.1.11:8080"}}})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Names = names
	p, err := New(cfg, &sink{})
	if err != nil {
		t.Fatal(err)
	}
	p.clock = newClock()
	return p
}

func read(c net.Conn) { _, _ = c.Read(make([]byte, 4096)) }
