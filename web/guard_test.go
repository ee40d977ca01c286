package web

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gapless/analysis"
)

func TestHostsThatAreNotThisServerAreRefused(t *testing.T) {
	for _, test := range []struct {
		host   string
		cfg    Config
		status int
	}{
		{"localhost:8080", Config{}, 200},
		{"LOCALHOST", Config{}, 200},
		{"127.0.0.1:1", Config{}, 200},
		{"127.8.9.10", Config{}, 200},
		{"[::1]:8080", Config{}, 200},
		{"[::1]", Config{}, 200},
		{"evil.example", Config{}, 421},
		{"evil.example:8080", Config{}, 421},
		{"localhost.evil.example", Config{}, 421},
		{"127.0.0.1.evil.example", Config{}, 421},
		{"10.0.0.1", Config{}, 421},
		{"gapless.example:80", Config{Hosts: []string{"gapless.example"}}, 200},
		{"evil.example", Config{Hosts: []string{"gapless.example"}}, 421},
		{"evil.example", Config{Hosts: []string{"gapless.example"}, Token: "t"}, 421},
		{"any.example", Config{Token: "t"}, 200},
		{"any.example", Config{Password: "p"}, 401},
	} {
		s := newServer(t, test.cfg)
		paths := map[string]bool{"/": true}
		if test.status == 421 {
			for _, route := range s.echo.Routes() {
				paths[strings.NewReplacer(":id", "d1", ":service", "orders", "*", "x").Replace(route.Path)] = true
			}
			paths["/nowhere"] = true
		}
		for path := range paths {
			request, err := http.NewRequestWithContext(t.Context(), "GET", s.url+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Host = test.host
			request.Header.Set("Accept", "application/json")
			response, err := http.DefaultTransport.RoundTrip(request)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if response.StatusCode != test.status {
				t.Errorf("%s %s: %d, want %d", test.host, path, response.StatusCode, test.status)
			}
			if test.status == 421 && response.Header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s %s: no problem document: %.100s", test.host, path, body)
			}
		}
	}
}

func TestSlowBodiesEnd(t *testing.T) {
	for _, cfg := range []Config{{}, {Token: "t"}} { // read by a handler, and read by nobody
		s := newServer(t, cfg)
		s.pace.body = 50 * time.Millisecond
		connection, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		_ = connection.SetDeadline(time.Now().Add(5 * time.Second))
		fmt.Fprint(connection, "POST /api/v1/deploys HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{")
		answer, err := io.ReadAll(connection) // ends when the server hangs up
		want := "HTTP/1.1 408"
		if cfg.Token != "" {
			want = "HTTP/1.1 401"
		}
		if err != nil || !strings.HasPrefix(string(answer), want) {
			t.Errorf("token %q: %v %.200s", cfg.Token, err, answer)
		}
	}
}

func TestStreamsOutliveTheTimeOfABody(t *testing.T) {
	s := newServer(t, Config{})
	s.pace.body, s.pace.heartbeat = 20*time.Millisecond, 10*time.Millisecond
	request, err := http.NewRequestWithContext(t.Context(), "GET", s.url+"/stream", strings.NewReader("a body"))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines, beats := bufio.NewScanner(response.Body), 0
	lines.Buffer(nil, 1<<20)
	for beats < 10 && lines.Scan() {
		if strings.HasPrefix(lines.Text(), ":") {
			beats++
		}
	}
	if beats < 10 {
		t.Errorf("the stream ended after %d heartbeats: %v", beats, lines.Err())
	}
}

func TestTooManyStreamsAreRefused(t *testing.T) {
	s := newServer(t, Config{})
	for range cap(s.streams) - 1 {
		s.streams <- struct{}{}
	}
	events := s.stream(t, "/stream")
	<-events
	got, _ := s.request(t, "GET", "/deploys/none/stream", "", nil)
	if got.StatusCode != 404 {
		t.Errorf("an unknown deploy: %d", got.StatusCode)
	}
	got, body := s.request(t, "GET", "/collectors/stream", "", map[string]string{"Accept": "text/event-stream"})
	if got.StatusCode != 503 || got.Header.Get("Content-Type") != "application/problem+json" || got.Header.Get("Retry-After") == "" {
		t.Errorf("%d %s", got.StatusCode, body)
	}
	<-s.streams
	s.stream(t, "/collectors/stream")
}

func TestStreamsOfADeployShareOneJudgement(t *testing.T) {
	var judged atomic.Int32
	s := newServer(t, Config{Judge: func(o analysis.Observations) analysis.Report {
		judged.Add(1)
		return analysis.Judge(o)
	}})
	s.pace.judge, s.pace.heartbeat = 10*time.Millisecond, time.Hour
	s.start(t, "d1", began)
	var streams []<-chan streamEvent
	for range 8 {
		events := s.stream(t, "/deploys/d1/stream")
		<-events
		streams = append(streams, events)
	}
	if n := judged.Load(); n != 1 {
		t.Errorf("eight streams judged %d times at first, want once", n)
	}
	s.step(t, "d1", analysis.StepDrainMarked, began.Add(time.Minute))
	for i, events := range streams {
		if next := <-events; !strings.Contains(next.data, "drain marked") {
			t.Errorf("stream %d: %s", i, next.name)
		}
	}
	if n := judged.Load(); n != 2 {
		t.Errorf("eight streams judged %d times after one change, want twice", n)
	}
	part := <-s.stream(t, "/deploys/d1/stream?from=2026-10-14T06:00:00Z&to=2026-10-14T06:01:00Z")
	if !strings.Contains(part.data, "Back to the whole window") {
		t.Error("a part of the window got the stream of the whole")
	}
}

func TestFeedsEndWithTheirLastFollower(t *testing.T) {
	s := newServer(t, Config{})
	s.start(t, "d1", began)
	response, err := http.Get(s.url + "/deploys/d1/stream")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := response.Body.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	for range 500 {
		s.feeds.mu.Lock()
		left := len(s.feeds.all)
		s.feeds.mu.Unlock()
		if left == 0 && len(s.streams) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the feed goes on without followers")
}

func TestAReportMadeAgainIsNoNews(t *testing.T) {
	var judged atomic.Int32
	s := newServer(t, Config{Judge: func(o analysis.Observations) analysis.Report {
		r := analysis.Judge(o)
		r.Provenance.GeneratedAt = analysis.Time{Time: began.Add(time.Duration(judged.Add(1)) * time.Second)}
		return r
	}})
	s.pace.heartbeat = 5 * time.Millisecond
	s.start(t, "d1", began)
	events := s.stream(t, "/api/v1/deploys/d1/events")
	<-events
	for judged.Load() < 4 {
		select {
		case again := <-events:
			t.Fatalf("a heartbeat sent the report again: %.100s", again.data)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func TestHeadWhereverGet(t *testing.T) {
	s := newServer(t, Config{})
	s.start(t, "d1", began)
	for _, route := range s.echo.Routes() {
		if route.Method != http.MethodGet {
			continue
		}
		path := strings.NewReplacer(":id", "d1", ":service", "orders", "*", "x").Replace(route.Path)
		get, err := http.NewRequestWithContext(t.Context(), "GET", s.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultTransport.RoundTrip(get)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		head, _ := s.request(t, "HEAD", path, "", nil)
		if head.StatusCode != response.StatusCode || head.Header.Get("Content-Type") != response.Header.Get("Content-Type") {
			t.Errorf("HEAD %s: %d %q, GET: %d %q", path, head.StatusCode, head.Header.Get("Content-Type"), response.StatusCode, response.Header.Get("Content-Type"))
		}
	}
}

func TestSchemesOfAuthorizationInAnyCase(t *testing.T) {
	s := newServer(t, Config{Token: "t"})
	for _, header := range []string{"bearer t", "BEARER t", "Bearer  t", "basic eDp0"} {
		if got, body := s.request(t, "POST", "/api/v1/deploys", "{}", map[string]string{"Authorization": header}); got.StatusCode == 401 {
			t.Errorf("%s: %d %s", header, got.StatusCode, body)
		}
	}
	if got, _ := s.request(t, "POST", "/api/v1/deploys", "{}", map[string]string{"Authorization": "Token t"}); got.StatusCode != 401 {
		t.Errorf("another scheme: %d", got.StatusCode)
	}
}
