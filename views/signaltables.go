package views

import (
	"strings"
	"time"

	"gapless/analysis"
)

// journeyTable counts journeys by the phase in which they began.
func journeyTable(r *analysis.Report) Table {
	table := Table{Caption: "Journeys by the phase in which they began, and how they ended",
		Columns: []Cell{left("journey"), left("phase"), right("began"), right("completed"),
			{Text: "after retries", Class: "n", Title: "every step, some of them at a later attempt"},
			{Text: "earlier step missing", Class: "n", Title: "a later step succeeded though an earlier one never did, or had failed and did only afterwards"},
			{Text: "never finished", Class: "n", Title: "a step was missing when the time was up"},
			{Text: "not decided", Class: "n", Title: "its time was not up, or its records were not seen throughout"}},
		Empty: "No journey began in the window."}
	for i := range r.Journeys {
		j := &r.Journeys[i]
		for _, phase := range r.Phases {
			if counts, ok := j.ByPhase[phase.Name]; ok {
				table.Rows = append(table.Rows, Row{Cells: journeyCells(j.Journey, phase.Name, counts)})
			}
		}
		if len(j.ByPhase) > 1 {
			table.Rows = append(table.Rows, Row{Cells: journeyCells(j.Journey, "all", j.JourneyCounts), Class: "strong"})
		}
	}
	bound(&table, 40, "rows in the JSON report")
	return table
}

func journeyCells(journey, phase string, c analysis.JourneyCounts) []Cell {
	undecided := right(Count(c.Undecided))
	if c.Undecided == 0 {
		undecided.Class = "n z"
	}
	return []Cell{left(journey), left(phase), right(Count(c.Started)), right(Count(c.Completed)), right(Count(c.AfterRetries)),
		lostCell(c.WithoutEarlier), lostCell(c.NeverFinished), undecided}
}

// reconciledTable holds identifiers of two sources against each other.
func reconciledTable(r *analysis.Report) Table {
	table := Table{Caption: "Identifiers that two sources tell of one step",
		Columns: []Cell{left("journey"), left("step"), left("one source"), left("the other"), right("in both"), right("only the one"), right("only the other"), left("which")}}
	for _, j := range r.Journeys {
		for _, pair := range j.Reconciled {
			only := append(append([]string{}, pair.ExamplesA...), pair.ExamplesB...)
			which := wide(strings.Join(only, ", ") + moreOf(pair.OnlyA+pair.OnlyB, len(only)))
			table.Rows = append(table.Rows, Row{Cells: []Cell{left(j.Journey), left(pair.Step), left(pair.A), left(pair.B),
				right(Count(pair.Both)), lostCell(pair.OnlyA), lostCell(pair.OnlyB), which}})
		}
	}
	bound(&table, 40, "rows in the JSON report")
	return table
}

func dependencyTable(r *analysis.Report, zone *time.Location) Table {
	table := Table{Caption: "Calls to dependencies",
		Columns: []Cell{left("dependency"), {Text: "wanted", Class: "n", Title: "distinct identifiers that calls were for"}, right("sent"),
			{Text: "refused, never sent", Class: "l", Title: "what was never sent has no unknown result"},
			{Text: "of those sent", Class: "l", Title: "how they ended"},
			{Text: "sent for each", Class: "n", Title: "calls sent for each identifier that any was sent for"},
			{Text: "most in a second", Class: "n", Title: "in any one second"}, left("when"),
			{Text: "most at once", Class: "n", Title: "calls of one target that waited at the same time"}},
		Empty: "No line tells of calls."}
	for _, d := range r.Dependencies {
		wanted, each := unmeasured(), unmeasured()
		if d.Wanted > 0 {
			wanted = right(Count(d.Wanted))
		}
		if d.Amplification != nil {
			each = right("× " + number(*d.Amplification))
			if d.Amplified {
				each.Class = "n bad"
			}
		}
		when := Cell{Text: Missing, Class: "l z"}
		if !d.MaxAt.IsZero() {
			when = at(clockMilli(d.MaxAt.Time, zone))
		}
		refused := left(countsByName(d.Refused))
		if refused.Text == "" {
			refused = Cell{Text: "none", Class: "l z"}
		}
		table.Rows = append(table.Rows, Row{Cells: []Cell{left(d.Dependency), wanted, right(Count(d.Sent)), refused, left(countsByName(d.Results)), each,
			right(Count(d.MaxPerSecond)), when, optional(d.MaxInFlight)}})
	}
	bound(&table, 40, "dependencies in the JSON report")
	return table
}

func breakerTable(r *analysis.Report, zone *time.Location) Table {
	table := Table{Caption: "States of circuit breakers, and what became of calls meanwhile",
		Columns: []Cell{left("breaker"), left("target"), left("from"), right("length"), left("state"), right("sent"),
			{Text: "refused, never sent", Class: "n", Title: "their result is known: nothing happened"}}}
	for _, b := range r.Breakers {
		refused := right(Count(b.Refused))
		if b.Refused == 0 {
			refused.Class = "n z"
		}
		table.Rows = append(table.Rows, Row{Cells: []Cell{left(b.Breaker), left(b.Target), at(clockMilli(b.From.Time, zone)), right(Seconds(b.Seconds)),
			{Text: breakerIcon(b.State) + " " + breakerWord(b.State), Class: "l nw"}, right(Count(b.Sent)), refused}})
	}
	bound(&table, 60, "spans in the JSON report")
	return table
}

func breakerWord(state string) string { return strings.ToLower(spoken(state)) }

// breakerIcon says a breaker's state without colour.
func breakerIcon(state string) string {
	switch state {
	case "CLOSED":
		return "✓"
	case "OPEN", "FORCED_OPEN":
		return "✕"
	}
	return "◐"
}

var gaugeWords = map[string]string{
	analysis.GaugeBusyThreads: "busy threads", analysis.GaugeMaxThreads: "threads at most", analysis.GaugeInFlight: "calls in flight",
	analysis.GaugePoolActive: "connections in use", analysis.GaugePoolMax: "connections at most", analysis.GaugePoolPending: "waiting for a connection",
}

func gaugeTable(r *analysis.Report, zone *time.Location) Table {
	table := Table{Caption: "What targets told of themselves before, during and after",
		Columns: []Cell{left("metric"), left("target"), {Text: "before", Class: "n", Title: "mean before the deploy began"},
			{Text: "most", Class: "n", Title: "from the deploy's start to the window's end"}, left("when"),
			{Text: "after", Class: "n", Title: "mean since the tail began"}, left("source")},
		Empty: "No target told anything of itself."}
	value := func(v *float64) Cell {
		if v == nil {
			return unmeasured()
		}
		return right(number(*v))
	}
	for _, g := range r.Gauges {
		when := Cell{Text: Missing, Class: "l z"}
		if !g.MaxAt.IsZero() {
			when = at(clock(g.MaxAt.Time, zone))
		}
		table.Rows = append(table.Rows, Row{Cells: []Cell{left(word(gaugeWords, g.Metric)), left(g.Target), value(g.Before), value(g.Max), when, value(g.After), left(g.Source)}})
	}
	bound(&table, 60, "metrics in the JSON report")
	return table
}

// maxBreakerLanes bounds the breakers that are drawn.
const maxBreakerLanes = 4

// breakers draws the stretches in which a circuit breaker was not closed.
func (t *Timeline) breakers(s scale, r *analysis.Report, y *int) {
	type key struct{ breaker, target string }
	lanes := map[key]int{}
	for _, b := range r.Breakers {
		from, to := b.From.Time, b.To.Time
		if b.State == "CLOSED" || !to.After(s.from) || !from.Before(s.seen) {
			continue
		}
		k := key{b.Breaker, b.Target}
		i, ok := lanes[k]
		if !ok {
			if len(t.Breakers) == maxBreakerLanes {
				continue
			}
			i = len(t.Breakers)
			lanes[k] = i
			lane := BreakerLane{Label: b.Breaker, Target: b.Target, Y: *y - 7, TextY: *y + 4}
			lane.ShortLabel, lane.ShortTarget = fitBreaker(b.Breaker, b.Target, t.LabelEnd-labelX)
			t.Breakers = append(t.Breakers, lane)
			*y += 20
		}
		class := "drain"
		if strings.HasSuffix(b.State, "OPEN") && !strings.HasPrefix(b.State, "HALF") {
			class = "down"
		}
		title := b.Breaker + " " + breakerWord(b.State) + " " + Seconds(b.Seconds) + ", " + s.span(from, to) + ": " + Count(b.Sent) + " sent, " + Count(b.Refused) + " refused before they were sent"
		bar := s.bar(from, to, class, title)
		if label := breakerWord(b.State); fits(label, bar.W) {
			bar.Label = label
		}
		t.Breakers[i].Bars = append(t.Breakers[i].Bars, bar)
	}
	if len(t.Breakers) > 0 {
		*y += 8
	}
}
