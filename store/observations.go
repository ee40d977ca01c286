package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gapless/analysis"
)

// Observations returns everything that judging a deploy may use: the evidence of
// its window ([analysis.WindowOf]), and what must be known around it. All of it is
// of one moment. An unknown id is [ErrNotFound].
func (db *DB) Observations(ctx context.Context, deployID string) (o analysis.Observations, err error) {
	at := db.Now()
	err = db.view(ctx, func(s *sql.Tx) error {
		o, err = observeDeploy(ctx, s, deployID, at)
		return err
	})
	if err != nil {
		return analysis.Observations{}, fmt.Errorf("read observations of deploy %s: %w", deployID, err)
	}
	return o, nil
}

// ObservationsBetween returns the evidence of a service in [from, to), for a deploy
// or, where deployID is empty, without one.
func (db *DB) ObservationsBetween(ctx context.Context, service string, from, to time.Time, deployID string) (o analysis.Observations, err error) {
	at := db.Now()
	err = db.view(ctx, func(s *sql.Tx) error {
		id, known, err := readService(ctx, s, service)
		if err != nil {
			return err
		}
		d := analysis.Deploy{Service: service}
		if deployID != "" {
			if d, err = readDeploy(ctx, s, deployID); err != nil {
				return err
			}
			if d.Service != service {
				return fmt.Errorf("deploy %s is one of service %s: %w", deployID, d.Service, ErrConflict)
			}
		}
		o, err = observe(ctx, s, id, known, d, from, to)
		return err
	})
	if err != nil {
		return analysis.Observations{}, fmt.Errorf("read observations of %s: %w", service, err)
	}
	o.At = at
	return o, nil
}

// observer reads the evidence of one window. Everything comes in an order that
// depends on the evidence alone, not on when it was stored.
type observer struct {
	ctx        context.Context
	sql        *sql.Tx
	id         int64 // of the service
	from, to   time.Time
	lo, hi     int64 // the same in microseconds
	collectors []collectorSpan
	objects    []objectRow
	o          *analysis.Observations
}

type collectorSpan struct {
	id                        int64
	source                    string
	longestRun, longestObject int64
}

type objectRow struct {
	analysis.Object
	id int64
}

func observe(ctx context.Context, s *sql.Tx, id int64, service analysis.Service, d analysis.Deploy, from, to time.Time) (analysis.Observations, error) {
	o := analysis.Observations{Service: service, Deploy: d, From: from, To: to}
	r := &observer{ctx: ctx, sql: s, id: id, from: from, to: to, lo: ceilMicro(from), hi: ceilMicro(to), o: &o}
	for _, part := range []struct {
		name string
		read func() error
	}{
		{"revision", r.revision}, {"revisions", r.revisions}, {"collectors", r.readCollectors}, {"neighbors", r.neighbors}, {"claims", r.claims}, {"steps", r.steps}, {"group settings", r.groups},
		{"objects", r.readObjects}, {"cells", r.cells}, {"requests", r.requests}, {"known requests", r.known}, {"probes", r.probes},
		{"handled requests", r.handled}, {"states", r.states}, {"health checks", r.checks}, {"metrics", r.metrics},
		{"signals", r.signals}, {"journeys", r.journeys}, {"gauges", r.gauges}, {"runs", r.runs}, {"counts", r.counts},
		{"background", r.background}, {"ejections", r.ejections},
	} {
		if err := part.read(); err != nil {
			return analysis.Observations{}, fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return o, nil
}

// ceilMicro is the first microsecond at or after t.
func ceilMicro(t time.Time) int64 {
	v := t.UnixMicro()
	if fromMicro(v).Before(t) {
		v++
	}
	return v
}

func (r *observer) revision() error {
	var seen int64
	var state analysis.WindowState
	var at time.Time
	err := r.sql.QueryRowContext(r.ctx, `SELECT change FROM service WHERE id = ?`, r.id).Scan(&r.o.Change)
	if err != nil || r.o.Deploy.ID == "" {
		return err
	}
	var touched int64
	err = r.sql.QueryRowContext(r.ctx, `SELECT r.number, r.state, r.at, r.change, d.change FROM revision r JOIN deploy d ON d.id = r.deploy_id
		WHERE r.deploy_id = ? ORDER BY r.number DESC LIMIT 1`, r.o.Deploy.ID).Scan(&r.o.Revision, &state, stamp{&at}, &seen, &touched)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if state == analysis.WindowSealed && touched <= seen {
		r.o.SealedAt = at
	}
	return err
}

func (r *observer) readCollectors() (err error) {
	r.collectors, err = rowsOf(r.ctx, r.sql, func(rows *sql.Rows, c *collectorSpan) error {
		return rows.Scan(&c.id, &c.source, &c.longestRun, &c.longestObject)
	}, `SELECT id, source, longest_run, longest_object FROM collector WHERE service_id = ? ORDER BY source`, r.id)
	return err
}

// perCollector runs a query for every collector, whose id is its first argument,
// and returns all rows in the order of the collectors.
func perCollector[T any](r *observer, query string, scan func(rows *sql.Rows, source string, one *T) error, args func(c collectorSpan) []any) ([]T, error) {
	var all []T
	for _, c := range r.collectors {
		some, err := rowsOf(r.ctx, r.sql, func(rows *sql.Rows, one *T) error { return scan(rows, c.source, one) },
			query, append([]any{c.id}, args(c)...)...)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

func (r *observer) window(collectorSpan) []any { return []any{r.lo, r.hi} }

// around is the window with the reach that single requests are looked at beyond it.
func (r *observer) around(collectorSpan) []any {
	reach := analysis.EdgeReach.Microseconds()
	return []any{r.lo - reach, r.hi + reach}
}

func (r *observer) neighbors() (err error) {
	r.o.Neighbors, err = rowsOf(r.ctx, r.sql, scanDeploy,
		selectDeploy+` WHERE d.service_id = ? AND d.window_from < ? AND d.window_to > ? AND d.id <> ? ORDER BY d.started_at, d.id`,
		r.id, r.hi, r.lo, r.o.Deploy.ID)
	return err
}

func (r *observer) steps() (err error) {
	r.o.Steps, err = rowsOf(r.ctx, r.sql, func(rows *sql.Rows, s *analysis.Step) error {
		return rows.Scan(&s.Deploy, &s.Kind, stamp{&s.At}, &s.Target, &s.Source, &s.Inferred, &s.Clock)
	}, `SELECT deploy, kind, at, target, source, inferred, clock FROM step
		WHERE service_id = ?1 AND (at >= ?2 AND at < ?3 OR deploy = ?4 AND deploy <> '') ORDER BY at, kind, target, source, deploy`,
		r.id, r.lo, r.hi, r.o.Deploy.ID)
	return err
}

// groups reads the settings that held at the window's start and every change in it;
// where nothing is known from before its end, the first that were seen after it.
func (r *observer) groups() (err error) {
	r.o.Groups, err = rowsOf(r.ctx, r.sql, func(rows *sql.Rows, g *analysis.GroupSettings) error { return rows.Scan(groupColumns(g)...) },
		selectGroups+` AS g WHERE service_id = ?1 AND at < ?3 AND at >= coalesce(
			(SELECT max(at) FROM group_settings b WHERE b.service_id = ?1 AND b.load_balancer = g.load_balancer AND b.target_group = g.target_group AND b.at <= ?2), ?2)
		OR service_id = ?1 AND at = (SELECT min(at) FROM group_settings b
			WHERE b.service_id = ?1 AND b.load_balancer = g.load_balancer AND b.target_group = g.target_group)
			AND at >= ?3
		ORDER BY at, load_balancer, target_group`, r.id, r.lo, r.hi)
	return err
}

// readObjects reads the objects whose period meets the window or whose rows span it,
// and those that may, since they were not read to their end.
func (r *observer) readObjects() (err error) {
	const columns = `SELECT id, key, node, from_at, to_at, lines, understood, set_aside, requestless, unmatched, partial, error, arrived_at FROM object`
	r.objects, err = perCollector(r, columns+`
		WHERE collector_id = ?1 AND low BETWEEN ?2 - ?4 AND ?3 - 1 AND high >= ?2
			AND (coalesce(from_at, to_at) < ?3 AND to_at > ?2 OR rows_from < ?3 AND rows_to >= ?2)
			AND (to_at IS NOT NULL OR partial = 0 AND error = '')
		UNION ALL `+columns+`
		WHERE collector_id = ?1 AND to_at IS NULL AND (partial = 1 OR error <> '') AND coalesce(low, ?3 - 1) < ?3
		ORDER BY key`,
		func(rows *sql.Rows, source string, o *objectRow) error {
			o.Source = source
			return rows.Scan(&o.id, &o.Key, &o.Node, stamp{&o.From}, stamp{&o.To}, &o.Lines, &o.Understood, &o.SetAside, &o.Requestless, &o.Unmatched, &o.Partial, &o.Error, stamp{&o.Arrived})
		},
		func(c collectorSpan) []any { return []any{r.lo, r.hi, c.longestObject} })
	for _, o := range r.objects {
		r.o.Objects = append(r.o.Objects, o.Object)
	}
	return err
}

// cellRow is one packed row, with its object's place among the objects.
type cellRow struct {
	bucket int64
	object int
	data   []byte
}

func (r *observer) cells() error {
	place := make(map[int64]int, len(r.objects))
	for i, o := range r.objects {
		place[o.id] = i
	}
	rows, err := r.sql.QueryContext(r.ctx, `SELECT bucket, object_id, data FROM cells WHERE service_id = ? AND bucket BETWEEN ? AND ?`,
		r.id, bucketOf(r.from.Unix()), bucketOf(r.to.Unix()))
	if err != nil {
		return err
	}
	defer rows.Close()
	var packed []cellRow
	cells := 0
	for rows.Next() {
		var row cellRow
		var object int64
		if err := rows.Scan(&row.bucket, &object, &row.data); err != nil {
			return err
		}
		i, ok := place[object]
		if !ok { // its rows in these ten seconds lie outside of the window
			continue
		}
		row.object = i
		cells += packedCount(row.data)
		packed = append(packed, row)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	slices.SortFunc(packed, func(a, b cellRow) int {
		return cmp.Or(cmp.Compare(a.bucket, b.bucket), cmp.Compare(a.object, b.object))
	})
	u := newUnpacker(r.from, r.to, cells)
	for _, row := range packed {
		if err := u.add(r.objects[row.object].Source, row.bucket, row.data); err != nil {
			return fmt.Errorf("object %s, %s: %w", r.objects[row.object].Key, seconds(row.bucket*bucketSeconds).Format(time.RFC3339), err)
		}
	}
	r.o.Cells, r.o.Latencies = u.cells, u.latencies
	return nil
}

func (r *observer) requests() error {
	sources := make(map[int64]*objectRow, len(r.objects))
	for i := range r.objects {
		sources[r.objects[i].id] = &r.objects[i]
	}
	all, err := rowsOf(r.ctx, r.sql, func(rows *sql.Rows, q *analysis.Request) error {
		var object int64
		err := rows.Scan(&object, &q.Line, &q.Second, stamp{&q.Start}, stamp{&q.End}, duration{&q.Duration}, &q.Node, &q.TargetGroup, &q.Target,
			&q.Class, &q.Outcome, &q.Route, &q.Status, &q.TargetStatus, &q.Method, &q.URL, &q.Client, &q.UserAgent, &q.ProbeRun, &q.ProbeSeq,
			&q.Connected, &q.WebSocket, optionalDuration{&q.Before}, optionalDuration{&q.TargetTook}, &q.ErrorReason, &q.Attempts, nameList{&q.FailedOn})
		if o := sources[object]; o != nil {
			q.Source, q.Object = o.Source, o.Key
		}
		return err
	}, `SELECT object_id, line, second, start_at, end_at, duration, node, target_group, target, class, outcome, route, status, target_status, method,
		url, client, user_agent, probe_run, probe_seq, connected, websocket, before_target, target_took, error_reason, attempts, failed_on
		FROM request WHERE service_id = ? AND at >= ? AND at < ?`, append([]any{r.id}, r.around(collectorSpan{})...)...)
	// Beyond the window, an object that has nothing inside it is of no interest.
	all = slices.DeleteFunc(all, func(q analysis.Request) bool { return q.Source == "" })
	slices.SortFunc(all, func(a, b analysis.Request) int {
		return cmp.Or(a.End.Compare(b.End), strings.Compare(a.Source, b.Source), strings.Compare(a.Object, b.Object), cmp.Compare(a.Line, b.Line))
	})
	r.o.Requests = all
	return err
}

func (r *observer) known() error {
	var all []analysis.KnownRequests
	for _, o := range r.objects {
		some, err := rowsOf(r.ctx, r.sql, func(rows *sql.Rows, k *analysis.KnownRequests) error {
			k.Source = o.Source
			var packed []byte
			if err := rows.Scan(&k.Node, &k.Run, &packed); err != nil {
				return err
			}
			seqs, err := unpackSeqs(packed)
			k.Seqs = seqs
			return err
		}, `SELECT node, run, seqs FROM known WHERE object_id = ?`, o.id)
		if err != nil {
			return fmt.Errorf("object %s: %w", o.Key, err)
		}
		all = append(all, some...)
	}
	r.o.Known = mergeKnown(all)
	return nil
}

func (r *observer) probes() (err error) {
	r.o.Probes, err = perCollector(r, `SELECT probe, class, run, seq, sent_at, done_at, status, outcome, target, error, out_of_service FROM probe
		WHERE collector_id = ? AND sent_at >= ? AND sent_at < ? ORDER BY sent_at, run, seq`,
		func(rows *sql.Rows, source string, p *analysis.ProbeRequest) error {
			p.Source = source
			return rows.Scan(&p.Probe, &p.Class, &p.Run, &p.Seq, stamp{&p.Sent}, stamp{&p.Done}, &p.Status, &p.Outcome, &p.Target, &p.Error, &p.OutOfService)
		}, r.around)
	return err
}

func (r *observer) handled() (err error) {
	r.o.Handled, err = perCollector(r, `SELECT target, run, seq, at, status, begun FROM handled
		WHERE collector_id = ? AND at >= ? AND at < ? ORDER BY at, target, run, seq, begun, status`,
		func(rows *sql.Rows, source string, h *analysis.HandledRequest) error {
			h.Source = source
			return rows.Scan(&h.Target, &h.Run, &h.Seq, stamp{&h.At}, &h.Status, &h.Begun)
		}, r.around)
	return err
}

// states reads the samples of the window, each target's last one before it first.
func (r *observer) states() (err error) {
	r.o.States, err = perCollector(r, `SELECT s.target_group, s.target, v.at, v.state, v.reason FROM state_series s JOIN state v ON v.series_id = s.id
		WHERE s.collector_id = ?1 AND v.at < ?3 AND v.at >= coalesce((SELECT max(at) FROM state WHERE series_id = s.id AND at < ?2), ?2)
		ORDER BY v.at, s.target_group, s.target`,
		func(rows *sql.Rows, source string, v *analysis.StateSample) error {
			v.Source = source
			return rows.Scan(&v.TargetGroup, &v.Target, stamp{&v.At}, &v.State, &v.Reason)
		}, r.window)
	return err
}

// runs reads the runs whose span meets the window; one of a single moment counts.
func (r *observer) runs() (err error) {
	r.o.Runs, err = perCollector(r, `SELECT kind, from_at, to_at, at, rows, code, error FROM run
		WHERE collector_id = ?1 AND from_at BETWEEN ?2 - ?4 AND ?3 - 1 AND (to_at > ?2 OR from_at = to_at AND to_at = ?2) ORDER BY at, from_at, to_at`,
		func(rows *sql.Rows, source string, run *analysis.Run) error {
			run.Source = source
			return rows.Scan(&run.Kind, stamp{&run.From}, stamp{&run.To}, stamp{&run.At}, &run.Rows, &run.Code, &run.Error)
		},
		func(c collectorSpan) []any { return []any{r.lo, r.hi, c.longestRun} })
	return err
}
