package lab

import (
	"slices"
	"testing"
	"time"
)

// With twice the limit's load, beginning in the middle of a clock's second: what the
// second report measured at 80 calls a second against a limit of 50. All keep the
// average; only the sliding window keeps every second.
func TestLimitersKeepTheAverageButNotEverySecond(t *testing.T) {
	const limit = 50
	most := map[string]int{}
	for _, kind := range []string{limitFixed, limitToken, limitSliding} {
		l := newLimiter(kind, limit)
		start := time.Date(2026, 10, 14, 6, 0, 0, 500_000_000, time.UTC)
		var passed []time.Time
		for at := start; at.Before(start.Add(20 * time.Second)); at = at.Add(10 * time.Millisecond) {
			if l.allow(at) {
				passed = append(passed, at)
			}
		}
		if n := len(passed); n < 20*limit-limit/2 || n > 21*limit {
			t.Errorf("%s: %d passed in 20 s, want about %d", kind, n, 20*limit)
		}
		most[kind] = mostPerSecond(passed)
	}
	if most[limitFixed] != 2*limit || most[limitToken] < limit*3/2 || most[limitSliding] != limit {
		t.Errorf("most in any one second %v; want %d for the fixed window, over %d for the bucket, %d for the sliding window", most, 2*limit, limit*3/2, limit)
	}
	if newLimiter("", limit) != nil {
		t.Error("a limiter of no kind")
	}
}

func TestBulkheadRefusesWhoFindsNoPlace(t *testing.T) {
	b := newBulkhead(2)
	if got := []bool{b.enter(), b.enter(), b.enter()}; !slices.Equal(got, []bool{true, true, false}) {
		t.Errorf("let in %v; want two in and the third refused", got)
	}
	b.leave()
	if !b.enter() {
		t.Error("a place that was left is not free")
	}
	open := newBulkhead(0)
	for range 100 {
		if !open.enter() {
			t.Fatal("no bulkhead refuses")
		}
	}
}

func TestBreakerOpensProbesAndCloses(t *testing.T) {
	var states []string
	b := newBreaker(breakerSettings{Window: 20, Least: 10, Wait: time.Second, HalfOpen: 3, Threshold: .5}, func(_ time.Time, from, to string) {
		states = append(states, from+">"+to)
	})
	now := time.Date(2026, 10, 14, 6, 0, 0, 0, time.UTC)
	call := func(failed bool) bool {
		if !b.allow(now) {
			return false
		}
		b.ended(now, failed)
		return true
	}
	for i := range 10 {
		if !call(i >= 5) {
			t.Fatalf("call %d refused while closed", i)
		}
	}
	if call(false) {
		t.Error("half of ten failed, and it is not open")
	}
	now = now.Add(time.Second)
	for range 3 {
		if !b.allow(now) {
			t.Fatal("refused one of the three calls that a half open breaker lets through")
		}
	}
	if b.allow(now) {
		t.Error("let a fourth call through while half open")
	}
	for range 3 {
		b.ended(now, true)
	}
	if call(false) {
		t.Error("its probes failed, and it is not open again")
	}
	now = now.Add(time.Second)
	for range 3 {
		call(false)
	}
	want := []string{"CLOSED>OPEN", "OPEN>HALF_OPEN", "HALF_OPEN>OPEN", "OPEN>HALF_OPEN", "HALF_OPEN>CLOSED"}
	if !slices.Equal(states, want) {
		t.Errorf("states %v, want %v", states, want)
	}
	var none *breaker
	if !none.allow(now) {
		t.Error("no breaker refuses")
	}
	none.ended(now, true)
}

func TestBreakerForgetsOldResults(t *testing.T) {
	b := newBreaker(breakerSettings{Window: 4, Least: 4, Wait: time.Second, HalfOpen: 1, Threshold: .5}, nil)
	now := time.Date(2026, 10, 14, 6, 0, 0, 0, time.UTC)
	for _, failed := range []bool{false, true, false, false, false, true} { // never two of four
		b.ended(now, failed)
	}
	if !b.allow(now) {
		t.Error("opened though no four results in a row had two failures")
	}
}
