package store_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gapless/analysis"
	"gapless/store"
)

// TestReadersGoOnDuringIngest reads while objects are stored as fast as they can
// be, and checks that each reading is of one moment: an object is seen whole with
// all of its rows, or not at all.
func TestReadersGoOnDuringIngest(t *testing.T) {
	db, ctx := open(t)
	const objects, perObject = 40, 50
	ctx, stop := context.WithCancel(ctx)
	var reads atomic.Int64
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(func() {
			for ctx.Err() == nil {
				o, err := db.ObservationsBetween(context.Background(), "orders-api", at(0), at(300), "")
				if err != nil {
					t.Errorf("read: %v", err)
					return
				}
				if len(o.Cells) != perObject*len(o.Objects) || len(o.Requests) != perObject*len(o.Objects) {
					t.Errorf("%d objects with %d cells and %d requests, want %d of each an object", len(o.Objects), len(o.Cells), len(o.Requests), perObject)
					return
				}
				reads.Add(1)
			}
		})
	}
	for i := range objects {
		var cells []analysis.Cell
		for second := range perObject {
			cells = append(cells, cell(at(float64(second)), 502))
		}
		if _, err := db.AddObject(context.Background(), "orders-api", batch(fmt.Sprint(i), at(0), cells...)); err != nil {
			t.Error(err)
		}
	}
	stop()
	wait.Wait()
	if reads.Load() < 5 {
		t.Errorf("only %d readings during the ingest", reads.Load())
	}
}

// TestWritersQueue has many writers at once: none may fail for want of the lock.
func TestWritersQueue(t *testing.T) {
	db, ctx := open(t)
	var wait sync.WaitGroup
	for writer := range 8 {
		wait.Go(func() {
			for i := range 20 {
				source := fmt.Sprintf("s%d", writer)
				p := probe(i, at(float64(i)))
				p.Source = source
				if err := db.AddProbes(ctx, "orders-api", run(source, at(0), at(float64(i))), []analysis.ProbeRequest{p}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	o, err := db.ObservationsBetween(ctx, "orders-api", at(0), at(60), "")
	if err != nil || len(o.Probes) != 160 {
		t.Errorf("%d probes, %v; want 160", len(o.Probes), err)
	}
}

// TestTwoProcessesShareAFile stands for a console and a command on one database:
// each reads before it writes, which fails unless the lock is taken at the start.
func TestTwoProcessesShareAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gapless.db")
	var wait sync.WaitGroup
	for process := range 2 {
		db, err := store.Open(t.Context(), path)
		must(t, err)
		t.Cleanup(func() { _ = db.Close() })
		put(t, db, service("orders-api"))
		wait.Go(func() {
			for i := range 100 {
				if _, err := db.StartDeploy(t.Context(), deploy(fmt.Sprint(process, "-", i), at(float64(i)))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
}

// TestCancelledWriteLeavesNothing cancels in the middle of a large object.
func TestCancelledWriteLeavesNothing(t *testing.T) {
	db, _ := open(t)
	big := busyBatches(10*time.Minute, 12_000, 3)[0]
	for i := range big.Cells {
		big.Requests = append(big.Requests, analysis.Request{CellKey: big.Cells[i].CellKey, Start: at(1), End: at(2), Line: i + 1})
	}
	for _, after := range []time.Duration{0, time.Millisecond, 5 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		if _, err := db.AddObject(ctx, "orders-api", big); err == nil {
			t.Logf("stored within %s", after)
			cancel()
			return
		}
		cancel()
		o, err := db.ObservationsBetween(t.Context(), "orders-api", at(0), at(600), "")
		must(t, err)
		if len(o.Objects)+len(o.Cells)+len(o.Requests) > 0 {
			t.Errorf("after %s: %d objects, %d cells and %d requests of a cancelled write", after, len(o.Objects), len(o.Cells), len(o.Requests))
		}
	}
}
