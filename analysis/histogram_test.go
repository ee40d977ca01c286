package analysis

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestHistogramQuantilesWithinStatedError(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, scale := range []float64{50, 5e3, 1e5, 6e7} {
		var values []int64
		var whole, left, right Histogram
		for i := range 20_000 {
			v := int64(random.ExpFloat64() * scale)
			values = append(values, v)
			whole.Add(v)
			if i%3 == 0 {
				left.Add(v)
			} else {
				right.Add(v)
			}
		}
		slices.Sort(values)
		left.Merge(&right)
		shares := []float64{0.001, 0.5, 0.95, 0.99, 1}
		merged := left.Quantiles(shares...)
		for i, got := range whole.Quantiles(shares...) {
			want := values[nearestRank(shares[i], len(values))-1]
			if diff := math.Abs(float64(got - want)); diff > math.Ceil(float64(want)*HistogramError) {
				t.Errorf("scale %g, share %g: got %d, want %d within %g", scale, shares[i], got, want, HistogramError)
			}
			if merged[i] != got {
				t.Errorf("scale %g, share %g: merged %d, whole %d", scale, shares[i], merged[i], got)
			}
		}
		if whole.Max() != values[len(values)-1] {
			t.Errorf("max %d, want %d", whole.Max(), values[len(values)-1])
		}
	}
}

func TestHistogramEncodingRoundTrip(t *testing.T) {
	var h Histogram
	for _, v := range []int64{0, 1, 127, 128, 129, 5_255_000, math.MaxInt64, -3} {
		h.Add(v)
	}
	b, err := h.AppendBinary([]byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	got, rest, err := DecodeHistogram(append(b[1:], "rest"...))
	if err != nil || string(rest) != "rest" {
		t.Fatalf("rest %q, error %v", rest, err)
	}
	if got.Count() != 8 || got.Max() != h.Max() || !slices.Equal(got.Quantiles(.25, .5, 1), h.Quantiles(.25, .5, 1)) {
		t.Errorf("got %+v, want %+v", got, h)
	}
	for cut := range len(b) - 1 {
		if _, _, err := DecodeHistogram(b[1 : 1+cut]); err == nil {
			t.Errorf("cut at %d: no error", cut)
		}
	}
}

func BenchmarkHistogramAdd(b *testing.B) {
	var h Histogram
	i := int64(0)
	for b.Loop() {
		h.Add(1000 + i&4095)
		i += 37
	}
}

// TestHistogramFormsAgree checks that a histogram reads the same whether it is a
// short list, an array or as it was encoded, and that adding to any works.
func TestHistogramFormsAgree(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	shares := []float64{0.01, 0.25, 0.5, 0.9, 0.99, 1}
	for _, size := range []int{0, 1, 5, fewBuckets - 1, fewBuckets, fewBuckets + 1, 500} {
		var plain, other, want Histogram
		for i := range size {
			v := int64(i*i*7) + random.Int64N(5)
			plain.AddN(v, 2)
			want.AddN(v, 2)
			other.Add(v * 3)
			want.Add(v * 3)
		}
		b, err := plain.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		decoded, _, err := DecodeHistogram(b)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := decoded.Quantiles(shares...), plain.Quantiles(shares...); !slices.Equal(got, want) {
			t.Errorf("size %d: decoded %v, want %v", size, got, want)
		}
		if again, _ := decoded.AppendBinary(nil); !slices.Equal(again, b) {
			t.Errorf("size %d: encoding a decoded histogram changed it", size)
		}
		packed := plain
		packed.Pack()
		if again, _ := packed.AppendBinary(nil); !slices.Equal(again, b) || packed.Packed() != (size > 0) {
			t.Errorf("size %d: packing changed it", size)
		}
		var merged Histogram
		merged.Merge(&other)
		packed.Merge(&other)
		merged.Merge(decoded)
		decoded.Merge(&other)
		for name, got := range map[string]*Histogram{"merged from": &merged, "merged into": decoded, "packed and merged into": &packed} {
			if got.Count() != want.Count() || got.Max() != want.Max() || !slices.Equal(got.Quantiles(shares...), want.Quantiles(shares...)) {
				t.Errorf("size %d: a decoded one %s others: %v of %d, want %v of %d", size, name,
					got.Quantiles(shares...), got.Count(), want.Quantiles(shares...), want.Count())
			}
		}
	}
}

// A value below 128 is read back as it was; others as the middle of the values that
// share its bucket, 2 of them from 128 on, 4 from 256 on, 8 from 512 on and so forth.
func TestHistogramReadsBackTheMiddle(t *testing.T) {
	for v, want := range map[int64]int64{
		0: 0, 1: 1, 127: 127, 128: 128, 129: 128, 130: 130, 255: 254, 256: 257, 259: 257, 260: 261,
		1000: 1003, 1007: 1003, 1008: 1011, 1023: 1019, 1024: 1031,
	} {
		var h Histogram
		h.Add(v)
		h.Add(math.MaxInt64)
		if got := h.Quantiles(.5)[0]; got != want {
			t.Errorf("%d is read back as %d, want %d", v, got, want)
		}
	}
}

// Of 48 buckets there is a list; from one more on an array, no longer than it must be.
// Only buckets in use are written, each by its distance from the one before.
func TestHistogramForms(t *testing.T) {
	var h Histogram
	want := []byte{94, 48, 96, 0, 1} // the highest, how many, bytes of pairs, and the first
	for v := int64(0); v < 96; v += 2 {
		h.Add(v)
	}
	for range 47 {
		want = append(want, 2, 1)
	}
	if b, _ := h.AppendBinary(nil); !slices.Equal(b, want) || len(h.few) != 48 || h.counts != nil {
		t.Errorf("48 buckets: %d in a list, %d in an array, encoded %v", len(h.few), len(h.counts), b)
	}
	h.Add(96)
	want = append(want, 2, 1)
	want[0], want[1], want[2] = 96, 49, 98
	if b, _ := h.AppendBinary(nil); !slices.Equal(b, want) || h.few != nil || len(h.counts) != 97 {
		t.Errorf("49 buckets: %d in a list, %d in an array, encoded %v", len(h.few), len(h.counts), b)
	}
	h.Add(100)
	if len(h.counts) != 101 {
		t.Errorf("an array of %d for values up to 100", len(h.counts))
	}
	h.Pack()
	if n := testing.AllocsPerRun(1, h.Pack); n != 0 {
		t.Error("one that is packed is packed again")
	}
	h.Add(50)
	h.AddN(101, 2)
	if got := h.Quantiles(.5, .98, 1); h.Packed() || h.Count() != 53 || h.Max() != 101 || !slices.Equal(got, []int64{50, 101, 101}) {
		t.Errorf("added to a packed one: %v of %d up to %d", got, h.Count(), h.Max())
	}
}

// Whoever reads pairs later relies on this: that they are whole, of buckets that exist,
// and as many values as they say.
func TestWhatAHistogramIsReadFrom(t *testing.T) {
	pairs := func(numbers ...uint64) (b []byte) {
		for _, n := range numbers {
			b = binary.AppendUvarint(b, n)
		}
		return b
	}
	last := uint64(bucketLimit - 1)
	for _, c := range []struct {
		name  string
		top   int64
		n     int
		pairs []byte
		want  []int64 // 1st and last value; nil: refused
	}{
		{"nothing", 0, 0, nil, []int64{}},
		{"one value", 5, 1, pairs(5, 1), []int64{5, 5}},
		{"two buckets", 9, 3, pairs(5, 1, 4, 2), []int64{5, 9}},
		{"more of one bucket than a byte holds", 9, 129, pairs(0, 128, 9, 1), []int64{0, 9}},
		{"a bucket beyond what a byte holds", 1 << 20, 1, pairs(128, 1), []int64{128, 128}},
		{"a number longer than it needs to be", 9, 1, []byte{0x89, 0, 1}, []int64{9, 9}},
		{"as many as a bucket can count", 5, math.MaxUint32, pairs(5, math.MaxUint32), []int64{5, 5}},
		{"more than a bucket can count", 5, math.MaxUint32 + 1, pairs(5, math.MaxUint32+1), nil},
		{"the last bucket", math.MaxInt64, 2, pairs(5, 1, last-5, 1), []int64{5, bucketMid(uint16(last))}},
		{"one beyond the last", math.MaxInt64, 2, pairs(5, 1, last-4, 1), nil},
		{"so far that it comes round to the one before", 9, 2, pairs(5, 1, math.MaxUint64, 1), nil},
		{"a negative highest value", -1, 1, pairs(5, 1), nil},
		{"fewer values than pairs say", 5, 1, pairs(5, 2), nil},
		{"fewer than none", 5, -1, pairs(5, 1), nil},
		{"more", 5, 3, pairs(5, 2), nil},
		{"a pair cut in two", 5, 0, pairs(5), nil},
		{"a pair cut in two, of a longer number", 5, 0, pairs(500), nil},
		{"a distance cut in two", 5, 0, []byte{0x80}, nil},
		{"a count cut in two", 5, 0, []byte{5, 0x80}, nil},
		{"a number of more than 64 bits", 5, 0, append(slices.Repeat([]byte{0xff}, 10), 1, 1), nil},
		{"a count of more than 64 bits", 5, 0, append(append([]byte{5}, slices.Repeat([]byte{0xff}, 10)...), 1), nil},
	} {
		h := Histogram{n: 7}
		err := h.SetPairs(c.top, c.n, c.pairs)
		if (err != nil) != (c.want == nil) {
			t.Errorf("%s: error %v", c.name, err)
			continue
		}
		encoded := append(pairs(uint64(c.top), uint64(c.n), uint64(len(c.pairs))), c.pairs...)
		decoded, rest, err := DecodeHistogram(append(encoded, "rest"...))
		if (err != nil) != (c.want == nil) {
			t.Errorf("%s: decoded: error %v", c.name, err)
			continue
		}
		if c.want == nil {
			continue
		}
		for _, got := range []*Histogram{&h, decoded} {
			if !slices.Equal(got.Quantiles(1e-9, 1), c.want) || got.Count() != c.n || got.Max() != c.top || string(rest) != "rest" {
				t.Errorf("%s: %v of %d up to %d, and %q", c.name, got.Quantiles(1e-9, 1), got.Count(), got.Max(), rest)
			}
		}
		var added Histogram // one that grows while they are read
		added.AddN(5, 2)
		if added.Merge(&h); added.Count() != c.n+2 {
			t.Errorf("%s: added: %d", c.name, added.Count())
		}
	}
}

func BenchmarkHistogramMergeDecoded(b *testing.B) {
	random := rand.New(rand.NewPCG(5, 6))
	var cell Histogram
	for range 250 { // a busy second of one target
		cell.Add(int64(20_000 * math.Exp(random.NormFloat64()/2)))
	}
	encoded, err := cell.AppendBinary(nil)
	if err != nil {
		b.Fatal(err)
	}
	var total, decoded Histogram
	for b.Loop() {
		if _, err := decoded.Decode(encoded); err != nil {
			b.Fatal(err)
		}
		total.Merge(&decoded)
	}
	b.ReportMetric(float64(len(encoded)), "B/cell")
}
