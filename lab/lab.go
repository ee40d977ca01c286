package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Options say where a lab keeps its files and what it runs.
type Options struct {
	Dir string // made if need be; holds logs, and is left behind
	// Executable is the binary whose NodeCommand is [ChildMain]; empty: this one.
	Executable string
	Scenario   string
	// Guards are switched on for this run, by the names that [Guards] lists.
	Guards []string
	Log    *slog.Logger // nil: silent
}

// Lab is a running lab: nodes, load balancer, query API and users.
type Lab struct {
	scenario *scenario
	log      *slog.Logger
	id       *identity
	nodes    []*supervisor
	group    *targetGroup
	balancer *balancer
	files    *logFiles
	checks   *logFiles
	memory   *memory
	backend  *backend  // what the nodes share; nil where a scenario has none
	store    *storeApp // of order-journey
	mailbox  *mailbox  // of blue-green
	payers   *payers   // of slow-dependency
	shoppers *shoppers // of admission-queue
	api      *http.Server
	url      string // of the load balancer
	apiURL   string

	ran    atomic.Bool
	deploy atomic.Pointer[string]

	releases  []func() // reserved ports
	stopUsers context.CancelFunc
	users     sync.WaitGroup
	stopRest  context.CancelFunc
	rest      sync.WaitGroup
	closing   sync.Once
	closeErr  error
}

// deregistrationDelay is how long requests to a deregistered target may go on.
const deregistrationDelay = 3 * time.Second

// startLimit is how long everything may take to be up and healthy.
const startLimit = 30 * time.Second

// Start starts a lab. When it returns without an error, the nodes are up, the load
// balancer has found each of them healthy or not, and users are at work; the caller
// has to call [Lab.Close]. The end of ctx does not end the lab, only a start that is
// under way.
func Start(ctx context.Context, options Options) (*Lab, error) {
	scenario, err := choose(options.Scenario, options.Guards)
	if err != nil {
		return nil, fmt.Errorf("start lab: %w", err)
	}
	return startScenario(ctx, scenario, options)
}

func startScenario(ctx context.Context, scenario *scenario, options Options) (*Lab, error) {
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	if options.Executable == "" {
		executable, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("start lab: %w", err)
		}
		options.Executable = executable
	}
	dir, err := filepath.Abs(options.Dir)
	if err != nil {
		return nil, fmt.Errorf("start lab: %w", err)
	}
	l := &Lab{scenario: scenario, log: options.Log, id: newIdentity()}
	if err := l.start(ctx, dir, options.Executable); err != nil {
		return nil, errors.Join(fmt.Errorf("start lab: %w", err), l.Close())
	}
	return l, nil
}

func newIdentity() *identity {
	id := &identity{region: "ap-northeast-2", account: "123456789012", targetGroup: "api", node: "127.0.0.1"}
	id.loadBalancer = "app/gapless-lab/" + randomHex(8)
	arn := "arn:aws:elasticloadbalancing:" + id.region + ":" + id.account + ":"
	id.loadBalancerARN = arn + "loadbalancer/" + id.loadBalancer
	id.targetGroupARN = arn + "targetgroup/" + id.targetGroup + "/" + randomHex(8)
	return id
}

func (l *Lab) start(ctx context.Context, dir, executable string) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	logs, nodes, temp := filepath.Join(dir, "access-logs"), filepath.Join(dir, "nodes"), filepath.Join(dir, "unfinished")
	for _, each := range []string{logs, nodes, temp} {
		if err := os.MkdirAll(each, 0o755); err != nil {
			return err
		}
	}
	l.memory = &memory{names: map[string]string{}, users: map[string]userSide{}}
	l.files = &logFiles{id: l.id, dir: logs, temp: temp, log: l.log}
	l.checks = &logFiles{id: l.id, kind: healthLogPrefix, dir: logs, temp: temp, log: l.log}
	rest, stopRest := context.WithCancel(context.Background())
	l.stopRest = stopRest
	if l.scenario.equip != nil {
		if err := l.scenario.equip(l, rest, dir); err != nil {
			return err
		}
	}
	for _, plan := range l.scenario.nodes {
		if err := l.addNode(plan, nodes, executable); err != nil {
			return err
		}
	}

	l.group = newTargetGroup(rest, l.scenario.health, deregistrationDelay)
	l.group.logged = func(c healthCheck) { l.checks.put(logLine{c.end, appendHealthLine(nil, l.id, &c)}) }
	l.balancer = &balancer{
		group: l.group, connectTimeout: 10 * time.Second, idleTimeout: cmp.Or(l.scenario.idleTimeout, time.Minute),
		done: func(x exchange) { l.memory.balancerSaw(x); l.files.add(x) },
	}
	var err error
	if l.url, err = l.balancer.listen(l.log); err != nil {
		return err
	}
	if err := l.listenAPI(); err != nil {
		return err
	}
	l.rest.Go(func() { l.files.run(rest) })
	l.rest.Go(func() { l.checks.run(rest) })

	// A target is registered once its node is up: one passing check and it is in.
	first := &workflow{lab: l, log: l.log}
	var addresses []string
	for i, node := range l.nodes {
		if l.scenario.nodes[i].idle {
			continue
		}
		if err := first.waitUp(ctx, node, 0); err != nil {
			return err
		}
		l.group.register(node.address)
		addresses = append(addresses, node.address)
	}
	for !l.group.settled(addresses...) {
		if err := sleep(ctx, 10*time.Millisecond); err != nil {
			return fmt.Errorf("targets are not checked: %w", err)
		}
	}
	users, stopUsers := context.WithCancel(context.Background())
	l.stopUsers = stopUsers
	crowd := newCrowd(l.url, l.memory)
	if l.scenario.crowd != nil {
		crowd.personas = l.scenario.crowd
	}
	l.users.Go(func() { crowd.run(users) })
	if l.scenario.guests != nil {
		l.users.Go(func() { l.scenario.guests(l, users) })
	}
	return nil
}

func (l *Lab) addNode(plan nodePlan, dir, executable string) error {
	name := plan.name
	port, release, err := reservePort()
	if err != nil {
		return err
	}
	l.releases = append(l.releases, release)
	path := filepath.Join(dir, name+".log")
	log, err := openNodeLog(path)
	if err != nil {
		return err
	}
	node := &supervisor{
		executable: executable, name: name, address: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		logPath: path, marker: filepath.Join(dir, name+".drain"),
		boot: l.scenario.boot, delay: l.scenario.restartDelay, log: log,
	}
	// A marker that an earlier lab left in the same folder would keep the node out.
	if err := os.Remove(node.marker); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	l.nodes = append(l.nodes, node)
	l.memory.names[node.address] = name
	if l.scenario.nodeArgs != nil {
		node.args = func(version string) []string { return l.scenario.nodeArgs(l, name, version) }
	}
	if plan.idle {
		return nil
	}
	return node.start(versionBefore)
}

func (l *Lab) listenAPI() error {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for the query API: %w", err)
	}
	_, port := splitAddress(l.nodes[0].address)
	l.api = &http.Server{Handler: &elbv2{id: l.id, group: l.group, port: port}, ReadHeaderTimeout: 10 * time.Second}
	l.apiURL = "http://" + listener.Addr().String()
	go func() { _ = l.api.Serve(listener) }()
	return nil
}

// Truth is what has happened so far.
func (l *Lab) Truth() Truth {
	t := Truth{Scenario: l.scenario.name, Requests: l.memory.truth()}
	if l.store != nil {
		t.Orders = l.store.truth()
	}
	if l.payers != nil {
		t.Calls = l.backend.gateways.received()
		t.Payments, t.Spans = l.payers.truth()
	}
	if l.shoppers != nil {
		t.Trips, t.Spans = l.shoppers.truth()
	}
	if l.mailbox != nil {
		t.Invoices = l.mailbox.end
	}
	if id := l.deploy.Load(); id != nil {
		t.Deploy = *id
	}
	return t
}

// Close sends the users home, closes the balancer, writes the last access-log
// object and ends the nodes. It may be called more than once; the files stay.
func (l *Lab) Close() error {
	l.closing.Do(func() {
		if l.stopUsers != nil {
			l.stopUsers()
			l.users.Wait()
		}
		if l.balancer != nil && l.balancer.server != nil {
			l.balancer.close()
		}
		if l.api != nil {
			l.closeErr = l.api.Close()
		}
		if l.stopRest != nil {
			l.stopRest()
			l.rest.Wait()
			if l.group != nil {
				l.group.checks.Wait()
			}
		}
		for _, node := range l.nodes {
			node.close()
		}
		for _, release := range l.releases {
			release()
		}
		if l.mailbox != nil {
			l.closeErr = errors.Join(l.closeErr, l.mailbox.err)
		}
	})
	return l.closeErr
}
