package lab

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	maxBody = 4 << 20 // bytes of a request's or an answer's body
	// labHeader carries a simulated user's own number of a request. It joins the
	// user's memory with the balancer's; no target and no log gets to see it.
	labHeader = "X-Lab-Request"
)

// balancer is the load balancer: one node of one listener in front of one group.
type balancer struct {
	group          *targetGroup
	connectTimeout time.Duration
	idleTimeout    time.Duration
	// done gets every request, once, before its answer is sent.
	done func(exchange)

	gates sync.Map // *sync.RWMutex by target's address, see whileIdle

	server *http.Server
	port   string
}

// exchange is one request as the balancer remembers it.
type exchange struct {
	start, end time.Time // UTC, whole microseconds
	client     string    // ip:port
	target     string    // ip:port; empty where none was chosen
	// Seconds from arrival to dispatch, to the answer's header, to the answer's
	// end; -1 where it did not come to that.
	requestTime, targetTime, responseTime float64
	status, targetStatus                  int // targetStatus 0: it did not answer
	received, sent                        int // bytes, headers included
	method, url, protocol, path           string
	userAgent, host                       string
	trace, connTrace                      string
	labID, requestID                      string
	outOfService                          bool // the target's answer to a health check that asks to be taken out
}

type readerOf struct{ *bufio.Reader }

var readers = sync.Pool{New: func() any { return &readerOf{bufio.NewReaderSize(nil, 4096)} }}

type connKey struct{}

// listen serves on a port of loopback that the kernel chooses, until close.
func (b *balancer) listen(log *slog.Logger) (url string, err error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen for the load balancer: %w", err)
	}
	_, b.port, _ = net.SplitHostPort(listener.Addr().String())
	b.server = &http.Server{
		Handler:           b,
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, "TID_"+randomHex(16))
		},
	}
	go func() { _ = b.server.Serve(listener) }()
	return "http://" + listener.Addr().String(), nil
}

// close waits a moment for requests in flight, then cuts them off.
func (b *balancer) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if b.server.Shutdown(ctx) != nil {
		_ = b.server.Close()
	}
}

// ServeHTTP forwards one request to one target and answers it.
func (b *balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := b.arrived(r)
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var a *answer
	switch {
	case err != nil:
		status := http.StatusBadRequest // the client closed in the middle of its body
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			status = http.StatusRequestEntityTooLarge
		}
		a = made(status)
	default:
		x.received += len(body)
		a = b.forward(r, body, &x)
	}
	x.status = a.status
	size := 0
	for name, values := range a.header {
		if isHop(name) {
			continue
		}
		for _, value := range values {
			w.Header().Add(name, value)
			size += len(name) + len(value) + 4
		}
	}
	if r.Method != http.MethodHead {
		w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	x.sent = len(a.body) + size + 64
	x.end = stamp(time.Now())
	b.done(x)
	if x.status == statusClientClosed {
		panic(http.ErrAbortHandler) // nobody is there to be answered
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
}

func (b *balancer) arrived(r *http.Request) exchange {
	host := r.Host
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(host, b.port)
	}
	trace := r.Header.Get("X-Amzn-Trace-Id")
	if trace == "" {
		trace = fmt.Sprintf("Root=1-%08x-%s", time.Now().Unix(), randomHex(12))
	}
	conn, _ := r.Context().Value(connKey{}).(string)
	received := len(r.Method) + len(r.RequestURI) + len(r.Host) + 24
	for name, values := range r.Header {
		for _, value := range values {
			received += len(name) + len(value) + 4
		}
	}
	return exchange{
		start: stamp(time.Now()), client: r.RemoteAddr,
		requestTime: -1, targetTime: -1, responseTime: -1,
		received: received, method: r.Method, protocol: r.Proto,
		url: "http://" + host + r.RequestURI, path: r.URL.Path,
		userAgent: r.UserAgent(), host: host, trace: trace, connTrace: conn,
		labID: r.Header.Get(labHeader), requestID: r.Header.Get("X-Request-Id"),
	}
}

// statusClientClosed is what an ALB logs for a client that left while it waited.
const statusClientClosed = 460

var errDelayOver = errors.New("deregistration delay is over")

// forward sends the request to the next target, once, and fills in what became of
// it. The combinations of status and times are those of an ALB's access log.
func (b *balancer) forward(r *http.Request, body []byte, x *exchange) *answer {
	target := b.group.next()
	if target == nil {
		return made(http.StatusServiceUnavailable)
	}
	x.target = target.address
	gate := b.gate(target.address)
	gate.RLock()
	defer gate.RUnlock()
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	stop := context.AfterFunc(target.gone, func() { cancel(errDelayOver) })
	defer stop()

	began := time.Now()
	dialer := net.Dialer{Timeout: b.connectTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", target.address)
	switch {
	case r.Context().Err() != nil:
		return made(statusClientClosed)
	case isTimeout(err):
		return made(http.StatusGatewayTimeout)
	case err != nil:
		return made(http.StatusBadGateway)
	}
	defer conn.Close()
	connected := time.Now()
	idle, idleOver := context.WithTimeout(ctx, b.idleTimeout)
	defer idleOver()
	a, err := exchangeOn(idle, conn, b.outgoing(r, body, x))
	ended := time.Now()
	switch {
	case err == nil:
		x.requestTime = connected.Sub(began).Seconds()
		x.targetTime = a.first.Sub(connected).Seconds()
		x.responseTime = ended.Sub(a.first).Seconds()
		x.targetStatus = a.status
		x.outOfService = x.path == healthPath && string(a.body) == outOfService
		return a
	case r.Context().Err() != nil:
		return made(statusClientClosed)
	case isTimeout(err) && !errors.Is(context.Cause(ctx), errDelayOver):
		x.requestTime = connected.Sub(began).Seconds()
		return made(http.StatusGatewayTimeout)
	default: // closed or reset by the target, malformed, or cut off by us
		x.requestTime = connected.Sub(began).Seconds()
		x.targetTime = ended.Sub(connected).Seconds()
		return made(http.StatusBadGateway)
	}
}

// whileIdle calls do while no request is under way to a target, and holds back those
// that would be sent there meanwhile.
func (b *balancer) whileIdle(address string, do func() error) error {
	gate := b.gate(address)
	gate.Lock()
	defer gate.Unlock()
	return do()
}

func (b *balancer) gate(address string) *sync.RWMutex {
	gate, _ := b.gates.LoadOrStore(address, new(sync.RWMutex))
	return gate.(*sync.RWMutex)
}

// outgoing is the request as the target gets it.
func (b *balancer) outgoing(r *http.Request, body []byte, x *exchange) *http.Request {
	header := r.Header.Clone()
	for name := range strings.SplitSeq(header.Get("Connection"), ",") {
		header.Del(strings.TrimSpace(name))
	}
	for name := range header {
		if isHop(name) {
			header.Del(name)
		}
	}
	header.Del(labHeader)
	client, _, _ := net.SplitHostPort(r.RemoteAddr)
	if before := header.Get("X-Forwarded-For"); before != "" {
		client = before + ", " + client
	}
	header.Set("X-Forwarded-For", client)
	header.Set("X-Forwarded-Port", b.port)
	header.Set("X-Forwarded-Proto", "http")
	header.Set("X-Amzn-Trace-Id", x.trace)
	if header.Get("User-Agent") == "" {
		header.Set("User-Agent", "") // or Request.Write names its own
	}
	out := &http.Request{
		Method: r.Method, URL: r.URL, Host: r.Host, Header: header,
		ContentLength: int64(len(body)), Body: http.NoBody,
	}
	if len(body) > 0 {
		out.Body = io.NopCloser(bytes.NewReader(body))
	}
	return out
}

// isHop reports whether a header concerns one connection only and is not passed on.
func isHop(name string) bool {
	switch name {
	case "Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade":
		return true
	}
	return false
}

// made is an answer of the load balancer itself.
func made(status int) *answer {
	title := strconv.Itoa(status) + " " + http.StatusText(status)
	return &answer{
		status: status,
		header: http.Header{"Content-Type": {"text/html"}, "Server": {balancerName}},
		body:   []byte("<html>\r\n<head><title>" + title + "</title></head>\r\n<body>\r\n<center><h1>" + title + "</h1></center>\r\n</body>\r\n</html>\r\n"),
	}
}

// balancerName is the Server header of answers that the load balancer made.
const balancerName = "awselb/2.0"

func isTimeout(err error) bool {
	if err == nil {
		return false
	}
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	network, ok := errors.AsType[net.Error](err)
	return ok && network.Timeout()
}

// stamp is a moment as the access log can hold it: UTC, whole microseconds.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
