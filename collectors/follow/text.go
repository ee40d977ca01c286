package follow

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"gapless/collectors/gunzip"
)

const (
	headMost = 64 << 10 // of a first line, to tell streams apart
	tailSize = 512      // bytes before a boundary: a line or two, with their times

	// startMost bounds the bytes by which a text that is read is told from one that
	// takes its place meanwhile.
	startMost = 4 << 10
)

// text is the unpacked content of a file as it was when it was opened.
//
// A file may be truncated and written to anew at any moment, also between two reads
// of one look, and then one would tell of the old text and the other of the new. So
// the bytes that it begins with are read before everything else and again after it
// ([text.begin], [text.unchanged]): texts follow each other and never come back, and
// if both readings are of one text, all between them were.
type text struct {
	file   openFile
	opened os.FileInfo
	start  []byte // a sum of the bytes that it begins with, when reading began
	packed bool
	size   int64         // of the unpacked text, once it was measured
	final  bool          // nobody writes to it any more
	still  time.Duration // after which it is
	line   []byte        // the first one, as far as it was read

	// Of a packed file, from one reading of it.
	tails  map[int64]string // by boundary
	lines  int64            // where its last whole line ends, of those that are to be trusted
	last   []byte           // the last whole line, where it breaks off and that is not too long
	broken error            // why it breaks off, or is not to be trusted behind lines
}

// begin remembers how the file begins.
func (t *text) begin() (err error) {
	t.start, err = t.sumOfStart()
	return err
}

// unchanged reports [ErrChanged] where the file does not hold the text any more that
// it held when reading began, or that text's end is not the one that was taken for
// final.
func (t *text) unchanged() error {
	start, err := t.sumOfStart()
	if err != nil {
		return err
	}
	if !bytes.Equal(start, t.start) {
		return ErrChanged
	}
	info, err := t.file.Stat()
	switch {
	case err != nil:
		return err
	case info.Size() < t.opened.Size(), t.final && !info.ModTime().Equal(t.opened.ModTime()):
		return ErrChanged
	}
	return nil
}

// sumOfStart is a sum of the bytes that the file begins with, packed or not, of as
// many as it had when it was opened.
func (t *text) sumOfStart() ([]byte, error) {
	b := make([]byte, min(t.opened.Size(), startMost))
	n, err := t.file.ReadAt(b, 0)
	switch {
	case n == len(b):
	case errors.Is(err, io.EOF):
		return nil, ErrChanged
	case err != nil:
		return nil, err
	}
	s := sha256.Sum256(b)
	return s[:], nil
}

func isPacked(file io.ReaderAt) (bool, error) {
	var magic [2]byte
	n, err := file.ReadAt(magic[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return gunzip.Is(magic[:n]), nil
}

func sum(b []byte, size int) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:size])
}

// head is the sum of the first line; empty while it has no end.
func (t *text) head() (string, error) {
	var content io.Reader = io.NewSectionReader(t.file, 0, headMost)
	if t.packed {
		z, err := gunzip.New(io.NewSectionReader(t.file, 0, 1<<62))
		if err != nil { // not even its header is there
			t.broken = err
			return "", nil
		}
		content = io.LimitReader(z, headMost)
	}
	b := make([]byte, 0, 4096)
	for {
		n, err := content.Read(b[len(b):cap(b)])
		if end := bytes.IndexByte(b[len(b):len(b)+n], '\n'); end >= 0 {
			t.line = b[:len(b)+end]
			return sum(t.line, 8), nil
		}
		b = b[:len(b)+n]
		if len(b) == headMost {
			t.line = b
			return sum(b, 8), nil
		}
		if err != nil {
			isEnd := errors.Is(err, io.EOF)
			switch {
			case isEnd:
			case !t.packed:
				return "", err
			default:
				t.broken = err
			}
			if len(b) > 0 && (t.final || t.packed && isEnd) { // one line, without an end
				t.line = b
				return sum(b, 8), nil
			}
			return "", nil
		}
		if len(b) == cap(b) {
			b = slices.Grow(b, len(b))
		}
		b = b[:len(b):min(cap(b), headMost)]
	}
}

// tail is the sum of the bytes before a place.
func (t *text) tail(at int64) (string, error) {
	if t.packed {
		return t.tails[at], nil
	}
	b, err := t.before(at)
	return sum(b, 6), err
}

// before are the bytes before a place, as many as make a tail; fewer where the file
// is not that long any more.
func (t *text) before(at int64) ([]byte, error) {
	b := make([]byte, min(at, tailSize))
	n, err := t.file.ReadAt(b, at-int64(len(b)))
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return b[:n], err
}

// measure reads a packed file once: for its length, its last line's end, and its
// bytes before the boundaries of the streams that it may hold. Of one that is corrupt only
// the lines in members whose checksum is right are to be trusted.
func (t *text) measure(streams []*stream) error {
	if !t.packed {
		return nil
	}
	var wanted []int64
	for _, s := range streams {
		for _, b := range s.ends {
			wanted = append(wanted, b.at)
		}
	}
	slices.Sort(wanted)
	wanted = slices.Compact(wanted)
	t.tails = map[int64]string{}
	z, err := gunzip.New(io.NewSectionReader(t.file, 0, 1<<62))
	if err != nil {
		t.broken, t.size = err, 0
		return nil
	}
	t.broken = nil
	// The buffer keeps what may be needed of the block before.
	buffer := make([]byte, tailSize+128<<10)
	kept, at := 0, int64(0)
	var line, sound lineEnd
	isSound := func() { // the member before ended
		if z.Sound() == at && at > sound.member {
			sound.member, sound.at, sound.tail, sound.text = at, line.at, line.tail, append(sound.text[:0], line.text...)
		}
	}
	for {
		n, err := z.Read(buffer[kept:])
		isSound()
		block := buffer[:kept+n]
		start := at - int64(kept)
		at += int64(n)
		for len(wanted) > 0 && wanted[0] <= at {
			end := int(wanted[0] - start)
			t.tails[wanted[0]] = sum(block[max(0, end-tailSize):end], 6)
			wanted = wanted[1:]
		}
		if end := bytes.LastIndexByte(block[kept:], '\n'); end >= 0 {
			end += kept + 1
			line.at, line.tail, line.text = start+int64(end), sum(block[max(0, end-tailSize):end], 6), line.text[:0]
			if begin := bytes.LastIndexByte(block[:end-1], '\n') + 1; begin > 0 || start == 0 {
				line.text = append(line.text, block[begin:end-1]...)
			}
		}
		isSound()
		if err != nil {
			t.size = at
			switch {
			case errors.Is(err, io.EOF):
				t.tails[at] = sum(block[max(0, len(block)-tailSize):], 6)
				return nil
			case !errors.Is(err, io.ErrUnexpectedEOF):
				line = sound
			}
			t.broken, t.size, t.lines, t.last = err, line.at, line.at, line.text
			t.tails[t.lines] = line.tail
			return nil
		}
		kept = copy(buffer, block[max(0, len(block)-tailSize):])
	}
}

// lineEnd is where a whole line ends.
type lineEnd struct {
	at     int64
	tail   string
	text   []byte // the line; empty where its begin was not at hand
	member int64  // where the member ends that it was noted for
}

// lineBefore is the line that ends at a place; nil where it is not at hand.
func (t *text) lineBefore(at int64) ([]byte, error) {
	if t.packed {
		if at == t.lines {
			return t.last, nil
		}
		return nil, nil
	}
	b := make([]byte, min(at, headMost))
	if _, err := t.file.ReadAt(b, at-int64(len(b))); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, ErrChanged
		}
		return nil, err
	}
	b = bytes.TrimSuffix(b, []byte{'\n'})
	return b[bytes.LastIndexByte(b, '\n')+1:], nil
}

// cut is where the next stretch ends: after the last whole line that is there and
// within the limit, or at the text's end where that is final.
func (t *text) cut(at int64) (int64, error) {
	switch {
	case t.packed && t.broken != nil:
		return max(t.lines, at), nil
	case t.packed:
		return t.size, nil
	}
	end := min(t.size, at+limit)
	to, err := t.lastLine(at, end)
	if err == nil && to == at && end < t.size { // one line that is longer than the limit
		to, err = t.endOfLine(end)
	}
	if err == nil && to == at && t.final {
		to = t.size
	}
	return to, err
}

// lastLine is where the last line that ends in [from, to) ends; from where none does.
func (t *text) lastLine(from, to int64) (int64, error) {
	b := make([]byte, 64<<10)
	for to > from {
		n := min(to-from, int64(len(b)))
		if _, err := t.file.ReadAt(b[:n], to-n); err != nil {
			if errors.Is(err, io.EOF) {
				return 0, ErrChanged
			}
			return 0, err
		}
		if end := bytes.LastIndexByte(b[:n], '\n'); end >= 0 {
			return to - n + int64(end) + 1, nil
		}
		to -= n
	}
	return from, nil
}

// endOfLine is where the line ends that goes through a place.
func (t *text) endOfLine(at int64) (int64, error) {
	b := make([]byte, 64<<10)
	for at < t.size {
		n := min(t.size-at, int64(len(b)))
		if _, err := t.file.ReadAt(b[:n], at); err != nil {
			if errors.Is(err, io.EOF) {
				return 0, ErrChanged
			}
			return 0, err
		}
		if end := bytes.IndexByte(b[:n], '\n'); end >= 0 {
			return at + int64(end) + 1, nil
		}
		at += n
	}
	return t.size, nil
}

// open reads the bytes [from, to).
func (t *text) open(from, to int64) (io.Reader, error) {
	if !t.packed {
		return io.NewSectionReader(t.file, from, to-from), nil
	}
	z, err := gunzip.New(io.NewSectionReader(t.file, 0, 1<<62))
	if err != nil {
		return nil, fmt.Errorf("unpack %s: %w", t.file.Name(), err)
	}
	if n, err := io.CopyN(io.Discard, z, from); n < from {
		return nil, fmt.Errorf("unpack %s: %w", t.file.Name(), err)
	}
	return &exactly{z, to - from}, nil
}
