package analysis

import "testing"

func TestOutcomeOfALoggedRequest(t *testing.T) {
	for _, c := range []struct {
		name                 string
		status, targetStatus int
		want                 Outcome
	}{
		{"the target's own error", 500, 500, OutcomeTarget5xx},
		{"the target's, which the client did not wait for", 460, 503, OutcomeTarget5xx},
		{"the load balancer's", 500, 0, OutcomeLB5xx},
		{"the load balancer's, over an answer of the target", 502, 200, OutcomeLB5xx},
		{"nearly one", 499, 0, OutcomeClientAbort},
		{"the client went, as ALB says it", 460, 0, OutcomeClientAbort},
		{"as nginx says it", 499, 200, OutcomeClientAbort},
		{"beside them", 461, 461, OutcomeClientError},
		{"too many", 429, 429, OutcomeRejected},
		{"beside it", 428, 428, OutcomeClientError},
		{"the client's fault", 400, 400, OutcomeClientError},
		{"a redirect", 399, 399, OutcomeOK},
		{"answered", 200, 200, OutcomeOK},
		{"to be continued", 100, 100, OutcomeOK},
		{"no status at all", 0, 0, OutcomeUnknown},
		{"no status of HTTP", 99, 0, OutcomeUnknown},
	} {
		if got := LogOutcome(c.status, c.targetStatus); got != c.want {
			t.Errorf("%s (%d, %d): %s, want %s", c.name, c.status, c.targetStatus, got, c.want)
		}
	}
}

func TestStatesInRotation(t *testing.T) {
	in := map[TargetState]bool{StateHealthy: true, StateUp: true, StateUnavailable: true} // the last: not checked, and served
	for _, s := range []TargetState{
		StateInitial, StateHealthy, StateUnhealthy, StateUnhealthyDraining, StateUnused, StateDraining,
		StateUnavailable, StateUp, StateDown, StateUnusedNCP, "a word of its own",
	} {
		if s.InRotation() != in[s] {
			t.Errorf("%s: %t", s, s.InRotation())
		}
	}
}
