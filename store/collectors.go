package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"gapless/analysis"
)

// CollectorStatus is how one source of evidence is doing. Times are zero where it
// never happened; numbers are since the beginning.
type CollectorStatus struct {
	Service, Source, Kind string
	LastRun, LastSuccess  time.Time
	LastError, LastCode   string // of the last failure, even where a success came after it
	// LastErrorAt is when it failed last. While a log object stays unread, that is its
	// last run, whether that tried the object again or waited.
	LastErrorAt                     time.Time
	Rows                            int64 // as its runs reported them
	Lines, SetAside, PartialObjects int64
	Objects                         int64
	LastEvidence                    time.Time      // latest moment that its evidence is about
	Holes                           []analysis.Run // failed runs, newest first, at most holesShown
	LastSetAside                    []SetAsideRow  // lines not understood, newest object first, at most setAsideShown
	// Waiting and Dropped are markers that were not told yet, and that never will be;
	// only of kind [KindPublish], which is no source: there Rows are markers told.
	Waiting, Dropped int64
}

// How many failed runs, and how many lines that were not understood, come with a
// source.
const (
	holesShown    = 20
	setAsideShown = 10
)

// Collectors returns every source that ran, brought something or is expected, by
// service and name; and after them how publishing fares.
func (db *DB) Collectors(ctx context.Context) (all []CollectorStatus, err error) {
	err = db.view(ctx, func(s *sql.Tx) error {
		if all, err = readCollectorStatus(ctx, s); err != nil {
			return err
		}
		published, err := readPublishing(ctx, s)
		all = append(all, published...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read collectors: %w", err)
	}
	return all, nil
}

func readCollectorStatus(ctx context.Context, s *sql.Tx) ([]CollectorStatus, error) {
	var ids []int64
	all, err := rowsOf(ctx, s, func(rows *sql.Rows, c *CollectorStatus) error {
		var id int64
		err := rows.Scan(&id, &c.Service, &c.Source, &c.Kind, stamp{&c.LastRun}, stamp{&c.LastSuccess}, &c.LastError, &c.LastCode, stamp{&c.LastErrorAt},
			&c.Rows, &c.Lines, &c.SetAside, &c.PartialObjects, &c.Objects, stamp{&c.LastEvidence})
		ids = append(ids, id)
		return err
	}, `SELECT c.id, s.name, c.source, c.kind, c.last_run, c.last_success, c.last_error, c.last_code, c.last_error_at,
		c.rows, c.lines, c.set_aside, c.partial_objects, c.objects, c.last_evidence
		FROM collector c JOIN service s ON s.id = c.service_id ORDER BY s.name, c.source`)
	if err != nil {
		return nil, err
	}
	for i, id := range ids {
		all[i].Holes, err = rowsOf(ctx, s, func(rows *sql.Rows, run *analysis.Run) error {
			run.Source = all[i].Source
			return rows.Scan(&run.Kind, stamp{&run.From}, stamp{&run.To}, stamp{&run.At}, &run.Rows, &run.Code, &run.Error)
		}, `SELECT kind, from_at, to_at, at, rows, code, error FROM run WHERE collector_id = ? AND code <> '' ORDER BY at DESC LIMIT ?`, id, holesShown)
		if err == nil {
			err = unread(ctx, s, id, &all[i])
		}
		if err == nil && all[i].SetAside > 0 {
			all[i].LastSetAside, err = rowsOf(ctx, s, scanSetAside, selectSetAside+` ORDER BY o.id DESC, a.line LIMIT ?`, id, setAsideShown)
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// unread makes a source that has an object which could not be read one that fails.
func unread(ctx context.Context, s *sql.Tx, collector int64, c *CollectorStatus) error {
	if c.LastErrorAt.After(c.LastSuccess) {
		return nil // it says so itself
	}
	var key, why string
	err := s.QueryRowContext(ctx, `SELECT key, error FROM object WHERE collector_id = ? AND error <> '' AND partial = 0 ORDER BY stored_at DESC, id DESC LIMIT 1`,
		collector).Scan(&key, &why)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	c.LastError, c.LastErrorAt = fmt.Sprintf("%s is still not read: %s", key, why), c.LastSuccess.Add(time.Microsecond)
	return nil
}

// Source is a configured source of evidence.
type Source struct{ Name, Kind string }

// Expect makes sources known that may not have run yet, so that one that never does
// is seen.
func (db *DB) Expect(ctx context.Context, service string, sources []Source) error {
	err := db.write(ctx, service, func(t *tx) error {
		for _, s := range sources {
			if _, err := t.source(s.Name, s.Kind); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("expect sources: %w", err)
	}
	return nil
}

// Collected is what the good runs of a source span that reach no further than by and
// are not forgotten yet: where the first begins and the last ends; zero where there is
// none.
func (db *DB) Collected(ctx context.Context, service, source string, by time.Time) (from, until time.Time, err error) {
	err = db.view(ctx, func(s *sql.Tx) error {
		return s.QueryRowContext(ctx, `SELECT min(r.from_at), max(r.to_at) FROM run r JOIN collector c ON c.id = r.collector_id JOIN service s ON s.id = c.service_id
			WHERE s.name = ? AND c.source = ? AND r.code = '' AND r.to_at <= ?`, service, source, by.UnixMicro()).Scan(stamp{&from}, stamp{&until})
	})
	if err != nil {
		return time.Time{}, time.Time{}, fmt.Errorf("read runs of %s: %w", source, err)
	}
	return from, until, nil
}

// SetAsideRow is a line that was not understood, with the object it stood in.
type SetAsideRow struct {
	Object string
	analysis.SetAsideLine
}
