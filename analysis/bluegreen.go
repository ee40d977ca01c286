package analysis

import (
	"cmp"
	"slices"
	"time"
)

// A blue/green deploy does not restart anything: a new target (green) is started,
// takes over, and the old one (blue) is stopped for good. What is a stop and a return
// elsewhere is a start and an end here, and must not be judged as if a target had been
// taken from users that it never had, or were missing that nobody waits for.

// findArrivals marks the targets that this deploy brings into service: its first step
// starts, readies or registers one that until then neither served nor was displayed in
// rotation. In a deploy that is no blue/green one only a registration tells so, since
// a restart after a quiet baseline looks the same.
func (b *bench) findArrivals() {
	blueGreen := b.obs.Deploy.Kind == KindBlueGreen
	for _, l := range b.lives {
		first, came := -1, false
		for i := range b.steps {
			s := &b.steps[i]
			if s.Target != l.name || s.ignored || rank(s.Kind) == 0 || s.At.Before(b.started) {
				continue
			}
			if first < 0 {
				first = i
			}
			came = came || s.Kind == StepTargetRegistered || blueGreen && s.Kind == StepAppReady
		}
		if !came || b.steps[first].Kind == StepDrainMarked || b.steps[first].Kind == StepTargetDeregistered || !blueGreen && rank(b.steps[first].Kind) == 2 {
			continue
		}
		at := b.steps[first].At
		if len(l.points) > 0 && l.points[0].before(at) || slices.ContainsFunc(b.obs.States, func(s StateSample) bool {
			return s.Target == l.name && s.At.Before(at) && s.State.InRotation()
		}) {
			continue
		}
		l.arrives = true
		for i := range b.steps {
			if s := &b.steps[i]; s.Target == l.name && s.Kind == StepTargetRegistered && !s.ignored && !s.At.Before(b.started) {
				s.opens = true
				break
			}
		}
	}
}

// findSwitch finds that a blue/green deploy switched the traffic from one target group to
// another: exactly one group has new targets only and served, and exactly one has none and
// ceased to serve while others went on; of which a step tells, where there are other old
// ones. Who is in rotation is asked of the two as of one.
func (b *bench) findSwitch() {
	if b.obs.Deploy.Kind != KindBlueGreen {
		return
	}
	left := map[string]bool{} // by what steps tell of its targets
	old, fresh, last, pause := map[string]bool{}, map[string]bool{}, map[string]time.Time{}, map[string]time.Duration{}
	for _, l := range b.lives {
		if l.arrives {
			fresh[l.group] = true
		} else {
			old[l.group] = true
		}
		last[l.group] = latest(last[l.group], l.lastPoint())
		pause[l.group] = max(pause[l.group], pollReach*max(l.usualPause, time.Second))
	}
	for _, l := range b.lives {
		for i := range b.steps {
			s := &b.steps[i]
			left[l.group] = left[l.group] || s.Target == l.name && !l.arrives && rank(s.Kind) > 0 && !s.ignored && !s.At.Before(b.started)
		}
	}
	var from, to []string
	for group, at := range last {
		switch {
		case at.IsZero():
		case !old[group]:
			to = append(to, group)
		case !fresh[group] && b.servedTo.Sub(at) > pause[group] && (left[group] || len(old) == 1):
			from = append(from, group)
		}
	}
	if len(from) == 1 && len(to) == 1 {
		b.switched = map[string]string{to[0]: from[0]}
	}
}

// pool is the group of which it is asked who of a target group is in rotation: its own, or
// the one that its traffic came from.
func (b *bench) pool(group string) string { return cmp.Or(b.switched[group], group) }

// switchedFrom reports whether the traffic was switched away from a target's group.
func (b *bench) switchedFrom(l *life) bool {
	for _, from := range b.switched {
		if from == l.group {
			return true
		}
	}
	return false
}

// findDepartures marks the last cycle of each target that a blue/green deploy took
// out of service for good: it was taken out or stopped, and neither was ready nor
// served again.
func (b *bench) findDepartures() {
	if b.obs.Deploy.Kind != KindBlueGreen {
		return
	}
	for _, l := range b.lives {
		if n := len(l.cycles); n > 0 {
			c := &l.cycles[n-1]
			c.leaves = !c.arrives && c.ready.IsZero() && c.firstServed.IsZero() && !earliest(c.marked, c.deregistered, c.stop).IsZero()
		}
	}
}

// overlapBegins is when the first of the new targets served, while an old one was
// still there and nothing had begun to take it out; zero where that was never so.
func (b *bench) overlapBegins() (at time.Time, targets []string) {
	if b.obs.Deploy.Kind != KindBlueGreen {
		return at, nil
	}
	for _, l := range b.lives {
		if l.arrives && len(l.cycles) > 0 {
			at = earliest(at, l.cycles[0].firstServed)
		}
	}
	if at.IsZero() {
		return at, nil
	}
	old := []string{}
	for _, l := range b.lives {
		switch {
		case l.arrives && len(l.cycles) > 0 && !l.cycles[0].firstServed.IsZero() && !l.cycles[0].firstServed.After(at):
			targets = append(targets, l.name)
		case l.arrives || len(l.points) == 0 || !l.points[0].before(at):
		case len(l.cycles) == 0 || l.cycles[0].begin().After(at):
			old = append(old, l.name)
		}
	}
	if len(old) == 0 {
		return time.Time{}, nil
	}
	return at, append(targets, old...)
}

// startedBy is when the process of a new target was started: as a step says it, else
// as its own first line does.
func (b *bench) startedBy(l *life) (at time.Time, inferred bool) {
	c := &l.cycles[0]
	if !c.restart.IsZero() {
		return c.restart, false
	}
	for i := range b.obs.Signals {
		s := &b.obs.Signals[i]
		if s.Target == l.name && s.Event == EventProcessStarting && !s.At.Before(b.started) && (c.ready.IsZero() || s.At.Before(c.ready)) {
			at = earliest(at, s.At)
		}
	}
	return at, true
}

// standing is how many targets of a group are meant to serve at once: those that it
// had before the deploy, or those that it has after, whichever are more.
func (b *bench) standing(group string) int {
	before, after := 0, 0
	for _, l := range b.lives {
		if b.pool(l.group) != group {
			continue
		}
		if !l.arrives {
			before++
		}
		if !l.departs() && !b.switchedFrom(l) && (!l.arrives || len(l.points) > 0) {
			after++
		}
	}
	return max(before, after)
}

// departs reports whether the deploy took the target out of service for good.
func (l *life) departs() bool {
	return len(l.cycles) > 0 && l.cycles[len(l.cycles)-1].leaves
}

// handedOver reports whether a stretch in which no target of a group served is no more
// than the moment at which the old targets handed over to the new ones: a new target,
// ready before, served at its end, an old one that was up all the while served at its
// beginning, and it is no longer than requests are apart anyway.
func (b *bench) handedOver(mates []*life, s span) bool {
	took, gave := false, false
	pause := time.Second
	for _, l := range mates {
		pause = max(pause, pollReach*l.usualPause)
		if l.arrives && len(l.cycles) > 0 {
			c := &l.cycles[0]
			took = took || c.firstServed.Equal(s.to) && !c.ready.IsZero() && !c.readyBy().by.After(s.from.Add(b.slack(l.group)))
			continue
		}
		gave = gave || b.switchedFrom(l) && len(l.cycles) == 0
		for _, c := range l.cycles {
			gave = gave || c.leaves && (c.stop.IsZero() || !c.stopBy().at.Before(s.to))
		}
	}
	return took && gave && s.to.Sub(s.from) <= pause
}

// registeredBy is the first poll after a moment that displays a target as registered;
// zero where none does.
func (b *bench) registeredBy(l *life, after time.Time) time.Time {
	for _, s := range b.statesOf(l.name) {
		if s.At.After(after) && s.State != StateUnused && s.State != StateUnusedNCP {
			return s.At
		}
	}
	return time.Time{}
}
