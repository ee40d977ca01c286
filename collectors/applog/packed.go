package applog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"gapless/analysis"
	"gapless/collectors/follow"
	"gapless/collectors/gunzip"
)

// A packed file is read once it is whole, as what it holds: of a log that was read before
// it was packed there is nothing new in it. It is unpacked into a temporary file, which
// ends with the reading.

func isPacked(f *os.File) (bool, error) {
	var magic [2]byte
	n, err := f.ReadAt(magic[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return gunzip.Is(magic[:n]), nil
}

// packedID is by what a packed file is known whose name changes.
func packedID(info os.FileInfo) string {
	return fmt.Sprintf("%d: %d bytes of %s", follow.Inode(info), info.Size(), info.ModTime().UTC().Format(time.RFC3339Nano))
}

// readPacked brings what is new in a packed file. One that is damaged is told while it may
// hold something of the time after from.
func (r *Reader) readPacked(ctx context.Context, p *pass, path string, f *file, packed *os.File, info os.FileInfo, from time.Time) error {
	id := packedID(info)
	if f.known && f.position.Packed == id {
		return nil
	}
	old := info.ModTime().Before(from)
	if f.handle == nil && f.damagedID == id {
		if old {
			return nil
		}
		return f.damage
	}
	if f.handle != nil { // the path led to a log before
		if _, err := r.leave(ctx, p, path, f); err != nil {
			return err
		}
		_ = f.handle.Close()
		f.handle = nil
	}
	if err := p.flush(ctx, p.run.From); err != nil { // what was read of the file before may be in this one
		return err
	}
	r.replaced(f)
	holes := f.position.Holes
	for _, known := range r.texts {
		if known.Packed != id {
			continue
		}
		next := known.clone()
		next.keep(holes)
		encoded := next.encode()
		return p.add(ctx, f, analysis.AppBatch{File: path, Position: encoded}, func() { f.position, f.known, f.stored = next, true, encoded })
	}
	text, err := unpack(ctx, packed)
	if err != nil {
		isDamaged := errors.Is(err, errDamaged)
		err = fmt.Errorf("unpack %s: %w", path, err)
		if isDamaged {
			f.damagedID, f.damage = id, err
			if old {
				return nil
			}
		}
		return err
	}
	defer discard(text)
	size, err := text.Stat()
	if err != nil {
		return fmt.Errorf("unpack %s: %w", path, err)
	}
	b, err := r.begin(path, text, size, forever)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	f.position, f.known, f.again = b.at, false, b.again
	f.position.keep(holes)
	f.position.Packed = id
	err = r.drain(ctx, p, path, f, text, forever)
	f.again = f.again && err != nil
	return err
}

// errDamaged is why a packed file cannot be unpacked, however often that is tried.
var errDamaged = errors.New("damaged")

// unpack answers a temporary file that holds what a packed one does.
func unpack(ctx context.Context, packed *os.File) (text *os.File, err error) {
	z, err := gunzip.New(io.NewSectionReader(packed, 0, 1<<62))
	if err != nil {
		return nil, ofPacked(err)
	}
	if text, err = os.CreateTemp("", "gapless-log-*"); err != nil {
		return nil, err
	}
	_ = os.Remove(text.Name()) // where it can be, nothing is left of it however the process ends
	if _, err = io.Copy(text, unpacking{ctx, z}); err != nil {
		discard(text)
		return nil, err
	}
	return text, nil
}

// unpacking reads until its context ends.
type unpacking struct {
	ctx context.Context //nolint:containedctx // it lives as long as one call
	z   io.Reader
}

func (u unpacking) Read(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := u.z.Read(b)
	return n, ofPacked(err)
}

// ofPacked tells what is wrong with a packed file from what keeps it from being read.
func ofPacked(err error) error {
	if _, ok := errors.AsType[*fs.PathError](err); ok || err == nil || err == io.EOF { //nolint:errorlint // the end is never wrapped
		return err
	}
	return fmt.Errorf("%w: %w", errDamaged, err)
}

func discard(text *os.File) {
	_ = text.Close()
	_ = os.Remove(text.Name())
}
