//go:build unix

package plainfile

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Nothing but a regular file is opened, and nothing is waited for.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(path("file"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path("pipe"), 0o600); err != nil {
		t.Skip(err)
	}
	listener, err := net.Listen("unix", path("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for _, link := range []string{"file", "pipe", "nothing"} {
		if err := os.Symlink(link, path("to-"+link)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		dir: "folder", path("pipe"): "named pipe", path("to-pipe"): "named pipe", path("socket"): "not a regular file", "/dev/null": "device",
	} {
		if _, _, err := Open(name); !errors.Is(err, ErrNotRegular) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, want that it is a %s", name, err, want)
		}
	}
	if _, _, err := Open(path("to-nothing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a link to nothing: %v", err)
	}
	f, info, err := Open(path("to-file"))
	if err != nil || info.Size() != 1 {
		t.Fatal(err, info)
	}
	defer f.Close()
	if b, err := io.ReadAll(f); err != nil || string(b) != "x" {
		t.Errorf("read %q, %v", b, err)
	}
}
