package store

import (
	"database/sql"
	"fmt"
	"slices"

	"gapless/analysis"
)

func (t *tx) addChecks(object int64, source string, checks []analysis.HealthCheckResult) error {
	insert := t.insert("health_check", "service_id", "at", "object_id", "place", "node", "target_group", "target", "latency", "pass", "status", "reason")
	for i := range checks {
		c := &checks[i]
		if c.Source != source {
			return fmt.Errorf("a health check of source %q in an object of %q", c.Source, source)
		}
		err := insert.add(t.id, c.At.UnixMicro(), object, i, c.Node, c.TargetGroup, c.Target, c.Latency.Microseconds(), c.Pass, c.Status, c.Reason)
		if err != nil {
			return err
		}
	}
	return insert.flush()
}

// checks reads the health checks of the window and of the time before it that tells
// who was in rotation at its start. A check that two objects hold counts once.
func (r *observer) checks() error {
	all, err := rowsOf(r.ctx, r.sql, func(rows *sql.Rows, c *analysis.HealthCheckResult) error {
		return rows.Scan(&c.Source, &c.Node, &c.TargetGroup, &c.Target, stamp{&c.At}, duration{&c.Latency}, &c.Pass, &c.Status, &c.Reason)
	}, `SELECT k.source, h.node, h.target_group, h.target, h.at, h.latency, h.pass, h.status, h.reason
		FROM health_check h JOIN object o ON o.id = h.object_id JOIN collector k ON k.id = o.collector_id
		WHERE h.service_id = ? AND h.at >= ? AND h.at < ? ORDER BY h.at, k.source, h.node, h.target_group, h.target, h.pass, h.latency`,
		r.id, r.lo-analysis.CheckReach.Microseconds(), r.hi)
	r.o.Checks = slices.Compact(all)
	return err
}
