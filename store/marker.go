package store

import (
	"context"
	"database/sql"
	"fmt"

	"gapless/analysis"
)

// KindPublish is the kind of what tells markers to others, among the sources.
const KindPublish = "publish"

// publishSource is the name that it has there.
const publishSource = "markers"

// AddMarkers puts markers of one service into the outbox. Those whose key is in it
// already are left as they are.
func (db *DB) AddMarkers(ctx context.Context, service string, markers []analysis.Marker) (added int, err error) {
	err = db.write(ctx, service, func(t *tx) error {
		insert := t.insert("marker", "service_id", "key", "kind", "at", "line")
		for _, m := range markers {
			if err := insert.add(t.id, m.Key, m.Kind, m.At.UnixMicro(), m.Line); err != nil {
				return err
			}
		}
		err := insert.flush()
		added = insert.stored
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("add markers of %s: %w", service, err)
	}
	return added, nil
}

// WaitingMarkers returns markers that were neither told nor dropped, in the order in
// which they were added.
func (db *DB) WaitingMarkers(ctx context.Context, limit int) (markers []analysis.Marker, err error) {
	err = db.view(ctx, func(s *sql.Tx) error {
		markers, err = rowsOf(ctx, s, func(rows *sql.Rows, m *analysis.Marker) error {
			return rows.Scan(&m.ID, &m.Service, &m.Key, &m.Kind, stamp{&m.At}, &m.Line)
		}, `SELECT m.id, s.name, m.key, m.kind, m.at, m.line FROM marker m JOIN service s ON s.id = m.service_id
			WHERE m.sent_at IS NULL AND m.dropped = '' ORDER BY m.id LIMIT ?`, limit)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read markers: %w", err)
	}
	return markers, nil
}

// MarkersTold keeps what became of markers of one service.
func (db *DB) MarkersTold(ctx context.Context, service string, told analysis.Told) error {
	err := db.write(ctx, service, func(t *tx) error {
		sent, dropped, at := 0, 0, told.At.UnixMicro()
		for _, id := range told.Sent {
			done, err := t.execOne(`UPDATE marker SET sent_at = ? WHERE id = ? AND service_id = ? AND sent_at IS NULL AND dropped = ''`, at, id, t.id)
			if err != nil {
				return err
			}
			if done {
				sent++
			}
		}
		code, text := told.Code, told.Error
		for id, why := range told.Dropped {
			done, err := t.execOne(`UPDATE marker SET dropped = ? WHERE id = ? AND service_id = ? AND sent_at IS NULL AND dropped = ''`, why, id, t.id)
			if err != nil {
				return err
			}
			if done {
				dropped++
			}
			if text == "" {
				code, text = "error", "a marker was dropped: "+why
			}
		}
		t.changed = true
		if _, err := t.exec(`INSERT INTO publishing (service_id, last_run, sent, dropped) VALUES (?1, ?2, ?3, ?4)
			ON CONFLICT (service_id) DO UPDATE SET last_run = max(last_run, ?2), sent = sent + ?3, dropped = dropped + ?4`, t.id, at, sent, dropped); err != nil {
			return err
		}
		if text != "" {
			_, err := t.exec(`UPDATE publishing SET last_error = ?1, last_code = ?2, last_error_at = ?3 WHERE service_id = ?4`, text, code, at, t.id)
			return err
		}
		_, err := t.exec(`UPDATE publishing SET last_success = ?1 WHERE service_id = ?2`, at, t.id)
		return err
	})
	if err != nil {
		return fmt.Errorf("keep what became of markers of %s: %w", service, err)
	}
	return nil
}

// DeploySteps returns the steps that name a deploy, in the order of their times.
func (db *DB) DeploySteps(ctx context.Context, id string) (steps []analysis.Step, err error) {
	err = db.view(ctx, func(s *sql.Tx) error {
		steps, err = rowsOf(ctx, s, func(rows *sql.Rows, step *analysis.Step) error {
			return rows.Scan(&step.Deploy, &step.Kind, stamp{&step.At}, &step.Target, &step.Source, &step.Inferred, &step.Clock)
		}, `SELECT deploy, kind, at, target, source, inferred, clock FROM step WHERE deploy = ? ORDER BY at, kind, target, source`, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read steps of deploy %s: %w", id, err)
	}
	return steps, nil
}

// readPublishing is how publishing fares, for every service that has markers.
func readPublishing(ctx context.Context, s *sql.Tx) ([]CollectorStatus, error) {
	return rowsOf(ctx, s, func(rows *sql.Rows, c *CollectorStatus) error {
		c.Source, c.Kind = publishSource, KindPublish
		return rows.Scan(&c.Service, stamp{&c.LastRun}, stamp{&c.LastSuccess}, &c.LastError, &c.LastCode, stamp{&c.LastErrorAt}, &c.Rows, &c.Dropped, &c.Waiting, stamp{&c.LastEvidence})
	}, `SELECT s.name, p.last_run, p.last_success, coalesce(p.last_error, ''), coalesce(p.last_code, ''), p.last_error_at, coalesce(p.sent, 0), coalesce(p.dropped, 0),
		(SELECT count(*) FROM marker m WHERE m.service_id = s.id AND m.sent_at IS NULL AND m.dropped = ''),
		(SELECT max(at) FROM marker m WHERE m.service_id = s.id AND m.sent_at IS NOT NULL)
		FROM service s LEFT JOIN publishing p ON p.service_id = s.id
		WHERE p.service_id IS NOT NULL OR EXISTS (SELECT 1 FROM marker m WHERE m.service_id = s.id) ORDER BY s.name`)
}
