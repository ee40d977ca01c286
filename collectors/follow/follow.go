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
// A file that is truncated while it is looked at is looked at again. Two files that are
// there at the same time and hold one stream, by what was noted of it, are compared byte
// by byte: the shorter one is a copy if all of it stands in the other, and else a text of
// its own, which counts whole. What is not read at a look is told, with the time since
// when lines may be missing ([Files.Unread]): a half line, a packed file that is being
// written or broke off, one that may be a copy of something that is not there to be
// compared with, and one that is the same as another while both grow.
//
// What nobody can tell from the files, however they are read: lines that were written
// between the copy and the truncation of copytruncate, or before a truncation without a
// copy, and that were not read by then, are in no file any more (use create rather than
// copytruncate where every line matters); a text that begins with the same 4 KiB as the
// one whose place it took during a look is taken for it. In each of these a line may be
// missed. Two texts that are the same to the last byte are one. A text that was rotated
// out of the pattern, or removed, while nobody followed it is told as unread where another
// one stands in its place ([Files.Await]); where none does, nobody knows that there was
// more of it. A file that was put
// together from others, or lost its first lines, is a text of its own from where it
// differs from them: beside them it counts twice what they have in common.
package follow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

	// alikeMost is how much of two files is compared at once.
	alikeMost = 64 << 10

	// holdMost bounds how many files are held open, those written to last first. All
	// that the pattern names are, however long nobody wrote to them, unless they are
	// packed: what is added to one just before it goes out of sight can be read in no
	// other way.
	holdMost = 64
)

// ErrChanged says that a file was truncated or replaced while it was read. What was
// read of it must not be used; it is read anew.
var ErrChanged = errors.New("the file changed while it was read")

// Why something of a file is not read yet, or cannot be.
var (
	errHalfLine = errors.New("its last line has no end yet")
	errWriting  = errors.New("it breaks off, and was written to shortly before")
	errAlike    = errors.New("it begins like a text that was read, which is not there to be compared with")
	errTwin     = errors.New("it is the same as another file, and both grow")
	errReplaced = errors.New("another text took the place of the one that was read there, which no file of the pattern holds: what was added to it meanwhile is lost")
)

// Unread says that something of a file was not read when it was looked at last.
type Unread struct {
	Since   time.Time // no line of it is older, by the line before it; zero: nobody knows
	Until   time.Time // since when the file is gone: no line of it is younger; zero: it is there
	Why     error
	Final   bool   // nobody writes to it any more: the next look will not read it either
	Version string // changes with the file
}

// Files are the files that a pattern names. It serves one goroutine.
type Files struct {
	pattern   string
	still     time.Duration
	timeOf    func(line []byte) time.Time
	streams   map[string][]*stream // by their first line
	unordered bool                 // streams were restored
	seen      map[string]seen      // by path
	held      map[fileID]*held     // files that are written to
	unread    map[string]*Unread   // by path
	awaited   map[string]string    // by path: the stream that it led to when somebody looked last

	// between, in tests, is called before everything that is asked of the file system.
	between func()
}

// fileID is the number of a file and that of its device; zero where files have none.
type fileID struct{ device, inode uint64 }

// seen is what a look made of a path, so that the next one need not open it again.
type seen struct {
	id       fileID
	size     int64
	modified time.Time
	first    time.Time // when it was first seen so, by the clock of the looks
	ends     int       // places up to which texts with its first line were read
	fresh    bool      // written to so shortly before that more may have come at the same time, by the clock of the files
	outcome
}

func (s *seen) is(info os.FileInfo) bool {
	return s.id == identity(info) && s.size == info.Size() && s.modified.Equal(info.ModTime())
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
//
// timeOf is the time of a line, zero where that is not known.
func New(pattern string, still time.Duration, timeOf func(line []byte) time.Time) *Files {
	return &Files{pattern: pattern, still: max(still, calm), timeOf: timeOf, streams: map[string][]*stream{}, seen: map[string]seen{}, held: map[fileID]*held{}, unread: map[string]*Unread{}, awaited: map[string]string{}}
}

// Restore says that the stretch of a key was read before, also by somebody else, and of
// when its last line is, zero where that is not known. Keys of
// anything else are passed over. Order does not matter.
func (f *Files) Restore(key string, last time.Time) {
	id, end, ok := parseKey(key)
	if !ok {
		return
	}
	end.last = last
	f.unordered = true
	head, _, _ := strings.Cut(id, "~")
	for _, s := range f.streams[head] {
		if s.id == id {
			s.ends = append(s.ends, end)
			return
		}
	}
	f.streams[head] = append(f.streams[head], &stream{id: id, ends: []boundary{end}})
}

// Unread tells, by path, of every file that was looked at what of it was not read; nil
// where all was. Of a file that is gone it tells in one look more. It is not to be changed, and holds until the next look.
func (f *Files) Unread() map[string]*Unread { return f.unread }

// Look calls read for every stretch that is new, oldest file first. A file that was
// last written to before since is passed over, unless something of it was read
// before, or its first line is younger than that. An error of read ends the look, but for [ErrChanged], after which the file
// is read anew; where it changes again and again, that is an error of the file. Errors
// of files are gathered, and the others are read all the same.
func (f *Files) Look(ctx context.Context, now, since time.Time, read func(*Stretch) error) error {
	f.order()
	f.moment()
	paths, err := Paths(f.pattern)
	var failures []error
	if err != nil { // of some of the folders, maybe
		failures = append(failures, err)
	}
	type found struct {
		path string
		info os.FileInfo
	}
	var files []found
	present := map[fileID]bool{}
	for _, path := range paths {
		f.moment()
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && len(paths) > 1 && !exists(path): // moved since it was listed
			continue
		case err != nil:
			failures = append(failures, err)
			continue
		case info.Mode().IsRegular():
			files = append(files, found{path, info})
			present[identity(info)] = true
		default:
			failures = append(failures, fmt.Errorf("read %s: %w", path, plainfile.ErrNotRegular))
		}
	}
	slices.SortStableFunc(files, func(a, b found) int {
		return cmp.Or(a.info.ModTime().Compare(b.info.ModTime()), strings.Compare(b.path, a.path))
	})
	l := look{files: f, ctx: ctx, now: now, since: since, read: read}
	for id, h := range f.held {
		if present[id] {
			h.gone = time.Time{}
		} else if err := l.gone(id, h, !slices.Contains(paths, h.path)); err != nil {
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
		if err := l.untilSame(file.path); err != nil {
			if failed, ok := errors.AsType[*readError](err); ok {
				return failed.err
			}
			failures = append(failures, err)
		}
	}
	for _, path := range slices.Compact(l.unsure) { // by now it is known what the others hold
		if err := l.untilSame(path); err != nil {
			if failed, ok := errors.AsType[*readError](err); ok {
				return failed.err
			}
			failures = append(failures, err)
		}
	}
	l.vanished(paths)
	if len(failures) == 0 { // else it may be in one that could not be read
		l.replaced()
	}
	f.letGo()
	return errors.Join(failures...)
}

// vanished forgets the paths that led to files and lead to none any more. What was not
// read of such a file is told of once more, unless it is there by another path.
func (l *look) vanished(paths []string) {
	f := l.files
	ids, held := map[fileID]bool{}, map[string]bool{}
	for path, s := range f.seen {
		if slices.Contains(paths, path) {
			ids[s.id] = true
		}
	}
	for _, h := range f.held {
		held[h.path] = true
	}
	for path, rest := range f.unread {
		switch {
		case slices.Contains(paths, path), held[path], slices.Contains(l.finished, path):
		case rest == nil || !rest.Until.IsZero():
			delete(f.unread, path)
		case ids[f.seen[path].id]:
			f.unread[path] = nil
		default:
			lost := *rest
			lost.Until, lost.Version = l.now, lost.Version+", and is gone"
			f.unread[path] = &lost
		}
	}
	for path := range f.seen {
		if !slices.Contains(paths, path) {
			delete(f.seen, path)
		}
	}
}

// replaced tells of texts that were read at paths that lead to others now, and that are
// in no file any more: nobody saw their ends.
func (l *look) replaced() {
	f := l.files
	there := map[string]bool{}
	for _, s := range f.seen {
		if s.stream != nil {
			there[s.stream.id] = true
		}
	}
	for path, id := range f.awaited {
		now := f.seen[path]
		if now.stream == nil {
			continue // nobody knows yet what is there now
		}
		delete(f.awaited, path)
		if there[id] {
			continue
		}
		lost := &Unread{Since: f.lastOf(id), Until: l.now, Why: errReplaced, Version: id}
		if until := now.began.Add(linger); !now.began.IsZero() && until.Before(l.now) && !until.Before(lost.Since) {
			lost.Until = until // which is as long as the writer of the old one may have added to it
		}
		f.unread[fmt.Sprintf("%s, text %s", path, id)] = lost
	}
}

// lastOf is the time of the last line of a stream, as far as that was restored.
func (f *Files) lastOf(id string) (last time.Time) {
	head, _, _ := strings.Cut(id, "~")
	for _, s := range f.streams[head] {
		for _, end := range s.ends {
			if s.id == id && end.last.After(last) {
				last = end.last
			}
		}
	}
	return last
}

// Await says that a path led to a stream, as [Files.Places] told it, when somebody
// looked last. If it leads to another one now, and no file holds that stream, what was
// added to it meanwhile is lost, which is told as unread.
func (f *Files) Await(path, stream string) { f.awaited[path] = stream }

// Places tells which streams the paths led to at the last look that somebody may still
// write to: not those of packed files, nor of rotated ones, whose names go on from that
// of another (access.log.1, access.log-20261014). What is not sure is left out.
func (f *Files) Places() map[string]string {
	places := map[string]string{}
	for path, s := range f.seen {
		if s.stream == nil || s.packed {
			continue
		}
		if id, ok := f.awaited[path]; ok && id != s.stream.id {
			continue
		}
		isRotated := false
		for name := path; !isRotated; {
			at := strings.LastIndexAny(name, ".-")
			if at <= 0 {
				break
			}
			name = name[:at]
			_, isRotated = f.seen[name]
		}
		if !isRotated {
			places[path] = s.stream.id
		}
	}
	return places
}

// order puts what was restored in order.
func (f *Files) order() {
	if !f.unordered {
		return
	}
	f.unordered = false
	for _, streams := range f.streams {
		for _, s := range streams {
			slices.SortFunc(s.ends, func(a, b boundary) int { return cmp.Compare(a.at, b.at) })
			s.ends = slices.CompactFunc(s.ends, func(a, b boundary) bool { return a.at == b.at })
		}
	}
}

// endsOf counts the places up to which texts with a first line were read.
func (f *Files) endsOf(head string) (n int) {
	for _, s := range f.streams[head] {
		n += len(s.ends)
	}
	return n
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
	for id := range f.held {
		f.release(id)
	}
}

// release closes a file. What is added to it before another takes its place is lost now.
func (f *Files) release(id fileID) {
	h := f.held[id]
	_ = h.file.Close()
	delete(f.held, id)
	if s := f.seen[h.path]; s.stream != nil && s.id == id && !s.packed {
		f.awaited[h.path] = s.stream.id
	}
}

func (f *Files) unchanged(path string, info os.FileInfo, now, since time.Time) bool {
	s, ok := f.seen[path]
	if !ok || !s.is(info) {
		return false
	}
	dueNow := s.fresh || s.pending > 0 && quiet(now, s.modified, s.first) > s.pending || s.old && !s.modified.Before(since) ||
		s.unsure || s.cut && s.ends != f.endsOf(s.head)
	return !dueNow
}

// quiet is for how long nobody wrote to a file, by its own time and by when it was first
// seen as it is: files come with any time, and with one that is still to come.
func quiet(now, modified, first time.Time) time.Duration {
	return max(now.Sub(modified), now.Sub(first))
}

// letGo closes all but the files that were written to last.
func (f *Files) letGo() {
	ids := make([]fileID, 0, len(f.held))
	for id := range f.held {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b fileID) int { return f.held[b].modified.Compare(f.held[a].modified) })
	for _, id := range ids[min(len(ids), holdMost):] {
		f.release(id)
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
	unsure     []string // paths of files that may be copies
	finished   []string // paths that led to files that were let go
}

// untilSame reads what is new in the file that a path leads to, anew where that changes
// meanwhile. A path that leads to none any more is no error.
func (l *look) untilSame(path string) error {
	err := l.path(path)
	for range changesMost {
		if !errors.Is(err, ErrChanged) {
			break
		}
		err = l.path(path) // see what it became
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// path reads what is new in the file that a path leads to.
func (l *look) path(path string) error {
	f := l.files
	f.moment()
	file, info, err := plainfile.Open(path)
	if err != nil {
		return err
	}
	was, id, read := f.seen[path], identity(info), info.Size()
	now := seen{id: id, size: info.Size(), modified: info.ModTime(), first: l.now, fresh: l.now.Sub(info.ModTime()) <= tick}
	if was.is(info) {
		now.first = was.first
	}
	now.outcome, err = l.file(path, file, info, now.first, false)
	_, refused := errors.AsType[*readError](err)
	if refused {
		read = -1 // what is in it is still to be read
	}
	before := f.held[id]
	switch {
	case err != nil && !refused || now.packed || id.inode == 0:
		_ = file.Close() // it was only read
	case before == nil:
		f.held[id] = &held{file: file, path: path, modified: info.ModTime(), size: read}
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
	now.ends = f.endsOf(now.head)
	f.seen[path] = now
	if !now.old {
		f.unread[path] = now.unread
	}
	return nil
}

// gone reads what was added to a file that no path of the pattern leads to any more,
// and lets go of it when nothing was for long. vacant says that its path leads to no
// other file either.
func (l *look) gone(id fileID, h *held, vacant bool) error {
	if h.gone.IsZero() {
		h.gone = l.now
	}
	info, err := h.file.Stat()
	last := err == nil && l.now.Sub(info.ModTime()) > linger && l.now.Sub(h.gone) > linger
	for tries := 0; err == nil && (info.Size() != h.size || last); tries++ {
		var of outcome
		if of, err = l.file(h.path, h.file, info, l.now, last); err == nil {
			h.size = info.Size()
			if vacant {
				l.files.unread[h.path] = of.unread
			}
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
		delete(l.files.held, id)
		l.finished = append(l.finished, h.path)
	}
	if changed {
		return fmt.Errorf("read %s, which is gone: %w", h.path, err)
	}
	return nil
}

// outcome is what a look made of a file.
type outcome struct {
	head    string
	pending time.Duration // its end was not final, and is once nobody wrote to it for so long; else 0
	old     bool          // passed over for its age
	packed  bool
	cut     bool    // packed, and breaks off: what was read of it is read again, with what comes after it, from a whole one
	stream  *stream // whose text it holds; nil: none that is known
	same    int64   // so much of it was compared with other files of the stream
	unsure  bool    // it may be a copy of something that is not there to be compared with
	grew    bool    // while it held that
	unread  *Unread
	began   time.Time // of its first line, where that is asked for
}

// file reads what is new in an open file; last says that no other look will. [ErrChanged]
// says that it was truncated or replaced meanwhile: then nothing that was concluded
// from it holds.
func (l *look) file(path string, file *os.File, info os.FileInfo, first time.Time, last bool) (outcome, error) {
	t := text{file: openFile{file, l.files}, opened: info, size: info.Size(), still: l.files.still}
	if err := t.begin(); err != nil {
		return outcome{}, err
	}
	var err error
	if t.packed, err = isPacked(t.file); err != nil {
		return outcome{}, err
	}
	if t.packed {
		t.still = calm
	}
	t.final = last || quiet(l.now, info.ModTime(), first) > t.still
	of := outcome{packed: t.packed}
	err = l.text(path, &t, &of)
	if _, failed := errors.AsType[*readError](err); failed {
		return of, err
	}
	if changed := t.unchanged(); changed != nil {
		return of, changed
	}
	return of, err
}

// text reads what is new in a file's text.
func (l *look) text(path string, t *text, of *outcome) error {
	f, info := l.files, t.opened
	isOld := info.ModTime().Before(l.since)
	if err := Unreadable(path); err != nil {
		if of.old = isOld; isOld {
			return nil
		}
		return err
	}
	head, err := t.head()
	of.head = head
	switch {
	case err != nil:
		return err
	case head == "" && isOld, len(f.streams[head]) == 0 && isOld && !f.timeOf(t.line).After(info.ModTime()):
		of.old = true
		return nil
	case head == "" && t.packed && t.final && t.broken != nil:
		of.leave(t, t.broken, time.Time{})
		return nil
	case head == "" && t.packed && t.broken != nil:
		of.leave(t, errWriting, time.Time{})
		return nil
	case head == "":
		if t.size > 0 && !t.packed {
			of.leave(t, errHalfLine, time.Time{})
		}
		return nil
	}
	if f.awaited[path] != "" {
		of.began = f.timeOf(t.line)
	}
	if err := t.measure(f.streams[head]); err != nil {
		return err
	}
	isCut := t.packed && t.broken != nil
	for {
		m, err := l.match(path, t, head)
		if err != nil {
			return err
		}
		if m.relation != perhaps {
			of.stream, of.same = m.stream, m.same
		}
		was := f.seen[path]
		of.grew = !t.packed && m.stream != nil && was.stream == m.stream && was.id == identity(info) &&
			(was.size < info.Size() || was.grew && l.now.Sub(info.ModTime()) <= calm)
		switch m.relation {
		case perhaps:
			l.unsure, of.unsure = append(l.unsure, path), true
			of.leave(t, errAlike, f.timeOf(t.line))
			return nil
		case within:
			l.nothingNew(t, of, m.twin)
			return nil
		}
		to, err := t.cut(m.at)
		switch {
		case err != nil:
			return err
		case isCut && !t.final:
			return l.leave(t, of, m.at, errWriting)
		case to == m.at && isCut:
			return l.leave(t, of, m.at, t.broken)
		case to == m.at && to < t.size:
			return l.leave(t, of, m.at, errHalfLine)
		case to == m.at:
			l.nothingNew(t, of, m.twin)
			return nil
		}
		s := m.stream
		if s == nil {
			s = &stream{id: unusedID(head, f.streams[head])}
		}
		tail, err := t.tail(to)
		if err != nil {
			return err
		}
		part := Stretch{Path: path, Modified: info.ModTime(), From: m.at, To: to, name: fmt.Sprintf("%s@%d", s.id, m.at), key: formatKey(path, s.id, m.at, to, tail)}
		if isCut {
			part.Broken, of.cut = t.broken, true
		}
		if err := l.stretch(t, &part, tail); err != nil || isCut {
			return err
		}
		if m.stream == nil {
			f.streams[head] = append(f.streams[head], s)
		}
		s.add(boundary{at: to, tail: tail})
	}
}

// nothingNew tells of a text that is the same as another one, while both grow, that it
// may be no copy.
func (l *look) nothingNew(t *text, of *outcome, twin bool) {
	if of.grew && twin {
		of.leave(t, errTwin, l.files.timeOf(t.line))
		of.pending = calm
	}
}

// leave notes that something of a text is not read.
func (of *outcome) leave(t *text, why error, since time.Time) {
	of.unread = &Unread{Since: since, Why: why, Final: t.final, Version: fmt.Sprintf("%d bytes of %s: %v", t.opened.Size(), t.opened.ModTime().UTC().Format(time.RFC3339Nano), why)}
	if !t.final {
		of.pending = t.still
	}
}

// leave notes that a text is not read from a place on.
func (l *look) leave(t *text, of *outcome, at int64, why error) error {
	line, err := t.lineBefore(at)
	if err != nil {
		return err
	}
	since := l.files.timeOf(line)
	if since.IsZero() {
		since = l.files.timeOf(t.line)
	}
	of.leave(t, why, since)
	return nil
}

// stretch lets the caller read one stretch.
func (l *look) stretch(t *text, part *Stretch, tail string) error {
	content, err := t.open(part.From, part.To)
	if err != nil {
		return err
	}
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
	err = l.read(part)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrChanged), count.failed != nil && t.unchanged() != nil:
		return ErrChanged
	case count.failed != nil: // that is the file's own, and the others can be read
		return fmt.Errorf("read %s: %w", part.Path, count.failed)
	}
	return &readError{err}
}

// unusedID is a name for another stream with the same first line.
func unusedID(head string, streams []*stream) string {
	id := head
	for n := 2; slices.ContainsFunc(streams, func(s *stream) bool { return s.id == id }); n++ {
		id = fmt.Sprintf("%s~%d", head, n)
	}
	return id
}

// Unreadable is why a file cannot be read, by its name.
func Unreadable(path string) error {
	switch filepath.Ext(path) {
	case ".bz2", ".xz", ".zst", ".lz4", ".zip":
		return fmt.Errorf("read %s: only gzip is unpacked", path)
	}
	return nil
}
