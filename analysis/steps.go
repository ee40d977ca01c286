package analysis

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// step is a step as the judge uses it.
type step struct {
	Step
	on      point // when it was by the serving clock, as far as its own is known; else as it stands
	ignored bool  // contradicts the order of its target's steps
	opens   bool  // opens a phase
	again   bool  // begins another stop than the one before, of whose end no step tells
	repeats bool  // tells once more what a step before it told
}

// of is the target that a step is about: none where it is about the whole deploy, whoever
// it names.
func (s Step) of() string {
	switch s.Kind {
	case StepDeployStarted, StepBuildFinished, StepTrafficSwitched, StepDeployReported:
		return ""
	}
	return s.Target
}

// rank is the place of a step in one target's way through a deploy. Steps that say
// nothing about a target's order have rank 0.
func rank(k StepKind) int {
	switch k {
	case StepDrainMarked, StepTargetDeregistered:
		return 1
	case StepRestartBegan, StepProcessKilled:
		return 2
	case StepAppReady:
		return 3
	case StepTargetRegistered:
		return 4
	}
	return 0
}

// readSteps sorts this deploy's steps, finds those that repeat another (a
// workflow's word and the application's own line about the same stop), those that
// begin another stop, and those that contradict their target's order, and marks the
// ones that open phases.
//
// Inferred steps carry no deploy; they count from the deploy's start on, so that a
// restart during the baseline is not taken for a part of it. What the deploy did before
// a window that begins later is known all the same.
func (b *bench) readSteps() {
	for _, s := range b.obs.Steps {
		if owner := b.owner(s); owner != "" && owner != b.obs.Deploy.ID || !within(s.At, earliest(b.from, b.started), b.to) {
			continue
		}
		on := point{s.At, s.At}
		if ahead := b.ahead(stepClock(s), b.servingClock); ahead.known {
			on = on.than(&ahead)
		}
		b.steps = append(b.steps, step{Step: s, on: on})
	}
	b.findBeginning()
	b.sortSteps()
	b.orderWithinSeconds()
	b.sortSteps()
	b.checkStart()
	b.checkStops()
	stopped := map[string]bool{}
	rounds := map[string]*round{}
	for i := range b.steps {
		s := &b.steps[i]
		if s.At.Before(b.started) || s.ignored {
			continue
		}
		r := rank(s.Kind)
		if r == 0 || s.Target == "" {
			s.opens = s.Kind == StepDeployStarted || s.Kind == StepTrafficSwitched || s.Kind == StepDeployReported
			continue
		}
		now := rounds[s.Target]
		s.again = now != nil && r <= 2 && b.another(s, now)
		if now == nil || s.again || r <= 2 && b.afterReturn(s, now) {
			// The target's first step, or it goes round again.
			now = &round{seen: map[StepKind]bool{}}
			rounds[s.Target] = now
		}
		if r == 2 {
			now.stops = append(now.stops, *s)
		}
		switch {
		case now.seen[s.Kind]: // said twice, by two sources
			s.repeats = true
			continue
		case r < now.reached && r == 1: // a drain mark after the stop
			s.ignored = true
			continue
		case r == 3 && !stopped[s.Target] && b.stopsLater(i): // ready before it stopped
			s.ignored = true
			continue
		}
		now.seen[s.Kind] = true
		stopped[s.Target] = stopped[s.Target] || r == 2
		if r > now.reached {
			now.reached, now.last = r, *s
		}
		s.opens = r != 4
	}
}

func (b *bench) sortSteps() {
	slices.SortStableFunc(b.steps, func(x, y step) int {
		return cmp.Or(x.At.Compare(y.At), cmp.Compare(rank(x.Kind), rank(y.Kind)), cmp.Compare(x.Kind, y.Kind),
			strings.Compare(x.Target, y.Target), strings.Compare(x.Source, y.Source))
	})
}

// orderWithinSeconds puts each step that was told in whole seconds, as a shell's date has
// them, after the start and the steps before it that were told of the same second to the
// fraction: it was at any moment of its second, and contradicts none of them.
func (b *bench) orderWithinSeconds() {
	for i := range b.steps {
		s := &b.steps[i]
		if s.Inferred || s.Kind == StepDeployStarted || !s.At.Equal(s.At.Truncate(time.Second)) {
			continue
		}
		at := s.At
		for _, x := range b.steps[i+1:] {
			if x.At.Sub(s.At) >= time.Second {
				break
			}
			if x.Kind == StepDeployStarted || !x.Inferred && x.of() == s.of() && rank(x.Kind) > 0 && rank(x.Kind) < rank(s.Kind) {
				at = x.At
			}
		}
		s.on = point{s.on.at.Add(at.Sub(s.At)), s.on.by.Add(at.Sub(s.At))}
		s.At = at
	}
}

// round is what steps have told so far of one way of a target through a deploy.
type round struct {
	reached int               // rank of the furthest that it got
	last    step              // that told so
	stops   []step            // that were told of
	seen    map[StepKind]bool // kinds of step that were told
}

// lasts is how long it was surely at least from one step to another, whatever is between
// their clocks.
func (b *bench) lasts(from, to step) time.Duration {
	least, _ := b.apart(dated{from.At, stepClock(from.Step)}, dated{to.At, stepClock(to.Step)})
	return least
}

// toldApart is how far from each other witnesses tell of one stop.
func (b *bench) toldApart(target string) time.Duration {
	slack := time.Second
	if l := b.byName[target]; l != nil {
		slack = b.slack(l.group)
	}
	return 2*time.Second + slack
}

// afterReturn reports whether a step that takes a target down came after it was ready or
// registered again. One that by the clocks may have come before that tells once more of a
// stop that is known already, if it may be as near to that as witnesses tell of one.
func (b *bench) afterReturn(s *step, now *round) bool {
	if now.reached < 3 {
		return false
	}
	repeats := rank(s.Kind) == 2 && b.lasts(now.last, *s) <= 0 && slices.ContainsFunc(now.stops, func(told step) bool {
		return b.lasts(told, *s) <= b.toldApart(s.Target)
	})
	return !repeats
}

// another reports whether a step that takes a target down is about another stop than those
// told since it was last ready: it surely was back in between; or the step repeats one, a
// witness of the same sort (reports are one, lines the other) told of a stop longer ago
// than two of them are apart about the same, and it has served since. By the clocks it
// cannot be the same moment.
func (b *bench) another(s *step, now *round) bool {
	l := b.byName[s.Target]
	if l == nil || len(now.stops) == 0 {
		return false
	}
	last, apart := now.stops[len(now.stops)-1], b.toldApart(s.Target)
	if b.lasts(last, *s) <= 0 {
		return false
	}
	if _, back := b.returnAfter(l, last.on.by, s.on.at); back {
		return true
	}
	return now.seen[s.Kind] && l.surelyServed(last.on.by.Add(apart), s.on.at) && slices.ContainsFunc(now.stops, func(told step) bool {
		return told.Inferred == s.Inferred && b.lasts(told, *s) > apart
	})
}

// checkStart moves the deploy's start to the earliest step of its own where one was
// told, or surely observed, before it: they contradict each other, and a failure
// between the two must not pass for something that was there before.
func (b *bench) checkStart() {
	told := map[string][]time.Time{} // stops that this deploy told of, by target
	for _, s := range b.steps {
		if !s.Inferred && rank(s.Kind) == 2 && s.Deploy == b.obs.Deploy.ID {
			told[s.Target] = append(told[s.Target], s.At)
		}
	}
	first := b.started
	for _, s := range b.steps {
		own := !s.Inferred && s.Deploy == b.obs.Deploy.ID
		observed := s.Inferred && slices.ContainsFunc(told[s.Target], func(t time.Time) bool { return t.Sub(s.At).Abs() < time.Minute })
		if rank(s.Kind) > 0 && rank(s.Kind) < 4 && s.Target != "" && b.obs.Deploy.ID != "" && (own || observed) && s.At.Before(first) {
			first = s.At
		}
	}
	if first.Before(b.started) {
		b.started, b.doubtful = first, true
		for i := range b.steps {
			if b.steps[i].Kind == StepDeployStarted && b.steps[i].Deploy == b.obs.Deploy.ID {
				b.steps[i].ignored = true
			}
		}
	}
}

// checkStops compares each stop that was told with the application's own lines about a
// stop of that target. One that no line is near to, within what the clocks and a health
// check explain, contradicts a line that no other told stop is near to, unless the target
// was back between the two: then one of the clocks is wrong, and no failure is the
// service's background. It is marked, and opens nothing, where it came after the line, or
// the target was sent what it answered well long after it.
func (b *bench) checkStops() {
	var told, lines []*step
	for i := range b.steps {
		switch s := &b.steps[i]; {
		case s.Kind != StepRestartBegan || b.byName[s.Target] == nil:
		case s.Inferred:
			lines = append(lines, s)
		default:
			told = append(told, s)
		}
	}
	near := func(s, line *step) bool {
		return line.Target == s.Target && line.At.Sub(s.At).Abs() <= b.toldApart(s.Target)+b.doubt
	}
	for _, s := range told {
		if slices.ContainsFunc(lines, func(line *step) bool { return near(s, line) }) {
			continue
		}
		for _, line := range lines {
			if line.Target != s.Target || slices.ContainsFunc(told, func(other *step) bool { return near(other, line) }) {
				continue
			}
			l, first, second := b.byName[s.Target], earliest(s.At, line.At), latest(s.At, line.At)
			ready := slices.ContainsFunc(b.steps, func(x step) bool {
				return rank(x.Kind) >= 3 && x.Target == s.Target && within(x.At, first, second)
			})
			if _, back := b.returnAfter(l, first, second); back || ready {
				continue
			}
			b.doubtful = true
			s.ignored = s.ignored || line.At.Before(s.At) || l.surelyServedWell(s.At.Add(2*time.Second+b.doubt), line.At)
		}
	}
}

// checkServing compares each stop with the requests that were sent to its target and went
// well; failures do while it stops. It cannot have been sent any long after it was told to
// stop and long before it was ready, unless one of the clocks is wrong.
func (b *bench) checkServing() {
	for _, l := range b.lives {
		for _, c := range l.cycles {
			from, to := c.stop.Add(2*time.Second+b.doubt), c.ready.Add(-b.slack(l.group)-b.doubt)
			if !c.stop.IsZero() && !c.ready.IsZero() && from.Before(to) && l.surelyServedWell(from, to) && c.killed.IsZero() {
				b.servedThrough = append(b.servedThrough, TargetSpan{l.name, Span{Time{c.stop}, Time{c.ready}, seconds(c.ready.Sub(c.stop))}})
				b.doubtful = true
			}
		}
	}
}

// owner is the id of the deploy that a step belongs to. An inferred step names none: a
// readiness belongs to the deploy whose stop it ends, and any other to the deploy that
// reported the same of the target within a minute of it; else it belongs to the one that
// began last before it. This deploy's neighbours are asked too, since windows of deploys
// that run back to back share their steps.
func (b *bench) owner(s Step) string {
	if s.Deploy != "" || len(b.obs.Neighbors) == 0 {
		return cmp.Or(s.Deploy, b.obs.Deploy.ID)
	}
	if rank(s.Kind) >= 3 {
		if stop, ok := b.stopBefore(s); ok {
			return b.owner(stop)
		}
	}
	nearest, distance := "", time.Minute
	for _, told := range b.obs.Steps {
		if told.Deploy == "" || told.Target != s.Target || rank(told.Kind) != rank(s.Kind) {
			continue
		}
		if d := told.At.Sub(s.At).Abs(); d < distance {
			nearest, distance = told.Deploy, d
		}
	}
	if nearest != "" {
		return nearest
	}
	return b.begunLast(s.At)
}

// begunLast is the id of the deploy that began last before a moment; empty where none did.
func (b *bench) begunLast(at time.Time) string {
	id, began := "", time.Time{}
	if !b.started.After(at) {
		id, began = b.obs.Deploy.ID, b.started
	}
	for _, d := range b.obs.Neighbors {
		if !d.StartedAt.After(at) && d.StartedAt.After(began) {
			id, began = d.ID, d.StartedAt
		}
	}
	return id
}

// stopBefore is the last stop of a target before it was ready again, unless it had been ready
// more than a minute before: that ended the stop then.
func (b *bench) stopBefore(ready Step) (stop Step, ok bool) {
	for _, s := range b.obs.Steps {
		switch {
		case s.Target != ready.Target || !s.At.Before(ready.At):
		case rank(s.Kind) == 2:
			stop, ok = s, true
		case s.Kind == StepAppReady && ready.At.Sub(s.At) > time.Minute:
			ok = false
		}
	}
	return stop, ok
}

// stopsLater reports whether the target of step i stops after it without getting
// ready again: then the order of the two is a matter of clocks.
func (b *bench) stopsLater(i int) bool {
	stops := false
	for _, s := range b.steps[i+1:] {
		if s.Target != b.steps[i].Target {
			continue
		}
		switch rank(s.Kind) {
		case 2:
			stops = true
		case 3:
			return false
		}
	}
	return stops
}

// stepReports lists the steps, with those that traffic and polled states imply.
func (b *bench) stepReports() []StepReport {
	reports := []StepReport{}
	for _, s := range b.steps {
		reports = append(reports, StepReport{Kind: s.Kind, At: Time{s.At}, Target: known(s.Target), Source: s.Source, Inferred: s.Inferred, Ignored: s.ignored})
	}
	for _, l := range b.lives {
		for _, c := range l.cycles {
			if !c.fell().IsZero() && !c.lastServed.IsZero() {
				reports = append(reports, StepReport{Kind: StepLastRequest, At: Time{c.lastServedAt()}, Target: new(l.name), Source: "traffic", Inferred: true})
			}
			if !c.firstServed.IsZero() {
				reports = append(reports, StepReport{Kind: StepFirstRequest, At: Time{c.firstServedAt()}, Target: new(l.name), Source: "traffic", Inferred: true})
			}
		}
		for _, change := range l.changes {
			if b.corrected(l, change) {
				continue
			}
			kind := StepTargetHealthy
			if !change.in {
				kind = StepTargetEjected
			}
			reports = append(reports, StepReport{Kind: kind, At: Time{change.seen}, Target: new(l.name), Source: change.source, Inferred: true})
		}
	}
	reports = append(reports, b.checkSteps()...)
	slices.SortStableFunc(reports, func(x, y StepReport) int { return x.At.Compare(y.At.Time) })
	return reports
}
