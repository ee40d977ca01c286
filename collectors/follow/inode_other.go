//go:build !unix

package follow

import "os"

// Inode is 0 where files have no such number; renamed files are then not found.
func Inode(os.FileInfo) uint64 { return 0 }

func identity(os.FileInfo) fileID { return fileID{} }
