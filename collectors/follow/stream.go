package follow

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"gapless/collectors/plainfile"
)

// Stretch is a part of a stream: whole lines, but for a last one whose end did not come in time ([New]).
type Stretch struct {
	Path      string    // of the file that it was found in
	Modified  time.Time // when that was last written to
	From, To  int64     // bytes of the unpacked text
	Reader    io.Reader // the bytes
	Broken    error     // why the packed file breaks off after To, or is not to be trusted from there on; else nil
	name, key string
	verify    func() error
}

// Key names the stretch for good: the stream, the bytes, and a sum of the last of them;
// and for people the file that it was found in, whatever that is called by now.
func (s *Stretch) Key() string { return s.key }

// Name says where the stretch begins. A place of a stream is read on from once: of two
// readers that go on from the same one, the second has to learn what the first one read
// ([Files.Restore]). A stretch that breaks off may be replaced by another one of its name.
func (s *Stretch) Name() string { return s.name }

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
	last time.Time // of the line before it, where it was restored
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

// relation is what a text is to a stream.
type relation int

const (
	other   relation = iota // it is another one
	perhaps                 // it ends between two places up to which the stream was read, or before the first: it may be a copy under way, or another text that begins alike
	within                  // it ends at such a place, or breaks off behind one, and agrees with it there: all of it was read
	onward                  // it agrees with the last of them, and may go on behind it
)

// relation is what the text is to a stream, by what was noted of that; at is the last
// place where they agree.
func (t *text) relation(s *stream) (r relation, at int64, err error) {
	last := s.ends[len(s.ends)-1]
	b := last
	if t.size < last.at {
		var ok bool
		if b, ok = s.before(t.size); !ok {
			return perhaps, 0, nil
		}
	}
	tail, err := t.tail(b.at)
	switch {
	case err != nil || tail != b.tail:
		return other, 0, err
	case b.at == last.at:
		return onward, b.at, nil
	case b.at == t.size || t.broken != nil:
		return within, b.at, nil
	}
	return perhaps, b.at, nil
}

// matched is the stream whose text a file holds, and where it was read to; nil, and
// the start, where it is a new one.
type matched struct {
	stream   *stream
	relation relation
	at       int64
	same     int64 // as in outcome
	twin     bool  // all of it stands in another file, which grew
}

// match finds the stream whose text a file holds: the one that it goes on, that was read
// the furthest, else one that it is within, else one that it may be a copy of.
func (l *look) match(path string, t *text, head string) (best matched, err error) {
	was, id := l.files.seen[path], identity(t.opened)
	for _, s := range l.files.streams[head] {
		m := matched{stream: s}
		if m.relation, m.at, err = t.relation(s); err != nil {
			return matched{}, err
		}
		if was.id == id && was.stream == s && was.size <= t.opened.Size() {
			m.same = was.same
		}
		if m.relation != other {
			if err := l.compareAll(path, t, head, &m); err != nil {
				return matched{}, err
			}
		}
		if m.relation > best.relation || m.relation == onward && m.at > best.at {
			best = m
		}
	}
	return best, nil
}

// compareAll compares a text with those of the other files that hold a stream.
func (l *look) compareAll(path string, t *text, head string, m *matched) error {
	from := m.same
	for at, seen := range l.files.seen {
		if at == path || seen.stream != m.stream || seen.id == identity(t.opened) {
			continue
		}
		to, verdict, err := l.compare(t, at, &seen, head, from)
		switch {
		case err != nil:
			return err
		case verdict == other:
			*m = matched{}
			return nil
		case verdict == within:
			m.same = max(m.same, to)
			m.twin = m.twin || seen.grew && to == t.size
			if m.relation == perhaps && to == t.size {
				m.relation = within
			}
		}
	}
	return nil
}

// compare compares a text with that of another file of a stream, from a place on, as far
// as both go: within says that they are the same, other that they are not, perhaps that
// the file does not hold the stream any more.
func (l *look) compare(t *text, path string, as *seen, head string, from int64) (to int64, verdict relation, err error) {
	l.files.moment()
	file, info, err := plainfile.Open(path)
	if err != nil {
		return 0, perhaps, nil // it is told where it is looked at
	}
	defer file.Close()
	o := text{file: openFile{file, l.files}, opened: info, size: info.Size()}
	if identity(info) != as.id || o.begin() != nil {
		return 0, perhaps, nil
	}
	if o.packed, err = isPacked(o.file); err != nil {
		return 0, perhaps, nil
	}
	if begins, err := o.head(); err != nil || begins != head || o.measure([]*stream{as.stream}) != nil {
		return 0, perhaps, nil
	}
	if r, _, err := o.relation(as.stream); err != nil || r < within {
		return 0, perhaps, nil
	}
	to, verdict = min(t.size, o.size), within
	if from < to {
		same, err := l.same(t, &o, from, to)
		switch {
		case err != nil:
			return 0, perhaps, err
		case !same:
			verdict = other
		}
	}
	if o.unchanged() != nil {
		return 0, perhaps, nil
	}
	return to, verdict, nil
}

// same reports whether two texts agree in the bytes [from, to). The error is of the first.
func (l *look) same(t, o *text, from, to int64) (bool, error) {
	a, err := t.open(from, to)
	if err != nil {
		return false, err
	}
	b, err := o.open(from, to)
	if err != nil {
		return false, nil // it changed, and its caller sees that
	}
	x, y := make([]byte, alikeMost), make([]byte, alikeMost)
	for at := from; at < to; at += alikeMost {
		if l.ctx.Err() != nil {
			return false, &readError{context.Cause(l.ctx)}
		}
		n := min(to-at, alikeMost)
		if _, err := io.ReadFull(a, x[:n]); err != nil {
			return false, err
		}
		if _, err := io.ReadFull(b, y[:n]); err != nil || !bytes.Equal(x[:n], y[:n]) {
			return false, nil
		}
	}
	return true, nil
}

// formatKey begins with the path for people; what the text is known by comes last.
func formatKey(path, id string, from, to int64, tail string) string {
	return fmt.Sprintf("%s@%d-%d%s%s.%s", path, from, to, keyOfText, id, tail)
}

const keyOfText = " text "

func parseKey(key string) (id string, end boundary, ok bool) {
	middle := strings.LastIndex(key, keyOfText)
	if middle < 0 {
		return "", boundary{}, false
	}
	id, tail, ok := strings.Cut(key[middle+len(keyOfText):], ".")
	_, to, _ := strings.Cut(key[strings.LastIndexByte(key[:middle], '@')+1:middle], "-")
	at, err := strconv.ParseInt(to, 10, 64)
	return id, boundary{at: at, tail: tail}, ok && err == nil && at > 0 && id != ""
}

// counter counts what is read and keeps the last of it.
type counter struct {
	r      io.Reader
	n      int64
	last   []byte // at most tailSize bytes
	failed error  // of reading
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		c.failed = err
	}
	c.last = append(c.last, p[max(0, n-tailSize):n]...)
	if extra := len(c.last) - tailSize; extra > 0 {
		c.last = append(c.last[:0], c.last[extra:]...)
	}
	return n, err
}

// exactly reads so many bytes. What comes after them, an error too, is nothing to it.
type exactly struct {
	r    io.Reader
	left int64
}

func (e *exactly) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n, err := e.r.Read(p[:min(int64(len(p)), e.left)])
	if e.left -= int64(n); e.left == 0 {
		err = nil
	}
	return n, err
}
