package main

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"
	"sync"

	"gapless/views"
)

// printable makes one line of what came from outside, such as a log or a server, in
// which nothing hides.
func printable(s string) string {
	return strings.Map(neutral, s)
}

func neutral(r rune) rune {
	switch {
	case !views.Hides(r):
		return r
	case r < 0xa0, r == '\u2028', r == '\u2029':
		return ' '
	}
	return '\ufffd'
}

// printableWriter does for every line that is written what [printable] does for one.
// Standard error goes through it, so that no message has to remember it.
type printableWriter struct{ w io.Writer }

func (p printableWriter) Write(b []byte) (int, error) {
	lines := strings.Split(string(b), "\n")
	for i, line := range lines {
		lines[i] = printable(line)
	}
	if _, err := io.WriteString(p.w, strings.Join(lines, "\n")); err != nil {
		return 0, err
	}
	return len(b), nil
}

// bareWriter writes nothing that hides (see [views.Bare]). Standard output goes through
// it, so that no command has to remember it.
type bareWriter struct {
	w io.Writer

	mu   sync.Mutex
	rest []byte // of a character whose end has not come
}

func (b *bareWriter) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := text
	if len(b.rest) > 0 {
		all = append(b.rest, text...)
	}
	whole := len(all) - views.Unended(all)
	if _, err := b.w.Write(views.Bare(all[:whole])); err != nil {
		return 0, err
	}
	b.rest = bytes.Clone(all[whole:])
	return len(text), nil
}

// complaints are the messages of an error, one a line. Only errors that were joined
// make several: a line break within a message, which may have come from outside, does
// not begin a line that looks like ours.
func complaints(err error) []string {
	joined, ok := err.(interface{ Unwrap() []error })
	if ok && err.Error() == errors.Join(joined.Unwrap()...).Error() {
		var all []string
		for _, each := range joined.Unwrap() {
			all = append(all, complaints(each)...)
		}
		return all
	}
	return []string{printable(err.Error())}
}

var (
	markdownEscapes = strings.NewReplacer(`\`, `\\`, `|`, `\|`, `<`, `&lt;`, `>`, `&gt;`, `&`, `&amp;`, `*`, `\*`, `_`, `\_`, "`", "\\`",
		`[`, `\[`, `]`, `\]`, `~`, `\~`, `$`, `\$`, "://", `\://`, "@", "@\u2060")
	markdownOpening = regexp.MustCompile(`^(\s*)([#+=-]|\d+[.)]\s)`)
	markdownWWW     = regexp.MustCompile(`(?i)\b(www)\.`)
)

// escapeMarkdown makes text of one line mean nothing in Markdown: no markup, no HTML,
// no links, also none that a reader makes by itself of an address or an @name.
func escapeMarkdown(s string) string {
	s = markdownWWW.ReplaceAllString(markdownEscapes.Replace(s), `$1\.`)
	return markdownOpening.ReplaceAllStringFunc(s, func(opening string) string {
		at := strings.LastIndexAny(opening, "#+=-.)")
		return opening[:at] + `\` + opening[at:]
	})
}
