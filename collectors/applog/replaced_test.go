package applog

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"gapless/collectors/applog/logrules"
)

// What was added to a log while nobody followed it, and is in no file any more, is a hole
// between the last line that was read and the first of the text that took its place.
func TestReplacedWhileAway(t *testing.T) {
	second := func(s int) string {
		return spring(fmt.Sprintf("06:25:%02d.000", s), fmt.Sprintf("rid=r1-%06d status=200", s)) + "\n"
	}
	read := second(1) + second(2)
	for _, test := range []struct {
		what     string
		away     func(name func(string) string)
		restart  bool
		lines    int
		from, to int // of the hole; 0: none
	}{
		{"replaced", func(name func(string) string) { put(t, name("app.log"), second(30)+second(31)) }, true, 4, 2, 30},
		{"replaced before the eyes of who holds it open", func(name func(string) string) {
			appendTo(t, name("app.log"), second(10))
			rename(t, name("app.log"), name("old"))
			put(t, name("app.log"), second(30))
		}, false, 4, 0, 0},
		{"renamed in its folder", func(name func(string) string) {
			appendTo(t, name("app.log"), second(10))
			rename(t, name("app.log"), name("old"))
			put(t, name("app.log"), second(30))
		}, true, 4, 0, 0},
		{"packed out of the pattern", func(name func(string) string) {
			put(t, name("old.gz"), packed(t, read+second(10)))
			put(t, name("app.log"), second(30))
		}, true, 3, 2, 30},
		{"packed in the pattern", func(name func(string) string) {
			put(t, name("app.log.1.gz"), packed(t, read+second(10)))
			put(t, name("app.log"), second(30))
		}, true, 4, 0, 0},
		{"copied and truncated", func(name func(string) string) {
			put(t, name("app.log-1"), read+second(10))
			put(t, name("app.log"), second(30))
		}, true, 4, 0, 0},
		{"the oldest of rotated ones is gone", func(name func(string) string) {
			put(t, name("app.log.9"), second(5)+second(6)+second(7))
		}, true, 6, 0, 0},
		{"longer", func(name func(string) string) { appendTo(t, name("app.log"), second(30)) }, true, 3, 0, 0},
	} {
		dir := t.TempDir()
		name := func(name string) string { return filepath.Join(dir, name) }
		sink := &sink{}
		cfg := Config{URL: name("app.log*"), Lines: logrules.Config{LogMatch: answered}}
		put(t, name("app.log"), read)
		if test.what == "the oldest of rotated ones is gone" {
			put(t, name("app.log.9"), second(0))
		}
		r := open(t, cfg, sink)
		r.look(t.Context(), true)
		before := len(sink.runs)
		test.away(name)
		if test.restart {
			r = open(t, cfg, sink)
		}
		r.look(t.Context(), true)
		r.look(t.Context(), true)
		var holes []string
		for _, run := range sink.runs[before:] {
			if run.Code != "" {
				holes = append(holes, fmt.Sprintf("%s to %s", run.From.Format(time.TimeOnly), run.To.Format(time.TimeOnly)))
			}
		}
		want := "[]"
		if test.to > 0 {
			want = fmt.Sprintf("[06:25:%02d to 06:25:%02d]", test.from, test.to)
		}
		if fmt.Sprint(holes) != want || len(sink.handled) != test.lines {
			t.Errorf("%s: holes %v, want %s; %d lines, want %d", test.what, holes, want, len(sink.handled), test.lines)
		}
	}
}
