package accesslog

import (
	"fmt"
	"testing"
	"time"

	"gapless/analysis"
)

// rollFailing rolls up a log of so many seconds in which each of the targets fails so
// many requests a second.
func rollFailing(t *testing.T, seconds, targets, each int) analysis.ObjectBatch {
	t.Helper()
	roll := newRollup(&albFormat{}, benchRules(t), &Config{Source: "alb", Slow: time.Hour}, analysis.Object{Key: "o"})
	start := time.Date(2026, 10, 14, 2, 30, 0, 0, time.UTC)
	number := 0
	for s := range seconds {
		for i := range each {
			for target := range targets {
				number++
				at := start.Add(time.Duration(s)*time.Second + time.Duration(i)*time.Second/time.Duration(each+1)).Format("2006-01-02T15:04:05.000000Z")
				roll.add(&line{number: number, text: fmt.Appendf(nil, `https %s app/shop/50dc6c495c0c9188 198.51.100.7:2817 10.0.1.%d:8080 -1 -1 -1 502 - 34 366 "GET https://shop.example.test:443/v1/%d HTTP/1.1" "x" - - arn:aws:elasticloadbalancing:ap-northeast-2:123456789012:targetgroup/api/73e2d6bc24d8a067 "Root=1-58337262-36d228ad5d99923122bbe354" "-" "-" 0 %s "forward" "-" "-" "10.0.1.%d:8080" "-" "-" "-"`,
					at, 11+target, number, at, 11+target)})
			}
		}
	}
	b := roll.finish(ending{lines: number})
	counted := 0
	for i := range b.Cells {
		counted += b.Cells[i].Count
	}
	if b.Understood != number || counted != number {
		t.Fatalf("%d understood and %d counted of %d", b.Understood, counted, number)
	}
	return b
}

// However much fails, what is kept one by one is bounded, by second and kind and by
// object; it is everything where no more than wholeKept fail, and elsewhere spread evenly over time,
// with the first of each second while there is room, and the first of each kind.
func TestFailuresKeptOneByOne(t *testing.T) {
	for _, c := range []struct {
		seconds, targets, each int
		least, most            int // kept in all
		leastEach, mostEach    int // of a second and kind
	}{
		{1, 1, wholeKept, wholeKept, wholeKept, wholeKept, wholeKept}, // all
		{20, 4, 25, wholeKept, wholeKept, 25, 25},                     // all
		{20, 4, 26, 20 * 4 * alikeKept / 2, 20 * 4 * alikeKept, alikeKept / 2, alikeKept},
		{20, 4, 3000, 20 * 4 * alikeKept / 2, 20 * 4 * alikeKept, alikeKept / 2, alikeKept},
		{100, 2, 200, failuresKept / 2, failuresKept, 1, alikeKept}, // more than an object keeps
		{1500, 1, 2, failuresKept / 2, failuresKept, 0, 1},          // more seconds than that
		{1, 1, wholeKept + 1, alikeKept / 2, alikeKept, alikeKept / 2, alikeKept},
		{1, 1, 100000, alikeKept / 2, alikeKept, alikeKept / 2, alikeKept},
	} {
		t.Run(fmt.Sprintf("%d s, %d targets, %d each", c.seconds, c.targets, c.each), func(t *testing.T) {
			b := rollFailing(t, c.seconds, c.targets, c.each)
			if n := len(b.Requests); n < c.least || n > c.most {
				t.Errorf("%d kept, want %d to %d", n, c.least, c.most)
			}
			kept, quarters := map[analysis.CellKey]int{}, [4]int{}
			for i := range b.Requests {
				r := &b.Requests[i]
				if i > 0 && r.Line <= b.Requests[i-1].Line {
					t.Fatalf("line %d after %d", r.Line, b.Requests[i-1].Line)
				}
				kept[r.CellKey]++
				quarters[4*(r.Line-1)/b.Object.Lines]++
			}
			for i := range b.Cells {
				if n := kept[b.Cells[i].CellKey]; n < c.leastEach || n > c.mostEach {
					t.Errorf("%d kept of cell %d, want %d to %d", n, i, c.leastEach, c.mostEach)
				}
			}
			if b.Requests[0].Line > c.targets {
				t.Errorf("the first of a kind is not kept: line %d", b.Requests[0].Line)
			}
			for _, n := range quarters {
				if 4*n < len(b.Requests)-4*c.targets-4 || 4*n > len(b.Requests)+4*c.targets+12 {
					t.Errorf("kept by quarter of the log: %v", quarters)
				}
			}
		})
	}
}
