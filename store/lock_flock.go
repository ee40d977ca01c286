//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// Serve takes the database at a path for this process alone as its server: two would
// collect everything twice and answer for windows that the other one seals. Where
// another process has it, that is [ErrServed], with the process's number where known.
// Whoever only reads or adds, as an audit does, needs no lock. The caller releases it.
func Serve(path string) (release func(), err error) {
	file, err := os.OpenFile(path+lockSuffix, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock database %s: %w", path, err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer file.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock database %s: %w", path, err)
		}
		holder, _ := io.ReadAll(io.LimitReader(file, 32)) // for the message only
		if pid := strings.TrimSpace(string(holder)); pid != "" {
			return nil, fmt.Errorf("%s: %w (process %s)", path, ErrServed, pid)
		}
		return nil, fmt.Errorf("%s: %w", path, ErrServed)
	}
	if err := file.Truncate(0); err == nil {
		_, _ = fmt.Fprintln(file, os.Getpid())
	}
	return func() { _ = file.Close() }, nil
}
