package analysis

import (
	"slices"
	"strconv"
	"time"
)

// cutPhases partitions the window at the steps that open phases. Until the deploy
// starts it is baseline; without a deploy and without steps it is one phase, whole.
func (b *bench) cutPhases() {
	first := Phase{Name: "baseline", Kind: "baseline", From: Time{b.from}}
	if b.obs.Deploy.ID == "" && !slices.ContainsFunc(b.steps, func(s step) bool { return s.opens }) {
		first.Name, first.Kind = "whole", "whole"
	}
	phases := []Phase{first}
	names := map[string]int{first.Name: 1}
	tail := b.tailBegins()
	open := func(kind, target string, s step, at time.Time) {
		name := kind
		if target != "" {
			name = target + " " + kind
		}
		if names[name]++; names[name] > 1 {
			name += " " + strconv.Itoa(names[name])
		}
		phases = append(phases, Phase{Name: name, Kind: kind, Targets: b.under(target, at), From: Time{at}, Inferred: s.Inferred})
	}
	tailed := false
	for _, s := range b.steps {
		if !s.opens {
			continue
		}
		if !tailed && !tail.IsZero() && !s.At.Before(tail) && s.Kind != StepDeployReported {
			tailed = true
			open("tail", "", step{}, tail)
		}
		switch s.Kind {
		case StepDeployStarted:
			if b.obs.Deploy.Kind == KindFault {
				open("fault", "", s, s.At) // nothing is built when something breaks
			} else {
				open("build", "", s, s.At)
			}
		case StepDrainMarked, StepTargetDeregistered:
			last := &phases[len(phases)-1]
			if last.Kind == "drain" && last.Targets[0] == s.Target {
				continue // marked and deregistered are one drain
			}
			open("drain", s.Target, s, s.At)
		case StepRestartBegan:
			open("restart", s.Target, s, s.At)
		case StepProcessKilled:
			open("down", s.Target, s, s.At)
		case StepAppReady:
			open("back", s.Target, s, s.At)
		case StepTrafficSwitched:
			open("switch", "", s, s.At)
		}
	}
	if !tailed && !tail.IsZero() && tail.Before(b.to) {
		open("tail", "", step{}, tail)
	}
	for i := range phases {
		phases[i].To = Time{b.to}
		if i+1 < len(phases) {
			phases[i].To = phases[i+1].From
		}
		if phases[i].Targets == nil {
			phases[i].Targets = []string{}
		}
	}
	b.report.Phases = slices.DeleteFunc(phases, func(p Phase) bool { return !p.From.Before(p.To.Time) })
}

// tailBegins is when the deploy was both reported (or, where nobody announced it, had
// shown its last sign) and over: every target that stopped has served again. A target
// that never came back keeps the tail shut, as long as anything shows who serves at all.
func (b *bench) tailBegins() time.Time {
	at := b.obs.Deploy.ReportedAt
	if at.IsZero() {
		at = b.obs.Deploy.SeenUntil
	}
	ended := at
	if at.IsZero() || !b.inWindow(at) {
		return time.Time{}
	}
	for _, l := range b.lives {
		for _, c := range l.cycles {
			switch {
			case c.stop.IsZero() || c.stop.After(ended):
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
	var last StateSample
	for _, s := range b.obs.States {
		if s.Target == l.name && !s.At.Before(last.At) {
			last = s
		}
	}
	return last.State == StateUnused || last.State == StateDraining || last.State == StateUnusedNCP
}

// under lists the targets that are between the first step of a cycle and their
// return at a moment, the named one first.
func (b *bench) under(name string, at time.Time) []string {
	targets := []string{}
	if name != "" {
		targets = append(targets, name)
	}
	for _, l := range b.lives {
		if l.name == name || name == "" {
			continue
		}
		for _, c := range l.cycles {
			end := c.firstServed
			if end.IsZero() {
				end = c.ready // ready, and not known to have served
				if end.IsZero() {
					end = b.to
				}
			}
			if !c.begin().After(at) && at.Before(end) {
				targets = append(targets, l.name)
				break
			}
		}
	}
	return targets
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
	case "baseline", "build", "fault", "tail", "whole":
		return false
	}
	return true
}

// drain is a span in which a target is on its way out or gone.
type drain struct {
	target   string
	from, to time.Time
}

// findDrains lists the drains: from the mark until the target is ready again (or
// stopped, where it never was), widened by the slack at both ends for the clocks.
func (b *bench) findDrains() {
	for _, l := range b.lives {
		for _, c := range l.cycles {
			if mark := earliest(c.marked, c.deregistered); !mark.IsZero() {
				end := earliest(c.ready, c.firstServed)
				if end.IsZero() {
					end = b.to
				}
				slack := b.slack(l.group)
				b.drains = append(b.drains, drain{l.name, mark.Add(-slack), end.Add(slack)})
			}
		}
	}
}

// draining reports whether a target (any, where the name is empty) was draining.
func (b *bench) draining(target string, at time.Time) bool {
	return slices.ContainsFunc(b.drains, func(d drain) bool {
		return (target == "" || d.target == target) && !at.Before(d.from) && at.Before(d.to)
	})
}
