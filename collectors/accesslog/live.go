package accesslog

import (
	"context"
	"math/rand/v2"
	"time"
)

// maxWait bounds the time between two passes however often they fail.
const maxWait = 5 * time.Minute

const (
	// longEvery is how often Run lists as far back as [Config.Late].
	longEvery = time.Hour

	// UsualLate is how late an object may come and still be found: a day, and what the
	// deploy of the day before took.
	UsualLate = 26 * time.Hour
)

// Run makes a pass every Every, give or take a tenth, until ctx ends, and then
// answers nil. Every pass lists again as far back as Lookback, and the first one and
// one an hour as far as Late, so that objects that came late are found wherever their
// keys sort; the first pass lists from what an earlier process left ([Config.Since]).
// No pass looks further back than to where collecting began. After a failure it waits
// twice as long each time, up to five minutes.
func (r *Reader) Run(ctx context.Context) error {
	r.keepOpen(true)
	defer r.keepOpen(false)
	listed := r.cfg.Since // up to where the last good pass went
	began := r.cfg.Began
	var long time.Time // of the last good pass that looked as far as Late
	failures := 0
	for {
		now := r.cfg.Now()
		s := spanOfPass(now.Add(-r.cfg.Lookback), now)
		if !listed.IsZero() {
			s.newFrom = listed
			s.from = earlier(s.from, listed.Add(-r.cfg.Settle)) // what belongs before may have come later
			s.lookFrom = s.from
		}
		if began.IsZero() {
			began = s.from
		}
		isLong := now.Sub(long) >= longEvery
		if isLong && !listed.IsZero() {
			s.lookFrom = earlier(s.from, later(began, listed.Add(-r.cfg.Late)))
		}
		switch err := r.pass(ctx, s, nil); {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			failures++
			r.cfg.Log.Error("access log pass failed", "source", r.cfg.Source, "service", r.cfg.Service, "failures", failures, "error", err)
		default:
			failures, listed = 0, now
			if isLong {
				long = now
			}
		}
		wait := min(r.cfg.Every<<min(failures, 10), max(maxWait, r.cfg.Every))
		if sleep(ctx, jitter(wait)) != nil {
			return nil
		}
	}
}

// waitToResume waits before the next attempt to go on with a broken download.
func waitToResume(ctx context.Context, attempt int) error {
	return sleep(ctx, jitter(250*time.Millisecond<<attempt))
}

// jitter is d, give or take a tenth.
func jitter(d time.Duration) time.Duration {
	return d - d/10 + rand.N(d/5+1)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
