package analysis

import (
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

func TestDecodeHistogramRefusesDamage(t *testing.T) {
	var h Histogram
	for v := range int64(100) {
		h.Add(v * 1000)
	}
	b, err := h.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, damaged := range map[string][]byte{
		"wrong number of values": append([]byte{b[0], b[1], b[2], b[3] + 1}, b[4:]...),
		"bucket beyond the last": {0, 1, 4, 0xff, 0xff, 0x03, 1},
		"pair cut in two":        {0, 1, 1, 5},
	} {
		if _, _, err := DecodeHistogram(damaged); err == nil {
			t.Errorf("%s: no error", name)
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
