package applog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"gapless/collectors/applog/logrules"
	"gapless/collectors/follow"
)

// headSize is how many bytes at the start of a file tell it from others, at most, and
// tailSize how many before the place up to where it was read: logs that begin with the
// same banner differ there.
const (
	headSize = 1 << 10
	tailSize = 64 << 10
)

// position is where reading a file goes on, and by what it is known again. What
// was read of it is at least as long as its head.
type position struct {
	Inode   uint64 `json:"inode"`
	HeadLen int    `json:"head_len"`
	Head    string `json:"head"`           // SHA-256 of the first HeadLen bytes
	Tail    string `json:"tail,omitempty"` // SHA-256 of the last tailSize bytes that were read
	Offset  int64  `json:"offset"`
	Packed  string `json:"packed,omitempty"` // the packed file that the text was unpacked from
	Skip    bool   `json:"skip,omitempty"`   // inside a line that is too long
	// Read is up to where all was read but the lines of the streams in Open, of which a
	// piece waits for the next: they go on from there. Offset is the first of these.
	Read int64            `json:"read,omitempty"`
	Open map[string]int64 `json:"open,omitempty"`
	// Lost says that nobody knows where the next entry of a journal begins; Series is that
	// of its cursors.
	Lost   bool   `json:"lost,omitempty"`
	Series string `json:"series,omitempty"`

	Holes  []hole `json:"holes,omitempty"` // that were read under the path
	inHole bool   // what was read last belongs to the last of them

	logrules.State // after the last line that was read
	// Streams are the states of the streams in the file, where it holds several.
	Streams map[string]*logrules.State `json:"streams,omitempty"`
}

func decodePosition(b []byte) (position, error) {
	var p position
	if len(b) == 0 {
		return p, nil
	}
	if err := json.Unmarshal(b, &p); err != nil {
		return position{}, fmt.Errorf("decode position: %w", err)
	}
	if p.Offset < 0 || p.HeadLen < 0 || p.HeadLen > headSize || int64(p.HeadLen) > p.reach() || p.Read < 0 {
		return position{}, fmt.Errorf("position %s is impossible", b)
	}
	for i := range p.Holes {
		p.Holes[i].told = true
	}
	return p, nil
}

// reach is up to where something was read.
func (p position) reach() int64 { return max(p.Offset, p.Read) }

func (p position) encode() []byte {
	b, err := json.Marshal(p)
	if err != nil {
		panic(err) // a time beyond the year 9999, which no line has
	}
	return b
}

// stream is the state of one of the streams in the file. Of too many, the next ones
// share the file's own.
func (p *position) stream(name string) *logrules.State {
	if name == "" {
		return &p.State
	}
	s := p.Streams[name]
	if s == nil {
		if len(p.Streams) == maxStreams {
			return &p.State
		}
		if p.Streams == nil {
			p.Streams = map[string]*logrules.State{}
		}
		s = &logrules.State{}
		p.Streams[name] = s
	}
	return s
}

const maxStreams = 100

// clone is a position that does not change with p.
func (p *position) clone() position {
	c := *p
	c.Streams, c.Open, c.Holes = maps.Clone(p.Streams), maps.Clone(p.Open), slices.Clone(p.Holes)
	for name, s := range c.Streams {
		state := *s
		c.Streams[name] = &state
	}
	return c
}

// fits reports whether an open file is the one that p was taken in: it is long
// enough, begins as that did, and holds the same before the place up to where that was
// read. A file that was truncated, overwritten or replaced by another is not; one that
// was moved or copied is.
func (p position) fits(f *os.File, size int64) (bool, error) {
	if size < p.reach() {
		return false, nil
	}
	if p.HeadLen == 0 {
		return true, nil
	}
	if head, err := headOf(f, p.HeadLen); err != nil || head != p.Head {
		return false, err
	}
	tail, err := tailOf(f, p.reach())
	return tail == p.Tail, err
}

// identify fills in by what the file is known, from what was read of it.
func (p *position) identify(f *os.File, info os.FileInfo) error {
	p.Inode = follow.Inode(info)
	if p.Packed != "" {
		p.Inode = 0 // of the unpacked text
	}
	if n := int(min(p.reach(), headSize)); n != p.HeadLen || p.Head == "" {
		head, err := headOf(f, n)
		if err != nil {
			return err
		}
		p.HeadLen, p.Head = n, head
	}
	var err error
	p.Tail, err = tailOf(f, p.reach())
	return err
}

func headOf(f *os.File, n int) (string, error) { return sumOf(f, 0, n) }

// tailOf is a sum of the bytes before a place.
func tailOf(f *os.File, at int64) (string, error) {
	n := min(at, tailSize)
	return sumOf(f, at-n, int(n))
}

func sumOf(f *os.File, at int64, n int) (string, error) {
	b := make([]byte, n)
	if _, err := f.ReadAt(b, at); err != nil && err != io.EOF {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}
