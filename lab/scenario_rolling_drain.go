package lab

import (
	"context"
	"time"

	"gapless/analysis"
)

// RollingDrain is the name of a scenario.
const RollingDrain = "rolling-drain"

var rollingDrain = scenario{
	name: RollingDrain, kind: analysis.KindRolling, health: fastChecks, window: window, boot: bootTime, restartDelay: time.Second,
	deploy: (*workflow).rollingDrain,
	expect: Expect{
		Verdict: analysis.Supported,
		// Success is reported when the last node answers its own health check,
		// as the workflow of the first report does: up to H·I + T too early.
		Findings: []string{"reported-before-return", "single-target"},
		MayAlso:  busyMachine,
	},
}

// rollingDrain has each node ask to be taken out, waits until the balancer must
// have done so, restarts it and waits for its return: the workflow of the first
// report with its drain. After the last node it reports success as soon as that
// node says UP, which is before the balancer sends to it.
func (w *workflow) rollingDrain(ctx context.Context) error {
	if err := w.build(ctx); err != nil {
		return err
	}
	return w.drainEach(ctx)
}

func (w *workflow) drainEach(ctx context.Context) error {
	for i, node := range w.lab.nodes {
		if err := w.drain(ctx, node); err != nil {
			return err
		}
		if err := w.restart(ctx, node); err != nil {
			return err
		}
		if i == len(w.lab.nodes)-1 {
			return nil
		}
		if err := sleep(ctx, w.returnWait()); err != nil {
			return err
		}
	}
	return nil
}
