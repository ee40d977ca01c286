package views

import (
	"slices"
	"strings"
	"time"

	"gapless/analysis"
)

// pageClasses are the classes that have columns of their own, as far as they were measured.
func pageClasses(r *analysis.Report) []analysis.Class {
	classes := []analysis.Class{analysis.ClassUser, analysis.ClassProbe}
	for _, class := range []analysis.Class{analysis.ClassTool} {
		if r.Totals[class] != nil && r.Totals[class].Requests > 0 {
			classes = append(classes, class)
		}
	}
	return classes
}

func windowTable(r *analysis.Report, zone *time.Location) Table {
	table := Table{Caption: "Failure windows of targets",
		Columns: []Cell{left("target"), left("whose"), left("from"), right("length"), right("requests"), right("failed"), right("served by others"),
			{Text: "by itself", Class: "n", Title: "requests that this very target served inside the window"},
			{Text: "longest run", Class: "n", Title: "most failures in a row, by the order in which the requests were sent; only where every request is kept one by one"}, left("statuses")},
		Empty: "No target had a failure window."}
	for i := range r.Targets {
		for _, w := range r.Targets[i].FailureWindows {
			length := Cell{Text: "≥ " + Seconds(w.Seconds), Class: "n nw", Title: "first to last failure; no success is known to bound it from above"}
			if w.Upper != nil {
				length.Text = number(w.Seconds) + " … " + Seconds(*w.Upper)
				length.Title = "from first to last failure, and from the last success before to the first success after"
			}
			others, own := right(Count(w.ServedByOthers)), right(Count(w.Boundary))
			if w.Unattributed > 0 {
				others.Text, own.Text = "≥ "+others.Text, "≥ "+own.Text
				others.Title = "of " + plural(w.Unattributed, "answered request", "answered requests") + " no record says by which target"
				own.Title = others.Title
			}
			table.Rows = append(table.Rows, Row{Cells: []Cell{left(r.Targets[i].Target), left(classLane(w.Traffic)), at(clockMilli(w.From.Time, zone)), length,
				right(Count(w.Requests)), lostCell(w.Failed), others, own, optional(w.LongestRun), left(statuses(w.Statuses))}})
		}
	}
	bound(&table, 40, "failure windows")
	return table
}

// statuses is "502 × 12, none × 1".
func statuses(counts map[string]int) string {
	var names []string
	for status := range counts {
		names = append(names, status)
	}
	slices.Sort(names)
	for i, status := range names {
		names[i] = status + " × " + Count(counts[status])
	}
	return strings.Join(names, ", ")
}

// bound cuts a table and says how many rows are left out.
func bound(t *Table, limit int, what string) {
	if len(t.Rows) > limit {
		t.More = "and " + Count(len(t.Rows)-limit) + " more " + what
		t.Rows = t.Rows[:limit]
	}
}

func causesOf(r *analysis.Report) string {
	var parts []string
	for _, class := range analysis.Classes {
		total := r.Totals[class]
		if total == nil || total.Failures == 0 {
			continue
		}
		var causes []string
		for _, cause := range causeOrder {
			if n := total.Causes[cause]; n > 0 {
				causes = append(causes, Count(n)+" "+causeWords[cause])
			}
		}
		text := classLane(class) + " " + Count(total.Failures)
		if len(causes) > 0 {
			text += " (" + strings.Join(causes, ", ") + ")"
		}
		parts = append(parts, text)
	}
	if health := r.Totals[analysis.ClassHealth]; health != nil && health.Outcomes[analysis.OutcomeDrain503] > 0 {
		parts = append(parts, "health "+Count(health.Outcomes[analysis.OutcomeDrain503])+" on purpose")
	}
	return strings.Join(parts, " · ")
}

func optional(n *int) Cell {
	if n == nil {
		return unmeasured()
	}
	return right(Count(*n))
}

// Short shortens a text to at most limit characters.
func Short(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	return string(runes[:limit-1]) + "…"
}

func claimTable(r *analysis.Report, zone *time.Location) Table {
	table := Table{Caption: "Claims and what became of them", Columns: []Cell{left("claim"), left("state"), left("why"), left("needs")}, Empty: "No claim was judged."}
	for _, claim := range r.Claims {
		toneClass, icon := tone(claim.State)
		var needs []string
		for _, required := range claim.Required {
			text := required.Source
			if !required.Complete {
				text += " (" + word(requiredWords, required.Why) + ")"
			}
			needs = append(needs, text)
		}
		why := Missing
		if claim.Reason != "" {
			why = ReasonWords(r, claim.Reason)
		}
		table.Rows = append(table.Rows, Row{Cells: []Cell{claimCell(claim, zone), {Text: icon + " " + strings.ToLower(word(verdictWords, claim.State)), Class: "l nw t-" + toneClass}, wide(why), left(strings.Join(needs, ", "))}})
	}
	return table
}

func claimCell(claim analysis.Claim, zone *time.Location) Cell {
	cell := wide(claim.Text)
	if claim.Typed != nil {
		cell.Under = typedNote(claim, zone)
	}
	return cell
}

func stepTable(r *analysis.Report, zone *time.Location) Table {
	table := Table{Caption: "Steps of the deploy", Columns: []Cell{left("time"), left("step"), left("target"), left("source"), left("")}, Empty: "No step was reported or inferred."}
	for _, step := range r.Steps {
		var notes []string
		if step.Inferred {
			notes = append(notes, "inferred")
		}
		if step.Ignored {
			notes = append(notes, "ignored: contradicts the order")
		}
		table.Rows = append(table.Rows, Row{Cells: []Cell{at(clockMilli(step.At.Time, zone)), left(word(stepWords, step.Kind)), left(value(step.Target)), left(step.Source), {Text: strings.Join(notes, ", "), Class: "l z"}}})
	}
	bound(&table, 200, "steps in the JSON report")
	return table
}

func baselineTable(r *analysis.Report) Table {
	table := Table{Caption: "Failures compared with the baseline", Columns: []Cell{left("kind"), right("baseline"), right("window"), right("p"), left("more than before")}}
	for _, b := range r.Baseline {
		more := "no"
		if b.Significant {
			more = "yes"
		}
		table.Rows = append(table.Rows, Row{Cells: []Cell{left(b.Kind), right(Count(b.BaselineFailures) + " of " + Count(b.BaselineRequests)), right(Count(b.WindowFailures) + " of " + Count(b.WindowRequests)), right(number(b.P)), left(more)}})
	}
	bound(&table, 40, "kinds in the JSON report")
	return table
}

func controlTable(r *analysis.Report) Table {
	table := Table{Caption: "Log rules and the lines they matched", Columns: []Cell{left("rule"), left("log"), right("lines"), right("matched")}}
	for _, c := range r.Controls {
		table.Rows = append(table.Rows, Row{Cells: []Cell{left(c.Rule), left(c.Source), right(Count(c.Lines)), right(Count(c.Matched))}})
	}
	bound(&table, 40, "rules in the JSON report")
	return table
}

// classCounts is "2 user requests, 1 probe request".
func classCounts(of map[analysis.Class]int) string {
	parts := []string{}
	for _, class := range analysis.Classes {
		if n := of[class]; n > 0 {
			parts = append(parts, requests(n, class))
		}
	}
	return strings.Join(parts, ", ")
}
