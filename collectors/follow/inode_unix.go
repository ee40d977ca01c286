//go:build unix

package follow

import (
	"os"
	"syscall"
)

// Inode is the file's number on its device, by which a renamed file is found.
func Inode(info os.FileInfo) uint64 { return identity(info).inode }

// identity is the file's number, and that of its device.
func identity(info os.FileInfo) fileID {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return fileID{device: uint64(stat.Dev), inode: uint64(stat.Ino)} //nolint:unconvert // they are other types on some systems
	}
	return fileID{}
}
