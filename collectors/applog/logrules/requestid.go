package logrules

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"unicode"
	"unicode/utf8"

	"gapless/analysis"
)

// idPattern finds a request id in a line. It is not safe for concurrent use.
type idPattern struct {
	match              *regexp.Regexp
	fast               *sequence // matches the same; nil where the pattern is not of that form
	groups             []int     // of the last match of fast
	id, status, target int       // groups; -1 where there is none
}

// compileID compiles a pattern. An empty one matches nothing and is nil.
func compileID(pattern string) (*idPattern, error) {
	if pattern == "" {
		return nil, nil
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", pattern, err)
	}
	p := &idPattern{match: re, id: re.SubexpIndex("id"), status: re.SubexpIndex("status"), target: re.SubexpIndex("target")}
	if p.id < 0 {
		return nil, fmt.Errorf("%q has no group (?P<id>…)", pattern)
	}
	if p.fast = newSequence(pattern); p.fast != nil {
		p.groups = make([]int, p.fast.groups)
	}
	return p, nil
}

// found is what a line says of a request.
type found struct {
	run    string
	seq    int
	ours   bool // the id has the form of our own
	status int
	target string
}

func (p *idPattern) find(line []byte) (f found, ok bool) {
	if p == nil {
		return f, false
	}
	m := p.submatches(line)
	if m == nil || m[2*p.id] < 0 {
		return f, false
	}
	id := line[m[2*p.id]:m[2*p.id+1]]
	if !mayBeOurs(id) {
		return f, true
	}
	if f.run, f.seq, f.ours = analysis.ProbeID(string(id)); !f.ours {
		return f, true
	}
	if p.status >= 0 && m[2*p.status] >= 0 {
		f.status, _ = strconv.Atoi(string(line[m[2*p.status]:m[2*p.status+1]]))
		if f.status < 100 || f.status > 999 {
			f.status = 0
		}
	}
	if p.target >= 0 && m[2*p.target] >= 0 {
		f.target = string(line[m[2*p.target]:m[2*p.target+1]])
		if len(f.target) > 200 || !utf8.ValidString(f.target) {
			f.target = ""
		}
	}
	return f, true
}

// submatches are the indices of the first match and its groups; nil where there is
// none. They are good until the next call: a pattern belongs to one reader, which
// reads one line at a time.
func (p *idPattern) submatches(line []byte) []int {
	if p.fast == nil {
		return p.match.FindSubmatchIndex(line)
	}
	if !p.fast.match(line, p.groups) {
		return nil
	}
	return p.groups
}

// mayBeOurs is a cheap look at an id before it is taken apart: ours are short and
// printable and end in a digit.
func mayBeOurs(id []byte) bool {
	if len(id) < 3 || len(id) > 100 || id[len(id)-1] < '0' || id[len(id)-1] > '9' || bytes.IndexByte(id, '-') < 0 {
		return false
	}
	return utf8.Valid(id) && bytes.IndexFunc(id, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}
