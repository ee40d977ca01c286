package views

import (
	"fmt"
	"strings"

	"gapless/analysis"
)

// negative is [bounded], but for a value below zero, which means that things came in
// the other order: that is said in words, with the length in place of %s.
func negative(b *analysis.Bounded, words string) Cell {
	cell := bounded(b)
	if b == nil || b.Value >= 0 {
		return cell
	}
	return Cell{Text: fmt.Sprintf(words, Seconds(-b.Value)), Class: "n", Title: strings.TrimSuffix(cell.Text+"; "+cell.Title, "; ")}
}

// bounded prints a value with the side on which the true one lies.
func bounded(b *analysis.Bounded) Cell {
	if b == nil {
		return unmeasured()
	}
	cell := right(Seconds(b.Value))
	switch b.Bound {
	case analysis.Lower:
		cell.Text, cell.Title = "≥ "+cell.Text, "a lower bound: it took at least this long"
	case analysis.Upper:
		cell.Text, cell.Title = "≤ "+cell.Text, "an upper bound: it took at most this long"
	}
	return cell
}

func between(i *analysis.Interval) Cell {
	if i == nil {
		return unmeasured()
	}
	text := signedSeconds(i.From)
	if i.To != i.From {
		text = strings.TrimSuffix(signedSeconds(i.From), " s") + " … " + signedSeconds(i.To)
	}
	return Cell{Text: text, Class: "n", Title: "an interval: the state was polled"}
}

// checkedCell is what the health-check log measured, with each node's own moment.
func checkedCell(c *analysis.ChecksReport, back bool) Cell {
	if c == nil {
		return unmeasured()
	}
	took, word := c.Eject, "ejected"
	if back {
		took, word = c.Return, "took in"
	}
	cell := bounded(took)
	if took == nil {
		return cell
	}
	var nodes []string
	for _, n := range c.Nodes {
		when := n.EjectedAt
		if back {
			when = n.ReturnedAt
		}
		if !when.IsZero() {
			nodes = append(nodes, n.Node+" "+word+" it at "+when.UTC().Format("15:04:05.000")+" UTC")
		}
	}
	cell.Title = list(nodes)
	return cell
}

var ejectedWords = map[string]string{"yes": "yes", "no": "no", "unknown": "not known"}

func targetTable(r *analysis.Report) Table {
	table := Table{Caption: "The way of every target through the deploy", Columns: []Cell{left("")}, Empty: "No target was seen."}
	if len(r.Targets) > 0 {
		table.Empty = "No step of " + plural(len(r.Targets), "target", "targets") + " is known."
	}
	for i := range r.Targets {
		head := right(r.Targets[i].Target)
		if len(r.Targets) > 1 && r.Targets[i].TargetGroup != r.Targets[0].TargetGroup {
			head.Text += " (" + r.Targets[i].TargetGroup + ")"
		}
		head.Title = r.Targets[i].TargetGroup
		table.Columns = append(table.Columns, head)
	}
	table.Columns = append(table.Columns, Cell{Text: "predicted", Class: "n", Title: "from the health-check settings alone"})
	add := func(label, title string, predicted Cell, cell func(*analysis.TargetReport) Cell) {
		row := Row{Cells: []Cell{{Text: label, Class: "l", Title: title}}}
		known := false
		for i := range r.Targets {
			c := cell(&r.Targets[i])
			known = known || c.Text != Missing
			row.Cells = append(row.Cells, c)
		}
		if known {
			row.Cells = append(row.Cells, predicted)
			table.Rows = append(table.Rows, row)
		}
	}
	none := Cell{Class: "n z"}
	eject, back := none, none
	for i := range r.Targets {
		if p := r.Targets[i].Predicted; p != nil {
			eject, back = Cell{Text: interval(p.Eject.From, p.Eject.To), Class: "n z"}, Cell{Text: interval(p.Return.From, p.Return.To), Class: "n z"}
			break
		}
	}
	add("version", "", none, func(t *analysis.TargetReport) Cell {
		before, after := shortVersion(value(t.VersionBefore)), shortVersion(value(t.VersionAfter))
		if before == "" && after == "" {
			return unmeasured()
		}
		return right(before + " → " + after)
	})
	add("drain mark → last served", "how long the load balancer took to stop sending", eject, func(t *analysis.TargetReport) Cell {
		return negative(t.Eject, "served last %s before its mark")
	})
	add("mark or stop → ejected, by its checks", "until the last node of the load balancer had ejected it, by its own log", eject,
		func(t *analysis.TargetReport) Cell { return checkedCell(t.Checks, false) })
	add("last served → stop", "", none, func(t *analysis.TargetReport) Cell {
		return negative(t.LastServedToRestart, "served until %s after the stop")
	})
	add("kill → restart", "", none, func(t *analysis.TargetReport) Cell { return bounded(t.KillToRestart) })
	add("stop → ready", "boot", none, func(t *analysis.TargetReport) Cell { return bounded(t.Boot) })
	add("stop → first request", "", none, func(t *analysis.TargetReport) Cell { return bounded(t.RestartToFirstRequest) })
	add("ready → first request", "", back, func(t *analysis.TargetReport) Cell {
		return negative(t.ReadyToFirstRequest, "served %s before it said so")
	})
	add("ready → healthy, by its checks", "until the last node of the load balancer had taken it in again, by its own log", back,
		func(t *analysis.TargetReport) Cell { return checkedCell(t.Checks, true) })
	add("reported → first served", "negative: it served before success was reported", none, func(t *analysis.TargetReport) Cell {
		c := bounded(t.ReportedToFirstServed)
		if t.ReportedToFirstServed != nil && t.ReportedToFirstServed.Value > 0 && c.Title == "" {
			c.Text = "+" + c.Text
		}
		return c
	})
	add("return → next drain", "", none, func(t *analysis.TargetReport) Cell { return bounded(t.ReturnToNextDrain) })
	add("in flight at the stop", "", none, func(t *analysis.TargetReport) Cell {
		if t.InFlightAtStop == nil {
			return unmeasured()
		}
		cell := right("≥ " + Count(*t.InFlightAtStop))
		cell.Title = "of the requests that are known one by one: failed or slow ones, and ours"
		if *t.InFlightAtStop > 0 {
			cell.Title += "; " + classCounts(t.InFlightOf)
		}
		return cell
	})
	add("state lag, down", "how far the displayed state trailed the last request served", none, func(t *analysis.TargetReport) Cell { return between(t.StateLagDown) })
	add("state lag, up", "how far the displayed state trailed the first request served", none, func(t *analysis.TargetReport) Cell { return between(t.StateLagUp) })
	add("taken out by the load balancer", "before it stopped, or while it was down", none, func(t *analysis.TargetReport) Cell {
		if t.Ejected == "" {
			return unmeasured()
		}
		cell := right(word(ejectedWords, t.Ejected))
		if len(t.EjectedBasis) > 0 {
			var basis []string
			for _, each := range t.EjectedBasis {
				basis = append(basis, word(basisWords, each))
			}
			cell.Title = upperFirst(list(basis))
		}
		if t.InferredFrom != nil {
			cell.Title = strings.TrimPrefix(cell.Title+"; no step tells of it: inferred from "+*t.InferredFrom, "; ")
		}
		if t.Ejected == "no" {
			cell.Class = "n bad"
		}
		return cell
	})
	add("recommended drain wait", "twice what the health-check settings predict at most: a margin as large as the prediction", none, func(t *analysis.TargetReport) Cell {
		if t.RecommendedDrainWait == nil {
			return unmeasured()
		}
		cell := right("≥ " + Seconds(*t.RecommendedDrainWait))
		if t.Predicted != nil {
			cell.Title = "twice " + Seconds(t.Predicted.Eject.To) + ", the longest that the health-check settings predict for an ejection, since ejections have been measured to take twice that; " +
				"findings name the prediction itself, below which no wait can do"
		}
		return cell
	})
	return table
}
