package views

import (
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gapless/analysis"
)

// SourceCounts say what became of all lines of a source.
type SourceCounts struct {
	Objects, Lines, Understood, SetAside, Unmatched, Kept int64
}

// SourceObject is one log object as it was read.
type SourceObject struct {
	analysis.Object
	StoredAt time.Time
	Kept     int // lines set aside whose text is stored
}

// SourcePage lists the objects of a source, or its lines that were not understood.
type SourcePage struct {
	Shell           Shell
	Service, Source string
	Heading         string
	Account         string // what became of all lines, in numbers that add up
	NotKept         string // empty where every line that was set aside is kept
	Table           Table
	Where           string // which rows are shown
	Previous, Next  string // addresses; empty where there are none
	ObjectsURL      string
	LinesURL        string
	ExportURL       string
}

// PageRows is how many rows a page of objects or lines has.
const PageRows = 50

// sourceURL is an address below /collectors about one source.
func sourceURL(what, service, source string, page int) string {
	q := url.Values{"service": {service}, "source": {source}}
	if page > 1 {
		q.Set("page", fmt.Sprint(page))
	}
	return "/collectors/" + what + "?" + q.Encode()
}

func sourcePage(what, service, source string, c SourceCounts, number, rows int, all int64) SourcePage {
	p := SourcePage{Service: service, Source: source,
		ObjectsURL: sourceURL("objects", service, source, 1), LinesURL: sourceURL("lines", service, source, 1), ExportURL: sourceURL("lines.ndjson", service, source, 1)}
	p.Account = Count(int(c.Lines)) + " lines = " + Count(int(c.Understood)) + " understood + " + Count(int(c.SetAside)) + " set aside, in " + plural(int(c.Objects), "object", "objects")
	if c.Unmatched > 0 {
		p.Account += "; of those understood, " + Count(int(c.Unmatched)) + " are not of this service"
	}
	if missing := c.SetAside - c.Kept; missing > 0 {
		p.NotKept = "The text of " + plural(int(missing), "line", "lines") + " is not kept: of one object, the first 20,000 are, up to 16 MB."
	}
	first := (number-1)*PageRows + 1
	if rows > 0 {
		p.Where = Count(first) + "–" + Count(first+rows-1) + " of " + Count(int(all))
	}
	if number > 1 {
		p.Previous = sourceURL(what, service, source, number-1)
	}
	if int64(number)*PageRows < all {
		p.Next = sourceURL(what, service, source, number+1)
	}
	return p
}

// NewObjectsPage lists objects of a source; number is the page's, from 1.
func NewObjectsPage(service, source string, c SourceCounts, objects []SourceObject, number int, zone *time.Location) SourcePage {
	p := sourcePage("objects", service, source, c, number, len(objects), c.Objects)
	p.Heading = "Objects of " + source
	p.Table = Table{Caption: p.Heading, Empty: "This source has read no object.", Columns: []Cell{left("period"), right("lines"), right("understood"), right("set aside"),
		{Text: "not ours", Class: "n", Title: "understood, but left out by the configured match"}, left("state"), left("read"), left("object")}}
	for i := range objects {
		o := &objects[i]
		state := left("whole")
		switch {
		case o.Error != "":
			state = Cell{Text: "not read: " + Short(o.Error, 160), Class: "l w bad", Title: Short(o.Error, 600)}
		case o.Partial:
			state = Cell{Text: "cut short", Class: "l bad"}
		}
		period := Cell{Text: Missing, Class: "l z"}
		if !o.To.IsZero() {
			from := o.From
			if from.IsZero() {
				from = o.To
			}
			node := "no node named"
			if o.Node != "" {
				node = o.Node
			}
			period = Cell{Class: "l nw", Spans: []SpanText{{From: dateClock(from, zone), To: clock(o.To, zone), Text: node}}}
		}
		p.Table.Rows = append(p.Table.Rows, Row{Cells: []Cell{period, right(Count(o.Lines)), right(Count(o.Understood)), lostCell(o.SetAside), right(Count(o.Unmatched)), state,
			at(dateClock(o.StoredAt, zone)), {Text: visible([]byte(o.Key), 400), Class: "l brk", Code: true}}})
	}
	return p
}

// NewLinesPage lists lines of a source that were not understood; number is the
// page's, from 1.
func NewLinesPage(service, source string, c SourceCounts, lines []SetAsideLine, number int) SourcePage {
	p := sourcePage("lines", service, source, c, number, len(lines), c.Kept)
	p.Heading = "Lines of " + source + " that were not understood"
	p.Table = Table{Caption: p.Heading, Empty: "Every line of this source was understood.", Columns: []Cell{right("line"), left("text"), left("why"),
		{Text: "byte", Class: "n", Title: "offset of its first byte in the unpacked object"}, left("object")}}
	for i := range lines {
		l := &lines[i]
		why := spoken(l.Reason)
		if l.Detail != "" {
			why += ": " + visible([]byte(Short(l.Detail, 160)), 200)
		}
		p.Table.Rows = append(p.Table.Rows, Row{Cells: []Cell{right(Count(l.Line)), {Text: visible([]byte(l.Raw), 2000), Class: "l brk", Code: true}, {Text: why, Class: "l w"},
			right(Count(int(l.Offset))), {Text: visible([]byte(l.Object), 400), Class: "l brk", Title: visible([]byte(l.Object), 400)}}})
	}
	return p
}

// visible is text in which nothing hides: bytes that are not UTF-8 and characters
// that print nothing, or turn the text around, stand as escapes. It shows at most
// limit characters and says how many bytes it left out.
func visible(raw []byte, limit int) string {
	var b strings.Builder
	for n := 0; len(raw) > 0; n++ {
		if n == limit {
			b.WriteString("… (" + plural(len(raw), "byte more", "bytes more") + ")")
			break
		}
		r, size := utf8.DecodeRune(raw)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, raw[0])
		case r < utf8.RuneSelf && !unicode.IsPrint(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		case !unicode.IsPrint(r):
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteRune(r)
		}
		raw = raw[size:]
	}
	return b.String()
}
