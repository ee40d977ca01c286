package views

import (
	"strings"
	"time"

	"gapless/analysis"
)

// EvidenceRow says what one source brought. Its bar shows where it saw, 0 to 100 across the window.
type EvidenceRow struct {
	Name  string
	Class string // ok or warn
	Icon  string
	Text  string
	Seen  []Bar // nil: no bar
	Blind []Bar
}

func evidence(r *analysis.Report) []EvidenceRow {
	var rows []EvidenceRow
	for i := range r.Coverage {
		rows = append(rows, evidenceRow(r, &r.Coverage[i]))
	}
	for _, a := range r.Attribution {
		answered, lacking := 0, 0
		if a.SuccessWithoutRecord != nil && a.FailedWithoutRecord != nil {
			answered, lacking = *a.SuccessWithoutRecord, *a.SuccessWithoutRecord+*a.FailedWithoutRecord
		}
		row := EvidenceRow{Name: "ids of " + a.Probe, Class: "ok", Icon: "✓", Text: Count(a.Attributed) + " of " + Count(a.Sent) + " attributed"}
		if answered > 0 || a.Duplicates > 0 {
			row.Class, row.Icon = "warn", "!"
		}
		if lacking > 0 {
			row.Text += ", " + Count(lacking) + " unrecorded"
		}
		rows = append(rows, row)
	}
	if len(r.Clocks) > 0 {
		low, high := r.Clocks[0].Offset.From, r.Clocks[0].Offset.To
		row := EvidenceRow{Name: "clocks", Class: "ok", Icon: "✓"}
		for _, offset := range r.Clocks {
			low, high = min(low, offset.Offset.From), max(high, offset.Offset.To)
			if offset.Offset.To < offset.Offset.From {
				row.Class, row.Icon = "warn", "!"
			}
		}
		sign := ""
		if high > 0 {
			sign = "+"
		}
		row.Text = number(low) + " … " + sign + number(high) + " ms apart"
		rows = append(rows, row)
	}
	return rows
}

func evidenceRow(r *analysis.Report, c *analysis.Coverage) EvidenceRow {
	row := EvidenceRow{Name: c.Source, Class: "ok", Icon: "✓"}
	whole := c.To.Sub(c.From.Time).Seconds()
	at := func(t time.Time) float64 {
		if whole <= 0 {
			return 0
		}
		return min(max(t.Sub(c.From.Time).Seconds()/whole*100, 0), 100)
	}
	row.Seen = []Bar{{X: "0", W: "100", Class: "seen"}}
	if c.Seen <= 0 {
		row.Seen = []Bar{}
	}
	for _, hole := range c.Blind {
		x := at(hole.From.Time)
		row.Blind = append(row.Blind, Bar{X: coordinate(x), W: coordinate(max(at(hole.To.Time)-x, .8)), Class: "hole"})
	}
	var parts []string
	if known, found, ok := knownOf(r, c.Source); ok {
		parts = append(parts, Count(found)+" of "+Count(known)+" probe and health requests of ours found")
		if found < known {
			row.Class, row.Icon = "warn", "!"
		}
	}
	if blind := blindSeconds(c.Blind, c.From.Time, c.To.Time); blind > 0 {
		parts = append(parts, "blind "+Seconds(blind))
		row.Class, row.Icon = "warn", "!"
	}
	if c.Malformed != nil && *c.Malformed > 0 {
		parts = append(parts, plural(*c.Malformed, "line", "lines")+" not understood")
	}
	if c.PartialObjects != nil && *c.PartialObjects > 0 {
		parts = append(parts, plural(*c.PartialObjects, "object", "objects")+" cut short")
		row.Class, row.Icon = "warn", "!"
	}
	if c.HorizonPassed != nil && !*c.HorizonPassed {
		parts = append(parts, "late lines awaited")
		row.Class, row.Icon = "warn", "…"
	}
	if len(parts) == 0 {
		parts = []string{"whole window seen"}
		if r.Window.PartOf != nil {
			parts = []string{"whole part seen"}
		}
	}
	row.Text = strings.Join(parts, ", ")
	return row
}

// knownOf sums a source's completeness over nodes; only rows over all phases, where
// there are such, so that nothing is counted twice. What the load balancer counted
// by itself is another count, of all requests.
func knownOf(r *analysis.Report, source string) (known, found int, ok bool) {
	whole := false
	for _, row := range r.Completeness {
		whole = whole || row.Source == source && row.Phase == ""
	}
	for _, row := range r.Completeness {
		if row.Source == source && row.Phase != analysis.WholeMinutes && (!whole || row.Phase == "") {
			known, found, ok = known+row.Known, found+row.Found, true
		}
	}
	return known, found, ok
}
