package store

import (
	"math/rand/v2"
	"testing"
)

func TestPackedBucketsRoundTrip(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, share := range []int{0, 1, 50, 99, 100} {
		var set [bucketsOfDay]bool
		for i := range set {
			set[i] = random.IntN(100) < share
		}
		packed := packBuckets(&set)
		if got, err := unpackBuckets(packed); err != nil || got != set {
			t.Errorf("%d %% set: not the same, %v", share, err)
		}
		if share == 100 && len(packed) != 3 {
			t.Errorf("a whole day takes %d bytes", len(packed))
		}
	}
	for _, damaged := range [][]byte{{0x80}, {1, 0xff, 0xff, 0x7f}} {
		if _, err := unpackBuckets(damaged); err == nil {
			t.Errorf("%x is no error", damaged)
		}
	}
}
