package store

import (
	"context"
	"database/sql"
	"fmt"
)

// Places returns which text each path of a followed access log led to when it was looked
// at last.
func (db *DB) Places(ctx context.Context, service, source string) (map[string]string, error) {
	type place struct{ path, text string }
	places := map[string]string{}
	err := db.view(ctx, func(s *sql.Tx) error {
		list, err := rowsOf(ctx, s, func(rows *sql.Rows, p *place) error { return rows.Scan(&p.path, &p.text) },
			`SELECT p.file, CAST(p.position AS TEXT) FROM position p JOIN collector c ON c.id = p.collector_id JOIN service s ON s.id = c.service_id
			WHERE s.name = ? AND c.source = ?`, service, source)
		for _, p := range list {
			places[p.path] = p.text
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read which texts of %s are followed: %w", source, err)
	}
	return places, nil
}

// KeepPlaces stores what [DB.Places] returns. A path that is not in places keeps its text.
func (db *DB) KeepPlaces(ctx context.Context, service, source string, places map[string]string) error {
	err := db.write(ctx, service, func(t *tx) error {
		id, err := t.source(source, "")
		if err != nil {
			return err
		}
		for path, text := range places {
			if err := t.setPosition(id, path, []byte(text)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("store which texts of %s are followed: %w", source, err)
	}
	return nil
}
