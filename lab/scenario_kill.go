package lab

import (
	"context"
	"time"

	"gapless/analysis"
)

// Kill is the name of a scenario.
const Kill = "kill"

var kill = scenario{
	// Down for about 1.7 s: the supervisor's delay and the boot. Checks must
	// fail for at least (U−1)·I = 3 s before they eject.
	name: Kill, kind: analysis.KindFault, health: slowChecks, window: window, boot: bootTime, restartDelay: time.Second,
	deploy: (*workflow).kill,
	expect: Expect{
		Verdict:  analysis.Disproved,
		Findings: []string{"returned-before-eject"},
		// A node may be killed with a request that it has received and not answered.
		MayAlso: append([]string{"single-target", "torn-write"}, busyMachine...),
	},
}

// kill kills each node once without notice and lets its supervisor bring it back.
// It tells nobody: the deaths stand in the nodes' own logs.
func (w *workflow) kill(ctx context.Context) error {
	for _, node := range w.lab.nodes {
		if err := sleep(ctx, time.Second); err != nil {
			return err
		}
		w.log.Debug("lab: kill", "node", node.name)
		before := node.pid()
		if err := node.kill(); err != nil {
			return err
		}
		if err := w.waitUp(ctx, node, before); err != nil {
			return err
		}
		// As there, the next one is killed only after this one has served a while.
		if err := sleep(ctx, 2*time.Second); err != nil {
			return err
		}
	}
	return nil
}
