package analysis

import (
	"slices"
	"time"
)

// Where no step of any target was told, what happened to the targets is inferred: from
// the health-check log, from polled states, and at last from who served (DESIGN.md,
// Phases). What is inferred says when a target served last and first again, and never
// when it was stopped or ready: what needs those stays open.

// inferredFromTraffic is the ground where only the pattern of what was served tells.
const inferredFromTraffic = "traffic"

// fell is when a cycle's target was gone, by the serving clock: at the earliest when it was
// told to stop, or, where that is not known and it became ready again or was inferred to be
// gone, when it last served; zero for one that did not serve before.
func (c cycle) fell() time.Time {
	if c.inferred != "" || c.stop.IsZero() && !c.ready.IsZero() {
		return c.lastServed
	}
	return c.stopBy().at
}

// leftUntold is when a target was gone of whose way out no step tells; zero where one does.
func (c cycle) leftUntold() time.Time {
	if c.inferred != "" || c.begin().Equal(c.ready) {
		return c.fell()
	}
	return time.Time{}
}

// atRiskFrom is from when on a cycle's target was at risk, by the serving clock.
func (c cycle) atRiskFrom() time.Time { return earliest(c.began(), c.leftUntold()) }

// inferCycles finds the stretches in which a target served nothing because it was out
// or down, of which no step tells. In a deploy that tells of no target they are its
// doing, from its start on, or where it began, if nobody announced it, until the next
// deploy began, unless another one had stopped the target; elsewhere they say who was in
// rotation, and no more.
func (b *bench) inferCycles() {
	told := b.obs.Deploy.ID == "" || slices.ContainsFunc(b.steps, func(s step) bool {
		return s.Target != "" && rank(s.Kind) > 0 && !s.At.Before(b.started)
	})
	for _, l := range b.lives {
		var cycles []cycle
		for _, c := range b.absences(l) {
			began := c.lastServed
			if b.obs.Deploy.Noticed() { // at a sign, which comes later
				began = c.firstServed
			}
			switch {
			case slices.ContainsFunc(l.cycles, func(other cycle) bool {
				return overlap(c.lastServed, c.firstServed, other.atRiskFrom(), other.returned(b.to))
			}): // a step tells of it
			case told || began.Before(b.started) || b.begunLast(latest(c.lastServed, b.started)) != b.obs.Deploy.ID || b.stoppedByNeighbor(l, c):
				l.absent = append(l.absent, span{c.lastServed, c.firstServed})
			default:
				cycles = append(cycles, c)
			}
		}
		for i := range cycles {
			cycles[i].until = b.to
			if i+1 < len(cycles) {
				cycles[i].until = cycles[i+1].begin()
			}
		}
		l.cycles = append(l.cycles, cycles...)
	}
}

// returned is when a cycle was over: the target was ready and served.
func (c cycle) returned(otherwise time.Time) time.Time {
	if back := latest(c.readyBy().by, c.firstServed); !back.IsZero() {
		return back
	}
	return otherwise
}

// absences are the times, ascending, from a target's last request to its first one
// after, in which it surely was out or down: it was displayed out of rotation for most
// of a time, and the others of its group were sent so much meanwhile that it cannot be
// chance that it got nothing; or it answered none of at least [enoughDue] that were sent
// to it, for longer than it ever pauses; or, where nothing displays its state, the others
// were sent so much and it paused so long. One that is displayed in rotation and is sent
// nothing is an idle target.
func (b *bench) absences(l *life) []cycle {
	var list []cycle
	long := pollReach * max(l.usualPause, time.Second)
	add := func(c cycle) {
		// What all of the group lacked says nothing of this one.
		whole := []span{{c.lastServedBy, c.firstServedFrom}}
		alone := without(without(whole, b.empty[b.pool(l.group)]), b.open[b.pool(l.group)])
		if !slices.Equal(alone, whole) && !slices.ContainsFunc(alone, func(s span) bool { return s.to.Sub(s.from) > long }) {
			return
		}
		if !slices.ContainsFunc(list, func(other cycle) bool { return other.lastServed.Equal(c.lastServed) }) {
			list = append(list, c)
		}
	}
	pauses := l.pauses()
	spans, source := l.displayed()
	for _, s := range spans {
		shown := false
		for _, p := range pauses {
			sure := p.sure()
			meets, length := earliest(sure.to, s.to).Sub(latest(sure.from, s.from)), sure.to.Sub(sure.from)
			c := p.cycle(source)
			if meets > 0 && length >= l.usualPause && (2*meets >= s.to.Sub(s.from) || length > long) && b.passedOver(l, c, sure.from, sure.to) {
				shown = true
				add(c)
			}
		}
		if !shown && !l.surelyServed(s.from, s.to) && s.to.After(b.started) {
			b.undecided = true
		}
	}
	for _, p := range pauses {
		sure, c := p.sure(), p.cycle(inferredFromTraffic)
		if sure.to.Sub(sure.from) <= long {
			continue
		}
		sent, _ := b.sentWhileDown(l, c)
		if sent.all() >= enoughDue || source == "" && b.passedOver(l, c, sure.from, sure.to) {
			add(c)
		}
	}
	slices.SortFunc(list, func(x, y cycle) int { return x.lastServed.Compare(y.lastServed) })
	return list
}

// displayed are the stretches in which a target was displayed out of rotation, and by
// what: by the health-check log, or by polls, from the last one before it to the first
// one after. Those that had not ended are left out. The source is empty where nothing
// displays the target's state.
func (l *life) displayed() (spans []span, source string) {
	changes := l.changes
	if l.checked != nil {
		changes, source = nil, l.checked.source
		for _, c := range l.checked.changes {
			changes = append(changes, change{c.in, c.at, c.at, source})
		}
	}
	var from time.Time
	for _, c := range changes {
		source = c.source
		switch {
		case !c.in && from.IsZero():
			from = c.before
		case c.in && !from.IsZero():
			spans = append(spans, span{from, c.seen})
			from = time.Time{}
		}
	}
	if source == "" && l.polled {
		source = "states" // displayed, and never changed
	}
	return spans, source
}

// cycle is an absence of which a source tells.
func (p pause) cycle(source string) cycle {
	return cycle{inferred: source, lastServed: p.last.at, lastServedBy: p.last.by, firstServedFrom: p.next.at, firstServed: p.next.by}
}

// ejectedInferred says whether a target whose leaving was inferred had been taken out by
// the load balancer: it had not where requests went to it and failed until it served
// again, and otherwise it had where it was displayed so.
func (b *bench) ejectedInferred(l *life, c cycle, h HealthCheck) (string, []string) {
	_, last := b.sentWhileDown(l, c) // zero, and so long ago, where nothing was sent
	switch {
	case c.firstServed.Sub(last) < h.Interval:
		return "no", []string{"failures-shared-to-the-end"}
	case c.inferred == inferredFromTraffic:
		return "unknown", []string{}
	case l.checked != nil:
		return "yes", []string{BasisHealthCheckLog}
	}
	return "yes", []string{"state-changed"}
}

// inferredTargets are the targets of which no step tells why they were gone.
func (b *bench) inferredTargets() []string {
	var names []string
	for _, l := range b.lives {
		if slices.ContainsFunc(l.cycles, func(c cycle) bool { return c.inferred != "" }) {
			names = append(names, l.name)
		}
	}
	return names
}
