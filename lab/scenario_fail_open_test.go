package lab

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"gapless/analysis"
)

// The fifth report: with all targets unhealthy the service looks well, since the load
// balancer then sends to all of them; and when one dies, "unhealthy" stays "unhealthy".
func TestACheckThatNeverPassesHidesADeath(t *testing.T) {
	t.Parallel()
	const interval, boot = 500 * time.Millisecond, 2 * time.Second
	var ejected time.Duration // by a check that works
	seen := map[string]bool{}
	l, told := runBent(t, FailOpen, nil, func(s *scenario) {
		s.scale(interval)
		s.boot = boot
		ejected = time.Duration(s.health.Unhealthy)*s.health.Interval + s.health.Timeout
	}, func(l *Lab, ctx context.Context) {
		for sleep(ctx, 20*time.Millisecond) == nil {
			for _, status := range l.group.describe() {
				seen[string(status.state)] = true
			}
		}
	})
	if len(seen) != 1 || !seen[string(analysis.StateUnhealthy)] {
		t.Errorf("states %v; want unhealthy at all times, of the living and of the dead", seen)
	}
	truth := l.Truth()
	from := told.at["restart.began api-1"]
	if requests, failures := truth.Counts(from.Add(-time.Second), from, analysis.ClassUser); requests == 0 || failures != 0 {
		t.Errorf("%d of %d requests failed before the first restart; want none of some", failures, requests)
	}
	for _, target := range []string{"api-1", "api-2"} {
		from = told.at["restart.began "+target]
		to := from.Add(boot) // it listens no sooner
		var failed, late, others int
		for _, r := range truth.Requests {
			if r.Start.Before(from) || !r.Start.Before(to) || r.Target == "" {
				continue
			}
			switch {
			case r.Target == target && r.Outcome.Failure():
				failed++
				if r.Start.After(from.Add(ejected)) {
					late++
				}
			case r.Target != target && r.ServedBy() != "":
				others++
			}
		}
		// Round robin: about half, and to the end.
		if failed < 4 || others < failed/2 || others > failed*2 || late == 0 {
			t.Errorf("%s: %d failed (%d of them late), %d served by the other; want about as many, to the end", target, failed, late, others)
		}
	}
	if !slices.Contains(told.steps, "deploy.reported succeeded") {
		t.Errorf("announced %q: the workflow must not notice", told.steps)
	}
	wantLogEqualsTruth(t, l)
	for _, line := range logLines(t, l.files.dir, healthLogPrefix) {
		if !strings.Contains(line, " FAIL ") {
			t.Fatalf("health-check log: %q; want failures only", line)
		}
	}
}
