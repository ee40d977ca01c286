package store_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"gapless/store"
)

// TestSizeFollowsTheWindow stores the same half hour, of two nodes and six kinds of
// request a second, with a hundred thousand requests and with ten million. The cells
// are the same, and cost the same. Their sketches are fuller (five values each, then
// 463), which ends at the spread of the latencies: from there on nothing grows.
func TestSizeFollowsTheWindow(t *testing.T) {
	const cells = 21_600
	size := map[int]int64{}
	for _, perCell := range []int{5, 50, 463} {
		path := filepath.Join(t.TempDir(), "gapless.db")
		db, err := store.Open(t.Context(), path)
		must(t, err)
		t.Cleanup(func() { _ = db.Close() })
		put(t, db, service("orders-api"))
		stored, requests := 0, 0
		for _, b := range busyBatches(30*time.Minute, cells, perCell) {
			_, err := db.AddObject(t.Context(), "orders-api", b)
			must(t, err)
			stored += len(b.Cells)
			for _, c := range b.Cells {
				requests += c.Count
			}
		}
		must(t, db.Close())
		if stored != cells {
			t.Fatalf("%d cells, want %d", stored, cells)
		}
		info, err := os.Stat(path)
		must(t, err)
		size[perCell] = info.Size()
		t.Logf("%d requests in %d cells: %.2f MB, %.0f bytes a cell", requests, stored, float64(info.Size())/1e6, float64(info.Size())/float64(stored))
	}
	// What a cell can take at most: a sketch of every bucket from 5 to 350 ms, over six
	// powers of two of 64 buckets, two bytes each, and some 40 bytes for the rest.
	if most := int64(cells * (6*64*2 + 40)); size[463] > most {
		t.Errorf("ten million requests take %d bytes, bound %d", size[463], most)
	}
	if size[463] > 12*size[5] {
		t.Errorf("a hundred times the requests take %d bytes where a hundredth took %d", size[463], size[5])
	}
}
