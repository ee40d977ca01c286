package lab

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"gapless/analysis"
)

// SlowDependency is the name of a scenario.
const SlowDependency = "slow-dependency"

// Gateways of slow-dependency: every guard of the second report on and off, each at
// a gateway of its own.
const (
	gatewayNaked    = "pg-naked"    // waits for ever
	gatewayBulkhead = "pg-bulkhead" // waits for ever, a few at once
	gatewayOnce     = "pg-once"     // a timeout, no retry
	gatewayRetry    = "pg-retry"    // three attempts, at once
	gatewayJitter   = "pg-jitter"   // three attempts, with exponential backoff and jitter
	gatewayOpen     = "pg-breaker"  // a timeout and a circuit breaker
	gatewayShut     = "pg-timeout"  // the same load without the breaker
	gatewayFixed    = "pg-fixed"    // limiters of three kinds
	gatewayToken    = "pg-token"
	gatewaySliding  = "pg-sliding"
)

// The second report's numbers, some ten to thirty times smaller.
const (
	threadsOfNode = 20 // there 200
	placesOfNode  = 5  // of the bulkhead, a quarter of the threads as there
	callTimeLimit = 200 * time.Millisecond
	limitOfNode   = 10 // a second; the gateway allows both nodes together twice that
)

// Nodes of slow-dependency.
const (
	nodePlatform = "api-platform" // one of a few threads to a request
	nodeVirtual  = "api-virtual"  // a thread for every request
)

// slowDependency reproduces the second report (seeds/001): payment gateways hold
// their answers back, and each guard shows what it is good for. One node has a
// bounded number of threads, as Tomcat has, the other as many as it likes; both call
// the same gateways with the same guards.
var slowDependency = scenario{
	// The checks use the application's threads, so that they hang as well; they are
	// so far apart that they cannot eject a node in the short time that it does.
	name: SlowDependency, kind: analysis.KindFault,
	health: analysis.HealthCheck{Interval: 15 * time.Second, Timeout: 2 * time.Second, Unhealthy: 2, Healthy: 2, Path: healthPath},
	window: window, boot: bootTime, restartDelay: time.Second, idleTimeout: 1500 * time.Millisecond,
	nodes: []nodePlan{{name: nodePlatform}, {name: nodeVirtual}},
	crowd: []persona{{100, "BankApp/5.1.0 (Android 16)", []call{{100, http.MethodGet, "/v1/accounts/1017/balance", ""}}}},
	equip: func(l *Lab, _ context.Context, _ string) (err error) {
		if l.backend, err = startBackend(l.log); err != nil {
			return err
		}
		l.releases = append(l.releases, l.backend.close)
		l.payers = &payers{trickle: newTrickle()}
		return nil
	},
	nodeArgs: func(l *Lab, node, _ string) []string {
		plans, _ := json.Marshal(gatewayPlans) // never fails
		args := []string{"-app", appPayments, "-backend", l.backend.url, "-gateways", string(plans)}
		if node == nodePlatform {
			args = append(args, "-threads", "20")
		}
		return args
	},
	guests: func(l *Lab, ctx context.Context) {
		l.payers.customer = newCustomer(l, "CheckoutWeb/2.0 (k6)")
		l.payers.usual(ctx, gatewayNaked, gatewayBulkhead) // so that their usual time is known
	},
	watch: func(l *Lab, s *Settings) {
		s.OwnRules = append(s.OwnRules, callRules...)
		s.LogRules = append(s.LogRules, "resilience4j")
		s.Metrics = l.scraped(map[string]string{
			analysis.GaugeBusyThreads: "tomcat_threads_busy_threads", analysis.GaugeMaxThreads: "tomcat_threads_config_max_threads",
			analysis.GaugeInFlight: `gateway_calls_in_flight{gateway="` + gatewayNaked + `"}`,
		})
		for _, plan := range gatewayPlans {
			allowed := analysis.Dependency{Name: plan.Name, PerSecond: 2 * plan.Limit, Routes: []string{"payment"}}
			if plan.Timeout == 0 {
				allowed.InFlight = placesOfNode
			}
			s.Dependencies = append(s.Dependencies, allowed)
		}
		s.Probes[0].Name, s.Probes[0].URL = "balance", l.url+"/v1/accounts/17/balance"
		s.Probes[0].Expect = "status == 200 && body.success == true && body.data.balance > 0"
		s.Routes = []analysis.Route{{Name: "payment", Match: "^/v1/payments", Critical: true}, {Name: "balance", Match: "^/v1/accounts/"}}
	},
	deploy: (*workflow).slowGateways,
	expect: Expect{
		// Users' requests fail and no target stopped or changed: nothing that the judge
		// knows of a deploy explains them.
		Verdict: analysis.Inconclusive,
		Findings: []string{
			"unrelated-collapse",  // balances fail on the node whose threads all wait
			"unbounded-wait",      // at the gateway without any guard
			"retry-amplification", // three attempts, with jitter too
			"burst-over-limit",    // the fixed window and the token bucket
			"blind-spot",          // metrics are answered by the threads that wait
			"query-failed",        // which fails the scrapes
			"probe-stall",         // the balance waits for a thread until the balancer gives up
		},
		MayAlso: busyMachine,
	},
}

// gatewayPlans are the guards of every gateway.
var gatewayPlans = []gatewayPlan{
	{Name: gatewayNaked},
	{Name: gatewayBulkhead, Bulkhead: placesOfNode},
	{Name: gatewayOnce, Timeout: callTimeLimit},
	{Name: gatewayRetry, Timeout: callTimeLimit, Attempts: 3},
	{Name: gatewayJitter, Timeout: callTimeLimit, Attempts: 3, Backoff: 100 * time.Millisecond},
	{Name: gatewayOpen, Timeout: callTimeLimit, Breaker: &breakerSettings{Window: 10, Least: 5, Wait: 2 * time.Second, HalfOpen: 2, Threshold: .5}},
	{Name: gatewayShut, Timeout: callTimeLimit},
	{Name: gatewayFixed, Timeout: time.Second, Limiter: limitFixed, Limit: limitOfNode},
	{Name: gatewayToken, Timeout: time.Second, Limiter: limitToken, Limit: limitOfNode},
	{Name: gatewaySliding, Timeout: time.Second, Limiter: limitSliding, Limit: limitOfNode},
}

// callRules read the lines around a call to a dependency.
var callRules = []OwnRule{
	{Name: "call-sent", Match: `^call=(?P<key>\S+) to=(?P<name>\S+) sent`, Event: analysis.EventCallSent},
	{Name: "call-ended", Match: `^call=(?P<key>\S+) to=(?P<name>\S+) (?P<result>ok|failed|timeout)`, Event: analysis.EventCallEnded},
	{Name: "call-refused", Match: `^call=(?P<key>\S+) to=(?P<name>\S+) refused by=(?P<by>\S+)`, Event: analysis.EventCallRefused},
}

// Parts of slow-dependency.
const (
	partNaked    = "naked"
	partBulkhead = "bulkhead"
	partGuards   = "guards" // timeout, retry, breaker
	partLimits   = "limits"
)

// slowGateways lets the gateways hang, first the one that is called without any
// guard, then, with the same load, the one behind a bulkhead, then those behind a
// timeout. The limiters are measured at gateways that are well.
func (w *workflow) slowGateways(ctx context.Context) error {
	payers, gateways := w.lab.payers, w.lab.backend.gateways
	payers.trickle.stop()
	// Each node gets some 20 payments a second, none of which comes back: 20 threads
	// last for one second of four.
	for _, part := range []struct {
		name, gateway string
		hangs         time.Duration
	}{{partNaked, gatewayNaked, 4 * time.Second}, {partBulkhead, gatewayBulkhead, 3 * time.Second}} {
		heal := gateways.hang(part.gateway)
		payers.during(part.name, func() {
			var load sync.WaitGroup
			const every = 25 * time.Millisecond
			load.Go(func() { payers.pay(ctx, part.gateway, int(part.hangs/every), every) })
			_ = sleep(ctx, part.hangs)
			heal()
			load.Wait()
		})
		if err := sleep(ctx, time.Second); err != nil {
			return err
		}
	}
	payers.during(partGuards, func() {
		lasting := gateways.hang(gatewayOnce, gatewayRetry, gatewayJitter)
		defer lasting()
		passing := gateways.hang(gatewayOpen, gatewayShut)
		var load sync.WaitGroup
		defer load.Wait() // before those that are called thrice are well
		for _, gateway := range []string{gatewayOnce, gatewayRetry, gatewayJitter} {
			load.Go(func() { payers.pay(ctx, gateway, 30, 130*time.Millisecond) })
		}
		for _, gateway := range []string{gatewayOpen, gatewayShut} {
			load.Go(func() { payers.pay(ctx, gateway, 200, 40*time.Millisecond) })
		}
		_ = sleep(ctx, 5*time.Second)
		passing()
	})
	payers.during(partLimits, func() {
		// The load comes in the middle of a clock's second, as it happened to in the
		// report's trial run: a fixed window shows its worst then.
		now := time.Now()
		if sleep(ctx, now.Truncate(time.Second).Add(1500*time.Millisecond).Sub(now)) != nil {
			return
		}
		var load sync.WaitGroup
		defer load.Wait()
		for _, gateway := range []string{gatewayFixed, gatewayToken, gatewaySliding} {
			load.Go(func() { payers.pay(ctx, gateway, 120, 25*time.Millisecond) })
		}
	})
	return ctx.Err()
}
