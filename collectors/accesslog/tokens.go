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
// (lines with `"-"1` are in circulation), except in the two fields whose text is
// the client's.
func (t *albTokens) split(line []byte) {
	t.begin(line)
	t.upTo(albFields)
}

// begin takes a line; upTo cuts it.
func (t *albTokens) begin(line []byte) { t.line, t.n, t.next, t.open = line, 0, 0, false }

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
			end = closingQuote(line[i:], t.n == albRequest || t.n == albAgent)
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

// closingQuote finds the quote that ends a field: the first that no backslash
// precedes, and, in text that a client sent, that a space or the line's end follows.
// It answers -1 where there is none.
func closingQuote(b []byte, clients bool) int {
	first := -1
	for i := 0; i < len(b); i++ {
		next := bytes.IndexByte(b[i:], '"')
		if next < 0 {
			break
		}
		i += next
		if i > 0 && b[i-1] == '\\' {
			continue
		}
		if !clients || i+1 == len(b) || b[i+1] == ' ' {
			return i
		}
		if first < 0 {
			first = i
		}
	}
	return first
}
