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
	look("copied and truncated", "new new") // of the copy there is nothing but its position
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

// Files of one log that hold equal lines are logs of their own, and each line is one; a
// copy has none that is new, whichever file is read first.
func TestEqualLinesOfFiles(t *testing.T) {
	equal := ""
	for i := range 40 {
		equal += line(i+1) + "\n"
	}
	files := func(pairs ...string) (files map[string]string) {
		files = map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			files[pairs[i]] = pairs[i+1]
		}
		return files
	}
	for _, test := range []struct {
		what  string
		looks []map[string]string
		want  int
	}{
		{"two workers", []map[string]string{files("app-1.log", line(100)+"\n"+equal, "app-2.log", line(200)+"\n"+equal)}, 82},
		{"two workers that begin alike", []map[string]string{files("app-1.log", equal+line(100)+"\n", "app-2.log", equal+line(200)+"\n")}, 82},
		{"two workers, one after the other", []map[string]string{files("app-1.log", equal+line(100)+"\n"), files("app-2.log", equal+line(200)+"\n")}, 82},
		{"a copy", []map[string]string{files("app.log", equal, "app.log.1", equal)}, 40},
		{"a copy before it", []map[string]string{files("app.log", equal, "app-1.log", equal)}, 40},
		{"a copy later", []map[string]string{files("app.log", equal), files("app-1.log", equal)}, 40},
		{"a copy that has more", []map[string]string{files("app.log", equal), files("app.log", line(90)+"\n", "app-1.log", equal+line(50)+"\n")}, 42},
		{"copied and truncated", []map[string]string{files("app.log", equal), files("app.log", line(50)+"\n", "app-1.log", equal)}, 41},
		{"a copy under way", []map[string]string{files("app.log", equal), files("app-1.log", equal[:len(equal)/2]), files("app.log", line(50)+"\n", "app-1.log", equal)}, 41},
		{"a shorter copy", []map[string]string{files("app.log", equal), files("app-1.log", equal[:len(equal)/2]), files("app.log", equal+line(50)+"\n")}, 41},
	} {
		for _, restart := range []bool{false, true} {
			dir := t.TempDir()
			sink := &sink{}
			cfg := Config{URL: filepath.Join(dir, "app*"), Lines: logrules.Config{LogMatch: answered}}
			r := open(t, cfg, sink)
			for _, look := range test.looks {
				for name, text := range look {
					put(t, filepath.Join(dir, name), text)
				}
				if restart {
					r = open(t, cfg, sink)
				}
				r.look(t.Context(), restart)
			}
			if lines := len(sink.handled); lines != test.want {
				t.Errorf("%s, restart %v: read %d lines, want %d", test.what, restart, lines, test.want)
			}
		}
	}
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
