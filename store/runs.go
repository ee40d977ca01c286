package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"gapless/analysis"
)

// AddRun stores one attempt of a collector, by source, span and time.
func (db *DB) AddRun(ctx context.Context, service string, run analysis.Run) error {
	err := db.write(ctx, service, func(t *tx) error {
		id, err := t.source(run.Source, run.Kind)
		if err != nil {
			return err
		}
		return t.addRun(id, run)
	})
	if err != nil {
		return fmt.Errorf("add run of %s: %w", run.Source, err)
	}
	return nil
}

func (t *tx) addRun(collector int64, run analysis.Run) error {
	if run.At.IsZero() {
		return fmt.Errorf("run of %s: it has no time", run.Source)
	}
	run = normal(run)
	news, err := t.news(collector, run)
	if err != nil {
		return err
	}
	from, to, at := run.From.UnixMicro(), run.To.UnixMicro(), run.At.UnixMicro()
	stored, err := t.execOne(`INSERT INTO run (collector_id, from_at, to_at, at, kind, rows, code, error) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		collector, from, to, at, run.Kind, run.Rows, run.Code, run.Error)
	if err != nil || !stored {
		return err
	}
	t.changed = true
	t.touched = append(t.touched, news...)
	if run.Code == "" {
		_, err = t.exec(`UPDATE collector SET last_run = max(coalesce(last_run, ?1), ?1), last_success = max(coalesce(last_success, ?1), ?1),
			rows = rows + ?2, longest_run = max(longest_run, ?3) WHERE id = ?4`, at, run.Rows, to-from, collector)
		return err
	}
	_, err = t.exec(`UPDATE collector SET last_run = max(coalesce(last_run, ?1), ?1), rows = rows + ?2, longest_run = max(longest_run, ?3) WHERE id = ?4`,
		at, run.Rows, to-from, collector)
	if err != nil {
		return err
	}
	_, err = t.exec(`UPDATE collector SET last_error = ?1, last_code = ?2, last_error_at = ?3 WHERE id = ?4 AND coalesce(last_error_at, ?3) <= ?3`,
		run.Error, run.Code, at, collector)
	return err
}

// news is the part of a run's span of which it tells anything new: where no earlier run
// ended as it did, or where one that ended otherwise came after that. A collector that
// looks at the recent past again and again, and finds nothing more there, gives no
// reason to judge a window anew; nor does one that is refused again and again.
func (t *tx) news(collector int64, run analysis.Run) ([]span, error) {
	whole := span{run.From.UnixMicro(), run.To.UnixMicro()}
	earlier, err := rowsOf(t.ctx, t.sql, func(rows *sql.Rows, e *earlierRun) error { return rows.Scan(&e.from, &e.to, &e.otherwise) },
		`SELECT r.from_at, r.to_at, r.code <> ?5 FROM run r JOIN collector c ON c.id = r.collector_id
		WHERE r.collector_id = ?1 AND r.from_at BETWEEN ?2 - c.longest_run AND ?3 AND r.to_at >= ?2 AND r.at <= ?4 ORDER BY r.at DESC`,
		collector, whole.from, whole.to, run.At.UnixMicro(), run.Code)
	if err != nil {
		return nil, err
	}
	return without(whole, earlier), nil
}

type earlierRun struct {
	span
	otherwise bool // it ended otherwise than the run at hand
}

// without subtracts earlier runs that ended alike, latest first, from a span, each only
// as far as no later one that ended otherwise meets it.
func without(whole span, earlier []earlierRun) []span {
	rest := []span{whole}
	var otherwise []span
	for _, run := range earlier {
		if run.otherwise {
			otherwise = append(otherwise, run.span)
			continue
		}
		alike := []span{run.span}
		for _, o := range otherwise {
			alike = subtract(alike, o)
		}
		for _, a := range alike {
			rest = subtract(rest, a)
		}
		if len(rest) == 0 {
			break
		}
	}
	return rest
}

// subtract takes a span out of others. Edges of length zero are dropped, except
// where nothing is longer: a run of a single moment has no length.
func subtract(from []span, out span) []span {
	var rest []span
	for _, s := range from {
		if out.to < s.from || out.from > s.to {
			rest = append(rest, s)
			continue
		}
		if s.from < out.from {
			rest = append(rest, span{s.from, out.from})
		}
		if out.to < s.to {
			rest = append(rest, span{out.to, s.to})
		}
	}
	return slices.Clip(rest)
}
