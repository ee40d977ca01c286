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

// ClaimState is what became of one claim in one revision.
type ClaimState struct {
	ID     string                `json:"id"`
	State  analysis.VerdictState `json:"state"`
	Reason string                `json:"reason"`
}

// ClaimOutcome is what the latest revision of a deploy says of its claims; none while
// there is no revision.
type ClaimOutcome struct {
	Deploy, Service string
	StartedAt       time.Time
	Claims          []ClaimState
}

// Register is every claim that was typed, and what became of those and of the
// built-in ones, deploy by deploy.
type Register struct {
	Services []string // all there are, by name
	Typed    []analysis.TypedClaim
	Deploys  []ClaimOutcome // newest first
}

// AddClaim stores a claim that a person typed, under the id of
// [analysis.TypedClaim.Key]; the same claim typed again changes nothing. A deploy that
// it names must be one of its service, else it is [ErrNotFound] or [ErrConflict]. The
// windows that it is about are due to be judged again.
func (db *DB) AddClaim(ctx context.Context, c analysis.TypedClaim) (id string, stored bool, err error) {
	if err := c.Validate(); err != nil {
		return "", false, fmt.Errorf("add claim: %w", err)
	}
	id = c.Key()
	err = db.write(ctx, c.Service, func(t *tx) error {
		from, to := c.From, c.To
		if c.Deploy != "" {
			if from, to, err = t.windowOf(c.Deploy); err != nil {
				return err
			}
		}
		stored, err = t.execOne(`INSERT INTO claim (id, service_id, deploy, about, caused, basis, text, from_at, to_at, author, registered_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			id, t.id, c.Deploy, string(c.About), c.Caused, string(c.Basis), c.Text, micro(c.From), micro(c.To), c.By, t.now.UnixMicro())
		if stored {
			t.touch(from, to)
			t.changed = true
		}
		return err
	})
	if err != nil {
		return "", false, fmt.Errorf("add claim: %w", err)
	}
	return id, stored, nil
}

// windowOf is the window of a deploy of this service.
func (t *tx) windowOf(deploy string) (from, to time.Time, err error) {
	if err := t.owns(deploy); err != nil {
		return from, to, err
	}
	err = t.get(`SELECT window_from, window_to FROM deploy WHERE id = ?`, []any{deploy}, stamp{&from}, stamp{&to})
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("deploy %q: %w", deploy, ErrNotFound)
	}
	return from, to, err
}

const selectClaim = `SELECT c.id, s.name, c.deploy, c.about, c.caused, c.basis, c.text, c.from_at, c.to_at, c.author, c.registered_at
	FROM claim c JOIN service s ON s.id = c.service_id`

func scanClaim(rows *sql.Rows, c *analysis.TypedClaim) error {
	return rows.Scan(&c.ID, &c.Service, &c.Deploy, &c.About, &c.Caused, &c.Basis, &c.Text, stamp{&c.From}, stamp{&c.To}, &c.By, stamp{&c.RegisteredAt})
}

// claims reads what was claimed of the deploy, or of a time that the window meets.
func (r *observer) claims() (err error) {
	r.o.Claims, err = rowsOf(r.ctx, r.sql, scanClaim, selectClaim+` WHERE c.service_id = ?1
		AND (c.deploy = ?4 AND c.deploy <> '' OR c.deploy = '' AND c.from_at < ?3 AND c.to_at > ?2) ORDER BY c.registered_at, c.id`,
		r.id, r.lo, r.hi, r.o.Deploy.ID)
	return err
}

// Claims returns the register of claims: of one service, or of all where it is empty,
// with what became of them in the newest deploys, at most limit.
func (db *DB) Claims(ctx context.Context, service string, limit int) (r Register, err error) {
	err = db.view(ctx, func(s *sql.Tx) error {
		if r.Services, err = serviceNames(ctx, s); err != nil {
			return err
		}
		if r.Typed, err = rowsOf(ctx, s, scanClaim, selectClaim+` WHERE ?1 = '' OR s.name = ?1 ORDER BY c.registered_at DESC, c.id`, service); err != nil {
			return err
		}
		r.Deploys, err = rowsOf(ctx, s, func(rows *sql.Rows, o *ClaimOutcome) error {
			var claims []byte
			if err := rows.Scan(&o.Deploy, &o.Service, stamp{&o.StartedAt}, &claims); err != nil || claims == nil {
				return err
			}
			return json.Unmarshal(claims, &o.Claims)
		}, `SELECT d.id, s.name, d.started_at, r.claims FROM deploy d JOIN service s ON s.id = d.service_id
			LEFT JOIN revision r ON r.deploy_id = d.id AND r.number = (SELECT max(number) FROM revision WHERE deploy_id = d.id)
			WHERE ?1 = '' OR s.name = ?1 ORDER BY d.started_at DESC, d.id DESC LIMIT ?2`, service, limit)
		return err
	})
	if err != nil {
		return Register{}, fmt.Errorf("read claims: %w", err)
	}
	return r, nil
}

func serviceNames(ctx context.Context, s *sql.Tx) ([]string, error) {
	return rowsOf(ctx, s, func(rows *sql.Rows, name *string) error { return rows.Scan(name) }, `SELECT name FROM service ORDER BY name`)
}
