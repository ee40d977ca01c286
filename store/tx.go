package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"gapless/analysis"
)

// tx is one write transaction for one service. Only exported methods of DB begin
// and commit; what they call takes the tx.
type tx struct {
	ctx      context.Context
	sql      *sql.Tx
	prepared map[string]*sql.Stmt
	now      time.Time
	id       int64 // of the service
	service  analysis.Service
	touched  []span // what new evidence is about
	changed  bool   // somebody may want to look again
}

// span is a closed stretch of time in microseconds.
type span struct{ from, to int64 }

// write runs do in one transaction for a service that must be known. Windows that
// new evidence touches are marked in the same transaction; subscribers hear of the
// service after it was committed.
func (db *DB) write(ctx context.Context, service string, do func(*tx) error) error {
	t := &tx{ctx: ctx, prepared: map[string]*sql.Stmt{}}
	err := db.inTx(ctx, func(s *sql.Tx) error {
		t.sql, t.now = s, db.Now()
		var err error
		if t.id, t.service, err = readService(ctx, s, service); err != nil {
			return err
		}
		if err := do(t); err != nil {
			return err
		}
		return t.markWindows()
	})
	if err != nil {
		return err
	}
	if t.changed || len(t.touched) > 0 {
		db.notify(service)
	}
	return nil
}

// inTx runs do in a write transaction and commits unless it fails.
func (db *DB) inTx(ctx context.Context, do func(*sql.Tx) error) error {
	s, err := db.writer.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if err := do(s); err != nil {
		return errors.Join(err, ignoreDone(s.Rollback()))
	}
	if err := s.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

// view runs do in one read transaction, so that all it reads is of one moment.
func (db *DB) view(ctx context.Context, do func(*sql.Tx) error) error {
	s, err := db.reader.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	return errors.Join(do(s), ignoreDone(s.Rollback()))
}

// exec runs a statement, prepared once a transaction.
func (t *tx) exec(query string, args ...any) (sql.Result, error) {
	stmt, err := t.prepare(query) //nolint:sqlclosecheck // it is closed with its transaction
	if err != nil {
		return nil, err
	}
	return stmt.ExecContext(t.ctx, args...)
}

// execOne runs a statement and reports whether it changed a row.
func (t *tx) execOne(query string, args ...any) (bool, error) {
	result, err := t.exec(query, args...)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// get reads one row.
func (t *tx) get(query string, args []any, into ...any) error {
	stmt, err := t.prepare(query) //nolint:sqlclosecheck // it is closed with its transaction
	if err != nil {
		return err
	}
	return stmt.QueryRowContext(t.ctx, args...).Scan(into...)
}

func (t *tx) prepare(query string) (*sql.Stmt, error) {
	if stmt := t.prepared[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := t.sql.PrepareContext(t.ctx, query)
	if err != nil {
		return nil, err
	}
	t.prepared[query] = stmt
	return stmt, nil
}

// touch notes that evidence about the span is new.
func (t *tx) touch(from, to time.Time) {
	if !from.IsZero() && !to.IsZero() && !to.Before(from) {
		t.touched = append(t.touched, span{from.UnixMicro(), to.UnixMicro()})
	}
}

// touchFrom touches everything from a moment on, or all where it is not known.
func (t *tx) touchFrom(from time.Time) {
	if from.IsZero() {
		from = fromMicro(0)
	}
	t.touch(from, endOfTime)
}

// markWindows gives the service its next change number and notes it at every
// deploy whose window the new evidence touches.
func (t *tx) markWindows() error {
	if len(t.touched) == 0 {
		return nil
	}
	var change int64
	if err := t.get(`UPDATE service SET change = change + 1 WHERE id = ? RETURNING change`, []any{t.id}, &change); err != nil {
		return fmt.Errorf("count change: %w", err)
	}
	for _, s := range t.touched {
		_, err := t.exec(`UPDATE deploy SET change = ?1 WHERE service_id = ?2 AND window_from <= ?4 AND window_to > ?3`, change, t.id, s.from, s.to)
		if err != nil {
			return fmt.Errorf("mark windows: %w", err)
		}
	}
	return nil
}

// bulk inserts many rows with few statements.
type bulk struct {
	t          *tx
	head, tail string
	columns    int
	args       []any
	stored     int // rows that were new
}

// bulkRows rows go into one statement: more gain little.
const bulkRows = 64

// insert prepares a bulk insert into a table. Rows whose key is there already are
// left as they are.
func (t *tx) insert(table string, columns ...string) *bulk {
	return &bulk{t: t, head: "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES ", tail: " ON CONFLICT DO NOTHING",
		columns: len(columns), args: make([]any, 0, bulkRows*len(columns))}
}

func (b *bulk) add(values ...any) error {
	b.args = append(b.args, values...)
	if len(b.args) == bulkRows*b.columns {
		return b.flush()
	}
	return nil
}

func (b *bulk) flush() error {
	if len(b.args) == 0 {
		return nil
	}
	row := "(?" + strings.Repeat(",?", b.columns-1) + ")"
	query := b.head + row + strings.Repeat(","+row, len(b.args)/b.columns-1) + b.tail
	result, err := b.t.exec(query, b.args...)
	if err != nil {
		return err
	}
	n, err := result.RowsAffected()
	b.stored += int(n)
	b.args = b.args[:0]
	return err
}

// rowsOf reads every row of a query.
func rowsOf[T any](ctx context.Context, s *sql.Tx, scan func(*sql.Rows, *T) error, query string, args ...any) ([]T, error) {
	rows, err := s.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		var one T
		if err := scan(rows, &one); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// stamp is a time in the file: microseconds, NULL when zero.
type stamp struct{ t *time.Time }

// Scan implements sql.Scanner.
func (s stamp) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*s.t = time.Time{}
	case int64:
		*s.t = fromMicro(v)
	default:
		return fmt.Errorf("time is a %T, not microseconds", v)
	}
	return nil
}

// nameList is a list in one column, as joinNames writes it.
type nameList struct{ names *[]string }

// Scan implements sql.Scanner.
func (n nameList) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*n.names = nil
	case string:
		*n.names = strings.Split(v, "\n")
	default:
		return fmt.Errorf("list of names is a %T, not text", v)
	}
	return nil
}

// duration is a length of time in the file: microseconds.
type duration struct{ d *time.Duration }

// Scan implements sql.Scanner.
func (d duration) Scan(v any) error {
	n, ok := v.(int64)
	if !ok {
		return fmt.Errorf("duration is a %T, not microseconds", v)
	}
	*d.d = time.Duration(n) * time.Microsecond
	return nil
}

// optionalDuration is a length of time that may not be known.
type optionalDuration struct{ d **time.Duration }

// Scan implements sql.Scanner.
func (o optionalDuration) Scan(v any) error {
	*o.d = nil
	if v == nil {
		return nil
	}
	*o.d = new(time.Duration)
	return duration{*o.d}.Scan(v)
}

// optionalMicros is a length of time as it is stored, nil where it is not known.
func optionalMicros(d *time.Duration) any {
	if d == nil {
		return nil
	}
	return d.Microseconds()
}

func fromMicro(v int64) time.Time { return time.UnixMicro(v).UTC() }

// micro is a time as it is stored.
func micro(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// endOfTime is after everything that evidence can be about.
var endOfTime = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

func seconds(v int64) time.Time { return time.Unix(v, 0).UTC() }

func toJSON(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}
