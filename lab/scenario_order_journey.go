package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gapless/analysis"
)

// OrderJourney is the name of a scenario.
const OrderJourney = "order-journey"

// orderJourney reproduces the third round of the first report (seeds/000): orders are
// followed from creation over the reading of their detail to the acknowledgement
// while each node is killed once. The store's app retries, and acknowledges also what
// it could not read.
//
// As there, a node that is idle loses no work; the report did not dare to kill a node
// in the middle of an order. The lab does: the second kill cuts one in two.
var orderJourney = scenario{
	// Down for about 2.6 s, which the checks cannot answer before (U−1)·I = 4 s. An
	// attempt goes to the dead node every other time, so that of some fifty orders
	// created meanwhile about one in eight fails to read its detail in three attempts.
	name: OrderJourney, kind: analysis.KindFault,
	health: analysis.HealthCheck{Interval: 4 * time.Second, Timeout: time.Second, Unhealthy: 2, Healthy: 2, Path: healthPath},
	window: window, boot: bootTime, restartDelay: 2 * time.Second,
	nodes: twoNodes,
	equip: func(l *Lab, _ context.Context, dir string) (err error) {
		if l.backend, err = startBackend(l.log); err != nil {
			return err
		}
		l.releases = append(l.releases, l.backend.close)
		if l.store, err = newStoreApp(filepath.Join(dir, "orders.ndjson")); err != nil {
			return err
		}
		l.releases = append(l.releases, l.store.close)
		return nil
	},
	nodeArgs: func(l *Lab, _, _ string) []string {
		return []string{"-app", appOrders, "-backend", l.backend.url}
	},
	guests: func(l *Lab, ctx context.Context) {
		l.store.customer = newCustomer(l, "StoreReceiver/10.14.0 (Windows NT 10.0; Win64)")
		if sleep(ctx, warmUp) == nil { // the nodes have just started
			l.store.run(ctx)
		}
	},
	watch: func(l *Lab, s *Settings) {
		s.OwnRules = append(s.OwnRules, workRules...)
		s.OwnRules = append(s.OwnRules, OwnRule{
			Name: "journey", Match: `^journey=(?P<journey>\S+) key=(?P<key>\S+) step=(?P<step>\S+) outcome=(?P<outcome>\S+)`, Event: analysis.EventJourneyStep,
		})
		s.Journeys = append(s.Journeys, JourneySettings{
			Name: journeyOrder, Steps: []string{stepCreate, stepDetail, stepAck}, Within: orderWithin,
			Records: []JourneyRecords{{Name: "store-app", Path: l.store.records.Name()}},
		})
	},
	deploy: (*workflow).killInTheMiddle,
	expect: Expect{
		// Each node was down and in rotation for seconds, and took its share of the
		// users' requests with it.
		Verdict: analysis.Disproved,
		Findings: []string{
			"returned-before-eject", // the supervisor is quicker than two checks
			"step-order",            // orders acknowledged whose detail was never read
			"torn-write",            // the order that the second kill cut in two
			"single-target",         // each node stood alone while the other was down
		},
		MayAlso: busyMachine,
	},
}

// workRules read the lines around a piece of work.
var workRules = []OwnRule{
	{Name: "work-began", Match: `^order=(?P<key>\S+) work begun`, Event: analysis.EventWorkBegan},
	{Name: "work-ended", Match: `^order=(?P<key>\S+) work ended`, Event: analysis.EventWorkEnded},
}

// killInTheMiddle kills the first node while it has nothing to do, and the second one
// while it is placing an order. The supervisors bring them back.
func (w *workflow) killInTheMiddle(ctx context.Context) error {
	first, second := w.lab.nodes[0], w.lab.nodes[1]
	if err := sleep(ctx, time.Second); err != nil {
		return err
	}
	if err := w.killAndWait(ctx, first, w.killIdle); err != nil {
		return err
	}
	return w.killAndWait(ctx, second, w.killAtWork)
}

// killAndWait kills a node and returns when it has served for a while again.
func (w *workflow) killAndWait(ctx context.Context, node *supervisor, kill func(context.Context, *supervisor) error) error {
	before := node.pid()
	if err := kill(ctx, node); err != nil {
		return err
	}
	if err := w.waitUp(ctx, node, before); err != nil {
		return err
	}
	return sleep(ctx, 2*time.Second)
}

// killIdle kills a node between two requests: the balancer holds back what it would
// send until the process is gone. The report's script looked at the node's own
// metrics first, which leaves some milliseconds to chance.
func (w *workflow) killIdle(_ context.Context, node *supervisor) error {
	return w.lab.balancer.whileIdle(node.address, func() error { return node.killed() })
}

// killAtWork places an order that takes seconds, again where another node gets it,
// and kills the node in the middle of it.
func (w *workflow) killAtWork(ctx context.Context, node *supervisor) error {
	for n := 1; ; n++ {
		key := fmt.Sprintf("big-%d", n)
		w.lab.users.Go(func() { w.lab.store.order(key, bigOrder) })
		at, err := w.begun(ctx, key)
		if err != nil {
			return err
		}
		if at == node.name {
			return node.killed()
		}
	}
}

// begun waits until a node's log says that work on an order began there.
func (w *workflow) begun(ctx context.Context, key string) (node string, err error) {
	for {
		for _, each := range w.lab.nodes {
			text, err := os.ReadFile(each.logPath)
			if err != nil {
				return "", fmt.Errorf("look for order %s: %w", key, err)
			}
			if strings.Contains(string(text), "order="+key+" work begun") {
				return each.name, nil
			}
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return "", fmt.Errorf("order %s was not begun: %w", key, err)
		}
	}
}
