package accesslog

import (
	"context"
	"math/rand/v2"
	"time"
)

// maxWait bounds the time between two passes however often they fail.
const maxWait = 5 * time.Minute

// Run makes a pass every Every, give or take a tenth, until ctx ends, and then
// answers nil. Every pass lists again as far back as Lookback, so that objects that
// came late are found wherever their keys sort; the first pass lists from what an
// earlier process left ([Config.Since]). After a failure it waits twice as
// long each time, up to five minutes.
func (r *Reader) Run(ctx context.Context) error {
	listed := r.cfg.Since // up to where the last good pass went
	failures := 0
	for {
		now := r.cfg.Now()
		from, newFrom := now.Add(-r.cfg.Lookback), now.Add(-r.cfg.Lookback)
		if !listed.IsZero() {
			newFrom = listed
			from = earlier(from, listed.Add(-r.cfg.Settle)) // what belongs before may have come later
		}
		switch err := r.pass(ctx, from, now, newFrom, nil); {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			failures++
			r.cfg.Log.Error("access log pass failed", "source", r.cfg.Source, "service", r.cfg.Service, "failures", failures, "error", err)
		default:
			failures, listed = 0, now
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
