// Package store keeps everything that gapless was told and has seen, in one SQLite
// file: services, deploys, steps, evidence, and the revisions of reports. It knows
// no HTML and no load balancer's API.
//
// One connection writes and several read. Every exported method that writes is one
// transaction that can be repeated without changing anything: rows have natural
// keys, and a ledger says which log objects were read. Times are microseconds since
// 1970 UTC in the file and [time.Time] everywhere else; what is finer than a
// microsecond is cut off.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver

	"gapless/migrations"
)

// Errors that callers branch on.
var (
	ErrNotFound = errors.New("not found")
	ErrConflict = errors.New("conflict")
)

// DB is an open database. Its methods are safe for concurrent use.
type DB struct {
	// Now is the clock, for what is stamped with the time of storing. Set it before
	// the first use.
	Now func() time.Time

	path           string
	writer, reader *sql.DB

	mu          sync.Mutex
	subscribers map[*subscriber]struct{}
	closed      bool
}

// Open opens the database at path, creates it where there is none (readable by its
// owner only, since logs hold addresses of people), and brings its schema up to
// date. It refuses a file that is not ours, that a newer gapless wrote, or whose
// migrations were edited after they had been applied.
func Open(ctx context.Context, path string) (*DB, error) {
	released, err := migrations.Read(migrations.Files)
	if err != nil {
		return nil, err
	}
	return open(ctx, path, released)
}

func open(ctx context.Context, path string, released []migrations.Migration) (_ *DB, err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if err := file.Close(); err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	db := &DB{Now: time.Now, path: path, subscribers: map[*subscriber]struct{}{}}
	defer func() {
		if err != nil {
			_ = db.Close()
		}
	}()
	if db.writer, err = connect(ctx, path, 1, "_txlock=immediate", map[string]string{"query_only": "0"}); err != nil {
		return nil, err
	}
	if err := db.migrate(ctx, released); err != nil {
		return nil, fmt.Errorf("database %s: %w", path, err)
	}
	readers := max(4, runtime.NumCPU())
	if db.reader, err = connect(ctx, path, readers, "_pragma=query_only(ON)", map[string]string{"query_only": "1"}); err != nil {
		return nil, err
	}
	return db, nil
}

// pragmas are set on every connection, busy_timeout first, and read back as want.
var pragmas = []struct{ name, value, want string }{
	{"busy_timeout", "5000", "5000"},
	{"journal_mode", "WAL", "wal"},
	{"synchronous", "NORMAL", "1"},
	{"foreign_keys", "ON", "1"},
}

// connect opens a pool of size connections and verifies that its pragmas took.
func connect(ctx context.Context, path string, size int, more string, wants map[string]string) (*sql.DB, error) {
	var query []string
	for _, p := range pragmas {
		query = append(query, "_pragma="+p.name+"("+p.value+")")
	}
	name := (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: strings.Join(append(query, more), "&")}).String()
	pool, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	pool.SetMaxOpenConns(size)
	pool.SetMaxIdleConns(size)
	check := func(pragma, want string) error {
		var got string
		if err := pool.QueryRowContext(ctx, "PRAGMA "+pragma).Scan(&got); err != nil {
			return fmt.Errorf("open database %s: read pragma %s: %w", path, pragma, err)
		}
		if got != want {
			return fmt.Errorf("open database %s: pragma %s is %q, want %q", path, pragma, got, want)
		}
		return nil
	}
	for _, p := range pragmas {
		if err := check(p.name, p.want); err != nil {
			_ = pool.Close()
			return nil, err
		}
	}
	for pragma, want := range wants {
		if err := check(pragma, want); err != nil {
			_ = pool.Close()
			return nil, err
		}
	}
	return pool, nil
}

// Close ends every subscription and closes the file.
func (db *DB) Close() error {
	db.mu.Lock()
	db.closed = true
	for s := range db.subscribers {
		s.stop()
	}
	clear(db.subscribers)
	db.mu.Unlock()
	var errs []error
	for _, pool := range []*sql.DB{db.reader, db.writer} {
		if pool != nil {
			errs = append(errs, pool.Close())
		}
	}
	return errors.Join(errs...)
}
