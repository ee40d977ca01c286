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

// AddObject stores everything that one log object held, once however many copies of it
// there are. An object that was read
// whole is not stored again unless its version is another one, as that of a file that
// grew; one that was cut short or could not be read is replaced when a later reading
// is better. Stored says whether this one was kept.
func (db *DB) AddObject(ctx context.Context, service string, b analysis.ObjectBatch) (stored bool, err error) {
	packed, err := packCells(b.Source, b.Cells, b.Latencies) // outside of the transaction: it takes the longest
	if err != nil {
		return false, fmt.Errorf("add object %s: %w", b.Key, err)
	}
	err = db.write(ctx, service, func(t *tx) error {
		stored, err = t.addObject(b, packed)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("add object %s: %w", b.Key, err)
	}
	return stored, nil
}

// quality orders readings of one object.
func quality(o analysis.Object) int {
	switch {
	case o.Error == "" && !o.Partial:
		return 2
	case o.Partial:
		return 1
	}
	return 0
}

func better(b, than analysis.ObjectBatch) bool {
	if b.Version != than.Version && (quality(b.Object) == 2 || b.Key == than.Key && quality(b.Object) > 0) {
		return true // of what it holds now; a copy that is cut short says nothing of that
	}
	if q := quality(b.Object) - quality(than.Object); q != 0 {
		return q > 0
	}
	return quality(b.Object) == 1 && b.Object.Lines > than.Object.Lines
}

// endless reports whether nobody knows how far an object reaches.
func endless(o analysis.Object) bool { return o.To.IsZero() && quality(o) < 2 }

func (t *tx) addObject(b analysis.ObjectBatch, packed []packedCells) (stored bool, err error) {
	collector, err := t.source(b.Source, "")
	if err != nil {
		return false, err
	}
	var old analysis.ObjectBatch
	var oldID int64
	var oldHull hull
	err = t.get(`SELECT id, key, version, lines, set_aside, partial, error, to_at, low, high FROM object WHERE collector_id = ? AND name = ?`, []any{collector, nameOf(b)},
		&oldID, &old.Key, &old.Version, &old.Object.Lines, &old.SetAside, &old.Partial, &old.Error, stamp{&old.To}, stamp{&oldHull.from}, stamp{&oldHull.to})
	switch {
	case errors.Is(err, sql.ErrNoRows):
	case err != nil:
		return false, err
	case !better(b, old):
		return false, nil
	default:
		if err := t.forgetBackground(collector, b.Source, oldID); err != nil {
			return false, err
		}
		if _, err := t.exec(`DELETE FROM object WHERE id = ?`, oldID); err != nil { // its rows go with it
			return false, err
		}
	}
	rows := rowsHull(b)
	all := rows
	all.add(b.From, b.To)
	id, err := t.insertObject(collector, b, rows, all)
	if err != nil {
		return false, err
	}
	for _, add := range []func() error{
		func() error { return t.addCells(id, packed) },
		func() error { return t.addBackground(collector, sumCells(b.Cells), 1) },
		func() error { return t.addRequests(id, b.Source, b.Requests) },
		func() error { return t.addKnown(id, b.Source, b.Known) },
		func() error { return t.addChecks(id, b.Source, b.Checks) },
		func() error { return t.addSetAside(id, b.Lines) },
	} {
		if err := add(); err != nil {
			return false, err
		}
	}
	was := 0
	if oldID != 0 {
		was = 1
		if !oldHull.empty() {
			t.touch(oldHull.from, oldHull.to)
		}
		if endless(old.Object) {
			t.touchFrom(oldHull.from)
		}
	}
	longest := int64(0) // by the numbers in the file: a Duration ends at 292 years
	if !all.empty() {
		longest = all.to.UnixMicro() - all.from.UnixMicro()
	}
	_, err = t.exec(`UPDATE collector SET objects = objects + ?, lines = lines + ?, set_aside = set_aside + ?, partial_objects = partial_objects + ?,
		longest_object = max(longest_object, ?) WHERE id = ?`,
		1-was, b.Object.Lines-old.Object.Lines, b.SetAside-old.SetAside, number(b.Partial)-number(old.Partial), longest, collector)
	if err != nil {
		return false, err
	}
	t.changed = true
	if endless(b.Object) {
		t.touchFrom(all.from)
	}
	if all.empty() {
		return true, nil
	}
	if len(b.Checks) > 0 { // they matter to windows that begin later
		t.touch(all.from, all.to.Add(analysis.CheckReach))
	}
	t.touch(all.from, all.to)
	if last := lastMoment(b, t.now); !last.IsZero() {
		err = t.reaches(collector, last)
	}
	return true, err
}

// lastMoment is the latest moment that an object is evidence about: the end of its
// period where that is over, else its last row. A log file may be named for a minute
// that has hardly begun.
func lastMoment(b analysis.ObjectBatch, now time.Time) time.Time {
	var h hull
	for i := range b.Cells {
		c := &b.Cells[i]
		h.add(seconds(c.Second), c.First, c.Last)
	}
	for i := range b.Requests {
		h.add(b.Requests[i].Start, b.Requests[i].End)
	}
	if b.Error == "" && !b.To.After(now) {
		h.add(b.To)
	}
	return h.to
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// rowsHull is the span that an object's rows are about.
func rowsHull(b analysis.ObjectBatch) (h hull) {
	for i := range b.Cells {
		second := seconds(b.Cells[i].Second)
		h.add(second, second.Add(time.Second-time.Microsecond))
	}
	for i := range b.Requests {
		h.add(b.Requests[i].Start, b.Requests[i].End)
	}
	for i := range b.Checks {
		h.add(b.Checks[i].At, b.Checks[i].Done())
	}
	return h
}

// nameOf is by what an object is known in the ledger.
func nameOf(b analysis.ObjectBatch) string { return cmp.Or(b.Name, b.Key) }

func (t *tx) insertObject(collector int64, b analysis.ObjectBatch, rows, all hull) (id int64, err error) {
	o := b.Object
	err = t.get(`INSERT INTO object (collector_id, key, name, node, version, from_at, to_at, rows_from, rows_to, low, high, lines, understood, set_aside, requestless, unmatched, partial, error, arrived_at, stored_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
		[]any{collector, o.Key, nameOf(b), o.Node, b.Version, micro(o.From), micro(o.To), micro(rows.from), micro(rows.to), micro(all.from), micro(all.to),
			o.Lines, o.Understood, o.SetAside, o.Requestless, o.Unmatched, o.Partial, o.Error, micro(o.Arrived), t.now.UnixMicro()}, &id)
	return id, err
}

func (t *tx) addCells(object int64, packed []packedCells) error {
	insert := t.insert("cells", "service_id", "bucket", "object_id", "data")
	for _, p := range packed {
		if err := insert.add(t.id, p.bucket, object, p.data); err != nil {
			return err
		}
	}
	return insert.flush()
}

// requestMoment is when a request counts: a failure when it ended, any other by the
// second in which it started.
func requestMoment(r *analysis.Request) time.Time {
	if r.Outcome.Failure() && !r.End.IsZero() {
		return r.End
	}
	return seconds(r.Second)
}

func (t *tx) addRequests(object int64, source string, requests []analysis.Request) error {
	insert := t.insert("request", "service_id", "at", "object_id", "line", "second", "start_at", "end_at", "duration", "node", "target_group",
		"target", "class", "outcome", "route", "status", "target_status", "method", "url", "client", "user_agent", "probe_run", "probe_seq",
		"connected", "websocket", "before_target", "target_took", "error_reason", "attempts", "failed_on")
	for i := range requests {
		r := &requests[i]
		if r.Source != source {
			return fmt.Errorf("a request of source %q in an object of %q", r.Source, source)
		}
		err := insert.add(t.id, requestMoment(r).UnixMicro(), object, r.Line, r.Second, micro(r.Start), micro(r.End), r.Duration.Microseconds(), r.Node, r.TargetGroup,
			r.Target, string(r.Class), string(r.Outcome), r.Route, r.Status, r.TargetStatus, r.Method, r.URL, r.Client, r.UserAgent, r.ProbeRun, r.ProbeSeq,
			r.Connected, r.WebSocket, optionalMicros(r.Before), optionalMicros(r.TargetTook), r.ErrorReason, r.Attempts, joinNames(r.FailedOn))
		if err != nil {
			return err
		}
	}
	return insert.flush()
}

// joinNames is a list in one column, nil where there is none. Names hold no line ends.
func joinNames(names []string) any {
	if names == nil {
		return nil
	}
	return strings.Join(names, "\n")
}

func (t *tx) addKnown(object int64, source string, known []analysis.KnownRequests) error {
	insert := t.insert("known", "object_id", "node", "run", "seqs")
	for _, k := range mergeKnown(known) {
		if k.Source != source {
			return fmt.Errorf("known requests of source %q in an object of %q", k.Source, source)
		}
		if err := insert.add(object, k.Node, k.Run, packSeqs(k.Seqs)); err != nil {
			return err
		}
	}
	return insert.flush()
}

func (t *tx) addSetAside(object int64, lines []analysis.SetAsideLine) error {
	insert := t.insert("set_aside", "object_id", "line", "offset", "reason", "detail", "kind", "raw")
	for _, l := range lines {
		raw := l.Raw
		if raw == nil {
			raw = []byte{} // an empty line, not an unknown one
		}
		if err := insert.add(object, l.Line, l.Offset, l.Reason, l.Detail, l.Kind, raw); err != nil {
			return err
		}
	}
	return insert.flush()
}

// ReadObjects returns the objects of a source that were read whole and whose period,
// or whose rows, meet [from, to]: the version of each by its name.
func (db *DB) ReadObjects(ctx context.Context, service, source string, from, to time.Time) (map[string]string, error) {
	versions := map[string]string{}
	err := db.view(ctx, func(s *sql.Tx) error {
		rows, err := s.QueryContext(ctx, `SELECT o.name, o.version FROM object o JOIN collector c ON c.id = o.collector_id JOIN service s ON s.id = c.service_id
			WHERE s.name = ?1 AND c.source = ?2 AND o.low BETWEEN ?3 - c.longest_object AND ?4 AND o.high >= ?3 AND o.partial = 0 AND o.error = ''`,
			service, source, from.UnixMicro(), to.UnixMicro())
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var name, version string
			if err := rows.Scan(&name, &version); err != nil {
				return err
			}
			versions[name] = version
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("read ledger of %s: %w", source, err)
	}
	return versions, nil
}

// ObjectKeys returns the keys of the objects of a source that were read whole, of any
// time, and when the last row of each is; zero where it has none.
func (db *DB) ObjectKeys(ctx context.Context, service, source string) (keys map[string]time.Time, err error) {
	type object struct {
		key  string
		last time.Time
	}
	keys = map[string]time.Time{}
	err = db.view(ctx, func(s *sql.Tx) error {
		list, err := rowsOf(ctx, s, func(rows *sql.Rows, o *object) error { return rows.Scan(&o.key, stamp{&o.last}) },
			`SELECT o.key, o.rows_to FROM object o JOIN collector c ON c.id = o.collector_id JOIN service s ON s.id = c.service_id
			WHERE s.name = ? AND c.source = ? AND o.partial = 0 AND o.error = ''`, service, source)
		for _, o := range list {
			keys[o.key] = o.last
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read ledger of %s: %w", source, err)
	}
	return keys, nil
}

// CutObjects returns the objects of a source that were cut short, nobody knows how far
// from their ends: the version of each by its name.
func (db *DB) CutObjects(ctx context.Context, service, source string) (map[string]string, error) {
	type named struct{ name, version string }
	versions := map[string]string{}
	err := db.view(ctx, func(s *sql.Tx) error {
		list, err := rowsOf(ctx, s, func(rows *sql.Rows, o *named) error { return rows.Scan(&o.name, &o.version) },
			`SELECT o.name, o.version FROM object o JOIN collector c ON c.id = o.collector_id JOIN service s ON s.id = c.service_id
			WHERE s.name = ? AND c.source = ? AND o.to_at IS NULL AND o.partial = 1`, service, source)
		for _, o := range list {
			versions[o.name] = o.version
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read ledger of %s: %w", source, err)
	}
	return versions, nil
}

// mergeKnown joins the lists of each source, node and run, in order.
func mergeKnown(lists []analysis.KnownRequests) []analysis.KnownRequests {
	type key struct{ source, node, run string }
	joined := map[key][]uint32{}
	for _, k := range lists {
		at := key{k.Source, k.Node, k.Run}
		joined[at] = append(joined[at], k.Seqs...)
	}
	merged := make([]analysis.KnownRequests, 0, len(joined))
	for k, seqs := range joined {
		slices.Sort(seqs)
		merged = append(merged, analysis.KnownRequests{Source: k.source, Node: k.node, Run: k.run, Seqs: slices.Compact(seqs)})
	}
	slices.SortFunc(merged, func(a, b analysis.KnownRequests) int {
		return cmpAll(a.Source, b.Source, a.Node, b.Node, a.Run, b.Run)
	})
	return merged
}
