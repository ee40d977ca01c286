package accesslog

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// Whatever becomes of an input, what was read of it is written in whole lines, the
// inputs after it are read, and the message names it.
func TestParseOfDamagedInputs(t *testing.T) {
	const lines = 3000
	text := generate(lines)
	packed := compress(text)
	checksum := bytes.Clone(packed)
	checksum[len(checksum)-8] ^= 1
	for name, c := range map[string]struct {
		input      io.Reader
		understood int
		says       string
	}{
		"whole":      {bytes.NewReader(packed), lines, ""},
		"padded":     {bytes.NewReader(append(bytes.Clone(packed), make([]byte, 512)...)), lines, ""},
		"tail":       {bytes.NewReader(append(bytes.Clone(packed), "and something else"...)), lines, "first: the gzip file is damaged: gzip: invalid header; what came before was read"},
		"checksum":   {bytes.NewReader(checksum), lines, "first: the gzip file is damaged: gzip: invalid checksum; what came before was read"},
		"cut":        {bytes.NewReader(packed[:len(packed)-8]), lines, "first: the gzip file breaks off; what came before was read"},
		"unreadable": {io.MultiReader(bytes.NewReader(text), iotest.ErrReader(errors.New("bad sector"))), lines, "first: read log: bad sector"},
	} {
		var out bytes.Buffer
		got, err := Parse(t.Context(), &out, Config{Kind: KindALB}, Input{"first", c.input}, Input{"second", bytes.NewReader(text)})
		if err != nil || got.Understood != c.understood+lines || got.SetAside != 0 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if c.says == "" != (len(got.Broken) == 0) || len(got.Broken) > 1 || c.says != "" && got.Broken[0].Error() != c.says {
			t.Errorf("%s: %v, want %q", name, got.Broken, c.says)
		}
		written := bytes.Split(bytes.TrimSuffix(out.Bytes(), []byte("\n")), []byte("\n"))
		if len(written) != got.Understood {
			t.Errorf("%s: %d lines written of %d", name, len(written), got.Understood)
		}
		for i, line := range written {
			var object struct{ Line int }
			if err := json.Unmarshal(line, &object); err != nil || object.Line != i%lines+1 {
				t.Fatalf("%s: line %d: %v: %s", name, i+1, err, line)
			}
		}
	}
}

func TestParseCannotWrite(t *testing.T) {
	full := errors.New("no space left")
	for _, lines := range []int{1, 3000} { // at the end, and on the way
		if _, err := Parse(t.Context(), fails{full}, Config{Kind: KindALB}, Input{"log", bytes.NewReader(generate(lines))}); !errors.Is(err, full) {
			t.Errorf("%d lines: %v", lines, err)
		}
	}
}

type fails struct{ err error }

func (f fails) Write([]byte) (int, error) { return 0, f.err }
