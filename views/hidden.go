package views

import (
	"fmt"
	"unicode/utf8"
)

// Hides says whether a character shows nothing, but does something to the text around
// it: a control character, which a terminal would obey, or one that turns the direction
// of text or breaks its line, by which a text can be made to look like another.
func Hides(r rune) bool {
	switch {
	case r < ' ', r >= 0x7f && r < 0xa0, r == '\u2028', r == '\u2029':
		return true
	case r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069', r == '\u200e', r == '\u200f', r == '\u061c':
		return true
	}
	return false
}

// Bare is a page or a file in which nothing hides: what came from outside and would,
// stands as \u and four hexadecimal digits, which JSON reads as it was. Ends of lines and
// tabs stay.
func Bare(text []byte) []byte {
	var bare []byte // once there is something
	kept := 0
	for i := 0; i < len(text); {
		c := text[i]
		if !mayHide[c] {
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if Hides(r) {
			bare = fmt.Appendf(append(bare, text[kept:i]...), `\u%04x`, r)
			kept = i + size
		}
		i += size
	}
	if bare == nil {
		return text
	}
	return append(bare, text[kept:]...)
}

// mayHide are the first bytes of the characters that hide.
var mayHide = func() (first [256]bool) {
	for r := range rune(0x3000) {
		if Hides(r) && r != '\n' && r != '\r' && r != '\t' {
			first[string(r)[0]] = true
		}
	}
	return first
}()

// Unended is how many bytes at the end of a text are the beginning of a character that
// may hide.
func Unended(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if tail := text[len(text)-n:]; mayHide[tail[0]] && !utf8.FullRune(tail) {
			return n
		}
	}
	return 0
}
