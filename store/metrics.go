package store

import (
	"context"
	"database/sql"
	"fmt"

	"gapless/analysis"
)

// AddMetrics stores what one run read of the load balancer's own counts, and the
// run. Sums that had not settled when they were read before are replaced.
func (db *DB) AddMetrics(ctx context.Context, service string, run analysis.Run, sums []analysis.MetricSum) error {
	err := db.write(ctx, service, func(t *tx) error {
		id, err := t.source(run.Source, run.Kind)
		if err != nil {
			return err
		}
		if err := t.addMetrics(id, run.Source, sums); err != nil {
			return err
		}
		return t.addRun(id, run)
	})
	if err != nil {
		return fmt.Errorf("add metrics of %s: %w", run.Source, err)
	}
	return nil
}

func (t *tx) addMetrics(collector int64, source string, sums []analysis.MetricSum) error {
	var times hull
	for _, m := range sums {
		if m.Source != source {
			return fmt.Errorf("a metric of source %q in a run of %q", m.Source, source)
		}
		changed, err := t.execOne(`INSERT INTO metric (collector_id, metric, at, period, sum) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET sum = excluded.sum WHERE sum <> excluded.sum`,
			collector, m.Metric, m.At.UnixMicro(), m.Period.Microseconds(), m.Sum)
		if err != nil {
			return err
		}
		if changed {
			times.add(m.At, m.At.Add(m.Period))
		}
	}
	if times.empty() {
		return nil
	}
	return t.evidence(collector, times.from, times.to)
}

// metrics reads the periods that meet the window.
func (r *observer) metrics() (err error) {
	r.o.Metrics, err = perCollector(r, `SELECT metric, at, period, sum FROM metric
		WHERE collector_id = ?1 AND at < ?3 AND at + period > ?2 ORDER BY at, metric, period`,
		func(rows *sql.Rows, source string, m *analysis.MetricSum) error {
			m.Source = source
			return rows.Scan(&m.Metric, stamp{&m.At}, duration{&m.Period}, &m.Sum)
		}, r.window)
	return err
}
