package analysis

import (
	"cmp"
	"slices"
	"time"
)

// reregistered fires when a target that the deploy had deregistered was back in the
// group, by its polled state, before the deploy registered it again or the target
// was ready: something other than the deploy puts targets back.
func reregistered(b *bench) ([]Finding, string) {
	if len(b.obs.States) == 0 {
		return nil, whyNoStates
	}
	var found []Finding
	gone := false
	for _, l := range b.lives {
		for _, c := range l.cycles {
			if c.deregistered.IsZero() {
				continue
			}
			gone = true
			s, until, back := b.putBack(l, c)
			if !back {
				continue
			}
			found = append(found, Finding{
				Severity: SeverityHigh, Target: new(l.name), From: Time{s.At}, To: Time{until},
				Values:   map[string]any{"state": s.State, "after_s": seconds(s.At.Sub(c.deregistered))},
				Evidence: []Evidence{{Kind: "states", Source: s.Source, From: Time{s.At}, To: Time{until}, Count: 1}},
			})
		}
	}
	if !gone {
		return nil, whyNoMark
	}
	return found, ""
}

// putBack is the first polled state that shows a deregistered target in its group
// again after it had left, surely before until: when the deploy registered it, or it was
// ready, or served.
func (b *bench) putBack(l *life, c cycle) (shown StateSample, until time.Time, ok bool) {
	if c.deregistered.IsZero() {
		return shown, until, false
	}
	registered := b.registeredAfter(l.name, c.deregistered)
	until = cmp.Or(earliest(registered, c.ready, c.firstServed), b.seenTo)
	late := func(s StateSample) bool { // it may have been registered, ready or served by then
		polled := dated{s.At, s.Source}
		return slices.ContainsFunc([]dated{b.toldAt(l.name, registered), b.toldAt(l.name, c.ready), b.served(c.firstServed), {b.seenTo, s.Source}}, func(d dated) bool {
			return !d.at.IsZero() && !b.surelyBefore(polled, d)
		})
	}
	left := false
	for _, s := range b.statesOf(l.name) {
		if !s.At.After(c.deregistered) || late(s) {
			continue
		}
		if left && (s.State.InRotation() || s.State == StateInitial || s.State == StateUnhealthy) {
			return s, until, true
		}
		left = left || s.State == StateDraining || s.State == StateUnused || s.State == StateUnusedNCP
	}
	return shown, until, false
}

// registeredAfter is when the deploy first registered a target after a moment; zero where it
// did not.
func (b *bench) registeredAfter(target string, after time.Time) time.Time {
	for _, s := range b.steps {
		if s.Kind == StepTargetRegistered && s.Target == target && s.At.After(after) {
			return s.At
		}
	}
	return time.Time{}
}
