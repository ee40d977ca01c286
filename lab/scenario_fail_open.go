package lab

import (
	"context"
	"time"

	"gapless/analysis"
)

// FailOpen is the name of the scenario that retells the fifth report's load
// balancers whose health check could never pass: the application answers 404 to the
// path of the check, because it serves nothing without a tenant's host name. All
// targets are unhealthy at all times, so the load balancer sends to all of them, and
// the service looks well. When a target dies, its state stays as it was.
const FailOpen = "fail-open"

// deadCheck is the health check of that report: a path that answers 404. Its times
// are those of the other scenarios.
var deadCheck = analysis.HealthCheck{Interval: time.Second, Timeout: 300 * time.Millisecond, Unhealthy: 2, Healthy: 2, Path: "/"}

var failOpen = scenario{
	// A boot of 3 s is longer than a check that works needs to take a target out,
	// U·I + T = 2.3 s. Whatever is lost after that is lost to the check.
	name: FailOpen, kind: analysis.KindRolling, health: deadCheck, window: window, boot: 3 * time.Second, restartDelay: time.Second,
	deploy: (*workflow).restartEach,
	expect: Expect{
		// Every request that round robin sends to the node that boots is refused.
		Verdict: analysis.Disproved,
		Findings: []string{
			"fail-open",                 // no target is ever healthy, and all of them serve
			"health-check-never-passes", // 404, before and after the deploy
			"health-check-blind",        // the state of a node that is dead is that of one that serves
			"restart-before-eject",      // nothing can eject
			"single-target",             // while one boots, only the other answers
		},
		MayAlso: busyMachine,
	},
}

// restartEach restarts one node after the other. The workflow believes that it waits
// for return, and that the load balancer does the rest.
func (w *workflow) restartEach(ctx context.Context) error {
	if err := w.build(ctx); err != nil {
		return err
	}
	for _, node := range w.lab.nodes {
		if err := w.restart(ctx, node); err != nil {
			return err
		}
		if err := sleep(ctx, w.returnWait()); err != nil {
			return err
		}
	}
	return nil
}
