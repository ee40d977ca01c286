package accesslog

import (
	"bytes"
	"context"
	"io"
	"runtime"
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
	for b.Loop() {
		if _, ok := f.parse(lines[i], &e); !ok {
			b.Fatalf("not understood: %s", lines[i])
		}
		if i++; i == len(lines) {
			i = 0
		}
	}
	reportLines(b, 1)
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
		for b.Loop() {
			z, err := gzip.NewReader(bytes.NewReader(packed))
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, z); err != nil {
				b.Fatal(err)
			}
		}
		reportLines(b, benchLines)
	})
	b.Run("rollup-only", func(b *testing.B) {
		rules := benchRules(b)
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			rollBytes(b, rules, text)
		}
		reportLines(b, benchLines)
	})
	b.Run("whole", func(b *testing.B) {
		rules := benchRules(b)
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			rollBytes(b, rules, packed)
		}
		reportLines(b, benchLines)
	})
}

func rollBytes(b *testing.B, rules *analysis.Classifier, data []byte) {
	roll := newRollup(&albFormat{}, rules, &Config{Source: "alb", Slow: time.Second}, analysis.Object{Key: "bench"})
	end, err := eachLine(context.Background(), bytes.NewReader(data), roll.add)
	if err != nil || end.err != nil {
		b.Fatal(err, end.err)
	}
	if batch := roll.finish(end); batch.Understood != benchLines {
		b.Fatalf("understood %d lines", batch.Understood)
	}
}

func reportLines(b *testing.B, perIteration int) {
	b.ReportMetric(float64(perIteration)*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
	runtime.KeepAlive(b)
}

func benchRules(tb testing.TB) *analysis.Classifier {
	tb.Helper()
	rules, err := analysis.NewClassifier(analysis.Service{
		Targets: []analysis.TargetName{{Name: "api-1", Address: "10.0.1.11:8080"}, {Name: "api-2", Address: "10.0.1.12:8080"}},
		Traffic: analysis.TrafficRules{
			Probe:  []analysis.TrafficRule{{UserAgentPrefix: "gapless-probe/"}},
			Health: []analysis.TrafficRule{{UserAgentPrefix: "gapless-health/"}, {UserAgentPrefix: "ELB-HealthChecker/"}, {Path: "/actuator/health"}},
			Tool:   []analysis.TrafficRule{{Client: "10.0.0.0/8"}},
		},
		Routes: []analysis.Route{{Name: "order", Match: "^/v1/orders", Critical: true}, {Name: "search", Match: "^/v2/search"}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return rules
}

// generate makes n lines over five minutes.
func generate(n int) []byte {
	g := albgen.New(albgen.Settings{Seed: 1, Start: time.Date(2026, 10, 14, 2, 30, 0, 0, time.UTC), Step: 5 * time.Minute / time.Duration(n)})
	var text []byte
	for range n {
		text = g.Append(text)
	}
	return text
}

func compress(text []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(text) // a bytes.Buffer takes everything
	_ = z.Close()
	return b.Bytes()
}
