package accesslog

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// What a parser remembers of earlier lines makes it faster and changes nothing: a
// line is understood as by a parser that has seen no other.
func TestLinesDoNotDependOnThoseBefore(t *testing.T) {
	lines := []string{"", "h2", `"`, " "}
	for _, c := range lineCases(t, KindALB) {
		lines = append(lines, c.line)
	}
	for line := range strings.SplitSeq(strings.TrimSpace(string(generate(40))), "\n") {
		lines = append(lines, line)
	}
	// Fields that begin like those of another line and go on, or lack what ended them.
	sound := lines[len(lines)-1]
	for _, change := range []string{` 10 2026`, ` 100 2026`, ` 1 2026`, ` "10" 2026`, ` "10"2026`, ` 10  2026`, ` 10 "2026`} {
		lines = append(lines, strings.Replace(sound, ` 10 2026`, change, 1))
	}
	for _, change := range []string{`8a067 "Root`, `8a067x "Root`, `8a067"Root`, `8a067  "Root`, `8a067 Root`, `8a06 "Root`, `8a067" "Root`} {
		lines = append(lines, strings.Replace(sound, `8a067 "Root`, change, 1))
	}
	for _, before := range lines {
		for _, text := range lines {
			compareFresh(t, before, text)
		}
	}
}

func FuzzALBLineAfterAnother(f *testing.F) {
	cases := lineCases(f, KindALB)
	for i, c := range cases {
		f.Add([]byte(cases[(i+1)%len(cases)].line), []byte(c.line))
	}
	f.Fuzz(func(t *testing.T, before, text []byte) { compareFresh(t, string(before), string(text)) })
}

func compareFresh(t *testing.T, before, text string) {
	t.Helper()
	var f albFormat
	var e entry
	if _, ok := f.parse([]byte(before), &e); ok {
		f.rest(&e)
	}
	if got, want := understanding(&f, text), understanding(&albFormat{}, text); got != want {
		t.Fatalf("%q\nafter %q is understood as\n%s\nand alone as\n%s", text, before, got, want)
	}
}

// understanding is all that a parser makes of a line.
func understanding(f *albFormat, text string) string {
	var e entry
	why, ok := f.parse([]byte(text), &e)
	if !ok {
		return fmt.Sprintf("%+v", why)
	}
	f.rest(&e)
	var whole albTokens
	whole.split([]byte(text))
	var b strings.Builder
	fmt.Fprintf(&b, "%+v", e)
	for i := range albFields {
		if !bytes.Equal(f.fields.field(i), whole.field(i)) {
			fmt.Fprintf(&b, " field %d is %q, cut at once %q", i, f.fields.field(i), whole.field(i))
		}
	}
	return b.String()
}

// Times are read alike whether their day was read before or not.
func TestClockReadsLikeParseTime(t *testing.T) {
	var c clock
	for _, before := range []string{"2026-10-14T02:30:00.123456Z", "1969-12-31T23:59:59.999999Z", "0000-03-01T00:00:00.000000Z"} {
		for _, text := range []string{
			before, "2026-10-14T23:59:59.999999Z", "2026-10-15T00:00:00.000000Z", "2026-10-14T24:00:00.000000Z", "2026-10-14T02:60:00.000000Z",
			"2026-10-14T02:30:60.000000Z", "2026-10-14T02:30:00.12345xZ", "2026-10-14T02:30:00,123456Z", "2026-10-14T02:30:00.1234567", "2026-10-14", "",
		} {
			c.parse([]byte(before))
			got, ok := c.parse([]byte(text))
			want, wantOK := parseTime([]byte(text))
			if got != want || ok != wantOK {
				t.Errorf("%q after %q: %d, %v; want %d, %v", text, before, got, ok, want, wantOK)
			}
		}
	}
}

func TestIndexSpace(t *testing.T) {
	for length := range 40 {
		for at := range length + 1 {
			text := []byte(strings.Repeat("\x21\xa0\x1f\x00", 10))[:length]
			if at < length {
				text[at] = ' '
			}
			if got := indexSpace(text); got != at {
				t.Errorf("%q: %d, want %d", text, got, at)
			}
		}
	}
}
