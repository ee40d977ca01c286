//go:build unix

package follow

import (
	"os"
	"syscall"
)

// Inode is the file's number on its device, by which a renamed file is found.
func Inode(info os.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Ino) //nolint:unconvert // it is uint32 on some systems
	}
	return 0
}
