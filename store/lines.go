package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"gapless/analysis"
)

// LineCounts say what became of the lines of a source's objects: Lines is always
// Understood and SetAside together. Unmatched are of those understood, and left out
// by the configured match. Kept are the lines set aside whose text is stored: of one
// object with very many, only the first are.
type LineCounts struct {
	Objects, Lines, Understood, SetAside, Unmatched, Kept int64
}

// ObjectRow is one log object as it was read.
type ObjectRow struct {
	analysis.Object
	StoredAt time.Time
	Kept     int // lines set aside whose text is stored
}

// SourceObjects is one page of a source's objects, by key, and the sums of all.
type SourceObjects struct {
	LineCounts
	Rows []ObjectRow
}

// SourceLines is one page of the lines of a source that were not understood, by
// object and line, and the sums of all objects.
type SourceLines struct {
	LineCounts
	Rows []SetAsideRow
}

// Objects returns the objects of a source from the skip-th on, at most limit. A
// source that never was is [ErrNotFound].
func (db *DB) Objects(ctx context.Context, service, source string, skip, limit int) (page SourceObjects, err error) {
	err = db.view(ctx, func(s *sql.Tx) error {
		id, err := countLines(ctx, s, service, source, &page.LineCounts)
		if err != nil {
			return err
		}
		page.Rows, err = rowsOf(ctx, s, func(rows *sql.Rows, o *ObjectRow) error {
			o.Source = source
			return rows.Scan(&o.Key, &o.Node, stamp{&o.From}, stamp{&o.To}, &o.Lines, &o.Understood, &o.SetAside, &o.Requestless, &o.Unmatched, &o.Partial, &o.Error,
				stamp{&o.Arrived}, stamp{&o.StoredAt}, &o.Kept)
		}, `SELECT key, node, from_at, to_at, lines, understood, set_aside, requestless, unmatched, partial, error, arrived_at, stored_at,
			(SELECT count(*) FROM set_aside a WHERE a.object_id = o.id) FROM object o WHERE collector_id = ? ORDER BY key LIMIT ? OFFSET ?`, id, limit, skip)
		return err
	})
	if err != nil {
		return SourceObjects{}, fmt.Errorf("read objects of %s: %w", source, err)
	}
	return page, nil
}

const (
	selectSetAside = `SELECT o.key, a.line, a.offset, a.reason, a.detail, a.kind, a.raw FROM object o JOIN set_aside a ON a.object_id = o.id
		WHERE o.collector_id = ?`
	inOrder = ` ORDER BY o.key, a.line`
)

func scanSetAside(rows *sql.Rows, l *SetAsideRow) error {
	return rows.Scan(&l.Object, &l.Line, &l.Offset, &l.Reason, &l.Detail, &l.Kind, &l.Raw)
}

// SetAsideLines returns the kept lines of a source that were not understood, from
// the skip-th on, at most limit. A source that never was is [ErrNotFound].
func (db *DB) SetAsideLines(ctx context.Context, service, source string, skip, limit int) (page SourceLines, err error) {
	err = db.view(ctx, func(s *sql.Tx) error {
		id, err := countLines(ctx, s, service, source, &page.LineCounts)
		if err != nil {
			return err
		}
		page.Rows, err = rowsOf(ctx, s, scanSetAside, selectSetAside+inOrder+` LIMIT ? OFFSET ?`, id, limit, skip)
		return err
	})
	if err != nil {
		return SourceLines{}, fmt.Errorf("read lines set aside of %s: %w", source, err)
	}
	return page, nil
}

// EachSetAside calls visit for every kept line of a source that was not understood,
// in the order of [DB.SetAsideLines], one at a time. It ends with visit's error. A
// source that never was is [ErrNotFound], before the first call.
func (db *DB) EachSetAside(ctx context.Context, service, source string, visit func(SetAsideRow) error) error {
	err := db.view(ctx, func(s *sql.Tx) error {
		var counts LineCounts
		id, err := countLines(ctx, s, service, source, &counts)
		if err != nil {
			return err
		}
		rows, err := s.QueryContext(ctx, selectSetAside+inOrder, id)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var line SetAsideRow
			if err := scanSetAside(rows, &line); err != nil {
				return err
			}
			if err := visit(line); err != nil {
				return err
			}
		}
		return rows.Err()
	})
	if err != nil {
		return fmt.Errorf("read lines set aside of %s: %w", source, err)
	}
	return nil
}

// countLines finds a source and sums up its objects.
func countLines(ctx context.Context, s *sql.Tx, service, source string, c *LineCounts) (id int64, err error) {
	err = s.QueryRowContext(ctx, `SELECT c.id FROM collector c JOIN service s ON s.id = c.service_id WHERE s.name = ? AND c.source = ?`, service, source).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("source %q of service %q: %w", source, service, ErrNotFound)
	}
	if err != nil {
		return 0, err
	}
	err = s.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(lines), 0), coalesce(sum(understood), 0), coalesce(sum(set_aside), 0), coalesce(sum(unmatched), 0),
		(SELECT count(*) FROM set_aside a JOIN object o ON o.id = a.object_id WHERE o.collector_id = ?1) FROM object WHERE collector_id = ?1`, id).
		Scan(&c.Objects, &c.Lines, &c.Understood, &c.SetAside, &c.Unmatched, &c.Kept)
	return id, err
}
