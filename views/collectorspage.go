package views

import (
	"strings"
	"time"

	"gapless/analysis"
)

// kindPublish is the kind of what tells markers to others, among the sources.
const kindPublish = "publish"

// CollectorStatus is how one source of evidence fares.
type CollectorStatus struct {
	Service, Source, Kind string
	LastRun, LastSuccess  time.Time
	LastError, LastCode   string
	LastErrorAt           time.Time
	Rows, Objects         int64
	Lines, SetAside       int64
	PartialObjects        int64
	Waiting, Dropped      int64 // markers for others, of kind publish
	LastEvidence          time.Time
	Ended                 bool           // it has seen all that it was to see
	Holes                 []analysis.Run // failed runs, newest first
	SetAsideLines         []SetAsideLine
}

// SetAsideLine is a line that was not understood.
type SetAsideLine struct {
	Object, Reason, Detail, Kind string
	Line                         int
	Offset                       int64
	Raw                          string
}

// CollectorsPage lists every source of evidence with its lag, last error and holes.
type CollectorsPage struct {
	Shell      Shell
	Collectors []CollectorView
	Summary    string
	StreamURL  string
}

// CollectorView is one source.
type CollectorView struct {
	Service, Source, Kind string
	Class, Icon, State    string // ok, warn or bad, said in words too
	LastRun, Evidence     Stamp
	Lag, LagTitle         string
	Volume                string // empty: nothing was read
	Error                 string
	ErrorAt               Stamp
	Holes                 Table
	SetAside              Table
	ObjectsURL            string // empty where the source has no objects
	LinesURL              string // empty where every line was understood
}

// NewCollectorsPage says how the sources fare as of a moment.
func NewCollectorsPage(collectors []CollectorStatus, now time.Time, zone *time.Location) CollectorsPage {
	page := CollectorsPage{StreamURL: "/collectors/stream"}
	well := 0
	for i := range collectors {
		view := collectorView(&collectors[i], now, zone)
		if view.Class == "ok" {
			well++
		}
		page.Collectors = append(page.Collectors, view)
	}
	page.Summary = Count(well) + " of " + plural(len(collectors), "source", "sources") + " well"
	return page
}

// lag says how far evidence is behind a moment. Evidence from the future means that
// the source's clock is ahead of ours, which is not the same as being up to date.
func lag(evidence, now time.Time) (text, title string) {
	behind := now.Sub(evidence).Seconds()
	switch {
	case evidence.IsZero():
		return Missing, "it has brought nothing yet"
	case behind < 0:
		return Seconds(-behind) + " ahead", "its newest evidence is dated after this console's clock: the source's clock is ahead"
	}
	return Seconds(behind), ""
}

func collectorView(c *CollectorStatus, now time.Time, zone *time.Location) CollectorView {
	view := CollectorView{Service: c.Service, Source: c.Source, Kind: c.Kind, Class: "ok", Icon: "✓", State: "well",
		LastRun: dateClock(c.LastRun, zone), Evidence: dateClock(c.LastEvidence, zone), Lag: Missing}
	view.Lag, view.LagTitle = lag(c.LastEvidence, now)
	switch {
	case c.Ended && !c.LastErrorAt.After(c.LastSuccess):
		view.State, view.Icon, view.Lag, view.LagTitle = "ended", "■", Missing, "it has seen all that it was to see"
	case c.LastRun.IsZero() && c.Waiting > 0:
		view.Class, view.Icon, view.State = "warn", "…", "has told nothing yet"
	case c.LastRun.IsZero():
		view.Class, view.Icon, view.State = "warn", "…", "has not run yet"
	case c.LastErrorAt.After(c.LastSuccess):
		view.Class, view.Icon, view.State = "bad", "✕", "failing"
		if c.LastCode != "" {
			view.State += ": " + spoken(c.LastCode)
		}
	case c.Dropped > 0:
		view.Class, view.Icon, view.State = "warn", "!", "well, with markers dropped"
	case c.SetAside > 0 || c.PartialObjects > 0:
		view.Class, view.Icon, view.State = "warn", "!", "well, with lines set aside"
		if c.SetAside == 0 {
			view.State = "well, with objects cut short"
		}
	}
	if c.Objects > 0 {
		view.ObjectsURL = sourceURL("objects", c.Service, c.Source, 1)
	}
	if c.SetAside > 0 {
		view.LinesURL = sourceURL("lines", c.Service, c.Source, 1)
	}
	if c.LastError != "" {
		view.Error, view.ErrorAt = Short(c.LastError, 600), dateClock(c.LastErrorAt, zone)
	}
	var volume []string
	add := func(n int64, one, many string) {
		if n > 0 {
			volume = append(volume, plural(int(n), one, many))
		}
	}
	add(c.Objects, "object", "objects")
	add(c.Lines, "line", "lines")
	if c.Kind == kindPublish {
		add(c.Rows, "marker told", "markers told")
	} else {
		add(c.Rows, "row", "rows")
	}
	add(c.Waiting, "marker waiting", "markers waiting")
	add(c.Dropped, "marker dropped", "markers dropped")
	add(c.SetAside, "line not understood", "lines not understood")
	add(c.PartialObjects, "object cut short", "objects cut short")
	view.Volume = strings.Join(volume, ", ")
	view.Holes = Table{Caption: "Failed runs of " + c.Source, Columns: []Cell{left("at"), left("missed from"), left("to"), left("why"), left("error")}}
	for _, hole := range c.Holes {
		view.Holes.Rows = append(view.Holes.Rows, Row{Cells: []Cell{at(dateClock(hole.At, zone)), at(clock(hole.From, zone)), at(clock(hole.To, zone)), left(spoken(hole.Code)), left(Short(hole.Error, 300))}})
	}
	view.SetAside = Table{Caption: "Lines of " + c.Source + " that were not understood", Columns: []Cell{left("object"), right("line"), left("why"), left("text")}}
	for _, line := range c.SetAsideLines {
		why := spoken(line.Reason)
		if line.Detail != "" {
			why += ": " + Short(line.Detail, 120)
		}
		view.SetAside.Rows = append(view.SetAside.Rows, Row{Cells: []Cell{{Text: Short(line.Object, 60), Title: line.Object, Class: "l brk"}, right(Count(line.Line)), left(why), {Text: visible([]byte(line.Raw), 200), Class: "l brk", Code: true}}})
	}
	return view
}
