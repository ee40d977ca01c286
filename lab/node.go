package lab

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

// NodeCommand is the first argument with which the lab starts its own binary as a
// node; the main package hands such a start to [ChildMain].
const NodeCommand = "lab-node"

const (
	appName = "orders-api"
	// markerLife is how long a drain marker counts, so that a deploy that was cut
	// off does not keep its node out for ever.
	markerLife = 10 * time.Minute
	// shutdownLimit is how long requests in flight may take to finish after a stop.
	shutdownLimit = 5 * time.Second
)

// ChildMain runs one node until it is told to stop (SIGTERM: gracefully), is
// killed, or its parent is gone (end of standard input). args are those after
// [NodeCommand]. It returns the exit status.
func ChildMain(args []string) int {
	node, err := parseNode(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "lab node:", err)
		return 3
	}
	go func() { // the parent holds the other end and never writes
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	if err := node.run(); err != nil {
		fmt.Fprintf(os.Stderr, "lab node %s: %v\n", node.name, err)
		return 1
	}
	return 0
}

// node is one process of the application that the lab deploys.
type node struct {
	name, address, version string
	logPath, marker        string
	boot                   time.Duration
	log                    *nodeLog
	pid                    int
	worker                 atomic.Int64
	store                  []byte // body of GET /v1/stores/17
	nodeParts
}

func parseNode(args []string) (*node, error) {
	n := &node{pid: os.Getpid()}
	flags := flag.NewFlagSet(NodeCommand, flag.ContinueOnError)
	flags.StringVar(&n.name, "name", "", "name of the node")
	flags.StringVar(&n.address, "address", "", "ip:port to listen on")
	flags.StringVar(&n.version, "version", "", "version that it runs")
	flags.StringVar(&n.logPath, "log", "", "log file to append to")
	flags.StringVar(&n.marker, "marker", "", "while this file exists, health answers OUT_OF_SERVICE")
	flags.DurationVar(&n.boot, "boot", 0, "time from start until it listens")
	n.partFlags(flags)
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if n.name == "" || n.address == "" || n.logPath == "" {
		return nil, errors.New("-name, -address and -log are needed: the lab starts its nodes itself")
	}
	return n, nil
}

// run boots, serves and shuts down. Its log lines are those of a Spring Boot 3
// application with graceful shutdown.
func (n *node) run() error {
	began := time.Now()
	// The signal is taken from the start: a stop during boot ends it at once.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	log, err := openNodeLog(n.logPath)
	if err != nil {
		return err
	}
	defer log.close()
	n.log = log
	n.store = storeBody(17)
	n.threads = newWorkers(n.maxThreads)

	n.say("main", "com.example.orders.App", fmt.Sprintf("Starting App v%s using %s with PID %d", n.version, runtime.Version(), n.pid))
	select {
	case <-time.After(n.boot):
	case <-ctx.Done():
		return nil
	}
	var config net.ListenConfig
	sharePort(&config)
	listener, err := config.Listen(ctx, "tcp4", n.address)
	if err != nil {
		n.say("main", "o.s.b.SpringApplication", "Application run failed")
		return err
	}
	_, port, _ := net.SplitHostPort(n.address)
	n.say("main", "o.s.b.w.embedded.tomcat.TomcatWebServer", "Tomcat started on port "+port+" (http) with context path '/'")
	n.equip()
	running := time.Since(began).Seconds()
	n.say("main", "com.example.orders.App", fmt.Sprintf("Started App in %.3f seconds (process running for %.3f)", running, running))

	scheduled, err := n.schedule(ctx)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: n.routes(), ReadHeaderTimeout: 5 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	const graceful = "o.s.b.w.e.tomcat.GracefulShutdown"
	n.say("ionShutdownHook", graceful, "Commencing graceful shutdown. Waiting for active requests to complete")
	limit, cancel := context.WithTimeout(context.Background(), shutdownLimit)
	defer cancel()
	defer scheduled()
	if err := server.Shutdown(limit); err != nil { // closes the listener first
		n.say("tomcat-shutdown", graceful, "Graceful shutdown aborted with one or more requests still active")
		return server.Close()
	}
	n.say("tomcat-shutdown", graceful, "Graceful shutdown complete")
	return nil
}

func (n *node) say(thread, logger, message string) {
	n.log.spring(time.Now(), n.pid, thread, logger, message)
}

// reply is an answer of the application: a status and a JSON body.
type reply struct {
	status int
	body   []byte
}

func (r reply) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(r.body)))
	w.WriteHeader(r.status)
	_, _ = w.Write(r.body)
}

func (n *node) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(healthPath, n.checked)
	mux.Handle("GET /v1/stores/{id}", n.logged(n.getStore))
	mux.Handle("GET /v1/stores/{id}/menus", n.logged(getMenus))
	mux.Handle("GET /v1/orders/{id}", n.logged(getOrder))
	mux.Handle("POST /v1/orders", n.logged(postOrder))
	// One application for many tenants: without a tenant's host name there is nothing.
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		failure(http.StatusNotFound, "NO_SUCH_TENANT").write(w)
	})
	n.partRoutes(mux)
	mux.Handle("/", n.logged(func(*http.Request) reply {
		return failure(http.StatusNotFound, "NOT_FOUND")
	}))
	return n.threads.serve(mux)
}

// checked answers a health check. The balancer's own carry no request id and are
// not worth a log line; the samples that somebody sends through it do, and are.
func (n *node) checked(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("X-Request-Id") != "" {
		n.logged(n.health).ServeHTTP(w, r)
		return
	}
	n.health(r).write(w)
}

// health answers as Actuator does, which maps OUT_OF_SERVICE to 503.
func (n *node) health(*http.Request) reply {
	if marked, err := os.Stat(n.marker); err == nil && time.Since(marked.ModTime()) < markerLife {
		return reply{http.StatusServiceUnavailable, []byte(outOfService)}
	}
	return reply{http.StatusOK, []byte(`{"status":"UP"}`)}
}

// outOfService is the body of a health answer that asks to be taken out.
const outOfService = `{"status":"OUT_OF_SERVICE"}`

// logged writes the line "received" when a request comes and the line with its
// status before its answer goes out, both with the request's id.
func (n *node) logged(handle func(*http.Request) reply) http.Handler {
	_, port, _ := net.SplitHostPort(n.address)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		id := logToken(r.Header.Get("X-Request-Id"))
		if id == "" {
			id = fmt.Sprintf("%016x", rand.Uint64())
		}
		thread := "io-" + port + "-exec-" + strconv.FormatInt(n.worker.Add(1)%50+1, 10)
		what := r.Method + " " + logToken(r.URL.EscapedPath())
		n.say(thread, "com.example.orders.web.RequestLog", "rid="+id+" received "+what)
		answer := handle(r)
		n.say(thread, "com.example.orders.web.RequestLog", fmt.Sprintf("rid=%s status=%d %s %dms", id, answer.status, what, time.Since(began).Milliseconds()))
		answer.write(w)
	})
}

func (n *node) getStore(r *http.Request) reply {
	work(3, 10)
	id, err := strconv.Atoi(r.PathValue("id"))
	if err != nil || id <= 0 {
		return failure(http.StatusNotFound, "NO_SUCH_STORE")
	}
	if id == 17 {
		return reply{http.StatusOK, n.store}
	}
	return reply{http.StatusOK, storeBody(id)}
}

func getMenus(*http.Request) reply {
	work(5, 20)
	return success(map[string]any{"menus": []map[string]any{
		{"id": 1, "name": "Americano", "price": 4100},
		{"id": 2, "name": "Latte", "price": 4600},
	}})
}

func getOrder(r *http.Request) reply {
	work(4, 12)
	return success(map[string]any{"order_id": r.PathValue("id"), "state": "PAYMENT_WAITING"})
}

// postOrder places an order. As many APIs do, it answers 200 also to an order that
// it does not take: only the body says so.
func postOrder(r *http.Request) reply {
	var order struct {
		Store int   `json:"store"`
		Menus []int `json:"menus"`
	}
	if err := json.NewDecoder(io.LimitReader(r.Body, 64<<10)).Decode(&order); err != nil {
		return failure(http.StatusBadRequest, "BAD_JSON")
	}
	work(12, 40)
	if order.Store <= 0 || len(order.Menus) == 0 {
		return failure(http.StatusOK, "EMPTY_ORDER")
	}
	return success(map[string]any{"order_id": fmt.Sprintf("%012x", rand.Uint64()>>16), "store": order.Store})
}

// work takes between least and most milliseconds, and once in a hundred times four
// times as long.
func work(least, most int) {
	took := time.Duration(least)*time.Millisecond + time.Duration(rand.Int64N(int64(most-least)*int64(time.Millisecond)))
	if rand.IntN(100) == 0 {
		took *= 4
	}
	time.Sleep(took)
}

// storeBody is the answer about one store: over a hundred keys, as wide as the real
// read API whose measurement the lab retells.
func storeBody(id int) []byte {
	data := map[string]any{"id": id, "name": fmt.Sprintf("Store %d", id), "open": true}
	for i := 1; i <= 110; i++ {
		data[fmt.Sprintf("option_%03d", i)] = i % 7
	}
	return success(data).body
}

func success(data map[string]any) reply {
	body, err := json.Marshal(map[string]any{"success": true, "data": data})
	if err != nil {
		panic(err) // only strings, numbers and truth values are ever passed
	}
	return reply{http.StatusOK, body}
}

func failure(status int, reason string) reply {
	return reply{status, fmt.Appendf(nil, `{"success":false,"reason":%q}`, reason)}
}
