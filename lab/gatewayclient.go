package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"sync/atomic"
	"time"
)

// gatewayPlan says how a node calls one gateway: what it does so that a gateway
// which does not answer hurts nobody else.
type gatewayPlan struct {
	Name     string           `json:"name"`
	Timeout  time.Duration    `json:"timeout"`  // of one attempt; 0: waits for ever
	Attempts int              `json:"attempts"` // in all; 0 and 1: one
	Backoff  time.Duration    `json:"backoff"`  // before the second attempt, doubled for each further, with jitter; 0: at once
	Breaker  *breakerSettings `json:"breaker,omitempty"`
	Limiter  string           `json:"limiter,omitempty"`
	Limit    int              `json:"limit,omitempty"`    // calls a second that this node lets pass
	Bulkhead int              `json:"bulkhead,omitempty"` // calls of this node that may wait at once
}

// gatewayClient makes a node's calls to one gateway.
type gatewayClient struct {
	plan     gatewayPlan
	base     string
	node     string
	http     *http.Client
	say      func(at time.Time, message string)
	bulkhead bulkhead
	limiter  limiter
	breaker  *breaker
	inFlight atomic.Int64
}

func newGatewayClient(plan gatewayPlan, base, node string, transport http.RoundTripper, say func(at time.Time, message string)) *gatewayClient {
	c := &gatewayClient{
		plan: plan, base: base, node: node, say: say, http: &http.Client{Transport: transport},
		bulkhead: newBulkhead(plan.Bulkhead), limiter: newLimiter(plan.Limiter, plan.Limit),
	}
	if plan.Breaker != nil {
		c.breaker = newBreaker(*plan.Breaker, func(at time.Time, from, to string) {
			// As Resilience4j logs its events.
			say(at, fmt.Sprintf("Event STATE_TRANSITION published: %s: CircuitBreaker '%s' changed state from %s to %s",
				at.Format("2006-01-02T15:04:05.000000Z07:00"), plan.Name, from, to))
		})
	}
	return c
}

// Results of a call, as the nodes' logs name them.
const (
	callOK      = "ok"
	callFailed  = "failed"
	callTimeout = "timeout"
)

// refusedError says that a call was never sent.
type refusedError struct{ by string }

func (e refusedError) Error() string { return "refused by " + e.by }

// pay makes one payment, in as many attempts as the plan allows. It gives the result
// of the last attempt, or a [refusedError] where nothing was sent.
func (c *gatewayClient) pay(payment string) (result string, err error) {
	for attempt := 1; ; attempt++ {
		if result, err = c.try(payment); err != nil || result == callOK || attempt >= c.plan.Attempts {
			return result, err
		}
		if c.plan.Backoff > 0 {
			most := c.plan.Backoff << (attempt - 1)
			time.Sleep(most/2 + rand.N(most/2+1))
		}
	}
}

func (c *gatewayClient) try(payment string) (result string, err error) {
	if !c.bulkhead.enter() {
		return "", c.refused(payment, byBulkhead)
	}
	defer c.bulkhead.leave()
	// To the millisecond that the log will tell, so that the log keeps what the
	// limiter kept.
	now := time.Now().Truncate(time.Millisecond)
	if !c.breaker.allow(now) {
		return "", c.refused(payment, byBreaker)
	}
	if c.limiter != nil && !c.limiter.allow(now) {
		return "", c.refused(payment, byLimiter)
	}
	c.inFlight.Add(1)
	defer c.inFlight.Add(-1)
	c.say(now, c.line(payment)+" sent")
	result = c.send(now, payment)
	ended := time.Now()
	c.say(ended, c.line(payment)+" "+result)
	c.breaker.ended(ended, result != callOK)
	return result, nil
}

func (c *gatewayClient) refused(payment, by string) error {
	c.say(time.Now(), c.line(payment)+" refused by="+by)
	return refusedError{by}
}

func (c *gatewayClient) line(payment string) string {
	return "call=" + logToken(payment) + " to=" + c.plan.Name
}

func (c *gatewayClient) send(now time.Time, payment string) (result string) {
	ctx := context.Background() // who asked may leave; the thread waits on
	if c.plan.Timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, c.plan.Timeout)
		defer cancel()
		ctx = limited
	}
	address := fmt.Sprintf("%s/gateways/%s/payments/%s?node=%s&sent=%d", c.base, c.plan.Name, url.PathEscape(payment), url.QueryEscape(c.node), now.UnixMicro())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, http.NoBody)
	if err != nil {
		return callFailed
	}
	response, err := c.http.Do(request)
	if err == nil {
		_, err = io.Copy(io.Discard, response.Body)
		response.Body.Close()
	}
	switch {
	case os.IsTimeout(err) || errors.Is(err, context.DeadlineExceeded):
		return callTimeout
	case err != nil || response.StatusCode != http.StatusOK:
		return callFailed
	}
	return callOK
}
