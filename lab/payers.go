package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"
)

// payers pay through the gateways, at rates of their own and whatever the answers.
type payers struct {
	customer *customer
	trickle  *trickle // the usual payments

	mu       sync.Mutex
	payments []Payment
	spans    map[string]Span
}

// Payment is one payment as the payer saw it.
type Payment struct {
	Gateway, ID string
	Sent        time.Time
	// State is APPROVED, FAILED or UNKNOWN as the application answered, empty where
	// the balancer answered in its place; Reason is the application's.
	State, Reason string
}

// Span is a part of a scenario.
type Span struct{ From, To time.Time }

// Holds reports whether a moment lies in the half-open span.
func (s Span) Holds(at time.Time) bool { return !at.Before(s.From) && at.Before(s.To) }

// pay makes count payments through a gateway, one every so often, and returns when
// all are answered.
func (p *payers) pay(ctx context.Context, gateway string, count int, every time.Duration) {
	times(ctx, count, every, func(n int) { p.one(fmt.Sprintf("%s-%04d", gateway, n), gateway) })
}

// usual pays now and then through each of some gateways, until the trickle is stopped.
func (p *payers) usual(ctx context.Context, gateways ...string) {
	p.trickle.run(ctx, func(ctx context.Context) {
		pace(ctx, 100*time.Millisecond, func(n int) {
			p.one(fmt.Sprintf("day-%04d", n), gateways[n%len(gateways)])
		})
	})
}

func (p *payers) one(id, gateway string) {
	body, _ := json.Marshal(map[string]string{"gateway": gateway, "payment": id}) // never fails
	view, answer := p.customer.ask("pay-"+id, http.MethodPost, "/v1/payments", string(body))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.payments = append(p.payments, Payment{Gateway: gateway, ID: id, Sent: view.Sent, State: answer.text("state"), Reason: answer.Reason})
}

// during remembers the time that do takes as a named part.
func (p *payers) during(name string, do func()) {
	from := stamp(time.Now()).Truncate(time.Millisecond) // to which the nodes tell theirs
	do()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.spans == nil {
		p.spans = map[string]Span{}
	}
	p.spans[name] = Span{from, stamp(time.Now())}
}

func (p *payers) truth() (payments []Payment, spans map[string]Span) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.payments), maps.Clone(p.spans)
}

// GatewayUse is a row of the second report's tables: what became of the payments
// through one gateway, and what the gateway got.
type GatewayUse struct {
	Payments int            // distinct ones that payers made
	States   map[string]int // as the payers were told
	Reasons  map[string]int // of those that failed
	Received int            // calls that reached the gateway
	// RefusedButReceived are payments that a guard refused and of which the gateway
	// got a call all the same: there must be none.
	RefusedButReceived int
	// MostPerSecond is the largest number of calls in any one second, by the time at
	// which the nodes let them pass.
	MostPerSecond int
}

// GatewayUse sums up one gateway over a part of the scenario.
func (t Truth) GatewayUse(gateway string, in Span) GatewayUse {
	use := GatewayUse{States: map[string]int{}, Reasons: map[string]int{}}
	received := map[string]bool{}
	var sent []time.Time
	for _, call := range t.Calls {
		if call.Gateway == gateway && in.Holds(call.Sent) {
			use.Received++
			received[call.Payment] = true
			sent = append(sent, call.Sent)
		}
	}
	use.MostPerSecond = mostPerSecond(sent)
	for _, p := range t.Payments {
		if p.Gateway != gateway || !in.Holds(p.Sent) {
			continue
		}
		use.Payments++
		use.States[p.State]++
		if p.State == stateFailed {
			use.Reasons[p.Reason]++
			if received[p.ID] {
				use.RefusedButReceived++
			}
		}
	}
	return use
}
