package store

import (
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"gapless/analysis"
)

// secondCounts are the lines and matches of one rule in each second of a minute.
// Packed, they are triples of second, lines and matches as unsigned varints, without
// the seconds that had no line.
type secondCounts [60]struct{ lines, matched int }

func (m *secondCounts) pack() []byte {
	b := []byte{} // a rule without lines has none, which is not NULL
	for second, c := range m {
		if c.lines > 0 || c.matched > 0 {
			b = binary.AppendUvarint(b, uint64(second))
			b = binary.AppendUvarint(b, uint64(c.lines))
			b = binary.AppendUvarint(b, uint64(c.matched))
		}
	}
	return b
}

var errSecondCounts = errors.New("counts of log lines: cut short or not such counts")

func (m *secondCounts) add(b []byte) error {
	for len(b) > 0 {
		var v [3]uint64
		for i := range v {
			n := 0
			if v[i], n = binary.Uvarint(b); n <= 0 {
				return errSecondCounts
			}
			b = b[n:]
		}
		if v[0] >= uint64(len(m)) {
			return errSecondCounts
		}
		m[v[0]].lines += int(v[1])
		m[v[0]].matched += int(v[2])
	}
	return nil
}

// addCounts adds to what earlier reads counted in the same seconds.
func (t *tx) addCounts(collector int64, source string, counts []analysis.RuleCount) error {
	type key struct {
		minute int64
		rule   string
	}
	var order []key
	var newest time.Time // that a line was written, whether a rule matched it or not
	minutes := map[key]*secondCounts{}
	for _, c := range counts {
		if c.Source != source {
			return fmt.Errorf("a count of source %q in a read of %q", c.Source, source)
		}
		k := key{c.Second.Truncate(time.Minute).UnixMicro(), c.Rule}
		m := minutes[k]
		if m == nil {
			m = &secondCounts{}
			minutes[k] = m
			order = append(order, k)
		}
		second := &m[c.Second.UTC().Second()]
		second.lines += c.Lines
		second.matched += c.Matched
		t.touch(c.Second, c.Second)
		if c.Second.After(newest) {
			newest = c.Second
		}
	}
	if len(counts) > 0 {
		if err := t.reaches(collector, newest); err != nil {
			return err
		}
	}
	for _, k := range order {
		var before []byte
		err := t.get(`SELECT seconds FROM rule_count WHERE collector_id = ? AND minute = ? AND rule = ?`, []any{collector, k.minute, k.rule}, &before)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err := minutes[k].add(before); err != nil {
			return err
		}
		_, err = t.exec(`INSERT INTO rule_count (collector_id, minute, rule, seconds) VALUES (?, ?, ?, ?)
			ON CONFLICT (collector_id, minute, rule) DO UPDATE SET seconds = excluded.seconds`, collector, k.minute, k.rule, minutes[k].pack())
		if err != nil {
			return err
		}
	}
	return nil
}

// counts reads what the rules counted in the seconds of the window.
func (r *observer) counts() error {
	packed, err := perCollector(r, `SELECT rule, minute, seconds FROM rule_count
		WHERE collector_id = ? AND minute >= ? AND minute < ? ORDER BY minute, rule`,
		func(rows *sql.Rows, source string, p *packedCounts) error {
			p.source = source
			return rows.Scan(&p.rule, stamp{&p.minute}, &p.data)
		},
		func(collectorSpan) []any { return []any{r.from.Truncate(time.Minute).UnixMicro(), r.hi} })
	if err != nil {
		return err
	}
	for _, p := range packed {
		var m secondCounts
		if err := m.add(p.data); err != nil {
			return err
		}
		count := analysis.RuleCount{Source: p.source, Rule: p.rule}
		for second, c := range m {
			at := p.minute.Add(time.Duration(second) * time.Second)
			if at.Before(r.from) || !at.Before(r.to) || c.lines == 0 && c.matched == 0 {
				continue
			}
			count.Second, count.Lines, count.Matched = at, c.lines, c.matched
			r.o.Counts = append(r.o.Counts, count)
		}
	}
	return nil
}

type packedCounts struct {
	source, rule string
	minute       time.Time
	data         []byte
}
