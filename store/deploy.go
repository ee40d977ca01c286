package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"gapless/analysis"
)

const selectDeploy = `SELECT d.id, s.name, d.kind, d.version_before, d.version_after, d.rollback_of, d.environment, d.actor, d.url, d.source,
	d.started_at, d.reported_at, d.result, d.seen_until FROM deploy d JOIN service s ON s.id = d.service_id`

func deployColumns(d *analysis.Deploy) []any {
	return []any{&d.ID, &d.Service, &d.Kind, &d.VersionBefore, &d.VersionAfter, &d.RollbackOf, &d.Environment, &d.Actor, &d.URL, &d.Source,
		stamp{&d.StartedAt}, stamp{&d.ReportedAt}, &d.Result, stamp{&d.SeenUntil}}
}

func scanDeploy(rows *sql.Rows, d *analysis.Deploy) error {
	err := rows.Scan(deployColumns(d)...)
	knownKind(d)
	return err
}

// knownKind makes a deploy whose kind was not told rolling.
func knownKind(d *analysis.Deploy) {
	if d.Kind == "" {
		d.Kind = analysis.KindRolling
	}
}

// StartDeploy stores a deploy and its step deploy.started. An id is unique among
// all services: told again it changes nothing but what had not been told yet, and
// told for another service it is [ErrConflict]. Stored says whether anything is new.
func (db *DB) StartDeploy(ctx context.Context, d analysis.Deploy) (stored bool, err error) {
	err = db.write(ctx, d.Service, func(t *tx) error {
		created, filled, err := t.startDeploy(d)
		stored = created || filled
		if err != nil || !created {
			return err
		}
		_, err = t.addStep(analysis.Step{Deploy: d.ID, Kind: analysis.StepDeployStarted, At: d.StartedAt, Source: d.Source})
		return err
	})
	if err != nil {
		return false, fmt.Errorf("start deploy %s: %w", d.ID, err)
	}
	return stored, nil
}

// startDeploy creates a deploy, or fills in what an earlier telling left empty.
func (t *tx) startDeploy(d analysis.Deploy) (created, filled bool, err error) {
	if d.ID == "" || d.StartedAt.IsZero() {
		return false, false, errors.New("a deploy needs an id and a start")
	}
	from, to := analysis.WindowOf(analysis.Deploy{StartedAt: d.StartedAt}, t.service.Window)
	created, err = t.execOne(`INSERT INTO deploy (id, service_id, kind, version_before, version_after, rollback_of, environment, actor, url, source,
		started_at, result, window_from, window_to) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', ?, ?) ON CONFLICT DO NOTHING`,
		d.ID, t.id, d.Kind, d.VersionBefore, d.VersionAfter, d.RollbackOf, d.Environment, d.Actor, d.URL, d.Source,
		d.StartedAt.UnixMicro(), from.UnixMicro(), to.UnixMicro())
	if err != nil {
		return false, false, err
	}
	if created {
		t.touch(from, to)
		return true, false, t.reportAlreadyTold(d.ID)
	}
	if err := t.owns(d.ID); err != nil {
		return false, false, err
	}
	for _, field := range []struct{ column, value string }{
		{"kind", string(d.Kind)}, {"version_before", d.VersionBefore}, {"version_after", d.VersionAfter}, {"rollback_of", d.RollbackOf},
		{"environment", d.Environment}, {"actor", d.Actor}, {"url", d.URL},
	} {
		if field.value == "" {
			continue
		}
		one, err := t.execOne(`UPDATE deploy SET `+field.column+` = ? WHERE id = ? AND `+field.column+` = ''`, field.value, d.ID)
		if err != nil {
			return false, false, err
		}
		filled = filled || one
	}
	if filled {
		t.touch(from, to)
	}
	return false, filled, nil
}

// owns checks that a deploy, if it is known, is one of this service.
func (t *tx) owns(deploy string) error {
	var owner string
	err := t.get(`SELECT s.name FROM deploy d JOIN service s ON s.id = d.service_id WHERE d.id = ?`, []any{deploy}, &owner)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err == nil && owner != t.service.Name {
		return fmt.Errorf("deploy %s is one of service %s: %w", deploy, owner, ErrConflict)
	}
	return err
}

// reportAlreadyTold finishes a deploy whose report came before its start did.
func (t *tx) reportAlreadyTold(deploy string) error {
	var at sql.NullInt64
	err := t.get(`SELECT min(at) FROM step WHERE service_id = ? AND deploy = ? AND kind = ?`, []any{t.id, deploy, analysis.StepDeployReported}, &at)
	if err != nil || !at.Valid {
		return err
	}
	_, err = t.finishDeploy(deploy, fromMicro(at.Int64), "")
	return err
}

// FinishDeploy stores that a deploy reported its end, and its step deploy.reported.
// The first report wins; a later one only adds a result where none was told. An
// unknown id is [ErrNotFound].
func (db *DB) FinishDeploy(ctx context.Context, id string, at time.Time, result, source string) (stored bool, err error) {
	d, err := db.Deploy(ctx, id)
	if err != nil {
		return false, fmt.Errorf("finish deploy: %w", err)
	}
	err = db.write(ctx, d.Service, func(t *tx) error {
		var before sql.NullInt64
		if err := t.get(`SELECT reported_at FROM deploy WHERE id = ?`, []any{id}, &before); err != nil {
			return err
		}
		stored, err = t.finishDeploy(id, at, result)
		if err != nil || before.Valid {
			return err
		}
		_, err = t.addStep(analysis.Step{Deploy: id, Kind: analysis.StepDeployReported, At: at, Source: source})
		return err
	})
	if err != nil {
		return false, fmt.Errorf("finish deploy %s: %w", id, err)
	}
	return stored, nil
}

func (t *tx) finishDeploy(id string, at time.Time, result string) (stored bool, err error) {
	if at.IsZero() {
		return false, errors.New("a report needs its time")
	}
	var d analysis.Deploy
	if err := t.get(selectDeploy+` WHERE d.id = ?`, []any{id}, deployColumns(&d)...); err != nil {
		return false, err
	}
	if d.ReportedAt.IsZero() {
		d.ReportedAt = at
		from, to := analysis.WindowOf(d, t.service.Window)
		_, err := t.exec(`UPDATE deploy SET reported_at = ?, result = ?, window_to = ? WHERE id = ?`, at.UnixMicro(), result, to.UnixMicro(), id)
		t.touch(from, to)
		return true, err
	}
	if result == "" {
		return false, nil
	}
	stored, err = t.execOne(`UPDATE deploy SET result = ? WHERE id = ? AND result = ''`, result, id)
	if stored {
		t.touch(d.StartedAt, d.ReportedAt)
	}
	return stored, err
}

// Deploy returns one deploy, or [ErrNotFound].
func (db *DB) Deploy(ctx context.Context, id string) (d analysis.Deploy, err error) {
	err = db.view(ctx, func(s *sql.Tx) error {
		d, err = readDeploy(ctx, s, id)
		return err
	})
	return d, err
}

func readDeploy(ctx context.Context, s *sql.Tx, id string) (d analysis.Deploy, err error) {
	err = s.QueryRowContext(ctx, selectDeploy+` WHERE d.id = ?`, id).Scan(deployColumns(&d)...)
	if errors.Is(err, sql.ErrNoRows) {
		return d, fmt.Errorf("deploy %q: %w", id, ErrNotFound)
	}
	if err != nil {
		return d, fmt.Errorf("read deploy %s: %w", id, err)
	}
	knownKind(&d)
	return d, nil
}

// DeploysIn returns the deploys of a service that started in [from, to), oldest first.
func (db *DB) DeploysIn(ctx context.Context, service string, from, to time.Time) (deploys []analysis.Deploy, err error) {
	err = db.view(ctx, func(s *sql.Tx) error {
		deploys, err = rowsOf(ctx, s, scanDeploy, selectDeploy+` WHERE s.name = ? AND d.started_at >= ? AND d.started_at < ? ORDER BY d.started_at, d.id`,
			service, from.UnixMicro(), to.UnixMicro())
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read deploys of %s: %w", service, err)
	}
	return deploys, nil
}

// DeploySummary is one deploy with its window and what the latest revision of its
// report says. Counts are nil, and Verdict is empty, while there is no revision;
// a count is nil as well where that class was not measured.
type DeploySummary struct {
	analysis.Deploy
	From, To       time.Time
	State          analysis.WindowState // sealed only once a sealed revision knows all evidence
	Revision       int
	Verdict        analysis.VerdictState
	UserRequests   *int
	UserFailures   *int
	ProbeRequests  *int
	ProbeFailures  *int
	Findings       []string
	RevisionSealed bool // the latest revision is a sealed one
	First          bool // the service has no deploy before it
}

// Deploys returns the newest deploys, newest first: of one service, or of all where
// it is empty; all of them where limit is 0.
func (db *DB) Deploys(ctx context.Context, service string, limit int) (summaries []DeploySummary, err error) {
	if limit <= 0 {
		limit = -1
	}
	now := db.Now()
	err = db.view(ctx, func(s *sql.Tx) error {
		summaries, err = readSummaries(ctx, s, service, limit, now)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read deploys: %w", err)
	}
	return summaries, nil
}

// readSummaries reads at most limit deploys, all of them where it is negative.
func readSummaries(ctx context.Context, s *sql.Tx, service string, limit int, now time.Time) ([]DeploySummary, error) {
	return rowsOf(ctx, s, func(rows *sql.Rows, d *DeploySummary) error { return scanSummary(rows, d, now) },
		`SELECT d.id, s.name, d.kind, d.version_before, d.version_after, d.rollback_of, d.environment, d.actor, d.url, d.source,
		d.started_at, d.reported_at, d.result, d.seen_until, d.window_from, d.window_to, d.change, s.spec,
		r.number, r.state, r.change, r.verdict, r.user_requests, r.user_failures, r.probe_requests, r.probe_failures, r.findings,
		NOT EXISTS (SELECT 1 FROM deploy e WHERE e.service_id = d.service_id AND (e.started_at, e.id) < (d.started_at, d.id))
		FROM deploy d JOIN service s ON s.id = d.service_id
		LEFT JOIN revision r ON r.deploy_id = d.id AND r.number = (SELECT max(number) FROM revision WHERE deploy_id = d.id)
		WHERE ?1 = '' OR s.name = ?1 ORDER BY d.started_at DESC, d.id DESC LIMIT ?2`, service, limit)
}

func scanSummary(rows *sql.Rows, d *DeploySummary, now time.Time) error {
	var spec, findings []byte
	var change int64
	var number, seen sql.NullInt64
	var state, verdict sql.NullString
	columns := append(deployColumns(&d.Deploy), stamp{&d.From}, stamp{&d.To}, &change, &spec,
		&number, &state, &seen, &verdict, &d.UserRequests, &d.UserFailures, &d.ProbeRequests, &d.ProbeFailures, &findings, &d.First)
	if err := rows.Scan(columns...); err != nil {
		return err
	}
	knownKind(&d.Deploy)
	var service analysis.Service
	if err := json.Unmarshal(spec, &service); err != nil {
		return err
	}
	if number.Valid {
		d.Revision, d.Verdict = int(number.Int64), analysis.VerdictState(verdict.String)
		d.RevisionSealed = analysis.WindowState(state.String) == analysis.WindowSealed
		if err := json.Unmarshal(findings, &d.Findings); err != nil {
			return err
		}
	}
	d.State = analysis.WindowStateAt(d.To, service.Window, now)
	if d.State == analysis.WindowSealed && (!d.RevisionSealed || change > seen.Int64) {
		d.State = analysis.WindowSettling
	}
	return nil
}
