package lab

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
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
	workflowName  = "workflow" // source of the steps
	readyLimit    = 30 * time.Second
)

// workflow performs one deploy and announces what a real workflow knows. Every
// time is stamped before what it is about happens.
type workflow struct {
	lab      *Lab
	announce Announcer
	log      *slog.Logger
	id       string
	result   string
}

// Run waits out the baseline, performs the scenario's deploy, telling a about it,
// and returns when the tail is over. Traffic goes on all the while and until
// [Lab.Close]. A lab runs its scenario once.
func (l *Lab) Run(ctx context.Context, a Announcer) (deployID string, err error) {
	if !l.ran.CompareAndSwap(false, true) {
		return "", fmt.Errorf("run scenario %s: it has been run in this lab", l.scenario.name)
	}
	// A little more than the baseline, so that whoever started to watch just now
	// has seen all of it.
	if err := sleep(ctx, l.scenario.window.Baseline+500*time.Millisecond); err != nil {
		return "", err
	}
	started := stamp(time.Now())
	w := &workflow{
		lab: l, announce: a, log: l.log, result: "succeeded",
		id: l.scenario.name + "-" + started.Format("20060102T150405Z"),
	}
	deploy := analysis.Deploy{
		ID: w.id, Service: l.scenario.name, Kind: l.scenario.kind, Environment: "lab", Source: workflowName, StartedAt: started,
	}
	if deploy.Kind != analysis.KindFault { // a fault changes no version
		deploy.VersionBefore, deploy.VersionAfter = versionBefore, versionAfter
	}
	l.deploy.Store(&w.id)
	if err := a.StartDeploy(ctx, deploy); err != nil {
		return w.id, fmt.Errorf("announce deploy %s: %w", w.id, err)
	}
	if err := l.scenario.deploy(w, ctx); err != nil {
		return w.id, fmt.Errorf("scenario %s: %w", l.scenario.name, err)
	}
	reported := stamp(time.Now())
	if err := a.FinishDeploy(ctx, w.id, reported, w.result); err != nil {
		return w.id, fmt.Errorf("announce end of deploy %s: %w", w.id, err)
	}
	return w.id, sleep(ctx, time.Until(reported.Add(l.scenario.window.Tail)))
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
	if err := node.start(versionAfter); err != nil {
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
