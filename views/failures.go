package views

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"gapless/analysis"
)

// maxFailures bounds the failures printed one by one; the CSV has all that the report
// lists.
const maxFailures = 60

// failureTable prints the report's failures one by one, in the order in which they
// ended. The numbers in its heading and in "more" are the report's.
func failureTable(r *analysis.Report, zone *time.Location) Table {
	table := Table{Caption: "Failed requests",
		Columns: []Cell{left("time"), left("whose"), {Text: "status", Class: "l", Title: "to the client / from the target"}, left("made by"), left("request"), left("target"), left("phase"), left("cause")},
		Empty:   "No request failed."}
	total, measured := 0, false
	for _, class := range analysis.Classes {
		if t := r.Totals[class]; t != nil {
			total, measured = total+t.Failures, true
		}
	}
	if !measured {
		table.Empty = "No request was measured."
	}
	shown := 0
	for i := range r.Failures {
		if i == maxFailures {
			break
		}
		f := &r.Failures[i]
		shown += f.Count
		table.Rows = append(table.Rows, failureRow(f, zone))
	}
	if r.FailuresUnkept > 0 {
		table.Caption += ": of many that are alike a sample is kept one by one, and " + Count(r.FailuresUnkept) + " of " + Count(total) + " are counted by second and kind only"
	}
	if rest := total - shown; rest > 0 {
		table.More = "and " + Count(rest) + " more"
		if len(table.Rows) == 0 {
			table.Empty, table.More = plural(total, "failure is", "failures are")+" counted, and none was kept one by one.", ""
		}
	}
	return table
}

func failureRow(f *analysis.FailedRequest, zone *time.Location) Row {
	ended := f.End.Time
	if ended.IsZero() {
		ended = f.Start.Time
	}
	request := Cell{Text: Short(shortRequest(f.Request), 90), Class: "l brk", Code: true, Title: Short(f.Request, 400)}
	if f.Request == "" {
		request = Cell{Text: Count(f.Count) + " counted, not kept one by one", Class: "l brk z"}
	}
	target := left(value(f.Target))
	if f.Target == nil {
		target = Cell{Text: Missing, Class: "l z", Title: "no witness says where it was sent"}
	}
	return Row{Cells: []Cell{at(clockMilli(ended, zone)), left(classLane(f.Traffic)), left(statusText(f.Status) + " / " + statusText(f.TargetStatus)),
		left(word(outcomeWords, f.Outcome)), request, target, left(value(f.Phase)), left(word(causeWords, f.Cause))}}
}

func statusText(status *int) string {
	if status == nil {
		return Missing
	}
	return strconv.Itoa(*status)
}

// shortRequest leaves scheme, host and query out of "METHOD URL": a table has little
// room, and a query may hold what is nobody's business.
func shortRequest(request string) string {
	method, address, found := strings.Cut(request, " ")
	if !found {
		return request
	}
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" || parsed.EscapedPath() == "" {
		return request
	}
	return method + " " + parsed.EscapedPath()
}
