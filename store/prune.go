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
			gaps, err := t.gaps(before, pruneMargin)
			if err != nil {
				return err
			}
			wide, err := t.gaps(before, pruneMargin+t.service.JobReach()+t.service.JourneyReach())
			if err != nil {
				return err
			}
			for _, gap := range gaps {
				if err := t.sumServed(gap); err != nil {
					return err
				}
			}
			far, err := t.gaps(before, pruneMargin+analysis.BackgroundReach)
			if err != nil {
				return err
			}
			return t.deleteIn(gaps, wide, far)
		})
		if err != nil {
			return fmt.Errorf("prune service %s: %w", service.Name, err)
		}
	}
	return nil
}

// gaps are the stretches of time before a moment that are further than a margin from
// every window: half-open, in microseconds, and whole rows of cells.
func (t *tx) gaps(before time.Time, around time.Duration) (gaps []span, err error) {
	windows, err := rowsOf(t.ctx, t.sql, func(rows *sql.Rows, s *span) error { return rows.Scan(&s.from, &s.to) },
		`SELECT window_from, window_to FROM deploy WHERE service_id = ? ORDER BY window_from`, t.id)
	if err != nil {
		return nil, err
	}
	end, margin := before.UnixMicro(), around.Microseconds()
	start := int64(0)
	for _, w := range append(windows, span{end + margin, end + margin}) {
		from, to := (start+bucketMicros-1)/bucketMicros*bucketMicros, min(w.from-margin, end)/bucketMicros*bucketMicros
		if from < to {
			gaps = append(gaps, span{from, to})
		}
		start = max(start, w.to+margin)
	}
	return gaps, nil
}

// sumServed adds the cells of a gap to the record of days, but for those of which it
// was done before: an object may be read again after it was pruned.
func (t *tx) sumServed(gap span) error {
	summed := summedBuckets{}
	rows, err := t.sql.QueryContext(t.ctx, `SELECT c.bucket, k.id, k.source, o.node, c.data FROM cells c
		JOIN object o ON o.id = c.object_id JOIN collector k ON k.id = o.collector_id
		WHERE c.service_id = ? AND c.bucket >= ? AND c.bucket < ?`, t.id, gap.from/bucketMicros, gap.to/bucketMicros)
	if err != nil {
		return err
	}
	defer rows.Close()
	days := map[ServedDay]*ServedDay{} // by itself without counts
	for rows.Next() {
		var bucket, collector int64
		var source, node string
		var data []byte
		if err := rows.Scan(&bucket, &collector, &source, &node, &data); err != nil {
			return err
		}
		isNew, err := summed.add(t, collector, node, bucket)
		if err != nil {
			return err
		}
		if !isNew {
			continue
		}
		u := newUnpacker(seconds(bucket*bucketSeconds), seconds((bucket+1)*bucketSeconds), 0)
		if err := u.add(source, bucket, data); err != nil {
			return err
		}
		for i := range u.cells {
			countServed(days, &u.cells[i])
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, d := range days {
		_, err := t.exec(`INSERT INTO served_day (service_id, day, source, target_group, target, class, requests, failures) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET requests = requests + excluded.requests, failures = failures + excluded.failures`,
			t.id, d.Day.Unix()/daySeconds, d.Source, d.TargetGroup, d.Target, string(d.Class), d.Requests, d.Failures)
		if err != nil {
			return err
		}
	}
	return summed.store(t)
}

func countServed(days map[ServedDay]*ServedDay, c *analysis.Cell) {
	key := ServedDay{Day: seconds(c.Second - c.Second%daySeconds), Source: c.Source, TargetGroup: c.TargetGroup, Target: c.Target, Class: c.Class}
	sum := days[key]
	if sum == nil {
		day := key
		sum = &day
		days[key] = sum
	}
	sum.Requests += c.Count
	if c.Outcome.Failure() {
		sum.Failures += c.Count
	}
}

// deleteIn deletes what lies in the gaps, by index: most of the file is to stay. Of
// jobs and journeys, which are looked at further around a window, that is what lies
// in the wide ones; of the background, in those that no window looks back to.
func (t *tx) deleteIn(gaps, wide, far []span) error {
	ids := func(query string) ([]int64, error) {
		return rowsOf(t.ctx, t.sql, func(rows *sql.Rows, id *int64) error { return rows.Scan(id) }, query, t.id)
	}
	collectors, err := ids(`SELECT id FROM collector WHERE service_id = ?`)
	if err != nil {
		return err
	}
	series, err := ids(`SELECT s.id FROM state_series s JOIN collector c ON c.id = s.collector_id WHERE c.service_id = ?`)
	if err != nil {
		return err
	}
	for _, part := range []struct {
		of    []int64
		query string
		in    []span
	}{
		{[]int64{t.id}, `DELETE FROM request WHERE service_id = ?1 AND at >= ?2 AND at < ?3`, gaps},
		{[]int64{t.id}, `DELETE FROM marker WHERE service_id = ?1 AND at >= ?2 AND at < ?3`, gaps},
		{[]int64{t.id}, `DELETE FROM health_check WHERE service_id = ?1 AND at >= ?2 AND at < ?3`, gaps},
		{[]int64{t.id}, `DELETE FROM step WHERE service_id = ?1 AND at >= ?2 AND at < ?3 AND deploy = ''`, gaps},
		{collectors, `DELETE FROM object WHERE collector_id = ?1 AND low >= ?2 AND low < ?3 AND high < ?3`, gaps}, // its rows go with it
		{collectors, `DELETE FROM object WHERE collector_id = ?1 AND to_at IS NULL AND low IS NULL AND stored_at >= ?2 AND stored_at < ?3`, gaps},
		{collectors, `DELETE FROM probe WHERE collector_id = ?1 AND sent_at >= ?2 AND sent_at < ?3`, gaps},
		{collectors, `DELETE FROM metric WHERE collector_id = ?1 AND at >= ?2 AND at < ?3`, gaps},
		{collectors, `DELETE FROM handled WHERE collector_id = ?1 AND at >= ?2 AND at < ?3`, gaps},
		{collectors, `DELETE FROM rule_count WHERE collector_id = ?1 AND minute >= ?2 AND minute < ?3`, gaps},
		{collectors, `DELETE FROM run WHERE collector_id = ?1 AND from_at >= ?2 AND from_at < ?3 AND to_at < ?3`, gaps},
		{collectors, `DELETE FROM signal WHERE collector_id = ?1 AND at >= ?2 AND at < ?3 AND event NOT IN (` + jobEvents + `)`, gaps},
		{collectors, `DELETE FROM signal WHERE collector_id = ?1 AND at >= ?2 AND at < ?3 AND event IN (` + jobEvents + `)`, wide},
		{collectors, `DELETE FROM journey_step WHERE collector_id = ?1 AND at >= ?2 AND at < ?3`, wide},
		{collectors, `DELETE FROM gauge WHERE collector_id = ?1 AND at >= ?2 AND at < ?3`, gaps},
		{series, `DELETE FROM state WHERE series_id = ?1 AND at >= ?2 AND at < ?3`, gaps},
	} {
		for _, id := range part.of {
			for _, gap := range part.in {
				if _, err := t.exec(part.query, id, gap.from, gap.to); err != nil {
					return err
				}
			}
		}
	}
	for _, id := range collectors {
		for _, gap := range far {
			_, err := t.exec(`DELETE FROM background WHERE collector_id = ? AND span >= ? AND span < ?`, id, gap.from/spanMicros, gap.to/spanMicros)
			if err != nil {
				return err
			}
		}
	}
	for _, gap := range gaps {
		_, err := t.exec(`DELETE FROM cells WHERE service_id = ? AND bucket >= ? AND bucket < ?`, t.id, gap.from/bucketMicros, gap.to/bucketMicros)
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
