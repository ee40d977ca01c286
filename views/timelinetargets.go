package views

import (
	"slices"
	"time"

	"gapless/analysis"
)

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
