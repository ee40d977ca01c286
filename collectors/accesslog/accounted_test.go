package accesslog

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"gapless/analysis"
)

// Whatever bytes an object of any kind holds, every line of it is understood or set
// aside, and every understood one is counted once or left out by the configured match.
func TestEveryLineIsAccountedFor(t *testing.T) {
	rules := benchRules(t)
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 2))
	rounds := 600
	if testing.Short() {
		rounds = 60
	}
	for _, kind := range Formats {
		sound := soundLines(t, kind)
		understood, aside, unmatched := 0, 0, 0
		for range rounds {
			data := spoil(random, sound)
			packed := random.IntN(3) == 0
			source := data
			if packed {
				source = compress(data)
			}
			match := []Match{{}, {}, {LoadBalancer: "another"}, {Host: "shop.example.test"}, {TargetGroup: "shop-api"}}[random.IntN(5)]
			cfg := Config{Source: "log", Kind: kind, Slow: time.Second, Match: match}
			b := rollUpAs(t, rules, &cfg, source)
			lines := bytes.Count(data, []byte("\n"))
			if len(data) > 0 && data[len(data)-1] != '\n' {
				lines++
			}
			whole := packed || !bytes.HasPrefix(data, []byte{0x1f}) // else it is taken for gzip
			if !accounted(&b, kind) || whole && (b.Object.Lines != lines || b.Partial) {
				t.Fatalf("%s: %d lines read as %d (partial %v): %d understood, %d set aside and %d of them kept, %d unmatched; gzip %v; match %+v\n%q",
					kind, lines, b.Object.Lines, b.Partial, b.Understood, b.SetAside, len(b.Lines), b.Unmatched, packed, match, data)
			}
			understood, aside, unmatched = understood+b.Understood, aside+b.SetAside, unmatched+b.Unmatched
		}
		if understood == 0 || aside == 0 || unmatched == 0 {
			t.Errorf("%s: %d understood, %d set aside, %d unmatched: not every case came up", kind, understood, aside, unmatched)
		}
	}
}

// accounted reports whether every line of a batch is understood or set aside, every
// one set aside is kept, and every understood one is counted once, or left out by the
// match. Connections are not counted.
func accounted(b *analysis.ObjectBatch, kind string) bool {
	counted := 0
	for i := range b.Cells {
		counted += b.Cells[i].Count
	}
	switch kind {
	case KindALBHealth:
		counted += len(b.Checks)
	case KindALBConnections:
		counted += b.Understood - b.Unmatched
		if len(b.Cells)+len(b.Requests)+len(b.Checks) > 0 {
			return false
		}
	}
	return b.Understood+b.SetAside == b.Object.Lines && counted+b.Unmatched == b.Understood && len(b.Lines) == b.SetAside
}

// soundLines are lines of a kind, of which most are understood.
func soundLines(tb testing.TB, kind string) []byte {
	tb.Helper()
	if kind == KindALB {
		return generate(200)
	}
	var all []byte
	for len(all) < 60000 {
		for _, c := range lineCases(tb, kind) {
			all = append(append(all, c.line...), '\n')
		}
	}
	return all
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
