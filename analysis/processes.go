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
// tell it: from the end of the one before, or the beginning of the evidence, until its
// own. One process is one version, and words its lines alike.
func (b *bench) lifeOf(target string, at time.Time) span {
	life := span{b.from.Add(-EdgeReach), endOfTime}
	for i := range b.stoppings {
		s := &b.stoppings[i]
		over := s.over()
		switch {
		case s.target != target || over.IsZero():
		case over.Before(at):
			life.from = latest(life.from, over)
		default:
			life.to = earliest(life.to, over)
		}
	}
	return life
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

// silentLives are the stretches in which processes served requests whose logs told no
// step of any journey: which steps they served, nobody knows. Only targets count that
// serve what those served that told steps, or whose logs are to tell those of a journey.
func (b *bench) silentLives(j Journey) []span {
	told, groups := map[process]bool{}, map[string]bool{}
	for _, s := range b.obs.Journeys {
		target := s.Target
		for _, log := range b.obs.Service.AppLogs {
			if log.Name == s.Source && log.Target != "" {
				target = log.Target
			}
		}
		told[process{target, b.lifeOf(target, s.At)}] = true
		if l := b.byName[target]; l != nil {
			groups[l.group] = true
		}
	}
	var silent []span
	for _, l := range b.lives {
		logs := b.logsOf(l.name)
		if len(j.Sources) == 0 && !groups[l.group] || len(j.Sources) > 0 && !slices.ContainsFunc(j.Sources, func(s string) bool { return slices.Contains(logs, s) }) {
			continue
		}
		served := map[span]span{}
		for _, at := range l.points {
			life := b.lifeOf(l.name, at)
			if told[process{l.name, life}] {
				continue
			}
			if s, ok := served[life]; ok {
				served[life] = span{s.from, at}
			} else {
				served[life] = span{at, at}
			}
		}
		for _, s := range served {
			silent = append(silent, s)
		}
	}
	return silent
}
