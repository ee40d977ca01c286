// Package plainfile opens the files that evidence is read from.
//
// What belongs here: refusing what is not a regular file. Opening a named pipe waits
// for its writer, and a device or pipe may never end; a collector that waits there
// can't even be told to stop.
package plainfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// ErrNotRegular is why a pipe, a device, a socket or a folder is not read.
var ErrNotRegular = errors.New("not a regular file")

// Open opens a regular file for reading, without waiting for anybody. Links are
// followed. What is not a regular file is an error that says what it is, and wraps
// [ErrNotRegular]; the others are those of [os.OpenFile].
func Open(name string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		if errors.Is(err, syscall.ENXIO) { // a socket, or a device that is not there
			return nil, nil, fmt.Errorf("read %s: %w", name, errors.Join(ErrNotRegular, err))
		}
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("read %s: it is a %s, %w", name, what(info.Mode()), ErrNotRegular)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

func what(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "folder"
	case mode&fs.ModeNamedPipe != 0:
		return "named pipe"
	case mode&fs.ModeDevice != 0:
		return "device"
	case mode&fs.ModeSocket != 0:
		return "socket"
	}
	return "special file"
}
