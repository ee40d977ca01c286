package analysis

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"slices"
)

// Histogram is a mergeable sketch of non-negative integers (here microseconds).
//
// Buckets are log-linear: values below 128 have a bucket each, larger ones share
// 64 buckets per power of two, so a value read back differs from the true one by
// at most 1/128 (0.79 %). Quantiles are by nearest rank. The zero value is empty
// and ready to use.
type Histogram struct {
	counts map[uint16]uint32 // few buckets are in use: a cell is one second of one kind
	n      int
	max    int64 // exact
}

const (
	subBucketBits = 6
	linearLimit   = 1 << (subBucketBits + 1)
)

// HistogramError is the largest relative error of a value read from a [Histogram].
const HistogramError = 1.0 / linearLimit

func bucketOf(v int64) uint16 {
	if v < linearLimit {
		return uint16(max(v, 0))
	}
	shift := bits.Len64(uint64(v)) - subBucketBits - 1
	return uint16(shift<<subBucketBits) + uint16(v>>shift)
}

// bucketMid is the middle of a bucket's values.
func bucketMid(b uint16) int64 {
	if b < linearLimit {
		return int64(b)
	}
	shift := (b >> subBucketBits) - 1
	low := int64(b-shift<<subBucketBits) << shift
	return low + (int64(1)<<shift-1)/2
}

// Add records one value; negative values count as 0.
func (h *Histogram) Add(v int64) { h.AddN(v, 1) }

// AddN records the same value n times.
func (h *Histogram) AddN(v int64, n int) {
	if h.counts == nil {
		h.counts = make(map[uint16]uint32, 4)
	}
	v = max(v, 0)
	h.counts[bucketOf(v)] += uint32(n)
	h.n += n
	h.max = max(h.max, v)
}

// Merge adds everything that other holds. A nil other holds nothing.
func (h *Histogram) Merge(other *Histogram) {
	if other == nil || other.n == 0 {
		return
	}
	if h.counts == nil {
		h.counts = make(map[uint16]uint32, len(other.counts))
	}
	for b, n := range other.counts {
		h.counts[b] += n
	}
	h.n += other.n
	h.max = max(h.max, other.max)
}

// Count is the number of values recorded.
func (h *Histogram) Count() int {
	if h == nil {
		return 0
	}
	return h.n
}

// Max is the largest value recorded, exactly; 0 when empty.
func (h *Histogram) Max() int64 { return h.max }

// Quantiles returns the values at the given shares (each in (0, 1], ascending) by
// nearest rank, within [HistogramError]; nil when empty.
func (h *Histogram) Quantiles(shares ...float64) []int64 {
	if h.Count() == 0 {
		return nil
	}
	buckets := h.sorted()
	values := make([]int64, len(shares))
	seen, next := 0, 0
	for _, b := range buckets {
		seen += int(h.counts[b])
		for next < len(shares) && seen >= nearestRank(shares[next], h.n) {
			values[next] = min(bucketMid(b), h.max)
			next++
		}
	}
	return values
}

// nearestRank is the 1-based rank of the given share among n values.
func nearestRank(share float64, n int) int {
	return min(max(int(math.Ceil(share*float64(n)-1e-9)), 1), n)
}

func (h *Histogram) sorted() []uint16 {
	buckets := make([]uint16, 0, len(h.counts))
	for b := range h.counts {
		buckets = append(buckets, b)
	}
	slices.Sort(buckets)
	return buckets
}

// AppendBinary appends the encoded histogram: max, number of buckets, then pairs of
// bucket distance and count, all unsigned varints.
func (h *Histogram) AppendBinary(b []byte) ([]byte, error) {
	b = binary.AppendUvarint(b, uint64(h.max))
	b = binary.AppendUvarint(b, uint64(len(h.counts)))
	previous := uint16(0)
	for _, bucket := range h.sorted() {
		b = binary.AppendUvarint(b, uint64(bucket-previous))
		b = binary.AppendUvarint(b, uint64(h.counts[bucket]))
		previous = bucket
	}
	return b, nil
}

var errHistogram = errors.New("histogram: cut short or not one")

// DecodeHistogram reads what AppendBinary wrote and returns the bytes after it.
func DecodeHistogram(b []byte) (*Histogram, []byte, error) {
	next := func() (uint64, bool) {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return 0, false
		}
		b = b[n:]
		return v, true
	}
	top, ok := next()
	size, ok2 := next()
	if !ok || !ok2 || size > math.MaxUint16 || top > math.MaxInt64 {
		return nil, nil, errHistogram
	}
	h := &Histogram{max: int64(top), counts: make(map[uint16]uint32, size)}
	bucket := uint64(0)
	for range size {
		step, ok := next()
		count, ok2 := next()
		bucket += step
		if !ok || !ok2 || bucket > math.MaxUint16 || count > math.MaxUint32 {
			return nil, nil, errHistogram
		}
		h.counts[uint16(bucket)] = uint32(count)
		h.n += int(count)
	}
	return h, b, nil
}
