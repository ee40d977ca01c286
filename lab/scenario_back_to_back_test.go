package lab

import (
	"context"
	"slices"
	"testing"
	"time"

	"gapless/analysis"
)

// The first report: success is reported while the second node is not back, and a
// deploy that begins right then takes the first one out before the second one is in.
func TestADeployRightAfterAnotherFindsNobodyInRotation(t *testing.T) {
	t.Parallel()
	type moment struct {
		at      time.Time
		healthy []string
	}
	var seen []moment
	l, told := runBent(t, BackToBack, nil, func(s *scenario) {
		s.scale(700 * time.Millisecond)
		s.boot = bootTime
	}, func(l *Lab, ctx context.Context) {
		for sleep(ctx, 10*time.Millisecond) == nil {
			now := moment{at: time.Now()}
			for _, status := range l.group.describe() {
				if status.state == analysis.StateHealthy {
					now.healthy = append(now.healthy, l.memory.names[status.address])
				}
			}
			seen = append(seen, now)
		}
	})
	deploy := []string{"drain.marked api-1", "restart.began api-1", "drain.marked api-2", "restart.began api-2", "deploy.reported succeeded"}
	if want := slices.Concat([]string{"deploy.started", "build.finished"}, deploy, []string{"deploy.started"}, deploy); !slices.Equal(told.steps, want) {
		t.Fatalf("announced %q, want %q", told.steps, want)
	}
	first, second := told.before[0], told.deploy
	if first.VersionAfter != second.VersionBefore || first.ReportedAt.After(second.StartedAt) {
		t.Errorf("deploys %+v and %+v; want one right after the other", first, second)
	}
	at := func(when time.Time) []string {
		i, _ := slices.BinarySearchFunc(seen, when, func(m moment, t time.Time) int { return m.at.Compare(t) })
		return seen[max(i-1, 0)].healthy
	}
	if healthy := at(first.ReportedAt); slices.Contains(healthy, "api-2") {
		t.Errorf("success was reported with %v in rotation; want it before api-2 is back", healthy)
	}
	stop := told.at["restart.began api-1"]
	if healthy := at(stop); len(healthy) != 0 {
		t.Errorf("%v in rotation when the second deploy stopped api-1; want nobody", healthy)
	}
	// Fail-open: the node that is down gets its share, and only that one fails.
	var sent int
	for _, r := range l.Truth().Requests {
		if r.Target == "api-1" && r.Start.After(stop) && r.Start.Before(stop.Add(bootTime)) {
			sent++
		}
		if r.Outcome.Failure() && (r.Target != "api-1" || r.Start.Before(stop.Add(-time.Second))) {
			t.Errorf("failure %+v; want none but of api-1 by the second deploy", r)
		}
	}
	if sent == 0 {
		t.Error("nothing was sent to api-1 while it was down")
	}
	wantLogEqualsTruth(t, l)
}
