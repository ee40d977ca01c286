package lab

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"gapless/analysis"
)

// Announcer is told of a deploy as a workflow tells a console.
type Announcer interface {
	StartDeploy(ctx context.Context, d analysis.Deploy) error
	Step(ctx context.Context, step analysis.Step) error
	FinishDeploy(ctx context.Context, id string, at time.Time, result string) error
}

const (
	versionBefore = "1.42.0"
	versionAfter  = "1.43.0"
	versionNext   = "1.43.1"   // of a second deploy
	workflowName  = "workflow" // source of the steps
	readyLimit    = 30 * time.Second
)

// workflow performs one deploy and announces what a real workflow knows. Every
// time is stamped before what it is about happens, but for a deregistration.
type workflow struct {
	lab      *Lab
	announce Announcer
	log      *slog.Logger
	id       string // of the deploy under way
	version  string // that it brings
	result   string
}

// Run waits out the baseline, performs the scenario's deploy, telling a about it,
// and returns when the tail is over. Traffic goes on all the while and until
// [Lab.Close]. A lab runs its scenario once. Where a scenario has several deploys,
// deployID is the last one's: the one to judge.
func (l *Lab) Run(ctx context.Context, a Announcer) (deployID string, err error) {
	if !l.ran.CompareAndSwap(false, true) {
		return "", fmt.Errorf("run scenario %s: it has been run in this lab", l.scenario.name)
	}
	// A little more than the baseline, so that whoever started to watch just now
	// has seen all of it.
	if err := sleep(ctx, l.scenario.window.Baseline+500*time.Millisecond); err != nil {
		return "", err
	}
	w := &workflow{lab: l, announce: a, log: l.log, result: "succeeded"}
	if err := w.begin(ctx, versionBefore, versionAfter); err != nil {
		return w.id, err
	}
	if err := l.scenario.deploy(w, ctx); err != nil {
		return w.id, fmt.Errorf("scenario %s: %w", l.scenario.name, err)
	}
	reported, err := w.report(ctx)
	if err != nil {
		return w.id, err
	}
	return w.id, sleep(ctx, time.Until(reported.Add(l.scenario.window.Tail)))
}

// begin announces a deploy.
func (w *workflow) begin(ctx context.Context, before, after string) error {
	scenario := w.lab.scenario
	deploy := analysis.Deploy{Service: scenario.name, Kind: scenario.kind, Environment: "lab", Source: workflowName, StartedAt: stamp(time.Now())}
	deploy.ID = scenario.name + "-" + deploy.StartedAt.Format("20060102T150405Z")
	if deploy.Kind != analysis.KindFault { // a fault changes no version
		deploy.VersionBefore, deploy.VersionAfter = before, after
	}
	id := deploy.ID
	w.id, w.version = id, after
	w.lab.deploy.Store(&id)
	if err := w.announce.StartDeploy(ctx, deploy); err != nil {
		return fmt.Errorf("announce deploy %s: %w", w.id, err)
	}
	return nil
}

// report announces that the deploy is over, as far as the workflow can tell.
func (w *workflow) report(ctx context.Context) (at time.Time, err error) {
	at = stamp(time.Now())
	if err := w.announce.FinishDeploy(ctx, w.id, at, w.result); err != nil {
		return at, fmt.Errorf("announce end of deploy %s: %w", w.id, err)
	}
	return at, nil
}

func (w *workflow) build(ctx context.Context) error {
	if err := sleep(ctx, buildTime); err != nil {
		return err
	}
	return w.step(ctx, analysis.StepBuildFinished, time.Now(), "")
}

// drain marks a node, waits until even the slowest ejection is over, and unmarks it.
func (w *workflow) drain(ctx context.Context, node *supervisor) error {
	at := time.Now()
	if err := os.WriteFile(node.marker, nil, 0o644); err != nil {
		return fmt.Errorf("mark node %s: %w", node.name, err)
	}
	if err := w.step(ctx, analysis.StepDrainMarked, at, node.name); err != nil {
		return err
	}
	if err := sleep(ctx, w.drainWait()); err != nil {
		return err
	}
	if err := os.Remove(node.marker); err != nil {
		return fmt.Errorf("unmark node %s: %w", node.name, err)
	}
	return nil
}

// restart stops a node gracefully, starts it with the new version, and returns when
// its own health check says UP.
func (w *workflow) restart(ctx context.Context, node *supervisor) error {
	before := node.pid()
	at := time.Now()
	ended, err := node.stop()
	if err != nil {
		return err
	}
	if err := w.step(ctx, analysis.StepRestartBegan, at, node.name); err != nil {
		return err
	}
	if err := ended(ctx); err != nil {
		return err
	}
	if err := node.start(w.version); err != nil {
		return err
	}
	return w.waitUp(ctx, node, before)
}

// drainWait is the longest that an ejection can take after the mark: U·I + T.
func (w *workflow) drainWait() time.Duration {
	health := w.lab.scenario.health
	return time.Duration(health.Unhealthy)*health.Interval + health.Timeout + margin
}

// returnWait is the longest that a return can take after ready: H·I + T.
func (w *workflow) returnWait() time.Duration {
	health := w.lab.scenario.health
	return time.Duration(health.Healthy)*health.Interval + health.Timeout + margin
}

func (w *workflow) step(ctx context.Context, kind analysis.StepKind, at time.Time, target string) error {
	w.log.Debug("lab: step", "kind", kind, "target", target)
	step := analysis.Step{Deploy: w.id, Kind: kind, At: stamp(at), Target: target, Source: workflowName}
	if err := w.announce.Step(ctx, step); err != nil {
		return fmt.Errorf("announce %s: %w", kind, err)
	}
	return nil
}

// waitUp returns when a process of the node other than the one before says UP to a
// health check that does not go through the balancer.
func (w *workflow) waitUp(ctx context.Context, node *supervisor, before int) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	for {
		if pid := node.pid(); pid != 0 && pid != before && up(ctx, node.address) {
			return nil
		}
		if err := sleep(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("node %s is not up: %w", node.name, err)
		}
	}
}

// register puts a node into its group.
func (w *workflow) register(ctx context.Context, node *supervisor) error {
	at := time.Now()
	if err := w.changeTargets(ctx, "RegisterTargets", node); err != nil {
		return err
	}
	return w.step(ctx, analysis.StepTargetRegistered, at, node.name)
}

// deregister takes a node out of its group. The step's time is that of the API's
// answer: until then the balancer may send to the node.
func (w *workflow) deregister(ctx context.Context, node *supervisor) error {
	if err := w.changeTargets(ctx, "DeregisterTargets", node); err != nil {
		return err
	}
	return w.step(ctx, analysis.StepTargetDeregistered, time.Now(), node.name)
}

// changeTargets registers or deregisters nodes through the load balancer's API.
func (w *workflow) changeTargets(ctx context.Context, action string, nodes ...*supervisor) error {
	form := url.Values{"Action": {action}, "Version": {"2015-12-01"}, "TargetGroupArn": {w.lab.id.targetGroupARN}}
	for i, node := range nodes {
		host, port, err := net.SplitHostPort(node.address)
		if err != nil {
			return fmt.Errorf("%s: %w", action, err)
		}
		key := fmt.Sprintf("Targets.member.%d.", i+1)
		form.Set(key+"Id", host)
		form.Set(key+"Port", port)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.lab.apiURL, strings.NewReader(form.Encode()))
	if err != nil {
		return fmt.Errorf("%s: %w", action, err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := direct.Do(request)
	if err != nil {
		return fmt.Errorf("%s: %w", action, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 4<<10))
		return fmt.Errorf("%s: %s: %s", action, response.Status, text)
	}
	return nil
}

// waitHealthy returns when the load balancer finds the node healthy.
func (w *workflow) waitHealthy(ctx context.Context, node *supervisor) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	for !w.lab.group.healthy(node.address) {
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("node %s is not healthy: %w", node.name, err)
		}
	}
	return nil
}

var direct = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Second}

func up(ctx context.Context, address string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+healthPath, nil)
	if err != nil {
		return false
	}
	response, err := direct.Do(request)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// sleep waits, or returns early with the context's error.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
