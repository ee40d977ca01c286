package store

import (
	"context"
	"database/sql"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gapless/migrations"
)

var update = flag.Bool("update", false, "rewrite golden files")

func TestOpenAgainKeepsEverything(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b?c#d%41.db")
	for range 2 {
		db, err := Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.writer.Exec(`INSERT INTO service (name, spec) VALUES ('s', '{}') ON CONFLICT DO NOTHING`); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %o, want 600", info.Mode().Perm())
	}
}

func TestOpenRefuses(t *testing.T) {
	released, err := migrations.Read(migrations.Files)
	if err != nil {
		t.Fatal(err)
	}
	next := migrations.Migration{Version: int64(len(released)) + 1, Name: "99999_next.sql", SQL: "CREATE TABLE next (id INTEGER) STRICT", SHA256: "0000"}
	edited := append([]migrations.Migration(nil), released...)
	edited[0].SHA256 = strings.Repeat("f", 64)
	for name, c := range map[string]struct {
		before func(t *testing.T, path string)
		with   []migrations.Migration
		want   string
	}{
		"a newer database": {
			func(t *testing.T, path string) { opened(t, path, append(slices.Clip(released), next)) }, released, "a newer gapless wrote it"},
		"an edited migration": {
			func(t *testing.T, path string) { opened(t, path, released) }, edited, "another gapless made it, so use that one, or another file"},
		"a database of another program": {func(t *testing.T, path string) {
			other, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = other.Close() })
			if _, err := other.Exec(`CREATE TABLE theirs (id INTEGER)`); err != nil {
				t.Fatal(err)
			}
		}, released, "another program"},
		"a file that is no database": {func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(strings.Repeat("not a database ", 100)), 0o600); err != nil {
				t.Fatal(err)
			}
		}, released, "not a database"},
		"a folder": {func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, released, "is a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "gapless.db")
			c.before(t, path)
			db, err := open(t.Context(), path, c.with)
			if err == nil {
				_ = db.Close()
				t.Fatalf("opened, want an error with %q", c.want)
			}
			if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %q, want %q and the path in it", err, c.want)
			}
		})
	}
}

// TestFailedMigrationLeavesNothing shows that a migration, its version and its
// checksum are one transaction.
func TestFailedMigrationLeavesNothing(t *testing.T) {
	released, err := migrations.Read(migrations.Files)
	if err != nil {
		t.Fatal(err)
	}
	bad := migrations.Migration{Version: int64(len(released)) + 1, Name: "bad.sql", SQL: "CREATE TABLE half (id INTEGER) STRICT; CREATE TABLE half (id INTEGER) STRICT;", SHA256: "1"}
	path := filepath.Join(t.TempDir(), "gapless.db")
	opened(t, path, released)
	if db, err := open(t.Context(), path, append(slices.Clip(released), bad)); err == nil {
		_ = db.Close()
		t.Fatal("a broken migration: no error")
	}
	db, err := open(t.Context(), path, released)
	if err != nil {
		t.Fatalf("after a failed migration: %v", err)
	}
	t.Cleanup(func() { _ = db.Close() })
	var tables, sums int
	if err := db.writer.QueryRow(`SELECT count(*), (SELECT count(*) FROM migration_checksum) FROM sqlite_schema WHERE name = 'half'`).Scan(&tables, &sums); err != nil {
		t.Fatal(err)
	}
	if tables != 0 || sums != len(released) {
		t.Errorf("%d tables and %d checksums left, want 0 and %d", tables, sums, len(released))
	}
}

// TestSchema compares the schema with a golden file, so that a change of it is seen
// in review, and checks that every table is strict.
func TestSchema(t *testing.T) {
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "gapless.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	var got strings.Builder
	err = db.view(t.Context(), func(s *sql.Tx) error {
		lines, err := rowsOf(t.Context(), s, func(rows *sql.Rows, line *string) error { return rows.Scan(line) },
			`SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT IN ('goose_db_version', 'sqlite_sequence') ORDER BY tbl_name, type DESC, name`)
		for _, line := range lines {
			got.WriteString(line + ";\n")
		}
		if err != nil {
			return err
		}
		loose, err := rowsOf(t.Context(), s, func(rows *sql.Rows, name *string) error { return rows.Scan(name) },
			`SELECT name FROM pragma_table_list WHERE type = 'table' AND schema = 'main' AND NOT strict AND name NOT IN ('goose_db_version', 'sqlite_sequence', 'sqlite_schema')`)
		if len(loose) > 0 {
			t.Errorf("tables %v are not strict", loose)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "schema.sql")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("the schema differs from %s (run with -update if it should):\n%s", golden, got.String())
	}
}

func TestReadersCannotWrite(t *testing.T) {
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "gapless.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	err = db.view(t.Context(), func(s *sql.Tx) error {
		_, err := s.Exec(`DELETE FROM service`)
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "readonly") {
		t.Errorf("a write by a reader: %v, want it refused", err)
	}
}

// Helpers.

func opened(t *testing.T, path string, released []migrations.Migration) {
	t.Helper()
	db, err := open(context.Background(), path, released)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
