package store_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"gapless/store"
)

// TestSizeFollowsTheWindow stores the same half hour, of two nodes and six kinds of
// request a second, with a hundred thousand requests, with ten million and with a
// hundred million. The cells are the same, and cost the same. The sketches, one a node
// and second, are fuller (thirty values each, then 2778, then 27780), until every bucket
// within the spread of the latencies is in use: from there on a bucket's count takes
// half a bit more for twice the requests.
func TestSizeFollowsTheWindow(t *testing.T) {
	const cells = 21_600
	size := map[int]int64{}
	for _, perCell := range []int{5, 50, 463, 4630} {
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
	// A cell takes some 25 bytes, and a sketch of every bucket from 5 to 350 ms, over six
	// powers of two of 64 buckets, at most nine bits for each.
	if most := int64(cells*25 + 2*1800*6*64*9/8); size[4630] > most {
		t.Errorf("a hundred million requests take %d bytes, bound %d", size[4630], most)
	}
	if size[463] > 4*size[5] {
		t.Errorf("a hundred times the requests take %d bytes where a hundredth took %d", size[463], size[5])
	}
	if 4*size[4630] > 5*size[463] {
		t.Errorf("ten times as many take %d bytes where ten million took %d", size[4630], size[463])
	}
}
