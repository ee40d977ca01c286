package views

import (
	"slices"
	"time"

	"gapless/analysis"
)

// notMeasured is said in a lane of which nobody told anything.
const notMeasured = "not measured"

// secondsOnly is why the beginning of a picture is not known where requests are
// counted by the second.
const secondsOnly = "not known: requests are counted from the first whole second on"

// maxBlindLanes bounds the sources whose blind spots are drawn.
const maxBlindLanes = 5

// blindSeconds is how much of [from, to] a source was blind for. Blind spots of
// different reasons may overlap; no second is counted twice.
func blindSeconds(holes []analysis.Blind, from, to time.Time) float64 {
	holes = slices.Clone(holes)
	slices.SortFunc(holes, func(a, b analysis.Blind) int { return a.From.Compare(b.From.Time) })
	var total time.Duration
	for _, hole := range holes {
		if hole.From.After(from) {
			from = hole.From.Time
		}
		if until := earlier(hole.To.Time, to); until.After(from) {
			total += until.Sub(from)
			from = until
		}
	}
	return total.Seconds()
}

// blindLanes are the rows of the sources that were blind within the picture.
func blindLanes(s scale, r *analysis.Report) []BlindLane {
	var lanes []BlindLane
	for i := range r.Coverage {
		source := &r.Coverage[i]
		bars := s.holes(source, "blind")
		if len(bars) == 0 || len(lanes) == maxBlindLanes {
			continue
		}
		lanes = append(lanes, BlindLane{Label: source.Source, Sub: "blind " + Seconds(blindSeconds(source.Blind, s.from, s.seen)), Bars: bars})
	}
	return lanes
}

func (t *Timeline) blind(s scale, r *analysis.Report, y *int) {
	t.Blind = blindLanes(s, r)
	for i := range t.Blind {
		lane := &t.Blind[i]
		lane.Y, lane.TextY = *y-6, *y+4
		lane.Short = fit(lane.Label, t.LabelEnd-labelX-labelWidth(lane.Sub), boldDigit)
		*y += 20
	}
	if len(t.Blind) > 0 {
		*y += 8
	}
}

// holes are a source's blind spots as far as they lie in the picture.
func (s scale) holes(source *analysis.Coverage, class string) []Bar {
	var bars []Bar
	for _, hole := range source.Blind {
		from, to := hole.From.Time, hole.To.Time
		if !to.After(s.from) || !from.Before(s.seen) {
			continue
		}
		to = earlier(to, s.seen)
		text := word(blindWords, hole.Reason) + " " + seconds(from, to)
		bar := s.bar(from, to, class, source.Source+": "+text+", "+s.span(from, to))
		if fits(text, bar.W) {
			bar.Label = text
		}
		bars = append(bars, bar)
	}
	return bars
}

// hidden are the blind spots of the sources that could have told what a lane shows.
func (s scale) hidden(r *analysis.Report, sources []string) []Bar {
	var bars []Bar
	for i := range r.Coverage {
		if slices.Contains(sources, r.Coverage[i].Source) {
			bars = append(bars, s.holes(&r.Coverage[i], "band")...)
		}
	}
	return bars
}

// uncounted is the part of a second at the picture's beginning that a lane says
// nothing of only because requests are counted by whole seconds.
func (s scale) uncounted(obs *analysis.Observations, served []bool) []Bar {
	first := slices.Index(served, true)
	if first < 0 || len(obs.Cells) == 0 {
		return nil
	}
	until := earlier(s.columnStart(first), s.wholeSeconds().first)
	if !until.After(s.from) {
		return nil
	}
	return []Bar{s.bar(s.from, until, "band", secondsOnly)}
}

// witnesses are the sources that tell of one target, by lane.
type witnesses struct{ states, serves, app []string }

// witnessesOf says which sources tell of a target: polled states of its group, the
// access logs that count in front of it, and the logs of its application. Those tell
// who served only where no access log does.
func witnessesOf(service *analysis.Service, target *analysis.TargetReport) witnesses {
	var w witnesses
	counting := countingSources(service)
	for _, balancer := range service.LoadBalancers {
		ours := len(balancer.TargetGroups) == 0
		for _, group := range balancer.TargetGroups {
			if target.TargetGroup != "" && group.Name != target.TargetGroup {
				continue
			}
			ours = true
			for _, states := range group.States {
				w.states = append(w.states, states.Name)
			}
		}
		for _, log := range balancer.AccessLogs {
			if ours && counting[log.Name] {
				w.serves = append(w.serves, log.Name)
			}
		}
	}
	for _, log := range service.AppLogs {
		if log.Target == "" || log.Target == target.Target {
			w.app = append(w.app, log.Name)
		}
	}
	if len(counting) == 0 {
		w.serves = w.app
	}
	return w
}

// classWitnesses are the sources that count requests of a class: for what we send
// ourselves the probes' own records, else the access logs that count.
func classWitnesses(service *analysis.Service, class analysis.Class) []string {
	var sources []string
	for _, probe := range service.Probes {
		if probe.Class == class {
			sources = append(sources, probe.Name)
		}
	}
	if len(sources) > 0 && (class == analysis.ClassProbe || class == analysis.ClassHealth) {
		return sources
	}
	sources = nil
	for source := range countingSources(service) {
		sources = append(sources, source)
	}
	return sources
}

// appKnown says whether anything told of a target's application: a step, a line that
// names the target, or a log of its own that was read.
func appKnown(obs *analysis.Observations, r *analysis.Report, target string) bool {
	for _, step := range r.Steps {
		if step.Target == nil || *step.Target != target || step.Ignored {
			continue
		}
		switch step.Kind {
		case analysis.StepDrainMarked, analysis.StepTargetDeregistered, analysis.StepRestartBegan, analysis.StepProcessKilled, analysis.StepAppReady:
			return true
		}
	}
	named := func(s string) bool { return s == target }
	if slices.ContainsFunc(obs.Handled, func(h analysis.HandledRequest) bool { return named(h.Target) }) ||
		slices.ContainsFunc(obs.Signals, func(signal analysis.Signal) bool { return named(signal.Target) }) {
		return true
	}
	for _, log := range obs.Service.AppLogs {
		if log.Target != target {
			continue
		}
		for i := range r.Coverage {
			if c := &r.Coverage[i]; c.Source == log.Name && c.Seen > 0 {
				return true
			}
		}
	}
	return false
}
