// Package follow finds what is new in text files that are written to, renamed, cut,
// copied and compressed while they are read.
//
// What belongs here: telling files apart by what they hold, rather than by name or
// number, and cutting what is new in them into stretches of whole lines, each with a
// key by which it is known again. What the lines mean is not its business, nor where
// keys are kept.
//
// A log's text is a stream: it begins with a first line, and files hold the whole of
// it or its beginning. logrotate moves a stream to another name, copies it
// (copytruncate) or packs it; what was read of it stays read, since it is known by
// its first line and by the bytes before the place where reading stopped. A file that
// begins like a stream and does not agree with it there is another one.
//
// A file that is truncated while it is looked at is looked at again. What nobody can
// tell from the files, however they are read: lines that were written between the
// copy and the truncation of copytruncate, or before a truncation without a copy, and
// that were not read by then, are in no file any more (use create rather than
// copytruncate where every line matters); a text that begins with the same 4 KiB as
// the one whose place it took during a look is taken for it; and one with the first
// line of an earlier one that is shorter than the first stretch of that may be a copy
// under way, and is read once it is longer or nobody wrote to it for long. Lines with a
// time in them are never so alike. In each of these a line may be missed; none is counted twice.
package follow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gapless/collectors/plainfile"
)

const (
	// calm is how long a packed file that breaks off must not have been written to for
	// that to be taken as final.
	calm = 10 * time.Second

	// limit bounds a stretch, so that not too much is read again after a crash.
	limit = 32 << 20

	// tick is how coarse the clocks of file systems are, at most (FAT: 2 s). A file that
	// was truncated and written to within one tick may look as it did before.
	tick = 2 * time.Second

	// linger is how long a file that went out of sight is kept open for what its writer
	// may still add to it.
	linger = 10 * time.Minute

	// changesMost is how often a file that changed while it was read is read anew at once.
	// One that is never the same for the time that it takes cannot be read, and nobody
	// may take it for read.
	changesMost = 4

	// holdMost bounds how many files are held open, those written to last first. All
	// that the pattern names are, however long nobody wrote to them, unless they are
	// packed: what is added to one just before it goes out of sight can be read in no
	// other way.
	holdMost = 64
)

// ErrChanged says that a file was truncated or replaced while it was read. What was
// read of it must not be used; it is read anew.
var ErrChanged = errors.New("the file changed while it was read")

// Files are the files that a pattern names. It serves one goroutine.
type Files struct {
	pattern string
	still   time.Duration
	streams map[string][]*stream // by their first line
	seen    map[string]seen      // by path
	held    map[uint64]*held     // by inode: files that are written to

	// between, in tests, is called before everything that is asked of the file system.
	between func()
}

// seen is what a look made of a path, so that the next one need not open it again.
type seen struct {
	inode    uint64
	size     int64
	modified time.Time
	pending  time.Duration // its end was not final, and is once nobody wrote to it for so long; else 0
	old      bool          // passed over for its age
	fresh    bool          // written to so shortly before that more may have come at the same time, by the clock of the files
}

type held struct {
	file     *os.File
	path     string
	modified time.Time
	size     int64     // when it was read last
	gone     time.Time // since when no path leads to it; zero: one does
}

// New makes the Files of a pattern as [filepath.Match] knows them, or of a plain path.
//
// A line that has no end yet may be one that is half written. It is taken as it
// stands when the file that it stands in went out of sight and is let go, or once
// nobody wrote to that for still (at least 10 s). Whoever closes a span of time some
// while after its end, and must have every byte of it accounted for by then, says how
// long that while is; until then half a line is no line.
func New(pattern string, still time.Duration) *Files {
	return &Files{pattern: pattern, still: max(still, calm), streams: map[string][]*stream{}, seen: map[string]seen{}, held: map[uint64]*held{}}
}

// Restore says that the stretch of a key was read before. Keys of anything else are
// passed over. Order does not matter; call it before the first [Files.Look].
func (f *Files) Restore(key string) {
	id, end, ok := parseKey(key)
	if !ok {
		return
	}
	head, _, _ := strings.Cut(id, "~")
	for _, s := range f.streams[head] {
		if s.id == id {
			s.add(end)
			return
		}
	}
	f.streams[head] = append(f.streams[head], &stream{id: id, ends: []boundary{end}})
}

// Look calls read for every stretch that is new, oldest file first. A file that was
// last written to before since is passed over, unless something of it was read
// before. An error of read ends the look, but for [ErrChanged], after which the file
// is read anew; where it changes again and again, that is an error of the file. Errors
// of files are gathered, and the others are read all the same.
func (f *Files) Look(ctx context.Context, now, since time.Time, read func(*Stretch) error) error {
	f.moment()
	paths, err := Paths(f.pattern)
	var failures []error
	if err != nil {
		failures = append(failures, err)
	}
	type found struct {
		path string
		info os.FileInfo
	}
	var files []found
	present := map[uint64]bool{}
	for _, path := range paths {
		f.moment()
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && len(paths) > 1: // moved since it was listed
			continue
		case err != nil:
			failures = append(failures, err)
			continue
		case info.Mode().IsRegular():
			files = append(files, found{path, info})
			present[Inode(info)] = true
		default:
			failures = append(failures, fmt.Errorf("read %s: %w", path, plainfile.ErrNotRegular))
		}
	}
	slices.SortStableFunc(files, func(a, b found) int {
		return cmp.Or(a.info.ModTime().Compare(b.info.ModTime()), strings.Compare(b.path, a.path))
	})
	l := look{files: f, ctx: ctx, now: now, since: since, read: read}
	for inode, h := range f.held {
		if present[inode] {
			h.gone = time.Time{}
		} else if err := l.gone(inode, h); err != nil {
			if failed, ok := errors.AsType[*readError](err); ok {
				return failed.err
			}
			failures = append(failures, err)
		}
	}
	for _, file := range files {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if f.unchanged(file.path, file.info, now, since) {
			continue
		}
		err := l.path(file.path)
		for range changesMost {
			if !errors.Is(err, ErrChanged) {
				break
			}
			err = l.path(file.path) // see what it became
		}
		if err != nil {
			if failed, ok := errors.AsType[*readError](err); ok {
				return failed.err
			}
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			failures = append(failures, err)
		}
	}
	for path := range f.seen {
		if !slices.Contains(paths, path) {
			delete(f.seen, path)
		}
	}
	f.letGo()
	return errors.Join(failures...)
}

// moment is one at which something else may happen to the files.
func (f *Files) moment() {
	if f.between != nil {
		f.between()
	}
}

// openFile is a file that is being read.
type openFile struct {
	*os.File
	files *Files
}

func (o openFile) ReadAt(p []byte, at int64) (int, error) {
	o.files.moment()
	return o.File.ReadAt(p, at)
}

func (o openFile) Stat() (os.FileInfo, error) {
	o.files.moment()
	return o.File.Stat()
}

// Close closes what is held open.
func (f *Files) Close() {
	for inode, h := range f.held {
		_ = h.file.Close()
		delete(f.held, inode)
	}
}

func (f *Files) unchanged(path string, info os.FileInfo, now, since time.Time) bool {
	s, ok := f.seen[path]
	if !ok || s.inode != Inode(info) || s.size != info.Size() || !s.modified.Equal(info.ModTime()) {
		return false
	}
	dueNow := s.fresh || s.pending > 0 && now.Sub(s.modified) > s.pending || s.old && !s.modified.Before(since)
	return !dueNow
}

// letGo closes all but the files that were written to last.
func (f *Files) letGo() {
	inodes := make([]uint64, 0, len(f.held))
	for inode := range f.held {
		inodes = append(inodes, inode)
	}
	slices.SortFunc(inodes, func(a, b uint64) int { return f.held[b].modified.Compare(f.held[a].modified) })
	for _, inode := range inodes[min(len(inodes), holdMost):] {
		_ = f.held[inode].file.Close()
		delete(f.held, inode)
	}
}

// readError is an error of the caller's.
type readError struct{ err error }

func (e *readError) Error() string { return e.err.Error() }

// look is one call of [Files.Look].
type look struct {
	files      *Files
	ctx        context.Context
	now, since time.Time
	read       func(*Stretch) error
}

// path reads what is new in the file that a path leads to.
func (l *look) path(path string) error {
	l.files.moment()
	file, info, err := plainfile.Open(path)
	if err != nil {
		return err
	}
	of, err := l.file(path, file, info, false)
	inode, read := Inode(info), info.Size()
	_, refused := errors.AsType[*readError](err)
	if refused {
		read = -1 // what is in it is still to be read
	}
	before := l.files.held[inode]
	switch {
	case err != nil && !refused || of.packed || inode == 0:
		_ = file.Close() // it was only read
	case before == nil:
		l.files.held[inode] = &held{file: file, path: path, modified: info.ModTime(), size: read}
	default:
		_ = before.file.Close()
		*before = held{file: file, path: path, modified: info.ModTime(), size: read}
	}
	if err != nil {
		if errors.Is(err, ErrChanged) {
			return fmt.Errorf("read %s: %w", path, err)
		}
		return err
	}
	l.files.seen[path] = seen{inode: inode, size: info.Size(), modified: info.ModTime(), pending: of.pending, old: of.old, fresh: l.now.Sub(info.ModTime()) <= tick}
	return nil
}

// gone reads what was added to a file that no path of the pattern leads to any more,
// and lets go of it when nothing was for long.
func (l *look) gone(inode uint64, h *held) error {
	if h.gone.IsZero() {
		h.gone = l.now
	}
	info, err := h.file.Stat()
	last := err == nil && l.now.Sub(info.ModTime()) > linger && l.now.Sub(h.gone) > linger
	for tries := 0; err == nil && (info.Size() != h.size || last); tries++ {
		if _, err = l.file(h.path, h.file, info, last); err == nil {
			h.size = info.Size()
			break
		}
		if errors.Is(err, ErrChanged) && tries < changesMost {
			info, err = h.file.Stat() // see what it became
		}
	}
	if _, refused := errors.AsType[*readError](err); refused {
		return err
	}
	changed := errors.Is(err, ErrChanged)
	if err != nil && !changed || last {
		_ = h.file.Close()
		delete(l.files.held, inode)
	}
	if changed {
		return fmt.Errorf("read %s, which is gone: %w", h.path, err)
	}
	return nil
}

// outcome is what a look made of a file.
type outcome struct {
	pending     time.Duration // as in seen
	old, packed bool
}

// file reads what is new in an open file; last says that no other look will. [ErrChanged]
// says that it was truncated or replaced meanwhile: then nothing that was concluded
// from it holds.
func (l *look) file(path string, file *os.File, info os.FileInfo, last bool) (outcome, error) {
	t := text{file: openFile{file, l.files}, opened: info, size: info.Size()}
	if err := t.begin(); err != nil {
		return outcome{}, err
	}
	var err error
	if t.packed, err = isPacked(t.file); err != nil {
		return outcome{}, err
	}
	still := l.files.still
	if t.packed {
		still = calm
	}
	t.final = last || l.now.Sub(info.ModTime()) > still
	of := outcome{packed: t.packed}
	var pending bool
	if pending, of.old, err = l.text(path, &t); pending {
		of.pending = still
	}
	if _, failed := errors.AsType[*readError](err); failed {
		return of, err
	}
	if changed := t.unchanged(); changed != nil {
		return of, changed
	}
	return of, err
}

// text reads what is new in a file's text.
func (l *look) text(path string, t *text) (pending, old bool, err error) {
	info := t.opened
	if err := unreadable(path); err != nil {
		if info.ModTime().Before(l.since) {
			return false, true, nil
		}
		return false, false, err
	}
	head, err := t.head()
	switch {
	case err != nil:
		return true, false, err
	case head == "" && t.packed && t.final && !info.ModTime().Before(l.since):
		t.broken = io.ErrUnexpectedEOF
		return false, false, l.broken(path, t, nil, 0, info)
	case head == "":
		return true, false, nil
	}
	f := l.files
	if len(f.streams[head]) == 0 && info.ModTime().Before(l.since) {
		return false, true, nil
	}
	if err := t.measure(f.streams[head]); err != nil {
		return true, false, err
	}
	if t.packed && t.broken != nil && !t.final {
		return true, false, nil // it is being written
	}
	for {
		s, at, whole, unsure, err := t.match(f.streams[head])
		if err != nil || unsure {
			return unsure, false, err
		}
		if whole { // nothing that was not read
			return false, false, nil
		}
		to, err := t.cut(at)
		if err != nil {
			return false, false, err
		}
		if to == at {
			if t.packed && t.broken != nil {
				return false, false, l.broken(path, t, s, at, info)
			}
			return at < t.size, false, nil
		}
		isNew := s == nil
		if isNew {
			s = &stream{id: unusedID(head, f.streams[head])}
		}
		tail, err := t.tail(to)
		if err != nil {
			return false, false, err
		}
		part := Stretch{Path: path, Modified: info.ModTime(), From: at, To: to, key: formatKey(s.id, at, to, tail)}
		if err := l.stretch(t, &part, tail); err != nil {
			return false, false, err
		}
		if isNew {
			f.streams[head] = append(f.streams[head], s)
		}
		s.add(boundary{to, tail})
	}
}

// stretch lets the caller read one stretch.
func (l *look) stretch(t *text, part *Stretch, tail string) error {
	content, release, err := t.open(part.From, part.To)
	if err != nil {
		return err
	}
	defer release()
	count := &counter{r: content}
	if !t.packed {
		if count.last, err = t.before(part.From); err != nil {
			return err
		}
	}
	part.Reader = count
	part.verify = func() error {
		if count.n != part.To-part.From || !t.packed && sum(count.last, 6) != tail {
			return ErrChanged
		}
		return t.unchanged()
	}
	if err := l.read(part); err != nil {
		if errors.Is(err, ErrChanged) || count.failed && t.unchanged() != nil {
			return ErrChanged
		}
		return &readError{err}
	}
	return nil
}

// broken tells of a packed file that breaks off: what came before was read.
func (l *look) broken(path string, t *text, s *stream, at int64, info os.FileInfo) error {
	id := "broken " + filepath.Base(path)
	if s != nil {
		id = s.id
	}
	part := Stretch{Path: path, Modified: info.ModTime(), From: at, To: at, Broken: t.broken, key: fmt.Sprintf("%s@%d", id, at)}
	part.Reader, part.verify = strings.NewReader(""), t.unchanged
	if err := l.read(&part); err != nil {
		return &readError{err}
	}
	return nil
}

// Paths are the files that a pattern names now, in order. A pattern that names none
// is an error.
func Paths(pattern string) ([]string, error) {
	if !strings.ContainsAny(pattern, "*?[") {
		return []string{pattern}, nil
	}
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("files %s: %w", pattern, err)
	}
	if len(paths) == 0 {
		if _, err := os.ReadDir(filepath.Dir(pattern)); err != nil && !strings.ContainsAny(filepath.Dir(pattern), "*?[") {
			return nil, fmt.Errorf("files %s: %w", pattern, err)
		}
		return nil, fmt.Errorf("no file matches %s: %w", pattern, fs.ErrNotExist)
	}
	slices.Sort(paths)
	return paths, nil
}

// unusedID is a name for another stream with the same first line.
func unusedID(head string, streams []*stream) string {
	id := head
	for n := 2; slices.ContainsFunc(streams, func(s *stream) bool { return s.id == id }); n++ {
		id = fmt.Sprintf("%s~%d", head, n)
	}
	return id
}

// unreadable is why a file cannot be read, by its name.
func unreadable(path string) error {
	switch filepath.Ext(path) {
	case ".bz2", ".xz", ".zst", ".lz4", ".zip":
		return fmt.Errorf("read %s: only gzip is unpacked", path)
	}
	return nil
}
