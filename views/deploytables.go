package views

import (
	"fmt"
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

func windowTable(r *analysis.Report, zone *time.Location) Table {
	table := Table{Caption: "Failure windows of targets",
		Columns: []Cell{left("target"), left("whose"), left("from"), right("length"), right("requests"), right("failed"), right("served by others"),
			{Text: "by itself", Class: "n", Title: "requests that this very target served inside the window"}, right("longest run"), left("statuses")},
		Empty: "No target had a failure window."}
	for i := range r.Targets {
		for _, w := range r.Targets[i].FailureWindows {
			length := Cell{Text: "≥ " + Seconds(w.Seconds), Class: "n nw", Title: "first to last failure; no success is known to bound it from above"}
			if w.Upper != nil {
				length.Text = number(w.Seconds) + " … " + Seconds(*w.Upper)
				length.Title = "from first to last failure, and from the last success before to the first success after"
			}
			table.Rows = append(table.Rows, Row{Cells: []Cell{left(r.Targets[i].Target), left(classLane(w.Traffic)), at(clockMilli(w.From.Time, zone)), length,
				right(Count(w.Requests)), lostCell(w.Failed), right(Count(w.ServedByOthers)), right(Count(w.Boundary)), optional(w.LongestRun), left(statuses(w.Statuses))}})
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
		received := unmeasured()
		if a.ReceivedWithoutResponse != nil {
			received = lostCell(*a.ReceivedWithoutResponse)
		}
		table.Rows = append(table.Rows, Row{Cells: []Cell{left(a.Probe), right(Count(a.Sent)), right(Count(a.Attributed)), byTarget(a.ByTarget, names),
			lostCell(a.Duplicates), lostCell(a.SuccessWithoutRecord), received, lostCell(a.FailedWithoutRecord)}})
		if doubtful {
			row := &table.Rows[len(table.Rows)-1]
			row.Cells = append(row.Cells, lostCell(a.Ambiguous))
		}
	}
	return table
}

// detectionTable prints, per phase and target, the chance that a failure window of
// each length would have been missed.
func detectionTable(r *analysis.Report) Table {
	table := Table{Caption: "Chance that a failure window would have been missed",
		Columns: []Cell{left("probe"), left("phase"), left("target"), right("requests"), {Text: "gap p50 / p99 / max ms", Class: "n"}},
		Empty:   "No probe ran, so no chance can be given."}
	var windows []float64
	for _, d := range r.Detection {
		for _, miss := range d.Miss {
			if !slices.Contains(windows, miss.WindowMS) {
				windows = append(windows, miss.WindowMS)
			}
		}
	}
	slices.Sort(windows)
	windows = windows[:min(len(windows), 6)]
	for _, window := range windows {
		table.Columns = append(table.Columns, Cell{Text: "miss " + Seconds(window/1000), Class: "n", Title: "chance that an outage of this length would have been missed"})
	}
	table.Columns = append(table.Columns, Cell{Text: "failure rate", Class: "n", Title: "upper bound at 95 % confidence, where no failure was seen"})
	for _, d := range r.Detection {
		row := Row{Cells: []Cell{left(d.Scope), left(orAll(d.Phase)), left(orAll(d.Target)), right(Count(d.Requests)),
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

func orAll(name string) string {
	if name == "" {
		return "all"
	}
	return name
}

func completenessTable(r *analysis.Report) Table {
	table := Table{Caption: "Requests known to be in a log, and found there",
		Columns: []Cell{left("log"), left("node"), left("phase"), right("known"), right("found"), right("share"), left("matched")},
		Empty:   "No known request could be looked for in a log."}
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
			why = word(reasonWords, claim.Reason)
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
