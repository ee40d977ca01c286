package applog

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"testing"
	"testing/iotest"

	"gapless/collectors/applog/logrules"
)

// Whatever a file holds: however it comes in, the same lines are read from it, and
// each is tried.
func fuzzDecode(f *testing.F, cfg Config) {
	cfg.Source, cfg.URL = "app", "x"
	r, err := New(cfg, &sink{})
	if err != nil {
		f.Fatal(err)
	}
	read := func(t *testing.T, in io.Reader) (lines []string) {
		batch := logrules.NewBatch()
		if _, err := r.Decode("x", in, func(number int, state *logrules.State, line logrules.Line) {
			lines = append(lines, fmt.Sprintf("%d %s %s %s %s %v %v %q", number, line.At, line.Target, line.Origin, line.ID, line.Fields, line.Continues, line.Text))
			if line.At.IsZero() {
				t.Errorf("a line without a time: %q", line.Text)
			}
			r.Lines().Line(batch, state, line)
		}); err != nil {
			t.Fatal(err)
		}
		tried := 0
		for _, c := range r.Lines().Counts(batch) {
			if c.Rule == "spring-boot/started" {
				tried += c.Lines
			}
		}
		if tried != len(lines) {
			t.Errorf("%d of %d lines were tried", tried, len(lines))
		}
		return lines
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		one, pieces := read(t, bytes.NewReader(text)), read(t, iotest.OneByteReader(bytes.NewReader(text)))
		equal(t, "lines that came byte by byte", pieces, one)
	})
}

func FuzzJournal(f *testing.F) {
	for _, name := range []string{"testdata/killed.json", "testdata/killed.export"} {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text[:4000])
	}
	f.Add([]byte("__REALTIME_TIMESTAMP=1795998510093242\nMESSAGE\n\x05\x00\x00\x00\x00\x00\x00\x00a\n\nb\n\n\n"))
	f.Add([]byte(exported(1, "a") + exported(2, "b"+forged) + "neither\n" + forged + exported(3, "c\nd")[:150] + exported(4, "e")))
	f.Add([]byte(`{"__REALTIME_TIMESTAMP":"1795998510093242","MESSAGE":[97,10,98]}` + "\n" + `{"__REALTIME_TIMESTAMP":["1"],"MESSAGE":["a",[98]]}`))
	fuzzDecode(f, Config{Kind: KindJournal, Lines: logrules.Config{Sets: logrules.Sets}})
}

func FuzzContainer(f *testing.F) {
	f.Add([]byte(dockerLine("25:01.5", "stdout", "a") + "\n" + dockerLine("25:01.6", "stderr", "b\n") + "\n" + dockerLine("25:01.7", "stdout", "c\n")))
	f.Add([]byte(criLine("25:01.5", "stdout", "P", "a") + "\n" + criLine("25:01.5", "stderr", "F", "b") + "\n" + criLine("25:01.5", "stdout", "F", "c")))
	fuzzDecode(f, Config{Kind: KindContainer, Lines: logrules.Config{Sets: logrules.Sets}})
}
