package accesslog

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"sync"

	"gapless/collectors/gunzip"
)

const (
	chunkSize = 128 << 10
	chunks    = 4 // in flight between unpacking and parsing

	// maxLine is the longest line that is parsed. What a client can make of a line of an
	// ALB's access log stays below it: 16 KB each of request line, trace ID (a header),
	// redirect URL, transformed host and transformed URI, and 8 KB of user agent, each
	// byte escaped to four, make 352 KB; the other fields are a few more.
	maxLine = 384<<10 - 1

	// maxRaw bounds how much of a line that is set aside is kept.
	maxRaw = 64 << 10
)

// A chunk is a stretch of whole lines, or the head of one line that is too long.
type chunk struct {
	data   []byte
	buffer *[chunkSize]byte   // that data is part of, or
	spill  *[maxLine + 1]byte // this one, of a line that is longer than a chunk
	offset int64              // of data's first byte in the unpacked object
	long   int64              // length of the one line that data is the head of, else 0
	last   bool               // nothing follows; data may lack its final line end
	sound  int64              // with last: see ending
	err    error              // with last: why the object ended early, else nil
}

// line is one line of an object, without its line end.
type line struct {
	text   []byte // head of the line where long
	number int    // 1-based
	offset int64
	long   int64 // length of a line over maxLine, else 0
	cut    bool  // the object broke off in this line
}

// ending says how an object ended.
type ending struct {
	lines int
	err   error // nil: at its proper end
	// sound is how many bytes of the unpacked content lie in members of the gzip file
	// that ended with the right checksum.
	sound int64
}

// partial reports whether the object broke off: its gzip stream has no end.
func (e ending) partial() bool { return e.err != nil }

// corrupt reports whether what was unpacked may be wrong, and not just too short.
func (e ending) corrupt() bool { return e.err != nil && !errors.Is(e.err, io.ErrUnexpectedEOF) }

var chunkBuffers = sync.Pool{New: func() any { return new([chunkSize]byte) }}

// eachLine unpacks r if its content is gzip, whatever its name, and calls visit for
// each line. Unpacking runs in a goroutine of its own, a bounded number of chunks and at
// most one line that is longer than a chunk ahead. visit must not keep the line's text.
// The error is ctx's or nil; how the object ended is in ending.
func eachLine(ctx context.Context, r io.Reader, visit func(*line)) (ending, error) {
	free := make(chan *[chunkSize]byte, chunks)
	for range chunks {
		free <- chunkBuffers.Get().(*[chunkSize]byte)
	}
	full, spilled := make(chan chunk, chunks), make(chan *[maxLine + 1]byte, 1)
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		u := unpacker{ctx: ctx, free: free, full: full, spilled: spilled}
		u.run(r)
	}()
	defer func() {
		stop()
		<-done
		for len(free) > 0 {
			chunkBuffers.Put(<-free)
		}
	}()
	var l line
	for {
		var c chunk
		select {
		case c = <-full:
		case <-ctx.Done():
			return ending{lines: l.number}, context.Cause(ctx)
		}
		l.offset = c.offset
		if c.long > 0 {
			l.number++
			l.text, l.long, l.cut = c.data, c.long, c.last && c.err != nil
			visit(&l)
			l.long = 0
		} else {
			data := c.data
			for len(data) > 0 {
				end := bytes.IndexByte(data, '\n')
				next := end + 1
				l.cut = false
				if end < 0 { // only at the object's end
					end, next = len(data), len(data)
					l.cut = c.err != nil
				}
				l.number++
				l.text = data[:end:end]
				if end > 0 && l.text[end-1] == '\r' {
					l.text = l.text[:end-1]
				}
				visit(&l)
				l.offset += int64(next)
				data = data[next:]
			}
		}
		if c.last {
			if c.buffer != nil {
				chunkBuffers.Put(c.buffer)
			}
			return ending{lines: l.number, err: c.err, sound: c.sound}, nil
		}
		if c.spill != nil {
			spilled <- c.spill
		} else {
			free <- c.buffer
		}
	}
}

// unpacker fills chunks with whole lines.
type unpacker struct {
	ctx     context.Context
	free    <-chan *[chunkSize]byte
	spilled <-chan *[maxLine + 1]byte // comes back when its line was visited
	spill   *[maxLine + 1]byte        // there is at most one, made when it is needed
	full    chan<- chunk
}

func (u *unpacker) buffer() *[chunkSize]byte {
	select {
	case b := <-u.free:
		return b
	case <-u.ctx.Done():
		return nil
	}
}

func (u *unpacker) send(c chunk) bool {
	select {
	case u.full <- c:
		return true
	case <-u.ctx.Done():
		return false
	}
}

func (u *unpacker) run(source io.Reader) {
	r, release, err := unpack(source)
	defer release()
	sound := func() int64 {
		if z, ok := r.(*gunzip.Reader); ok {
			return z.Sound()
		}
		return 0
	}
	b := u.buffer()
	if b == nil {
		return
	}
	if err != nil {
		u.send(chunk{buffer: b, last: true, err: err})
		return
	}
	offset, fill, idle := int64(0), 0, 0
	for {
		n, err := r.Read(b[fill:])
		fill += n
		if n == 0 && err == nil {
			if idle++; idle > 100 {
				err = io.ErrNoProgress
			}
		} else {
			idle = 0
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			u.send(chunk{data: b[:fill], buffer: b, offset: offset, last: true, err: err, sound: sound()})
			return
		}
		if fill < len(b) {
			continue
		}
		whole := bytes.LastIndexByte(b[:], '\n') + 1
		if whole == 0 {
			c, rest := u.longLine(r, b)
			if c.spill == nil {
				return
			}
			c.offset = offset
			if c.last {
				c.sound = sound()
			} else {
				offset += max(c.long+1, int64(len(c.data)))
				fill = copy(b[:], rest)
			}
			if !u.send(c) || c.last {
				return
			}
			continue
		}
		next := u.buffer()
		if next == nil {
			return
		}
		fill = copy(next[:], b[whole:])
		if !u.send(chunk{data: b[:whole], buffer: b, offset: offset}) {
			return
		}
		offset += int64(whole)
		b = next
	}
}

// longLine reads on in a line of which b is the begin. It answers the line as a chunk,
// and what was read of those after it, which lies in b's memory or in the chunk's: the
// caller copies it to b before the chunk is sent. The chunk has no buffer where ctx
// ended.
func (u *unpacker) longLine(r io.Reader, b *[chunkSize]byte) (c chunk, rest []byte) {
	if u.spill == nil {
		u.spill = new([maxLine + 1]byte)
	} else {
		select {
		case <-u.spilled:
		case <-u.ctx.Done():
			return chunk{}, nil
		}
	}
	s := u.spill
	c.spill = s
	fill := copy(s[:], b[:])
	for idle := 0; fill < len(s); {
		n, err := r.Read(s[fill:min(fill+len(b), len(s))]) // so that what follows the line fits b
		if end := bytes.IndexByte(s[fill:fill+n], '\n'); end >= 0 {
			// An error that came with these bytes comes again at the next read.
			c.data = s[:fill+end+1]
			return c, s[fill+end+1 : fill+n]
		}
		fill += n
		if n > 0 {
			idle = 0
		} else if idle++; idle > 100 && err == nil {
			err = io.ErrNoProgress
		}
		if err != nil {
			c.data, c.last = s[:fill], true
			if !errors.Is(err, io.EOF) {
				c.err = err
			}
			return c, nil
		}
	}
	length, rest, err := skipLine(r, b)
	c.data, c.long = s[:maxRaw], length+int64(len(s))
	if rest == nil { // the object ended in this line
		c.last = true
		if !errors.Is(err, io.EOF) {
			c.err = err
		}
	}
	return c, rest
}

// skipLine reads to the end of the line that is under way. It answers how long the
// rest of the line was and what was read of the lines after it, which is nil (with
// the error, io.EOF at the proper end) where the line never ended.
func skipLine(r io.Reader, b *[chunkSize]byte) (length int64, rest []byte, err error) {
	for idle := 0; ; {
		n, err := r.Read(b[:])
		if end := bytes.IndexByte(b[:n], '\n'); end >= 0 {
			// An error that came with these bytes comes again at the next read.
			return length + int64(end), b[end+1 : n : n], nil
		}
		length += int64(n)
		if err != nil {
			return length, nil, err
		}
		if n > 0 {
			idle = 0
		} else if idle++; idle > 100 {
			return length, nil, io.ErrNoProgress
		}
	}
}

var (
	sourceBuffers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 64<<10) }}
	gzipReaders   = sync.Pool{New: func() any { return new(gunzip.Reader) }}
)

// unpack answers r's content, unzipped if it begins like gzip. A truncated stream
// ends in io.ErrUnexpectedEOF, never in io.EOF. release gives buffers back.
func unpack(r io.Reader) (content io.Reader, release func(), err error) {
	source := sourceBuffers.Get().(*bufio.Reader)
	source.Reset(r)
	giveBack := func() {
		source.Reset(nil)
		sourceBuffers.Put(source)
	}
	head, err := source.Peek(2)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, giveBack, err
	case len(head) == 1 && head[0] == 0x1f:
		return nil, giveBack, io.ErrUnexpectedEOF
	case !gunzip.Is(head):
		return source, giveBack, nil
	}
	z := gzipReaders.Get().(*gunzip.Reader)
	if err := z.Reset(source); err != nil {
		gzipReaders.Put(z)
		return nil, giveBack, err
	}
	return z, func() {
		gzipReaders.Put(z)
		giveBack()
	}, nil
}

// withoutBOM is the line's text without the byte-order mark that editors put before
// a file's first line.
func withoutBOM(l *line) []byte {
	if l.number == 1 {
		return bytes.TrimPrefix(l.text, []byte("\xef\xbb\xbf"))
	}
	return l.text
}
