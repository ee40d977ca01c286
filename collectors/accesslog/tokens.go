package accesslog

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// albTokens are the fields of one line: at most albFields, whatever follows them
// is ignored.
type albTokens struct {
	line []byte
	at   [albFields]stretch
	n    int
	next int  // where the fields after the n-th begin
	open bool // the last field's closing quote is missing
	lost bool // or where it stands is not sure
	same [2]memo
}

// stretch is a part of a line.
type stretch struct{ from, to uint32 }

// field is the i-th field without its quotes, as it stands; nil where the line
// ends before it.
func (t *albTokens) field(i int) []byte {
	if i >= t.n {
		return nil
	}
	return t.line[t.at[i].from:t.at[i].to:t.at[i].to]
}

// value is the i-th field, or nil where it is missing, empty or "-".
func (t *albTokens) value(i int) []byte {
	if b := t.field(i); len(b) > 1 || len(b) == 1 && b[0] != '-' {
		return b
	}
	return nil
}

// split cuts a line into its fields. Fields are separated by spaces; each may be
// quoted or bare. A closing quote ends a field even where no space follows it
// (lines with `"-"1` are in circulation), except in the fields whose text is the
// client's.
func (t *albTokens) split(line []byte) {
	t.begin(line)
	t.upTo(albFields)
}

// begin takes a line; upTo cuts it.
func (t *albTokens) begin(line []byte) {
	t.line, t.n, t.next, t.open, t.lost = line, 0, 0, false, false
}

// quotedDash is `"-" `, little-endian.
const quotedDash = '"' | '-'<<8 | '"'<<16 | ' '<<24

// upTo cuts the line up to its n-th field, going on where it stopped before.
func (t *albTokens) upTo(n int) {
	line, i := t.line, t.next
	for t.n < n && !t.open {
		for i < len(line) && line[i] == ' ' {
			i++
		}
		if i >= len(line) {
			break
		}
		at := &t.at[t.n]
		rest := line[i:]
		if rest[0] != '"' {
			end := i + indexSpace(rest)
			*at = stretch{uint32(i), uint32(end)}
			i = end
			t.n++
			continue
		}
		// Many quoted fields are a dash, and need no search for their end.
		if len(rest) >= 4 && binary.LittleEndian.Uint32(rest) == quotedDash {
			*at = stretch{uint32(i + 1), uint32(i + 2)}
			i += 3
			t.n++
			continue
		}
		i++
		end := bytes.IndexByte(line[i:], '"')
		if end < 0 {
			t.open = true
			at.from, at.to = uint32(i), uint32(len(line))
			i = len(line)
			t.n++
			break
		}
		if next := i + end + 1; end > 0 && line[next-2] == '\\' || next < len(line) && line[next] != ' ' {
			end, t.lost = closingQuote(line[i:], t.n)
			if end < 0 {
				t.open = true
				end = len(line) - i
			}
		}
		at.from, at.to = uint32(i), uint32(i+end)
		i += end + 1
		t.n++
	}
	t.next = i
}

// memo is the text of a few fields in a row, as the line before had it: most lines
// have the same there, and to compare is cheaper than to cut.
type memo struct {
	text []byte // from the first field to the one byte after the last, which ends it
	at   [4]stretch
}

// memoLimit bounds the text of a memo.
const memoLimit = 1024

// upToLike cuts the line up to its n-th field (at most four from here), which m
// does where they are the same as in the line before.
func (t *albTokens) upToLike(m *memo, n int) {
	first := t.n
	for t.next < len(t.line) && t.line[t.next] == ' ' {
		t.next++
	}
	begin := t.next
	if len(m.text) > 0 && bytes.HasPrefix(t.line[begin:], m.text) {
		for i, at := range m.at[:n-first] {
			t.at[first+i] = stretch{at.from + uint32(begin), at.to + uint32(begin)}
		}
		t.n, t.next = n, begin+len(m.text)-1
		return
	}
	t.upTo(n)
	m.text = m.text[:0]
	if t.n < n || t.open || t.next >= len(t.line) || t.next-begin >= memoLimit {
		return
	}
	m.text = append(m.text, t.line[begin:t.next+1]...)
	for i := range n - first {
		m.at[i] = stretch{t.at[first+i].from - uint32(begin), t.at[first+i].to - uint32(begin)}
	}
}

// indexSpace is the place of the first space in b, or b's length. Most bare fields
// are so short that eight bytes at a time beat a call.
func indexSpace(b []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:]) ^ ones*' '
		if found := (x - ones) &^ x & highs; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(b); i++ {
		if b[i] == ' ' {
			return i
		}
	}
	return len(b)
}

// closingQuote is the place of the quote in b that ends the i-th field, where the first
// quote does not do so beyond doubt: -1 where there is none. Lost is whether there may be
// one, but which it is, is not sure.
//
// In text that a client sent, neither quotes nor backslashes tell: whether ALB writes
// them as \x22 and \x5C in every field, or puts a backslash before a quote, is not
// documented. What the load balancer alone writes behind the text does.
func closingQuote(b []byte, i int) (end int, lost bool) {
	switch i {
	case albRequest:
		agent := onlyQuote(b, beforeGroup)
		if agent < 0 {
			return -1, true
		}
		end = bytes.Index(b[:agent], []byte(`" "`))
		if end < 0 || end != bytes.LastIndex(b[:agent], []byte(`" "`)) {
			return -1, true
		}
		return end, false
	case albAgent:
		end = onlyQuote(b, beforeGroup)
		return end, end < 0
	case albTrace:
		end = onlyQuote(b, beforeCreated)
		return end, end < 0
	case albRedirect, albHost, albURI: // another quoted field follows
		return bytes.Index(b, []byte(`" "`)), false
	}
	for end := range b {
		if b[end] == '"' && (end == 0 || b[end-1] != '\\') {
			return end, false
		}
	}
	return -1, false
}

// onlyQuote is the place of the only quote in b behind which stands what before says;
// -1 where none or several do.
func onlyQuote(b []byte, before func([]byte) bool) int {
	found := -1
	for at := 0; ; at++ {
		next := bytes.IndexByte(b[at:], '"')
		if next < 0 {
			return found
		}
		if at += next; before(b[at+1:]) {
			if found >= 0 {
				return -1
			}
			found = at
		}
	}
}

// beforeGroup reports whether b goes on as a line does behind the user agent: with three
// bare words, of which the last is a target group or none, and a quote.
func beforeGroup(b []byte) bool {
	var group []byte
	for range 3 {
		if len(b) == 0 || b[0] != ' ' {
			return false
		}
		group, b = word(b)
		if bytes.IndexByte(group, '"') >= 0 {
			return false
		}
	}
	return (dash(group) || bytes.HasPrefix(group, []byte("arn:"))) && bytes.HasPrefix(b, []byte(` "`))
}

// beforeCreated reports whether b goes on as a line does behind the trace ID: with two
// fields, a rule's number and the time at which the request came.
func beforeCreated(b []byte) bool {
	const fields, most = 4, 8 << 10 // a name and a certificate's ARN are short
	if len(b) == 0 || b[0] != ' ' {
		return false
	}
	var t albTokens
	t.begin(b[:min(len(b), most)])
	t.upTo(fields)
	_, ok := parseTime(t.field(fields - 1))
	return ok
}
