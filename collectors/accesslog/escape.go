package accesslog

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// escape is how a log writes bytes that would break its lines.
type escape uint8

const (
	escapeHex  escape = iota // \xNN, \" and \\ (ALB, nginx)
	escapeJSON               // as JSON, and \xNN
	escapeHash               // #NN (HAProxy)
)

// escaped reports whether b may hold escapes.
func (e escape) escaped(b []byte) bool {
	mark := byte('\\')
	if e == escapeHash {
		mark = '#'
	}
	return bytes.IndexByte(b, mark) >= 0
}

// decode decodes b into dst, which it returns.
func (e escape) decode(dst, b []byte) []byte {
	switch e {
	case escapeJSON:
		return unescapeJSON(dst, b)
	case escapeHash:
		return unescapeHash(dst, b)
	}
	return unescape(dst, b)
}

// unescape decodes \xNN (either case of hex), \" and \\ into dst, which it
// returns. Any other backslash stays as it is.
func unescape(dst, b []byte) []byte {
	for i := 0; i < len(b); i++ {
		c := b[i]
		if c == '\\' && i+1 < len(b) {
			switch b[i+1] {
			case '"', '\\':
				dst = append(dst, b[i+1])
				i++
				continue
			case 'x', 'X':
				if i+3 < len(b) {
					high, low := unhex(b[i+2]), unhex(b[i+3])
					if high < 16 && low < 16 {
						dst = append(dst, high<<4|low)
						i += 3
						continue
					}
				}
			}
		}
		dst = append(dst, c)
	}
	return dst
}

// unescapeHash decodes #NN, as HAProxy writes bytes that are not printable, and
// quotes, bars and braces.
func unescapeHash(dst, b []byte) []byte {
	for i := 0; i < len(b); i++ {
		if b[i] == '#' && i+2 < len(b) {
			if high, low := unhex(b[i+1]), unhex(b[i+2]); high < 16 && low < 16 {
				dst = append(dst, high<<4|low)
				i += 2
				continue
			}
		}
		dst = append(dst, b[i])
	}
	return dst
}

// unescapeJSON decodes the text of a JSON string, and \xNN, which nginx writes where
// its format was not told to escape for JSON.
func unescapeJSON(dst, b []byte) []byte {
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' || i+1 == len(b) {
			dst = append(dst, b[i])
			continue
		}
		switch c := b[i+1]; c {
		case 'b', 'f', 'n', 'r', 't':
			dst = append(dst, map[byte]byte{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}[c])
			i++
		case '/', '"', '\\':
			dst = append(dst, c)
			i++
		case 'x', 'X':
			end := min(i+4, len(b))
			dst = unescape(dst, b[i:end])
			i = end - 1
		case 'u':
			r, size := unescapeRune(b[i:])
			if size == 0 {
				dst = append(dst, '\\')
				continue
			}
			dst = utf8.AppendRune(dst, r)
			i += size - 1
		default:
			dst = append(dst, '\\')
		}
	}
	return dst
}

// unescapeRune reads \uNNNN, or two of them that make one rune; size 0 where it is
// none.
func unescapeRune(b []byte) (r rune, size int) {
	r, ok := fourHex(b)
	if !ok {
		return 0, 0
	}
	if utf16.IsSurrogate(r) {
		if low, ok := fourHex(b[6:]); ok {
			if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
				return both, 12
			}
		}
		return utf8.RuneError, 6
	}
	return r, 6
}

func fourHex(b []byte) (r rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		digit := unhex(c)
		if digit > 15 {
			return 0, false
		}
		r = r<<4 | rune(digit)
	}
	return r, true
}

func unhex(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10
	}
	return 0xff
}
