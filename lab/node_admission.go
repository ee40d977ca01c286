package lab

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// admission is the part of the application that orders go through during a sale: a
// refusal for bots, a queue, and the order itself with its database connection.
type admission struct {
	backend      *backendClient
	pool         *pool
	targetActive int           // tokens that may be out at once
	every        time.Duration // between two refills
	holds        time.Duration // how long an order holds its connection
	say          func(logger, message string)
}

func (a *admission) routes(mux *http.ServeMux, logged func(func(*http.Request) reply) http.Handler) {
	mux.Handle("POST /v1/queue/enter", logged(a.enter))
	mux.Handle("GET /v1/queue/position", logged(a.position))
	mux.Handle("POST /v1/sale/orders", logged(a.order))
	mux.Handle("POST /v1/sale/direct", logged(a.place))
	mux.Handle("GET /v1/products/{product}", logged(a.product))
}

// refill tops up, for ever, the users that may order: a closed loop, since what it
// lets in depends on what those before have used up.
func (a *admission) refill() {
	for range time.Tick(a.every) {
		_, _ = a.backend.do(http.MethodPost, "/admit", map[string]int{"TargetActive": a.targetActive}, nil)
	}
}

func userOf(r *http.Request) string { return r.URL.Query().Get("user") }

// enter puts the user into the queue and tells the place. Where the refill was
// quicker, there is none to tell any more: 404, and the next poll knows.
func (a *admission) enter(r *http.Request) reply {
	if strings.Contains(r.UserAgent(), "bot") {
		return failure(http.StatusTooManyRequests, "NOT_FOR_BOTS")
	}
	user := userOf(r)
	if user == "" {
		return failure(http.StatusBadRequest, "NO_USER")
	}
	if _, err := a.backend.do(http.MethodPut, "/queue/"+url.PathEscape(user), nil, nil); err != nil {
		return failure(http.StatusInternalServerError, "QUEUE")
	}
	work(5, 10) // authentication, between entering and looking
	return a.position(r)
}

func (a *admission) position(r *http.Request) reply {
	var p position
	status, err := a.backend.do(http.MethodGet, "/queue/"+url.PathEscape(userOf(r)), nil, &p)
	switch {
	case err != nil:
		return failure(http.StatusInternalServerError, "QUEUE")
	case status == http.StatusNotFound:
		return failure(http.StatusNotFound, "NOT_WAITING")
	}
	return success(map[string]any{"state": p.State, "position": p.Position, "waiting": p.Waiting, "token": p.Token})
}

// order places an order for a token, which is used up at its beginning.
func (a *admission) order(r *http.Request) reply {
	var asked struct{ Token string }
	if err := json.NewDecoder(io.LimitReader(r.Body, 64<<10)).Decode(&asked); err != nil {
		return failure(http.StatusBadRequest, "BAD_JSON")
	}
	status, err := a.backend.do(http.MethodDelete, "/tokens/"+url.PathEscape(asked.Token)+"?user="+url.QueryEscape(userOf(r)), nil, nil)
	switch {
	case err != nil:
		return failure(http.StatusInternalServerError, "QUEUE")
	case status != http.StatusOK:
		return failure(http.StatusForbidden, "NO_TOKEN")
	}
	return a.place(r)
}

// place places an order without asking for a token: the way without the queue.
func (a *admission) place(*http.Request) reply {
	return a.connected(a.holds, map[string]any{"state": "PAYMENT_WAITING"})
}

// product is read from the same database by everybody who only looks.
func (a *admission) product(r *http.Request) reply {
	return a.connected(5*time.Millisecond, map[string]any{"product": r.PathValue("product"), "stock": 100_000_000})
}

// connected does work that holds a database connection.
func (a *admission) connected(takes time.Duration, data map[string]any) reply {
	giveBack, err := a.pool.borrow()
	if err != nil {
		a.say("o.h.engine.jdbc.spi.SqlExceptionHelper", err.Error())
		return failure(http.StatusInternalServerError, "NO_CONNECTION")
	}
	defer giveBack()
	time.Sleep(takes)
	return success(data)
}
