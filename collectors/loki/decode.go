package loki

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// page is one reply, its lines in the order of their times.
type page struct {
	entries []entry
}

// entry is one line.
type entry struct {
	at     int64 // nanoseconds since 1970
	stream *stream
	line   []byte
}

// stream is one set of labels.
type stream struct {
	labels string // in order of their names, which is how it is known again
	target string // value of the label that names it
}

// key is what an entry is known by, beside its time.
type key [16]byte

// key hashes labels and line. Two that differ are taken for one in 2⁶⁴ entries of
// the same nanosecond.
func (e *entry) key() key {
	h := sha256.New()
	_, _ = io.WriteString(h, e.stream.labels) // a hash takes everything
	_, _ = h.Write([]byte{0})
	_, _ = h.Write(e.line)
	var sum [sha256.Size]byte
	return key(h.Sum(sum[:0])[:16])
}

// mostLabels bounds the labels of a stream; a Loki allows some tens.
const mostLabels = 1000

// decode reads a reply as it comes, so that its text is not held besides its lines. One
// with more lines than the limit that was asked for is not read to its end.
func decode(body io.Reader, targetLabel string, limit int) (*page, error) {
	d := &decoder{
		in:     jsontext.NewDecoder(body, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)),
		target: targetLabel, limit: limit,
	}
	status, data := "", false
	err := d.object(func(name string) error {
		switch name {
		case "status":
			return d.text(&status)
		case "data":
			data = true
			return d.data()
		}
		return d.in.SkipValue()
	})
	if err != nil {
		return nil, err
	}
	if status != "success" {
		return nil, fmt.Errorf("its status is %q", status)
	}
	if !data || !d.result {
		return nil, errors.New("it has no result")
	}
	slices.SortStableFunc(d.entries, func(a, b entry) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		}
		return 0
	})
	return &page{entries: d.entries}, nil
}

// roomSize is how much room for lines is taken at once.
const roomSize = 256 << 10

type decoder struct {
	in      *jsontext.Decoder
	target  string
	limit   int
	entries []entry
	result  bool   // there was one
	room    []byte // that lines are put into, many to an allocation
}

func (d *decoder) data() error {
	return d.object(func(name string) error {
		switch name {
		case "resultType":
			var kind string
			if err := d.text(&kind); err != nil {
				return err
			}
			if kind != "streams" {
				return fmt.Errorf("the query gives a %s, not lines", kind)
			}
			return nil
		case "result":
			d.result = true
			return d.array(d.stream)
		}
		return d.in.SkipValue()
	})
}

func (d *decoder) stream() error {
	s := &stream{}
	known := false
	err := d.object(func(name string) error {
		switch name {
		case "stream":
			known = true
			return d.labels(s)
		case "values":
			return d.array(func() error { return d.value(s) })
		}
		return d.in.SkipValue()
	})
	if err == nil && !known {
		return errors.New("a stream has no labels")
	}
	return err
}

func (d *decoder) labels(s *stream) error {
	var pairs []string
	err := d.object(func(name string) error {
		if len(pairs) == mostLabels {
			return fmt.Errorf("a stream has more than %d labels", mostLabels)
		}
		var value string
		if err := d.text(&value); err != nil {
			return err
		}
		if name == d.target {
			s.target = value
		}
		pairs = append(pairs, name+"="+strconv.Quote(value))
		return nil
	})
	slices.Sort(pairs)
	s.labels = strings.Join(pairs, ",")
	return err
}

// value reads ["<nanoseconds>", "<line>"]; newer ones add the entry's own labels.
func (d *decoder) value(s *stream) error {
	if len(d.entries) == d.limit {
		return fmt.Errorf("it has more than the %d lines that were asked for", d.limit)
	}
	e := entry{stream: s}
	n := 0
	err := d.array(func() error {
		defer func() { n++ }()
		switch n {
		case 0:
			var at string
			if err := d.text(&at); err != nil {
				return err
			}
			var err error
			if e.at, err = strconv.ParseInt(at, 10, 64); err != nil {
				return fmt.Errorf("the time %q is no count of nanoseconds", at)
			}
			return nil
		case 1:
			var err error
			e.line, err = d.bytes()
			return err
		}
		return d.in.SkipValue()
	})
	if err == nil && n < 2 {
		err = errors.New("an entry has no line")
	}
	d.entries = append(d.entries, e)
	return err
}

func (d *decoder) object(each func(name string) error) error {
	if err := d.open('{'); err != nil {
		return err
	}
	for d.in.PeekKind() != '}' {
		name, err := d.in.ReadToken()
		if err != nil {
			return err
		}
		if err := each(name.String()); err != nil {
			return err
		}
	}
	_, err := d.in.ReadToken()
	return err
}

func (d *decoder) array(each func() error) error {
	if err := d.open('['); err != nil {
		return err
	}
	for d.in.PeekKind() != ']' {
		if kind := d.in.PeekKind(); kind == 0 {
			_, err := d.in.ReadToken()
			return err
		}
		if err := each(); err != nil {
			return err
		}
	}
	_, err := d.in.ReadToken()
	return err
}

func (d *decoder) open(kind jsontext.Kind) error {
	token, err := d.in.ReadToken()
	if err != nil {
		return err
	}
	if token.Kind() != kind {
		return fmt.Errorf("%s stands where %q was expected", token.Kind(), string(kind))
	}
	return nil
}

func (d *decoder) text(into *string) error {
	token, err := d.in.ReadToken()
	if err != nil {
		return err
	}
	if token.Kind() != '"' {
		return fmt.Errorf("%s stands where a text was expected", token.Kind())
	}
	*into = token.String()
	return nil
}

// bytes reads a text that is kept with many others.
func (d *decoder) bytes() ([]byte, error) {
	value, err := d.in.ReadValue()
	if err != nil {
		return nil, err
	}
	if value.Kind() != '"' {
		return nil, fmt.Errorf("%s stands where a line was expected", value.Kind())
	}
	if cap(d.room)-len(d.room) < len(value) {
		d.room = make([]byte, 0, max(roomSize, len(value)))
	}
	from := len(d.room)
	// What was read is a whole text: the error can only be that not all of it is UTF-8,
	// and what is not was replaced.
	d.room, _ = jsontext.AppendUnquote(d.room, value)
	return d.room[from:len(d.room):len(d.room)], nil
}
