package lab

import (
	"context"
	"time"

	"gapless/analysis"
)

// BackToBack is the name of the scenario that makes the risk real which the first
// report found and did not reproduce: success was reported 13 to 23 s before the
// second target served again, and "a deploy started right then may take out the
// first one before the second is back". The deploy to judge is the second one.
const BackToBack = "back-to-back"

// An ALB's default of five passes makes a return slower than a drain, so that the
// second deploy surely stops a node that is the only one in rotation: the last node
// of the first deploy is back H−1 checks after it was ready at the earliest, 4 s; the
// first node of the second is stopped U·I + T and a margin after its mark, 3 s.
var backToBack = scenario{
	name: BackToBack, kind: analysis.KindRolling, window: longWindow, boot: bootTime, restartDelay: time.Second,
	health: analysis.HealthCheck{Interval: time.Second, Timeout: 300 * time.Millisecond, Unhealthy: 2, Healthy: 5, Path: healthPath},
	deploy: (*workflow).backToBack,
	expect: Expect{
		Verdict: analysis.Disproved,
		Findings: []string{
			"back-to-back-deploy",    // it began before api-2 served again
			"fail-open",              // api-1 is taken out while api-2 is not back: nobody is healthy
			"restart-before-eject",   // so api-1 is sent requests although it was ejected, also while it is down
			"reported-before-return", // the same workflow, once more
			"single-target",          // each node in turn
		},
		MayAlso: busyMachine,
	},
}

// longWindow has a baseline that begins before the last drain of the first deploy,
// and a tail that outlasts a return of H·I + T = 5.3 s.
var longWindow = analysis.WindowSettings{Baseline: 7 * time.Second, Tail: 7 * time.Second, Settle: window.Settle, Max: window.Max}

// backToBack is two rolling deploys with drain. Whoever started the second waited
// for the first one's success and for nothing else; there is nothing to build.
func (w *workflow) backToBack(ctx context.Context) error {
	if err := w.rollingDrain(ctx); err != nil {
		return err
	}
	if _, err := w.report(ctx); err != nil {
		return err
	}
	if err := w.begin(ctx, versionAfter, versionNext); err != nil {
		return err
	}
	return w.drainEach(ctx)
}
