//go:build unix

package ndjson

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"gapless/collectors/plainfile"
)

// A named pipe is refused, and never waited for.
func TestNamedPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "steps.ndjson")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	r := Reader{Path: path}
	if _, err := r.Read(true, func([]byte) (time.Time, error) { return time.Time{}, nil }); !errors.Is(err, plainfile.ErrNotRegular) {
		t.Errorf("read a pipe: %v", err)
	}
}
