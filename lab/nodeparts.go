package lab

import (
	"encoding/json"
	"flag"
	"net/http"
	"time"
)

// Parts of the application that a scenario switches on.
const (
	appOrders    = "orders"
	appPayments  = "payments"
	appAdmission = "admission"
)

// nodeParts is what some scenarios' nodes are besides the application of all.
type nodeParts struct {
	app, backend string
	maxThreads   int  // 0: unbounded
	refills      bool // this node refills the admission
	plans        []gatewayPlan
	shared       string // database of the scheduled job; empty: the application has none
	lock         bool   // the job asks for its lock

	threads  *workers
	pool     *pool
	payments *payments
	desk     *orderDesk
	sale     *admission
}

// A sale's settings are the third report's: half of the pool may order at once. The
// pool's 40 connections are 20 in each of two nodes.
const (
	poolOfNode   = 20
	poolPatience = 500 * time.Millisecond
	targetActive = 20
	refillEvery  = 100 * time.Millisecond
	orderHolds   = 250 * time.Millisecond
)

func (n *node) partFlags(flags *flag.FlagSet) {
	flags.StringVar(&n.app, "app", "", "part of the application besides what all have: "+appOrders+", "+appPayments+" or "+appAdmission)
	flags.StringVar(&n.backend, "backend", "", "address of what the nodes share")
	flags.IntVar(&n.maxThreads, "threads", 0, "most requests at work at once; 0: no bound")
	flags.BoolVar(&n.refills, "refills", false, "refill the admission")
	flags.StringVar(&n.shared, "shared", "", "database that all instances share; with it there is a scheduled job")
	flags.BoolVar(&n.lock, "lock", false, "take the job's lock before a run")
	flags.Func("gateways", "payment gateways and how they are called, as JSON", func(text string) error {
		return json.Unmarshal([]byte(text), &n.plans)
	})
}

// equip makes the parts, as the application is about to serve.
func (n *node) equip() {
	client := newBackendClient(n.backend)
	switch n.app {
	case appOrders:
		n.desk = &orderDesk{backend: client, began: time.Now(), say: func(message string) {
			n.say("task-1", "com.example.orders.OrderService", message)
		}}
	case appPayments:
		n.payments = newPayments(n.plans, n.backend, n.name, func(at time.Time, message string) {
			n.log.spring(at, n.pid, "task-1", "com.example.orders.pay.GatewayCalls", message)
		})
	case appAdmission:
		n.pool = newPool(poolOfNode, poolPatience)
		n.sale = &admission{
			backend: client, pool: n.pool, targetActive: targetActive, every: refillEvery, holds: orderHolds,
			say: func(logger, message string) { n.say("task-1", logger, message) },
		}
		if n.refills {
			go n.sale.refill()
		}
	}
}

func (n *node) partRoutes(mux *http.ServeMux) {
	mux.HandleFunc("GET "+metricsPath, n.metrics)
	switch {
	case n.desk != nil:
		n.desk.routes(mux, n.logged)
	case n.payments != nil:
		mux.Handle("POST /v1/payments", n.logged(n.payments.post))
		mux.Handle("GET /v1/accounts/{account}/balance", n.logged(getBalance))
	case n.sale != nil:
		n.sale.routes(mux, n.logged)
	}
}
