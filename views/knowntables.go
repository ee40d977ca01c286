package views

import (
	"slices"
	"strings"
	"time"

	"gapless/analysis"
)

func attributionTable(r *analysis.Report) Table {
	table := Table{Caption: "Probe requests matched with the targets that served them",
		Columns: []Cell{left("probe"), right("sent"), right("attributed"), right("by target"), {Text: "twice", Class: "n", Title: "recorded by more than one target"},
			{Text: "ok, no record", Class: "n", Title: "answered well, but in no application log"},
			{Text: "begun, unanswered", Class: "n", Title: "received by a target and never answered"},
			{Text: "failed, no record", Class: "n", Title: "failed before any application saw it"}},
		Empty: "No probe request was matched with an application log."}
	names := targetNames(r)
	doubtful := slices.ContainsFunc(r.Attribution, func(a analysis.Attribution) bool { return a.Ambiguous > 0 })
	if doubtful {
		table.Columns = append(table.Columns, Cell{Text: "ambiguous", Class: "n", Title: "a record has its number, and the clocks contradict it"})
	}
	for _, a := range r.Attribution {
		counted := func(n *int) Cell {
			if n == nil {
				return unmeasured()
			}
			return lostCell(*n)
		}
		table.Rows = append(table.Rows, Row{Cells: []Cell{left(a.Probe), right(Count(a.Sent)), right(Count(a.Attributed)), byTarget(a.ByTarget, names),
			lostCell(a.Duplicates), counted(a.SuccessWithoutRecord), counted(a.ReceivedWithoutResponse), counted(a.FailedWithoutRecord)}})
		if doubtful {
			row := &table.Rows[len(table.Rows)-1]
			row.Cells = append(row.Cells, lostCell(a.Ambiguous))
		}
	}
	return table
}

// detectionTable prints, per phase and target, the chance that a failure window of
// each length would have been missed, and the longest that could well have been.
func detectionTable(r *analysis.Report) Table {
	table := Table{Caption: "Chance that a failure window would have been missed",
		Columns: []Cell{left("probe"), left("phase"), left("target"), right("requests"), {Text: "gap p50 / p99 / max ms", Class: "n"}},
		Empty:   "No probe ran, so no chance can be given."}
	windows := missWindows(r)
	for _, window := range windows {
		table.Columns = append(table.Columns, Cell{Text: "miss " + Seconds(window/1000), Class: "n", Title: "chance that an outage of this length would have been missed"})
	}
	table.Columns = append(table.Columns, Cell{Text: "missed at 5 %", Class: "n", Title: "the longest outage that would have been missed with a chance of 5 % or more"},
		Cell{Text: "failure rate", Class: "n", Title: "upper bound at 95 % confidence, where no failure was seen"})
	for _, d := range r.Detection {
		row := Row{Cells: []Cell{left(d.Scope), left(orAll(d.Phase)), left(orAll(d.Target)), sentCell(d),
			right(millis(d.GapMedian) + " / " + millis(d.GapP99) + " / " + millis(d.GapMax))}}
		for _, window := range windows {
			cell := unmeasured()
			for _, miss := range d.Miss {
				if miss.WindowMS == window {
					cell = right(percent(miss.Probability))
					if miss.WithoutStalls != nil {
						cell.Title = percent(*miss.WithoutStalls) + " without the time in which a stuck request held the others back"
					}
				}
			}
			row.Cells = append(row.Cells, cell)
		}
		longest := unmeasured()
		longest.Title = "not in rotation"
		if d.LongestMissed != nil {
			longest = right(Seconds(*d.LongestMissed / 1000))
			if d.LongestMissedWithoutStalls != nil {
				longest.Title = Seconds(*d.LongestMissedWithoutStalls/1000) + " without the time in which a stuck request held the others back"
			}
		}
		row.Cells = append(row.Cells, longest)
		rate := unmeasured()
		rate.Title = ""
		if d.FailureRateBelow != nil {
			rate = right("< " + strings.TrimPrefix(percent(*d.FailureRateBelow), "< "))
		}
		table.Rows = append(table.Rows, Row{Cells: append(row.Cells, rate)})
	}
	bound(&table, 40, "rows in the JSON report")
	return table
}

// missWindows are the lengths of outages for which a report has chances, six at most.
func missWindows(r *analysis.Report) []float64 {
	var windows []float64
	for _, d := range r.Detection {
		for _, miss := range d.Miss {
			if !slices.Contains(windows, miss.WindowMS) {
				windows = append(windows, miss.WindowMS)
			}
		}
	}
	slices.Sort(windows)
	return windows[:min(len(windows), 6)]
}

// sentCell counts the requests that reached a target, or those that were sent while it
// was in rotation, with the share that went to it.
func sentCell(d analysis.Detection) Cell {
	cell := right(Count(d.Requests))
	if d.Share != nil && d.Target != "" {
		cell.Text += " × " + percent(*d.Share)
		cell.Title = "sent while it was in rotation, and its share of them: nothing tells which of them reached it"
	}
	return cell
}

func orAll(name string) string {
	if name == "" {
		return "all"
	}
	return name
}

func completenessTable(r *analysis.Report) Table {
	table := Table{Caption: "Probe and health requests of ours known to be in a log, and found there",
		Columns: []Cell{left("log"), left("node"), left("phase"), right("known"), right("found"), right("share"), left("matched")},
		Empty:   "No request of ours could be looked for in a log."}
	for _, c := range r.Completeness {
		share := unmeasured()
		share.Title = "no probe touched it: unknown, not complete"
		if c.Share != nil {
			share = right(percent(*c.Share))
			if *c.Share < 1 {
				share.Class = "n bad"
			}
		}
		table.Rows = append(table.Rows, Row{Cells: []Cell{left(c.Source), left(orAll(c.Node)), left(orAll(c.Phase)), right(Count(c.Known)), right(Count(c.Found)), share, left(spoken(c.Matched))}})
	}
	bound(&table, 40, "rows in the JSON report")
	return table
}

func coverageTable(r *analysis.Report, zone *time.Location) Table {
	table := Table{Caption: "What every source saw of the window",
		Columns: []Cell{left("source"), right("seen"), right("lines"), right("not understood"), right("cut short"), left("late lines"), left("holes")},
		Empty:   "No source brought evidence."}
	for _, c := range r.Coverage {
		horizon := Cell{Text: Missing, Class: "l z"}
		if c.HorizonPassed != nil {
			horizon = left("awaited")
			if *c.HorizonPassed {
				horizon = left("all in")
			} else if len(c.Awaited) > 0 {
				horizon = Cell{Class: "l w", Spans: awaitedSpans(c.Awaited, zone)}
			}
		}
		row := Row{Cells: []Cell{left(c.Source), right(Seconds(c.Seen)), optional(c.Lines), optional(c.Malformed), optional(c.PartialObjects), horizon}}
		holes := left("none")
		if len(c.Blind) > 0 {
			holes = Cell{Class: "l w", Spans: holeSpans(c.Blind, zone)}
		}
		table.Rows = append(table.Rows, Row{Cells: append(row.Cells, holes)})
	}
	return table
}

// awaitedSpans lists the first few nodes whose objects are still expected, and of when.
func awaitedSpans(awaited []analysis.Awaited, zone *time.Location) []SpanText {
	var spans []SpanText
	for i, a := range awaited {
		if i == 5 {
			return append(spans, SpanText{Text: "and " + Count(len(awaited)-5) + " more"})
		}
		text := "awaited"
		if a.Node != "" {
			text += " of " + a.Node
		}
		spans = append(spans, SpanText{From: clock(a.From.Time, zone), To: clock(a.To.Time, zone), Text: text})
	}
	return spans
}

// holeSpans lists the first few holes of a source.
func holeSpans(blind []analysis.Blind, zone *time.Location) []SpanText {
	var spans []SpanText
	for i, hole := range blind {
		if i == 5 {
			return append(spans, SpanText{Text: "and " + Count(len(blind)-5) + " more"})
		}
		text := seconds(hole.From.Time, hole.To.Time) + ", " + word(blindWords, hole.Reason)
		if hole.Detail != "" {
			text += ": " + Short(hole.Detail, 160)
		}
		spans = append(spans, SpanText{From: clock(hole.From.Time, zone), To: clock(hole.To.Time, zone), Text: text})
	}
	return spans
}
