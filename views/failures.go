package views

import (
	"net/url"
	"slices"
	"strconv"
	"time"

	"gapless/analysis"
)

// maxFailures bounds the failures printed one by one.
const maxFailures = 60

// failure is one failed request, from a log or from a prober.
type failure struct {
	at      time.Time
	class   analysis.Class
	status  string
	outcome analysis.Outcome
	request string
	target  string
	title   string
}

// failureTable prints failures one by one in the order in which they ended. The
// numbers in its heading and in "more" are the report's.
func failureTable(obs *analysis.Observations, r *analysis.Report, zone *time.Location) Table {
	table := Table{Caption: "Failed requests",
		Columns: []Cell{left("time"), left("whose"), {Text: "status", Class: "l", Title: "to the client / from the target"}, left("made by"), left("request"), left("target"), left("phase"), left("cause")},
		Empty:   "No request failed."}
	all := failuresIn(obs, r)
	total := 0
	measured := false
	for _, class := range analysis.Classes {
		if t := r.Totals[class]; t != nil {
			total += t.Failures
			measured = true
		}
	}
	if !measured {
		table.Empty = "No request was measured."
	}
	for _, f := range all[:min(len(all), maxFailures)] {
		request := Cell{Text: f.request, Class: "l brk", Code: true, Title: f.title}
		table.Rows = append(table.Rows, Row{Cells: []Cell{at(clockMilli(f.at, zone)), left(classLane(f.class)), left(f.status), left(word(outcomeWords, f.outcome)), request, left(f.target), left(phaseAt(r, f.at)), left(onlyCause(r, f.class))}})
	}
	if rest := total - len(table.Rows); rest > 0 {
		table.More = "and " + Count(rest) + " more"
		if len(table.Rows) == 0 {
			table.Empty, table.More = plural(total, "failure is", "failures are")+" counted, and none was kept one by one.", ""
		}
	}
	return table
}

func failuresIn(obs *analysis.Observations, r *analysis.Report) []failure {
	var all []failure
	counting := countingSources(&obs.Service)
	probed := map[analysis.Class]bool{}
	within := func(t time.Time) bool {
		return r.Window.From.IsZero() || !t.Before(r.Window.From.Time) && t.Before(r.Window.To.Time)
	}
	for i := range obs.Probes {
		p := &obs.Probes[i]
		probed[p.Class] = true
		if !p.Outcome.Failure() || p.OutOfService || !within(p.Done) {
			continue
		}
		f := failure{at: p.Done, class: p.Class, status: statusText(p.Status), outcome: p.Outcome, request: p.Probe + " " + p.Run + "-" + strconv.Itoa(p.Seq), target: p.Target, title: clip(p.Error, 300)}
		all = append(all, f)
	}
	for i := range obs.Requests {
		q := &obs.Requests[i]
		if !q.Outcome.Failure() || probed[q.Class] && (q.Class == analysis.ClassProbe || q.Class == analysis.ClassHealth) || !counts(counting, q.Source) {
			continue
		}
		ended := q.End
		if ended.IsZero() {
			ended = q.Start
		}
		if !within(ended) {
			continue
		}
		all = append(all, failure{at: ended, class: q.Class, status: statusText(q.Status) + " / " + statusText(q.TargetStatus), outcome: q.Outcome,
			request: clip(q.Method+" "+pathOf(q.URL), 90), target: q.Target, title: clip(q.Method+" "+q.URL, 400)})
	}
	slices.SortStableFunc(all, func(a, b failure) int { return a.at.Compare(b.at) })
	return all
}

func statusText(status int) string {
	if status == 0 {
		return Missing
	}
	return strconv.Itoa(status)
}

// pathOf leaves out scheme, host and query: a table has little room, and a query may
// hold what is nobody's business.
func pathOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || parsed.EscapedPath() == "" {
		return address
	}
	return parsed.EscapedPath()
}

func phaseAt(r *analysis.Report, t time.Time) string {
	for i := range r.Phases {
		if !t.Before(r.Phases[i].From.Time) && t.Before(r.Phases[i].To.Time) {
			return r.Phases[i].Name
		}
	}
	return ""
}

// onlyCause is the cause of a class's failures where all of them share one; where
// causes differ the report gives their numbers, not each failure's own.
func onlyCause(r *analysis.Report, class analysis.Class) string {
	total := r.Totals[class]
	if total == nil {
		return Missing
	}
	cause, kinds := analysis.Cause(""), 0
	for each, n := range total.Causes {
		if n > 0 {
			cause, kinds = each, kinds+1
		}
	}
	switch kinds {
	case 0:
		return Missing
	case 1:
		return word(causeWords, cause)
	}
	return "one of several"
}
