package accesslog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"

	"gapless/analysis"
)

func TestLinesOfAnyShape(t *testing.T) {
	long := strings.Repeat("a", maxLine+1)
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"nothing":           {"", nil},
		"one line":          {"one\n", []string{"1@0 one"}},
		"no final line end": {"one\ntwo", []string{"1@0 one", "2@4 two"}},
		"empty lines":       {"\n\nthree\n", []string{"1@0 ", "2@1 ", "3@2 three"}},
		"carriage returns":  {"one\r\ntwo\r\n", []string{"1@0 one", "2@5 two"}},
		"not UTF-8":         {"\xff\xfe\nb\x00c\n", []string{"1@0 \xff\xfe", "2@3 b\x00c"}},
		"longer than a chunk": {"one\n" + long[:chunkSize+5] + "\nthree\n" + long[:chunkSize] + "\n" + long[:chunkSize-1] + "\nsix", []string{
			"1@0 one", "2@4 " + long[:chunkSize+5], fmt.Sprintf("3@%d three", chunkSize+10), fmt.Sprintf("4@%d ", chunkSize+16) + long[:chunkSize],
			fmt.Sprintf("5@%d ", 2*chunkSize+17) + long[:chunkSize-1], fmt.Sprintf("6@%d six", 3*chunkSize+17)}},
		"long and the last":     {"one\n" + long[:2*chunkSize+1], []string{"1@0 one", "2@4 " + long[:2*chunkSize+1]}},
		"longest":               {long[1:] + "\ntwo\n", []string{"1@0 " + long[1:], fmt.Sprintf("2@%d two", maxLine+1)}},
		"too long":              {"one\n" + long + "\nthree\n", []string{"1@0 one", fmt.Sprintf("2@4 long %d", maxLine+1), fmt.Sprintf("3@%d three", maxLine+6)}},
		"far too long":          {long + long + long + "\ntwo\n", []string{fmt.Sprintf("1@0 long %d", 3*maxLine+3), fmt.Sprintf("2@%d two", 3*maxLine+4)}},
		"too long and the last": {"one\n" + long + long, []string{"1@0 one", fmt.Sprintf("2@4 long %d", 2*maxLine+2)}},
	} {
		for packed, data := range map[string][]byte{"plain": []byte(c.text), "gzip": compress([]byte(c.text))} {
			t.Run(name+"/"+packed, func(t *testing.T) {
				got, end := readLines(t, bytes.NewReader(data))
				if end.err != nil || end.lines != len(c.want) {
					t.Errorf("ended with %d lines, %v; want %d", end.lines, end.err, len(c.want))
				}
				compareLines(t, got, c.want)
			})
		}
	}
}

func TestLinesAreTheSameHoweverTheyArrive(t *testing.T) {
	text := generate(600)
	want, _ := readLines(t, bytes.NewReader(text))
	for name, r := range map[string]io.Reader{
		"half reads":      iotest.HalfReader(bytes.NewReader(compress(text))),
		"data with error": iotest.DataErrReader(bytes.NewReader(compress(text))),
		"one byte reads":  iotest.OneByteReader(bytes.NewReader(text)),
		"two members":     bytes.NewReader(append(compress(text[:len(text)/3]), compress(text[len(text)/3:])...)),
	} {
		got, end := readLines(t, r)
		if end.err != nil {
			t.Errorf("%s: %v", name, end.err)
		}
		compareLines(t, got, want)
	}
}

// A file cut anywhere keeps its whole lines and is partial; the line it broke off in
// is not understood. The whole file is not partial, though its last block is short
// like any other's.
func TestGzipCutAtEveryByte(t *testing.T) {
	text := generate(12)
	packed := compress(text)
	rules := benchRules(t)
	for cut := 1; cut < len(packed); cut++ {
		b := rollUp(t, rules, packed[:cut])
		if !b.Partial || b.Error != "" {
			t.Fatalf("cut at byte %d of %d: partial %v, error %q", cut, len(packed), b.Partial, b.Error)
		}
		if b.Understood+b.SetAside != b.Object.Lines || b.SetAside > 1 {
			t.Fatalf("cut at byte %d: %d lines, %d understood, %d set aside", cut, b.Object.Lines, b.Understood, b.SetAside)
		}
		kept := 0
		for _, line := range b.Lines {
			if line.Reason != reasonCut || !bytes.HasPrefix(text[line.Offset:], line.Raw) {
				t.Fatalf("cut at byte %d: set aside %+v", cut, line)
			}
			kept = int(line.Offset)
		}
		if kept > 0 && bytes.Count(text[:kept], []byte("\n")) != b.Understood {
			t.Fatalf("cut at byte %d: understood %d lines before byte %d", cut, b.Understood, kept)
		}
	}
	if b := rollUp(t, rules, packed); b.Partial || b.Understood != 12 {
		t.Errorf("whole: partial %v, understood %d", b.Partial, b.Understood)
	}
	if b := rollUp(t, rules, nil); b.Partial || b.Object.Lines != 0 {
		t.Errorf("no bytes at all: partial %v, %d lines", b.Partial, b.Object.Lines)
	}
	var named bytes.Buffer
	z := gzip.NewWriter(&named)
	z.Name, z.Comment, z.Extra = "a.log", "of the lab", []byte("extra")
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for cut := 1; cut < named.Len(); cut++ {
		if b := rollUp(t, rules, named.Bytes()[:cut]); !b.Partial || b.Error != "" {
			t.Errorf("long header cut at byte %d: partial %v, error %q", cut, b.Partial, b.Error)
		}
	}
	trailer := rollUp(t, rules, packed[:len(packed)-1])
	if trailer.Understood != 12 {
		t.Errorf("cut in the checksum: understood %d lines of 12", trailer.Understood)
	}
}

func TestGzipSpoiled(t *testing.T) {
	rules := benchRules(t)
	packed := compress(generate(12))
	checksum := bytes.Clone(packed)
	checksum[len(checksum)-8] ^= 1
	if b := rollUp(t, rules, append(bytes.Clone(packed), make([]byte, 512)...)); b.Partial || b.Error != "" || b.Understood != 12 {
		t.Errorf("padded with zeros: partial %v, error %q, understood %d", b.Partial, b.Error, b.Understood)
	}
	for name, data := range map[string][]byte{"checksum": checksum, "tail": append(bytes.Clone(packed), "tail of ten"...)} {
		b := rollUp(t, rules, data)
		if !b.Partial || b.Error == "" || b.Understood != 12 {
			t.Errorf("%s: partial %v, error %q, understood %d", name, b.Partial, b.Error, b.Understood)
		}
	}
}

func TestLongLineIsSetAsideAndTheRestKept(t *testing.T) {
	line := string(generate(1))
	at := strings.Index(line, "HTTP/2.0")
	for length, understood := range map[int]int{70000: 3, 200000: 3, 400000: 2} {
		long := line[:at-1] + strings.Repeat("a", length) + line[at-1:]
		b := rollUp(t, benchRules(t), []byte(line+long+line))
		if b.Object.Lines != 3 || b.Understood != understood {
			t.Errorf("URL of %d: %d lines, %d understood, want %d", length, b.Object.Lines, b.Understood, understood)
		}
		for _, aside := range b.Lines {
			if aside.Reason != reasonTooLong || aside.Line != 2 || len(aside.Raw) != maxRaw || !strings.HasPrefix(long, string(aside.Raw)) {
				t.Errorf("set aside line %d for %s with %d bytes", aside.Line, aside.Reason, len(aside.Raw))
			}
		}
	}
}

// The longest line that AWS documents: every byte of 16 KB URLs and of a 2,000-byte
// user agent escaped, in each field that repeats them.
func TestLongestDocumentedLine(t *testing.T) {
	line := string(bytes.TrimSuffix(generate(1), []byte("\n")))
	fields := albTokens{}
	fields.split([]byte(line))
	values := make([]string, albFields)
	for i := range values {
		values[i] = strconv.Quote(string(fields.field(i)))
	}
	escaped := func(n int) string { return strings.Repeat(`\xC3`, n) }
	values[albRequest] = `"GET https://shop.example.test:443/` + escaped(16000) + ` HTTP/1.1"`
	values[albAgent] = `"` + escaped(8192) + `"`
	for _, i := range []int{albTrace, albRedirect, albHost, albURI} {
		values[i] = `"` + escaped(16384) + `"`
	}
	long := strings.Join(values, " ")
	// As the lines before and after it are cut at any place, so is it.
	for before := range 5 {
		text := strings.Repeat(line+"\n", before*40) + long + "\n" + line + "\n" + long
		b := rollUp(t, benchRules(t), []byte(text))
		if b.Understood != before*40+3 || b.SetAside != 0 || b.Partial {
			t.Errorf("%d lines before one of %d bytes: %d understood, %d set aside", before*40, len(long), b.Understood, b.SetAside)
		}
	}
}

func TestReadingStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	_, err := eachLine(ctx, endless{}, func(*line) {
		if n++; n == 100000 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
}

// FuzzObject holds every object, packed or not and read as any kind of log, to lines =
// understood + set aside, and what is kept of set-aside lines to the bytes at their
// place.
func FuzzObject(f *testing.F) {
	text := generate(3)
	f.Add(text)
	f.Add(text[:len(text)-100])
	f.Add(compress(text))
	f.Add(compress(text)[:200])
	f.Add([]byte("\x1f"))
	f.Add([]byte("\n\r\n\xff\n"))
	for _, kind := range Formats {
		all := soundLines(f, kind)
		f.Add(all[:2000])
		for _, c := range lineCases(f, kind) {
			f.Add([]byte(c.line + "\n" + c.line))
		}
	}
	rules := benchRules(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, kind := range Formats {
			b := rollUpAs(t, rules, &Config{Source: kind, Kind: kind, Slow: 1e9}, data)
			if !accounted(&b, kind) {
				t.Fatalf("%s: %d lines, %d understood, %d set aside, %d kept", kind, b.Object.Lines, b.Understood, b.SetAside, len(b.Lines))
			}
			if bytes.HasPrefix(data, []byte{0x1f}) {
				continue
			}
			lines := bytes.Count(data, []byte("\n"))
			if len(data) > 0 && data[len(data)-1] != '\n' {
				lines++
			}
			if b.Object.Lines != lines {
				t.Fatalf("%s: %d lines of %d", kind, b.Object.Lines, lines)
			}
			for _, aside := range b.Lines {
				if !bytes.HasPrefix(data[aside.Offset:], aside.Raw) || aside.Offset > 0 && data[aside.Offset-1] != '\n' {
					t.Fatalf("%s: line %d is not at byte %d", kind, aside.Line, aside.Offset)
				}
			}
		}
	})
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = "line\n"[i%5]
	}
	return len(p) / 5 * 5, nil
}

func readLines(t *testing.T, r io.Reader) ([]string, ending) {
	t.Helper()
	var got []string
	end, err := eachLine(t.Context(), r, func(l *line) {
		text := string(l.text)
		if l.long > 0 {
			text = fmt.Sprintf("long %d", l.long)
		}
		got = append(got, fmt.Sprintf("%d@%d %s", l.number, l.offset, text))
	})
	if err != nil {
		t.Fatal(err)
	}
	return got, end
}

func compareLines(t *testing.T, got, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d lines, want %d", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Errorf("got %.80q, want %.80q", got[i], want[i])
		}
	}
}

func rollUp(tb testing.TB, rules *analysis.Classifier, data []byte) analysis.ObjectBatch {
	tb.Helper()
	return rollUpAs(tb, rules, &Config{Source: "alb", Kind: KindALB, Slow: 1e9}, data)
}

// rollUpAs reads data as an object of a log.
func rollUpAs(tb testing.TB, rules *analysis.Classifier, cfg *Config, data []byte) analysis.ObjectBatch {
	tb.Helper()
	lines, err := newFormat(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	roll := newRollup(lines, rules, cfg, analysis.Object{Source: cfg.Source, Key: "k"})
	end, err := eachLine(context.Background(), bytes.NewReader(data), roll.add)
	if err != nil {
		tb.Fatal(err)
	}
	return roll.finish(end)
}
