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
