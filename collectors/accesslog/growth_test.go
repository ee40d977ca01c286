package accesslog

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gapless/analysis"
	"gapless/collectors/accesslog/albgen"
	"gapless/store"
)

var growthStart = time.Date(2026, 10, 14, 2, 30, 0, 0, time.UTC)

// ingestGenerated reads so many generated lines of five minutes into a new database
// and closes it; the result is its path.
func ingestGenerated(t *testing.T, lines int) string {
	t.Helper()
	dir := t.TempDir()
	name := filepath.Join(dir, filepath.FromSlash(objectKey("2026-10-14 02:35", "a")))
	if err := albgen.WriteFile(name, lines, 5*time.Minute, albgen.Settings{Seed: 5, Start: growthStart}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "gapless.db")
	db := openStore(t, path)
	if err := db.PutService(t.Context(), analysis.Service{Name: "shop"}); err != nil {
		t.Fatal(err)
	}
	r := newReader(t, "file://"+filepath.ToSlash(dir)+"/AWSLogs", db)
	if err := r.Collect(t.Context(), growthStart, growthStart.Add(5*time.Minute), nil); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func openStore(t *testing.T, path string) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// Percentiles that were read from lines, rolled up, stored, read back and merged are
// within the sketch's stated error of the exact ones, which are computed here from
// the lines' own text.
func TestPercentilesEndToEnd(t *testing.T) {
	const lines = 30000
	path := ingestGenerated(t, lines)
	exact := map[int64][]int64{} // by minute of the start, microseconds
	g := albgen.New(albgen.Settings{Seed: 5, Start: growthStart, Step: 5 * time.Minute / lines})
	for range lines {
		f := strings.Fields(string(g.Append(nil)))
		status := f[8]
		if status >= "400" || f[9] >= "500" && f[9] != "-" {
			continue
		}
		end, err := time.Parse(time.RFC3339Nano, f[1])
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range f[12:] { // the user agent has any number of words; the start is the only other time
			if start, err := time.Parse(time.RFC3339Nano, field); err == nil {
				minute := start.Unix() / 60
				exact[minute] = append(exact[minute], end.Sub(start).Microseconds())
			}
		}
	}
	o, err := openStore(t, path).ObservationsBetween(t.Context(), "shop", growthStart.Add(-time.Minute), growthStart.Add(10*time.Minute), "")
	if err != nil {
		t.Fatal(err)
	}
	merged := map[int64]*analysis.Histogram{}
	for _, l := range o.Latencies {
		minute := l.Second / 60
		if merged[minute] == nil {
			merged[minute] = new(analysis.Histogram)
		}
		merged[minute].Merge(l.Took)
	}
	if len(merged) != len(exact) || len(exact) < 5 {
		t.Fatalf("%d minutes, want %d", len(merged), len(exact))
	}
	shares := []float64{0.5, 0.9, 0.95, 0.99, 0.999, 1}
	worst := 0.0
	for minute, values := range exact {
		slices.Sort(values)
		h := merged[minute]
		if h.Count() != len(values) || h.Max() != values[len(values)-1] {
			t.Errorf("minute %d: %d values up to %d, want %d up to %d", minute, h.Count(), h.Max(), len(values), values[len(values)-1])
		}
		for i, got := range h.Quantiles(shares...) {
			want := values[int(math.Ceil(shares[i]*float64(len(values))))-1]
			off := math.Abs(float64(got-want)) / float64(want)
			worst = max(worst, off)
			if off > analysis.HistogramError {
				t.Errorf("minute %d: p%g is %d µs, exactly %d: %.2f %% off", minute, 100*shares[i], got, want, 100*off)
			}
		}
	}
	t.Logf("at most %.2f %% off, stated %.2f %%", 100*worst, 100*analysis.HistogramError)
}

// What a database grows by follows from the window, not from its traffic: there are
// as many cells as seconds and kinds of request in them, and a cell's sketch is
// bounded by the spread of its latencies, and what is kept one by one has a bound.
// Twenty times the requests fill kinds that were rare and buckets that were empty.
func TestDatabaseDoesNotGrowWithTraffic(t *testing.T) {
	few, many := 20_000, 400_000
	if testing.Short() {
		many = 100_000
	}
	size := map[int]int64{}
	for _, lines := range []int{few, many} {
		path := ingestGenerated(t, lines)
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		size[lines] = info.Size()
		o, err := openStore(t, path).ObservationsBetween(t.Context(), "shop", growthStart.Add(-time.Minute), growthStart.Add(10*time.Minute), "")
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d lines: %.1f MB, %d cells, %d requests one by one", lines, float64(info.Size())/1e6, len(o.Cells), len(o.Requests))
	}
	if size[many] > 3*size[few] {
		t.Errorf("%d lines take %d bytes, %d take %d", few, size[few], many, size[many])
	}
}
