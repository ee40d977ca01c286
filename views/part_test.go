package views

import (
	"strings"
	"testing"
	"time"

	"gapless/analysis"
)

// part makes the fixture's report one about the restart of api-1 alone.
func part(t *testing.T) (analysis.Observations, analysis.Report) {
	obs, r := lossy(t)
	r.Phases = r.Phases[3:4]
	r.Window.PartOf = &analysis.Span{From: r.Window.From, To: r.Window.To}
	r.Window.From, r.Window.To = r.Phases[0].From, r.Phases[0].To
	return obs, r
}

func TestPartIsMarkedAndLeadsBack(t *testing.T) {
	page := NewDeployPage(must(part(t)))
	html := render(t, Deploy(page))
	for _, want := range []string{"Part of the window", `href="/deploys/812">Back to the whole window`,
		`href="/deploys/812/phases.csv?from=2026-10-14T06%3A34%3A36Z&amp;to=2026-10-14T06%3A34%3A54Z"`,
		`href="/api/v1/deploys/812/report?from=`, `sse-connect="/deploys/812/stream?from=`} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if page.Part.Length != "18\u00a0s of 26\u00a0min" {
		t.Errorf("the part is %q", page.Part.Length)
	}
	whole := render(t, Deploy(NewDeployPage(must(lossy(t)))))
	if strings.Contains(whole, "Part of the window") {
		t.Error("the whole window is said to be a part")
	}
	if want := `href="/deploys/812?from=2026-10-14T06%3A34%3A36Z&amp;to=2026-10-14T06%3A34%3A54Z"`; !strings.Contains(whole, want) {
		t.Errorf("no phase leads to its own page: %s", want)
	}
}

// A target that went down before the part began is down where it begins, and marks
// that lie outside are not drawn at its edge.
func TestPartKnowsWhatHappenedBefore(t *testing.T) {
	obs, r := part(t)
	r.Window.From.Time = r.Window.From.Add(5 * time.Second)
	timeline := newTimeline(&obs, &r, seoul)
	app := timeline.Targets[0].Lanes[2]
	if len(app.Bars) != 1 || app.Bars[0].Class != "down" {
		t.Errorf("the application of %s reads %+v", timeline.Targets[0].Name, app.Bars)
	}
	if len(timeline.Targets[0].Marks)+len(timeline.Targets[1].Marks) != 0 || timeline.Reported != nil {
		t.Errorf("moments outside of the part are marked: %+v, %+v", timeline.Targets, timeline.Reported)
	}
	if len(timeline.Ticks) < 4 {
		t.Errorf("%d ticks", len(timeline.Ticks))
	}
}

func TestZoomKnowsThePlotsEdges(t *testing.T) {
	page := NewDeployPage(must(lossy(t)))
	if want := (Zoom{"/deploys/812", "1791959100000", "1791960685800"}); page.Timeline.Zoom == nil || *page.Timeline.Zoom != want {
		t.Errorf("got %+v, want %+v", page.Timeline.Zoom, want)
	}
	for i, bar := range page.Timeline.Phases {
		if link := page.Phases.Rows[i].Cells[0].Link; link == "" || link != bar.Link {
			t.Errorf("phase %d: the table leads to %q, the picture to %q", i, link, bar.Link)
		}
	}
}
