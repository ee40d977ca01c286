package accesslog

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
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
			cfg: Config{Source: "alb", Kind: "alb", Every: 30 * time.Second, Settle: 15 * time.Minute, Lookback: time.Hour, Late: 26 * time.Hour, Slow: time.Second, Parallel: 1,
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

// An object that is delivered hours late is found, within an hour of its coming, and
// what lay there before collecting began is left alone. A day and two hours is the
// limit.
func TestRunFindsLateObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, sink, place := time.Now(), &memory{}, &fakePlace{}
		r := &Reader{
			cfg: Config{Source: "alb", Kind: "alb", Every: 30 * time.Second, Settle: 15 * time.Minute, Lookback: 75 * time.Minute, Late: 26 * time.Hour,
				Slow: time.Second, Parallel: 1, Now: time.Now, Log: slog.New(slog.DiscardHandler)},
			rules: benchRules(t), sink: sink, place: place, retries: map[string]retry{}, read: map[string]string{},
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		end := func(at time.Time) string { return at.Truncate(time.Minute).Format("2006-01-02 15:04") }
		place.put(objectKey(end(start.Add(-3*time.Hour)), "before")) // before anybody collected
		time.Sleep(30 * time.Hour)
		var want []string
		for name, late := range map[string]time.Duration{"a": 60 * time.Minute, "b": 90 * time.Minute, "c": 150 * time.Minute, "d": 25 * time.Hour, "e": 28 * time.Hour} {
			key := objectKey(end(time.Now().Add(-late)), name)
			place.put(key)
			if name != "e" {
				want = append(want, key)
			}
		}
		slices.Sort(want)
		time.Sleep(time.Hour + time.Minute)
		if got := sink.keys(); !slices.Equal(got, want) {
			t.Errorf("read %v, want %v", got, want)
		}
		for _, run := range sink.allRuns() {
			if run.Code != "" || run.To.Sub(run.From) != 75*time.Minute {
				t.Errorf("run %+v: one vouches for what it looks at each time", run)
				break
			}
		}
		listed, long := place.listed(), 0
		for _, from := range place.froms {
			if from.Before(start.Add(-75*time.Minute - spanBefore)) {
				t.Errorf("looked from %v, before collecting began", from)
			}
		}
		for i := 1; i < listed; i++ {
			if place.froms[i].Before(place.froms[i-1]) {
				long++
			}
		}
		if long < 29 || long > 32 {
			t.Errorf("%d long looks in 31 hours", long)
		}
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
}

// After an absence the first pass goes on from where an earlier process left, with
// what may have come late for the time before.
func TestRunAfterAnAbsence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, sink, place := time.Now(), &memory{}, &fakePlace{}
		left := start.Add(-9 * time.Hour)
		r := &Reader{
			cfg: Config{Source: "alb", Kind: "alb", Every: 30 * time.Second, Settle: 15 * time.Minute, Lookback: time.Hour, Late: 26 * time.Hour, Slow: time.Second, Parallel: 1,
				Since: left, Began: left.Add(-20 * time.Hour), Now: time.Now, Log: slog.New(slog.DiscardHandler)},
			rules: benchRules(t), sink: sink, place: place, retries: map[string]retry{}, read: map[string]string{},
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
		if first := place.froms[0]; !first.Equal(left.Add(-20*time.Hour - spanBefore)) {
			t.Errorf("first looked from %v, want from where collecting began", first)
		}
	})
}

// fakePlace counts listings. Every object holds one line.
type fakePlace struct {
	mu    sync.Mutex
	froms []time.Time // of the listings
	keys  []string
	err   error
}

func (p *fakePlace) put(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys = append(p.keys, key)
}

func (p *fakePlace) fails(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = err
}

func (p *fakePlace) listed() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.froms)
}

func (p *fakePlace) list(_ context.Context, from, _ time.Time, found func(stored)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.froms = append(p.froms, from)
	for _, key := range p.keys {
		found(stored{key: key, size: 1, etag: "x"})
	}
	return p.err
}

func (p *fakePlace) open(context.Context, stored) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(logLine{}.String())), nil
}
