package accesslog

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gapless/analysis"
)

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		place := &fakePlace{}
		sink := &memory{}
		r := &Reader{
			cfg: Config{Source: "alb", Kind: "alb", Every: 30 * time.Second, Settle: 15 * time.Minute, Lookback: time.Hour, Slow: time.Second, Parallel: 1,
				Now: time.Now, Log: slog.New(slog.DiscardHandler)},
			rules: benchRules(t), sink: sink, place: place, retries: map[string]retry{}, read: map[string]string{},
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		time.Sleep(10 * time.Minute)
		if n := place.listed(); n < 18 || n > 23 {
			t.Errorf("%d passes in ten minutes, want about 20", n)
		}
		first := sink.allRuns()[0]
		if first.Code != "" || !first.To.Equal(start) || !first.From.Equal(start.Add(-time.Hour)) {
			t.Errorf("first run %+v", first)
		}

		// Failing, it waits longer each time, and each failed run stands for the time
		// since the last good pass.
		good := sink.lastRun().To
		place.fails(errors.New("forbidden by somebody"))
		before := place.listed()
		time.Sleep(time.Hour)
		if n := place.listed() - before; n < 12 || n > 18 {
			t.Errorf("%d failed passes in an hour", n)
		}
		failed := sink.lastRun()
		if failed.Code != analysis.CodeError || !failed.From.Equal(good) {
			t.Errorf("failed run %+v, last good one until %v", failed, good)
		}

		// Good again, it covers everything that was missed.
		time.Sleep(2 * time.Hour)
		place.fails(nil)
		time.Sleep(6 * time.Minute)
		covered := false
		for _, run := range sink.allRuns() {
			covered = covered || run.Code == "" && run.At.After(failed.At) && !run.From.After(good)
		}
		if !covered {
			t.Errorf("no good run covers from %v", good)
		}
		cancel()
		if err := <-done; err != nil {
			t.Errorf("ended with %v", err)
		}
		if sink.lastRun().Code != "" {
			t.Errorf("being told to stop was stored as a failure: %+v", sink.lastRun())
		}
	})
}

// fakePlace counts listings, all of which fail or find nothing.
// After an absence the first pass goes on from where an earlier process left, with
// what may have come late for the time before.
func TestRunAfterAnAbsence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, sink := time.Now(), &memory{}
		left := start.Add(-9 * time.Hour)
		r := &Reader{
			cfg: Config{Source: "alb", Kind: "alb", Every: 30 * time.Second, Settle: 15 * time.Minute, Lookback: time.Hour, Slow: time.Second, Parallel: 1,
				Since: left, Now: time.Now, Log: slog.New(slog.DiscardHandler)},
			rules: benchRules(t), sink: sink, place: &fakePlace{}, retries: map[string]retry{}, read: map[string]string{},
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		time.Sleep(5 * time.Minute)
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		runs := sink.allRuns()
		if !runs[0].From.Equal(left.Add(-15*time.Minute)) || !runs[0].To.Equal(start) {
			t.Errorf("first run %+v, want one from %v", runs[0], left.Add(-15*time.Minute))
		}
		if last := sink.lastRun(); last.To.Sub(last.From) != time.Hour {
			t.Errorf("later run %+v, want one of an hour", last)
		}
	})
}

type fakePlace struct {
	mu    sync.Mutex
	calls int
	err   error
}

func (p *fakePlace) fails(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = err
}

func (p *fakePlace) listed() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls
}

func (p *fakePlace) list(context.Context, time.Time, time.Time, func(stored)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	return p.err
}

func (p *fakePlace) open(context.Context, stored) (io.ReadCloser, error) {
	return nil, errors.New("nothing here")
}
