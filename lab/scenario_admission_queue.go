package lab

import (
	"context"
	"net/http"
	"time"

	"gapless/analysis"
)

// AdmissionQueue is the name of a scenario.
const AdmissionQueue = "admission-queue"

// admissionQueue reproduces the third report (seeds/002): a burst of shoppers, once
// through a queue that lets in as many as are missing to twenty, and once straight to
// the orders, where it dries up the database's forty connections. Bots are refused.
var admissionQueue = scenario{
	// Nobody stops: the checks have nothing to say here.
	name: AdmissionQueue, kind: analysis.KindFault, health: slowChecks, window: window, boot: bootTime, restartDelay: time.Second,
	nodes: twoNodes,
	crowd: []persona{{100, "ShopApp/3.0 (iPhone; iOS 20.1)", []call{{100, http.MethodGet, "/v1/products/1", ""}}}},
	equip: func(l *Lab, _ context.Context, _ string) (err error) {
		if l.backend, err = startBackend(l.log); err != nil {
			return err
		}
		l.releases = append(l.releases, l.backend.close)
		l.shoppers = &shoppers{trickle: newTrickle()}
		return nil
	},
	nodeArgs: func(l *Lab, node, _ string) []string {
		args := []string{"-app", appAdmission, "-backend", l.backend.url}
		if node == twoNodes[0].name { // one scheduler for both, as one lock would see to
			args = append(args, "-refills")
		}
		return args
	},
	guests: func(l *Lab, ctx context.Context) {
		l.shoppers.customer = newCustomer(l, "ShopApp/3.0 (Android 16)")
		l.shoppers.bots = newCustomer(l, "PriceHunter-bot/1.2")
		l.shoppers.usual(ctx)
	},
	watch: func(l *Lab, s *Settings) {
		s.LogRules = append(s.LogRules, "hikaricp")
		s.Metrics = l.scraped(map[string]string{
			analysis.GaugePoolActive: "hikaricp_connections_active", analysis.GaugePoolMax: "hikaricp_connections_max",
			analysis.GaugePoolPending: "hikaricp_connections_pending", analysis.GaugeBusyThreads: "tomcat_threads_busy_threads",
		})
		s.Probes[0].Name, s.Probes[0].URL = "product", l.url+"/v1/products/17"
		s.Probes[0].Expect = "status == 200 && body.success == true && body.data.stock > 0"
		s.Probes[0].FromTarget = "body.success == false"
		s.Routes = []analysis.Route{
			{Name: "order", Match: "^/v1/sale/", Critical: true}, {Name: "queue", Match: "^/v1/queue/"}, {Name: "product", Match: "^/v1/products/"},
		}
	},
	deploy: (*workflow).sale,
	expect: Expect{
		// Orders fail without the queue, and no target stopped or changed.
		Verdict: analysis.Inconclusive,
		Findings: []string{
			"rejection-surge", // the bots, who are refused, and whom nobody declared
		},
		// A scrape that took too long; and, by how the polls fall, enough of the 404 that a
		// shopper gets who is between the queue and the sale.
		MayAlso: append([]string{"query-failed", "client-error-surge"}, busyMachine...),
	},
}

// Bursts of admission-queue.
const (
	burstQueued = "queued"
	burstDirect = "direct"
)

// sale lets the burst come through the queue with bots among it, and then straight.
func (w *workflow) sale(ctx context.Context) error {
	const (
		queued = 150 // more would only wait longer
		direct = 400
		bots   = 100
	)
	shoppers := w.lab.shoppers
	if err := sleep(ctx, time.Second); err != nil {
		return err
	}
	w.lab.users.Go(func() { times(ctx, bots, 20*time.Millisecond, shoppers.bot) })
	shoppers.burst(ctx, burstQueued, queued, shoppers.queue)
	shoppers.trickle.stop() // whoever still queues would suffer from what comes now
	if err := sleep(ctx, time.Second); err != nil {
		return err
	}
	shoppers.burst(ctx, burstDirect, direct, shoppers.direct)
	return sleep(ctx, time.Second)
}
