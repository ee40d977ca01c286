package lab

import (
	"context"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The second report's tables, in their shape. Every number is compared with another
// of the same run.
func TestSlowDependencyHasTheReportsTables(t *testing.T) {
	t.Parallel()
	var blind scrapes
	l, _ := runBent(t, SlowDependency, nil, func(s *scenario) { s.scale(15 * time.Second) },
		func(l *Lab, ctx context.Context) { blind.watch(ctx, l) })
	truth := l.Truth()

	// Experiments 1 and 5: without any guard the node with a bounded number of threads
	// answers nobody's balance any more and cannot be scraped; the one with a thread
	// for everybody goes on, as both do behind a bulkhead.
	naked, bulkhead, guards, limits := truth.Spans[partNaked], truth.Spans[partBulkhead], truth.Spans[partGuards], truth.Spans[partLimits]
	for _, test := range []struct {
		part     string
		span     Span
		node     string
		collapse bool
	}{
		{partNaked, naked, nodePlatform, true},
		{partNaked, naked, nodeVirtual, false},
		{partBulkhead, bulkhead, nodePlatform, false},
		{partBulkhead, bulkhead, nodeVirtual, false},
	} {
		asked, failed := 0, 0
		for _, r := range truth.Requests {
			if strings.HasSuffix(r.Path, "/balance") && r.Target == test.node && test.span.Holds(r.Start) {
				asked++
				if r.Outcome.Failure() {
					failed++
				}
			}
		}
		// Shares, since a machine with too much else to do may fail a single one.
		if asked < 5 || test.collapse && failed < asked/5 || !test.collapse && failed > asked/10 {
			t.Errorf("%s: %d of %d balances failed at %s; collapse due: %v", test.part, failed, asked, test.node, test.collapse)
		}
		if answered, missed := blind.in(test.node, test.span); test.collapse && missed < 2 || !test.collapse && missed > answered/3 {
			t.Errorf("%s: %d scrapes of %s failed, %d were answered; collapse due: %v", test.part, missed, test.node, answered, test.collapse)
		}
	}
	if use := truth.GatewayUse(gatewayBulkhead, bulkhead); use.Reasons["BULKHEAD_FULL"] <= use.Payments/2 || use.RefusedButReceived > 0 || use.Received > 4*placesOfNode {
		t.Errorf("bulkhead: %+v; want most refused, and none of these sent", use)
	}

	// Experiment 2: three attempts are three calls, with jitter too, for the same answer.
	sent := map[string]int{}
	for _, node := range l.nodes {
		for gateway, n := range callsSent(t, node.logPath) {
			sent[gateway] += n
		}
	}
	for gateway, times := range map[string]int{gatewayOnce: 1, gatewayRetry: 3, gatewayJitter: 3} {
		use := truth.GatewayUse(gateway, guards)
		if use.Payments == 0 || sent[gateway] != times*use.Payments || use.States[stateUnknown] != use.Payments {
			t.Errorf("%s: %d sent, %+v; want exactly %d calls a payment, and none known", gateway, sent[gateway], use, times)
		}
		// Where the machine stalls, a call's time may be up before it has left.
		if use.Received > sent[gateway] || use.Received < sent[gateway]/2 {
			t.Errorf("%s: %d calls sent, %d received", gateway, sent[gateway], use.Received)
		}
	}

	// Experiment 3: of as many payments, the breaker leaves about an eighth unknown;
	// what it refuses never reaches the gateway.
	open, shut := truth.GatewayUse(gatewayOpen, guards), truth.GatewayUse(gatewayShut, guards)
	if ratio := float64(open.States[stateUnknown]) / float64(shut.States[stateUnknown]); ratio == 0 || ratio > .25 {
		t.Errorf("with the breaker %d unknown, without %d; want an eighth or so", open.States[stateUnknown], shut.States[stateUnknown])
	}
	if open.Reasons["CIRCUIT_OPEN"] == 0 || open.RefusedButReceived != 0 || open.States[stateApproved] == 0 {
		t.Errorf("breaker %+v; want some refused, none of them sent, and approvals after the outage", open)
	}

	// Experiment 4: only the sliding window keeps the limit in every second.
	const limit = 2 * limitOfNode
	for gateway, keeps := range map[string]bool{gatewayFixed: false, gatewayToken: false, gatewaySliding: true} {
		use := truth.GatewayUse(gateway, limits)
		if (use.MostPerSecond <= limit) != keeps || use.RefusedButReceived != 0 || use.Reasons["RATE_LIMITED"] == 0 {
			t.Errorf("%s: %+v against a limit of %d; keeps it: %v", gateway, use, limit, keeps)
		}
		t.Log(gateway, use.MostPerSecond, use.Received)
	}
	t.Logf("open %+v shut %+v", open, shut)
	t.Logf("naked %+v bulkhead %+v", truth.GatewayUse(gatewayNaked, naked), truth.GatewayUse(gatewayBulkhead, bulkhead))
	for _, node := range l.nodes {
		for _, lines := range [][]string{
			{`call=\S+ to=pg-naked sent`, `to=pg-bulkhead refused by=bulkhead`, `to=pg-retry timeout`, `to=pg-sliding refused by=limiter`},
			{
				`to=pg-breaker sent`, `CircuitBreaker 'pg-breaker' changed state from CLOSED to OPEN`, `to=pg-breaker refused by=breaker`,
				`changed state from OPEN to HALF_OPEN`,
			},
		} {
			wantLines(t, node.logPath, lines)
		}
	}
	wantLogEqualsTruth(t, l)
}

// scrapes reads the nodes' metrics as a console would, and remembers when it could and
// when it could not.
type scrapes struct {
	answered, failed map[string][]time.Time
}

func (s *scrapes) watch(ctx context.Context, l *Lab) {
	s.answered, s.failed = map[string][]time.Time{}, map[string][]time.Time{}
	client := &http.Client{Timeout: 500 * time.Millisecond}
	for sleep(ctx, 100*time.Millisecond) == nil {
		for _, node := range l.nodes {
			at := time.Now()
			response, err := client.Get("http://" + node.address + metricsPath)
			if err != nil {
				s.failed[node.name] = append(s.failed[node.name], at)
				continue
			}
			response.Body.Close()
			s.answered[node.name] = append(s.answered[node.name], at)
		}
	}
}

func (s *scrapes) in(node string, span Span) (answered, failed int) {
	count := func(moments []time.Time) (n int) {
		for _, at := range moments {
			if span.Holds(at) {
				n++
			}
		}
		return n
	}
	return count(s.answered[node]), count(s.failed[node])
}

// callsSent counts the calls that a node's log says were sent, by gateway.
func callsSent(t *testing.T, path string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sent := map[string]int{}
	for _, m := range sentLine.FindAllStringSubmatch(string(text), -1) {
		sent[m[1]]++
	}
	return sent
}

var sentLine = regexp.MustCompile(`call=\S+ to=(\S+) sent`)
