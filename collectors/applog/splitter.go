package applog

import "bytes"

// splitter cuts what comes in pieces into lines.
type splitter struct {
	take func(raw []byte, tooLong bool)
	rest []byte // of a line whose end has not come
	skip bool   // the line is too long
}

func newSplitter(take func(raw []byte, tooLong bool)) *splitter { return &splitter{take: take} }

func (s *splitter) write(b []byte) {
	for len(b) > 0 {
		end := bytes.IndexByte(b, '\n')
		part := b
		if end >= 0 {
			part = b[:end]
		}
		switch {
		case s.skip:
		case len(s.rest)+len(part) > maxLine:
			s.skip, s.rest = true, s.rest[:0]
		case end < 0 || len(s.rest) > 0:
			s.rest = append(s.rest, part...)
			part = s.rest
		}
		if end < 0 {
			return
		}
		s.take(part, s.skip)
		s.rest, s.skip = s.rest[:0], false
		b = b[end+1:]
	}
}

// end takes what came last for a line, though it has no end.
func (s *splitter) end() {
	if len(s.rest) > 0 || s.skip {
		s.take(s.rest, s.skip)
	}
	s.rest, s.skip = s.rest[:0], false
}
