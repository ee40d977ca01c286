package lab

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gapless/analysis"
)

func TestRequestsGoRoundRobin(t *testing.T) {
	b := startBalancer(t, testChecks)
	first, second := startTarget(t, nil), startTarget(t, nil)
	b.add(t, first, second)
	for range 10 {
		b.get(t, "/v1/stores/17")
	}
	if first.served.Load() != 5 || second.served.Load() != 5 {
		t.Errorf("served %d and %d of 10, want 5 each", first.served.Load(), second.served.Load())
	}
	x := <-b.seen
	if x.status != 200 || x.targetStatus != 200 || x.requestTime < 0 || x.targetTime < 0 || x.responseTime < 0 {
		t.Errorf("exchange %+v; want 200 by the target with all times", x)
	}
}

func TestRefusedConnectionIs502WithoutTimes(t *testing.T) {
	b := startBalancer(t, testChecks)
	target := startTarget(t, nil)
	b.add(t, target)
	target.stop()
	status, _ := b.get(t, "/")
	b.want(t, status, 502, target.address, "-1 -1 -1")
}

func TestTargetThatClosesMidRequestIs502AndNotAskedAgain(t *testing.T) {
	b := startBalancer(t, testChecks)
	target := startTarget(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			conn.Close()
		}
	})
	b.add(t, target)
	status, _ := b.get(t, "/")
	b.want(t, status, 502, target.address, "+ + -1")
	if n := target.served.Load(); n != 1 {
		t.Errorf("the target was asked %d times, want once", n)
	}
}

func TestNoTargetIs503(t *testing.T) {
	b := startBalancer(t, testChecks)
	status, server := b.get(t, "/")
	b.want(t, status, 503, "", "-1 -1 -1")
	if server != balancerName {
		t.Errorf("Server header %q, want %q", server, balancerName)
	}
}

func TestSilentTargetIs504AfterIdleTimeout(t *testing.T) {
	b := startBalancer(t, testChecks)
	b.idleTimeout = 50 * time.Millisecond
	target := startTarget(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	b.add(t, target)
	began := time.Now()
	status, _ := b.get(t, "/")
	b.want(t, status, 504, target.address, "+ -1 -1")
	if took := time.Since(began); took < b.idleTimeout || took > time.Second {
		t.Errorf("took %v, want about the idle timeout", took)
	}
}

func TestConnectTimeoutIs504WithoutTimes(t *testing.T) {
	b := startBalancer(t, testChecks)
	target := startTarget(t, nil)
	b.add(t, target)
	b.connectTimeout = time.Nanosecond
	status, _ := b.get(t, "/")
	b.want(t, status, 504, target.address, "-1 -1 -1")
}

func TestClientThatLeavesIs460(t *testing.T) {
	b := startBalancer(t, testChecks)
	asked := make(chan struct{})
	target := startTarget(t, func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	})
	b.add(t, target)
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-asked
		leave()
	}()
	request, _ := http.NewRequestWithContext(ctx, http.MethodGet, b.url, nil)
	if response, err := http.DefaultClient.Do(request); err == nil {
		_ = response.Body.Close()
		t.Fatal("the client got an answer though it left")
	}
	b.want(t, 460, 460, target.address, "-1 -1 -1")
}

func TestTargetsOwnErrorKeepsItsStatus(t *testing.T) {
	b := startBalancer(t, testChecks)
	target := startTarget(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusServiceUnavailable) })
	b.add(t, target)
	if status, server := b.get(t, "/"); status != 503 || server == balancerName {
		t.Errorf("status %d by %q; want the target's 503", status, server)
	}
	if x := <-b.seen; x.targetStatus != 503 || x.responseTime < 0 {
		t.Errorf("exchange %+v; want target status 503", x)
	}
}

func TestRequestReachesTheTargetAsSent(t *testing.T) {
	b := startBalancer(t, testChecks)
	type arrival struct {
		method, uri, host, body string
		header                  http.Header
	}
	arrived := make(chan arrival, 1)
	target := startTarget(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		arrived <- arrival{r.Method, r.RequestURI, r.Host, string(body), r.Header}
		w.Header().Set("Connection", "close")
		w.Header().Set("Keep-Alive", "timeout=5")
		w.Header().Set("X-Own", "yes")
		w.WriteHeader(http.StatusCreated)
	})
	b.add(t, target)
	request, _ := http.NewRequest(http.MethodPost, b.url+"/v1/orders?x=%22", strings.NewReader(`{"store":17}`))
	request.Host = "api.example.com"
	request.Header.Set("X-Request-Id", "r1-000042")
	request.Header.Set(labHeader, "user-000001")
	request.Header.Set("X-Forwarded-For", "203.0.113.9")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != 201 || response.Header.Get("X-Own") != "yes" || response.Header.Get("Keep-Alive") != "" || response.Close {
		t.Errorf("answer %d %v close=%v; want the target's, on a connection kept open", response.StatusCode, response.Header, response.Close)
	}
	got := <-arrived
	if got.method != "POST" || got.uri != "/v1/orders?x=%22" || got.host != "api.example.com" || got.body != `{"store":17}` {
		t.Errorf("arrived as %+v", got)
	}
	if got.header.Get("X-Request-Id") != "r1-000042" || got.header.Get("X-Forwarded-For") != "203.0.113.9, 127.0.0.1" || got.header.Get("X-Amzn-Trace-Id") == "" {
		t.Errorf("headers %v", got.header)
	}
	if got.header.Get(labHeader) != "" {
		t.Error("the target got to see the lab's own header")
	}
	x := <-b.seen
	if x.url != "http://api.example.com:"+b.port+"/v1/orders?x=%22" || x.labID != "user-000001" || x.requestID != "r1-000042" {
		t.Errorf("exchange %+v", x)
	}
}

func TestDeregistrationLetsRequestsInFlightEnd(t *testing.T) {
	b := startBalancer(t, testChecks)
	asked, finish := make(chan struct{}), make(chan struct{})
	target := startTarget(t, func(w http.ResponseWriter, _ *http.Request) {
		close(asked)
		<-finish
		_, _ = io.WriteString(w, "late")
	})
	other := startTarget(t, nil)
	b.add(t, target)
	answered := make(chan int)
	go func() {
		status, _ := b.get(t, "/slow")
		answered <- status
	}()
	<-asked
	b.add(t, other)
	b.group.deregister(target.address)
	for range 4 {
		b.get(t, "/")
	}
	if target.served.Load() != 1 || other.served.Load() != 4 {
		t.Errorf("%d new requests reached the deregistered target", target.served.Load()-1)
	}
	if state := b.group.describe(target.address)[0].state; state != analysis.StateDraining {
		t.Errorf("state %s, want draining", state)
	}
	close(finish)
	if status := <-answered; status != 200 {
		t.Errorf("the request in flight got %d, want 200", status)
	}
	eventually(t, "unused after the delay", func() bool {
		return b.group.describe(target.address)[0].state == analysis.StateUnused && len(b.group.describe()) == 1
	})
}

func TestDeregistrationDelayCutsOffWhatIsLeft(t *testing.T) {
	b := startBalancer(t, testChecks)
	asked := make(chan struct{})
	target := startTarget(t, func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	})
	b.add(t, target)
	go func() {
		<-asked
		b.group.deregister(target.address)
	}()
	status, _ := b.get(t, "/slow")
	b.want(t, status, 502, target.address, "+ + -1")
}

func TestUnhealthyTargetIsEjectedAndReturns(t *testing.T) {
	b := startBalancer(t, testChecks)
	first, second := startTarget(t, nil), startTarget(t, nil)
	b.add(t, first, second)
	first.health.Store(http.StatusServiceUnavailable)
	eventually(t, "ejected", func() bool { return !b.group.healthy(first.address) })
	status := b.group.describe(first.address)[0]
	if status.state != analysis.StateUnhealthy || status.reason != reasonMismatch || !strings.Contains(status.description, "[503]") {
		t.Errorf("status %+v", status)
	}
	for range 4 {
		b.get(t, "/")
	}
	if first.served.Load() != 0 || second.served.Load() != 4 {
		t.Errorf("the ejected target served %d of 4", first.served.Load())
	}
	first.health.Store(http.StatusOK)
	eventually(t, "returned", func() bool { return b.group.healthy(first.address) })
	for range 4 {
		b.get(t, "/")
	}
	if first.served.Load() != 2 {
		t.Errorf("the returned target served %d of 4, want 2", first.served.Load())
	}
}

func TestNoHealthyTargetFailsOpen(t *testing.T) {
	b := startBalancer(t, testChecks)
	first, second := startTarget(t, nil), startTarget(t, nil)
	b.add(t, first, second)
	first.health.Store(503)
	second.health.Store(503)
	eventually(t, "both unhealthy", func() bool {
		return !b.group.healthy(first.address) && !b.group.healthy(second.address)
	})
	for range 4 {
		if status, _ := b.get(t, "/"); status != 200 {
			t.Errorf("status %d, want 200: unhealthy targets are served when there is no other", status)
		}
	}
	if first.served.Load() != 2 || second.served.Load() != 2 {
		t.Errorf("served %d and %d of 4, want 2 each", first.served.Load(), second.served.Load())
	}
}

func TestSlowHealthAnswerIsATimeout(t *testing.T) {
	health := testChecks
	health.Timeout = 20 * time.Millisecond
	b := startBalancer(t, health)
	listener, err := net.Listen("tcp4", "127.0.0.1:0") // accepts, by its backlog, and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	address := listener.Addr().String()
	b.group.register(address)
	eventually(t, "unhealthy", func() bool { return b.group.describe(address)[0].state == analysis.StateUnhealthy })
	if status := b.group.describe(address)[0]; status.reason != reasonTimeout {
		t.Errorf("reason %s, want %s", status.reason, reasonTimeout)
	}
}

func TestChecksCountInARow(t *testing.T) {
	health := analysis.HealthCheck{Unhealthy: 2, Healthy: 3}
	for _, test := range []struct {
		name, start, checks string // p: pass, f: failure
		want                analysis.TargetState
	}{
		{"a new target is in after one pass", "initial", "p", analysis.StateHealthy},
		{"a new target that fails once is still new", "initial", "f", analysis.StateInitial},
		{"a new target that fails often is unhealthy", "initial", "ff", analysis.StateUnhealthy},
		{"one failure ejects nobody", "healthy", "f", analysis.StateHealthy},
		{"failures with a pass between eject nobody", "healthy", "fpf", analysis.StateHealthy},
		{"failures in a row eject", "healthy", "ff", analysis.StateUnhealthy},
		{"too few passes bring nobody back", "unhealthy", "pp", analysis.StateUnhealthy},
		{"passes with a failure between bring nobody back", "unhealthy", "ppfp", analysis.StateUnhealthy},
		{"passes in a row bring back", "unhealthy", "ppp", analysis.StateHealthy},
		{"a draining target stays so", "draining", "pppff", analysis.StateDraining},
	} {
		t.Run(test.name, func(t *testing.T) {
			target := &groupTarget{state: analysis.TargetState(test.start)}
			for _, check := range test.checks {
				reason := ""
				if check == 'f' {
					reason = reasonFailed
				}
				target.checked(health, reason, reason)
			}
			if target.state != test.want {
				t.Errorf("state %s, want %s", target.state, test.want)
			}
			if healthy := target.state == analysis.StateHealthy; healthy && target.reason != "" {
				t.Errorf("a healthy target has reason %s", target.reason)
			}
		})
	}
}

// A health check must be over soon here, and must not be the reason of a failure
// where a test is about something else: hence a threshold out of reach there.
var testChecks = analysis.HealthCheck{Interval: 20 * time.Millisecond, Timeout: 10 * time.Second, Unhealthy: 2, Healthy: 2, Path: healthPath}

type testBalancer struct {
	*balancer
	url  string
	seen chan exchange
}

func startBalancer(t *testing.T, health analysis.HealthCheck) *testBalancer {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	b := &testBalancer{seen: make(chan exchange, 100)}
	b.balancer = &balancer{
		group:          newTargetGroup(ctx, health, 100*time.Millisecond),
		connectTimeout: time.Second, idleTimeout: 10 * time.Second,
		done: func(x exchange) { b.seen <- x },
	}
	var err error
	if b.url, err = b.listen(slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.close()
		cancel()
		b.group.checks.Wait()
	})
	return b
}

// add registers targets and waits until they are in.
func (b *testBalancer) add(t *testing.T, targets ...*testTarget) {
	t.Helper()
	for _, target := range targets {
		b.group.register(target.address)
		eventually(t, "healthy", func() bool { return b.group.healthy(target.address) })
	}
}

func (b *testBalancer) get(t *testing.T, path string) (status int, server string) {
	response, err := http.Get(b.url + path)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode, response.Header.Get("Server")
}

// want checks the last exchange: status, target, no target status, and its three
// times, where "+" stands for any that is not negative.
func (b *testBalancer) want(t *testing.T, got, status int, target, times string) {
	t.Helper()
	x := <-b.seen
	sign := func(seconds float64) string {
		if seconds >= 0 {
			return "+"
		}
		return fmt.Sprint(seconds)
	}
	have := strings.Join([]string{sign(x.requestTime), sign(x.targetTime), sign(x.responseTime)}, " ")
	if got != status || x.status != status || x.target != target || x.targetStatus != 0 || have != times {
		t.Errorf("client got %d, logged %d to %q with target status %d and times %s; want %d to %q, none, %s",
			got, x.status, x.target, x.targetStatus, have, status, target, times)
	}
	if !x.end.After(x.start) || x.start.Location() != time.UTC || x.end.Nanosecond()%1000 != 0 {
		t.Errorf("from %v to %v; want UTC, whole microseconds, in order", x.start, x.end)
	}
}

// testTarget is a target in this process.
type testTarget struct {
	address string
	served  atomic.Int64 // without health checks
	health  atomic.Int64 // status of its health check
	server  *httptest.Server
}

func startTarget(t *testing.T, handle http.HandlerFunc) *testTarget {
	t.Helper()
	target := &testTarget{}
	target.health.Store(http.StatusOK)
	target.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == healthPath {
			w.WriteHeader(int(target.health.Load()))
			return
		}
		target.served.Add(1)
		if handle != nil {
			handle(w, r)
		}
	}))
	target.address = target.server.Listener.Addr().String()
	t.Cleanup(target.server.Close)
	return target
}

func (target *testTarget) stop() { target.server.Close() }

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not %s after 5 s", what)
		}
	}
}
