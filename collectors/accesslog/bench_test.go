//go:build unix

package accesslog

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"gapless/analysis"
	"gapless/collectors/accesslog/albgen"
	"gapless/store"
)

const benchLines = 200000

// BenchmarkParse is the tokenizer alone, a line an iteration.
func BenchmarkParse(b *testing.B) {
	lines := bytes.Split(bytes.TrimSuffix(generate(20000), []byte("\n")), []byte("\n"))
	size := 0
	for _, line := range lines {
		size += len(line)
	}
	var f albFormat
	var e entry
	b.SetBytes(int64(size / len(lines)))
	b.ReportAllocs()
	i := 0
	began := cpuTime(b)
	for b.Loop() {
		if _, ok := f.parse(lines[i], &e); !ok {
			b.Fatalf("not understood: %s", lines[i])
		}
		if i++; i == len(lines) {
			i = 0
		}
	}
	reportLines(b, 1, began)
}

// BenchmarkObject reads one gzip object of benchLines lines, an object an iteration:
// plain unpacking and then the whole way to a batch, for comparison in one run.
func BenchmarkObject(b *testing.B) {
	text := generate(benchLines)
	packed := compress(text)
	b.Logf("%d lines, %.0f bytes a line, packed to %.1f %%", benchLines, float64(len(text))/benchLines, 100*float64(len(packed))/float64(len(text)))
	b.Run("unpack", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		began := cpuTime(b)
		for b.Loop() {
			z, err := gzip.NewReader(bytes.NewReader(packed))
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, z); err != nil {
				b.Fatal(err)
			}
		}
		reportLines(b, benchLines, began)
	})
	b.Run("rollup-only", func(b *testing.B) {
		rules := benchRules(b)
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		began := cpuTime(b)
		for b.Loop() {
			rollBytes(b, rules, text)
		}
		reportLines(b, benchLines, began)
	})
	b.Run("whole", func(b *testing.B) {
		rules := benchRules(b)
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		began := cpuTime(b)
		for b.Loop() {
			rollBytes(b, rules, packed)
		}
		reportLines(b, benchLines, began)
	})
}

// BenchmarkPass is one pass over eight objects of 250,000 lines each, into SQLite. It
// reports for how many processors there was work meanwhile, by the scheduler's own
// account of the time in which one had none, which other work on the machine does not
// bend.
func BenchmarkPass(b *testing.B) {
	const objects, lines = 8, 250_000
	dir := b.TempDir()
	file := filepath.Join(dir, "log.gz")
	if err := albgen.WriteFile(file, lines, 5*time.Minute, albgen.Settings{Seed: 5, Start: growthStart}); err != nil {
		b.Fatal(err)
	}
	packed, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	root := filepath.Join(dir, "log")
	for i := range objects {
		name := filepath.Join(root, filepath.FromSlash(objectKey("2026-10-14 02:35", strconv.Itoa(i))))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, packed, 0o600)); err != nil {
			b.Fatal(err)
		}
	}
	rules := benchRules(b)
	cpu, n := time.Duration(0), 0
	var idle, total float64
	for b.Loop() {
		b.StopTimer()
		db, err := store.Open(b.Context(), filepath.Join(dir, strconv.Itoa(n)+".db"))
		if err == nil {
			err = db.PutService(b.Context(), analysis.Service{Name: "shop"})
		}
		if err != nil {
			b.Fatal(err)
		}
		r, err := New(b.Context(), Config{Service: "shop", Source: "alb", Kind: KindALB, URL: "file://" + filepath.ToSlash(root)}, rules, db)
		if err != nil {
			b.Fatal(err)
		}
		began := cpuTime(b)
		idleBefore, totalBefore := processorTime()
		b.StartTimer()
		if err := r.Collect(b.Context(), growthStart, growthStart.Add(5*time.Minute), nil); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		cpu += cpuTime(b) - began
		idleAfter, totalAfter := processorTime()
		idle, total = idle+idleAfter-idleBefore, total+totalAfter-totalBefore
		if err := db.Close(); err != nil {
			b.Fatal(err)
		}
		n++
		b.StartTimer()
	}
	all := float64(n * objects * lines)
	b.ReportMetric(all/b.Elapsed().Seconds(), "lines/s")
	b.ReportMetric(float64(cpu)/all, "cpu-ns/line")
	b.ReportMetric(float64(runtime.GOMAXPROCS(0))*(1-idle/total), "processors-busy")
}

// processorTime is the time of all processors since the process began, and that in
// which there was nothing to do for them, in seconds.
func processorTime() (idle, total float64) {
	runtime.GC() // brings the account up to date
	samples := []metrics.Sample{{Name: "/cpu/classes/idle:cpu-seconds"}, {Name: "/cpu/classes/total:cpu-seconds"}}
	metrics.Read(samples)
	return samples[0].Value.Float64(), samples[1].Value.Float64()
}

func rollBytes(b *testing.B, rules *analysis.Classifier, data []byte) {
	roll := newRollup(&albFormat{}, rules, &Config{Source: "alb", Slow: time.Second}, analysis.Object{Key: "bench", Node: albgen.Node})
	end, err := eachLine(context.Background(), bytes.NewReader(data), roll.add)
	if err != nil || end.err != nil {
		b.Fatal(err, end.err)
	}
	if batch := roll.finish(end); batch.Understood != benchLines {
		b.Fatalf("understood %d lines", batch.Understood)
	}
}

// reportLines reports the speed by the wall clock, and the processor time of a line,
// over all threads, which other work on the machine disturbs less.
func reportLines(b *testing.B, perIteration int, began time.Duration) {
	b.Helper()
	lines := float64(perIteration) * float64(b.N)
	b.ReportMetric(lines/b.Elapsed().Seconds(), "lines/s")
	b.ReportMetric(float64(cpuTime(b)-began)/lines, "cpu-ns/line")
}

// cpuTime is the processor time that this process has used.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
