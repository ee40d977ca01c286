package lab

import (
	"math"
	"sync"
	"time"
)

// Who refuses a call before it is sent, as the nodes' logs name them.
const (
	byBreaker  = "breaker"
	byLimiter  = "limiter"
	byBulkhead = "bulkhead"
)

// bulkhead bounds the calls that wait for one dependency at once. Nobody queues for
// a place: without one the call is refused. A nil one lets everybody in.
type bulkhead chan struct{}

func newBulkhead(places int) bulkhead {
	if places <= 0 {
		return nil
	}
	return make(bulkhead, places)
}

func (b bulkhead) enter() bool {
	if b == nil {
		return true
	}
	select {
	case b <- struct{}{}:
		return true
	default:
		return false
	}
}

func (b bulkhead) leave() {
	if b != nil {
		<-b
	}
}

// limiter lets so many calls a second pass, each kind with its own idea of a second.
type limiter interface {
	allow(now time.Time) bool
}

// Kinds of limiters.
const (
	limitFixed   = "fixed"
	limitToken   = "token"
	limitSliding = "sliding"
)

// newLimiter makes a limiter of a kind; nil for an empty kind.
func newLimiter(kind string, perSecond int) limiter {
	switch kind {
	case limitFixed:
		return &fixedWindow{most: perSecond}
	case limitToken:
		return &tokenBucket{rate: float64(perSecond), tokens: float64(perSecond)}
	case limitSliding:
		return &slidingWindow{passed: make([]time.Time, perSecond)}
	}
	return nil
}

// fixedWindow counts anew with every second of the clock, so that two windows' worth
// can pass within one second around their border.
type fixedWindow struct {
	most int

	mu     sync.Mutex
	second int64
	passed int
}

func (l *fixedWindow) allow(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if second := now.Unix(); second != l.second {
		l.second, l.passed = second, 0
	}
	if l.passed >= l.most {
		return false
	}
	l.passed++
	return true
}

// tokenBucket holds at most one second's worth of tokens and starts full, so that
// the first second lets a bucket and its refill pass.
type tokenBucket struct {
	rate float64 // tokens a second, and the bucket's size

	mu     sync.Mutex
	tokens float64
	filled time.Time
}

func (l *tokenBucket) allow(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.filled.IsZero() {
		l.tokens = math.Min(l.rate, l.tokens+now.Sub(l.filled).Seconds()*l.rate)
	}
	l.filled = now
	if l.tokens < 1 {
		return false
	}
	l.tokens--
	return true
}

// slidingWindow remembers when the last calls passed: one more may only when the
// oldest of them is a whole second ago.
type slidingWindow struct {
	mu     sync.Mutex
	passed []time.Time // a ring
	oldest int
}

func (l *slidingWindow) allow(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if then := l.passed[l.oldest]; !then.IsZero() && now.Sub(then) < time.Second {
		return false
	}
	l.passed[l.oldest] = now
	l.oldest = (l.oldest + 1) % len(l.passed)
	return true
}
