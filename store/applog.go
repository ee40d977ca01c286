package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"gapless/analysis"
)

// AddAppBatch stores what one read of an application log brought, the position
// after it, and the run, all or nothing. A batch that ends where the log had been
// read to already adds no counts: it is the same one again. One that goes on from
// there, or begins with a file, and has lines equal to stored ones has more of them,
// unless it says Again. One that began elsewhere is [analysis.ErrMoved].
func (db *DB) AddAppBatch(ctx context.Context, service string, b analysis.AppBatch) error {
	err := db.write(ctx, service, func(t *tx) error { return t.addAppBatch(b) })
	if err != nil {
		return fmt.Errorf("add lines of %s: %w", b.Source, err)
	}
	return nil
}

func (t *tx) addAppBatch(b analysis.AppBatch) error {
	id, err := t.source(b.Source, b.Kind)
	if err != nil {
		return err
	}
	moved, err := t.move(id, b.File, b.Before, b.Position)
	if err != nil {
		return err
	}
	if err := t.addHandled(id, b.Source, b.Handled); err != nil {
		return err
	}
	more := moved && b.Position != nil && !b.Again
	if err := t.addSignals(id, b.Source, b.Signals, more); err != nil {
		return err
	}
	if err := t.addJourneys(id, b.Source, b.Journeys, more); err != nil {
		return err
	}
	fresh, err := t.addSteps(b.Steps)
	if err != nil {
		return err
	}
	if fresh > 0 {
		var times hull
		for _, step := range b.Steps {
			times.add(step.At)
		}
		if err := t.evidence(id, times.from, times.to); err != nil {
			return err
		}
	}
	if moved {
		if err := t.addCounts(id, b.Source, b.Counts); err != nil {
			return err
		}
	}
	return t.addRun(id, b.Run)
}

// move stores a position and reports whether it differs from the one before. No
// position at all counts as moved.
func (t *tx) move(collector int64, file string, began, position []byte) (moved bool, err error) {
	if position == nil {
		return true, nil
	}
	var before []byte
	err = t.get(`SELECT position FROM position WHERE collector_id = ? AND file = ?`, []any{collector, file}, &before)
	switch {
	case errors.Is(err, sql.ErrNoRows):
	case err != nil:
		return false, err
	case bytes.Equal(before, position):
		return false, nil
	}
	if !bytes.Equal(before, began) {
		return false, analysis.ErrMoved
	}
	return true, t.setPosition(collector, file, position)
}

func (t *tx) setPosition(collector int64, file string, position []byte) error {
	_, err := t.exec(`INSERT INTO position (collector_id, file, position) VALUES (?, ?, ?)
		ON CONFLICT (collector_id, file) DO UPDATE SET position = excluded.position`, collector, file, position)
	return err
}

func (t *tx) addHandled(collector int64, source string, handled []analysis.HandledRequest) error {
	insert := t.insert("handled", "collector_id", "at", "target", "run", "seq", "begun", "status")
	var times hull
	for _, h := range handled {
		if h.Source != source {
			return fmt.Errorf("a handled request of source %q in a read of %q", h.Source, source)
		}
		if err := insert.add(collector, h.At.UnixMicro(), h.Target, h.Run, h.Seq, h.Begun, h.Status); err != nil {
			return err
		}
		times.add(h.At)
	}
	if err := insert.flush(); err != nil || insert.stored == 0 {
		return err
	}
	return t.evidence(collector, times.from, times.to)
}

// Position is where the next read of an application log goes on, nil where it was
// never read.
func (db *DB) Position(ctx context.Context, service, source, file string) (position []byte, err error) {
	err = db.view(ctx, func(s *sql.Tx) error {
		return s.QueryRowContext(ctx, `SELECT p.position FROM position p JOIN collector c ON c.id = p.collector_id JOIN service s ON s.id = c.service_id
			WHERE s.name = ? AND c.source = ? AND p.file = ?`, service, source, file).Scan(&position)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read position of %s in %s: %w", source, file, err)
	}
	return position, nil
}
