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

// Revision is one saved report of a deploy.
type Revision struct {
	Deploy  string
	Number  int // from 1, given by SaveRevision
	State   analysis.WindowState
	At      time.Time // Observations.At
	Change  int64     // Observations.Change; 0: all that is stored by now
	Report  []byte    // JSON
	Verdict analysis.VerdictState
	// Counts for the list of deploys; nil where that class was not measured.
	UserRequests, UserFailures, ProbeRequests, ProbeFailures *int
	Findings                                                 []string // codes
	Changes                                                  []string // what differs from the revision before
	Claims                                                   []ClaimState
}

// SaveRevision stores a report as its deploy's next revision.
func (db *DB) SaveRevision(ctx context.Context, r Revision) (number int, err error) {
	d, err := db.Deploy(ctx, r.Deploy)
	if err != nil {
		return 0, fmt.Errorf("save revision: %w", err)
	}
	if r.Findings == nil {
		r.Findings = []string{}
	}
	if r.Changes == nil {
		r.Changes = []string{}
	}
	changes, err := toJSON(r.Changes)
	if err != nil {
		return 0, fmt.Errorf("save revision of %s: %w", r.Deploy, err)
	}
	findings, err := toJSON(r.Findings)
	if err != nil {
		return 0, fmt.Errorf("save revision of %s: %w", r.Deploy, err)
	}
	if r.Claims == nil {
		r.Claims = []ClaimState{}
	}
	claims, err := toJSON(r.Claims)
	if err != nil {
		return 0, fmt.Errorf("save revision of %s: %w", r.Deploy, err)
	}
	err = db.write(ctx, d.Service, func(t *tx) error {
		t.changed = true
		if r.Report == nil {
			return errors.New("it has no report")
		}
		ejections, err := ejectionsIn(r.Report)
		if err != nil {
			return fmt.Errorf("its report: %w", err)
		}
		if r.Change == 0 {
			if err := t.get(`SELECT change FROM service WHERE id = ?`, []any{t.id}, &r.Change); err != nil {
				return err
			}
		}
		return t.get(`INSERT INTO revision (deploy_id, number, state, at, change, report, verdict, user_requests, user_failures, probe_requests, probe_failures, findings, claims, changes, ejections)
			SELECT ?1, coalesce(max(number), 0) + 1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14 FROM revision WHERE deploy_id = ?1 RETURNING number`,
			[]any{r.Deploy, r.State, r.At.UnixMicro(), r.Change, r.Report, r.Verdict,
				r.UserRequests, r.UserFailures, r.ProbeRequests, r.ProbeFailures, findings, claims, changes, ejections}, &number)
	})
	if err != nil {
		return 0, fmt.Errorf("save revision of %s: %w", r.Deploy, err)
	}
	return number, nil
}

// ConfirmRevision notes that a revision still holds after the evidence up to a change
// (Observations.Change), so that its deploy is not due again for that evidence.
func (db *DB) ConfirmRevision(ctx context.Context, deploy string, number int, change int64) error {
	d, err := db.Deploy(ctx, deploy)
	if err == nil {
		err = db.write(ctx, d.Service, func(t *tx) error {
			_, err := t.exec(`UPDATE revision SET change = max(change, ?) WHERE deploy_id = ? AND number = ?`, change, deploy, number)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("confirm revision %d of %s: %w", number, deploy, err)
	}
	return nil
}

// LatestRevision returns the newest saved report of a deploy, or [ErrNotFound].
func (db *DB) LatestRevision(ctx context.Context, deploy string) (Revision, error) {
	return db.revision(ctx, deploy, `ORDER BY number DESC`)
}

// RevisionAfter returns the first saved report of a deploy with a number above one, 0
// for the very first, or [ErrNotFound].
func (db *DB) RevisionAfter(ctx context.Context, deploy string, number int) (Revision, error) {
	return db.revision(ctx, deploy, `AND number > ? ORDER BY number`, number)
}

// revision reads the first of a deploy's revisions that a query's end picks.
func (db *DB) revision(ctx context.Context, deploy, picked string, args ...any) (r Revision, err error) {
	r.Deploy = deploy
	var findings, claims, changes []byte
	err = db.view(ctx, func(s *sql.Tx) error {
		return s.QueryRowContext(ctx, `SELECT number, state, at, change, report, verdict, user_requests, user_failures, probe_requests, probe_failures, findings, claims, changes
			FROM revision WHERE deploy_id = ? `+picked+` LIMIT 1`, append([]any{deploy}, args...)...).
			Scan(&r.Number, &r.State, stamp{&r.At}, &r.Change, &r.Report, &r.Verdict, &r.UserRequests, &r.UserFailures, &r.ProbeRequests, &r.ProbeFailures, &findings, &claims, &changes)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return Revision{}, fmt.Errorf("revision of deploy %q: %w", deploy, ErrNotFound)
	}
	if err == nil {
		err = errors.Join(json.Unmarshal(findings, &r.Findings), json.Unmarshal(claims, &r.Claims), json.Unmarshal(changes, &r.Changes))
	}
	if err != nil {
		return Revision{}, fmt.Errorf("read revision of deploy %s: %w", deploy, err)
	}
	return r, nil
}

// Unsealed returns the deploys that have no sealed revision, and those whose window
// got evidence that their latest sealed revision had not seen; oldest first.
func (db *DB) Unsealed(ctx context.Context) (deploys []analysis.Deploy, err error) {
	err = db.view(ctx, func(s *sql.Tx) error {
		deploys, err = rowsOf(ctx, s, scanDeploy, selectDeploy+`
			LEFT JOIN revision r ON r.deploy_id = d.id AND r.number = (SELECT max(number) FROM revision WHERE deploy_id = d.id AND state = 'sealed')
			WHERE r.change IS NULL OR d.change > r.change ORDER BY d.started_at, d.id`)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read unsealed deploys: %w", err)
	}
	return deploys, nil
}

// revisions reads what the saved reports of the deploy were and changed.
func (r *observer) revisions() (err error) {
	if r.o.Deploy.ID == "" {
		return nil
	}
	r.o.Revisions, err = rowsOf(r.ctx, r.sql, func(rows *sql.Rows, n *analysis.RevisionNote) error {
		var changes []byte
		if err := rows.Scan(&n.Number, stamp{&n.At}, &n.Verdict, &changes); err != nil {
			return err
		}
		return json.Unmarshal(changes, &n.Changes)
	}, `SELECT number, at, verdict, changes FROM revision WHERE deploy_id = ? ORDER BY number`, r.o.Deploy.ID)
	return err
}
