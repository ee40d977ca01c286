package store

import (
	"cmp"
	"math"
	"slices"
	"testing"
	"time"

	"gapless/analysis"
)

func TestPackedCellsRoundTrip(t *testing.T) {
	latency := new(analysis.Histogram)
	for _, v := range []int64{0, 90, 1_000, 5_255_000} {
		latency.AddN(v, 300)
	}
	moment := time.UnixMicro(1_791_000_007_123_456).UTC()
	key := analysis.CellKey{Second: moment.Unix(), Source: "alb", Node: "10.0.0.1", TargetGroup: "api", Target: "api-1",
		Class: analysis.ClassUser, Outcome: analysis.OutcomeOK, Route: "order", Status: 200, TargetStatus: 200}
	var cells []analysis.Cell
	var latencies []analysis.Latencies
	add := func(change func(*analysis.Cell)) {
		c := analysis.Cell{CellKey: key, Count: 1200, First: moment, Last: moment.Add(9 * time.Hour)}
		change(&c)
		cells = append(cells, c)
		if c.Outcome == analysis.OutcomeOK && (len(latencies) == 0 || latencies[len(latencies)-1].Second != c.Second) {
			key := analysis.LatencyKey{Second: c.Second, Source: c.Source, Node: c.Node, Class: c.Class, Route: c.Route}
			latencies = append(latencies, analysis.Latencies{LatencyKey: key, Took: latency})
		}
	}
	add(func(*analysis.Cell) {})
	add(func(c *analysis.Cell) { c.Outcome = analysis.OutcomeLB5xx })
	add(func(c *analysis.Cell) { c.Target, c.First = "", time.Time{} })
	add(func(c *analysis.Cell) { c.Node, c.Last = "", time.Time{} })
	add(func(c *analysis.Cell) { c.Route, c.Last = "ü\x00", c.First.Add(-time.Hour) })
	add(func(c *analysis.Cell) { c.Second -= 3; c.Count = math.MaxInt32 })
	add(func(c *analysis.Cell) { c.Second += 300; c.TargetStatus = 0 })
	add(func(c *analysis.Cell) { c.Second++; c.Masked = 700 })
	add(func(c *analysis.Cell) { c.Second = -15 }) // nobody's log, but no reason to break
	rows, err := packCells("alb", cells, latencies)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 3 {
		t.Errorf("%d rows, want 3", len(rows))
	}
	u := newUnpacker(time.Unix(-100, 0), moment.Add(time.Hour), 0)
	for _, row := range rows {
		if err := u.add("alb", row.bucket, row.data); err != nil {
			t.Fatal(err)
		}
	}
	slices.SortStableFunc(cells, func(a, b analysis.Cell) int { return compareKeys(&a.CellKey, &b.CellKey) })
	if len(u.cells) != len(cells) {
		t.Fatalf("%d cells, want %d", len(u.cells), len(cells))
	}
	for i, got := range u.cells {
		if want := cells[i]; got != want {
			t.Errorf("cell %d:\n got %+v\nwant %+v", i, got, want)
		}
	}
	slices.SortStableFunc(latencies, func(a, b analysis.Latencies) int { return cmp.Compare(a.Second, b.Second) })
	if len(u.latencies) != len(latencies) || len(latencies) < 4 {
		t.Fatalf("%d latencies, want %d", len(u.latencies), len(latencies))
	}
	for i, got := range u.latencies {
		want := latencies[i]
		if got.LatencyKey != want.LatencyKey || got.Took.Count() != want.Took.Count() || got.Took.Max() != want.Took.Max() ||
			!slices.Equal(got.Took.Quantiles(.1, .5, .9), want.Took.Quantiles(.1, .5, .9)) {
			t.Errorf("latencies %d: %+v, want %+v", i, got.LatencyKey, want.LatencyKey)
		}
	}
}

func TestSameCellsAreTheSameBytes(t *testing.T) {
	a := []analysis.Cell{{CellKey: analysis.CellKey{Second: 1, Target: "x"}, Count: 1}, {CellKey: analysis.CellKey{Second: 2, Target: "y"}, Count: 2}}
	b := []analysis.Cell{a[1], a[0]}
	first, err := packCells("", a, nil)
	if err != nil {
		t.Fatal(err)
	}
	second, err := packCells("", b, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(first[0].data, second[0].data) {
		t.Error("the order in which cells come changes their bytes")
	}
	if _, err := packCells("other", a, nil); err == nil {
		t.Error("cells of another source: no error")
	}
	took := new(analysis.Histogram)
	took.Add(1)
	for name, l := range map[string]analysis.Latencies{
		"of another source":          {LatencyKey: analysis.LatencyKey{Second: 1, Source: "other"}, Took: took},
		"of a second without a cell": {LatencyKey: analysis.LatencyKey{Second: 20}, Took: took},
		"without a single one":       {LatencyKey: analysis.LatencyKey{Second: 1}, Took: new(analysis.Histogram)},
	} {
		if _, err := packCells("", a, []analysis.Latencies{l}); err == nil {
			t.Errorf("latencies %s: no error", name)
		}
	}
}

// TestDamagedCellsAreAnError flips every bit and cuts at every byte: damage must
// neither be read as numbers nor crash.
func TestDamagedCellsAreAnError(t *testing.T) {
	latency := new(analysis.Histogram)
	latency.Add(1000)
	rows, err := packCells("", []analysis.Cell{{CellKey: analysis.CellKey{Second: 1, Target: "x"}, Count: 1, First: time.Unix(1, 0)}},
		[]analysis.Latencies{{LatencyKey: analysis.LatencyKey{Second: 1}, Took: latency}})
	if err != nil {
		t.Fatal(err)
	}
	good := rows[0].data
	read := func(b []byte) error {
		return newUnpacker(time.Unix(0, 0), time.Unix(10, 0), 0).add("", 0, b)
	}
	if err := read(good); err != nil {
		t.Fatal(err)
	}
	for i := range good {
		if read(good[:i]) == nil {
			t.Errorf("cut at %d: no error", i)
		}
		for bit := range 8 {
			bad := slices.Clone(good)
			bad[i] ^= 1 << bit
			if read(bad) == nil {
				t.Errorf("byte %d, bit %d flipped: no error", i, bit)
			}
		}
	}
}

func FuzzUnpack(f *testing.F) {
	latency := new(analysis.Histogram)
	for i := range int64(500) {
		latency.Add(i * i)
	}
	for n := range 3 {
		cells := []analysis.Cell{{CellKey: analysis.CellKey{Second: 1, Target: "x"}, Count: 500, First: time.Unix(1, 0)}}
		for i := range 300 * n {
			cells = append(cells, analysis.Cell{CellKey: analysis.CellKey{Second: int64(i % 9), Route: string(rune('a' + i%26)), Status: i}, Count: 1})
		}
		rows, err := packCells("", cells, []analysis.Latencies{{LatencyKey: analysis.LatencyKey{Second: 1, Route: "a"}, Took: latency}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(rows[0].data[:len(rows[0].data)-4])
	}
	f.Add([]byte{packFormat, 1, 23, 0, 1, 1, 'x', 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 1, 1, 1, 0, 0, 0, 2, 1, 1, 1, 0, 5, 1, 0, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		_ = packedCount(b)
		_ = newUnpacker(time.Unix(0, 0), time.Unix(1<<33, 0), 0).add("", 1, sealed(b)) // must not crash
		if seqs, err := unpackSeqs(b); err == nil && !slices.IsSorted(seqs) {
			t.Errorf("sequence numbers %v are not in order", seqs)
		}
	})
}

func TestSubtractRuns(t *testing.T) {
	good := func(from, to int64) earlierRun { return earlierRun{span: span{from, to}} }
	bad := func(from, to int64) earlierRun { return earlierRun{span: span{from, to}, otherwise: true} }
	for name, c := range map[string]struct {
		earlier []earlierRun // latest first
		want    []span
	}{
		"nothing is known":             {nil, []span{{10, 20}}},
		"all of it is known":           {[]earlierRun{good(0, 30)}, nil},
		"the start is known":           {[]earlierRun{good(0, 15)}, []span{{15, 20}}},
		"the middle is known":          {[]earlierRun{good(12, 15)}, []span{{10, 12}, {15, 20}}},
		"two together":                 {[]earlierRun{good(14, 20), good(10, 14)}, nil},
		"a failure since":              {[]earlierRun{bad(12, 14), good(0, 30)}, []span{{12, 14}}},
		"a failure healed already":     {[]earlierRun{good(11, 15), bad(12, 14), good(0, 30)}, nil},
		"a failure that was healed by": {[]earlierRun{good(13, 15), bad(12, 14), good(0, 30)}, []span{{12, 13}}},
	} {
		if got := without(span{10, 20}, c.earlier); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// Helpers.

// sealed appends the right checksum, so that a fuzzer gets past it.
func sealed(b []byte) []byte {
	return appendChecksum(slices.Clone(b))
}
