package views

import (
	"slices"
	"strconv"
	"time"

	"gapless/analysis"
)

// PartView says that a page is about a part of a window, and leads back.
type PartView struct {
	From, To Stamp
	Length   string // "18 s of 22 min"
	WholeURL string // empty where no server answers
}

func partView(r *analysis.Report, zone *time.Location) *PartView {
	whole := r.Window.PartOf
	if whole == nil {
		return nil
	}
	return &PartView{From: clockMilli(r.Window.From.Time, zone), To: clockMilli(r.Window.To.Time, zone), WholeURL: DeployURL(r.Deploy.ID),
		Length: tied(length(r.Window.To.Sub(r.Window.From.Time)) + " of " + length(whole.To.Sub(whole.From.Time)))}
}

// Zoom is what the timeline's script needs to turn a drag into an address: the page's
// own address without its query, and the moments at the plot's edges in milliseconds
// since 1970.
type Zoom struct{ Path, From, To string }

func zoomOf(path string, from, to time.Time) *Zoom {
	millis := func(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMicro())/1000, 'f', -1, 64) }
	return &Zoom{Path: path, From: millis(from), To: millis(to)}
}

// linkPhases makes every phase, in the table and in the picture, a link to the page
// of that phase alone; not one that is all there is.
func (p *DeployPage) linkPhases(r *analysis.Report) {
	if p.path == "" {
		return
	}
	p.Timeline.Zoom = zoomOf(p.path, p.Timeline.from, p.Timeline.to)
	if len(r.Phases) < 2 {
		return
	}
	for i := range r.Phases {
		link := p.path + "?" + spanQuery(r.Phases[i].From.Time, r.Phases[i].To.Time)
		p.Timeline.Phases[i].Link = link
		cell := &p.Phases.Rows[i].Cells[0]
		cell.Link = link
		if cell.Title == "" {
			cell.Title = "judge this phase alone"
		}
	}
}

// unlinkPhases is for a page that no server stands behind.
func (p *DeployPage) unlinkPhases() {
	p.Timeline.Zoom = nil
	p.Timeline.Phases = slices.Clone(p.Timeline.Phases)
	for i := range p.Timeline.Phases {
		p.Timeline.Phases[i].Link = ""
	}
	p.Phases.Rows = slices.Clone(p.Phases.Rows)
	for i := range p.Phases.Rows {
		cells := slices.Clone(p.Phases.Rows[i].Cells)
		cells[0].Link = ""
		p.Phases.Rows[i].Cells = cells
	}
}

// CSVURL is where a table of the page can be had as a file; empty where no server
// answers.
func (p DeployPage) CSVURL(table string) string {
	if p.path == "" {
		return ""
	}
	if p.query == "" {
		return p.path + "/" + table + ".csv"
	}
	return p.path + "/" + table + ".csv?" + p.query
}
