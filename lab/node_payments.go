package lab

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"
)

// States of a payment, as the nodes answer them.
const (
	stateApproved = "APPROVED"
	stateFailed   = "FAILED"  // known: refused before it was sent, or the gateway said no
	stateUnknown  = "UNKNOWN" // sent, and no answer in time
)

// reasonOf is the reason of a payment that a guard refused, as the second report
// names it.
var reasonOf = map[string]string{byBreaker: "CIRCUIT_OPEN", byLimiter: "RATE_LIMITED", byBulkhead: "BULKHEAD_FULL"}

// payments is the part of the application that calls payment gateways, and its
// neighbour that does not.
type payments struct {
	clients map[string]*gatewayClient
	order   []string // names, as they were given
}

func newPayments(plans []gatewayPlan, backend, node string, say func(at time.Time, message string)) *payments {
	p := &payments{clients: map[string]*gatewayClient{}}
	transport := &http.Transport{MaxIdleConnsPerHost: 32}
	for _, plan := range plans {
		p.clients[plan.Name] = newGatewayClient(plan, backend, node, transport, say)
		p.order = append(p.order, plan.Name)
	}
	return p
}

// post pays through the gateway that the request names. A payment whose result is
// not known is 202, one that is known to have failed 201 with the reason: nobody has
// to look for what was never sent.
func (p *payments) post(r *http.Request) reply {
	var asked struct{ Gateway, Payment string }
	if err := json.NewDecoder(io.LimitReader(r.Body, 64<<10)).Decode(&asked); err != nil {
		return failure(http.StatusBadRequest, "BAD_JSON")
	}
	client := p.clients[asked.Gateway]
	if client == nil || asked.Payment == "" {
		return failure(http.StatusBadRequest, "NO_SUCH_GATEWAY")
	}
	result, err := client.pay(asked.Payment)
	state, reason := stateFailed, "GATEWAY_ERROR"
	if refused, ok := errors.AsType[refusedError](err); ok {
		reason = reasonOf[refused.by]
	}
	switch result {
	case callOK:
		answer := success(map[string]any{"payment": asked.Payment, "state": stateApproved})
		answer.status = http.StatusCreated
		return answer
	case callTimeout:
		return paymentReply(http.StatusAccepted, stateUnknown, "NO_ANSWER")
	}
	return paymentReply(http.StatusCreated, state, reason)
}

func paymentReply(status int, state, reason string) reply {
	body, err := json.Marshal(map[string]any{"success": false, "reason": reason, "data": map[string]any{"state": state}})
	if err != nil {
		panic(err) // only strings and a truth value
	}
	return reply{status, body}
}

// getBalance has nothing to do with any gateway.
func getBalance(r *http.Request) reply {
	work(2, 6)
	return success(map[string]any{"account": r.PathValue("account"), "balance": 41_000})
}
