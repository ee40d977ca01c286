package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/pressly/goose/v3"

	"gapless/migrations"
)

// applicationID marks our files in SQLite's header; the first migration sets it.
const applicationID = 0x67706c73

// migrate brings the schema up to date. Each migration records its checksum in the
// transaction that applies it.
func (db *DB) migrate(ctx context.Context, released []migrations.Migration) error {
	if err := db.recognise(ctx); err != nil {
		return err
	}
	steps := make([]*goose.Migration, len(released))
	for i, m := range released {
		steps[i] = goose.NewGoMigration(m.Version, &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, m.SQL); err != nil {
				return fmt.Errorf("%s: %w", m.Name, err)
			}
			_, err := tx.ExecContext(ctx, `INSERT INTO migration_checksum (version, name, sha256) VALUES (?, ?, ?)`, m.Version, m.Name, m.SHA256)
			return err
		}}, nil)
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db.writer, nil,
		goose.WithGoMigrations(steps...), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("prepare migrations: %w", err)
	}
	version, err := provider.GetDBVersion(ctx)
	if err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	if known := int64(len(released)); version > known {
		return fmt.Errorf("its schema is version %d and this gapless knows versions up to %d: a newer gapless wrote it, so use that one, or another file", version, known)
	}
	if version > 0 {
		if err := db.checkChecksums(ctx, released[:version]); err != nil {
			return err
		}
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// recognise refuses a file that holds tables of something else.
func (db *DB) recognise(ctx context.Context) error {
	var id, tables int
	if err := db.writer.QueryRowContext(ctx, `PRAGMA application_id`).Scan(&id); err != nil {
		return fmt.Errorf("read application id: %w", err)
	}
	if id == applicationID {
		return nil
	}
	// goose's own table alone: the first migration was interrupted.
	err := db.writer.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('goose_db_version', 'sqlite_sequence')`).Scan(&tables)
	if err != nil {
		return fmt.Errorf("read schema: %w", err)
	}
	if tables > 0 {
		return errors.New("it holds the tables of another program")
	}
	return nil
}

func (db *DB) checkChecksums(ctx context.Context, applied []migrations.Migration) error {
	for _, m := range applied {
		var name, sum string
		err := db.writer.QueryRowContext(ctx, `SELECT name, sha256 FROM migration_checksum WHERE version = ?`, m.Version).Scan(&name, &sum)
		if err != nil {
			return fmt.Errorf("read checksum of migration %d: %w", m.Version, err)
		}
		if sum != m.SHA256 {
			return fmt.Errorf("migration %s was applied with checksum %.12s and has %.12s in this gapless: another gapless made it, so use that one, or another file (a released migration must never be edited)", m.Name, sum, m.SHA256)
		}
	}
	return nil
}
