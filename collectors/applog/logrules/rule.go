package logrules

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"gapless/analysis"
)

// Programs that a rule may insist on.
const (
	originSystemd     = "systemd"
	originApplication = "application" // some program that writes level, thread and logger
)

// rule recognises one line. A line is looked at only if it contains literal; pattern
// then sees its message, without time, level, thread and logger, so that text from a
// request that merely quotes such a line is not taken for it.
type rule struct {
	name    string // set/rule, or an own rule's name
	literal []byte // empty: every line is looked at
	pattern *regexp.Regexp
	origin  string // only lines of this program, where it is known
	trace   bool   // also lines that go on with the one before, as exceptions are told in
	// id is the journal's MESSAGE_ID that says the same for sure. entry then fills in
	// what the entry's fields say, and may still turn it down.
	id    string
	entry func(fields map[string]string, message []byte) (fill, bool)
	// named finds the name in a message that matches, where a pattern is not enough: nil
	// where there is none, and not sure where a client's text may stand for it.
	named func(message []byte) (name []byte, sure bool)
	// when turns a match down by what its groups took.
	when func(values map[string]string) bool

	step  analysis.StepKind // with event empty too: the line is only counted
	event analysis.Event
	fixed map[string]string // values that are always so, by the name of a group

	groups []string // of pattern
	count  int      // index of its count
}

// fill is what a line says besides that it happened.
type fill struct {
	name, key, target string
	outcome           analysis.Outcome
	values            map[string]string
	unit              string // of systemd, which the line is about
	doubtful          bool   // the line cannot be read in one sure way
}

// mayMatch is a cheap look at a line.
func (r *rule) mayMatch(c *current) bool {
	if c.line.ID != "" && r.id != "" {
		return r.id == c.line.ID
	}
	return len(r.literal) == 0 || bytes.Contains(c.text, r.literal)
}

// match says what a line's message tells. It is called after mayMatch.
func (r *rule) match(c *current) (f fill, ok bool) {
	if r.origin != "" && c.origin != "" && r.origin != c.origin {
		return f, false
	}
	if r.origin == originSystemd && c.origin == "" && c.width > 0 {
		return f, false // the line has a time and does not say that systemd wrote it
	}
	if c.line.ID != "" && r.id != "" {
		if r.origin != "" && c.origin != r.origin {
			return f, false
		}
		f, ok = r.entry(c.line.Fields, c.message)
		return f, ok && (r.when == nil || r.when(f.values))
	}
	m := r.pattern.FindSubmatchIndex(c.message)
	if m == nil {
		return f, false
	}
	for i, group := range r.groups {
		if group != "" && m[2*i] >= 0 {
			f.set(group, kept(group, c.message[m[2*i]:m[2*i+1]]))
		}
	}
	for group, value := range r.fixed {
		f.set(group, value)
	}
	if r.named != nil {
		name, sure := r.named(c.message)
		if sure && name == nil {
			return f, false
		}
		f.set(groupName, kept(groupName, name))
		f.doubtful = !sure
	}
	if r.when != nil && !r.when(f.values) {
		return f, false
	}
	f.unit = f.name
	return f, true
}

// longest bounds, in bytes, what a signal takes from a line by one group.
const longest = 200

// printable is a group's text as it is kept: valid, and cut where it is too long.
func printable(b []byte) string {
	return strings.ToValidUTF8(string(b[:min(len(b), longest)]), "")
}

// kept is what is kept of a group's text. What tells one thing from another is never
// cut: of two long keys that differ only at their ends both would be one. In place of
// its end stands a hash of the whole.
func kept(group string, b []byte) string {
	switch group {
	case groupName, groupKey, groupTarget, groupStep, groupJourney:
		if len(b) > longest || !utf8.Valid(b) {
			sum := sha256.Sum256(b)
			return strings.ToValidUTF8(string(b[:min(len(b), longest/2)]), "") + "~" + hex.EncodeToString(sum[:16])
		}
	}
	return printable(b)
}

// Groups of a rule's pattern that are a signal's own fields; every other group is
// among its values.
const (
	groupName    = "name"
	groupKey     = "key"
	groupOutcome = "outcome"
	groupTarget  = "target"
	groupStep    = "step"    // of journey.step: the same as name
	groupJourney = "journey" // of journey.step
)

func (f *fill) set(group, value string) {
	switch group {
	case groupName:
		f.name = value
	case groupKey:
		f.key = value
	case groupTarget:
		f.target = value
	case groupOutcome:
		if slices.Contains(analysis.Outcomes, analysis.Outcome(value)) {
			f.outcome = analysis.Outcome(value)
			return
		}
		f.value(group, value)
	default:
		f.value(group, value)
	}
}

func (f *fill) value(group, value string) {
	if f.values == nil {
		f.values = map[string]string{}
	}
	f.values[group] = value
}

// aboutUnit says whether a systemd unit is the one asked for. Old versions name the
// unit's description, which cannot be told apart.
func (in *Interpreter) aboutUnit(unit string) bool {
	if in.cfg.Unit == "" || unit == "" {
		return true
	}
	ok, err := path.Match(in.cfg.Unit, unit)
	return ok && err == nil
}

// pattern compiles a rule's pattern, and finds the longest text that every match
// contains.
func pattern(expression string) (*regexp.Regexp, []byte, error) {
	re, err := regexp.Compile(expression)
	if err != nil {
		return nil, nil, err
	}
	tree, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil, nil, err
	}
	return re, required(tree.Simplify()), nil
}

// required is the longest literal that every match of a pattern contains; nil where
// none is known.
func required(re *syntax.Regexp) []byte {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 && !slices.Contains(re.Rune, '\uFFFD') {
			return []byte(string(re.Rune))
		}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpConcat:
		var best []byte
		for _, each := range re.Sub {
			if literal := required(each); len(literal) > len(best) {
				best = literal
			}
		}
		return best
	}
	return nil
}
