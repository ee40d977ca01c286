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
//
// It takes the cheapest of three forms. A cell of one second uses few buckets, so
// they stand in a short sorted list; a busy one counts in an array; and one that
// was read back stays as it was encoded until something is added to it, since
// most are only ever merged into another. Reading never changes the form, so any
// number of readers may share one.
type Histogram struct {
	few    []bin    // ascending by bucket; at most fewBuckets
	counts []uint32 // by bucket; nil until more than fewBuckets are in use
	packed []byte   // encoded pairs; nil in the other two forms
	n      int
	max    int64 // exact
}

type bin struct {
	bucket uint16
	count  uint32
}

const (
	subBucketBits = 6
	linearLimit   = 1 << (subBucketBits + 1)
	fewBuckets    = 48
)

// HistogramError is the largest relative error of a value read from a [Histogram].
const HistogramError = 1.0 / linearLimit

// bucketOf is the bucket of a value that is not negative.
func bucketOf(v int64) uint16 {
	shift := max(bits.Len64(uint64(v))-subBucketBits-1, 0)
	return uint16(shift<<subBucketBits) + uint16(v>>shift)
}

// bucketMid is the middle of a bucket's values.
func bucketMid(b uint16) int64 {
	shift := max(b>>subBucketBits, 1) - 1
	low := int64(b-shift<<subBucketBits) << shift
	return low + (int64(1)<<shift-1)/2
}

// bucketLimit is one more than the highest bucket that a value can have.
var bucketLimit = int(bucketOf(math.MaxInt64)) + 1

// Add records one value; negative values count as 0.
func (h *Histogram) Add(v int64) { h.AddN(v, 1) }

// AddN records the same value n times.
func (h *Histogram) AddN(v int64, n int) {
	v = max(v, 0)
	if h.packed != nil {
		h.unpack()
	}
	h.add(bucketOf(v), uint32(n))
	h.n += n
	h.max = max(h.max, v)
}

// add counts n in a bucket of a histogram that is not packed.
func (h *Histogram) add(bucket uint16, n uint32) {
	if h.counts == nil {
		at := len(h.few) // most often the highest so far
		for at > 0 && h.few[at-1].bucket >= bucket {
			at--
		}
		if at < len(h.few) && h.few[at].bucket == bucket {
			h.few[at].count += n
			return
		}
		if len(h.few) < fewBuckets {
			h.few = slices.Insert(h.few, at, bin{bucket, n})
			return
		}
		h.spread()
	}
	if int(bucket) >= len(h.counts) {
		h.counts = append(h.counts, make([]uint32, int(bucket)+1-len(h.counts))...)
	}
	h.counts[bucket] += n
}

// spread changes from the list, which has something, to the array.
func (h *Histogram) spread() {
	h.counts = make([]uint32, int(h.few[len(h.few)-1].bucket)+1)
	for _, b := range h.few {
		h.counts[b.bucket] = b.count
	}
	h.few = nil
}

// unpack makes h one of the forms that can be added to.
func (h *Histogram) unpack() {
	packed := h.packed
	h.packed = nil
	h.addPacked(packed)
}

// addPacked counts encoded pairs. They were checked when they were decoded.
func (h *Histogram) addPacked(packed []byte) {
	bucket := 0
	for len(packed) > 0 {
		step, count, size := pair(packed)
		packed = packed[size:]
		bucket += int(step)
		if bucket < len(h.counts) {
			h.counts[bucket] += uint32(count)
		} else {
			h.add(uint16(bucket), uint32(count))
		}
	}
}

// Merge adds everything that other holds. A nil other holds nothing.
func (h *Histogram) Merge(other *Histogram) {
	if other == nil {
		return
	}
	h.unpack()
	if other.packed != nil {
		h.addPacked(other.packed)
	} else {
		other.each(func(b bin) { h.add(b.bucket, b.count) })
	}
	h.n += other.n
	h.max = max(h.max, other.max)
}

// each hands over the buckets in use, ascending.
func (h *Histogram) each(do func(bin)) {
	for _, b := range h.few {
		do(b)
	}
	for bucket, count := range h.counts {
		if count > 0 {
			do(bin{uint16(bucket), count})
		}
	}
	bucket := uint64(0)
	for packed := h.packed; len(packed) > 0; {
		step, count, size := pair(packed)
		packed = packed[size:]
		bucket += step
		do(bin{uint16(bucket), uint32(count)})
	}
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
	values := make([]int64, len(shares))
	seen, next := 0, 0
	h.each(func(b bin) {
		seen += int(b.count)
		for next < len(shares) && seen >= nearestRank(shares[next], h.n) {
			values[next] = min(bucketMid(b.bucket), h.max)
			next++
		}
	})
	return values
}

// nearestRank is the 1-based rank of the given share among n values.
func nearestRank(share float64, n int) int {
	return min(max(int(math.Ceil(share*float64(n)-1e-9)), 1), n)
}

// AppendBinary appends the encoded histogram: max, number of values, length of what
// follows in bytes, then pairs of bucket distance and count; all unsigned varints.
func (h *Histogram) AppendBinary(b []byte) ([]byte, error) {
	b = binary.AppendUvarint(b, uint64(h.max))
	b = binary.AppendUvarint(b, uint64(h.n))
	if h.packed != nil {
		b = binary.AppendUvarint(b, uint64(len(h.packed)))
		return append(b, h.packed...), nil
	}
	b = binary.AppendUvarint(b, uint64(h.pairsLen()))
	return h.appendPairs(b), nil
}

// Pack turns h into its smallest form, for one that is kept and seldom added to. It
// changes nothing that can be seen.
func (h *Histogram) Pack() {
	if h.packed == nil && h.n > 0 {
		packed := h.appendPairs(make([]byte, 0, h.pairsLen()))
		h.few, h.counts, h.packed = nil, nil, packed
	}
}

// Packed reports whether h is in its smallest form, as [Histogram.Pack] and
// [Histogram.Decode] leave it until something is added.
func (h *Histogram) Packed() bool { return h.packed != nil }

func (h *Histogram) pairsLen() int {
	size, previous := 0, uint16(0)
	h.each(func(x bin) {
		size += uvarintLen(uint64(x.bucket-previous)) + uvarintLen(uint64(x.count))
		previous = x.bucket
	})
	return size
}

func (h *Histogram) appendPairs(b []byte) []byte {
	previous := uint16(0)
	h.each(func(x bin) {
		b = binary.AppendUvarint(b, uint64(x.bucket-previous))
		b = binary.AppendUvarint(b, uint64(x.count))
		previous = x.bucket
	})
	return b
}

var errHistogram = errors.New("histogram: cut short or not one")

// DecodeHistogram reads what AppendBinary wrote and returns the bytes after it. The
// histogram keeps a part of b, which must not be changed afterwards.
func DecodeHistogram(b []byte) (*Histogram, []byte, error) {
	h := new(Histogram)
	rest, err := h.Decode(b)
	if err != nil {
		return nil, nil, err
	}
	return h, rest, nil
}

// Decode makes h what AppendBinary wrote, as [DecodeHistogram] does, for callers
// who keep many histograms in one slice.
func (h *Histogram) Decode(b []byte) (rest []byte, err error) {
	var head [3]uint64 // max, number of values, length of the pairs
	for i := range head {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, errHistogram
		}
		head[i], b = v, b[n:]
	}
	if head[2] > uint64(len(b)) {
		return nil, errHistogram
	}
	return b[head[2]:], h.SetPairs(int64(head[0]), int(head[1]), b[:head[2]:head[2]])
}

// SetPairs makes h the histogram of n values up to top whose pairs of bucket distance
// and count are given, as [Histogram.AppendBinary] writes them. It keeps pairs, which
// must not be changed afterwards.
func (h *Histogram) SetPairs(top int64, n int, pairs []byte) error {
	if top < 0 || !validPairs(pairs, uint64(n)) {
		return errHistogram
	}
	*h = Histogram{packed: pairs, n: n, max: top}
	return nil
}

// validPairs reports whether the pairs are whole, name buckets that exist and count
// n values, so that nothing needs to be checked when they are read.
func validPairs(packed []byte, n uint64) bool {
	bucket, sum := uint64(0), uint64(0)
	for len(packed) > 0 {
		step, count, size := pair(packed)
		if size == 0 || step >= uint64(bucketLimit)-bucket || count > math.MaxUint32 {
			return false
		}
		packed = packed[size:]
		bucket += step
		sum += count
	}
	return sum == n
}

// pair reads the first pair of some that are encoded; its size in bytes is 0 where it
// is not whole, or no pair.
func pair(packed []byte) (step, count uint64, size int) {
	if len(packed) > 1 && packed[0]|packed[1] < 0x80 { // nearly always
		return uint64(packed[0]), uint64(packed[1]), 2
	}
	step, n := binary.Uvarint(packed)
	count, m := binary.Uvarint(packed[max(n, 0):]) // nothing good either, where the first is not
	if m <= 0 {
		return 0, 0, 0
	}
	return step, count, n + m
}

func uvarintLen(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }
