package main

import (
	"archive/zip"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"gapless/analysis"
	"gapless/store/evidence"
)

// Two hundred megabytes of records are verified in memory that grows with what is
// judged, not with the text that it came from.
func TestVerifyOf200Megabytes(t *testing.T) {
	if testing.Short() || raced {
		t.Skip("it takes some seconds, and the detector's memory would be measured")
	}
	const size = 200 << 20
	file := filepath.Join(t.TempDir(), "large.zip")
	if keep := os.Getenv("GAPLESS_LARGE_BUNDLE"); keep != "" { // to measure the program itself
		file = keep
	}
	if got := writeLarge(t, file, size*6/5); got < size {
		t.Fatalf("%d bytes of records, want %d", got, size)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(50)) // as main sets it
	runtime.GC()
	base := heapInUse()
	done, peak := make(chan struct{}), make(chan uint64)
	go func() {
		highest := uint64(0)
		for {
			select {
			case <-done:
				peak <- highest
				return
			case <-time.After(5 * time.Millisecond):
				highest = max(highest, heapInUse())
			}
		}
	}()
	began := time.Now()
	status, stdout, stderr := runProgram(t, nil, "verify", file)
	took := time.Since(began)
	close(done)
	if status != exitOK {
		t.Fatalf("exit %d\n%s%s", status, stdout, stderr)
	}
	used := <-peak - base
	t.Logf("verified in %s with %d MB", took.Round(time.Millisecond), used>>20)
	if used > size*5/2 {
		t.Errorf("%d MB were in use at once", used>>20)
	}
}

func heapInUse() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// writeLarge writes a bundle and returns how many bytes its members have.
func writeLarge(t *testing.T, path string, size int) (total int64) {
	t.Helper()
	o := largeObservations(size)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, err = evidence.Write(f, o, evidence.Versions{Binary: version(), Go: "go", Schema: 1}, func(inputs string) ([]byte, error) {
		report := judge{}.judge(o)
		report.Provenance.InputsSHA256 = inputs
		return encodeReport(&report)
	})
	if err != nil {
		t.Fatal(err)
	}
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = z.Close() }()
	for _, f := range z.File {
		total += int64(f.UncompressedSize64)
	}
	return total
}

// largeObservations are so large that their records take some bytes: a third of them
// probe requests with the application's lines, a third cells, a third log rows.
func largeObservations(bytes int) analysis.Observations {
	start := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	o := analysis.Observations{
		Service: analysis.Service{
			Name: "orders-api", Window: analysis.WindowSettings{Baseline: time.Hour, Tail: time.Hour, Settle: time.Minute, Max: 48 * time.Hour},
			Targets:       []analysis.TargetName{{Name: "api-1", Address: "10.0.0.1:80"}, {Name: "api-2", Address: "10.0.0.2:80"}},
			LoadBalancers: []analysis.LoadBalancer{{Name: "public", AccessLogs: []analysis.AccessLog{{Name: "alb", Kind: "alb", Counts: true}}}},
			Probes:        []analysis.Probe{{Name: "store", Class: analysis.ClassProbe, Every: 100 * time.Millisecond, Timeout: time.Second}},
		},
		Deploy: analysis.Deploy{ID: "large", Service: "orders-api", Kind: analysis.KindRolling, Source: "test", StartedAt: start.Add(time.Hour)},
		From:   start,
	}
	n := bytes / 3 / 410 // what a probe request and its line take
	o.To = start.Add(time.Duration(n) * 100 * time.Millisecond)
	o.Deploy.ReportedAt, o.Deploy.Result = o.To.Add(-time.Hour), "succeeded"
	o.At = o.To.Add(time.Minute)
	o.Runs = []analysis.Run{{Source: "alb", Kind: "alb", From: o.From, To: o.To, At: o.At}, {Source: "store", Kind: "probe", From: o.From, To: o.To, At: o.At}}
	o.Objects = []analysis.Object{{Source: "alb", Node: "10.1.0.1", Key: "all", From: o.From, To: o.To.Add(time.Minute), Lines: 1, Understood: 1}}
	for i := range n {
		at := start.Add(time.Duration(i) * 100 * time.Millisecond)
		target := fmt.Sprintf("api-%d", 1+i%2)
		o.Probes = append(o.Probes, analysis.ProbeRequest{
			Source: "store", Probe: "store", Class: analysis.ClassProbe, Run: "r1", Seq: i, Sent: at,
			Done: at.Add(time.Duration(3000+i%977) * time.Microsecond), Status: 200, Outcome: analysis.OutcomeOK,
		})
		o.Handled = append(o.Handled, analysis.HandledRequest{Source: target, Target: target, Run: "r1", Seq: i, At: at.Add(time.Millisecond), Status: 200})
	}
	for i := range bytes / 3 / 560 {
		second := start.Unix() + int64(i)*int64(n)/10/int64(bytes/3/560)
		h := new(analysis.Histogram)
		for j := range 20 {
			h.Add(int64(1000 + (i*7+j*131)%90000))
		}
		o.Cells = append(o.Cells, analysis.Cell{
			CellKey: analysis.CellKey{Second: second, Source: "alb", Node: "10.1.0.1", TargetGroup: "api", Target: fmt.Sprintf("api-%d", 1+i%2),
				Class: analysis.ClassUser, Outcome: analysis.OutcomeOK, Route: "order", Status: 200, TargetStatus: 200},
			Count: 20, First: time.Unix(second, 1000).UTC(), Last: time.Unix(second, 900000000).UTC(),
		})
		o.Latencies = append(o.Latencies, analysis.Latencies{LatencyKey: analysis.LatencyKey{Second: second, Source: "alb", Node: "10.1.0.1", Class: analysis.ClassUser, Route: "order"}, Took: h})
	}
	for i := range bytes / 3 / 600 {
		at := start.Add(time.Duration(i) * time.Duration(n) * 100 * time.Millisecond / time.Duration(bytes/3/600))
		o.Requests = append(o.Requests, analysis.Request{
			CellKey: analysis.CellKey{Second: at.Unix(), Source: "alb", Node: "10.1.0.1", TargetGroup: "api", Target: "api-1",
				Class: analysis.ClassUser, Outcome: analysis.OutcomeOK, Route: "order", Status: 200, TargetStatus: 200},
			Start: at, End: at.Add(time.Second), Duration: time.Second, Method: "POST", URL: fmt.Sprintf("https://api.example.com/v1/orders/%d", i),
			Client: fmt.Sprintf("10.9.%d.%d:40000", i>>8&255, i&255), UserAgent: "OrderApp/7.2.0 (iPhone; iOS 20.1)", Connected: true,
			Object: fmt.Sprintf("AWSLogs/123456789012/elasticloadbalancing/ap-northeast-2/2026/11/29/object-%d.log.gz", i/100), Line: i % 100,
		})
	}
	return o
}
