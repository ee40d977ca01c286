package accesslog

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"gapless/analysis"
)

// Whatever bytes an object holds, every line of it is understood or set aside, and
// every understood one is counted once or left out by the configured match.
func TestEveryLineIsAccountedFor(t *testing.T) {
	rules := benchRules(t)
	sound := generate(200)
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 2))
	rounds := 3000
	if testing.Short() {
		rounds = 300
	}
	understood, aside, unmatched := 0, 0, 0
	for range rounds {
		data := spoil(random, sound)
		packed := random.IntN(3) == 0
		source := data
		if packed {
			source = compress(data)
		}
		match := []Match{{}, {LoadBalancer: "shop-public"}, {LoadBalancer: "another"}, {Host: "shop.example.test"}, {TargetGroup: "shop-api"}}[random.IntN(5)]
		roll := newRollup(&albFormat{}, rules, &Config{Source: "alb", Slow: time.Second, Match: match}, analysis.Object{Key: "k"})
		end, err := eachLine(context.Background(), bytes.NewReader(source), roll.add)
		if err != nil {
			t.Fatal(err)
		}
		b := roll.finish(end)
		lines := bytes.Count(data, []byte("\n"))
		if len(data) > 0 && data[len(data)-1] != '\n' {
			lines++
		}
		counted := 0
		for i := range b.Cells {
			counted += b.Cells[i].Count
		}
		whole := packed || !bytes.HasPrefix(data, []byte{0x1f}) // else it is taken for gzip
		if b.Understood+b.SetAside != b.Object.Lines || counted+b.Unmatched != b.Understood || len(b.Lines) != b.SetAside ||
			whole && (b.Object.Lines != lines || b.Partial) {
			t.Fatalf("%d lines read as %d (partial %v): %d understood, %d set aside and %d of them kept, %d counted, %d unmatched; gzip %v; match %+v\n%q",
				lines, b.Object.Lines, b.Partial, b.Understood, b.SetAside, len(b.Lines), counted, b.Unmatched, packed, match, data)
		}
		understood, aside, unmatched = understood+b.Understood, aside+b.SetAside, unmatched+b.Unmatched
	}
	if understood == 0 || aside == 0 || unmatched == 0 {
		t.Errorf("%d understood, %d set aside, %d unmatched: not every case came up", understood, aside, unmatched)
	}
}

// spoil makes arbitrary bytes: noise, or sound lines of which some were damaged.
func spoil(random *rand.Rand, sound []byte) []byte {
	if random.IntN(4) == 0 {
		noise := make([]byte, random.IntN(500))
		for i := range noise {
			noise[i] = "\n\r\" -\\\x00\xff1aT:"[random.IntN(12)]
			if random.IntN(2) == 0 {
				noise[i] = byte(random.Uint32())
			}
		}
		return noise
	}
	from := random.IntN(len(sound))
	data := bytes.Clone(sound[from:min(len(sound), from+random.IntN(8000))])
	for range random.IntN(20) {
		if len(data) == 0 {
			break
		}
		i := random.IntN(len(data))
		switch random.IntN(4) {
		case 0:
			data[i] = byte(random.Uint32())
		case 1:
			data[i] = "\n\" "[random.IntN(3)]
		case 2:
			data = append(data[:i], data[min(len(data), i+random.IntN(50)):]...)
		case 3:
			data = bytes.Join([][]byte{data[:i], data[:min(random.IntN(300), len(data))], data[i:]}, nil)
		}
	}
	return data
}
