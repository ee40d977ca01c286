package lab

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"gapless/analysis"
)

// shoppers want to order in a sale. Through the queue, they enter it, poll their
// position until they may order, and order; otherwise they order straight away.
type shoppers struct {
	customer, bots *customer
	trickle        *trickle // the usual shoppers

	mu    sync.Mutex
	trips []Trip
	spans map[string]Span
}

// Trip is one shopper's way through the queue to an order.
type Trip struct {
	User    string
	Began   time.Time
	Queued  bool // went through the queue
	Polls   int
	Lost    int // answers that knew the user neither in the queue nor with a token
	Ordered bool
	Reason  string // why not, as the application said; empty where it did not answer
}

const (
	pollEvery = 100 * time.Millisecond
	pollMost  = 300 // polls until a shopper gives up
)

// queue sends one shopper through the queue. Whoever is told 404 polls on: that is
// the way back in.
func (s *shoppers) queue(user string) {
	trip := Trip{User: user, Began: stamp(time.Now()), Queued: true}
	defer func() { s.remember(trip) }()
	number := func(what string) string { return fmt.Sprintf("%s-%s-%d", user, what, trip.Polls) }
	view, answer := s.customer.ask(number("enter"), http.MethodPost, "/v1/queue/enter?user="+user, "")
	for {
		switch {
		case view.Status == http.StatusNotFound:
			trip.Lost++
		case view.Outcome != analysis.OutcomeOK:
			trip.Reason = answer.Reason
			return
		}
		if answer.text("state") == queueReady {
			break
		}
		if trip.Polls == pollMost {
			trip.Reason = "GAVE_UP"
			return
		}
		time.Sleep(pollEvery)
		trip.Polls++
		view, answer = s.customer.ask(number("poll"), http.MethodGet, "/v1/queue/position?user="+user, "")
	}
	view, answer = s.customer.ask(number("order"), http.MethodPost, "/v1/sale/orders?user="+user, `{"token":"`+answer.text("token")+`"}`)
	trip.Ordered, trip.Reason = view.Outcome == analysis.OutcomeOK, answer.Reason
}

// direct has one shopper order without the queue.
func (s *shoppers) direct(user string) {
	trip := Trip{User: user, Began: stamp(time.Now())}
	view, answer := s.customer.ask(user+"-direct", http.MethodPost, "/v1/sale/direct?user="+user, "")
	trip.Ordered, trip.Reason = view.Outcome == analysis.OutcomeOK, answer.Reason
	s.remember(trip)
}

// bot knocks at the queue once.
func (s *shoppers) bot(n int) {
	s.bots.ask(fmt.Sprintf("bot-%06d", n), http.MethodPost, fmt.Sprintf("/v1/queue/enter?user=bot-%06d", n), "")
}

func (s *shoppers) remember(trip Trip) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trips = append(s.trips, trip)
}

// usual is the trickle of an ordinary day, all of it through the queue, until ctx
// ends or the trickle is stopped.
func (s *shoppers) usual(ctx context.Context) {
	s.trickle.run(ctx, func(ctx context.Context) {
		pace(ctx, 100*time.Millisecond, func(n int) { s.queue(fmt.Sprintf("day-%06d", n)) })
	})
}

// burst sends many shoppers within a moment and waits for them.
func (s *shoppers) burst(ctx context.Context, name string, count int, one func(user string)) {
	from := stamp(time.Now())
	times(ctx, count, time.Millisecond, func(n int) { one(fmt.Sprintf("%s-%06d", name, n)) })
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spans == nil {
		s.spans = map[string]Span{}
	}
	s.spans[name] = Span{from, stamp(time.Now())}
}

func (s *shoppers) truth() (trips []Trip, spans map[string]Span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.trips), maps.Clone(s.spans)
}
