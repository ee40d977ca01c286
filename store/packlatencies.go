package store

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"gapless/analysis"
)

// orderLatencies puts the latencies of one object, which must all be of its source,
// into the order in which they are packed.
func orderLatencies(source string, latencies []analysis.Latencies) ([]*analysis.Latencies, error) {
	order := make([]*analysis.Latencies, len(latencies))
	for i := range latencies {
		l := &latencies[i]
		if l.Source != source {
			return nil, fmt.Errorf("latencies of source %q in an object of %q", l.Source, source)
		}
		if l.Took.Count() == 0 {
			return nil, fmt.Errorf("latencies without any: %+v", l.LatencyKey)
		}
		order[i] = l
	}
	slices.SortFunc(order, func(a, b *analysis.Latencies) int {
		return cmp.Or(cmp.Compare(a.Second, b.Second), strings.Compare(a.Node, b.Node), strings.Compare(string(a.Class), string(b.Class)), strings.Compare(a.Route, b.Route))
	})
	return order, nil
}

// appendLatencies appends what the heads have of latencies, and their buckets to the
// other columns.
func (p *packScratch) appendLatencies(b []byte, took *analysis.Histogram) (_ []byte, err error) {
	if p.latency, err = took.AppendBinary(p.latency[:0]); err != nil {
		return nil, err
	}
	r := reader{b: p.latency}
	b = binary.AppendUvarint(b, r.number()) // the longest
	b = binary.AppendUvarint(b, r.number()) // how many
	pairs := reader{b: r.bytes()}
	n := uint64(0)
	for ; len(pairs.b) > 0; n++ {
		p.pairs.distances = pairs.copyNumber(p.pairs.distances)
		p.pairs.counts = pairs.copyNumber(p.pairs.counts)
	}
	if r.bad || pairs.bad {
		return nil, errPacked
	}
	return binary.AppendUvarint(b, n), nil
}

// readLatencies reads one of a row's latencies. Their pairs go to memory.
func (u *unpacker) readLatencies(r *reader, memory *[]byte, source string, bucketStart int64) error {
	second := r.number()
	key := analysis.LatencyKey{Second: bucketStart + int64(second), Source: source, Node: u.named(r), Class: analysis.Class(u.named(r)), Route: u.named(r)}
	if r.bad || second >= bucketSeconds {
		return errPacked
	}
	if len(u.free) == 0 {
		u.free = make([]analysis.Histogram, 512)
	}
	took := &u.free[0]
	if err := u.readHistogram(r, memory, took); err != nil {
		return err
	}
	if key.Second >= u.from && key.Second < u.to {
		u.free = u.free[1:]
		u.latencies = append(u.latencies, analysis.Latencies{LatencyKey: key, Took: took})
	}
	return nil
}

func (u *unpacker) readHistogram(r *reader, memory *[]byte, took *analysis.Histogram) error {
	top, values, buckets := r.number(), r.number(), r.number()
	if r.bad || top > math.MaxInt64 || values > math.MaxInt64 || buckets > uint64(len(u.pairs[0].b)) {
		return errPacked
	}
	distances, counts := &u.pairs[0], &u.pairs[1]
	from, pairs := len(*memory), *memory
	for buckets > 0 && !distances.bad && !counts.bad {
		d, c := distances.b, counts.b
		n := 0
		for most := min(int(buckets), len(d), len(c)); n < most && d[n]|c[n] < 0x80; n++ { // nearly always all of them
			pairs = append(pairs, d[n], c[n])
		}
		distances.b, counts.b, buckets = d[n:], c[n:], buckets-uint64(n)
		if buckets > 0 {
			pairs = counts.copyNumber(distances.copyNumber(pairs))
			buckets--
		}
	}
	*memory = pairs
	if distances.bad || counts.bad {
		return errPacked
	}
	return took.SetPairs(int64(top), int(values), pairs[from:len(pairs):len(pairs)])
}
