package lab

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"time"
)

// warmUp is how long after its start a node's event channel is not there yet.
const warmUp = 500 * time.Millisecond

// bigOrder is the number of menus from which placing an order takes bigOrderTakes,
// so that a kill in the middle of it is no matter of luck.
const (
	bigOrder      = 50
	bigOrderTakes = 2 * time.Second
)

// orderDesk is the part of the application that a store's own app talks to: it
// places an order, reads its detail and acknowledges it, in requests that share the
// order's key.
type orderDesk struct {
	backend *backendClient
	began   time.Time
	say     func(message string)
}

func (d *orderDesk) routes(mux *http.ServeMux, logged func(func(*http.Request) reply) http.Handler) {
	mux.Handle("PUT /v1/orders/{key}", logged(d.create))
	mux.Handle("GET /v1/orders/{key}/detail", logged(d.detail))
	mux.Handle("POST /v1/orders/{key}/ack", logged(d.acknowledge))
}

// create places an order under the client's key. The lines around the work are what
// a kill in the middle of it leaves halved.
func (d *orderDesk) create(r *http.Request) reply {
	var order struct {
		Menus []int `json:"menus"`
	}
	if err := json.NewDecoder(io.LimitReader(r.Body, 64<<10)).Decode(&order); err != nil {
		return failure(http.StatusBadRequest, "BAD_JSON")
	}
	key := logToken(r.PathValue("key"))
	d.say("order=" + key + " work begun")
	work(5, 15)
	if len(order.Menus) >= bigOrder {
		time.Sleep(bigOrderTakes)
	}
	if status, err := d.backend.do(http.MethodPut, "/orders/"+url.PathEscape(key), nil, nil); err != nil || status != http.StatusOK {
		d.say("order=" + key + " work ended")
		d.step(key, "create", "target_5xx")
		return failure(http.StatusInternalServerError, "DATABASE")
	}
	d.say("order=" + key + " work ended")
	d.step(key, "create", "ok")
	return success(map[string]any{"order_id": key})
}

func (d *orderDesk) detail(r *http.Request) reply {
	key := logToken(r.PathValue("key"))
	work(3, 8)
	status, err := d.backend.do(http.MethodGet, "/orders/"+url.PathEscape(key), nil, nil)
	switch {
	case err != nil:
		d.step(key, "detail", "target_5xx")
		return failure(http.StatusInternalServerError, "DATABASE")
	case status == http.StatusNotFound:
		d.step(key, "detail", "client_error")
		return failure(http.StatusNotFound, "NO_SUCH_ORDER")
	}
	d.step(key, "detail", "ok")
	return success(map[string]any{"order_id": key, "state": "PAYMENT_WAITING"})
}

// acknowledge answers 200 whatever happened, as the first report's API does: only
// the body tells whether the order counts as received.
func (d *orderDesk) acknowledge(r *http.Request) reply {
	key := logToken(r.PathValue("key"))
	work(2, 6)
	if time.Since(d.began) < warmUp {
		d.step(key, "ack", "bad_body")
		return failure(http.StatusOK, "EVENT_CHANNEL_NOT_READY")
	}
	if status, err := d.backend.do(http.MethodPost, "/orders/"+url.PathEscape(key)+"/ack", nil, nil); err != nil || status != http.StatusOK {
		d.step(key, "ack", "bad_body")
		return failure(http.StatusOK, "NO_SUCH_ORDER")
	}
	d.step(key, "ack", "ok")
	return success(map[string]any{"order_id": key})
}

func (d *orderDesk) step(key, step, outcome string) {
	d.say("journey=order key=" + key + " step=" + step + " outcome=" + outcome)
}
