package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"gapless/analysis"
)

// Notice opens the deploys of a service that nobody announced, and makes those that
// were announced later one with what they had been noticed as. It returns how many
// deploys that changed. What is judged is [analysis.Notice]'s.
func (db *DB) Notice(ctx context.Context, service string) (changed int, err error) {
	found := analysis.Notices{}
	err = db.view(ctx, func(s *sql.Tx) error {
		id, known, err := readService(ctx, s, service)
		if err != nil {
			return err
		}
		found, err = notices(ctx, s, id, known, db.Now())
		return err
	})
	if err == nil && (len(found.Deploys) > 0 || len(found.Merged) > 0) {
		err = db.write(ctx, service, func(t *tx) error {
			found, err := notices(ctx, t.sql, t.id, t.service, t.now) // as it is by now
			if err != nil {
				return err
			}
			changed = len(found.Deploys) + len(found.Merged)
			return t.notice(found)
		})
	}
	if err != nil {
		return 0, fmt.Errorf("notice deploys of %s: %w", service, err)
	}
	return changed, nil
}

// notices reads the signs of the recent past and what is known of deploys in it.
func notices(ctx context.Context, s *sql.Tx, id int64, service analysis.Service, now time.Time) (analysis.Notices, error) {
	from := now.Add(-analysis.NoticeReach(service.Window)).UnixMicro()
	steps, err := rowsOf(ctx, s, func(rows *sql.Rows, step *analysis.Step) error {
		return rows.Scan(&step.Kind, stamp{&step.At}, &step.Target, &step.Source)
	}, `SELECT kind, at, target, source FROM step WHERE service_id = ? AND at >= ? AND deploy = '' ORDER BY at`, id, from)
	if err != nil {
		return analysis.Notices{}, err
	}
	// Only where a state differs from the one before or after it, and the first and
	// last of each series: the polls between say nothing new.
	states, err := rowsOf(ctx, s, func(rows *sql.Rows, sample *analysis.StateSample) error {
		return rows.Scan(&sample.Source, &sample.TargetGroup, &sample.Target, stamp{&sample.At}, &sample.State)
	}, `SELECT source, target_group, target, at, state FROM (
			SELECT c.source, r.target_group, r.target, s.at, s.state,
				lag(s.state) OVER series AS before, lead(s.state) OVER series AS after
			FROM collector c JOIN state_series r ON r.collector_id = c.id JOIN state s ON s.series_id = r.id AND s.at >= ?2
			WHERE c.service_id = ?1
			WINDOW series AS (PARTITION BY s.series_id ORDER BY s.at)
		) WHERE before IS NOT state OR after IS NOT state`, id, from)
	if err != nil {
		return analysis.Notices{}, err
	}
	deploys, err := rowsOf(ctx, s, scanDeploy, selectDeploy+` WHERE d.service_id = ? AND d.window_to > ? ORDER BY d.started_at, d.id`, id, from)
	if err != nil {
		return analysis.Notices{}, err
	}
	return analysis.Notice(service, steps, states, deploys, now), nil
}

func (t *tx) notice(found analysis.Notices) error {
	for _, d := range found.Deploys {
		if err := t.openNoticed(d); err != nil {
			return err
		}
	}
	for id, told := range found.Merged {
		if err := t.mergeDeploy(id, told); err != nil {
			return err
		}
	}
	return nil
}

// openNoticed stores a noticed deploy, or what is known of it by now.
func (t *tx) openNoticed(d analysis.Deploy) error {
	from, to := analysis.WindowOf(d, t.service.Window)
	_, err := t.exec(`INSERT INTO deploy (id, service_id, kind, version_before, version_after, rollback_of, environment, actor, url, source,
		started_at, result, seen_until, window_from, window_to) VALUES (?, ?, ?, '', '', '', '', '', '', ?, ?, '', ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, started_at = excluded.started_at, seen_until = excluded.seen_until,
			window_from = excluded.window_from, window_to = excluded.window_to
		WHERE deploy.service_id = excluded.service_id AND deploy.seen_until IS NOT NULL`,
		d.ID, t.id, d.Kind, d.Source, d.StartedAt.UnixMicro(), d.SeenUntil.UnixMicro(), from.UnixMicro(), to.UnixMicro())
	if err != nil {
		return err
	}
	if _, err := t.exec(`DELETE FROM step WHERE service_id = ? AND deploy = ? AND kind = ?`, t.id, d.ID, analysis.StepDeployStarted); err != nil {
		return err
	}
	t.touch(from, to)
	_, err = t.addStep(analysis.Step{Deploy: d.ID, Kind: analysis.StepDeployStarted, At: d.StartedAt, Source: d.Source, Inferred: true})
	return err
}

// mergeDeploy makes a noticed deploy one with an announced one. Its revisions go: they
// judged a part of what the other's judge. Claims that people typed for it stay. Whatever
// was judged meanwhile in either window took the noticed deploy's steps for another's.
func (t *tx) mergeDeploy(id, told string) error {
	both, gone := []any{id, told}, []any{id}
	var from, to time.Time
	if err := t.get(`SELECT min(window_from), max(window_to) FROM deploy WHERE id IN (?1, ?2)`, both, stamp{&from}, stamp{&to}); err != nil {
		return fmt.Errorf("read the windows of %s and %s: %w", id, told, err)
	}
	t.touch(from, to)
	for _, step := range []struct {
		query string
		args  []any
	}{
		{`UPDATE claim SET deploy = ?2 WHERE deploy = ?1`, both},
		{`UPDATE merged_deploy SET deploy_id = ?2 WHERE deploy_id = ?1`, both},
		{`INSERT INTO merged_deploy (id, deploy_id) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET deploy_id = excluded.deploy_id`, both},
		{`DELETE FROM revision WHERE deploy_id = ?1`, gone},
		{`DELETE FROM step WHERE deploy = ?1`, gone},
		{`DELETE FROM deploy WHERE id = ?1`, gone},
	} {
		if _, err := t.exec(step.query, step.args...); err != nil {
			return fmt.Errorf("merge %s into %s: %w", id, told, err)
		}
	}
	t.changed = true
	return nil
}

// MergedInto names the announced deploy that a noticed one turned out to be, or
// [ErrNotFound].
func (db *DB) MergedInto(ctx context.Context, id string) (into string, err error) {
	err = db.view(ctx, func(s *sql.Tx) error {
		return s.QueryRowContext(ctx, `SELECT deploy_id FROM merged_deploy WHERE id = ?`, id).Scan(&into)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("deploy %q: %w", id, ErrNotFound)
	}
	if err != nil {
		return "", fmt.Errorf("read what deploy %s became: %w", id, err)
	}
	return into, nil
}
