package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"gapless/analysis"
	"gapless/store"
)

// collector is one configured source. Its own package says how it observes; here
// it is only started, or asked for a span of the past.
type collector struct {
	source string
	kind   string // as its runs say it; empty where only they do
	// tellsDeploys marks a source that says which deploys there are.
	tellsDeploys bool
	// once marks a source that cannot be read twice: a pipe.
	once bool
	// run observes until ctx ends.
	run func(ctx context.Context) error
	// collect reads a span of the past; nil where the past cannot be asked for
	// (live probes, the load balancer's API).
	collect func(ctx context.Context, from, to time.Time, progress func(done, total int)) error
}

// watch are the collectors of one service.
type watch struct {
	service    string
	collectors []collector
	db         *store.DB
	log        *slog.Logger
}

// newWatch makes a service's collectors. It starts nothing.
func newWatch(ctx context.Context, s *serviceConfig, db *store.DB, log *slog.Logger) (*watch, error) {
	names, err := analysis.NewClassifier(s.Service)
	if err != nil {
		return nil, fmt.Errorf("service %s: %w", s.Name, err)
	}
	w := &watch{service: s.Name, db: db, log: log}
	for _, add := range []func() error{
		func() error { return w.addSteps(s, names, db) },
		func() error { return w.addAppLogs(s, names, db) },
		func() error { return w.addLokiLogs(s, names, db) },
		func() error { return w.addStates(ctx, s, names, db) },
		func() error { return w.addProbes(s, names, db) },
		func() error { return w.addRecords(s, names, db) },
		func() error { return w.addAccessLogs(ctx, s, names, db) },
		func() error { return w.addCloudWatch(ctx, s, db) },
		func() error { return w.addJourneys(s, names, db) },
		func() error { return w.addGauges(s, db) },
	} {
		if err := add(); err != nil {
			return nil, fmt.Errorf("service %s: %w", s.Name, err)
		}
	}
	return w, nil
}

// sources are the names and kinds of what is collected.
func (w *watch) sources() []store.Source {
	sources := make([]store.Source, len(w.collectors))
	for i, c := range w.collectors {
		sources[i] = store.Source{Name: c.source, Kind: c.kind}
	}
	return sources
}

// Waits between two attempts of a collector that ended with an error.
const (
	firstRestart = time.Second
	lastRestart  = time.Minute
)

// run observes with every collector until ctx ends, and notices deploys that nobody
// announces. A collector that fails is started again, ever more slowly; the others go
// on meanwhile.
func (w *watch) run(ctx context.Context) error {
	var running sync.WaitGroup
	for _, c := range w.collectors {
		running.Go(func() { w.keepRunning(ctx, c) })
	}
	running.Go(func() { notice(ctx, w.db, w.service, noticeEvery, w.log) })
	running.Wait()
	return nil
}

func (w *watch) keepRunning(ctx context.Context, c collector) {
	for wait := firstRestart; ; wait = min(2*wait, lastRestart) {
		began := time.Now()
		err := c.run(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil { // it has seen all that it was to see
			w.log.Info("collector ended", "service", w.service, "source", c.source)
			return
		}
		if time.Since(began) > lastRestart {
			wait = firstRestart
		}
		w.log.Error("collector failed and will be started again", "service", w.service, "source", c.source, "wait", wait, "error", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// collect reads a span of the past from every source that can be asked for it, one
// after another. What failed is in the store as a failed run as well as in the
// error: the window can be judged all the same, with a blind spot.
func (w *watch) collect(ctx context.Context, from, to time.Time, progress func(stage string, done, total int)) error {
	return collectFrom(ctx, w.collectors, from, to, progress)
}

// collectDeploys reads only the sources that say which deploys there are.
func (w *watch) collectDeploys(ctx context.Context, from, to time.Time) error {
	var telling []collector
	for _, c := range w.collectors {
		if c.tellsDeploys {
			telling = append(telling, c)
		}
	}
	return collectFrom(ctx, telling, from, to, func(string, int, int) {})
}

func collectFrom(ctx context.Context, collectors []collector, from, to time.Time, progress func(stage string, done, total int)) error {
	var errs []error
	for _, c := range collectors {
		if c.collect == nil {
			continue
		}
		progress(c.source, 0, 0)
		err := c.collect(ctx, from, to, func(done, total int) { progress(c.source, done, total) })
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("collect %s: %w", c.source, err))
		}
	}
	return errors.Join(errs...)
}

// roster knows the services that a console watches. The demo adds to it while the
// console runs.
type roster struct {
	mu       sync.Mutex
	services map[string]*serviceConfig
	over     map[string]bool // services that nothing watches any more
}

func newRoster() *roster {
	return &roster{services: map[string]*serviceConfig{}, over: map[string]bool{}}
}

func (r *roster) add(s *serviceConfig) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.services[s.Name] = s
}

// end notes that a service's collectors have seen all that they were to see.
func (r *roster) end(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over[name] = true
}

func (r *roster) ended(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.over[name]
}

func (r *roster) service(name string) (*serviceConfig, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.services[name]
	return s, ok
}

// judge judges with the checksum of the configuration that the service came from.
func (r *roster) judge(o analysis.Observations) analysis.Report {
	j := judge{}
	if s, ok := r.service(o.Service.Name); ok {
		j.configSHA256 = s.configSHA256
	}
	return j.judge(o)
}
