package logrules

import (
	"bytes"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// sequence matches the patterns that are usual for request ids: literal text and
// runs of one character class, one after another, such as
//
//	rid=(?P<id>\S+) status=(?P<status>\d+)
//
// where no run can take the character that must follow it. Such a pattern matches
// in one way only, so that it needs no search; any other is left to regexp.
type sequence struct {
	parts  []part
	groups int // indices in a result: two a group, the whole match first
}

type part struct {
	literal []byte
	class   *[256]bool // where there is no literal: at least one byte of these
	group   int        // -1: none
}

// newSequence returns nil for a pattern that it cannot match exactly as regexp does.
func newSequence(pattern string) *sequence {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	s := &sequence{groups: 2 * (tree.MaxCap() + 1)}
	tree = tree.Simplify()
	parts := []*syntax.Regexp{tree}
	if tree.Op == syntax.OpConcat {
		parts = tree.Sub
	}
	for _, each := range parts {
		p := part{group: -1}
		if each.Op == syntax.OpCapture {
			p.group, each = each.Cap, each.Sub[0]
		}
		switch {
		case each.Op == syntax.OpLiteral && each.Flags&syntax.FoldCase == 0 && !slices.Contains(each.Rune, utf8.RuneError):
			p.literal = []byte(string(each.Rune))
		case each.Op == syntax.OpPlus && each.Flags&syntax.NonGreedy == 0 && each.Sub[0].Op == syntax.OpCharClass:
			if p.class = byteClass(each.Sub[0].Rune); p.class == nil {
				return nil
			}
		default:
			return nil
		}
		if n := len(s.parts); n > 0 && s.parts[n-1].class != nil && (p.literal == nil || s.parts[n-1].class[p.literal[0]]) {
			return nil // the run could take what follows
		}
		s.parts = append(s.parts, p)
	}
	if len(s.parts) == 0 || s.parts[0].literal == nil || s.parts[0].group >= 0 {
		return nil
	}
	return s
}

// byteClass is a class of characters as one of bytes; nil where the two differ,
// which is where characters beyond ASCII do not all belong or all not belong.
func byteClass(ranges []rune) *[256]bool {
	var class [256]bool
	for i := 0; i < len(ranges); i += 2 {
		low, high := ranges[i], ranges[i+1]
		for r := low; r <= high && r < 0x80; r++ {
			class[r] = true
		}
		if high >= 0x80 {
			if low > 0x80 || high != 0x10FFFF {
				return nil
			}
			for b := 0x80; b < 0x100; b++ {
				class[b] = true
			}
		}
	}
	return &class
}

// match fills m with the indices of the first match and its groups, as
// regexp.FindSubmatchIndex gives them.
func (s *sequence) match(line []byte, m []int) bool {
	for from := 0; ; from++ {
		at := bytes.Index(line[from:], s.parts[0].literal)
		if at < 0 {
			return false
		}
		from += at
		if s.matchAt(line, from, m) {
			return true
		}
	}
}

func (s *sequence) matchAt(line []byte, from int, m []int) bool {
	at := from
	for i := range s.parts {
		p := &s.parts[i]
		begin := at
		if p.literal != nil {
			if !bytes.HasPrefix(line[at:], p.literal) {
				return false
			}
			at += len(p.literal)
		} else {
			for at < len(line) && p.class[line[at]] {
				at++
			}
			if at == begin {
				return false
			}
		}
		if p.group >= 0 {
			m[2*p.group], m[2*p.group+1] = begin, at
		}
	}
	m[0], m[1] = from, at
	return true
}
