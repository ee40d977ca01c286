package follow

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A pattern names what [filepath.Glob] finds, and a folder that cannot be looked into is
// told beside it.
func TestPaths(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/access.log", "a/access.log.1", "b/access.log", "c[1]/access.log"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"link": "a", "a/access.log.2": "nowhere"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"a/access.log*", "*/access.log", "*/*", "[ab]/access.log.?", `c\[1\]/access*`, "a/../b/*", "*"} {
		pattern = filepath.Join(dir, pattern)
		want, err := filepath.Glob(pattern)
		if err != nil || len(want) == 0 {
			t.Fatalf("%s: %v, %v", pattern, want, err)
		}
		slices.Sort(want)
		if got, err := Paths(pattern); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v; want %v", pattern, got, err, want)
		}
	}
	for pattern, want := range map[string]error{"*/nothing": fs.ErrNotExist, "none/*": fs.ErrNotExist, "[": filepath.ErrBadPattern} {
		if got, err := Paths(filepath.Join(dir, pattern)); len(got) > 0 || !errors.Is(err, want) {
			t.Errorf("%s: %v, %v", pattern, got, err)
		}
	}

	// Links that lead to themselves and to nothing, and a folder that is closed.
	for name, to := range map[string]string{"round": "round", "gone": "nowhere"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	closed := filepath.Join(dir, "closed")
	if err := os.Mkdir(closed, 0); err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"*/access.log", "*/access.log*", "*/[a]*"} {
		got, err := Paths(filepath.Join(dir, pattern))
		if len(got) < 3 || err == nil || !strings.Contains(err.Error(), "round") || !strings.Contains(err.Error(), "gone") {
			t.Errorf("%s: %v, %v", pattern, got, err)
		}
		if _, cannot := os.ReadDir(closed); cannot != nil && !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v, and %v", pattern, err, cannot)
		}
	}
}

// A folder or a file that cannot be looked into is told, and the others are read.
func TestUnopenedBesideOthers(t *testing.T) {
	l := newLog(t)
	l.write("a1\n")
	if err := os.Symlink("/nowhere/access.log", filepath.Join(l.dir, "access.log.1")); err != nil {
		t.Fatal(err)
	}
	err := l.files.Look(t.Context(), time.Now(), l.since, l.take)
	if err == nil || !strings.Contains(err.Error(), "access.log.1") {
		t.Errorf("a link to nothing beside a file: %v", err)
	}
	if got := l.drain(); !slices.Equal(got, []string{"a1"}) {
		t.Errorf("read %q", got)
	}

	if err := os.Symlink("round", filepath.Join(l.dir, "round")); err != nil {
		t.Fatal(err)
	}
	l.check(os.Mkdir(filepath.Join(l.dir, "node"), 0o700))
	l.file("node/access.log", []byte("b1\n"))
	files := New(filepath.Join(l.dir, "*", "access.log"), still, timeOf)
	defer files.Close()
	if err := files.Look(t.Context(), time.Now(), l.since, l.take); err == nil || !strings.Contains(err.Error(), "round") {
		t.Errorf("a folder that cannot be opened beside another: %v", err)
	}
	if got := l.drain(); !slices.Equal(got, []string{"b1"}) {
		t.Errorf("read %q", got)
	}
}
