package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"gapless/analysis"
	"gapless/collectors/loki/publish"
	"gapless/store"
	"gapless/views"
)

// reporter puts what is known of deploys into the outbox, from where it is told to
// others. It is made again from the store every time: what was put there before is
// known by its key, so that nothing has to be remembered across a restart.
type reporter struct {
	db    *store.DB
	cfg   publish.Config
	log   *slog.Logger
	every time.Duration // between two looks at what changed
	told  map[string]reported
}

// reported is what of a deploy is in the outbox already.
type reported struct {
	sealed   bool
	revision int
}

// How many deploys of a service are looked at, newest first, and how old they may be:
// a Loki refuses lines that are older than a week unless it is told otherwise.
const (
	reportedDeploys = 50
	reportedAge     = 7 * 24 * time.Hour
	reportEvery     = 5 * time.Second
)

// run announces and sends until ctx ends. The console goes on without it.
func (r *reporter) run(ctx context.Context) {
	r.cfg.Now, r.cfg.Log = r.db.Now, r.log
	publisher, err := publish.New(r.cfg, r.db)
	if err != nil {
		r.log.Error("nothing is published", "error", err)
		return
	}
	var running sync.WaitGroup
	running.Go(func() { publisher.Run(ctx) })
	running.Go(func() {
		if err := r.watch(ctx); err != nil && ctx.Err() == nil {
			r.log.Error("nothing more is published", "error", err)
		}
	})
	running.Wait()
}

// watch announces every service once, and then those that changed.
func (r *reporter) watch(ctx context.Context) error {
	changes, cancel := r.db.Subscribe()
	defer cancel()
	pending := map[string]bool{}
	services, err := r.db.Services(ctx)
	if err != nil {
		return fmt.Errorf("list services to announce: %w", err)
	}
	for i := range services {
		pending[services[i].Name] = true
	}
	tick := time.NewTicker(r.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case service, open := <-changes:
			if !open {
				return nil
			}
			pending[service] = true
		case <-tick.C:
			for service := range pending {
				if err := r.announce(ctx, service); err != nil {
					if ctx.Err() == nil {
						r.log.Error("announce deploys", "service", service, "error", err)
					}
					continue // it is tried again
				}
				delete(pending, service)
			}
		}
	}
}

// announce puts what is new of a service's latest deploys into the outbox.
func (r *reporter) announce(ctx context.Context, service string) error {
	deploys, err := r.db.Deploys(ctx, service, reportedDeploys)
	if err != nil {
		return err
	}
	for i := range deploys {
		d := &deploys[i]
		now := reported{d.RevisionSealed && d.State == analysis.WindowSealed, d.Revision}
		before := r.told[d.ID]
		if before == now && now.sealed || r.db.Now().Sub(d.StartedAt) > reportedAge {
			continue
		}
		steps, err := r.db.DeploySteps(ctx, d.ID)
		if err != nil {
			return err
		}
		if _, err := r.db.AddMarkers(ctx, service, views.DeployMarkers(&d.Deploy, steps, nil)); err != nil {
			return err
		}
		if err := r.revisions(ctx, d, steps, before.revision); err != nil {
			return err
		}
		r.told[d.ID] = now
	}
	return nil
}

// revisions puts what each sealed report of a deploy found into the outbox, from the
// one after a number on: several may have been saved between two looks.
func (r *reporter) revisions(ctx context.Context, d *store.DeploySummary, steps []analysis.Step, told int) error {
	for {
		revision, err := r.db.RevisionAfter(ctx, d.ID, told)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		told = revision.Number
		if revision.State != analysis.WindowSealed {
			continue
		}
		report := analysis.Report{}
		if err := json.Unmarshal(revision.Report, &report); err != nil {
			return fmt.Errorf("read revision %d of deploy %s: %w", revision.Number, d.ID, err)
		}
		if _, err := r.db.AddMarkers(ctx, d.Service, views.DeployMarkers(&d.Deploy, steps, &report)); err != nil {
			return err
		}
	}
}
