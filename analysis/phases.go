package analysis

import (
	"slices"
	"strconv"
	"time"
)

// opener is a moment at which a phase begins.
type opener struct {
	kind, target string
	at           time.Time
	inferred     bool
	again        bool     // of another stop than the phase before
	targets      []string // of the phase; nil: those that are under way then
}

// openers are the moments at which phases begin, in order: the steps that open one,
// and what no step tells of a blue/green deploy.
func (b *bench) openers() []opener {
	var list []opener
	add := func(kind string, s *step) {
		list = append(list, opener{kind: kind, target: s.of(), at: s.At, inferred: s.Inferred, again: s.again})
	}
	for i := range b.steps {
		s := &b.steps[i]
		if !s.opens {
			continue
		}
		l := b.byName[s.of()] // with cycles, since the step opened one
		arrives := l != nil && l.cycles[0].arrives && s.At.Before(l.cycles[0].until)
		switch s.Kind {
		case StepDeployStarted:
			if b.obs.Deploy.Kind == KindFault {
				add("fault", s) // nothing is built when something breaks
			} else {
				add("build", s)
			}
		case StepDrainMarked, StepTargetDeregistered:
			add("drain", s)
		case StepRestartBegan:
			switch {
			case arrives: // below, with starts that no step tells
			case l != nil && l.departs() && s.At.Equal(l.cycles[len(l.cycles)-1].restart):
				add("stop", s)
			default:
				add("restart", s)
			}
		case StepProcessKilled:
			if l != nil && l.departs() && l.cycles[len(l.cycles)-1].onPurpose {
				add("stop", s)
			} else {
				add("down", s)
			}
		case StepAppReady:
			if !arrives { // what was never away does not come back
				add("back", s)
			}
		case StepTargetRegistered:
			add("register", s)
		case StepTrafficSwitched:
			add("switch", s)
		}
	}
	for _, l := range b.lives {
		for _, c := range l.cycles {
			if gone := c.leftUntold(); !gone.IsZero() {
				list = append(list, opener{kind: "down", target: l.name, at: latest(gone, b.started), inferred: true})
			}
			if c.inferred != "" {
				list = append(list, opener{kind: "back", target: l.name, at: c.firstServed, inferred: true})
			}
		}
	}
	if b.obs.Deploy.Kind == KindBlueGreen {
		for _, l := range b.lives {
			if !l.arrives {
				continue
			}
			if at, inferred := b.startedBy(l); !at.IsZero() {
				list = append(list, opener{kind: "boot", target: l.name, at: at, inferred: inferred})
			}
		}
		if at, targets := b.overlapBegins(); !at.IsZero() {
			list = append(list, opener{kind: "overlap", at: at, inferred: true, targets: targets})
		}
	}
	slices.SortStableFunc(list, func(x, y opener) int { return x.at.Compare(y.at) })
	return list
}

// cutPhases partitions the window at the moments that open phases. Until the deploy
// starts it is baseline; without a deploy and without steps it is one phase, whole. A
// window that begins later begins in the phase that was open then.
func (b *bench) cutPhases() {
	first := Phase{Name: "baseline", Kind: "baseline", From: Time{b.from}}
	if b.obs.Deploy.ID == "" && !slices.ContainsFunc(b.steps, func(s step) bool { return s.opens }) {
		first.Name, first.Kind = "whole", "whole"
	}
	phases := []Phase{first}
	names := map[string]int{first.Name: 1}
	tail := b.tailBegins()
	open := func(o opener) {
		name := o.kind
		if o.target != "" {
			name = o.target + " " + o.kind
		}
		if names[name]++; names[name] > 1 {
			name += " " + strconv.Itoa(names[name])
		}
		var serving time.Time
		if o.targets == nil {
			o.targets = b.under(o.target, o.at)
			serving = b.allServe(o.targets, o.at)
		}
		phases = append(phases, Phase{Name: name, Kind: o.kind, Targets: o.targets, From: Time{o.at}, Inferred: o.inferred, serving: serving})
	}
	tailed := false
	for _, o := range b.openers() {
		if !tailed && !tail.IsZero() && !o.at.Before(tail) {
			tailed = true
			open(opener{kind: "tail", at: tail})
		}
		switch last := &phases[len(phases)-1]; {
		case o.target != "" && !o.again && o.kind == last.Kind && o.target == last.Targets[0]:
			// Marked and deregistered are one drain, asked to stop and killed one stop.
		default:
			open(o)
		}
	}
	if !tailed && !tail.IsZero() {
		open(opener{kind: "tail", at: tail})
	}
	for i := range phases {
		phases[i].To = Time{b.to}
		if i+1 < len(phases) {
			phases[i].To = Time{earliest(phases[i+1].From.Time, b.to)}
		}
		phases[i].From = Time{latest(phases[i].From.Time, b.from)}
		if phases[i].Targets == nil {
			phases[i].Targets = []string{}
		}
	}
	b.report.Phases = slices.DeleteFunc(phases, func(p Phase) bool { return !p.From.Before(p.To.Time) })
}

// tailBegins is when the deploy was both reported (or, where nobody announced it, had
// shown its last sign) and over: every target that stopped, or was brought into
// service, has served. A target that never came back keeps the tail shut, as long as
// anything shows who serves at all.
func (b *bench) tailBegins() time.Time {
	at := b.obs.Deploy.ReportedAt
	if at.IsZero() {
		at = b.obs.Deploy.SeenUntil
	}
	ended := at
	if at.IsZero() {
		return time.Time{}
	}
	for _, l := range b.lives {
		for _, c := range l.cycles {
			switch {
			case c.arrives && c.firstServed.IsZero() && !b.servedTo.IsZero() && b.obs.Deploy.Succeeded() && !b.left(l):
				return time.Time{}
			case c.arrives:
				at = latest(at, c.firstServed)
			case c.leaves: // nobody waits for it
			case c.fell().IsZero() || c.fell().After(ended):
			case !c.firstServed.IsZero():
				at = latest(at, c.firstServed)
			case len(l.points) > 0 && !b.left(l):
				return time.Time{}
			}
		}
	}
	return at
}

// left reports whether the last poll of a target says that it is not registered.
func (b *bench) left(l *life) bool {
	states := b.statesOf(l.name)
	if len(states) == 0 {
		return false
	}
	switch states[len(states)-1].State {
	case StateUnused, StateDraining, StateUnusedNCP:
		return true
	}
	return false
}

// under lists the targets that are between the first step of a cycle and their
// return at a moment, the named one first; none where no target is named.
func (b *bench) under(name string, at time.Time) []string {
	if name == "" {
		return nil
	}
	targets := []string{name}
	for _, l := range b.lives {
		if l.name != name && slices.ContainsFunc(l.cycles, func(c cycle) bool { return within(at, c.begin(), b.returned(c)) }) {
			targets = append(targets, l.name)
		}
	}
	return targets
}

// allServe is from when on all of some targets served again after the cycles that they
// were in at a moment; zero where one did not.
func (b *bench) allServe(targets []string, at time.Time) (all time.Time) {
	for _, name := range targets {
		var first time.Time
		if l := b.byName[name]; l != nil {
			for _, c := range l.cycles {
				if !c.atRiskFrom().After(at) {
					first = c.servesFrom()
				}
			}
		}
		if first.IsZero() {
			return time.Time{}
		}
		all = latest(all, first)
	}
	return all
}

// returned is when a cycle was over: the target served again or, where that is not
// known, was ready; of one that nobody waits for, at the latest when the deploy reported.
func (b *bench) returned(c cycle) time.Time {
	switch {
	case !c.firstServed.IsZero():
		return c.firstServed
	case c.leaves || c.arrives:
		return latest(c.stop, c.ready, b.obs.Deploy.ReportedAt)
	case !c.ready.IsZero():
		return c.ready
	}
	return b.to
}

// phaseAt is the index of the phase that holds a moment; -1 outside the window.
func (b *bench) phaseAt(t time.Time) int {
	if !b.inWindow(t) {
		return -1
	}
	i, found := slices.BinarySearchFunc(b.report.Phases, t, func(p Phase, t time.Time) int { return p.From.Compare(t) })
	if !found {
		i--
	}
	return i
}

// risky reports whether a phase is one in which a target is being taken down or is
// not yet back: there failures are to be expected, and absence of traffic matters.
func (p Phase) risky() bool {
	switch p.Kind {
	case "baseline", "build", "boot", "fault", "tail", "whole":
		return false
	}
	return true
}

// riskySpans are the times, ascending, of the risky phases, each until all of its targets
// served again: with that, what was taken down is back, and the phase goes on only until
// the next step. Phases go by the clocks that told of them: one that began, by its own
// clock, after all served by theirs, is risky as a whole.
func (b *bench) riskySpans() []span {
	var spans []span
	for _, p := range b.report.Phases {
		if !p.risky() {
			continue
		}
		to := p.To.Time
		if !p.serving.Before(p.From.Time) {
			to = earliest(to, p.serving)
		}
		spans = append(spans, span{p.From.Time, to})
	}
	return union(spans)
}

// drain is a span in which a target is on its way out or gone.
type drain struct {
	target   string
	clock    string    // that dates it
	at       time.Time // of the stop, where it is another deploy's
	from, to time.Time
	named    bool // concerns only what is known to have been sent to it
}

// findDrains lists the drains: from the mark until the target is ready again (or
// stopped, where it never was), widened by the slack at both ends for the clocks; of
// the deploys whose windows touch this one too.
func (b *bench) findDrains() {
	for _, s := range b.obs.Steps {
		l := b.byName[s.Target]
		if owner := b.owner(s); rank(s.Kind) != 1 || l == nil || owner == "" || owner == b.obs.Deploy.ID {
			continue
		}
		end := b.to
		for _, r := range b.obs.Steps {
			if r.Kind == StepAppReady && r.Target == s.Target && r.At.After(s.At) {
				end = earliest(end, r.At)
			}
		}
		slack := b.slack(l.group)
		b.drains = append(b.drains, drain{target: l.name, from: s.At.Add(-slack), to: end.Add(slack)})
	}
	for _, l := range b.lives {
		for _, c := range l.cycles {
			if mark := earliest(c.marked, c.deregistered); !mark.IsZero() {
				end := c.back(c.until)
				slack := b.slack(l.group)
				b.drains = append(b.drains, drain{target: l.name, from: mark.Add(-slack), to: end.Add(slack)})
			}
		}
	}
}

// draining reports whether a target (any, where the name is empty) was draining.
func (b *bench) draining(target string, at time.Time) bool {
	return slices.ContainsFunc(b.drains, func(d drain) bool {
		return (target == "" || d.target == target) && within(at, d.from, d.to)
	})
}
