package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"gapless/analysis"
)

// What a page needs is read by one call, in one read transaction, so that everything
// on it is of one moment.

// DeployList is the newest deploys, and the names of all services to choose from.
type DeployList struct {
	Services []string
	Deploys  []DeploySummary
}

// DeployList returns the newest deploys, newest first: of one service, or of all where
// it is empty; at most limit.
func (db *DB) DeployList(ctx context.Context, service string, limit int) (list DeployList, err error) {
	now := db.Now()
	err = db.view(ctx, func(s *sql.Tx) error {
		if list.Services, err = serviceNames(ctx, s); err != nil {
			return err
		}
		list.Deploys, err = readSummaries(ctx, s, service, limit, now)
		return err
	})
	if err != nil {
		return DeployList{}, fmt.Errorf("read the list of deploys: %w", err)
	}
	return list, nil
}

// ServiceOverview is a service with its newest deploys and its sources of evidence.
type ServiceOverview struct {
	Service    analysis.Service
	Deploys    []DeploySummary // newest first
	Collectors []CollectorStatus
}

// Overview returns every service by name, each with at most limit deploys.
func (db *DB) Overview(ctx context.Context, limit int) (all []ServiceOverview, err error) {
	now := db.Now()
	err = db.view(ctx, func(s *sql.Tx) error {
		services, err := readServices(ctx, s)
		if err != nil {
			return err
		}
		collectors, err := readCollectorStatus(ctx, s)
		if err != nil {
			return err
		}
		for _, service := range services {
			one := ServiceOverview{Service: service}
			if one.Deploys, err = readSummaries(ctx, s, service.Name, limit, now); err != nil {
				return err
			}
			for i := range collectors {
				if collectors[i].Service == service.Name {
					one.Collectors = append(one.Collectors, collectors[i])
				}
			}
			all = append(all, one)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read services: %w", err)
	}
	return all, nil
}

// ErrFirst says that a service has no deploy before one. It is an [ErrNotFound] too.
var ErrFirst = fmt.Errorf("it is the first of its service: %w", ErrNotFound)

// ObservationsAndBefore returns what [DB.Observations] returns, and the id of the
// deploy that [DB.ObservationsOfTwo] compares with it; empty where there is none.
func (db *DB) ObservationsAndBefore(ctx context.Context, deployID string) (o analysis.Observations, before string, err error) {
	at := db.Now()
	err = db.view(ctx, func(s *sql.Tx) error {
		if o, err = observeDeploy(ctx, s, deployID, at); err != nil {
			return err
		}
		before, err = deployBefore(ctx, s, o.Deploy)
		if errors.Is(err, ErrFirst) {
			return nil
		}
		return err
	})
	if err != nil {
		return analysis.Observations{}, "", fmt.Errorf("read observations of deploy %s: %w", deployID, err)
	}
	return o, before, nil
}

// ObservationsOfTwo returns what [DB.Observations] returns, for two deploys, of one
// moment. An empty first id stands for the deploy of the second one's service that
// began before it; where there is none, that is [ErrFirst].
func (db *DB) ObservationsOfTwo(ctx context.Context, first, second string) (a, b analysis.Observations, err error) {
	at := db.Now()
	err = db.view(ctx, func(s *sql.Tx) error {
		if b, err = observeDeploy(ctx, s, second, at); err != nil {
			return err
		}
		if first == "" {
			if first, err = deployBefore(ctx, s, b.Deploy); err != nil {
				return err
			}
		}
		a, err = observeDeploy(ctx, s, first, at)
		return err
	})
	if err != nil {
		return analysis.Observations{}, analysis.Observations{}, fmt.Errorf("read observations of two deploys: %w", err)
	}
	return a, b, nil
}

func deployBefore(ctx context.Context, s *sql.Tx, d analysis.Deploy) (id string, err error) {
	err = s.QueryRowContext(ctx, `SELECT d.id FROM deploy d JOIN service s ON s.id = d.service_id
		WHERE s.name = ?1 AND (d.started_at < ?2 OR d.started_at = ?2 AND d.id < ?3) ORDER BY d.started_at DESC, d.id DESC LIMIT 1`,
		d.Service, d.StartedAt.UnixMicro(), d.ID).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("a deploy before %q: %w", d.ID, ErrFirst)
	}
	return id, err
}

func observeDeploy(ctx context.Context, s *sql.Tx, deployID string, at time.Time) (o analysis.Observations, err error) {
	d, err := readDeploy(ctx, s, deployID)
	if err != nil {
		return o, err
	}
	id, service, err := readService(ctx, s, d.Service)
	if err != nil {
		return o, err
	}
	from, to := analysis.WindowOf(d, service.Window)
	o, err = observe(ctx, s, id, service, d, from, to)
	o.At = at
	return o, err
}
