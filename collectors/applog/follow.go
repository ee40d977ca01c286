package applog

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gapless/analysis"
	"gapless/collectors/applog/logrules"
	"gapless/collectors/follow"
	"gapless/collectors/plainfile"
)

// A line longer than maxLine bytes is skipped and named. A batch is stored after
// about batchBytes bytes of lines, so that memory does not grow with a file.
const (
	maxLine    = 1 << 20
	batchBytes = 16 << 20
	batchRows  = 20_000
)

// calm is how long a file must not have been written to for its last line to be
// taken as whole though it does not end.
const calm = 10 * time.Second

// file is one followed path.
type file struct {
	position position
	known    bool   // a position was stored for the path
	stored   []byte // that position
	text     textID // by what its text is remembered; none: it is not yet
	end      int64  // up to where the last look read it

	size       int64 // since sizeAt
	sizeAt     time.Time
	lookedAt   time.Time // the last look that succeeded, and the size then
	lookedSize int64
	waits      time.Time // what waits at its end was not there before; zero where nothing does

	damagedID string // the packed file at the path that cannot be unpacked, and why
	damage    error

	again  bool     // what is read now may have been read of another file: a copy, or one that was cut back
	handle *os.File // what the path led to at the last look; it stays readable if renamed or removed
}

// load gets the stored positions of paths that are new to us, before any is read:
// a renamed file is known by the position of its old path.
func (r *Reader) load(ctx context.Context, paths []string) error {
	for _, path := range paths {
		if r.files[path] != nil {
			continue
		}
		stored, err := r.sink.Position(ctx, r.cfg.Service, r.cfg.Source, path)
		if err != nil {
			return fmt.Errorf("load position in %s: %w", path, err)
		}
		p, err := decodePosition(stored)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		r.files[path] = &file{position: p, known: len(stored) > 0, stored: stored}
		r.remember(r.files[path])
	}
	return nil
}

// read brings everything new in one file. last says that no later look will.
func (r *Reader) read(ctx context.Context, p *pass, path string, from time.Time, whole, last bool) error {
	f := r.files[path]
	if f == nil {
		return nil // its position could not be loaded
	}
	opened, info, err := plainfile.Open(path)
	if err != nil {
		return errors.Join(err, r.gone(ctx, p, path, f))
	}
	keep := false
	defer func() {
		if !keep {
			_ = opened.Close()
		}
	}()
	if !f.known && f.handle == nil && whole && info.ModTime().Before(from) {
		return nil // too old to hold anything of the span
	}
	if err := follow.Unreadable(path); err != nil {
		if info.ModTime().Before(from) { // too old, or it was read before it was packed
			return nil
		}
		return err
	}
	if packed, err := isPacked(opened); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	} else if packed {
		return r.readPacked(ctx, p, path, f, opened, info, from)
	}
	now := r.cfg.Now()
	quiet := f.quiet(info, now)
	if last && quiet > pause {
		quiet = forever // there is no later look
	}
	same, err := f.position.fits(opened, info.Size())
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if same && f.handle != nil && f.position.HeadLen == 0 {
		// Nothing was read that could tell the files apart: their numbers do.
		if before, err := f.handle.Stat(); err == nil {
			same = os.SameFile(before, info)
		}
	}
	isLost := false
	if !same {
		found, err := r.leave(ctx, p, path, f)
		if err != nil {
			return err
		}
		isLost = !found && f.known && f.position.reach() > 0 && !r.isElsewhere(ctx, path, &f.position)
	}
	if !same || !f.known && f.handle == nil {
		if err := p.flush(ctx, p.run.From); err != nil { // what was read of the file before may be in this one
			return err
		}
		r.replaced(f)
		holes, last := f.position.Holes, f.position.latest()
		b, err := r.begin(path, opened, info, quiet)
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		if b.wait {
			return nil
		}
		f.position, f.known, f.again = b.at, false, b.again
		f.position.keep(holes)
		f.position.Packed = ""
		if isLost {
			f.position.damage(path+": what was added to the text that stood there before is in no file any more", last, now.UTC())
		}
	}
	if f.handle != nil {
		_ = f.handle.Close()
	}
	f.handle, keep = opened, true
	err = r.drain(ctx, p, path, f, opened, quiet)
	f.again = f.again && err != nil // what comes after the end is new
	if err == nil {
		f.looked(p, info, now)
	}
	return err
}

// forever is how long nobody writes to a file that is read for the last time.
const forever = time.Duration(math.MaxInt64)

// quiet is for how long nobody has written to the file: by its own time, or since it
// was first seen as long as it is.
func (f *file) quiet(info os.FileInfo, now time.Time) time.Duration {
	if f.size != info.Size() || f.sizeAt.IsZero() {
		f.size, f.sizeAt = info.Size(), now
	}
	return max(time.Since(info.ModTime()), now.Sub(f.sizeAt))
}

// looked keeps the run of a pass from vouching for a time of which something waits at
// the file's end: it was written after the look before that did not see it.
func (f *file) looked(p *pass, info os.FileInfo, now time.Time) {
	switch {
	case f.end >= info.Size():
		f.waits = time.Time{}
	case f.lookedAt.IsZero():
		f.waits = info.ModTime().Add(-calm)
	case f.waits.IsZero() || f.end >= f.lookedSize:
		f.waits = f.lookedAt
	}
	f.lookedAt, f.lookedSize = now, info.Size()
	if !f.waits.IsZero() && f.waits.Before(p.until) {
		p.until = f.waits
	}
}

// leave reads to its end the file that a path led to before, if it can still be
// found: by the open handle, or after a restart by its number in the same folder. One
// that is followed under its new name already is left to that.
func (r *Reader) leave(ctx context.Context, p *pass, path string, f *file) (found bool, err error) {
	old := f.handle
	if old == nil {
		if old = findRenamed(path, f.position); old == nil {
			return false, nil
		}
		defer old.Close()
	}
	info, err := old.Stat()
	if err != nil || r.elsewhere(path, info) {
		return true, err
	}
	if same, err := f.position.fits(old, info.Size()); err != nil || !same {
		return true, err // the file itself was truncated
	}
	if err := r.drain(ctx, p, path, f, old, forever); err != nil {
		return true, err
	}
	if err := p.flush(ctx, p.run.From); err != nil {
		return true, err // f is still where it was
	}
	r.retire(f.position, info)
	return true, r.hand(ctx, p, path, f.position, info)
}

// isElsewhere says whether another file of the pattern holds a text that was read at a
// path, or nobody wrote to it any more: its name goes on from that of another one.
func (r *Reader) isElsewhere(ctx context.Context, path string, text *position) bool {
	paths, _ := follow.Paths(r.pattern) // the next look lists them again, and tells
	for _, name := range oldNames([]string{path}) {
		if slices.Contains(paths, name) {
			return true
		}
	}
	return slices.ContainsFunc(paths, func(name string) bool {
		other, info, err := plainfile.Open(name)
		if err != nil || name == path {
			return false
		}
		defer other.Close()
		if packed, err := isPacked(other); err != nil {
			return false
		} else if packed {
			if other, err = unpack(ctx, other); err != nil {
				return false
			}
			defer discard(other)
			if info, err = other.Stat(); err != nil {
				return false
			}
		}
		same, err := text.fits(other, info.Size())
		return err == nil && same
	})
}

// oldNames are the names that rotated files may have had: without what rotation hangs on
// (app.log.1, app.log-20261014.gz).
func oldNames(paths []string) []string {
	var names []string
	for _, path := range paths {
		for name := path; ; {
			at := strings.LastIndexAny(name, ".-")
			if at <= len(filepath.Dir(name))+1 {
				break
			}
			name = name[:at]
			names = append(names, name)
		}
	}
	return names
}

// missing sees to the files whose paths led nowhere when they were listed, before any
// other is read: what is renamed and not yet begun anew must not be taken for new.
func (r *Reader) missing(ctx context.Context, p *pass, paths []string) error {
	for path, f := range r.files {
		if !f.known && f.handle == nil || slices.Contains(paths, path) {
			continue
		}
		if err := r.gone(ctx, p, path, f); err != nil {
			return err
		}
		if f.handle != nil {
			_ = f.handle.Close()
		}
		r.replaced(f)
		delete(r.files, path)
	}
	return nil
}

// gone reads what was written to a file until its path led nowhere, and lets it be
// known under the name that it may have now.
func (r *Reader) gone(ctx context.Context, p *pass, path string, f *file) error {
	old := f.handle
	if old == nil {
		if old = findRenamed(path, f.position); old == nil {
			return nil
		}
		defer old.Close()
	}
	info, err := old.Stat()
	if err != nil || r.elsewhere(path, info) {
		return err
	}
	if f.handle != nil {
		if err := r.drain(ctx, p, path, f, old, 0); err != nil {
			return err
		}
		if err := p.flush(ctx, p.run.From); err != nil {
			return err
		}
	}
	r.retire(f.position, info)
	return nil
}

// retire remembers how far a file was read that may have another name now.
func (r *Reader) retire(at position, info os.FileInfo) {
	if number := follow.Inode(info); number != 0 {
		r.retired[number] = at
	}
}

// elsewhere reports whether a file is followed under another name already, which then
// says how far it was read.
func (r *Reader) elsewhere(path string, info os.FileInfo) bool {
	for name, g := range r.files {
		if name == path || !g.known || g.position.Inode != follow.Inode(info) {
			continue
		}
		if now, err := os.Stat(name); err == nil && os.SameFile(now, info) {
			return true
		}
	}
	return false
}

// hand stores under the new name of a file how far it was read, before the old name
// gets a position of another: whatever happens in between, no line is read twice.
func (r *Reader) hand(ctx context.Context, p *pass, path string, at position, info os.FileInfo) error {
	paths, _ := follow.Paths(r.pattern) // the next look lists them again, and tells
	if err := r.load(ctx, paths); err != nil {
		return err
	}
	for _, name := range paths {
		g := r.files[name]
		now, err := os.Stat(name)
		if name == path || g.known || err != nil || !os.SameFile(now, info) {
			continue
		}
		next := at.clone()
		encoded := next.encode()
		err = p.add(ctx, g, analysis.AppBatch{File: name, Position: encoded}, func() { g.position, g.known, g.stored = next, true, encoded })
		return errors.Join(err, p.flush(ctx, p.run.From))
	}
	return nil
}

func findRenamed(path string, p position) *os.File {
	if p.Inode == 0 || p.reach() == 0 {
		return nil
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() || follow.Inode(info) != p.Inode || info.Size() < p.reach() {
			continue
		}
		f, _, err := plainfile.Open(filepath.Join(filepath.Dir(path), entry.Name()))
		if err != nil {
			continue
		}
		if same, err := p.fits(f, info.Size()); err == nil && same {
			return f
		}
		_ = f.Close()
	}
	return nil
}

// drain reads whole lines from the position to the end of an open file, in batches.
// What is not whole at the end counts as whole when nobody wrote for long enough: a
// line of the file or an entry of a journal after [calm], a container's piece after [pause].
func (r *Reader) drain(ctx context.Context, p *pass, path string, f *file, opened *os.File, quiet time.Duration) error {
	info, err := opened.Stat()
	if err != nil {
		return err
	}
	at := f.position.clone()
	f.end = at.Offset
	if at.Offset >= info.Size() && f.known {
		return nil
	}
	in := bufio.NewReaderSize(io.NewSectionReader(opened, at.Offset, info.Size()-at.Offset), 256<<10)
	long := make([]byte, 0) // grows only for lines over the reader's size
	d := r.decoder(path, &at)
	b := logrules.NewBatch()
	skip := at.Skip
	reached, stored := at.Offset, at.Offset // by reading; by the batch before
	last := at.encode()
	settle := func() {
		r.settle(b, d, &at, func() string { return fmt.Sprintf("%s, before byte %d: ", path, reached) })
		d.mark(&at)
		at.Skip = skip && at.Offset == reached
	}
	for {
		part, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			if long = append(long, part...); len(long) > maxLine || skip {
				reached += int64(len(long))
				d.lost(long, !skip, reached)
				skip = true
				settle()
				long = long[:0]
			}
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read %s: %w", path, err)
		}
		line := part
		if len(long) > 0 {
			long = append(long, part...)
			line = long
		}
		ended := err == nil
		if len(line) > 0 && (ended || quiet > calm || skip) {
			begin := reached
			reached += int64(len(line))
			if skip {
				d.lost(line, false, reached)
			} else {
				d.take(withoutBOM(bytes.TrimSuffix(line, []byte("\n")), begin), begin, reached)
			}
			skip = skip && !ended
			settle()
		}
		long = long[:0]
		if !ended {
			break
		}
		if reached-stored >= batchBytes || b.Rows() >= batchRows {
			if err := r.add(ctx, p, path, f, opened, info, b, &at); err != nil {
				return err
			}
			b, stored, last = logrules.NewBatch(), reached, at.encode()
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	if at.Offset < reached && (quiet > calm || quiet > pause && r.cfg.Kind == KindContainer) {
		d.give()
		settle()
	}
	f.end = at.Offset
	if f.known && bytes.Equal(at.encode(), last) {
		return nil
	}
	return r.add(ctx, p, path, f, opened, info, b, &at)
}

// add hands a batch on. Only when it is stored does the file's position move, but
// reading goes on meanwhile.
func (r *Reader) add(ctx context.Context, p *pass, path string, f *file, opened *os.File, info os.FileInfo, b *logrules.Batch, at *position) error {
	r.lines.Settle(b, &at.State) // of one stream: where there are several, each line has its time
	at.timeless(b, path+": ", r.cfg.Now().UTC())
	if err := at.identify(opened, info); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	holes := at.untold()
	next := at.clone()
	encoded := next.encode()
	batch := analysis.AppBatch{File: path, Position: encoded, Again: f.again}
	r.lines.Fill(b, &batch)
	return p.add(ctx, f, batch, func() {
		f.position, f.known, f.stored = next, true, encoded
		p.holes = append(p.holes, holes...)
	})
}

// targetOf is who wrote a file, as its path says; empty where that does not.
func (r *Reader) targetOf(path string) string {
	if r.cfg.TargetMatch == nil {
		return ""
	}
	m := r.cfg.TargetMatch.FindStringSubmatch(filepath.ToSlash(path))
	if m == nil {
		return ""
	}
	return m[r.cfg.TargetMatch.SubexpIndex("target")]
}
