package accesslog

import (
	"bytes"
	"runtime"
	"testing"
	"time"

	"gapless/analysis"
	"gapless/collectors/accesslog/albgen"
)

// Memory follows from the time that an object spans and from what failed in it, not
// from how many lines it has.
func TestMemoryDoesNotGrowWithTheLines(t *testing.T) {
	peak := func(lines int) uint64 {
		runtime.GC()
		source := &generated{lines: lines, generator: albgen.New(albgen.Settings{
			Seed: 2, Start: time.Date(2026, 10, 14, 2, 30, 0, 0, time.UTC), Step: 20 * time.Second / time.Duration(lines)})}
		roll := newRollup(&albFormat{}, benchRules(t), &Config{Source: "alb", Slow: time.Second}, analysis.Object{})
		highest, n := uint64(0), 0
		end, err := eachLine(t.Context(), source, func(l *line) {
			roll.add(l)
			if n++; n%(lines/8) == 0 {
				var stats runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&stats)
				highest = max(highest, stats.HeapAlloc)
			}
		})
		if err != nil || end.lines != lines {
			t.Fatal(end, err)
		}
		return highest
	}
	few, many := peak(40000), peak(240000)
	t.Logf("live heap %.1f MB with 40,000 lines, %.1f MB with 240,000", float64(few)/1e6, float64(many)/1e6)
	if many > few+few/2 || many > 64e6 {
		t.Errorf("live heap grew from %d to %d bytes with six times the lines", few, many)
	}
}

// generated delivers lines as they are asked for.
type generated struct {
	generator *albgen.Generator
	lines     int
	rest      bytes.Buffer
}

func (g *generated) Read(p []byte) (int, error) {
	for g.rest.Len() < len(p) && g.lines > 0 {
		g.rest.Write(g.generator.Append(g.rest.AvailableBuffer()))
		g.lines--
	}
	return g.rest.Read(p)
}
