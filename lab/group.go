package lab

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"gapless/analysis"
)

// targetGroup decides which target gets the next request. Its rules are those of an
// ALB target group: a new target is in after one passing check, an ejected one
// returns after Healthy passes, Unhealthy failures in a row eject one, and with no
// healthy target every registered one is served (fail-open).
type targetGroup struct {
	health analysis.HealthCheck
	delay  time.Duration // deregistration delay
	ctx    context.Context
	logged func(healthCheck) // hears of every check; may be nil

	mu      sync.Mutex
	targets []*groupTarget // in order of registration
	turn    uint
	checks  sync.WaitGroup
}

// groupTarget is one registered or draining target. The group's mutex guards it.
type groupTarget struct {
	address     string
	state       analysis.TargetState
	reason      string
	description string
	passes      int // in a row
	failures    int // in a row
	stopCheck   context.CancelFunc
	gone        context.Context // done when its deregistration delay is over
	leave       context.CancelFunc
}

// targetStatus is what the load balancer says of a target.
type targetStatus struct {
	address             string
	state               analysis.TargetState
	reason, description string
}

const (
	reasonRegistering = "Elb.RegistrationInProgress"
	reasonChecking    = "Elb.InitialHealthChecking"
	reasonMismatch    = "Target.ResponseCodeMismatch"
	reasonTimeout     = "Target.Timeout"
	reasonFailed      = "Target.FailedHealthChecks"
	reasonDraining    = "Target.DeregistrationInProgress"
	reasonUnused      = "Target.NotRegistered"
)

// newTargetGroup makes an empty group whose checks end with ctx.
func newTargetGroup(ctx context.Context, health analysis.HealthCheck, delay time.Duration) *targetGroup {
	return &targetGroup{ctx: ctx, health: health, delay: delay}
}

// register adds a target and checks it at once. Registering one that is there does
// nothing; one that is draining starts anew.
func (g *targetGroup) register(address string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if at := g.index(address); at >= 0 {
		if g.targets[at].state != analysis.StateDraining {
			return
		}
		g.targets = slices.Delete(g.targets, at, at+1)
	}
	check, stop := context.WithCancel(g.ctx)
	gone, leave := context.WithCancel(g.ctx)
	t := &groupTarget{
		address: address, state: analysis.StateInitial,
		reason: reasonRegistering, description: "Target registration is in progress",
		stopCheck: stop, gone: gone, leave: leave,
	}
	g.targets = append(g.targets, t)
	g.checks.Go(func() { g.check(check, t) })
}

// deregister stops new requests to a target at once. Requests in flight have the
// deregistration delay to end; then they are cut off and the target is gone.
func (g *targetGroup) deregister(address string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := g.index(address)
	if at < 0 || g.targets[at].state == analysis.StateDraining {
		return
	}
	t := g.targets[at]
	t.stopCheck()
	t.state, t.reason, t.description = analysis.StateDraining, reasonDraining, "Target deregistration is in progress"
	time.AfterFunc(g.delay, func() {
		t.leave()
		g.mu.Lock()
		defer g.mu.Unlock()
		g.targets = slices.DeleteFunc(g.targets, func(each *groupTarget) bool { return each == t })
	})
}

// next picks the target for a request, round robin over those in rotation. It is
// nil only where no target is registered.
func (g *targetGroup) next() *groupTarget {
	g.mu.Lock()
	defer g.mu.Unlock()
	var healthy, registered []*groupTarget
	for _, t := range g.targets {
		if t.state == analysis.StateHealthy {
			healthy = append(healthy, t)
		}
		if t.state != analysis.StateDraining {
			registered = append(registered, t)
		}
	}
	if len(healthy) == 0 {
		healthy = registered // fail-open
	}
	if len(healthy) == 0 {
		return nil
	}
	g.turn++
	return healthy[g.turn%uint(len(healthy))]
}

// describe says the state of every target, or of those asked for.
func (g *targetGroup) describe(addresses ...string) []targetStatus {
	g.mu.Lock()
	defer g.mu.Unlock()
	var all []targetStatus
	for _, t := range g.targets {
		all = append(all, targetStatus{t.address, t.state, t.reason, t.description})
	}
	if len(addresses) == 0 {
		return all
	}
	var asked []targetStatus
	for _, address := range addresses {
		status := targetStatus{address, analysis.StateUnused, reasonUnused, "Target is not registered to the target group"}
		if at := slices.IndexFunc(all, func(each targetStatus) bool { return each.address == address }); at >= 0 {
			status = all[at]
		}
		asked = append(asked, status)
	}
	return asked
}

// healthy reports whether all the targets are registered and healthy.
func (g *targetGroup) healthy(addresses ...string) bool {
	for _, status := range g.describe(addresses...) {
		if status.state != analysis.StateHealthy {
			return false
		}
	}
	return true
}

// settled reports whether all the targets are registered and found healthy or not.
func (g *targetGroup) settled(addresses ...string) bool {
	for _, status := range g.describe(addresses...) {
		if status.state != analysis.StateHealthy && status.state != analysis.StateUnhealthy {
			return false
		}
	}
	return true
}

func (g *targetGroup) index(address string) int {
	return slices.IndexFunc(g.targets, func(t *groupTarget) bool { return t.address == address })
}

// check starts a health check every interval, the first one at once.
func (g *targetGroup) check(ctx context.Context, t *groupTarget) {
	tick := time.NewTicker(g.health.Interval)
	defer tick.Stop()
	for {
		one := healthCheck{start: time.Now(), address: t.address}
		var description string
		one.status, one.reason, description = g.ask(ctx, t.address)
		if ctx.Err() != nil {
			return
		}
		one.end = time.Now()
		reason := one.reason
		if g.logged != nil {
			g.logged(one)
		}
		g.mu.Lock()
		t.checked(g.health, reason, description)
		g.mu.Unlock()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// checked counts the result of one check; an empty reason is a pass.
func (t *groupTarget) checked(health analysis.HealthCheck, reason, description string) {
	if t.state == analysis.StateDraining {
		return
	}
	if reason == "" {
		t.passes, t.failures = t.passes+1, 0
		if t.state == analysis.StateInitial || t.passes >= health.Healthy {
			t.state, t.reason, t.description = analysis.StateHealthy, "", ""
		}
		return
	}
	t.passes, t.failures = 0, t.failures+1
	switch {
	case t.failures >= health.Unhealthy:
		t.state, t.reason, t.description = analysis.StateUnhealthy, reason, description
	case t.state == analysis.StateInitial:
		t.reason, t.description = reasonChecking, "Initial health checks in progress"
	}
}

// ask sends one health check as the load balancer does: a new connection, closed
// after the answer, whose status must be 200. It gives the status, 0 where none
// came, and the reason of a failure.
func (g *targetGroup) ask(ctx context.Context, address string) (status int, reason, description string) {
	ctx, cancel := context.WithTimeout(ctx, g.health.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+g.health.Path, nil)
	if err != nil {
		return 0, reasonFailed, err.Error()
	}
	request.Header.Set("User-Agent", "ELB-HealthChecker/2.0")
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return askFailed(err)
	}
	defer conn.Close()
	answer, err := exchangeOn(ctx, conn, request)
	if err != nil {
		return askFailed(err)
	}
	if answer.status != http.StatusOK {
		return answer.status, reasonMismatch, "Health checks failed with these codes: [" + strconv.Itoa(answer.status) + "]"
	}
	return answer.status, "", ""
}

func askFailed(err error) (status int, reason, description string) {
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		return 0, reasonTimeout, "Request timed out"
	}
	return 0, reasonFailed, "Health checks failed"
}

// answer is a whole answer of a target.
type answer struct {
	status int
	header http.Header
	body   []byte
	first  time.Time // when its header had been read
}

// exchangeOn sends one request on a fresh connection and reads the whole answer. It
// never tries again. When ctx ends, the connection's deadline does.
func exchangeOn(ctx context.Context, conn net.Conn, request *http.Request) (*answer, error) {
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return nil, err
		}
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	request.Close = true
	if err := request.Write(conn); err != nil {
		return nil, err
	}
	reader := readers.Get().(*readerOf)
	defer readers.Put(reader)
	reader.Reset(conn)
	response, err := http.ReadResponse(reader.Reader, request)
	if err != nil {
		return nil, err
	}
	first := time.Now()
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxBody {
		return nil, errors.New("answer is larger than the lab passes on")
	}
	return &answer{response.StatusCode, response.Header, body, first}, nil
}
