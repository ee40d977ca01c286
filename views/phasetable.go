package views

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gapless/analysis"
)

func phaseTable(r *analysis.Report, zone *time.Location) Table {
	classes := pageClasses(r)
	names := targetNames(r)
	table := Table{Caption: "Requests and failures by phase", Groups: []Cell{{Span: 3}}, Columns: []Cell{left("phase"), left("from"), right("length")}}
	for _, class := range classes {
		table.Groups = append(table.Groups, Cell{Text: classLane(class), Span: 4, Class: "grp"})
		by := "by target"
		if len(names) > 0 && len(names) <= 4 {
			by = strings.Join(names, " · ")
		}
		table.Columns = append(table.Columns, Cell{Text: "requests", Class: "n grp"}, right("failed"), Cell{Text: "p50 / p99 / max ms", Class: "n", Title: "of requests that ended well"}, Cell{Text: by, Class: "n", Title: "served by"})
	}
	var from, to time.Time
	for i := range r.Phases {
		phase := &r.Phases[i]
		name := left(phase.Name)
		if phase.Inferred {
			name.Text, name.Title = phase.Name+" *", "inferred, not reported"
			table.Note = "* inferred from logs or traffic, not reported by a step"
		}
		row := Row{Cells: []Cell{name, at(clock(phase.From.Time, zone)), right(seconds(phase.From.Time, phase.To.Time))}}
		for _, class := range classes {
			row.Cells = append(row.Cells, countCells(phase.Traffic[class], names)...)
		}
		table.Rows = append(table.Rows, row)
		if i == 0 {
			from = phase.From.Time
		}
		to = phase.To.Time
	}
	if len(r.Phases) > 0 {
		foot := Row{Cells: []Cell{left("all"), at(clock(from, zone)), right(seconds(from, to))}}
		for _, class := range classes {
			var all *analysis.Counts
			if t := r.Totals[class]; t != nil {
				all = &analysis.Counts{Requests: t.Requests, Failures: t.Failures, P50: t.P50, P99: t.P99, Max: t.Max, ByTarget: t.ByTarget}
			}
			foot.Cells = append(foot.Cells, countCells(all, names)...)
		}
		table.Foot = &foot
	}
	table.Empty = "No phase is known yet."
	if users := r.Totals[analysis.ClassUser]; len(r.Phases) > 1 && users != nil && users.Requests > users.Failures {
		table.Note = joined(table.Note, "User requests that succeeded are known to their second only, so for them the edge between two phases is one second wide.")
	}
	return table
}

// joined are two notes one after the other.
func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + ". " + b
}

func targetNames(r *analysis.Report) []string {
	var names []string
	for i := range r.Targets {
		if name := r.Targets[i].Target; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func countCells(c *analysis.Counts, names []string) []Cell {
	if c == nil {
		first := unmeasured()
		first.Class += " grp"
		return []Cell{first, unmeasured(), unmeasured(), unmeasured()}
	}
	latency := Cell{Text: Missing, Class: "n z"}
	if c.P50 != nil || c.P99 != nil || c.Max != nil {
		latency = right(millis(c.P50) + " / " + millis(c.P99) + " / " + millis(c.Max))
	}
	return []Cell{{Text: Count(c.Requests), Class: "n grp"}, lostCell(c.Failures), latency, byTarget(c.ByTarget, names)}
}

// byTarget lists counts in the order of the names; with more than four targets, the
// largest come first, named, and the rest is summed.
func byTarget(counts map[string]int, names []string) Cell {
	if len(counts) == 0 {
		return Cell{Text: Missing, Class: "n z"}
	}
	if len(names) <= 4 {
		var parts []string
		for _, name := range names {
			parts = append(parts, Count(counts[name]))
		}
		rest := 0
		for name, n := range counts {
			if !slices.Contains(names, name) {
				rest += n
			}
		}
		if rest > 0 || len(parts) == 0 {
			parts = append(parts, "others "+Count(rest))
		}
		return Cell{Text: strings.Join(parts, " · "), Class: "n"}
	}
	var all []string
	for name := range counts {
		all = append(all, name)
	}
	slices.SortFunc(all, func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(a, b)
	})
	var parts []string
	rest := 0
	for i, name := range all {
		if i < 3 {
			parts = append(parts, name+" "+Count(counts[name]))
		} else {
			rest += counts[name]
		}
	}
	if rest > 0 {
		parts = append(parts, fmt.Sprintf("%d others %s", len(all)-3, Count(rest)))
	}
	return Cell{Text: strings.Join(parts, " · "), Class: "n"}
}
