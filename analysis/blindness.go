package analysis

import (
	"slices"
	"time"
)

// blindIn reports whether any of some sources is blind somewhere in [from, to], as far
// as the window reaches. A source of which nothing is known is blind.
func (b *bench) blindIn(sources []string, from, to time.Time) bool {
	for _, source := range sources {
		c := b.coverage[source]
		if c == nil {
			return true
		}
		for _, blind := range c.Blind {
			if blind.From.Before(to) && blind.To.After(from) {
				return true
			}
		}
	}
	return false
}

// unseenIn reports whether any of some sources that are read by runs is blind somewhere
// in [from, to], or, before the window, where no run that reaches into it vouches.
func (b *bench) unseenIn(sources []string, from, to time.Time) bool {
	if b.blindIn(sources, from, to) {
		return true
	}
	return slices.ContainsFunc(sources, func(source string) bool {
		covered, _ := b.vouched(source)
		return len(holes(from, earliest(to, b.from), covered)) > 0
	})
}

// silenceUntold says why nothing that would have been told by an application log from
// the deploy's start on can be ruled out: some log of them was blind. It is empty where
// all were seen.
func (b *bench) silenceUntold() string {
	for _, log := range b.obs.Service.AppLogs {
		if b.blindIn([]string{log.Name}, b.started, b.seenTo) {
			return whyAppLogBlind
		}
	}
	return ""
}
