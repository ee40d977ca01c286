package follow

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What was added to a log while nobody followed it, and is in no file any more, is told:
// from the last line that was read on, until the one that took its place began.
func TestReplacedWhileAway(t *testing.T) {
	for _, test := range []struct {
		what string
		away func(l *log)
		lost bool
	}{
		{"nothing", func(*log) {}, false},
		{"it grew", func(l *log) { l.write("@20 a\n") }, false},
		{"rotated out of sight", func(l *log) { l.rename("old") }, true},
		{"rotated within the pattern", func(l *log) { l.rename("access.log.1") }, false},
		{"rotated and packed", func(l *log) { l.rename("access.log.1"); l.pack("access.log.1") }, false},
		{"copied and truncated", func(l *log) { l.copyTruncate("access.log.1") }, false},
		{"truncated", func(l *log) { l.truncate() }, true},
		{"the oldest is removed", func(l *log) {
			l.check(os.Rename(filepath.Join(l.dir, "access.log.7"), filepath.Join(l.dir, "access.log.8")))
			l.check(os.Rename(filepath.Join(l.dir, "access.log.8"), filepath.Join(l.dir, "gone")))
			l.rename("access.log.7")
		}, false},
	} {
		l := newLog(t)
		l.file("access.log.7", []byte("@1 z\n"))
		l.write("@10 a\n@11 a\n")
		if got := l.look(); len(got) != 3 {
			t.Fatalf("read %q", got)
		}
		l.away()
		test.away(l)
		l.look() // where it was renamed, nothing is there yet
		if n := len(l.files.Unread()); n > len(l.files.seen) {
			t.Errorf("%s: told too early: %+v", test.what, l.files.Unread())
		}
		l.write("@30 b\n@31 b\n")
		l.look()
		var told []Unread
		for _, rest := range l.files.Unread() {
			if rest != nil {
				told = append(told, *rest)
			}
		}
		switch {
		case !test.lost && len(told) > 0:
			t.Errorf("%s: told %+v", test.what, told)
		case test.lost && (len(told) != 1 || told[0].Since != time.Unix(11, 0) || told[0].Until != time.Unix(30, 0).Add(linger)):
			t.Errorf("%s: told %+v", test.what, told)
		}
		l.away()
		l.look()
		for path, rest := range l.files.Unread() {
			if rest != nil {
				t.Errorf("%s: told again of %s: %+v", test.what, path, rest)
			}
		}
	}
}

// While a file cannot be read, nobody knows whether it holds what is missed.
func TestReplacedBesideAnUnreadFile(t *testing.T) {
	l := newLog(t)
	l.write("@10 a\n")
	l.look()
	places := l.files.Places()
	l.away()
	l.rename("access.log.1")
	l.write("@30 b\n")
	l.check(os.Rename(filepath.Join(l.dir, "access.log.1"), filepath.Join(l.dir, "away")))
	if err := os.Symlink("nowhere", filepath.Join(l.dir, "access.log.1")); err != nil {
		t.Fatal(err)
	}
	l.look()
	if got := l.files.Places(); len(got) != 0 || len(places) != 1 {
		t.Errorf("places %v, and %v", places, got)
	}
	l.check(os.Rename(filepath.Join(l.dir, "away"), filepath.Join(l.dir, "access.log.1")))
	l.look()
	if got := l.files.Places(); len(got) != 1 || got[filepath.Join(l.dir, "access.log")] == places[filepath.Join(l.dir, "access.log")] {
		t.Errorf("places %v, and %v", places, got)
	}
	for path, rest := range l.files.Unread() {
		if rest != nil {
			t.Errorf("told of %s: %+v", path, rest)
		}
	}
}

// away ends one follower and begins another, which knows what that one stored.
func (l *log) away() {
	places := l.files.Places()
	l.restart()
	for path, stream := range places {
		l.files.Await(path, stream)
	}
}
