package views

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
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

// scale places moments on the x axis and into columns of equal length.
type scale struct {
	from, to time.Time     // the picture
	seen     time.Time     // nothing is known of the time after it
	first    time.Time     // where the first column begins
	step     time.Duration // of one column
	columns  int
	zone     *time.Location
	left     float64 // x of the plot's left edge
}

// newScale has the finest columns that the picture can show.
func newScale(from, to time.Time, zone *time.Location) scale {
	step := max((to.Sub(from)+maxColumns-1)/maxColumns, time.Millisecond)
	return scale{from: from, to: to, seen: to, first: from, step: step, columns: max(int((to.Sub(from)+step-1)/step), 1), zone: zone, left: plotLeft}
}

// wholeSeconds has columns of whole seconds, so that what is counted by the second
// falls evenly into them. They begin with the first second that starts in the window,
// which is where counting by the second begins; the last column may be cut short.
func (s scale) wholeSeconds() scale {
	s.step = max((s.to.Sub(s.from)/maxColumns + time.Second - 1).Truncate(time.Second), time.Second)
	s.first = s.from.Add(time.Second - 1).Truncate(time.Second)
	s.columns = max(int((s.to.Sub(s.first)+s.step-1)/s.step), 1)
	return s
}

func (s scale) share(t time.Time) float64 {
	whole := s.to.Sub(s.from)
	if whole <= 0 {
		return 0
	}
	return min(max(float64(t.Sub(s.from))/float64(whole), 0), 1)
}

func (s scale) x(t time.Time) float64 { return s.left + (plotRight-s.left)*s.share(t) }

// holds says whether t lies in the picture.
func (s scale) holds(t time.Time) bool { return !t.Before(s.from) && !t.After(s.to) }

// column is the column that t falls into, or -1 outside the window.
func (s scale) column(t time.Time) int {
	if t.Before(s.first) || !t.Before(s.to) {
		return -1
	}
	return min(int(t.Sub(s.first)/s.step), s.columns-1)
}

// columnStart is where a column begins, and where the one before it ends.
func (s scale) columnStart(i int) time.Time {
	return earlier(s.first.Add(time.Duration(i)*s.step), s.to)
}

// columnSeconds is how many seconds begin in a column and in the window: a second
// that has begun is counted whole.
func (s scale) columnSeconds(i int) float64 {
	return max(math.Ceil(s.columnStart(i+1).Sub(s.columnStart(i)).Seconds()), 1)
}

// bar draws [from, to) as far as it has been seen, at least a pixel and a half wide so
// that nothing vanishes.
func (s scale) bar(from, to time.Time, class, title string) Bar {
	x := s.x(from)
	if s.seen.Before(s.to) && !from.Before(s.seen) {
		return Bar{X: coordinate(s.x(s.seen)), W: "0", Class: class, Title: title, LabelX: coordinate(s.x(s.seen))}
	}
	to = earlier(to, s.seen)
	w := max(s.x(to)-x, 1.5)
	return Bar{X: coordinate(x), W: coordinate(min(w, plotRight-min(x, plotRight-1.5))), Class: class, Title: title, LabelX: coordinate(x + w/2)}
}

func (s scale) span(from, to time.Time) string {
	return from.In(s.zone).Format("15:04:05") + "–" + to.In(s.zone).Format("15:04:05")
}

func coordinate(v float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
}

// fits says whether a label of 11.5 px fits into a width.
func fits(label, width string) bool {
	w, err := strconv.ParseFloat(width, 64)
	return err == nil && float64(len([]rune(label)))*6.3+8 <= w
}

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

// flag marks a moment, with its label on the side that has room.
func (s scale) flag(t time.Time, label, class string, y1, y2 int) Flag {
	x := s.x(t)
	f := Flag{X: coordinate(x), Label: label, Class: class, Y1: y1, Y2: y2, Anchor: "start", LabelX: coordinate(x + 5),
		Title: label + " " + t.In(s.zone).Format("15:04:05.000")}
	if x > plotRight-120 {
		f.Anchor, f.LabelX = "end", coordinate(x-5)
	}
	return f
}

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

func (t *Timeline) targets(s scale, obs *analysis.Observations, r *analysis.Report, y *int) {
	served := servedColumns(s, obs)
	for i := range r.Targets {
		if i == maxLanes {
			t.MoreTargets = plural(len(r.Targets)-maxLanes, "more target is", "more targets are") + " in the tables below"
			break
		}
		target := &r.Targets[i]
		lanes := TargetLanes{Name: target.Target, Group: target.TargetGroup, Y: *y}
		lanes.Short = fit(target.Target, t.LabelEnd-labelX-laneLabel, nameDigit)
		who := witnessesOf(&obs.Service, target)
		lanes.add(Lane{Label: "LB says", Bars: stateBars(s, obs, target), Hidden: s.hidden(r, who.states), None: "not polled"})
		lanes.add(Lane{Label: "serves", Bars: servedBars(s, served[target.Target], silentColumns(s, r, target.Target)),
			Hidden: append(s.uncounted(obs, served[target.Target]), s.hidden(r, who.serves)...), None: "served nothing that was seen"})
		app := Lane{Label: "app", Hidden: s.hidden(r, who.app), None: notMeasured}
		if appKnown(obs, r, target.Target) {
			app.Bars = appBars(s, r, target.Target)
		}
		lanes.add(app)
		for _, step := range r.Steps {
			if step.Target == nil || *step.Target != target.Target || step.Ignored || !marked(step.Kind) || !s.holds(step.At.Time) {
				continue
			}
			flag := s.flag(step.At.Time, word(stepWords, step.Kind), "mark", *y-4, *y+2*laneStep+laneHeight+3)
			if step.Inferred {
				flag.Title += " (inferred)"
			}
			lanes.Marks = append(lanes.Marks, flag)
		}
		t.Targets = append(t.Targets, lanes)
		*y += 78
	}
}

func marked(kind analysis.StepKind) bool {
	switch kind {
	case analysis.StepDrainMarked, analysis.StepTargetDeregistered, analysis.StepRestartBegan, analysis.StepProcessKilled:
		return true
	}
	return false
}

func (l *TargetLanes) add(lane Lane) {
	lane.Y = l.Y + len(l.Lanes)*laneStep
	lane.TextY = lane.Y + 11
	l.Lanes = append(l.Lanes, lane)
}

// stateBars are the polled states: each holds until the next poll, unless the next one
// came later than three intervals, which nobody can know.
func stateBars(s scale, obs *analysis.Observations, target *analysis.TargetReport) []Bar {
	every := map[string]time.Duration{}
	for _, balancer := range obs.Service.LoadBalancers {
		for _, group := range balancer.TargetGroups {
			for _, source := range group.States {
				every[source.Name] = source.Every
			}
		}
	}
	var samples []analysis.StateSample
	for _, sample := range obs.States {
		if sample.Target == target.Target && (target.TargetGroup == "" || sample.TargetGroup == "" || sample.TargetGroup == target.TargetGroup) {
			samples = append(samples, sample)
		}
	}
	slices.SortStableFunc(samples, func(a, b analysis.StateSample) int { return a.At.Compare(b.At) })
	var bars []Bar
	for i := 0; i < len(samples); {
		first := samples[i]
		until := first.At
		for ; i < len(samples) && samples[i].State == first.State && samples[i].Reason == first.Reason; i++ {
			until = samples[i].At
			next := s.seen
			if i+1 < len(samples) {
				next = samples[i+1].At
			}
			limit := 3 * every[first.Source]
			if limit > 0 && next.Sub(samples[i].At) > limit {
				if i+1 < len(samples) {
					i++
				} else {
					until = earlier(s.seen, until.Add(every[first.Source]))
					i++
				}
				break
			}
			until = next
		}
		if !until.After(s.from) || !first.At.Before(s.to) {
			continue
		}
		title := string(first.State)
		if first.Reason != "" {
			title += " (" + first.Reason + ")"
		}
		bar := s.bar(first.At, until, stateClass(first.State), title+", polled "+s.span(first.At, until))
		if !first.State.InRotation() && fits(string(first.State), bar.W) {
			bar.Label = string(first.State)
		}
		bars = append(bars, bar)
	}
	return bars
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func stateClass(state analysis.TargetState) string {
	switch {
	case state.InRotation():
		return "up"
	case state == analysis.StateDraining || state == analysis.StateUnhealthyDraining:
		return "drain"
	}
	return "out"
}

// servedColumns are, per target, the columns of time in which it answered a request
// that came through the load balancer.
func servedColumns(s scale, obs *analysis.Observations) map[string][]bool {
	columns := map[string][]bool{}
	serve := func(target string, at time.Time) {
		i := s.column(at)
		if i < 0 || target == "" {
			return
		}
		if columns[target] == nil {
			columns[target] = make([]bool, s.columns)
		}
		columns[target][i] = true
	}
	for i := range obs.Cells {
		cell := &obs.Cells[i]
		if cell.TargetStatus == 0 {
			continue
		}
		if cell.First.IsZero() {
			serve(cell.Target, time.Unix(cell.Second, 0))
			continue
		}
		// Between the first and the last request of a second it served.
		last := earlier(cell.Last, time.Unix(cell.Second+1, 0))
		for at := cell.First; cell.Count > 1 && at.Before(last); at = at.Add(s.step) {
			serve(cell.Target, at)
		}
		serve(cell.Target, cell.First)
	}
	for i := range obs.Handled {
		if handled := &obs.Handled[i]; !handled.Begun {
			serve(handled.Target, handled.At)
		}
	}
	for i := range obs.Probes {
		if probe := &obs.Probes[i]; probe.Status > 0 {
			serve(probe.Target, probe.Done)
		}
	}
	return columns
}

// silentColumns are the columns that lie wholly between the last request that a
// target served before a stop and the first one after it.
func silentColumns(s scale, r *analysis.Report, name string) []bool {
	silent := make([]bool, s.columns)
	for _, target := range r.Targets {
		if target.Target != name || target.LastServedAt.IsZero() || target.FirstServedAt.IsZero() {
			continue
		}
		for i := range silent {
			start, end := s.first.Add(time.Duration(i)*s.step), s.first.Add(time.Duration(i+1)*s.step)
			silent[i] = silent[i] || start.After(target.LastServedAt.Time) && end.Before(target.FirstServedAt.Time)
		}
	}
	return silent
}

// servedBars joins columns in which the target served. Empty columns part them only
// where there are more than twice the target's usual pause (97th percentile), at most
// two seconds' worth: a quiet moment is not an outage.
// The judge's own silences part them always.
func servedBars(s scale, served, silent []bool) []Bar {
	served = slices.Clone(served)
	for i := range served {
		served[i] = served[i] && !silent[i]
	}
	var pauses []int
	last := -1
	for i, yes := range served {
		if yes && last >= 0 {
			pauses = append(pauses, i-last-1)
		}
		if yes {
			last = i
		}
	}
	slices.Sort(pauses)
	bridge := 0
	if len(pauses) > 0 {
		bridge = min(2*pauses[(len(pauses)-1)*97/100]+1, int(2*time.Second/s.step))
	}
	var bars []Bar
	for i := 0; i < len(served); i++ {
		if !served[i] {
			continue
		}
		last := i
		for j := i; j < len(served) && j <= last+bridge+1 && !silent[j]; j++ {
			if served[j] {
				last = j
			}
		}
		from, to := s.columnStart(i), s.columnStart(last+1)
		bars = append(bars, s.bar(from, to, "sv", "served "+s.span(from, to)))
		i = last
	}
	return bars
}

// appBars are what the application did, by the steps of the report: serving,
// leaving, down. Steps before the picture decide what it begins with. Of an
// application that is first heard of when it is ready nothing is drawn before that.
func appBars(s scale, r *analysis.Report, target string) []Bar {
	var bars []Bar
	class, from, why := "app", s.from, "no stop seen"
	if firstIsReady(r, target) {
		class = ""
	}
	change := func(next string, at time.Time, what string) {
		if next == class {
			return
		}
		if at.After(from) {
			if class != "" {
				bars = append(bars, appBar(s, class, from, at))
			}
			from = at
		}
		class, why = next, what
	}
	for _, step := range r.Steps {
		if step.Target == nil || *step.Target != target || step.Ignored || !step.At.Before(s.seen) {
			continue
		}
		switch step.Kind {
		case analysis.StepDrainMarked, analysis.StepTargetDeregistered:
			if class == "app" || class == "" {
				change("drain", step.At.Time, "")
			}
		case analysis.StepRestartBegan, analysis.StepProcessKilled:
			change("down", step.At.Time, "")
		case analysis.StepAppReady:
			change("app", step.At.Time, "")
		}
	}
	if s.seen.After(from) && class != "" {
		bar := appBar(s, class, from, s.seen)
		if why != "" && len(bars) == 0 {
			bar.Title = why
		}
		bars = append(bars, bar)
	}
	return bars
}

// firstIsReady reports whether the first step that tells of a target's application
// is that it was ready.
func firstIsReady(r *analysis.Report, target string) bool {
	for _, step := range r.Steps {
		if step.Target == nil || *step.Target != target || step.Ignored {
			continue
		}
		switch step.Kind {
		case analysis.StepAppReady:
			return true
		case analysis.StepDrainMarked, analysis.StepTargetDeregistered, analysis.StepRestartBegan, analysis.StepProcessKilled:
			return false
		}
	}
	return false
}

func appBar(s scale, class string, from, to time.Time) Bar {
	words := map[string]string{"app": "up", "drain": "draining", "down": "down"}
	bar := s.bar(from, to, class, words[class]+" "+s.span(from, to)+", "+seconds(from, to))
	if class != "app" && fits(words[class], bar.W) {
		bar.Label = words[class]
	}
	return bar
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
