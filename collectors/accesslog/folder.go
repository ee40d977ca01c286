package accesslog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// stored is one object that a place holds.
type stored struct {
	key      string
	size     int64
	modified time.Time
	etag     string // changes with the content; empty where the place has none
}

// place is where log objects lie.
type place interface {
	// list calls found for every object that may hold lines of [from, to], in any order;
	// it may name others too.
	list(ctx context.Context, from, to time.Time, found func(stored)) error
	// open reads an object from its start.
	open(ctx context.Context, o stored) (io.ReadCloser, error)
}

// folder is a directory tree: AWS's layout, or any files. Keys are paths below its
// root, with slashes.
type folder struct{ root string }

func (f folder) list(ctx context.Context, from, to time.Time, found func(stored)) error {
	if err := f.walk(ctx, from, to, found); err != nil {
		return fmt.Errorf("list log files: %w", err)
	}
	return nil
}

func (f folder) walk(ctx context.Context, from, to time.Time, found func(stored)) error {
	root, err := filepath.EvalSymlinks(f.root)
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if entry.IsDir() {
			if name != root && (strings.HasPrefix(entry.Name(), ".") || dayOutside(filepath.ToSlash(name), from, to)) {
				return fs.SkipDir
			}
			return nil
		}
		info, err := os.Stat(name) // follows links
		switch {
		case errors.Is(err, fs.ErrNotExist): // gone since it was listed
			return nil
		case err != nil:
			return err
		case !info.Mode().IsRegular():
			return nil
		}
		key := filepath.Base(name) // the root is a single file
		if name != root {
			key, err = filepath.Rel(root, name)
			if err != nil {
				return err
			}
		}
		found(stored{key: filepath.ToSlash(key), size: info.Size(), modified: info.ModTime()})
		return nil
	})
}

func (f folder) open(_ context.Context, o stored) (io.ReadCloser, error) {
	name := filepath.Join(f.root, filepath.FromSlash(o.key))
	if info, err := os.Stat(f.root); err == nil && info.Mode().IsRegular() {
		name = f.root
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open log file: %w", err)
	}
	return file, nil
}
