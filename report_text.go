package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"gapless/analysis"
	"gapless/views"
)

// sheet writes a report for a terminal or as Markdown: the same parts in the same
// order, only titles and tables look different.
type sheet struct {
	w        io.Writer
	markdown bool
	zone     *time.Location

	begun   bool // something is written
	listing bool // the last thing written is an entry of a list
}

// writeReport prints the parts of a report that answer the question, and what the
// answer depends on. Everything else is in the JSON.
func (s *sheet) writeReport(r *analysis.Report) {
	s.title(fmt.Sprintf("%s %s: %s", r.Deploy.Service, s.deployName(r), r.Verdict.State))
	s.line("%s", r.Verdict.Sentence)
	s.line("Window %s to %s, %s.", s.moment(r.Window.From), s.moment(r.Window.To), views.WindowWords(r.Window.State))
	s.conditions(r)
	s.claims(r)
	s.findings(r)
	s.totals(r)
	s.phases(r)
	s.targets(r)
	s.detection(r)
	s.journeys(r)
	s.dependencies(r)
	s.gauges(r)
	s.coverage(r)
}

func (s *sheet) deployName(r *analysis.Report) string {
	if r.Deploy.ID == "" {
		return "without a deploy"
	}
	return "deploy " + r.Deploy.ID
}

func (s *sheet) conditions(r *analysis.Report) {
	if len(r.Verdict.Conditions) == 0 {
		return
	}
	s.section("Depends on")
	for _, condition := range r.Verdict.Conditions {
		s.item("%s", condition.Sentence)
	}
}

func (s *sheet) claims(r *analysis.Report) {
	s.section("Claims")
	rows := [][]string{{"state", "claim", "says", "because"}}
	for _, claim := range r.Claims {
		rows = append(rows, []string{string(claim.State), claim.ID, claim.Text, views.ReasonWords(r, claim.Reason)})
	}
	s.table(rows)
}

func (s *sheet) findings(r *analysis.Report) {
	if len(r.Findings) == 0 {
		return
	}
	s.section("Findings")
	for _, finding := range r.Findings {
		s.item("%s (%s): %s %s", finding.Code, finding.Severity, finding.Sentence, finding.Remedy)
	}
}

func (s *sheet) totals(r *analysis.Report) {
	s.section("Requests in the window")
	rows := [][]string{{"traffic", "requests", "failures", "outcomes", "causes of the failures", "p50 ms", "p95 ms", "p99 ms", "max ms"}}
	for _, class := range analysis.Classes {
		total := r.Totals[class]
		if total == nil {
			rows = append(rows, []string{string(class), "not measured", "", "", "", "", "", "", ""})
			continue
		}
		rows = append(rows, []string{
			string(class), strconv.Itoa(total.Requests), strconv.Itoa(total.Failures), shares(total.Outcomes, views.OutcomeWords), shares(total.Causes, views.CauseWords),
			number(total.P50), number(total.P95), number(total.P99), number(total.Max),
		})
	}
	s.table(rows)
}

func (s *sheet) phases(r *analysis.Report) {
	s.section("Phases (failures of requests)")
	rows := [][]string{{"phase", "from", "seconds", "user", "probe", "health", "tool"}}
	for _, phase := range r.Phases {
		row := []string{phase.Name, s.moment(phase.From), fmt.Sprintf("%.3f", phase.To.Sub(phase.From.Time).Seconds())}
		for _, class := range analysis.Classes {
			cell := "not measured"
			if counts := phase.Traffic[class]; counts != nil {
				cell = fmt.Sprintf("%d of %d", counts.Failures, counts.Requests)
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	s.table(rows)
}

func (s *sheet) targets(r *analysis.Report) {
	if len(r.Targets) == 0 {
		return
	}
	s.section("Targets")
	rows := [][]string{{"target", "drain marked", "last served", "restart or kill", "ready", "first served", "out of rotation before its stop", "failure windows"}}
	for _, target := range r.Targets {
		stop := target.RestartAt
		if stop.IsZero() {
			stop = target.KilledAt
		}
		windows := []string{}
		for _, w := range target.FailureWindows {
			windows = append(windows, fmt.Sprintf("%s %d of %d in %.3f s or more", w.Traffic, w.Failed, w.Requests, w.Seconds))
		}
		rows = append(rows, []string{
			target.Target, s.moment(target.DrainMarkedAt), s.moment(target.LastServedAt), s.moment(stop),
			s.moment(target.ReadyAt), s.moment(target.FirstServedAt), views.EjectedWords(target.Ejected), strings.Join(windows, "; "),
		})
	}
	s.table(rows)
}

// detection prints what each probe could have missed on each target over the whole
// window; the phases are in the JSON.
func (s *sheet) detection(r *analysis.Report) {
	rows := [][]string{{"probe", "target", "requests", "longest outage missed with 5 % or more", "chance to miss one of"}}
	for _, d := range r.Detection {
		if d.Phase != "" {
			continue
		}
		requests, longest := strconv.Itoa(d.Requests), "—"
		if d.Share != nil && d.Target != "" {
			requests += " sent, " + views.PercentWords(*d.Share) + " to it"
		}
		if d.LongestMissed != nil {
			longest = fmt.Sprintf("%.3f s", *d.LongestMissed/1000)
		}
		chances := []string{}
		for _, miss := range d.Miss {
			chances = append(chances, fmt.Sprintf("%g s: %s", miss.WindowMS/1000, views.PercentWords(miss.Probability)))
		}
		rows = append(rows, []string{d.Scope, cmp.Or(d.Target, "all"), requests, longest, strings.Join(chances, ", ")})
	}
	if len(rows) > 1 {
		s.section("What the probes could have missed")
		s.table(rows)
	}
}

func (s *sheet) coverage(r *analysis.Report) {
	s.section("Evidence")
	rows := [][]string{{"source", "seen s", "of s", "blind"}}
	for _, source := range r.Coverage {
		blind := []string{}
		for _, b := range source.Blind {
			blind = append(blind, strings.TrimSpace(fmt.Sprintf("%s to %s: %s %s", s.moment(b.From), s.moment(b.To), views.BlindWords(b.Reason), b.Detail)))
		}
		rows = append(rows, []string{
			source.Source, fmt.Sprintf("%.1f", source.Seen),
			fmt.Sprintf("%.1f", source.To.Sub(source.From.Time).Seconds()), strings.Join(blind, "; "),
		})
	}
	s.table(rows)
}

func (s *sheet) moment(t analysis.Time) string {
	if t.IsZero() {
		return "—"
	}
	return t.In(s.zone).Format("2006-01-02 15:04:05.000 MST")
}

func (s *sheet) title(text string) {
	if s.markdown {
		s.block("# " + escapeMarkdown(printable(text)))
		return
	}
	s.block(printable(text))
}

func (s *sheet) section(text string) {
	if s.markdown {
		text = "## " + text
	}
	s.block(text)
}

// line writes one paragraph.
func (s *sheet) line(format string, args ...any) {
	s.block(s.safe(fmt.Sprintf(format, args...)))
}

// item writes one entry of a list.
func (s *sheet) item(format string, args ...any) {
	if !s.listing {
		s.gap()
	}
	fmt.Fprintf(s.w, "- %s\n", s.safe(fmt.Sprintf(format, args...)))
	s.listing = true
}

// block writes text with an empty line before it.
func (s *sheet) block(text string) {
	s.gap()
	fmt.Fprintln(s.w, text)
}

func (s *sheet) gap() {
	if s.begun {
		fmt.Fprintln(s.w)
	}
	s.begun, s.listing = true, false
}

// safe is text of which nothing is obeyed: not by a terminal, and not by whatever
// shows Markdown.
func (s *sheet) safe(text string) string {
	text = printable(text)
	if s.markdown {
		text = escapeMarkdown(text)
	}
	return text
}

func (s *sheet) table(rows [][]string) {
	s.gap()
	if s.markdown {
		for i, row := range rows {
			cells := make([]string, len(row))
			for j, cell := range row {
				cells[j] = s.safe(cell)
			}
			fmt.Fprintf(s.w, "| %s |\n", strings.Join(cells, " | "))
			if i == 0 {
				fmt.Fprintf(s.w, "|%s\n", strings.Repeat(" --- |", len(row)))
			}
		}
		return
	}
	aligned := tabwriter.NewWriter(s.w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for j, cell := range row {
			row[j] = s.safe(cell)
		}
		fmt.Fprintln(aligned, "  "+strings.Join(row, "\t"))
	}
	_ = aligned.Flush() // an error of the writer shows where the file is closed
}

// shares lists counts by name, largest first, in words.
func shares[K ~string](counts map[K]int, words func(K) string) string {
	names := make([]K, 0, len(counts))
	for name, n := range counts {
		if n > 0 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b K) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(string(a), string(b))
	})
	parts := make([]string, len(names))
	for i, name := range names {
		parts[i] = fmt.Sprintf("%s %d", words(name), counts[name])
	}
	return strings.Join(parts, ", ")
}

func number(v *float64) string {
	if v == nil {
		return "—"
	}
	return strconv.FormatFloat(*v, 'f', 1, 64)
}
