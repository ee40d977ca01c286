package store

import (
	"cmp"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"gapless/analysis"
)

const (
	spanSeconds = int64(analysis.BackgroundSpan / time.Second)
	spanMicros  = spanSeconds * 1_000_000
)

// sums counts requests by their span (in CellKey.Second) and kind. Of a class as a
// whole the outcome is empty.
type sums map[analysis.CellKey]int

// add counts n requests that began in a second.
func (s sums) add(second int64, class analysis.Class, outcome analysis.Outcome, route string, status, n int) {
	span := second - (second%spanSeconds+spanSeconds)%spanSeconds
	s[analysis.CellKey{Second: span, Class: class}] += n
	if outcome.Failure() {
		s[analysis.CellKey{Second: span, Class: class, Outcome: outcome, Route: route, Status: status}] += n
	}
}

func sumCells(cells []analysis.Cell) sums {
	s := sums{}
	for i := range cells {
		c := &cells[i]
		s.add(c.Second, c.Class, c.Outcome, c.Route, c.Status, c.Count)
	}
	return s
}

// addBackground adds sums to those of a source, or takes them away (sign −1).
func (t *tx) addBackground(collector int64, s sums, sign int) error {
	spans := map[int64]sums{}
	for key, n := range s {
		if spans[key.Second] == nil {
			spans[key.Second] = sums{}
		}
		spans[key.Second][key] = n
	}
	for _, start := range slices.Sorted(maps.Keys(spans)) {
		var data []byte
		err := t.get(`SELECT data FROM background WHERE collector_id = ? AND span = ?`, []any{collector, start / spanSeconds}, &data)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		all := sums{}
		if err == nil {
			if all, err = unpackSums(start, data); err != nil {
				return err
			}
		}
		for key, n := range spans[start] {
			all[key] += sign * n
		}
		if err := t.putBackground(collector, start, all); err != nil {
			return err
		}
	}
	return nil
}

// putBackground replaces the sums of one span.
func (t *tx) putBackground(collector, start int64, all sums) error {
	cells := make([]analysis.Cell, 0, len(all))
	for key, n := range all {
		if n > 0 {
			cells = append(cells, analysis.Cell{CellKey: key, Count: n})
		}
	}
	packed, err := packCells("", cells, nil)
	switch {
	case err != nil:
		return err
	case len(packed) == 0:
		_, err = t.exec(`DELETE FROM background WHERE collector_id = ? AND span = ?`, collector, start/spanSeconds)
	default:
		_, err = t.exec(`INSERT INTO background (collector_id, span, data) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET data = excluded.data`,
			collector, start/spanSeconds, packed[0].data)
	}
	return err
}

func unpackSums(start int64, data []byte) (sums, error) {
	u := newUnpacker(seconds(start), seconds(start+bucketSeconds), packedCount(data))
	if err := u.add("", start/bucketSeconds, data); err != nil {
		return nil, err
	}
	s := sums{}
	for i := range u.cells {
		s[u.cells[i].CellKey] = u.cells[i].Count
	}
	return s, nil
}

// forgetBackground takes away what an object brought, before another reading of it.
func (t *tx) forgetBackground(collector int64, source string, object int64) error {
	s := sums{}
	rows, err := t.sql.QueryContext(t.ctx, `SELECT bucket, data FROM cells WHERE object_id = ?`, object)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var bucket int64
		var data []byte
		if err := rows.Scan(&bucket, &data); err != nil {
			return err
		}
		u := newUnpacker(seconds(bucket*bucketSeconds), seconds((bucket+1)*bucketSeconds), 0)
		if err := u.add(source, bucket, data); err != nil {
			return err
		}
		for key, n := range sumCells(u.cells) {
			s[key] += n
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	return t.addBackground(collector, s, -1)
}

// addProbeBackground sums up our own requests: those at hand where all of them were
// new, else the spans that they touch are counted again.
func (t *tx) addProbeBackground(collector int64, requests []analysis.ProbeRequest, stored int) error {
	s := sums{}
	for i := range requests {
		p := &requests[i]
		s.add(p.Sent.Unix(), p.Class, p.Outcome, p.Probe, p.Status, 1)
	}
	if stored == len(requests) {
		return t.addBackground(collector, s, 1)
	}
	touched := map[int64]bool{}
	for key := range s {
		touched[key.Second] = true
	}
	for _, start := range slices.Sorted(maps.Keys(touched)) {
		again := sums{}
		_, err := rowsOf(t.ctx, t.sql, func(rows *sql.Rows, p *analysis.ProbeRequest) error {
			var n int
			if err := rows.Scan(&p.Class, &p.Outcome, &p.Probe, &p.Status, &n); err != nil {
				return err
			}
			again.add(start, p.Class, p.Outcome, p.Probe, p.Status, n)
			return nil
		}, `SELECT class, outcome, probe, status, count(*) FROM probe WHERE collector_id = ? AND sent_at >= ? AND sent_at < ? GROUP BY class, outcome, probe, status`,
			collector, start*1_000_000, (start+spanSeconds)*1_000_000)
		if err != nil {
			return err
		}
		if err := t.putBackground(collector, start, again); err != nil {
			return err
		}
	}
	return nil
}

// background reads what went on before the window in spans that no window meets.
func (r *observer) background() error {
	low, high := r.lo-analysis.BackgroundReach.Microseconds(), r.lo
	windows, err := rowsOf(r.ctx, r.sql, func(rows *sql.Rows, s *span) error { return rows.Scan(&s.from, &s.to) },
		`SELECT window_from, window_to FROM deploy WHERE service_id = ? AND window_from < ? AND window_to > ?`, r.id, high, low)
	if err != nil {
		return err
	}
	free := func(start int64) bool {
		from, to := start*1_000_000, (start+spanSeconds)*1_000_000
		return from >= low && to <= high && !slices.ContainsFunc(windows, func(w span) bool { return from < w.to && w.from < to })
	}
	for _, c := range r.collectors {
		perSpan := map[analysis.CellKey][]int{}
		of := 0
		_, err := rowsOf(r.ctx, r.sql, func(rows *sql.Rows, _ *struct{}) error {
			var number int64
			var data []byte
			if err := rows.Scan(&number, &data); err != nil {
				return err
			}
			start := number * spanSeconds
			if !free(start) {
				return nil
			}
			all, err := unpackSums(start, data)
			if err != nil {
				return err
			}
			of++
			for key, n := range all {
				key.Second = 0
				perSpan[key] = append(perSpan[key], n)
			}
			return nil
		}, `SELECT span, data FROM background WHERE collector_id = ? AND span >= ? AND span < ? ORDER BY span`, c.id, low/spanMicros, (high+spanMicros-1)/spanMicros)
		if err != nil {
			return err
		}
		var counts []analysis.BackgroundCount
		for key, each := range perSpan {
			slices.Sort(each)
			count := analysis.BackgroundCount{Source: c.source, Class: key.Class, Outcome: key.Outcome, Status: key.Status, Route: key.Route,
				Spans: len(each), Typical: each[len(each)/2], Of: of}
			for _, n := range each {
				count.Count += n
			}
			counts = append(counts, count)
		}
		slices.SortFunc(counts, func(x, y analysis.BackgroundCount) int {
			return cmp.Or(cmp.Compare(x.Class, y.Class), cmp.Compare(x.Outcome, y.Outcome), cmp.Compare(x.Status, y.Status), strings.Compare(x.Route, y.Route))
		})
		r.o.Background = append(r.o.Background, counts...)
	}
	return nil
}
