package lab

import (
	"sync"
	"time"
)

// States of a circuit breaker, as Resilience4j names them.
const (
	breakerClosed   = "CLOSED"
	breakerOpen     = "OPEN"
	breakerHalfOpen = "HALF_OPEN"
)

// breakerSettings are those of the second report, whose times are ten times longer
// and more.
type breakerSettings struct {
	Window    int           `json:"window"`    // results that it remembers
	Least     int           `json:"least"`     // results before it judges
	Wait      time.Duration `json:"wait"`      // how long it stays open
	HalfOpen  int           `json:"half_open"` // calls that it then lets through
	Threshold float64       `json:"threshold"` // share of failures that opens it
}

// breaker is a circuit breaker over a count of results, with the rules of
// Resilience4j: it opens when enough of the last results are failures; after a wait,
// which the next call notices, it lets a few calls through, and their results close
// or open it again.
type breaker struct {
	breakerSettings
	changed func(at time.Time, from, to string)

	mu      sync.Mutex
	state   string
	results []bool // true: failed; the newest at the end
	opened  time.Time
	probes  int // calls let through since it is half open
}

func newBreaker(s breakerSettings, changed func(at time.Time, from, to string)) *breaker {
	return &breaker{breakerSettings: s, changed: changed, state: breakerClosed}
}

// allow reports whether a call may be sent now. A nil breaker lets all pass.
func (b *breaker) allow(now time.Time) bool {
	if b == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == breakerOpen && now.Sub(b.opened) >= b.Wait {
		b.to(now, breakerHalfOpen)
	}
	switch b.state {
	case breakerOpen:
		return false
	case breakerHalfOpen:
		if b.probes >= b.HalfOpen {
			return false
		}
		b.probes++
	}
	return true
}

// ended takes the result of a call that was let through.
func (b *breaker) ended(now time.Time, failed bool) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == breakerOpen {
		return
	}
	least, window := b.Least, b.Window
	if b.state == breakerHalfOpen {
		least, window = b.HalfOpen, b.HalfOpen
	}
	b.results = append(b.results, failed)
	if len(b.results) > window {
		b.results = b.results[len(b.results)-window:]
	}
	if len(b.results) < least {
		return
	}
	failures := 0
	for _, each := range b.results {
		if each {
			failures++
		}
	}
	switch bad := float64(failures) >= b.Threshold*float64(len(b.results)); {
	case bad:
		b.opened = now
		b.to(now, breakerOpen)
	case b.state == breakerHalfOpen:
		b.to(now, breakerClosed)
	}
}

// to changes the state. The caller holds the mutex.
func (b *breaker) to(now time.Time, state string) {
	from := b.state
	b.state, b.results, b.probes = state, nil, 0
	if b.changed != nil {
		b.changed(now, from, state)
	}
}
