package views

import (
	"fmt"
	"time"

	"gapless/analysis"
)

// Timeline is the picture of a window, in the coordinates of its SVG: phases across,
// then per target three separate facts, then failures apart by class, blind spots,
// and requests per second. Every count on it is the report's.
type Timeline struct {
	Width, Height       int
	Left, Right, Bottom int // of the plot
	Label               string
	Zoom                *Zoom // nil where no server answers
	Phases              []Bar
	Grid                []string // x of every phase's start
	Ticks               []Tick
	Targets             []TargetLanes
	MoreTargets         string // says that some targets are not drawn
	Events              []EventLane
	Breakers            []BreakerLane
	Blind               []BlindLane
	LabelEnd            int    // where the labels beside the plot end
	LabelShare          string // of the whole width that the labels take
	Rate                RateChart
	Reported            *Flag
	Now                 *Flag  // up to where a window that is open has been seen; nil otherwise
	Start               string // where the deploy starts, as a share of the width; empty where it does not
	from, to            time.Time
}

// Bar is a rectangle; Title is its tooltip.
type Bar struct {
	X, W   string
	Class  string
	Label  string // empty where it would not fit
	LabelX string
	Title  string
	Link   string
}

// Tick is a moment on the axis.
type Tick struct{ X, Label, Title, Anchor string }

// TargetLanes are the three facts of one target: what the load balancer says, when
// it served, and what its application did.
type TargetLanes struct {
	Name  string
	Short string // the name as far as it fits
	Group string
	Y     int // of the first lane
	Lanes []Lane
	Marks []Flag
}

// Lane is a row of bars.
type Lane struct {
	Label  string
	Y      int // top
	TextY  int // baseline of its label
	Bars   []Bar
	Hidden []Bar  // where whoever could have told was blind
	None   string // said where there is nothing to draw
}

// Flag is a moment marked across lanes.
type Flag struct {
	X, Label, Title, Class string
	Y1, Y2                 int
	Anchor                 string // of the label
	LabelX                 string
}

// EventLane is a row of failures of one class, with their number.
type EventLane struct {
	Label, Count string
	None         string // said where the class was not measured
	Class        string // of the marks
	CountClass   string
	Y, TextY     int // of the base line and of the text
	Marks        []EventMark
	Hidden       []Bar // where whoever counts them was blind
}

// EventMark stands for what happened in one column; Path draws it.
type EventMark struct{ Path, Title string }

// BreakerLane is a row of the times in which one target's circuit breaker was not
// closed.
type BreakerLane struct {
	Label, Target           string
	ShortLabel, ShortTarget string // as far as they fit
	Y, TextY                int
	Bars                    []Bar
}

// BlindLane is a row of one source's blind spots.
type BlindLane struct {
	Label, Short, Sub string
	Y, TextY          int
	Bars              []Bar
}

// RateChart is the requests per second of one class, stacked by target.
type RateChart struct {
	Label, Sub  string
	Y, Bottom   int
	TextY       int
	Max, Middle string // of its axis
	MiddleY     int
	Areas       []Area
	Hidden      []Bar // where nothing is known
}

// Area is one target's share of the chart.
type Area struct{ Class, Path, Name, Title string }

const (
	plotRight    = 1356
	plotLeft     = 150 // where the names beside the plot are short
	timelineWide = 1372
	maxColumns   = 300
	maxLanes     = 12 // targets drawn
	laneHeight   = 14
	laneStep     = 20
	axisDigit    = 7 // at most, of a label of 11 px
)

func newTimeline(obs *analysis.Observations, r *analysis.Report, zone *time.Location) Timeline {
	from, to := r.Window.From.Time, r.Window.To.Time
	if from.IsZero() || !to.After(from) {
		from, to = obs.From, obs.To
	}
	now := obs.At
	open := r.Window.State == analysis.WindowOpen && now.After(from) && now.Before(to)
	if open { // what is to come would be most of the picture, and empty
		to = earlier(to, now.Add(ahead(now.Sub(from))))
	}
	s := newScale(from, to, zone)
	t := Timeline{Width: timelineWide, Right: plotRight, from: from, to: to}
	if open {
		s.seen = now
	}
	t.Left = labelColumn(s, r)
	t.LabelEnd, t.LabelShare = t.Left-8, coordinate(float64(t.Left)/timelineWide*100)+"%"
	s.left = float64(t.Left)
	t.phases(s, r)
	y := 54
	t.targets(s, obs, r, &y)
	t.events(s, obs, r, &y)
	t.breakers(s, r, &y)
	t.blind(s, r, &y)
	t.rate(s, obs, r, &y)
	t.Bottom = y
	t.ticks(s)
	t.Height = y + 24
	if reported := r.Deploy.ReportedAt.Time; s.holds(reported) {
		flag := s.flag(reported, reportedAs(r), "rep", 0, t.Bottom)
		t.Reported = &flag
	}
	if open {
		flag := s.flag(now, "now", "now", 40, t.Bottom)
		t.Now = &flag
	}
	if started := r.Deploy.StartedAt.Time; s.holds(started) && started.After(from) {
		t.Start = coordinate(max(s.x(started)-s.left, 0)/timelineWide*100) + "%"
	}
	t.Label = fmt.Sprintf("Timeline from %s to %s: %d phases, %d targets", from.In(zone).Format("15:04:05"), to.In(zone).Format("15:04:05"), len(t.Phases), len(t.Targets))
	return t
}

// ahead is how much time to come the picture of an open window has room for.
func ahead(passed time.Duration) time.Duration { return max(passed/20, time.Second) }

func (t *Timeline) phases(s scale, r *analysis.Report) {
	for i := range r.Phases {
		phase := &r.Phases[i]
		title := phase.Name + ", " + s.span(phase.From.Time, phase.To.Time) + ", " + seconds(phase.From.Time, phase.To.Time)
		if s.seen.Before(phase.To.Time) && s.seen.Before(s.to) {
			title = phase.Name + ", since " + phase.From.In(s.zone).Format("15:04:05")
		}
		if phase.Inferred {
			title += ", inferred"
		}
		bar := s.bar(phase.From.Time, phase.To.Time, "ph "+phaseClass(phase.Kind), title)
		if fits(phase.Name, bar.W) {
			bar.Label = phase.Name
		}
		t.Phases = append(t.Phases, bar)
		if i > 0 {
			t.Grid = append(t.Grid, bar.X)
		}
	}
}

func phaseClass(kind string) string {
	switch kind {
	case "build", "boot", "register":
		return "ph-u"
	case "drain", "overlap":
		return "ph-d"
	case "restart", "down", "stop":
		return "ph-r"
	case "back", "switch":
		return "ph-k"
	}
	return "ph-b"
}

// ticks puts between four and a dozen round moments on the axis.
func (t *Timeline) ticks(s scale) {
	whole := s.to.Sub(s.from)
	if whole <= 0 {
		return
	}
	step := roundStep(whole)
	layout := "15:04"
	if step < time.Minute {
		layout = "15:04:05"
	}
	if step < time.Second {
		layout = "15:04:05.00"
	}
	_, offset := s.from.In(s.zone).Zone()
	shift := time.Duration(offset) * time.Second
	for at := s.from.Add(shift).Truncate(step).Add(-shift); !at.After(s.to) && len(t.Ticks) < 400; at = at.Add(step) {
		if at.Before(s.from) {
			continue
		}
		tick := Tick{X: coordinate(s.x(at)), Label: at.In(s.zone).Format(layout), Title: at.UTC().Format(utcLayout), Anchor: "middle"}
		if s.x(at)+axisDigit*float64(len(layout))/2 > timelineWide {
			tick.Anchor = "end"
		}
		t.Ticks = append(t.Ticks, tick)
	}
}

// roundStep is a round length of time that fits at most eleven times into a whole.
func roundStep(whole time.Duration) time.Duration {
	for _, each := range []time.Duration{10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond,
		500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
		time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour} {
		if whole/each <= 11 {
			return each
		}
	}
	return 24 * time.Hour
}
