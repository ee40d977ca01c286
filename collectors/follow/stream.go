package follow

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Stretch is a part of a stream: whole lines, but for a last one whose end did not come in time ([New]).
type Stretch struct {
	Path     string    // of the file that it was found in
	Modified time.Time // when that was last written to
	From, To int64     // bytes of the unpacked text
	Reader   io.Reader // the bytes
	Broken   error     // where the packed file breaks off after From; then the stretch is empty
	key      string
	verify   func() error
}

// Key names the stretch for good: the stream, the bytes, and a sum of the last of
// them. A stretch that breaks off has the key of no other.
func (s *Stretch) Key() string { return s.key }

// Verify reports, after Reader was read to its end, whether it delivered what the
// stretch says; [ErrChanged] where the file became another one meanwhile.
func (s *Stretch) Verify() error { return s.verify() }

// stream is what is known of one log's text.
type stream struct {
	id   string
	ends []boundary // of the stretches that were read, ascending
}

// boundary is a place in a stream, and a sum of the bytes before it.
type boundary struct {
	at   int64
	tail string
}

func (s *stream) add(b boundary) {
	i, found := slices.BinarySearchFunc(s.ends, b.at, func(have boundary, at int64) int { return cmp.Compare(have.at, at) })
	if !found {
		s.ends = slices.Insert(s.ends, i, b)
	}
}

// before is the last boundary at or before a place.
func (s *stream) before(at int64) (boundary, bool) {
	i, found := slices.BinarySearchFunc(s.ends, at, func(have boundary, at int64) int { return cmp.Compare(have.at, at) })
	if found {
		return s.ends[i], true
	}
	if i == 0 {
		return boundary{}, false
	}
	return s.ends[i-1], true
}

// match finds the stream whose text a file holds and where it was read to; nil where
// it is a new one. whole says that there is nothing in the file that was not read: it
// ends at a place up to which a stream was read, and agrees with it there. unsure says
// that it ends between two such places: it may be a copy that is under way, or another
// text that begins alike. What nobody writes to any more is no copy under way, and is
// read from the last place where it agrees, for nobody knows that it was read.
func (t *text) match(streams []*stream) (found *stream, at int64, whole, unsure bool, err error) {
	agrees := int64(0)
	for _, s := range streams {
		last := s.ends[len(s.ends)-1]
		b := last
		if t.size < last.at {
			var ok bool
			if b, ok = s.before(t.size); !ok {
				unsure = true
				continue
			}
		}
		tail, err := t.tail(b.at)
		if err != nil {
			return nil, 0, false, false, err
		}
		switch {
		case tail != b.tail:
		case b != last && (b.at == t.size || t.broken != nil):
			whole = true
		case b != last:
			unsure, agrees = true, max(agrees, b.at)
		case found == nil || b.at > at:
			found, at = s, b.at
		}
	}
	switch {
	case found != nil:
		return found, at, false, false, nil
	case whole:
		return nil, 0, true, false, nil
	case unsure && !t.final:
		return nil, 0, false, true, nil
	}
	return nil, agrees, false, false, nil
}

func formatKey(id string, from, to int64, tail string) string {
	return fmt.Sprintf("%s@%d-%d.%s", id, from, to, tail)
}

func parseKey(key string) (id string, end boundary, ok bool) {
	id, rest, ok := strings.Cut(key, "@")
	if !ok {
		return "", boundary{}, false
	}
	_, rest, ok = strings.Cut(rest, "-")
	if !ok {
		return "", boundary{}, false
	}
	to, tail, ok := strings.Cut(rest, ".")
	at, err := strconv.ParseInt(to, 10, 64)
	return id, boundary{at, tail}, ok && err == nil && at > 0 && id != ""
}

// counter counts what is read and keeps the last of it.
type counter struct {
	r      io.Reader
	n      int64
	last   []byte // at most tailSize bytes
	failed bool   // reading did
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	c.failed = c.failed || err != nil && !errors.Is(err, io.EOF)
	c.last = append(c.last, p[max(0, n-tailSize):n]...)
	if extra := len(c.last) - tailSize; extra > 0 {
		c.last = append(c.last[:0], c.last[extra:]...)
	}
	return n, err
}
