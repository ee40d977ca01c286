package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"gapless/analysis"
)

// AddStates stores what one run of polls said of targets, and the run. A sample is
// known by source, target group, target and time.
func (db *DB) AddStates(ctx context.Context, service string, run analysis.Run, samples []analysis.StateSample) error {
	err := db.write(ctx, service, func(t *tx) error {
		id, err := t.source(run.Source, run.Kind)
		if err != nil {
			return err
		}
		if err := t.addStates(id, run.Source, samples); err != nil {
			return err
		}
		return t.addRun(id, run)
	})
	if err != nil {
		return fmt.Errorf("add states of %s: %w", run.Source, err)
	}
	return nil
}

func (t *tx) addStates(collector int64, source string, samples []analysis.StateSample) error {
	type name struct{ group, target string }
	series := map[name]int64{}
	insert := t.insert("state", "series_id", "at", "state", "reason")
	var times hull
	for _, sample := range samples {
		if sample.Source != source {
			return fmt.Errorf("a state of source %q in a run of %q", sample.Source, source)
		}
		of := name{sample.TargetGroup, sample.Target}
		id, ok := series[of]
		if !ok {
			err := t.get(`INSERT INTO state_series (collector_id, target_group, target) VALUES (?, ?, ?)
				ON CONFLICT (collector_id, target_group, target) DO UPDATE SET target = target RETURNING id`,
				[]any{collector, of.group, of.target}, &id)
			if err != nil {
				return err
			}
			series[of] = id
		}
		if err := insert.add(id, sample.At.UnixMicro(), string(sample.State), sample.Reason); err != nil {
			return err
		}
		times.add(sample.At)
	}
	if err := insert.flush(); err != nil || insert.stored == 0 {
		return err
	}
	return t.evidence(collector, times.from, times.to)
}

// AddGroupSettings stores what the load balancer said of a target group, where that
// differs from what it said before.
func (db *DB) AddGroupSettings(ctx context.Context, service string, g analysis.GroupSettings) error {
	err := db.write(ctx, service, func(t *tx) error {
		var last analysis.GroupSettings
		err := t.get(selectGroups+` WHERE service_id = ? AND load_balancer = ? AND target_group = ? AND at <= ? ORDER BY at DESC LIMIT 1`,
			[]any{t.id, g.LoadBalancer, g.TargetGroup, g.At.UnixMicro()}, groupColumns(&last)...)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		g.At = fromMicro(g.At.UnixMicro())
		last.At = g.At
		if err == nil && last == g {
			return nil
		}
		stored, err := t.execOne(`INSERT INTO group_settings (service_id, load_balancer, target_group, at, arn, check_interval, check_timeout,
			check_unhealthy, check_healthy, check_path, deregistration_delay) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			t.id, g.LoadBalancer, g.TargetGroup, g.At.UnixMicro(), g.ARN, g.Health.Interval.Microseconds(), g.Health.Timeout.Microseconds(),
			g.Health.Unhealthy, g.Health.Healthy, g.Health.Path, g.DeregistrationDelay.Microseconds())
		if stored {
			t.touch(g.At, g.At)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("add settings of target group %s: %w", g.TargetGroup, err)
	}
	return nil
}

const selectGroups = `SELECT load_balancer, target_group, arn, at, check_interval, check_timeout, check_unhealthy, check_healthy, check_path,
	deregistration_delay FROM group_settings`

func groupColumns(g *analysis.GroupSettings) []any {
	return []any{&g.LoadBalancer, &g.TargetGroup, &g.ARN, stamp{&g.At}, duration{&g.Health.Interval}, duration{&g.Health.Timeout},
		&g.Health.Unhealthy, &g.Health.Healthy, &g.Health.Path, duration{&g.DeregistrationDelay}}
}
