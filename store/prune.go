package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"gapless/analysis"
)

// pruneMargin is kept around a window: the last sample before it is evidence too.
const pruneMargin = 15 * time.Minute

// Prune deletes the evidence from before a time that no deploy window covers. Of
// access logs there remains which targets served how much on which day (UTC).
// Deploys, their steps and their revisions stay.
func (db *DB) Prune(ctx context.Context, before time.Time) error {
	services, err := db.Services(ctx)
	if err != nil {
		return fmt.Errorf("prune: %w", err)
	}
	for _, service := range services {
		err := db.write(ctx, service.Name, func(t *tx) error {
			if err := t.keepWindows(before); err != nil {
				return err
			}
			if err := t.sumServed(); err != nil {
				return err
			}
			return t.deleteUnkept()
		})
		if err != nil {
			return fmt.Errorf("prune service %s: %w", service.Name, err)
		}
	}
	return nil
}

// keepWindows fills a temporary table with the stretches of time, from the beginning
// to before, that no window covers.
func (t *tx) keepWindows(before time.Time) error {
	for _, query := range []string{
		`CREATE TEMP TABLE IF NOT EXISTS unkept (lo INTEGER NOT NULL, hi INTEGER NOT NULL) STRICT`, // half-open
		`DELETE FROM temp.unkept`,
	} {
		if _, err := t.sql.ExecContext(t.ctx, query); err != nil {
			return err
		}
	}
	windows, err := rowsOf(t.ctx, t.sql, func(rows *sql.Rows, s *span) error { return rows.Scan(&s.from, &s.to) },
		`SELECT window_from, window_to FROM deploy WHERE service_id = ? ORDER BY window_from`, t.id)
	if err != nil {
		return err
	}
	start, end := int64(0), before.UnixMicro()
	margin := pruneMargin.Microseconds()
	insert := func(from, to int64) error {
		if to = min(to, end); from >= to {
			return nil
		}
		_, err := t.exec(`INSERT INTO temp.unkept VALUES (?, ?)`, from, to)
		return err
	}
	for _, w := range windows {
		if err := insert(start, w.from-margin); err != nil {
			return err
		}
		start = max(start, w.to+margin)
	}
	return insert(start, end)
}

// sumServed adds what cells are about to be deleted to the days.
func (t *tx) sumServed() error {
	rows, err := t.sql.QueryContext(t.ctx, `SELECT c.bucket, k.source, c.data FROM temp.unkept u
		JOIN cells c ON c.service_id = ?1 AND c.bucket >= (u.lo + ?2 - 1) / ?2 AND c.bucket < u.hi / ?2
		JOIN object o ON o.id = c.object_id JOIN collector k ON k.id = o.collector_id`, t.id, bucketMicros)
	if err != nil {
		return err
	}
	defer rows.Close()
	type key struct {
		day                   int64
		source, group, target string
		class                 analysis.Class
	}
	type served struct{ requests, failures int }
	days := map[key]served{}
	for rows.Next() {
		var bucket int64
		var source string
		var data []byte
		if err := rows.Scan(&bucket, &source, &data); err != nil {
			return err
		}
		u := newUnpacker(seconds(bucket*bucketSeconds), seconds((bucket+1)*bucketSeconds), 0)
		if err := u.add(source, bucket, data); err != nil {
			return err
		}
		for i := range u.cells {
			c := &u.cells[i]
			at := key{c.Second / daySeconds, source, c.TargetGroup, c.Target, c.Class}
			sum := days[at]
			sum.requests += c.Count
			if c.Outcome.Failure() {
				sum.failures += c.Count
			}
			days[at] = sum
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for k, sum := range days {
		_, err := t.exec(`INSERT INTO served_day (service_id, day, source, target_group, target, class, requests, failures) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET requests = requests + excluded.requests, failures = failures + excluded.failures`,
			t.id, k.day, k.source, k.group, k.target, string(k.class), sum.requests, sum.failures)
		if err != nil {
			return err
		}
	}
	return nil
}

// ServedDay is what remains of the access logs of a pruned day (UTC): how many
// requests of a class a target served. Target is empty where none was chosen.
type ServedDay struct {
	Day                         time.Time
	Source, TargetGroup, Target string
	Class                       analysis.Class
	Requests, Failures          int
}

// ServedDays returns the record of pruned days of a service that begin in [from, to).
func (db *DB) ServedDays(ctx context.Context, service string, from, to time.Time) (days []ServedDay, err error) {
	err = db.view(ctx, func(s *sql.Tx) error {
		days, err = rowsOf(ctx, s, func(rows *sql.Rows, d *ServedDay) error {
			var day int64
			err := rows.Scan(&day, &d.Source, &d.TargetGroup, &d.Target, &d.Class, &d.Requests, &d.Failures)
			d.Day = seconds(day * daySeconds)
			return err
		}, `SELECT day, source, target_group, target, class, requests, failures FROM served_day d JOIN service s ON s.id = d.service_id
			WHERE s.name = ?1 AND day * ?4 >= ?2 AND day * ?4 < ?3 ORDER BY day, source, target_group, target, class`,
			service, ceilSecond(from), ceilSecond(to), daySeconds)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read served days of %s: %w", service, err)
	}
	return days, nil
}

const daySeconds = 86400

const bucketMicros = bucketSeconds * 1_000_000

func (t *tx) deleteUnkept() error {
	const collectors = `collector_id IN (SELECT id FROM collector WHERE service_id = ?1)`
	const unkept = ` IN (SELECT e.rowid FROM temp.unkept u JOIN `
	for _, query := range []string{
		`DELETE FROM cells WHERE rowid` + unkept + `cells e ON e.service_id = ?1 AND e.bucket >= (u.lo + 9999999) / 10000000 AND e.bucket < u.hi / 10000000)`,
		`DELETE FROM request WHERE rowid` + unkept + `request e ON e.service_id = ?1 AND e.at >= u.lo AND e.at < u.hi)`,
		`DELETE FROM object WHERE rowid` + unkept + `object e ON e.low >= u.lo AND e.high < u.hi WHERE e.` + collectors + `)`,
		`DELETE FROM probe WHERE ` + collectors + ` AND EXISTS (SELECT 1 FROM temp.unkept u WHERE sent_at >= u.lo AND sent_at < u.hi)`,
		`DELETE FROM handled WHERE ` + collectors + ` AND EXISTS (SELECT 1 FROM temp.unkept u WHERE at >= u.lo AND at < u.hi)`,
		`DELETE FROM rule_count WHERE ` + collectors + ` AND EXISTS (SELECT 1 FROM temp.unkept u WHERE minute >= u.lo AND minute < u.hi)`,
		`DELETE FROM run WHERE ` + collectors + ` AND EXISTS (SELECT 1 FROM temp.unkept u WHERE from_at >= u.lo AND to_at < u.hi)`,
		`DELETE FROM state WHERE series_id IN (SELECT id FROM state_series WHERE ` + collectors + `) AND EXISTS (SELECT 1 FROM temp.unkept u WHERE at >= u.lo AND at < u.hi)`,
		`DELETE FROM step WHERE service_id = ?1 AND deploy = '' AND EXISTS (SELECT 1 FROM temp.unkept u WHERE at >= u.lo AND at < u.hi)`,
	} {
		if _, err := t.sql.ExecContext(t.ctx, query, t.id); err != nil {
			return err
		}
	}
	return nil
}
