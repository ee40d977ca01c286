package applog

import (
	"bytes"
	"slices"
)

// splitter cuts what comes in pieces into lines.
type splitter struct {
	take func(raw []byte)               // a line without its end
	lost func(part []byte, begins bool) // a part of one that is too long, with its end
	rest []byte                         // of a line whose end has not come
	skip bool                           // the line is too long
}

func (s *splitter) write(b []byte) {
	for len(b) > 0 {
		end := bytes.IndexByte(b, '\n')
		ended := end >= 0
		if !ended {
			end = len(b)
		}
		part := b[:end]
		b = b[min(end+1, len(b)):]
		begins := !s.skip && len(s.rest)+len(part) > maxLine
		if begins || !s.skip && (!ended || len(s.rest) > 0) {
			s.rest = append(s.rest, part...)
			part = s.rest
		}
		s.skip = s.skip || begins
		switch {
		case s.skip && ended:
			s.lost(append(slices.Clip(part), '\n'), begins)
		case s.skip:
			s.lost(part, begins)
		case ended:
			s.take(part)
		}
		if ended || s.skip {
			s.rest = s.rest[:0]
		}
		s.skip = s.skip && !ended
	}
}

// end takes what came last for a line, though it has no end.
func (s *splitter) end() {
	if len(s.rest) > 0 {
		s.take(s.rest)
	}
	s.rest, s.skip = s.rest[:0], false
}
