package applog

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"gapless/collectors/applog/logrules"
)

// What happens to logs that are packed: each line is read once, also one that only the
// packed file has, and also across restarts.
func TestPackedFiles(t *testing.T) {
	for _, restart := range []bool{false, true} {
		dir := t.TempDir()
		name := func(name string) string { return filepath.Join(dir, name) }
		sink := &sink{}
		cfg := Config{URL: name("app.log*"), Lines: logrules.Config{LogMatch: answered}}
		r := open(t, cfg, sink)
		lines := 0
		look := func(what string, fresh int) {
			t.Helper()
			lines += fresh
			if restart {
				r = open(t, cfg, sink)
			}
			for range 2 {
				r.look(t.Context(), restart)
			}
			if len(sink.handled) != lines {
				t.Errorf("%s, restart %v: %d lines were read, want %d", what, restart, len(sink.handled), lines)
			}
			if code := sink.runs[len(sink.runs)-1].Code; code != "" {
				t.Errorf("%s: %s: %s", what, code, sink.runs[len(sink.runs)-1].Error)
			}
			lines = len(sink.handled)
		}
		text := func(from, to int) (text string) {
			for i := from; i < to; i++ {
				text += line(i) + "\n"
			}
			return text
		}
		put(t, name("app.log.2.gz"), packed(t, text(0, 30)))
		put(t, name("app.log.1"), text(30, 70))
		put(t, name("app.log"), text(70, 90))
		look("at first sight", 90)
		look("again", 0)

		rename(t, name("app.log.2.gz"), name("app.log.3.gz"))
		put(t, name("app.log.2.gz"), packed(t, text(30, 70)))
		rename(t, name("app.log"), name("app.log.1"))
		put(t, name("app.log"), text(90, 100))
		look("rotated", 10)

		appendTo(t, name("app.log"), text(100, 110))
		put(t, name("app.log-20261014.gz"), packed(t, text(90, 115)))
		put(t, name("app.log"), text(120, 125))
		look("packed at once, with lines that nobody saw before", 20)

		rename(t, name("app.log"), name("app.log-20261015"))
		look("for a moment without a log", 0)
		put(t, name("app.log-20261015.gz"), packed(t, text(120, 125)))
		if err := os.Remove(name("app.log-20261015")); err != nil {
			t.Fatal(err)
		}
		put(t, name("app.log"), text(130, 131))
		look("packed by date", 1)

		if !restart { // only who saw it knows what this one was
			rename(t, name("app.log.1"), name("app.log+x"))
			look("renamed", 0)
			appendTo(t, name("app.log+x"), line(200)+"\n")
			look("and written to once more", 1)
			put(t, name("app.log+y.gz"), packed(t, text(70, 90)+line(200)+"\n"))
			if err := os.Remove(name("app.log+x")); err != nil {
				t.Fatal(err)
			}
			look("packed under another name", 0)
		}
	}
}

// A packed file that is cut short or damaged, or packed by something else, is a failed
// read, until it is whole; the others are read all the same.
func TestPackedFilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	sink := &sink{}
	r := open(t, Config{URL: filepath.Join(dir, "app.log*"), Lines: logrules.Config{LogMatch: answered}}, sink)
	whole := packed(t, strings.Repeat(line(1)+"\n", 100)+line(2)+"\n")
	collect := func(want string) {
		t.Helper()
		now := time.Now()
		err := r.Collect(t.Context(), now.Add(-time.Hour), now)
		last := sink.runs[len(sink.runs)-1]
		if want == "" && (err != nil || last.Code != "") || want != "" && (err == nil || last.Code == "" || !strings.Contains(last.Error, want)) {
			t.Errorf("%v; last run %+v; want %q", err, last, want)
		}
	}
	put(t, filepath.Join(dir, "app.log"), line(3)+"\n")
	for _, content := range []string{whole[:len(whole)/2], whole[:12], whole[:len(whole)-6] + "xxxxxx"} {
		put(t, filepath.Join(dir, "app.log.1.gz"), content)
		collect("app.log.1.gz")
	}
	if len(sink.handled) != 1 {
		t.Errorf("%d lines were read beside it, want 1", len(sink.handled))
	}
	put(t, filepath.Join(dir, "app.log.1.gz"), whole)
	collect("")
	if len(sink.handled) != 102 {
		t.Errorf("%d lines were read, want 102", len(sink.handled))
	}
	other := filepath.Join(dir, "app.log.2.xz")
	put(t, other, "x")
	collect("app.log.2.xz")
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(other, old, old); err != nil {
		t.Fatal(err)
	}
	collect("")
}

// While a log is followed, a damaged file that was packed before is left alone, and one that
// was packed since is told at every look, though it is unpacked once.
func TestDamagedPackedFilesOfAFollowedLog(t *testing.T) {
	dir := t.TempDir()
	sink := &sink{}
	r := open(t, Config{URL: filepath.Join(dir, "app.log*"), Lines: logrules.Config{LogMatch: answered}}, sink)
	now := time.Now()
	r.covered = now.Add(-time.Minute)
	whole := packed(t, line(1)+"\n"+line(2)+"\n")
	damaged := whole[:len(whole)-6] + "xxxxxx"
	path := filepath.Join(dir, "app.log.1.gz")
	write := func(content string, at time.Time) {
		t.Helper()
		put(t, path, content)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	look := func(what, want string, lines int) {
		t.Helper()
		for range 2 {
			r.look(t.Context(), true)
			last := sink.runs[len(sink.runs)-1]
			if (last.Code != "") != (want != "") || !strings.Contains(last.Error, want) || len(sink.handled) != lines {
				t.Errorf("%s: %d lines, want %d; last run %+v, want %q", what, len(sink.handled), lines, last, want)
			}
		}
	}
	put(t, filepath.Join(dir, "app.log"), line(3)+"\n")
	write(damaged, now.Add(-time.Hour))
	look("old", "", 1)
	late := time.Now().Add(time.Minute)
	write(damaged, late)
	look("new", "unpack "+path, 1)
	write(whole, late)
	look("not changed, as far as its size and time tell", "unpack "+path, 1)
	write(whole, late.Add(time.Second))
	look("whole", "", 3)

	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := unpack(ctx, f); !errors.Is(err, context.Canceled) || errors.Is(err, errDamaged) {
		t.Errorf("unpacked after the end: %v", err)
	}
}

func packed(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte(text))
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
