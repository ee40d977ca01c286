package follow

import (
	"io/fs"
	"syscall"
	"testing"
)

// Files of one number on two devices are two.
func TestIdentity(t *testing.T) {
	of := func(device, inode uint64) fileID {
		return identity(statted{sys: &syscall.Stat_t{Dev: device, Ino: inode}})
	}
	file := of(1, 7)
	if file != (fileID{device: 1, inode: 7}) || file == of(2, 7) || file == of(1, 8) {
		t.Error("the identity of a file is its device and its number there")
	}
}

type statted struct {
	fs.FileInfo
	sys any
}

func (s statted) Sys() any { return s.sys }
