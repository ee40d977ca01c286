package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gapless/analysis"
)

// A late answer delays no later send: the schedule is open.
func TestOpenSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &sink{}
		start := time.Now()
		p := prober(t, sink, Config{Every: 100 * time.Millisecond, Timeout: time.Second,
			Transport: answer(func(*http.Request) (time.Duration, *http.Response, error) {
				return 450 * time.Millisecond, reply(200, "ok"), nil
			})})
		runFor(t, p, 1050*time.Millisecond)
		if len(sink.requests) != 11 {
			t.Fatalf("%d requests, want 11", len(sink.requests))
		}
		for i, r := range sink.requests {
			if at := time.Duration(i) * 100 * time.Millisecond; r.Seq != i+1 || r.Sent.Sub(start) != at || r.Done.Sub(r.Sent) != 450*time.Millisecond || r.Outcome != analysis.OutcomeOK {
				t.Errorf("request %d: %+v, want it sent at %v", i, r, at)
			}
		}
		if from, to := sink.span(t); from != start || to.Sub(start) != 1100*time.Millisecond {
			t.Errorf("runs are over %v to %v", from.Sub(start), to.Sub(start))
		}
	})
}

// At the bound a send is a record, not a gap.
func TestBoundOnRequestsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &sink{}
		p := prober(t, sink, Config{Every: 100 * time.Millisecond, Timeout: 5 * time.Second, MaxInFlight: 3,
			Transport: answer(func(*http.Request) (time.Duration, *http.Response, error) { return time.Second, reply(200, "ok"), nil })})
		runFor(t, p, 950*time.Millisecond)
		outcomes := map[analysis.Outcome]int{}
		for _, r := range sink.requests {
			outcomes[r.Outcome]++
			if r.Outcome == analysis.OutcomeRejected && !strings.Contains(r.Error, "3 requests already wait") {
				t.Errorf("error %q does not say why", r.Error)
			}
		}
		if len(sink.requests) != 10 || outcomes[analysis.OutcomeOK] != 3 || outcomes[analysis.OutcomeRejected] != 7 {
			t.Errorf("%d requests, outcomes %v", len(sink.requests), outcomes)
		}
	})
}

// A run covers no send whose answer is still awaited.
func TestRunsEndAtTheOldestRequestWithoutAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &sink{}
		start := time.Now()
		p := prober(t, sink, Config{Every: 100 * time.Millisecond, Timeout: 10 * time.Second,
			Transport: answer(func(r *http.Request) (time.Duration, *http.Response, error) {
				if strings.HasSuffix(r.Header.Get("X-Request-Id"), "-000005") {
					return 3 * time.Second, reply(200, "ok"), nil
				}
				return time.Millisecond, reply(200, "ok"), nil
			})})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- p.Run(ctx) }()
		time.Sleep(2100 * time.Millisecond)
		if _, to := sink.span(t); to.Sub(start) != 400*time.Millisecond {
			t.Errorf("with request 5 unanswered, runs end at %v, want 400ms", to.Sub(start))
		}
		time.Sleep(2 * time.Second)
		if _, to := sink.span(t); to.Sub(start) < 3900*time.Millisecond {
			t.Errorf("with every answer there, runs end at %v", to.Sub(start))
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// Sends missed while the process stood still are left out, not bunched, and no run
// covers the time.
func TestMissedSendsAreNotBunched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &sink{}
		start := time.Now()
		p := prober(t, sink, Config{Every: 100 * time.Millisecond, Timeout: time.Second,
			Transport: answer(func(*http.Request) (time.Duration, *http.Response, error) { return 0, reply(200, "ok"), nil })})
		p.clock = newClock()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var at []time.Duration
		p.schedule(ctx, func(seq int, sent time.Time) {
			at = append(at, sent.Sub(start))
			p.one(ctx, seq, sent)
			if seq == 3 {
				time.Sleep(730 * time.Millisecond) // the process stands still
			}
			if seq == 6 {
				cancel()
			}
		})
		if want := []time.Duration{0, 100e6, 200e6, 930e6, 1000e6, 1100e6}; !slices.Equal(at, want) {
			t.Errorf("sent at %v, want %v", at, want)
		}
		time.Sleep(time.Second)
		if err := p.flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		var spans []string
		for _, run := range sink.runs {
			spans = append(spans, fmt.Sprint(run.From.Sub(start), "-", run.To.Sub(start)))
		}
		if want := []string{"0s-300ms", "930ms-1.2s"}; !slices.Equal(spans, want) {
			t.Errorf("runs are over %v, want %v", spans, want)
		}
	})
}

func TestFailedFlushLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &sink{fail: 3}
		start := time.Now()
		p := prober(t, sink, Config{Every: 100 * time.Millisecond, Timeout: time.Second,
			Transport: answer(func(*http.Request) (time.Duration, *http.Response, error) { return 0, reply(200, "ok"), nil })})
		runFor(t, p, 4950*time.Millisecond)
		var seqs []int
		for _, r := range sink.requests {
			seqs = append(seqs, r.Seq)
		}
		slices.Sort(seqs)
		if len(seqs) != 50 || seqs[0] != 1 || seqs[49] != 50 || len(slices.Compact(seqs)) != 50 {
			t.Errorf("stored %v", seqs)
		}
		if from, to := sink.span(t); from != start || to.Sub(start) != 4950*time.Millisecond {
			t.Errorf("runs are over %v to %v", from.Sub(start), to.Sub(start))
		}
	})
}

func TestLastFlushFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := prober(t, &sink{fail: 1000}, Config{Every: 100 * time.Millisecond, Timeout: time.Second,
			Transport: answer(func(*http.Request) (time.Duration, *http.Response, error) { return 0, reply(200, "ok"), nil })})
		ctx, cancel := context.WithTimeout(t.Context(), 450*time.Millisecond)
		defer cancel()
		if err := p.Run(ctx); err == nil || !strings.Contains(err.Error(), "5 requests were not stored") {
			t.Errorf("got %v", err)
		}
	})
}

func TestStopWhen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &sink{}
		n := 0
		p := prober(t, sink, Config{Every: 100 * time.Millisecond, Timeout: time.Second,
			StopWhen: "consecutive_failures >= 2 && status == 503",
			Transport: answer(func(*http.Request) (time.Duration, *http.Response, error) {
				if n++; n == 2 || n >= 4 {
					return 0, reply(503, "no"), nil
				}
				return 0, reply(200, "ok"), nil
			})})
		if err := p.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		last := sink.runs[len(sink.runs)-1]
		if len(sink.requests) != 5 || last.Code != "error" || !strings.Contains(last.Error, "stop_when held after request "+p.RunID()+"-000005") || p.Stopped() == "" {
			t.Errorf("%d requests, last run %+v", len(sink.requests), last)
		}
	})
}

func TestWallTimesNeverGoBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		shift := time.Duration(0)
		c.wall = func() time.Time { return time.Now().Add(shift).Round(0) }
		first := c.now()
		time.Sleep(time.Second)
		shift = -time.Hour
		if got := c.now().Sub(first); got != time.Second {
			t.Errorf("wall clock set back an hour: a second took %v", got)
		}
		shift = time.Minute
		if got := c.now().Round(0).Sub(first.Round(0)); got != time.Second+time.Minute {
			t.Errorf("wall clock set ahead a minute: %v", got)
		}
	})
}

func TestRunIDs(t *testing.T) {
	seen := map[string]bool{}
	for range 200 {
		id := newRun()
		if !regexp.MustCompile(`^[a-z0-9]{6}$`).MatchString(id) {
			t.Fatalf("id %q", id)
		}
		seen[id] = true
	}
	if len(seen) < 199 {
		t.Errorf("%d different ids of 200", len(seen))
	}
}

func TestConfigurationErrors(t *testing.T) {
	good := Config{Source: "store", URL: "http://127.0.0.1/", Every: time.Second, Timeout: time.Second}
	for _, test := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"expect", func(c *Config) { c.Expect = "status ==" }, `probe store: expect: "status =="`},
		{"expect is no condition", func(c *Config) { c.Expect = "status" }, "probe store: expect"},
		{"unknown name", func(c *Config) { c.Drain = "stats == 503" }, "probe store: drain"},
		{"classify key", func(c *Config) { c.Classify = map[string]string{"failed": "true"} }, `"failed"`},
		{"classify", func(c *Config) { c.Classify = map[string]string{"rejected": "body."} }, "probe store: classify.rejected"},
		{"stop_when", func(c *Config) { c.StopWhen = "1" }, "probe store: stop_when"},
		{"class", func(c *Config) { c.Class = "user" }, `class "user"`},
		{"every", func(c *Config) { c.Every = 0 }, "every"},
		{"timeout", func(c *Config) { c.Timeout = -1 }, "timeout"},
		{"scheme", func(c *Config) { c.URL = "ftp://x/" }, "not an http"},
		{"address", func(c *Config) { c.URL = "http://u:secret@x:y z/" }, "url"},
		{"user agent", func(c *Config) { c.Headers = map[string]string{"user-agent": "x"} }, "user-agent"},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg := good
			test.change(&cfg)
			_, err := New(cfg, &sink{})
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "probe store") || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// sink is a store in memory.
type sink struct {
	mu       sync.Mutex
	requests []analysis.ProbeRequest
	runs     []analysis.Run
	fail     int // so many calls are refused
}

func (s *sink) AddProbes(_ context.Context, _ string, run analysis.Run, requests []analysis.ProbeRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail > 0 {
		s.fail--
		return errors.New("disk full")
	}
	s.requests = append(s.requests, requests...)
	s.runs = append(s.runs, run)
	return nil
}

func (s *sink) AddRun(ctx context.Context, service string, run analysis.Run) error {
	return s.AddProbes(ctx, service, run, nil)
}

// span is the time that the runs cover together; it fails where they leave a gap.
func (s *sink) span(t *testing.T) (from, to time.Time) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, run := range s.runs {
		if run.From.Equal(run.To) {
			continue
		}
		if from.IsZero() {
			from, to = run.From, run.From
		}
		if !run.From.Equal(to) {
			t.Errorf("a run from %v follows one to %v", run.From, to)
		}
		to = run.To
	}
	return from, to
}

type answer func(*http.Request) (time.Duration, *http.Response, error)

func (a answer) RoundTrip(r *http.Request) (*http.Response, error) {
	late, response, err := a(r)
	select {
	case <-time.After(late):
		return response, err
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

func reply(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
}

func prober(t *testing.T, sink Sink, cfg Config) *Prober {
	t.Helper()
	cfg.Service, cfg.Source, cfg.URL = "orders-api", "store", "http://lb.test/v1/stores/17"
	p, err := New(cfg, sink)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func runFor(t *testing.T, p *Prober, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if err := p.Run(ctx); err != nil {
		t.Error(err)
	}
	if s, ok := p.sink.(*sink); ok {
		slices.SortFunc(s.requests, func(a, b analysis.ProbeRequest) int { return a.Seq - b.Seq })
	}
}
