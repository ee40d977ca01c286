package store

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"time"

	"gapless/analysis"
)

// Cells and latencies are stored ten seconds of one object a row. A row of its own for
// each cell would take several times as long to read: measured, reading is bound by
// the number of rows, not of bytes.
//
// A packed row is, all numbers as unsigned varints unless said otherwise:
//
//	1 byte   format, packFormat
//	         number of cells
//	columns  three, each as appendColumn writes it: heads, distances, counts
//	4 bytes  CRC-32C of everything before, little-endian
//
// The heads are
//
//	         number of strings, then each: length, bytes
//	         number of kinds, then each: node, target group, target, class, outcome
//	         and route as indexes of strings, status, target status
//	cells    1 byte: bits 0–3 second within the ten, bit 4 has first, bit 5 has
//	         last, bit 6 is not used and 0, bit 7 has masked; kind; count; masked;
//	         first as signed microseconds from its second; last as signed
//	         microseconds from first (or from the second)
//	         number of latencies, then each: second within the ten, node, class and
//	         route as indexes of strings, the longest, the number of values and the
//	         number of buckets
//
// and the other two columns hold, for all latencies one after another, the pairs of
// bucket distance and count of analysis.Histogram: distances of one and counts of a
// few are most of a busy second, and take some two and four bits.
//
// Cells and latencies stand in the order of their seconds and keys, so that the same
// evidence is the same bytes.
const (
	packFormat    = 3
	bucketSeconds = 10

	hasFirst  = 1 << 4
	hasLast   = 1 << 5
	hasMasked = 1 << 7
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// packedCells is one row.
type packedCells struct {
	bucket int64
	data   []byte
}

func bucketOf(second int64) int64 {
	if second < 0 {
		second -= bucketSeconds - 1
	}
	return second / bucketSeconds
}

// packCells packs the cells and the latencies of one object, which must all be of its
// source, and the latencies of stretches of ten seconds that have a cell: a row is made
// for cells.
func packCells(source string, cells []analysis.Cell, latencies []analysis.Latencies) ([]packedCells, error) {
	order := make([]*analysis.Cell, len(cells))
	for i := range cells {
		c := &cells[i]
		if c.Source != source {
			return nil, fmt.Errorf("a cell of source %q in an object of %q", c.Source, source)
		}
		if c.Count < 0 || c.Masked < 0 || c.Masked > c.Count || c.Status < 0 || c.TargetStatus < 0 {
			return nil, fmt.Errorf("a cell with an impossible number: %+v", c.CellKey)
		}
		order[i] = c
	}
	slices.SortFunc(order, func(a, b *analysis.Cell) int { return compareKeys(&a.CellKey, &b.CellKey) })
	spread, err := orderLatencies(source, latencies)
	if err != nil {
		return nil, err
	}
	var rows []packedCells
	var scratch packScratch
	for len(order) > 0 {
		bucket := bucketOf(order[0].Second)
		n := 1
		for n < len(order) && bucketOf(order[n].Second) == bucket {
			n++
		}
		m := 0
		for m < len(spread) && bucketOf(spread[m].Second) == bucket {
			m++
		}
		data, err := scratch.bucket(bucket, order[:n], spread[:m])
		if err != nil {
			return nil, err
		}
		rows = append(rows, packedCells{bucket, data})
		order, spread = order[n:], spread[m:]
	}
	if len(spread) > 0 {
		return nil, fmt.Errorf("latencies of %s, in whose ten seconds there is no cell", seconds(spread[0].Second).Format(time.RFC3339))
	}
	return rows, nil
}

func compareKeys(a, b *analysis.CellKey) int {
	if c := cmp.Compare(a.Second, b.Second); c != 0 {
		return c
	}
	return cmp.Or(
		strings.Compare(a.Node, b.Node), strings.Compare(a.TargetGroup, b.TargetGroup), strings.Compare(a.Target, b.Target),
		strings.Compare(string(a.Class), string(b.Class)), strings.Compare(string(a.Outcome), string(b.Outcome)), strings.Compare(a.Route, b.Route),
		cmp.Compare(a.Status, b.Status), cmp.Compare(a.TargetStatus, b.TargetStatus))
}

// cmpAll compares pairs of strings, first pair first.
func cmpAll(pairs ...string) int {
	for i := 0; i < len(pairs); i += 2 {
		if c := strings.Compare(pairs[i], pairs[i+1]); c != 0 {
			return c
		}
	}
	return 0
}

// packScratch is memory that the rows of one object share while they are packed.
type packScratch struct {
	kinds, cells, heads, latency []byte
	pairs                        pairColumns
	columns                      columnPacker
}

// pairColumns are the distances and the counts of the buckets of latencies.
type pairColumns struct{ distances, counts []byte }

func (p *packScratch) bucket(bucket int64, cells []*analysis.Cell, latencies []*analysis.Latencies) ([]byte, error) {
	strings, texts := map[string]uint64{}, []string(nil)
	text := func(s string) uint64 {
		i, ok := strings[s]
		if !ok {
			i = uint64(len(texts))
			strings[s], texts = i, append(texts, s)
		}
		return i
	}
	kinds := map[analysis.CellKey]uint64{}
	kindBytes, body := p.kinds[:0], p.cells[:0]
	p.pairs.distances, p.pairs.counts = p.pairs.distances[:0], p.pairs.counts[:0]
	defer func() { p.kinds, p.cells = kindBytes, body }()
	for _, c := range cells {
		key := c.CellKey
		key.Second = 0
		kind, ok := kinds[key]
		if !ok {
			kind = uint64(len(kinds))
			kinds[key] = kind
			for _, s := range []string{key.Node, key.TargetGroup, key.Target, string(key.Class), string(key.Outcome), key.Route} {
				kindBytes = binary.AppendUvarint(kindBytes, text(s))
			}
			kindBytes = binary.AppendUvarint(kindBytes, uint64(key.Status))
			kindBytes = binary.AppendUvarint(kindBytes, uint64(key.TargetStatus))
		}
		body = appendCell(body, c, byte(c.Second-bucket*bucketSeconds), kind)
	}
	body = binary.AppendUvarint(body, uint64(len(latencies)))
	for _, l := range latencies {
		body = binary.AppendUvarint(body, uint64(l.Second-bucket*bucketSeconds))
		for _, s := range []string{l.Node, string(l.Class), l.Route} {
			body = binary.AppendUvarint(body, text(s))
		}
		var err error
		if body, err = p.appendLatencies(body, l.Took); err != nil {
			return nil, err
		}
	}
	heads := binary.AppendUvarint(p.heads[:0], uint64(len(texts)))
	for _, s := range texts {
		heads = binary.AppendUvarint(heads, uint64(len(s)))
		heads = append(heads, s...)
	}
	heads = binary.AppendUvarint(heads, uint64(len(kinds)))
	p.heads = append(append(heads, kindBytes...), body...)
	data := binary.AppendUvarint([]byte{packFormat}, uint64(len(cells)))
	for _, column := range [][]byte{p.heads, p.pairs.distances, p.pairs.counts} {
		data = p.columns.append(data, column)
	}
	return appendChecksum(data), nil
}

func appendChecksum(data []byte) []byte {
	return binary.LittleEndian.AppendUint32(data, crc32.Checksum(data, castagnoli))
}

func appendCell(b []byte, c *analysis.Cell, second byte, kind uint64) []byte {
	head := second
	if !c.First.IsZero() {
		head |= hasFirst
	}
	if !c.Last.IsZero() {
		head |= hasLast
	}
	if c.Masked > 0 {
		head |= hasMasked
	}
	b = append(b, head)
	b = binary.AppendUvarint(b, kind)
	b = binary.AppendUvarint(b, uint64(c.Count))
	if c.Masked > 0 {
		b = binary.AppendUvarint(b, uint64(c.Masked))
	}
	base := c.Second * 1e6
	if head&hasFirst != 0 {
		first := c.First.UnixMicro()
		b = binary.AppendVarint(b, first-base)
		base = first
	}
	if head&hasLast != 0 {
		b = binary.AppendVarint(b, c.Last.UnixMicro()-base)
	}
	return b
}

var errPacked = errors.New("packed cells are damaged")
