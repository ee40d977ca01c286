package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"gapless/analysis"
)

// storeApp is the app in a store that the first report watched: it reads the detail
// of every order and acknowledges it, trying each up to three times, and acknowledges
// also an order whose detail it could not read in the end. It places the orders
// itself, as the report's order loop did inside the app's tab, and writes down every
// attempt.
type storeApp struct {
	customer *customer
	records  *os.File
	tries    int
	pause    time.Duration // between two attempts

	mu     sync.Mutex
	orders []*OrderTruth
}

// OrderTruth is what became of one order at the app in the store.
type OrderTruth struct {
	Key     string
	Began   time.Time // when its creation was answered, or known to have failed: the first that is written down
	Created bool
	// Attempts that were made, and whether the last of them succeeded.
	DetailAttempts, AckAttempts int
	Detail, Ack                 bool
}

const (
	orderEvery  = 25 * time.Millisecond
	orderTries  = 3
	orderPause  = 100 * time.Millisecond
	orderWithin = 5 * time.Second
	// orderEvent is how long an order takes from its creation to the store's app.
	orderEvent = 20 * time.Millisecond
)

// Names of a journey's steps.
const (
	journeyOrder = "order"
	stepCreate   = "create"
	stepDetail   = "detail"
	stepAck      = "ack"
)

func newStoreApp(path string) (*storeApp, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open journey records: %w", err)
	}
	return &storeApp{records: file, tries: orderTries, pause: orderPause}, nil
}

// run places orders until ctx ends and follows each to its end.
func (a *storeApp) run(ctx context.Context) {
	pace(ctx, orderEvery, func(n int) { a.order(fmt.Sprintf("o-%06d", n), 2) })
}

// order takes one order from its creation to its acknowledgement.
func (a *storeApp) order(key string, menus int) {
	body, _ := json.Marshal(map[string]any{"store": 17, "menus": slices.Repeat([]int{1}, menus)}) // never fails
	path := "/v1/orders/" + key
	began, created := a.attempt(key, stepCreate, 1, http.MethodPut, path, string(body))
	order := &OrderTruth{Key: key, Began: began, Created: created}
	a.mu.Lock()
	a.orders = append(a.orders, order)
	a.mu.Unlock()
	if !created { // nobody hears of an order that is not there
		return
	}
	time.Sleep(orderEvent)
	detail, details := a.retry(key, stepDetail, http.MethodGet, path+"/detail")
	a.mu.Lock()
	order.Detail, order.DetailAttempts = detail, details
	a.mu.Unlock()
	ack, acks := a.retry(key, stepAck, http.MethodPost, path+"/ack")
	a.mu.Lock()
	order.Ack, order.AckAttempts = ack, acks
	a.mu.Unlock()
}

func (a *storeApp) retry(key, step, method, path string) (ok bool, attempts int) {
	for attempts = 1; ; attempts++ {
		if _, ok := a.attempt(key, step, attempts, method, path, ""); ok {
			return true, attempts
		}
		if attempts == a.tries {
			return false, attempts
		}
		time.Sleep(a.pause)
	}
}

func (a *storeApp) attempt(key, step string, attempt int, method, path, body string) (at time.Time, ok bool) {
	view, _ := a.customer.ask(fmt.Sprintf("%s-%s-%d", key, step, attempt), method, path, body)
	a.write(key, step, view)
	return view.Done, view.Outcome == analysis.OutcomeOK
}

// write appends one attempt to the app's records. The app does not know who served
// it.
func (a *storeApp) write(key, step string, view UserView) {
	line, err := json.Marshal(struct {
		Journey string           `json:"journey"`
		Key     string           `json:"key"`
		Step    string           `json:"step"`
		At      analysis.Time    `json:"at"`
		Outcome analysis.Outcome `json:"outcome"`
		Target  *string          `json:"target"`
	}{journeyOrder, key, step, analysis.Time{Time: view.Done}, view.Outcome, nil})
	if err == nil {
		_, _ = a.records.Write(append(line, '\n')) // one write a line: no reader sees half of one
	}
}

func (a *storeApp) truth() []OrderTruth {
	a.mu.Lock()
	defer a.mu.Unlock()
	orders := make([]OrderTruth, 0, len(a.orders))
	for _, order := range a.orders {
		orders = append(orders, *order)
	}
	return orders
}

// OrderTable is a row of the first report's table of orders.
type OrderTable struct {
	Orders       int
	Completed    int // every step at its first attempt
	AfterRetries int // every step, some at a later attempt
	// AckWithoutDetail were acknowledged though their detail was never read.
	AckWithoutDetail int
	NeverCreated     int
	// NeverAcked were created, and no acknowledgement came through.
	NeverAcked int
}

// OrderTable counts the orders that began in a half-open span.
func (t Truth) OrderTable(from, to time.Time) OrderTable {
	var row OrderTable
	for _, o := range t.Orders {
		if o.Began.Before(from) || !o.Began.Before(to) {
			continue
		}
		row.Orders++
		switch {
		case !o.Created:
			row.NeverCreated++
		case !o.Ack:
			row.NeverAcked++
		case !o.Detail:
			row.AckWithoutDetail++
		case o.DetailAttempts > 1 || o.AckAttempts > 1:
			row.AfterRetries++
		default:
			row.Completed++
		}
	}
	return row
}

// close closes the records.
func (a *storeApp) close() { _ = a.records.Close() }
