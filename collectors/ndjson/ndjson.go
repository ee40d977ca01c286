// Package ndjson reads evidence files that hold one JSON object a line.
//
// What belongs here: reading whole lines, from the start or from where the last
// read ended; naming lines that are not understood; and saying between which
// moments such a line leaves a hole. What a line means is its caller's business.
package ndjson

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"gapless/collectors/plainfile"
)

// MaxLine bounds a line, in bytes. A longer one is named as not understood.
const MaxLine = 1 << 20

// Hole is a stretch of lines that were not understood, one after another.
type Hole struct {
	First, Last int       // 1-based line numbers
	Err         error     // of the first line
	From, To    time.Time // moments of the understood lines around it; zero where there is none

	least, most time.Time // moments that its lines themselves are about; zero where they don't tell
}

// DatedError refuses a line that is legible and is about a moment: the hole reaches to
// there, wherever the line stands.
type DatedError struct {
	At  time.Time
	Err error
}

func (e *DatedError) Error() string { return e.Err.Error() }

// Unwrap is what is wrong with the line.
func (e *DatedError) Unwrap() error { return e.Err }

func (h *Hole) about(at time.Time) {
	if h.least.IsZero() || at.Before(h.least) {
		h.least = at
	}
	if h.most.IsZero() || at.After(h.most) {
		h.most = at
	}
}

// Error names the lines and what was wrong with the first.
func (h Hole) Error() string {
	if h.First == h.Last {
		return fmt.Sprintf("line %d: %v", h.First, h.Err)
	}
	return fmt.Sprintf("lines %d to %d: %v", h.First, h.Last, h.Err)
}

// Reader reads a file from where its last kept read ended. A file that got shorter,
// was replaced or was written anew is read from its start. The zero value with a Path
// is ready.
type Reader struct {
	Path string

	kept, next mark
}

type mark struct {
	info   os.FileInfo
	offset int64
	line   int
	at     time.Time // of the last understood line
	head   []byte    // the first bytes that were read, and the last ones before offset,
	tail   []byte    // by which a file that was written anew is told
}

// edge is how many bytes a mark keeps at each end, at least, of so many as were read.
const edge = 4 << 10

// took notes what was read, or the end of it.
func (m *mark) took(part []byte, size int64) {
	if int64(len(part)) < size { // the start of a line that is too long is not at hand
		m.tail = m.tail[:0]
	} else if more := edge - len(m.head); more > 0 && m.offset == int64(len(m.head)) {
		m.head = append(m.head, part[:min(len(part), more)]...)
	}
	m.offset += size
	switch {
	case len(part) > edge: // what stands before the part of it that is kept is not at hand
		m.tail = m.tail[:0]
	case len(m.tail) > 8*edge:
		m.tail = append(m.tail[:0], m.tail[len(m.tail)-edge:]...)
	}
	m.tail = append(m.tail, part[max(0, len(part)-edge):]...)
}

// holds reports whether a file holds what was read, as far as that was kept.
func (m *mark) holds(f *os.File) (bool, error) {
	for at, want := range map[int64][]byte{0: m.head, m.offset - int64(len(m.tail)): m.tail} {
		got := make([]byte, len(want))
		if _, err := f.ReadAt(got, at); err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		if !bytes.Equal(got, want) {
			return false, nil
		}
	}
	return true, nil
}

// clone is a mark that does not change with m.
func (m *mark) clone() mark {
	c := *m
	c.head, c.tail = bytes.Clone(m.head), bytes.Clone(m.tail)
	return c
}

// Read gives every new whole line to each, which returns the moment that the line
// speaks of. With final set, a last line without its end is given too. Empty lines
// are skipped. Lines for which each fails are returned as holes, and the rest is
// read on; the error is that of the file itself. Nothing counts as read until
// [Reader.Keep] is called.
func (r *Reader) Read(final bool, each func(line []byte) (time.Time, error)) ([]Hole, error) {
	f, info, err := plainfile.Open(r.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m := r.kept.clone()
	isSame := m.info != nil && os.SameFile(m.info, info) && info.Size() >= m.offset
	if isSame {
		if isSame, err = m.holds(f); err != nil {
			return nil, fmt.Errorf("read %s: %w", r.Path, err)
		}
	}
	if !isSame {
		m = mark{}
	}
	m.info = info
	if _, err := f.Seek(m.offset, io.SeekStart); err != nil {
		return nil, err
	}
	var holes []Hole
	open := false // the last line seen was not understood
	in := bufio.NewReaderSize(f, MaxLine)
	for {
		line, size, long, err := readLine(in)
		if err != nil && !errors.Is(err, io.EOF) {
			return holes, fmt.Errorf("read %s: %w", r.Path, err)
		}
		if errors.Is(err, io.EOF) && (!final || size == 0) {
			break
		}
		isFirst := m.offset == 0
		m.line++
		m.took(line, size)
		if isFirst { // editors put a byte-order mark before a file's first line
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		if line = bytes.TrimSpace(line); len(line) == 0 && !long {
			continue
		}
		var at time.Time
		failed := fmt.Errorf("longer than %d bytes", MaxLine)
		if !long {
			at, failed = each(line)
		}
		switch {
		case failed == nil:
			if open {
				holes[len(holes)-1].To = at
			}
			open, m.at = false, at
		case open:
			holes[len(holes)-1].Last = m.line
		default:
			open = true
			holes = append(holes, Hole{First: m.line, Last: m.line, Err: failed, From: m.at})
		}
		if dated, ok := errors.AsType[*DatedError](failed); ok {
			holes[len(holes)-1].about(dated.At)
		}
	}
	r.next = m
	return holes, nil
}

// Keep makes the last Read count: the next one goes on after it.
func (r *Reader) Keep() { r.kept = r.next }

// readLine returns the next line and the bytes it took. A line over the bound is
// skipped: long is set and line is only an end of it.
func readLine(in *bufio.Reader) (line []byte, size int64, long bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		size += int64(len(part))
		if errors.Is(err, bufio.ErrBufferFull) {
			long = true
			continue
		}
		if long {
			return part, size, true, err
		}
		return part, size, false, err
	}
}

// Span is the part of a hole that lies between from and to, which also stand for
// ends that are not known, and what its lines themselves are about. It never ends
// before it starts.
func (h Hole) Span(from, to time.Time) (time.Time, time.Time) {
	if !h.From.IsZero() && h.From.After(from) {
		from = h.From
	}
	if !h.To.IsZero() && h.To.Before(to) {
		to = h.To
	}
	if to.Before(from) {
		to = from
	}
	if !h.least.IsZero() && h.least.Before(from) {
		from = h.least
	}
	if h.most.After(to) {
		to = h.most
	}
	return from, to
}

// Describe joins holes into one error text, naming at most five of them.
func Describe(path string, holes []Hole) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: not understood: ", path)
	for i, hole := range holes {
		if i == 5 {
			fmt.Fprintf(&b, "; and %d more places", len(holes)-i)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(hole.Error())
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

// Follow calls pass now and then every interval until ctx ends, and a last time
// after that, so that what came last is not left behind.
func Follow(ctx context.Context, every time.Duration, pass func(ctx context.Context, last bool)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		pass(ctx, false)
		select {
		case <-ctx.Done():
			bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			pass(bounded, true)
			return
		case <-tick.C:
		}
	}
}
