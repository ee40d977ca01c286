package applog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gapless/collectors/applog/logrules"
)

// A file that begins as one that was read may hold what was read of that: a copy, or a
// file that was cut back. What is appended to it later is new, as is any other file.
func TestFilesThatWereReadBefore(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "app.log")
	text := ""
	for i := range 30 { // longer than the head that identifies a file
		text += line(i+1) + "\n"
	}
	sink := &sink{}
	cfg := Config{URL: filepath.Join(dir, "app.log*"), Lines: logrules.Config{LogMatch: answered}}
	look := func(what, want string) {
		t.Helper()
		sink.again = nil
		open(t, cfg, sink).look(t.Context(), true) // as after a restart
		var got []string
		for _, again := range sink.again {
			got = append(got, map[bool]string{true: "again", false: "new"}[again])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	put(t, path, text)
	look("first", "new")
	put(t, path+".1", text)
	put(t, path, line(40)+"\n")
	look("copied and truncated", "new again")
	appendTo(t, path+".1", line(50)+"\n")
	look("appended to", "new")
	put(t, path+".1", text)
	look("cut back", "again")
	if err := os.Rename(path, path+".2"); err != nil {
		t.Fatal(err)
	}
	put(t, path, line(60)+"\n")
	look("renamed", "new new") // the other batch only keeps the position of the new name
}

// A file that was overwritten is read anew, though it begins as the one before and is
// longer, whether or not it was looked at by the same reader.
func TestOverwrittenInPlace(t *testing.T) {
	banner := strings.Repeat(strings.Repeat("#", 70)+"\n", 16)
	for _, restart := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "app.log")
		sink := &sink{}
		cfg := Config{URL: path, Lines: logrules.Config{LogMatch: answered}}
		r := open(t, cfg, sink)
		look := func(want int) {
			t.Helper()
			if restart {
				r = open(t, cfg, sink)
			}
			r.look(t.Context(), true)
			if len(sink.handled) != want {
				t.Errorf("restart %v: %d lines were read, want %d", restart, len(sink.handled), want)
			}
		}
		put(t, path, banner+line(1)+"\n"+line(2)+"\n")
		look(2)
		appendTo(t, path, line(3)+"\n")
		look(3)
		put(t, path, banner+line(11)+"\n"+line(12)+"\n"+line(13)+"\n"+line(14)+"\n")
		look(7)
		look(7)
	}
}
