package lab

import (
	"context"
	"time"

	"gapless/analysis"
)

// RollingNaive is the name of a scenario.
const RollingNaive = "rolling-naive"

var rollingNaive = scenario{
	name: RollingNaive, kind: analysis.KindRolling, health: fastChecks, window: window, boot: bootTime, restartDelay: time.Second,
	deploy: (*workflow).rollingNaive,
	expect: Expect{
		Verdict:  analysis.Disproved,
		Findings: []string{"restart-before-eject"},
		// On a slow machine a restart may take long enough to be ejected.
		MayAlso: append([]string{"single-target", "reported-before-return"}, busyMachine...),
	},
}

// rollingNaive restarts one node after the other without taking it out first, and
// waits for return only: the workflow of the first report as it was until October.
func (w *workflow) rollingNaive(ctx context.Context) error {
	if err := w.build(ctx); err != nil {
		return err
	}
	for i, node := range w.lab.nodes {
		if err := w.restart(ctx, node); err != nil {
			return err
		}
		wait := w.returnWait()
		if i == len(w.lab.nodes)-1 {
			wait = time.Second // a smoke test, then success is reported
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
	return nil
}
