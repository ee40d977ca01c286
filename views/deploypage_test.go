package views

import (
	"bytes"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"gapless/analysis"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestDeployPageOfTheFirstReport(t *testing.T) {
	page := NewDeployPage(must(firstReport(t)))
	if got, want := page.Verdict.Sentence, "None of 25,212 user requests failed. None of 7,799 probe requests failed."; got != want {
		t.Errorf("verdict: got %q, want %q", got, want)
	}
	// The table of the published report, by phase: requests, failures, latencies, by target.
	for i, want := range []string{
		"baseline 15:25:00 300 s|1,570 0 107 / 206 / 1,981 761 · 809", "build 15:30:00 152 s|740 0 104 / 157 / 387 372 · 368",
		"api-1 drain 15:32:32 124 s|591 0 113 / 357 / 1,115 101 · 490", "api-1 restart 15:34:36 18 s|89 0 112 / 148 / 149 0 · 89",
		"api-1 back 15:34:54 232 s|1,093 0 111 / 331 / 5,255 421 · 672", "api-2 drain 15:38:46 121 s|563 0 92 / 195 / 335 460 · 103",
		"api-2 restart 15:40:47 19.4 s|97 0 91 / 232 / 274 97 · 0", "api-2 back 15:41:06 13.6 s|67 0 109 / 163 / 170 67 · 0",
		"tail 15:41:20 606 s|2,989 0 110 / 281 / 703 1,583 · 1,406",
	} {
		cells := texts(page.Phases.Rows[i])
		if got := strings.Join(cells[:3], " ") + "|" + strings.Join(cells[7:], " "); got != want {
			t.Errorf("phase %d: got %q, want %q", i, got, want)
		}
	}
	if got := strings.Join(texts(*page.Phases.Foot)[7:], " "); got != "7,799 0 109 / 257 / 5,255 3,862 · 3,937" {
		t.Errorf("totals: %q", got)
	}
	for label, want := range map[string]string{
		"drain mark → last served": "≥ 42 s, ≥ 55 s, 30–65 s", "last served → stop": "79.5 s, 64.7 s, ", "ready → first request": "51.6 s, 36.2 s, 30–65 s",
		"state lag, up": "+85.5 … +91 s, +102 … +107 s, ", "reported → first served": "−441 s, +22.6 s, ",
	} {
		if got := strings.Join(texts(row(t, page.Targets, label))[1:], ", "); got != want {
			t.Errorf("%s: got %q, want %q", label, got, want)
		}
	}
	if note := page.Phases.Note; !strings.Contains(note, "known to their second only") {
		t.Errorf("the phases' note: %q", note)
	}
	if page.StreamURL != "" {
		t.Errorf("a sealed page streams from %s", page.StreamURL)
	}
	if page.RuleCounts != "3 findings · 12 rules clear · 3 not evaluable" {
		t.Errorf("rules: %q", page.RuleCounts)
	}
}

func TestDeployPageOfALoss(t *testing.T) {
	page := NewDeployPage(must(lossy(t)))
	if page.StreamURL != "/deploys/812/stream" {
		t.Errorf("an open page streams from %q", page.StreamURL)
	}
	if got := page.Causes; got != "users 3 (3 deploy) · probes 2 (2 deploy) · health 44 on purpose" {
		t.Errorf("causes: %q", got)
	}
	var got []string
	for _, row := range page.Failures.Rows {
		got = append(got, strings.Join(texts(row), " "))
	}
	if want := "15:34:37.213 users 503 / – load balancer GET /v1/pos/poll api-1 api-1 restart deploy"; len(got) != 5 || got[0] != want {
		t.Errorf("failures: got %q, want five, the first %q", got, want)
	}
	if got := texts(page.Windows.Rows[0])[3]; got != "4.16 … 4.9 s" {
		t.Errorf("failure window: %q", got)
	}
	events := map[string]string{}
	for _, lane := range page.Timeline.Events {
		events[lane.Label] = lane.Count
	}
	if events["users"] != "3" || events["probes"] != "2" || events["health drain"] != "44" {
		t.Errorf("lanes: %v", events)
	}
}

// What does not fit on the page is one step away, where there is a server.
func TestMoreFailuresLeadToTheFile(t *testing.T) {
	obs, r := big()
	page := NewDeployPage(obs, r, time.UTC)
	want := `<a href="/deploys/big/failures.csv" download>` + page.Failures.More
	if html := render(t, Deploy(page)); page.Failures.More == "" || !strings.Contains(html, want) {
		t.Errorf("no link %s", want)
	}
	if html := render(t, Standalone(page)); !strings.Contains(html, page.Failures.More) || strings.Contains(html, "failures.csv") {
		t.Error("the file by itself leads to a server, or does not say how many more there are")
	}
}

func TestClassesAreNotSummedAndNotMeasuredIsNotZero(t *testing.T) {
	obs, r := firstReport(t)
	r.Totals[analysis.ClassUser] = nil
	for i := range r.Phases {
		r.Phases[i].Traffic[analysis.ClassUser] = nil
	}
	page := NewDeployPage(obs, r, seoul)
	if strings.Contains(page.Phases.Note, "known to their second") {
		t.Errorf("users that were not measured: %q", page.Phases.Note)
	}
	if got := strings.Join(texts(*page.Phases.Foot)[3:7], " "); got != "– – – –" {
		t.Errorf("users that were not measured read %q", got)
	}
	if got := page.Timeline.Events[0]; got.Count != Missing || got.None != "not measured" {
		t.Errorf("their lane reads %+v", got)
	}
	if page.Timeline.Rate.Label != "probes/s" {
		t.Errorf("the chart is of %s", page.Timeline.Rate.Label)
	}
}

func TestEmptyReportRenders(t *testing.T) {
	page := NewDeployPage(analysis.Observations{}, analysis.Report{}, time.UTC)
	if html := render(t, Deploy(page)); !strings.Contains(html, "Not judged yet") {
		t.Error("an empty report does not say that it is not judged")
	}
}

func TestHostileTextIsEscaped(t *testing.T) {
	obs, r := lossy(t)
	evil := `"><script>alert(1)</script><img src=x onerror=alert(1)>`
	r.Deploy.ID, r.Deploy.Service, r.Deploy.Actor, r.Deploy.VersionAfter = evil, evil, &evil, &evil
	url := "javascript:alert(1)"
	r.Deploy.URL = &url
	r.Phases[0].Name, r.Targets[0].Target, r.Steps[2].Target = evil, evil, &evil
	r.Findings[0].Target, r.Findings[0].Code = &evil, evil
	r.Coverage[2].Blind[0].Detail, r.Coverage[0].Source = evil, evil
	obs.Requests[0].URL, obs.Requests[0].Method = evil, evil
	r.Failures[0].Request, r.Failures[0].Target, r.Failures[1].Phase, r.Failures[1].Cause = evil, &evil, &evil, analysis.Cause(evil)
	page := NewDeployPage(obs, r, seoul)
	html := render(t, Deploy(page))
	if strings.Contains(html, "<script>alert") || strings.Contains(html, "<img") || strings.Contains(html, "javascript:") {
		t.Error("hostile text reached the page unescaped")
	}
	if regexp.MustCompile(`\s(style|on[a-z]+)="`).MatchString(strings.ReplaceAll(html, "&#34;", "")) {
		t.Error("the page has an inline style or handler")
	}
}

func TestFailuresAreBounded(t *testing.T) {
	obs, r := big()
	page := NewDeployPage(obs, r, seoul)
	if len(page.Failures.Rows) != maxFailures || page.Failures.More != "and 6,940 more" {
		t.Errorf("%d rows, %q", len(page.Failures.Rows), page.Failures.More)
	}
}

// The budget of a page: 300 KB for a window of thirty minutes with 40,000 cells.
func TestBigPageFitsItsBudget(t *testing.T) {
	obs, r := big()
	if html := render(t, Deploy(NewDeployPage(obs, r, seoul))); len(html) > 300_000 {
		t.Errorf("the page has %d bytes", len(html))
	}
}

func BenchmarkDeployPage(b *testing.B) {
	obs, r := big()
	b.ReportAllocs()
	for b.Loop() {
		var out bytes.Buffer
		if err := Deploy(NewDeployPage(obs, r, seoul)).Render(b.Context(), &out); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(out.Len())/1000, "KB/page")
	}
}

func TestTimelineGolden(t *testing.T) {
	obs, r := lossy(t)
	golden(t, "testdata/timeline.svg", render(t, TimelineSVG(newTimeline(&obs, &r, seoul))))
}

func TestDeployLiveGolden(t *testing.T) {
	obs, r := lossy(t)
	html := render(t, DeployLive(NewDeployPage(obs, r, seoul)))
	golden(t, "testdata/deploy.html", regexp.MustCompile(`(?s)<svg class="timeline".*?</svg>`).ReplaceAllString(html, "<svg/>"))
}

func TestStandaloneNeedsNoServer(t *testing.T) {
	html := render(t, Standalone(NewDeployPage(must(lossy(t)))))
	if regexp.MustCompile(`(src|href)="[^#]`).MatchString(strings.ReplaceAll(html, `href="https://ci.example.com/runs/812"`, "")) || strings.Contains(html, "sse-connect") {
		t.Error("the file points at something outside itself")
	}
}

func must(obs analysis.Observations, r analysis.Report) (analysis.Observations, analysis.Report, *time.Location) {
	return obs, r, seoul
}

func render(t testing.TB, component templ.Component) string {
	t.Helper()
	var out bytes.Buffer
	if err := component.Render(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func texts(row Row) []string {
	var texts []string
	for _, cell := range row.Cells {
		text := cell.Text
		if cell.Stamp != nil {
			text = cell.Stamp.Text
		}
		texts = append(texts, text)
	}
	return texts
}

func row(t *testing.T, table Table, label string) Row {
	t.Helper()
	for _, row := range table.Rows {
		if row.Cells[0].Text == label {
			return row
		}
	}
	t.Fatalf("there is no row %q", label)
	return Row{}
}

// golden compares markup, one element a line, with a file.
func golden(t *testing.T, path, markup string) {
	t.Helper()
	got := regexp.MustCompile(`\s*(<[^/])`).ReplaceAllString(markup, "\n$1")
	got = strings.TrimSpace(got) + "\n"
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		gotLines, wantLines := strings.Split(got, "\n"), strings.Split(string(want), "\n")
		for i := range min(len(gotLines), len(wantLines)) {
			if gotLines[i] != wantLines[i] {
				t.Fatalf("%s, line %d (run with -update after a change that is meant):\n got %s\nwant %s", path, i+1, gotLines[i], wantLines[i])
			}
		}
		t.Fatalf("%s: %d lines, want %d", path, len(gotLines), len(wantLines))
	}
}
