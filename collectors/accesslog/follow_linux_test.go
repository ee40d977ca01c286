package accesslog

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Files that are followed are held open between the passes of Run, and by nobody once
// it ended or a single pass is over. They are counted in /proc, so on Linux.
func TestFollowedFilesAreClosed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "access.log")
	if err := os.WriteFile(path, []byte("a line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	sink := &memory{}
	follow := func(c *Config) { c.Kind, c.Every = KindNginx, 10*time.Millisecond }
	r := newReader(t, "file://"+path, sink, follow)
	if err := r.Collect(t.Context(), time.Now().Add(-time.Hour), time.Now(), nil); err != nil {
		t.Fatal(err)
	}
	if n := openAt(t, path); n != 0 {
		t.Errorf("%d descriptors are open after a single pass", n)
	}

	r = newReader(t, "file://"+path, sink, follow)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- r.Run(ctx) }()
	for before := len(sink.allRuns()); len(sink.allRuns()) < before+2; {
		time.Sleep(time.Millisecond)
	}
	if err := r.Collect(t.Context(), time.Now().Add(-time.Hour), time.Now(), nil); err != nil {
		t.Fatal(err)
	}
	if n := openAt(t, path); n < 1 {
		t.Errorf("%d descriptors are open while it is followed", n)
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if n := openAt(t, path); n != 0 {
		t.Errorf("%d descriptors are open afterwards", n)
	}
}

// openAt counts the descriptors of this process that lead to a path.
func openAt(t *testing.T, path string) (n int) {
	t.Helper()
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && to == path {
			n++
		}
	}
	return n
}
