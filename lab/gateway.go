package lab

import (
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// gateways are the payment gateways that the nodes call: one server with a name for
// each, so that every guard has a gateway of its own to be measured at. A gateway
// approves a payment when the call arrives and may then hold its answer back, with
// the connection open, until it is told to recover.
type gateways struct {
	mu    sync.Mutex
	holds map[string]chan struct{} // of the gateways that hold their answers
	calls []GatewayCall
}

// GatewayCall is one call as the gateway got it.
type GatewayCall struct {
	Gateway string
	Payment string // identifier of the payment; attempts at the same share it
	Node    string
	Sent    time.Time // when the node let it pass, by the node's clock
	Arrived time.Time
}

// answerTime is how long a gateway takes that is well.
const answerTime = 5 * time.Millisecond

func newGateways() *gateways { return &gateways{holds: map[string]chan struct{}{}} }

func (g *gateways) routes(mux *http.ServeMux) {
	mux.HandleFunc("POST /gateways/{gateway}/payments/{payment}", g.pay)
}

func (g *gateways) pay(w http.ResponseWriter, r *http.Request) {
	call := GatewayCall{Gateway: r.PathValue("gateway"), Payment: r.PathValue("payment"), Arrived: stamp(time.Now())}
	query := r.URL.Query()
	call.Node = query.Get("node")
	if sent, err := strconv.ParseInt(query.Get("sent"), 10, 64); err == nil {
		call.Sent = time.UnixMicro(sent).UTC()
	}
	g.mu.Lock()
	g.calls = append(g.calls, call)
	hold := g.holds[call.Gateway]
	g.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-r.Context().Done(): // who called has given up
			return
		}
	}
	time.Sleep(answerTime)
	success(map[string]any{"payment": call.Payment, "state": stateApproved}).write(w)
}

// hang makes gateways hold their answers back, and gives the function that makes
// them well again, which answers what they hold.
func (g *gateways) hang(names ...string) (heal func()) {
	hold := make(chan struct{})
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, name := range names {
		g.holds[name] = hold
	}
	return sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		for _, name := range names {
			delete(g.holds, name)
		}
		close(hold)
	})
}

func (g *gateways) received() []GatewayCall {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.calls)
}

// mostPerSecond is the largest number of moments in any half-open second.
func mostPerSecond(moments []time.Time) int {
	sorted := slices.SortedFunc(slices.Values(moments), time.Time.Compare)
	most, from := 0, 0
	for i, at := range sorted {
		for at.Sub(sorted[from]) >= time.Second {
			from++
		}
		most = max(most, i-from+1)
	}
	return most
}
