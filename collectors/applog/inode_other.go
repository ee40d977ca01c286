//go:build !unix

package applog

import "os"

// inode is 0 where files have no such number; renamed files are then not found.
func inode(os.FileInfo) uint64 { return 0 }
