package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"gapless/analysis"
)

// jobEvents are the events of scheduled jobs, as the index signal_job names them.
const jobEvents = `'` + string(analysis.EventJobBegan) + `', '` + string(analysis.EventJobEnded) + `', '` + string(analysis.EventJobSkipped) + `'`

// addSignals stores events that log rules found. One is known by everything in it;
// lines that agree in all of it are numbered, so that none is lost: within the read,
// so that the same lines read again change nothing, or with more set on from what is
// stored, since then the read is a new stretch of the log.
func (t *tx) addSignals(collector int64, source string, signals []analysis.Signal, more bool) error {
	type row struct {
		at                                        int64
		target, rule, event, name, key, out, data string
	}
	seen := map[row]int{}
	stored, err := t.latest("signal", collector, more)
	if err != nil {
		return err
	}
	insert := t.insert("signal", "collector_id", "at", "target", "rule", "event", "name", "key", "outcome", "data", "nth")
	var times, jobs hull
	for i := range signals {
		s := &signals[i]
		if s.Source != source {
			return fmt.Errorf("a signal of source %q in a read of %q", s.Source, source)
		}
		if s.At.IsZero() {
			return fmt.Errorf("signal %s of rule %s: it has no time", s.Event, s.Rule)
		}
		data := packValues(s.Values)
		of := row{s.At.UnixMicro(), s.Target, s.Rule, string(s.Event), s.Name, s.Key, string(s.Outcome), string(data)}
		n, counted := seen[of]
		if !counted && of.at <= stored {
			const equal = `SELECT coalesce(max(nth) + 1, 0) FROM signal WHERE collector_id = ? AND at = ? AND target = ? AND rule = ?
				AND event = ? AND name = ? AND key = ? AND outcome = ? AND data = ?`
			if err := t.get(equal, []any{collector, of.at, of.target, of.rule, of.event, of.name, of.key, of.out, data}, &n); err != nil {
				return err
			}
		}
		if err := insert.add(collector, of.at, of.target, of.rule, of.event, of.name, of.key, of.out, data, n); err != nil {
			return err
		}
		seen[of] = n + 1
		times.add(s.At)
		if s.Event.OfJob() {
			jobs.add(s.At)
		}
	}
	if err := insert.flush(); err != nil || insert.stored == 0 {
		return err
	}
	t.touch(times.from.Add(-analysis.EdgeReach), times.to.Add(analysis.EdgeReach))
	if reach := t.service.JobReach(); !jobs.empty() {
		t.touch(jobs.from, jobs.to.Add(reach))
	}
	return t.reaches(collector, times.to)
}

// AddJourneys stores attempts at steps of journeys that a file of records holds, the
// position after them, and the run, all or nothing. The rules are those of
// [DB.AddAppBatch]: the same records again change nothing, and what began elsewhere
// than where the file had been read to is [analysis.ErrMoved]. A nil position keeps
// none.
func (db *DB) AddJourneys(ctx context.Context, service string, run analysis.Run, file string, before, position []byte, steps []analysis.JourneyStep) error {
	err := db.write(ctx, service, func(t *tx) error {
		id, err := t.source(run.Source, run.Kind)
		if err != nil {
			return err
		}
		if _, err := t.move(id, file, before, position); err != nil {
			return err
		}
		// A file of records is read from its start as often as somebody asks.
		if err := t.addJourneys(id, run.Source, steps, false); err != nil {
			return err
		}
		return t.addRun(id, run)
	})
	if err != nil {
		return fmt.Errorf("add journeys of %s: %w", run.Source, err)
	}
	return nil
}

// latest is the time of a source's last row that equal ones may be stored of, in
// microseconds; with more unset none counts.
func (t *tx) latest(table string, collector int64, more bool) (at int64, err error) {
	if !more {
		return math.MinInt64, nil
	}
	err = t.get(`SELECT coalesce(max(at), -9223372036854775808) FROM `+table+` WHERE collector_id = ?`, []any{collector}, &at)
	return at, err
}

func (t *tx) addJourneys(collector int64, source string, steps []analysis.JourneyStep, more bool) error {
	seen := map[analysis.JourneyStep]int{}
	stored, err := t.latest("journey_step", collector, more)
	if err != nil {
		return err
	}
	insert := t.insert("journey_step", "collector_id", "at", "journey", "key", "step", "outcome", "target", "nth")
	var times hull
	for _, s := range steps {
		if s.Source != source {
			return fmt.Errorf("a journey step of source %q in a read of %q", s.Source, source)
		}
		if s.At.IsZero() {
			return fmt.Errorf("step %s of journey %s %s: it has no time", s.Step, s.Journey, s.Key)
		}
		s.At = fromMicro(s.At.UnixMicro())
		n, counted := seen[s]
		if !counted && s.At.UnixMicro() <= stored {
			const equal = `SELECT coalesce(max(nth) + 1, 0) FROM journey_step WHERE collector_id = ? AND at = ? AND journey = ? AND key = ?
				AND step = ? AND outcome = ? AND target = ?`
			if err := t.get(equal, []any{collector, s.At.UnixMicro(), s.Journey, s.Key, s.Step, string(s.Outcome), s.Target}, &n); err != nil {
				return err
			}
		}
		if err := insert.add(collector, s.At.UnixMicro(), s.Journey, s.Key, s.Step, string(s.Outcome), s.Target, n); err != nil {
			return err
		}
		seen[s] = n + 1
		times.add(s.At)
	}
	if err := insert.flush(); err != nil || insert.stored == 0 {
		return err
	}
	reach := t.service.JourneyReach() // a window is judged with what came later of the journeys that began in it
	t.touch(times.from.Add(-reach), times.to.Add(reach))
	return t.reaches(collector, times.to)
}

// AddGauges stores what one run of scrapes read of targets, and the run. A value is
// known by source, target, metric and time. One that is not a finite number is an
// error: that a target tells none is for its collector to leave out, or to report.
func (db *DB) AddGauges(ctx context.Context, service string, run analysis.Run, gauges []analysis.Gauge) error {
	err := db.write(ctx, service, func(t *tx) error {
		id, err := t.source(run.Source, run.Kind)
		if err != nil {
			return err
		}
		if err := t.addGauges(id, run.Source, gauges); err != nil {
			return err
		}
		return t.addRun(id, run)
	})
	if err != nil {
		return fmt.Errorf("add gauges of %s: %w", run.Source, err)
	}
	return nil
}

func (t *tx) addGauges(collector int64, source string, gauges []analysis.Gauge) error {
	insert := t.insert("gauge", "collector_id", "at", "target", "metric", "value")
	var times hull
	for _, g := range gauges {
		switch {
		case g.Source != source:
			return fmt.Errorf("a gauge of source %q in a run of %q", g.Source, source)
		case g.At.IsZero():
			return fmt.Errorf("gauge %s of %s: it has no time", g.Metric, g.Target)
		case math.IsNaN(g.Value) || math.IsInf(g.Value, 0):
			return fmt.Errorf("gauge %s of %s: %v is not a finite number", g.Metric, g.Target, g.Value)
		}
		if err := insert.add(collector, g.At.UnixMicro(), g.Target, g.Metric, g.Value); err != nil {
			return err
		}
		times.add(g.At)
	}
	if err := insert.flush(); err != nil || insert.stored == 0 {
		return err
	}
	return t.evidence(collector, times.from, times.to)
}

// signals reads those of the window and a little around it, and those of scheduled
// jobs as far before it as their periods ask for.
func (r *observer) signals() (err error) {
	const columns = `SELECT at, target, rule, event, name, key, outcome, data, nth FROM signal WHERE collector_id = ?1 AND at >= `
	reach, jobs := analysis.EdgeReach.Microseconds(), r.o.Service.JobReach().Microseconds()
	r.o.Signals, err = perCollector(r, columns+`?2 AND at < ?3 UNION ALL `+columns+`?4 AND at < ?2 AND event IN (`+jobEvents+`)
		ORDER BY at, target, rule, event, name, key, outcome, data, nth`,
		func(rows *sql.Rows, source string, s *analysis.Signal) error {
			s.Source = source
			var data []byte
			var nth int
			if err := rows.Scan(stamp{&s.At}, &s.Target, &s.Rule, &s.Event, &s.Name, &s.Key, &s.Outcome, &data, &nth); err != nil {
				return err
			}
			var err error
			s.Values, err = unpackValues(data)
			return err
		}, func(collectorSpan) []any { return []any{r.lo - reach, r.hi + reach, r.lo - max(reach, jobs)} })
	return err
}

// journeys reads as far around the window as a journey may take: one that goes on in
// the window may have begun before it, and one that began in it may end after it.
func (r *observer) journeys() (err error) {
	reach := r.o.Service.JourneyReach().Microseconds()
	r.o.Journeys, err = perCollector(r, `SELECT at, journey, key, step, outcome, target FROM journey_step
		WHERE collector_id = ?1 AND at >= ?2 AND at < ?3 ORDER BY at, journey, key, step, outcome, target, nth`,
		func(rows *sql.Rows, source string, s *analysis.JourneyStep) error {
			s.Source = source
			return rows.Scan(stamp{&s.At}, &s.Journey, &s.Key, &s.Step, &s.Outcome, &s.Target)
		}, func(collectorSpan) []any { return []any{r.lo - reach, r.hi + reach} })
	return err
}

func (r *observer) gauges() (err error) {
	r.o.Gauges, err = perCollector(r, `SELECT at, target, metric, value FROM gauge
		WHERE collector_id = ?1 AND at >= ?2 AND at < ?3 ORDER BY at, target, metric`,
		func(rows *sql.Rows, source string, g *analysis.Gauge) error {
			g.Source = source
			return rows.Scan(stamp{&g.At}, &g.Target, &g.Metric, &g.Value)
		}, r.window)
	return err
}

// packValues writes a signal's values in the order of their names: length and bytes
// of each name and each value. A log line may hold any bytes, which JSON cannot.
func packValues(values map[string]string) []byte {
	b := []byte{} // none is not NULL
	for _, name := range slices.Sorted(maps.Keys(values)) {
		for _, s := range []string{name, values[name]} {
			b = binary.AppendUvarint(b, uint64(len(s)))
			b = append(b, s...)
		}
	}
	return b
}

var errValues = errors.New("values of a signal: cut short or not such values")

// unpackValues is the reverse; nil where there are none.
func unpackValues(b []byte) (map[string]string, error) {
	if len(b) == 0 {
		return nil, nil
	}
	values := map[string]string{}
	for len(b) > 0 {
		var pair [2]string
		for i := range pair {
			size, n := binary.Uvarint(b)
			if n <= 0 || size > uint64(len(b)-n) {
				return nil, errValues
			}
			pair[i] = string(b[n : n+int(size)])
			b = b[n+int(size):]
		}
		values[pair[0]] = pair[1]
	}
	return values, nil
}
