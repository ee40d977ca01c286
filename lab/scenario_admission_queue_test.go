package lab

import (
	"strings"
	"testing"
	"time"
)

// What the third report found: through the queue no order fails, and who is told 404
// is READY at a later poll; without it the pool dries up, and takes those along who
// only look at products.
func TestAdmissionQueueKeepsThePoolAlive(t *testing.T) {
	t.Parallel()
	l, _ := runBent(t, AdmissionQueue, nil, func(s *scenario) {
		s.scale(3 * time.Second)
		s.window.Baseline = 2 * time.Second
	}, nil)
	truth := l.Truth()
	recovered, direct, failed := 0, 0, 0
	for _, trip := range truth.Trips {
		switch {
		case !trip.Queued:
			direct++
			if !trip.Ordered {
				failed++
				if trip.Reason != "NO_CONNECTION" {
					t.Errorf("%+v; want it to fail for want of a connection", trip)
				}
			}
		case !trip.Ordered:
			t.Errorf("%+v; want every order through the queue to succeed", trip)
		case trip.Lost > 0:
			recovered++
		}
	}
	if recovered == 0 || direct == 0 || failed < direct/5 {
		t.Errorf("%d were lost and found again, %d of %d orders without the queue failed; want some and many", recovered, failed, direct)
	}
	for burst, dries := range map[string]bool{burstQueued: false, burstDirect: true} {
		asked, failed := 0, 0
		for _, r := range truth.Requests {
			if strings.HasPrefix(r.Path, "/v1/products/") && truth.Spans[burst].Holds(r.Start) {
				asked++
				if r.Outcome.Failure() {
					failed++
				}
			}
		}
		if dries && failed == 0 || !dries && failed > asked/10 {
			t.Errorf("%s: %d of %d reads of products failed; the pool dries up: %v", burst, failed, asked, dries)
		}
	}
	refused := 0
	for _, r := range truth.Requests {
		bot := strings.Contains(r.UserAgent, "bot")
		if bot != (r.Status == 429) {
			t.Errorf("%s was answered %d", r.UserAgent, r.Status)
		}
		if bot {
			refused++
		}
	}
	if refused == 0 {
		t.Error("no bot came")
	}
	for _, node := range l.nodes {
		wantLines(t, node.logPath, []string{`HikariPool-1 - Connection is not available, request timed out after 500ms \(total=20, active=20, idle=0, waiting=\d+\)`})
	}
	t.Logf("%d trips, %d lost, %d of %d direct failed, %d bots, spans %v", len(truth.Trips), recovered, failed, direct, refused, truth.Spans)
	wantLogEqualsTruth(t, l)
}
