package views

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"gapless/analysis"
)

// toldReport is the first report with what applications told besides: journeys, calls,
// a circuit breaker, and metrics.
func toldReport(t testing.TB) (analysis.Observations, analysis.Report) {
	obs, r := firstReport(t)
	at := func(seconds float64) analysis.Time {
		return analysis.Time{Time: r.Deploy.StartedAt.Add(time.Duration(seconds * float64(time.Second)))}
	}
	span := func(from, to float64) analysis.Span {
		return analysis.Span{From: at(from), To: at(to), Seconds: to - from}
	}
	counts := analysis.JourneyCounts{Started: 51, Completed: 40, AfterRetries: 5, WithoutEarlier: 3, NeverFinished: 2, Undecided: 1}
	r.Journeys = []analysis.JourneyReport{{Journey: "order", JourneyCounts: counts,
		ByPhase: map[string]analysis.JourneyCounts{"baseline": {Started: 30, Completed: 30}, "api-1 restart": {Started: 21, Completed: 10, AfterRetries: 5, WithoutEarlier: 3, NeverFinished: 2, Undecided: 1}},
		Reconciled: []analysis.Reconciled{
			{Step: "create", A: "store-app", B: "application logs", Both: 49, OnlyA: 2, OnlyB: 1, ExamplesA: []string{"o-7", "o-9"}, ExamplesB: []string{"o-50"}},
		}}}
	r.Dependencies = []analysis.DependencyUse{
		{Dependency: "gateway", Wanted: 400, Sent: 81, Refused: map[string]int{"breaker": 319}, Results: map[string]int{"ok": 39, "timeout": 41, "none": 1}, Amplification: new(1.0), MaxPerSecond: 39, MaxAt: at(20.5), MaxInFlight: new(8)},
		{Dependency: "stock", Sent: 90, Results: map[string]int{"timeout": 90}, MaxPerSecond: 25, MaxAt: at(12)},
		{Dependency: "points", Wanted: 30, Sent: 90, Results: map[string]int{"timeout": 90}, Amplification: new(3.0), Amplified: true, MaxPerSecond: 33, MaxAt: at(12), MaxInFlight: new(5)},
	}
	r.Breakers = []analysis.BreakerSpan{
		{Breaker: "gateway", Target: "api-1", State: "CLOSED", Span: span(-300, 20), Sent: 70},
		{Breaker: "gateway", Target: "api-1", State: "OPEN", Span: span(20, 130), Refused: 319},
		{Breaker: "gateway", Target: "api-1", State: "HALF_OPEN", Span: span(130, 133.2), Sent: 3},
		{Breaker: "gateway", Target: "api-1", State: "CLOSED", Span: span(133.2, 700), Sent: 8},
	}
	r.Gauges = []analysis.GaugeReport{
		{Source: "api-1-metrics", Target: "api-1", Metric: analysis.GaugeBusyThreads, Before: new(2.5), Max: new(200.0), MaxAt: at(23), After: new(2.0)},
		{Source: "api-2-metrics", Target: "api-2", Metric: "queue_length"},
	}
	return obs, r
}

func TestSignalTables(t *testing.T) {
	page := NewDeployPage(must(toldReport(t)))
	line := func(row Row) string { return strings.Join(texts(row), " | ") }
	for _, c := range []struct {
		table Table
		row   int
		want  string
	}{
		{page.Journeys, 0, "order | baseline | 30 | 30 | 0 | 0 | 0 | 0"},
		{page.Journeys, 1, "order | api-1 restart | 21 | 10 | 5 | 3 | 2 | 1"},
		{page.Journeys, 2, "order | all | 51 | 40 | 5 | 3 | 2 | 1"},
		{page.Reconciled, 0, "order | create | store-app | application logs | 49 | 2 | 1 | o-7, o-9, o-50"},
		{page.Dependencies, 0, "gateway | 400 | 81 | breaker 319 | timed out 41 · ok 39 · end not told 1 | × 1 | 39 | 15:30:20.500 | 8"},
		{page.Dependencies, 1, "stock | – | 90 | none | timed out 90 | – | 25 | 15:30:12.000 | –"}, // not measured is no zero
		{page.Breakers, 1, "gateway | api-1 | 15:30:20.000 | 110 s | ✕ open | 0 | 319"},
		{page.Breakers, 2, "gateway | api-1 | 15:32:10.000 | 3.2 s | ◐ half open | 3 | 0"},
		{page.Gauges, 0, "busy threads | api-1 | 2.5 | 200 | 15:30:23 | 2 | api-1-metrics"},
		{page.Gauges, 1, "queue length | api-2 | – | – | – | – | api-2-metrics"},
	} {
		if got := line(c.table.Rows[c.row]); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.table.Caption, got, c.want)
		}
	}
	if cell := page.Journeys.Rows[1].Cells[5]; cell.Class != "n bad" {
		t.Errorf("an earlier step that is missing is not marked: %+v", cell)
	}
	if cell := page.Dependencies.Rows[2].Cells[5]; cell.Text != "× 3" || cell.Class != "n bad" {
		t.Errorf("calls that tripled are not marked: %+v", cell)
	}
}

// The picture has a lane for a breaker that was not closed, and says in words what
// became of the calls.
func TestBreakersOnTheTimeline(t *testing.T) {
	page := NewDeployPage(must(toldReport(t)))
	if len(page.Timeline.Breakers) != 1 {
		t.Fatalf("%+v", page.Timeline.Breakers)
	}
	lane := page.Timeline.Breakers[0]
	if lane.Label != "gateway" || lane.Target != "api-1" || len(lane.Bars) != 2 || lane.Bars[0].Class != "down" || lane.Bars[1].Class != "drain" || lane.Bars[0].Label != "open" ||
		lane.Bars[0].Title != "gateway open 110 s, 15:30:20–15:32:10: 0 sent, 319 refused before they were sent" {
		t.Errorf("%+v", lane)
	}
	svg := render(t, TimelineSVG(page.Timeline))
	if !strings.Contains(svg, "circuit breaker gateway of api-1") {
		t.Error("the lane is not in the picture")
	}
}

func TestSignalSectionsGolden(t *testing.T) {
	html := render(t, DeployLive(NewDeployPage(must(toldReport(t)))))
	golden(t, "testdata/signals.html", regexp.MustCompile(`(?s)<section class="card" aria-labelledby="h-journeys">.*?(<div class="two even">)`).FindString(html))
}

// What nothing tells of has no section; what something could have told, and did not,
// has one that says so.
func TestSignalSectionsOfNothing(t *testing.T) {
	obs, r := firstReport(t)
	for _, id := range []string{"h-journeys", "h-dependencies", "h-gauges"} {
		if strings.Contains(render(t, DeployLive(NewDeployPage(obs, r, seoul))), id) {
			t.Errorf("%s is there without anything that tells of it", id)
		}
	}
	r.Journeys, r.Gauges = []analysis.JourneyReport{}, []analysis.GaugeReport{}
	html := render(t, DeployLive(NewDeployPage(obs, r, seoul)))
	if !strings.Contains(html, "No journey began in the window.") || !strings.Contains(html, "No target told anything of itself.") {
		t.Error("a section without rows does not say so")
	}
}

func TestSignalRecords(t *testing.T) {
	_, r := toldReport(t)
	for table, want := range map[string]string{
		"journeys":     "order,api-1 restart,21,10,5,3,2,1\r\n",
		"dependencies": "dependency,wanted,sent,amplification,max_per_second,max_at,max_in_flight,refused breaker,result none,result ok,result timeout\r\ngateway,400,81,1,39,2026-10-14T06:30:20.500000Z,8,319,1,39,41\r\n",
		"breakers":     "gateway,api-1,OPEN,2026-10-14T06:30:20.000000Z,2026-10-14T06:32:10.000000Z,110,0,319\r\n",
		"gauges":       "queue_length,api-2,api-2-metrics,,,,\r\n",
	} {
		file, ok := CSV(&r, table)
		if !ok || !strings.Contains(string(file), want) {
			t.Errorf("%s: %v\n got %s\nwant %s", table, ok, file, want)
		}
	}
}

func TestSignalSentences(t *testing.T) {
	target := "api-1"
	for _, test := range []struct {
		code   string
		values map[string]any
		want   string
	}{
		{"stop-timeout-too-short", map[string]any{"after_s": 10.0, "by": "kill"}, "api-1 was killed 10 s after its stop began, before its graceful shutdown had ended."},
		{"stop-timeout-too-short", map[string]any{"after_s": 30.0, "by": "application"}, "api-1 gave up on its graceful shutdown 30 s after its stop began, with work still going on."},
		{"stop-signal-ignored", map[string]any{"after_s": 10.0, "killed": true, "lines": 1200}, "api-1 was asked to stop and was killed 10 s later without a line about a shutdown, though its log had 1,200 lines around it."},
		{"torn-write", map[string]any{"works": 12, "keys": []string{"o-1", "o-2"}, "received": 1}, "The process of api-1 ended with 12 pieces of work begun and not ended (o-1, o-2, …) and 1 request of ours received and never answered."},
		{"overlap-double-run", map[string]any{"job": "invoice", "targets": []string{"blue", "green"}, "every_s": 60.0, "pairs": 2, "nearest_s": 4.5, "pairs_before": 0},
			"Job invoice ran on blue and green within its period of 60 s, 2 times, once 4.5 s apart, while both were up."},
		{"job-stopped", map[string]any{"job": "invoice", "quiet_s": 400.0, "every_s": 60.0, "last_on": "blue", "skipped": 3},
			"Job invoice has not run for 400 s, where every 60 s is usual; it ran last on blue. It was skipped 3 times since, because its lock was taken."},
		{"step-order", map[string]any{"journey": "order", "count": 2, "started": 51, "later": "ack", "missing": "detail", "keys": []string{"o-2", "o-3"}},
			"In 2 journeys “order” of 51, “ack” succeeded though “detail” never did: o-2, o-3."},
		{"retry-amplification", map[string]any{"dependency": "gateway", "factor": 3.0, "factor_before": 1.0, "sent": 900, "results": map[string]int{"timeout": 870, "ok": 30}},
			"The dependency gateway got 3 calls for each that was wanted, 900 in all; before, it was 1. They ended: timed out 870 · ok 30."},
		{"burst-over-limit", map[string]any{"dependency": "gateway", "most": 86, "limit": 50, "average": 51.2}, "The dependency gateway got 86 calls within one second; it allows 50. On average it was 51.2 a second."},
		{"unbounded-wait", map[string]any{"dependency": "gateway", "most": 108, "before": 1, "ground": "no_bound_seen", "limit": nil}, "Calls to gateway piled up in api-1: 108 waited at once (before, at most 1), and none was refused and none timed out."},
		{"unbounded-wait", map[string]any{"dependency": "gateway", "most": 6, "limit": 5, "ground": "over_limit"}, "Calls to gateway piled up in api-1: 6 waited at once where 5 may."},
		{"unbounded-wait", map[string]any{"dependency": "gateway", "most": 20, "limit": 5, "ground": "over_limit", "busy_threads": 20.0}, "Calls to gateway piled up in api-1: 20 waited at once where 5 may, and all 20 threads were busy."},
		{"unrelated-collapse", map[string]any{"dependency": "gateway", "traffic": "user", "route": "balance", "requests": 200, "failed": 184, "p95_ms": nil, "scrapes_failed": 2},
			"User requests on balance, which do not call gateway, suffered while calls to it hung: 184 of 200 failed. Meanwhile 2 scrapes of its own metrics failed: nobody could look into it."},
	} {
		r := analysis.Report{Findings: []analysis.Finding{{Code: test.code, Target: &target, Values: test.values}}}
		FillSentences(&r)
		if r.Findings[0].Sentence != test.want {
			t.Errorf("%s:\n got %q\nwant %q", test.code, r.Findings[0].Sentence, test.want)
		}
	}
}

// A step that succeeded late is not one that never did.
func TestStepOrderSaysWhatWasLate(t *testing.T) {
	for late, want := range map[int]string{
		0: "“ack” succeeded though “detail” never did.",
		1: "“ack” succeeded though “detail” never did, or had failed and did only afterwards (1).",
		2: "“ack” succeeded though “detail” had failed, and did only afterwards.",
	} {
		sentence, _ := stepOrder(values{"journey": "order", "count": 2, "later": "ack", "missing": "detail", "late": late})
		if !strings.HasSuffix(sentence, want) {
			t.Errorf("%q, want %q at its end", sentence, want)
		}
	}
}
