// Package gunzip reads gzip files as gunzip does: all members, one after another, and
// zeros behind the last, with which copies to blocks of a fixed size are filled up.
//
// What belongs here is the one reader that every collector unpacks with, so that all
// of them agree on which file is whole. A file that is cut short ends in
// [io.ErrUnexpectedEOF], never in [io.EOF]; anything but zeros behind a member, and a
// checksum that is wrong, are other errors, after all content that came before.
package gunzip

import (
	"bufio"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
)

// Reader is the content of a gzip file. It serves one goroutine.
type Reader struct {
	z      gzip.Reader
	source *bufio.Reader
	read   int64
	sound  int64
	ended  bool
}

// Is reports whether content that begins with head is gzip.
func Is(head []byte) bool { return len(head) >= 2 && head[0] == 0x1f && head[1] == 0x8b }

// New makes a Reader. It reads the header of the first member.
func New(source io.Reader) (*Reader, error) {
	r := new(Reader)
	return r, r.Reset(bufio.NewReaderSize(source, 64<<10))
}

// Reset begins with another file, in the Reader's old memory. It reads the header of
// the first member; where that fails, the Reader must not be read.
func (r *Reader) Reset(source *bufio.Reader) error {
	r.source, r.read, r.sound, r.ended = source, 0, 0, false
	return r.member()
}

// member begins with the next member.
func (r *Reader) member() error {
	if err := r.z.Reset(r.source); err != nil {
		return err
	}
	r.z.Multistream(false)
	return nil
}

// Sound is how many bytes of the content that was read lie in members that ended with
// the right checksum.
func (r *Reader) Sound() int64 { return r.sound }

// Read passes over empty members, however many there are: it answers bytes or an error.
func (r *Reader) Read(p []byte) (int, error) {
	for {
		n, err := r.some(p)
		if n > 0 || err != nil || len(p) == 0 {
			return n, err
		}
	}
}

// some reads from one member; nothing where that is at its end.
func (r *Reader) some(p []byte) (int, error) {
	if r.ended {
		return 0, io.EOF
	}
	n, err := r.z.Read(p)
	r.read += int64(n)
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	r.sound = r.read
	padded, err := r.padding()
	switch {
	case err != nil:
	case padded:
		err = gzip.ErrHeader // something follows the zeros
	default:
		err = r.member()
	}
	r.ended = errors.Is(err, io.EOF)
	return n, err
}

// padding reads zeros, if any are next. The error is io.EOF where nothing else
// follows.
func (r *Reader) padding() (some bool, err error) {
	for {
		c, err := r.source.ReadByte()
		if err != nil {
			return some, err
		}
		if c != 0 {
			return some, r.source.UnreadByte()
		}
		some = true
	}
}
