package main

import (
	"fmt"
	"strconv"
	"strings"

	"gapless/analysis"
	"gapless/views"
)

// journeys prints how business transactions ended, where any are configured.
func (s *sheet) journeys(r *analysis.Report) {
	if len(r.Journeys) == 0 {
		return
	}
	s.section("Journeys")
	rows := [][]string{{"journey", "phase", "began", "completed", "after retries", "earlier step missing", "never finished", "not decided"}}
	add := func(journey, phase string, c analysis.JourneyCounts) {
		row := []string{journey, phase}
		for _, n := range []int{c.Started, c.Completed, c.AfterRetries, c.WithoutEarlier, c.NeverFinished, c.Undecided} {
			row = append(row, strconv.Itoa(n))
		}
		rows = append(rows, row)
	}
	for _, j := range r.Journeys {
		for _, phase := range r.Phases {
			if c, ok := j.ByPhase[phase.Name]; ok {
				add(j.Journey, phase.Name, c)
			}
		}
		add(j.Journey, "all", j.JourneyCounts)
	}
	s.table(rows)
	for _, j := range r.Journeys {
		for _, pair := range j.Reconciled {
			s.item("%s, step %s: %d in both of %s and %s, %d only in %s, %d only in %s", j.Journey, pair.Step, pair.Both, pair.A, pair.B, pair.OnlyA, pair.A, pair.OnlyB, pair.B)
		}
	}
}

// dependencies prints the calls to others, and what circuit breakers did.
func (s *sheet) dependencies(r *analysis.Report) {
	if len(r.Dependencies) > 0 {
		s.section("Calls to dependencies")
		rows := [][]string{{"dependency", "wanted", "sent", "refused, never sent", "of those sent", "sent for each", "most in a second", "most at once"}}
		for _, d := range r.Dependencies {
			each, atOnce, wanted := "not measured", "not measured", "not measured"
			if d.Amplification != nil {
				each = fmt.Sprintf("%.2f", *d.Amplification)
			}
			if d.MaxInFlight != nil {
				atOnce = strconv.Itoa(*d.MaxInFlight)
			}
			if d.Wanted > 0 {
				wanted = strconv.Itoa(d.Wanted)
			}
			rows = append(rows, []string{d.Dependency, wanted, strconv.Itoa(d.Sent), shares(d.Refused, views.ResultWords), shares(d.Results, views.ResultWords), each, strconv.Itoa(d.MaxPerSecond), atOnce})
		}
		s.table(rows)
	}
	if len(r.Breakers) > 0 {
		s.section("Circuit breakers")
		rows := [][]string{{"breaker", "target", "from", "seconds", "state", "sent", "refused, never sent"}}
		for _, b := range r.Breakers {
			rows = append(rows, []string{b.Breaker, b.Target, s.moment(b.From), fmt.Sprintf("%.1f", b.Seconds), strings.ToLower(b.State), strconv.Itoa(b.Sent), strconv.Itoa(b.Refused)})
		}
		s.table(rows)
	}
}

// gauges prints what targets told of themselves.
func (s *sheet) gauges(r *analysis.Report) {
	if len(r.Gauges) == 0 {
		return
	}
	s.section("Metrics")
	rows := [][]string{{"metric", "target", "before", "most", "when", "after"}}
	for _, g := range r.Gauges {
		rows = append(rows, []string{g.Metric, g.Target, number(g.Before), number(g.Max), s.moment(g.MaxAt), number(g.After)})
	}
	s.table(rows)
}
