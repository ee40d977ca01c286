package gunzip

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
)

func TestRead(t *testing.T) {
	one, two := pack(t, "one\n"), pack(t, "two\n")
	spoiled := bytes.Clone(one)
	spoiled[len(spoiled)-8] ^= 1
	zeros := make([]byte, 512)
	for name, c := range map[string]struct {
		file    []byte
		content string
		err     error
		sound   int64
	}{
		"a member":               {one, "one\n", nil, 4},
		"two members":            {join(one, two), "one\ntwo\n", nil, 8},
		"zeros":                  {join(one, two, zeros), "one\ntwo\n", nil, 8},
		"one zero":               {join(one, zeros[:1]), "one\n", nil, 4},
		"many zeros":             {join(one, make([]byte, 1<<20)), "one\n", nil, 4},
		"something behind":       {join(one, []byte("tail of more than ten")), "one\n", gzip.ErrHeader, 4},
		"something behind zeros": {join(one, zeros, two), "one\n", gzip.ErrHeader, 4},
		"cut":                    {one[:len(one)-9], "one\n", io.ErrUnexpectedEOF, 0},
		"cut in the next":        {join(one, two[:5]), "one\n", io.ErrUnexpectedEOF, 4},
		"cut after one byte":     {join(one, two[:1]), "one\n", io.ErrUnexpectedEOF, 4},
		"wrong checksum":         {spoiled, "one\n", gzip.ErrChecksum, 0},
		"second checksum":        {join(two, spoiled), "two\none\n", gzip.ErrChecksum, 4},
	} {
		for how, source := range map[string]io.Reader{
			"whole": bytes.NewReader(c.file), "byte by byte": iotest.OneByteReader(bytes.NewReader(c.file)), "error with data": iotest.DataErrReader(bytes.NewReader(c.file)),
		} {
			r, err := New(source)
			if err != nil {
				t.Fatal(err)
			}
			content, err := io.ReadAll(r)
			if string(content) != c.content || !errors.Is(err, c.err) || r.Sound() != c.sound {
				t.Errorf("%s, %s: %q, %v, %d sound; want %q, %v, %d", name, how, content, err, r.Sound(), c.content, c.err, c.sound)
			}
		}
	}
}

// Empty members are no reason to give up: every read but the last brings something.
func TestEmptyMembers(t *testing.T) {
	file := pack(t, "one\n")
	for range 500 {
		file = append(file, pack(t, "")...)
	}
	r, err := New(bytes.NewReader(join(file, pack(t, "two\n"), file[:len(file)-4])))
	if err != nil {
		t.Fatal(err)
	}
	var content []byte
	for b := make([]byte, 3); err == nil; {
		var n int
		if n, err = r.Read(b); n == 0 && err == nil {
			t.Fatalf("nothing was read after %q", content)
		}
		content = append(content, b[:n]...)
	}
	if string(content) != "one\ntwo\none\n" || !errors.Is(err, io.ErrUnexpectedEOF) || r.Sound() != 12 {
		t.Errorf("%q, %v, %d sound", content, err, r.Sound())
	}
	if n, err := r.Read(nil); n != 0 || err == nil {
		t.Errorf("after the end: %d, %v", n, err)
	}
}

func TestOtherFiles(t *testing.T) {
	for text, is := range map[string]bool{"": false, "\x1f": false, "\x1f\x8b": true, "plain": false} {
		if Is([]byte(text)) != is {
			t.Errorf("%q: gzip %v", text, !is)
		}
		if _, err := New(bytes.NewReader([]byte(text))); err == nil {
			t.Errorf("%q has a header", text)
		}
	}
}

func pack(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
