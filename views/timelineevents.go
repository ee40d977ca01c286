package views

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gapless/analysis"
)

// countingSources are the access logs that count users.
func countingSources(service *analysis.Service) map[string]bool {
	sources := map[string]bool{}
	for _, balancer := range service.LoadBalancers {
		counting := ""
		for i, log := range balancer.AccessLogs {
			if i == 0 || log.Counts {
				counting = log.Name
			}
			if log.Counts {
				break
			}
		}
		if counting != "" {
			sources[counting] = true
		}
	}
	return sources
}

// counts says whether a log's rows count: all do where no log is configured.
func counts(sources map[string]bool, source string) bool { return len(sources) == 0 || sources[source] }

func (t *Timeline) events(s scale, obs *analysis.Observations, r *analysis.Report, y *int) {
	counting := countingSources(&obs.Service)
	*y += 6
	for _, class := range analysis.Classes {
		total := r.Totals[class]
		if total == nil && class != analysis.ClassUser && class != analysis.ClassProbe {
			continue
		}
		if (class == analysis.ClassTool || class == analysis.ClassHealth) && total.Failures == 0 {
			continue
		}
		lane := EventLane{Label: classLane(class), Class: "fx", CountClass: "cnt", Count: Missing, None: notMeasured}
		if total != nil {
			lane.Count, lane.None = Count(total.Failures), ""
			if total.Failures > 0 {
				lane.CountClass = "cnt bad"
			}
			lane.Hidden = s.hidden(r, classWitnesses(&obs.Service, class))
			lane.Marks = s.marks(failureColumns(s, obs, r, counting, class), func(n int) string { return plural(n, "failure", "failures") })
		}
		t.addEvents(lane, y)
	}
	if health := r.Totals[analysis.ClassHealth]; health != nil && health.Outcomes[analysis.OutcomeDrain503] > 0 {
		drains := make([]int, s.columns)
		for i := range obs.Probes {
			if probe := &obs.Probes[i]; probe.Class == analysis.ClassHealth && (probe.OutOfService || probe.Outcome == analysis.OutcomeDrain503) {
				if column := s.column(probe.Done); column >= 0 {
					drains[column]++
				}
			}
		}
		t.addEvents(EventLane{Label: "health drain", Count: Count(health.Outcomes[analysis.OutcomeDrain503]), Class: "fd", CountClass: "cnt",
			Marks: s.marks(drains, func(n int) string { return plural(n, "answer", "answers") + " out of service on purpose" })}, y)
	}
	*y += 10
}

func (t *Timeline) addEvents(lane EventLane, y *int) {
	lane.Y, lane.TextY = *y, *y+4
	t.Events = append(t.Events, lane)
	*y += 20
}

// failureColumns counts the failures of a class into columns, by their end: those of
// the report where it lists them all, else from the prober's records where there are
// any, else from the logs that count.
func failureColumns(s scale, obs *analysis.Observations, r *analysis.Report, counting map[string]bool, class analysis.Class) []int {
	columns := make([]int, s.columns)
	if listedFailures(s, r, class, columns) {
		return columns
	}
	clear(columns)
	recorded := false
	if class == analysis.ClassProbe || class == analysis.ClassHealth {
		for i := range obs.Probes {
			probe := &obs.Probes[i]
			if probe.Class != class {
				continue
			}
			recorded = true
			if probe.Outcome.Failure() && !probe.OutOfService {
				if column := s.column(probe.Done); column >= 0 {
					columns[column]++
				}
			}
		}
	}
	if recorded {
		return columns
	}
	if exactFailures(s, obs, counting, class, columns) {
		return columns
	}
	clear(columns)
	for i := range obs.Cells {
		cell := &obs.Cells[i]
		if cell.Class != class || !cell.Outcome.Failure() || !counts(counting, cell.Source) {
			continue
		}
		at := time.Unix(cell.Second, 0)
		if cell.Count == 1 && !cell.Last.IsZero() {
			at = cell.Last
		}
		if column := s.column(at); column >= 0 {
			columns[column] += cell.Count
		}
	}
	return columns
}

// listedFailures counts the failures that the report lists, and says whether those are
// all that it counts.
func listedFailures(s scale, r *analysis.Report, class analysis.Class, columns []int) bool {
	rest := r.Totals[class].Failures
	for i := range r.Failures {
		f := &r.Failures[i]
		if f.Traffic != class {
			continue
		}
		rest -= f.Count
		at := f.End.Time
		if f.Count > 1 || at.IsZero() {
			at = f.Start.Time
		}
		if column := s.column(at); column >= 0 {
			columns[column] += f.Count
		}
	}
	return rest == 0
}

// exactFailures counts failures by the requests that were kept one by one, and says
// whether those are all that the cells have.
func exactFailures(s scale, obs *analysis.Observations, counting map[string]bool, class analysis.Class, columns []int) bool {
	balance := 0
	for i := range obs.Requests {
		request := &obs.Requests[i]
		if request.Class != class || !request.Outcome.Failure() || !counts(counting, request.Source) || request.End.IsZero() {
			continue
		}
		if column := s.column(request.End); column >= 0 {
			columns[column]++
			balance--
		}
	}
	for i := range obs.Cells {
		if cell := &obs.Cells[i]; cell.Class == class && cell.Outcome.Failure() && counts(counting, cell.Source) {
			balance += cell.Count
		}
	}
	return balance <= 0
}

// marks draws one cross a column, its title saying how many and when.
func (s scale) marks(columns []int, what func(int) string) []EventMark {
	var marks []EventMark
	for i, n := range columns {
		if n == 0 {
			continue
		}
		x := s.x(s.columnStart(i).Add(s.step / 2))
		marks = append(marks, EventMark{
			Path:  fmt.Sprintf("M%s -5l5 10m0-10l-5 10", coordinate(x-2.5)),
			Title: what(n) + ", " + s.span(s.columnStart(i), s.columnStart(i+1)),
		})
	}
	return marks
}

const rateHeight = 76

// rate stacks the requests per second of one class by target: users where they were
// measured, else probes. Classes are never summed.
func (t *Timeline) rate(s scale, obs *analysis.Observations, r *analysis.Report, y *int) {
	s = s.wholeSeconds()
	class := analysis.ClassUser
	if users := r.Totals[class]; users == nil || users.Requests == 0 {
		class = analysis.ClassProbe
	}
	byTarget := rateColumns(s, obs, class)
	top := 0.0
	for column := range s.columns {
		sum := 0.0
		for _, columns := range byTarget {
			sum += columns[column]
		}
		top = max(top, sum)
	}
	chart := RateChart{Label: classLane(class) + "/s", Sub: "by target", Y: *y, Bottom: *y + rateHeight, TextY: *y + 14}
	*y = chart.Bottom
	if top > 0 {
		chart.Max, chart.Middle, chart.MiddleY = number(top)+"/s", number(top/2), chart.Bottom-rateHeight/2
		chart.areas(s, byTarget, r, top)
		chart.Hidden = s.hidden(r, classWitnesses(&obs.Service, class))
		if s.first.After(s.from) {
			chart.Hidden = append(chart.Hidden, s.bar(s.from, earlier(s.first, s.to), "band", secondsOnly))
		}
	} else {
		chart.Sub = "none seen"
		if total := r.Totals[class]; total != nil && total.Requests > 0 {
			chart.Sub = "too short to draw"
		}
	}
	t.Rate = chart
}

// rateColumns are requests per second by target, "" for those that no target got.
func rateColumns(s scale, obs *analysis.Observations, class analysis.Class) map[string][]float64 {
	byTarget := map[string][]float64{}
	add := func(target string, at time.Time, n int) {
		column := s.column(at)
		if column < 0 {
			return
		}
		if byTarget[target] == nil {
			byTarget[target] = make([]float64, s.columns)
		}
		byTarget[target][column] += float64(n) / s.columnSeconds(column)
	}
	counting := countingSources(&obs.Service)
	for i := range obs.Cells {
		if cell := &obs.Cells[i]; cell.Class == class && counts(counting, cell.Source) {
			add(cell.Target, time.Unix(cell.Second, 0), cell.Count)
		}
	}
	if len(byTarget) > 0 || class != analysis.ClassProbe {
		return byTarget
	}
	served := servedBy(obs)
	for i := range obs.Probes {
		if probe := &obs.Probes[i]; probe.Class == class {
			target := probe.Target
			if target == "" {
				target = served[runSeq{probe.Run, probe.Seq}]
			}
			add(target, probe.Sent, 1)
		}
	}
	return byTarget
}

type runSeq struct {
	run string
	seq int
}

func servedBy(obs *analysis.Observations) map[runSeq]string {
	served := map[runSeq]string{}
	for i := range obs.Handled {
		if handled := &obs.Handled[i]; !handled.Begun {
			served[runSeq{handled.Run, handled.Seq}] = handled.Target
		}
	}
	return served
}

// areas draws the stack from the bottom up, targets in the report's order.
func (c *RateChart) areas(s scale, byTarget map[string][]float64, r *analysis.Report, top float64) {
	var names []string
	for i := range r.Targets {
		if byTarget[r.Targets[i].Target] != nil && !slices.Contains(names, r.Targets[i].Target) {
			names = append(names, r.Targets[i].Target)
		}
	}
	var others []string
	for name := range byTarget {
		if name != "" && !slices.Contains(names, name) {
			others = append(others, name)
		}
	}
	slices.Sort(others)
	names = append(names, others...)
	if byTarget[""] != nil {
		names = append(names, "")
	}
	// Painted from the whole stack down, so that each area needs only its upper edge.
	stack := make([]float64, s.columns)
	for i, name := range names {
		var edge strings.Builder
		fmt.Fprintf(&edge, "M%s %d", coordinate(s.x(s.first)), c.Bottom)
		previous := coordinate(float64(c.Bottom))
		for column := range s.columns {
			stack[column] += byTarget[name][column]
			if y := coordinate(float64(c.Bottom) - rateHeight*stack[column]/top); y != previous {
				fmt.Fprintf(&edge, "H%sV%s", coordinate(s.x(s.columnStart(column))), y)
				previous = y
			}
		}
		fmt.Fprintf(&edge, "H%dV%dZ", plotRight, c.Bottom)
		area := Area{Class: fmt.Sprintf("a%d", i%6+1), Path: edge.String(), Name: name, Title: name}
		if name == "" {
			area.Class, area.Name, area.Title = "a0", "no target", "reached no target"
		}
		c.Areas = append(c.Areas, area)
	}
	slices.Reverse(c.Areas)
}
