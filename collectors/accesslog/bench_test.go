//go:build unix

package accesslog

import (
	"bytes"
	"context"
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"gapless/analysis"
	"gapless/collectors/accesslog/albgen"
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
