package accesslog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"gapless/collectors/plainfile"
)

// stored is one object that a place holds.
type stored struct {
	key      string
	size     int64
	modified time.Time
	etag     string // changes with the content; empty where the place has none
}

// version changes with what the object holds.
func (o stored) version() string {
	if o.etag != "" {
		return o.etag
	}
	return fmt.Sprintf("%d bytes of %s", o.size, o.modified.UTC().Format(time.RFC3339Nano))
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

// list follows links to files and folders, each folder once, however many lead to it.
// What can't be read (a link to nothing, a folder or file that may not be looked into,
// a named pipe) is listed too: opening it says why, and that becomes a failed read.
func (f folder) list(ctx context.Context, from, to time.Time, found func(stored)) error {
	info, err := os.Stat(f.root)
	if err != nil {
		return fmt.Errorf("list log files: %w", err)
	}
	w := walk{ctx: ctx, from: from, to: to, found: found, seen: map[string]bool{}}
	if !info.IsDir() {
		w.file(filepath.Base(f.root), info)
		return nil
	}
	if _, err = os.ReadDir(f.root); err == nil {
		err = w.all(f.root)
	}
	if err != nil {
		return fmt.Errorf("list log files: %w", err)
	}
	return nil
}

// walk is one way through a folder.
type walk struct {
	ctx      context.Context
	from, to time.Time
	found    func(stored)
	seen     map[string]bool // files and folders, by their names without links
	links    []entryAt       // that were met and not followed yet
}

// entryAt is a file or folder, and its path below the root.
type entryAt struct{ name, key string }

// all lists a folder and then what the links in it lead to, unless that was met
// without a link. The errors are ctx's.
func (w *walk) all(root string) error {
	if err := w.folder(entryAt{name: root}); err != nil {
		return err
	}
	for len(w.links) > 0 {
		link := w.links[0]
		w.links = w.links[1:]
		info, err := os.Stat(link.name)
		switch {
		case err != nil:
			w.found(stored{key: link.key})
		case info.IsDir():
			if err := w.folder(link); err != nil {
				return err
			}
		case !w.met(link.name):
			w.file(link.key, info)
		}
	}
	return nil
}

// met reports whether a file or folder was met before.
func (w *walk) met(name string) bool {
	if resolved, err := filepath.EvalSymlinks(name); err == nil {
		name = resolved
	}
	before := w.seen[name]
	w.seen[name] = true
	return before
}

func (w *walk) folder(at entryAt) error {
	if w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	if w.met(at.name) {
		return nil
	}
	entries, err := os.ReadDir(at.name)
	if err != nil {
		w.found(stored{key: at.key})
		return nil
	}
	for _, entry := range entries {
		each := entryAt{filepath.Join(at.name, entry.Name()), path.Join(at.key, entry.Name())}
		if entry.Type()&fs.ModeSymlink != 0 {
			w.links = append(w.links, each)
			continue
		}
		if entry.IsDir() {
			if strings.HasPrefix(entry.Name(), ".") || dayOutside(filepath.ToSlash(each.name), w.from, w.to) {
				continue
			}
			if err := w.folder(each); err != nil {
				return err
			}
			continue
		}
		info, err := entry.Info()
		switch {
		case errors.Is(err, fs.ErrNotExist): // gone since it was listed
		case err != nil:
			w.found(stored{key: each.key})
		case !w.met(each.name):
			w.file(each.key, info)
		}
	}
	return nil
}

// file lists a file. Of what is no file nothing but its name is known.
func (w *walk) file(key string, info fs.FileInfo) {
	if !info.Mode().IsRegular() {
		w.found(stored{key: key})
		return
	}
	w.found(stored{key: key, size: info.Size(), modified: info.ModTime()})
}

func (f folder) open(_ context.Context, o stored) (io.ReadCloser, error) {
	name := filepath.Join(f.root, filepath.FromSlash(o.key))
	if info, err := os.Stat(f.root); err == nil && !info.IsDir() {
		name = f.root
	}
	file, _, err := plainfile.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open log file: %w", err)
	}
	return file, nil
}
