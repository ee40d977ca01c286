package store

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"time"

	"gapless/analysis"
)

// unpacker turns packed rows into the cells and latencies of whole seconds in
// [from, to). They share its strings and its histograms' memory.
type unpacker struct {
	from, to  int64 // seconds
	cells     []analysis.Cell
	latencies []analysis.Latencies
	strings   map[string]string
	free      []analysis.Histogram
	texts     []string // of the row at hand
	kinds     []analysis.CellKey
	pairs     [2]reader // of the row at hand: distances, counts
	buffers   [3][]byte // of columns
	columns   columnPacker
}

// newUnpacker expects about n cells. A second belongs to the window by its start.
func newUnpacker(from, to time.Time, n int) *unpacker {
	return &unpacker{from: ceilSecond(from), to: ceilSecond(to), cells: make([]analysis.Cell, 0, n), strings: map[string]string{}}
}

// ceilSecond is the first second that starts at or after t.
func ceilSecond(t time.Time) int64 {
	s := t.Unix()
	if t.Nanosecond() > 0 {
		s++
	}
	return s
}

// packedCount reads how many cells a row holds.
func packedCount(data []byte) int {
	if len(data) < 2 || data[0] != packFormat {
		return 0
	}
	n, _ := binary.Uvarint(data[1:])
	return int(min(n, uint64(8*len(data)))) // it is only a hint, and a cell takes more than a bit
}

// add unpacks one row.
func (u *unpacker) add(source string, bucket int64, data []byte) error {
	if len(data) < 5 || data[0] != packFormat {
		return errPacked
	}
	end := len(data) - 4
	if binary.LittleEndian.Uint32(data[end:]) != crc32.Checksum(data[:end], castagnoli) {
		return errPacked
	}
	row := reader{b: data[1:end]}
	cells := row.number()
	r := reader{b: u.columns.read(&row, &u.buffers[0])}
	distances, counts := u.columns.read(&row, &u.buffers[1]), u.columns.read(&row, &u.buffers[2])
	u.pairs = [2]reader{{b: distances}, {b: counts}}
	if row.bad || len(row.b) > 0 || cells > uint64(len(r.b)) {
		return errPacked
	}
	if err := u.readKinds(&r, source); err != nil {
		return err
	}
	for range cells {
		if err := u.readCell(&r, bucket*bucketSeconds); err != nil {
			return err
		}
	}
	memory := make([]byte, 0, len(distances)+len(counts)) // what histograms keep
	for range r.count() {
		if err := u.readLatencies(&r, &memory, source, bucket*bucketSeconds); err != nil {
			return err
		}
	}
	if r.bad || len(r.b)+len(u.pairs[0].b)+len(u.pairs[1].b) > 0 {
		return errPacked
	}
	return nil
}

func (u *unpacker) readKinds(r *reader, source string) error {
	u.texts, u.kinds = u.texts[:0], u.kinds[:0]
	for range r.count() {
		u.texts = append(u.texts, u.text(r.bytes()))
	}
	for range r.count() {
		key := analysis.CellKey{Source: source, Node: u.named(r), TargetGroup: u.named(r), Target: u.named(r),
			Class: analysis.Class(u.named(r)), Outcome: analysis.Outcome(u.named(r)), Route: u.named(r)}
		key.Status, key.TargetStatus = int(r.number()), int(r.number())
		u.kinds = append(u.kinds, key)
	}
	if r.bad {
		return errPacked
	}
	return nil
}

// named reads which of the row's strings is meant.
func (u *unpacker) named(r *reader) string {
	if i := r.number(); i < uint64(len(u.texts)) {
		return u.texts[i]
	}
	r.bad = true
	return ""
}

// text is one string for all rows that hold it.
func (u *unpacker) text(b []byte) string {
	if s, ok := u.strings[string(b)]; ok {
		return s
	}
	s := string(b)
	u.strings[s] = s
	return s
}

func (u *unpacker) readCell(r *reader, bucketStart int64) error {
	head := r.byte()
	kind, count := r.number(), r.number()
	if r.bad || kind >= uint64(len(u.kinds)) || count > math.MaxInt32 {
		return errPacked
	}
	masked := uint64(0)
	if head&hasMasked != 0 {
		if masked = r.number(); masked > count {
			return errPacked
		}
	}
	second := bucketStart + int64(head&0xf)
	base := second * 1e6
	var first, last int64
	if head&hasFirst != 0 {
		first = base + r.signed()
		base = first
	}
	if head&hasLast != 0 {
		last = base + r.signed()
	}
	if r.bad {
		return errPacked
	}
	if second < u.from || second >= u.to {
		return nil
	}
	u.cells = append(u.cells, analysis.Cell{CellKey: u.kinds[kind], Count: int(count), Masked: int(masked)})
	c := &u.cells[len(u.cells)-1]
	c.Second = second
	if head&hasFirst != 0 {
		c.First = fromMicro(first)
	}
	if head&hasLast != 0 {
		c.Last = fromMicro(last)
	}
	return nil
}
