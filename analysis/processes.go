package analysis

import (
	"slices"
	"time"
)

// A rule that fits the lines of one version may fit none of the next. So that a line
// is missing is evidence only about a process whose own log shows that it would have
// been understood.

// tells reports whether a line about a target told of one of some events.
func (b *bench) tells(target string, events ...Event) bool {
	return slices.ContainsFunc(events, func(event Event) bool {
		return slices.ContainsFunc(b.signals[event], func(s *Signal) bool { return s.Target == target })
	})
}

// lifeOf is the life of the process that a target had at a moment, as far as stops
// tell it: from the end of the one before until its own, each zero where nothing tells
// it. One process is one version, and words its lines alike.
func (b *bench) lifeOf(target string, at time.Time) (life span) {
	over := b.ends()[target]
	n, _ := slices.BinarySearchFunc(over, at, time.Time.Compare)
	if n > 0 {
		life.from = over[n-1]
	}
	if n < len(over) {
		life.to = over[n]
	}
	return life
}

// endsByTarget are the moments at which processes of each target were gone, in order.
func (b *bench) endsByTarget() map[string][]time.Time {
	ends := map[string][]time.Time{}
	for i := range b.stoppings {
		s := &b.stoppings[i]
		if over := s.over(); !over.IsZero() {
			ends[s.target] = append(ends[s.target], over)
		}
	}
	for _, list := range ends {
		slices.SortFunc(list, time.Time.Compare)
	}
	return ends
}

// process is one life of a target.
type process struct {
	target string
	life   span
}

// tellers are the processes that a line about an event is known of.
func (b *bench) tellers(event Event) map[process]bool {
	known := map[process]bool{}
	for _, s := range b.signals[event] {
		known[process{s.Target, b.lifeOf(s.Target, s.At)}] = true
	}
	return known
}

// silentLives are the stretches in which processes served requests while their lines in
// some logs told no step of any journey: which steps they served, nobody knows. A line
// that names no target may be of any of them.
func (b *bench) silentLives(logs []string) []span {
	told := map[process]bool{}
	for _, s := range b.obs.Journeys {
		if !slices.Contains(logs, s.Source) {
			continue
		}
		if s.Target == "" {
			return nil
		}
		told[process{s.Target, b.lifeOf(s.Target, s.At)}] = true
	}
	var silent []span
	for _, l := range b.lives {
		if !slices.ContainsFunc(b.logsOf(l.name), func(log string) bool { return slices.Contains(logs, log) }) {
			continue
		}
		var life span
		before := len(silent)
		for _, p := range l.points { // they ascend
			at := p.at
			switch now := b.lifeOf(l.name, at); {
			case told[process{l.name, now}]:
			case now == life && len(silent) > before:
				silent[len(silent)-1].to = at
			default:
				life = now
				silent = append(silent, span{at, at})
			}
		}
	}
	return silent
}
