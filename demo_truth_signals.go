package main

import (
	"fmt"

	"gapless/analysis"
	"gapless/lab"
)

// compareJourneys holds the journeys that a report counts against the orders that the
// lab's store app made. Whether an order was never created or never acknowledged is
// one to a report: it was never finished.
func compareJourneys(report *analysis.Report, truth lab.Truth) []string {
	if len(truth.Orders) == 0 {
		return nil
	}
	was := truth.OrderTable(report.Window.From.Time, report.Window.To.Time)
	want := analysis.JourneyCounts{
		Started: was.Orders, Completed: was.Completed, AfterRetries: was.AfterRetries,
		WithoutEarlier: was.AckWithoutDetail, NeverFinished: was.NeverCreated + was.NeverAcked,
	}
	if len(report.Journeys) != 1 {
		return []string{fmt.Sprintf("%d journeys in the report, where the lab has one", len(report.Journeys))}
	}
	if judged := report.Journeys[0].JourneyCounts; judged != want {
		return []string{fmt.Sprintf("journeys: judged %+v, in truth %+v", judged, want)}
	}
	return nil
}

// compareCalls holds the calls that a report counts against those that reached the
// lab's gateways. Calls of before the window are in neither. A call that timed out was
// sent as its sender sees it, and may never have arrived.
func compareCalls(report *analysis.Report, truth lab.Truth) []string {
	var differences []string
	window := lab.Span{From: report.Window.From.Time, To: report.Window.To.Time}
	judged, timeouts := map[string]int{}, map[string]int{}
	for _, d := range report.Dependencies {
		judged[d.Dependency], timeouts[d.Dependency] = d.Sent, d.Results["timeout"]
	}
	reached := map[string]int{}
	for _, call := range truth.Calls {
		if window.Holds(call.Sent) {
			reached[call.Gateway]++
		}
	}
	for gateway, n := range reached {
		if judged[gateway] < n || judged[gateway] > n+timeouts[gateway] {
			differences = append(differences, fmt.Sprintf("calls to %s: judged %d, in truth %d", gateway, judged[gateway], n))
		}
		delete(judged, gateway)
	}
	for gateway, n := range judged {
		differences = append(differences, fmt.Sprintf("calls to %s: judged %d, in truth none", gateway, n))
	}
	return differences
}
