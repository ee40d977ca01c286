package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"gapless/analysis"
)

// PutService stores a service under its name, or what changed of it. Changed window
// settings move the windows of its deploys.
func (db *DB) PutService(ctx context.Context, service analysis.Service) error {
	if service.Name == "" {
		return errors.New("put service: it has no name")
	}
	spec, err := toJSON(service)
	if err != nil {
		return fmt.Errorf("encode service %s: %w", service.Name, err)
	}
	err = db.inTx(ctx, func(s *sql.Tx) error {
		_, err := s.ExecContext(ctx, `INSERT INTO service (name, spec) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET spec = excluded.spec`, service.Name, spec)
		if err != nil {
			return err
		}
		deploys, err := rowsOf(ctx, s, scanDeploy, selectDeploy+` WHERE s.name = ?`, service.Name)
		if err != nil {
			return err
		}
		for _, d := range deploys {
			from, to := analysis.WindowOf(d, service.Window)
			_, err := s.ExecContext(ctx, `UPDATE deploy SET window_from = ?, window_to = ? WHERE id = ?`, from.UnixMicro(), to.UnixMicro(), d.ID)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("put service %s: %w", service.Name, err)
	}
	db.notify(service.Name)
	return nil
}

// NoteConfig stores the hash of the configuration that a service was taken from, for
// reports that are made from the database alone.
func (db *DB) NoteConfig(ctx context.Context, service, sha256 string) error {
	err := db.inTx(ctx, func(s *sql.Tx) error {
		_, err := s.ExecContext(ctx, `UPDATE service SET config = ? WHERE name = ?`, sha256, service)
		return err
	})
	if err != nil {
		return fmt.Errorf("note the configuration of service %s: %w", service, err)
	}
	return nil
}

// Config returns the hash that [DB.NoteConfig] stored last; empty where none was.
func (db *DB) Config(ctx context.Context, service string) (sha256 string, err error) {
	err = db.view(ctx, func(s *sql.Tx) error {
		return s.QueryRowContext(ctx, `SELECT config FROM service WHERE name = ?`, service).Scan(&sha256)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("service %q: %w", service, ErrNotFound)
	}
	return sha256, err
}

// Services returns every service by name.
func (db *DB) Services(ctx context.Context) (services []analysis.Service, err error) {
	err = db.view(ctx, func(s *sql.Tx) error {
		services, err = readServices(ctx, s)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read services: %w", err)
	}
	return services, nil
}

func readServices(ctx context.Context, s *sql.Tx) ([]analysis.Service, error) {
	return rowsOf(ctx, s, func(rows *sql.Rows, service *analysis.Service) error {
		var spec []byte
		if err := rows.Scan(&spec); err != nil {
			return err
		}
		return json.Unmarshal(spec, service)
	}, `SELECT spec FROM service ORDER BY name`)
}

// Service returns one service, or [ErrNotFound].
func (db *DB) Service(ctx context.Context, name string) (service analysis.Service, err error) {
	err = db.view(ctx, func(s *sql.Tx) error {
		_, service, err = readService(ctx, s, name)
		return err
	})
	return service, err
}

func readService(ctx context.Context, s *sql.Tx, name string) (id int64, service analysis.Service, err error) {
	var spec []byte
	err = s.QueryRowContext(ctx, `SELECT id, spec FROM service WHERE name = ?`, name).Scan(&id, &spec)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, service, fmt.Errorf("service %q: %w", name, ErrNotFound)
	}
	if err == nil {
		err = json.Unmarshal(spec, &service)
	}
	if err != nil {
		return 0, service, fmt.Errorf("read service %s: %w", name, err)
	}
	return id, service, nil
}
