package lab

import (
	"context"
	"time"

	"gapless/analysis"
)

// Reregistered is the name of the scenario that retells how, in the fifth report, two
// systems managed one resource: the deploy deregisters a target and waits for its
// requests to end, and a `terraform apply -auto-approve`, to which both targets
// belong to the group, puts the draining one back.
const Reregistered = "reregistered"

var reregistered = scenario{
	name: Reregistered, kind: analysis.KindRolling, health: fastChecks, window: window, boot: bootTime, restartDelay: time.Second,
	deploy: (*workflow).reregistered,
	expect: Expect{
		// api-1 was put back and is stopped in the middle of its traffic.
		Verdict: analysis.Disproved,
		Findings: []string{
			"reregistered",           // api-1, by its state
			"draining-target-served", // api-1, after the deploy had taken it out
			"restart-before-eject",   // api-1
			"single-target",          // each node in turn
		},
		MayAlso: busyMachine,
	},
}

// applyAfter is when, after the first deregistration, the other system applies.
const applyAfter = time.Second

// reregistered takes one node after the other out of its group through the load
// balancer's API, restarts it and puts it back. It waits as long as draining takes
// and does not ask whether the target is gone, so that it never learns what happens.
func (w *workflow) reregistered(ctx context.Context) error {
	if err := w.build(ctx); err != nil {
		return err
	}
	for i, node := range w.lab.nodes {
		if err := w.deregister(ctx, node); err != nil {
			return err
		}
		wait := deregistrationDelay + margin
		if i == 0 {
			if err := sleep(ctx, applyAfter); err != nil {
				return err
			}
			if err := w.apply(ctx); err != nil {
				return err
			}
			wait -= applyAfter
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
		if err := w.restart(ctx, node); err != nil {
			return err
		}
		if err := w.register(ctx, node); err != nil {
			return err
		}
		if err := w.waitHealthy(ctx, node); err != nil {
			return err
		}
		if err := sleep(ctx, time.Second); err != nil { // it takes requests now
			return err
		}
	}
	return nil
}

// apply is the other system: it registers whatever its plan says is missing. It
// tells the console nothing.
func (w *workflow) apply(ctx context.Context) error {
	w.log.Debug("lab: apply -auto-approve")
	return w.changeTargets(ctx, "RegisterTargets", w.lab.nodes...)
}
