package views

import (
	"strings"
	"time"

	"gapless/analysis"
)

// ComparePage sets two deploys side by side.
type ComparePage struct {
	Shell    Shell
	A, B     CompareSide
	Aligned  string // at what
	Warning  string // where the two should hardly be compared
	Strips   CompareStrips
	Totals   Table
	Phases   Table
	Targets  Table
	SwapURL  string
	Earlier  string // address of the comparison of a with the one before it
	Findings Table
}

// CompareSide is one of the two deploys.
type CompareSide struct {
	Name, URL, Service  string
	Tone, Icon, Verdict string
	Sentence, State     string
	Started             Stamp
	Version             string
	ReportURL           string
}

// CompareStrips draws the phases of both on one scale, the moments of alignment at
// the same place.
type CompareStrips struct {
	A, B   []Bar
	Zero   string // x of the alignment
	Ticks  []Tick
	Label  string
	Height int
}

// NewComparePage makes the page from two reports and their comparison, whose figures
// are the judge's own. The report's sentences are filled in where they are missing.
func NewComparePage(a, b analysis.Report, zone *time.Location) ComparePage {
	FillSentences(&a)
	FillSentences(&b)
	c := analysis.Compare(&a, &b)
	page := ComparePage{A: compareSide(&a, zone), B: compareSide(&b, zone), SwapURL: CompareURL(b.Deploy.ID, a.Deploy.ID), Earlier: CompareURL("", a.Deploy.ID)}
	switch c.AlignedBy {
	case analysis.StepDrainMarked:
		page.Aligned = "aligned at the first drain mark of each"
	case analysis.StepTargetDeregistered:
		page.Aligned = "aligned at the first deregistration of each"
	case analysis.StepRestartBegan:
		page.Aligned = "aligned at the first stop of each: not both have a drain mark"
	case analysis.StepProcessKilled:
		page.Aligned = "aligned at the first kill of each: not both have a drain mark"
	default:
		page.Aligned = "aligned at their starts: not both have a drain mark or a stop"
	}
	switch {
	case a.Deploy.ID == b.Deploy.ID:
		page.Warning = "Both sides are the same deploy."
	case a.Deploy.Service != b.Deploy.Service:
		page.Warning = "The two are deploys of different services; targets and phases pair by name only."
	case a.Deploy.Kind != b.Deploy.Kind:
		page.Warning = "One is a " + word(kindWords, a.Deploy.Kind) + ", the other a " + word(kindWords, b.Deploy.Kind) + "."
	}
	page.Strips = compareStrips(&a, &b, &c)
	page.Totals, page.Phases = compareTotals(&c), comparePhases(&c)
	page.Targets, page.Findings = compareTargets(&c), compareFindings(&a, &b)
	return page
}

func compareSide(r *analysis.Report, zone *time.Location) CompareSide {
	side := CompareSide{Name: r.Deploy.ID, URL: DeployURL(r.Deploy.ID), Service: r.Deploy.Service, Verdict: word(verdictWords, r.Verdict.State),
		Sentence: tied(r.Verdict.Sentence), Started: dateClock(r.Deploy.StartedAt.Time, zone), ReportURL: "/api/v1" + DeployURL(r.Deploy.ID) + "/report"}
	side.Tone, side.Icon = tone(r.Verdict.State)
	if r.Window.State != analysis.WindowSealed {
		side.State = word(windowWords, r.Window.State)
	}
	before, after := shortVersion(value(r.Deploy.VersionBefore)), shortVersion(value(r.Deploy.VersionAfter))
	if before != "" || after != "" {
		side.Version = strings.TrimSpace(before + " → " + after)
	}
	return side
}

// compareStrips puts both windows on a scale from the earlier beginning to the later
// end, both measured from the alignment.
func compareStrips(a, b *analysis.Report, c *analysis.Comparison) CompareStrips {
	first := min(a.Window.From.Sub(c.ZeroA), b.Window.From.Sub(c.ZeroB))
	last := max(a.Window.To.Sub(c.ZeroA), b.Window.To.Sub(c.ZeroB))
	if last <= first {
		return CompareStrips{}
	}
	strips := CompareStrips{Height: 96, Label: "Phases of both deploys on one scale"}
	bars := func(r *analysis.Report, zero time.Time) []Bar {
		s := newScale(zero.Add(first), zero.Add(last), time.UTC)
		var bars []Bar
		for i := range r.Phases {
			p := &r.Phases[i]
			bar := s.bar(p.From.Time, p.To.Time, "ph "+phaseClass(p.Kind), p.Name+", "+sinceZero(p.From.Sub(zero).Seconds())+", "+seconds(p.From.Time, p.To.Time))
			if fits(p.Name, bar.W) {
				bar.Label = p.Name
			}
			bars = append(bars, bar)
		}
		return bars
	}
	strips.A, strips.B = bars(a, c.ZeroA), bars(b, c.ZeroB)
	s := newScale(c.ZeroA.Add(first), c.ZeroA.Add(last), time.UTC)
	strips.Zero = coordinate(s.x(c.ZeroA))
	step := roundStep(last - first)
	for at := (first / step) * step; at <= last; at += step {
		if at >= first {
			strips.Ticks = append(strips.Ticks, Tick{X: coordinate(s.x(c.ZeroA.Add(at))), Label: sinceZero(at.Seconds()), Title: "from the alignment"})
		}
	}
	return strips
}

// sinceZero prints a moment by its distance from the alignment.
func sinceZero(v float64) string {
	if v == 0 {
		return "0"
	}
	return signedSeconds(v)
}

// countsOf prints "3 of 290"; marked when there are some.
func countsOf(failures, requests *int) Cell {
	if failures == nil || requests == nil {
		return unmeasured()
	}
	cell := lostCell(*failures)
	cell.Text += " of " + Count(*requests)
	return cell
}

// moreOrLess prints a difference of counts: more failures stand out, as fewer do not.
func moreOrLess(n *int) Cell {
	switch {
	case n == nil:
		return Cell{Text: Missing, Class: "n z", Title: "not measured on both sides"}
	case *n == 0:
		return Cell{Text: "0", Class: "n z"}
	case *n > 0:
		return Cell{Text: "+" + Count(*n), Class: "n bad"}
	}
	return right(Count(*n))
}

// pairCells prints a figure of both sides and its difference.
func pairCells(p analysis.Pair, unit string) []Cell {
	side := func(b *analysis.Bounded) Cell {
		if b == nil {
			return unmeasured()
		}
		cell := bounded(b)
		cell.Text = strings.TrimSuffix(cell.Text, " s") + unit
		return cell
	}
	difference := Cell{Text: Missing, Class: "n z"}
	if d := p.Difference; d != nil {
		difference = bounded(d)
		difference.Text = strings.TrimSuffix(difference.Text, " s") + unit
		if text := number(d.Value); d.Value > 0 && text != "0" {
			difference.Text = strings.Replace(difference.Text, text, "+"+text, 1)
		}
	} else if p.A != nil && p.B != nil {
		difference.Title = "both are bounds on the same side: the difference may be either way"
	}
	return []Cell{side(p.A), side(p.B), difference}
}

var abColumns = []Cell{right("first"), right("second"), right("change")}

func grouped(cells []Cell) []Cell {
	first := cells[0]
	first.Class += " grp"
	return append([]Cell{first}, cells[1:]...)
}

func compareTotals(c *analysis.Comparison) Table {
	table := Table{Caption: "All requests of both windows", Groups: []Cell{{Span: 1}, {Text: "failed", Span: 3, Class: "grp"}, {Text: "p99 ms", Span: 3, Class: "grp"}},
		Columns: append(append([]Cell{left("whose")}, grouped(abColumns)...), grouped(abColumns)...)}
	for _, class := range analysis.Classes {
		p := c.Totals[class]
		if p.RequestsA == nil && p.RequestsB == nil || class == analysis.ClassTool && value0(p.RequestsA)+value0(p.RequestsB) == 0 {
			continue
		}
		cells := []Cell{left(classLane(class))}
		cells = append(cells, grouped([]Cell{countsOf(p.FailuresA, p.RequestsA), countsOf(p.FailuresB, p.RequestsB), moreOrLess(p.Failures)})...)
		table.Rows = append(table.Rows, Row{Cells: append(cells, grouped(pairCells(p.P99, ""))...)})
	}
	table.Empty = "Nothing was measured on either side."
	return table
}

func value0(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

func comparePhases(c *analysis.Comparison) Table {
	table := Table{Caption: "Phases of both deploys", Empty: "Neither has a phase.",
		Groups: []Cell{{Span: 1}, {Text: "begins", Span: 2, Class: "grp"}, {Text: "length", Span: 3, Class: "grp"}, {Text: "users failed", Span: 3, Class: "grp"}, {Text: "probes failed", Span: 3, Class: "grp"}}}
	table.Columns = append([]Cell{left("phase")}, grouped(abColumns[:2])...)
	for range 3 {
		table.Columns = append(table.Columns, grouped(abColumns)...)
	}
	begins := func(v *float64) Cell {
		if v == nil {
			return Cell{Text: Missing, Class: "n z", Title: "has no such phase"}
		}
		return right(sinceZero(*v))
	}
	for i := range c.Phases {
		p := &c.Phases[i]
		cells := append([]Cell{left(p.Name)}, grouped([]Cell{begins(p.StartA), begins(p.StartB)})...)
		cells = append(cells, grouped(pairCells(p.Length, " s"))...)
		for _, class := range []analysis.Class{analysis.ClassUser, analysis.ClassProbe} {
			t := p.Traffic[class]
			cells = append(cells, grouped([]Cell{countsOf(t.FailuresA, t.RequestsA), countsOf(t.FailuresB, t.RequestsB), moreOrLess(t.Failures)})...)
		}
		table.Rows = append(table.Rows, Row{Cells: cells})
	}
	return table
}

var measureWords = map[string]string{
	"eject_s": "drain mark → last served", "last_served_to_restart_s": "last served → stop", "kill_to_restart_s": "kill → restart",
	"boot_s": "stop → ready", "restart_to_first_request_s": "stop → first request", "ready_to_first_request_s": "ready → first request",
	"reported_to_first_served_s": "reported → first served", "return_to_next_drain_s": "return → next drain",
	"state_lag_down_s": "state lag, down", "state_lag_up_s": "state lag, up",
}

func compareTargets(c *analysis.Comparison) Table {
	table := Table{Caption: "The ways of the targets in both deploys", Columns: append([]Cell{left("target"), left("figure")}, abColumns...), Empty: "No figure of a target is known on either side.",
		Note: "≥ and ≤ are bounds, … an interval; a difference has a bound of its own, and none where both are bounds on the same side."}
	for i := range c.Targets {
		t := &c.Targets[i]
		for j, m := range t.Measures {
			name := Cell{Class: "l"}
			if j == 0 {
				name = Cell{Text: t.Target, Class: "l strong", Title: t.TargetGroup}
			}
			row := []Cell{name, left(word(measureWords, m.Name))}
			if m.IntervalA != nil || m.IntervalB != nil {
				difference := between(m.IntervalDifference)
				if m.IntervalDifference == nil {
					difference.Title = ""
				}
				row = append(row, between(m.IntervalA), between(m.IntervalB), difference)
			} else {
				row = append(row, pairCells(m.Value, " s")...)
			}
			table.Rows = append(table.Rows, Row{Cells: row})
		}
	}
	bound(&table, 200, "figures in the JSON reports")
	return table
}

// compareFindings sets the rules that fired on either side beside each other.
func compareFindings(a, b *analysis.Report) Table {
	table := Table{Caption: "Findings of both deploys", Columns: []Cell{left("finding"), right("first"), right("second")}, Empty: "No rule fired on either side."}
	count := func(r *analysis.Report) (map[string]int, map[string]string) {
		counts, states := map[string]int{}, map[string]string{}
		for i := range r.Findings {
			counts[r.Findings[i].Code]++
		}
		for _, rule := range r.Rules {
			states[rule.Code] = rule.State
		}
		return counts, states
	}
	countsA, statesA := count(a)
	countsB, statesB := count(b)
	cell := func(n int, state string) Cell {
		switch {
		case n > 0:
			return right(Count(n) + " ×")
		case state == analysis.RuleNotEvaluable:
			return Cell{Text: Missing, Class: "n z", Title: "could not be evaluated"}
		}
		return Cell{Text: "clear", Class: "n z"}
	}
	seen := map[string]bool{}
	for _, r := range []*analysis.Report{a, b} {
		for i := range r.Findings {
			code := r.Findings[i].Code
			if !seen[code] {
				seen[code] = true
				table.Rows = append(table.Rows, Row{Cells: []Cell{{Text: code, Class: "l", Code: true}, cell(countsA[code], statesA[code]), cell(countsB[code], statesB[code])}})
			}
		}
	}
	return table
}
