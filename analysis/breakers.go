package analysis

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// followBreakers cuts the window into the stretches in which each circuit breaker of
// each target was in one state. What was refused meanwhile was never sent: its result
// is known.
func (b *bench) followBreakers() {
	b.report.Breakers = nil
	type key struct{ name, target string }
	changes := map[key][]*Signal{}
	for _, s := range b.signals[EventBreakerChanged] {
		if s.At.Before(b.to) {
			changes[key{s.Name, s.Target}] = append(changes[key{s.Name, s.Target}], s)
		}
	}
	for k, list := range changes { // in the order of their times
		state, from := list[0].Values["from"], b.from
		add := func(to time.Time) {
			if state == "" || !from.Before(to) {
				return
			}
			s := BreakerSpan{Breaker: k.name, Target: k.target, State: state, Span: Span{Time{from}, Time{to}, seconds(to.Sub(from))}}
			for _, r := range b.refusals(from, to) {
				if r.Target == k.target && r.Name == b.guarded(k.name) && refusedBy(r) == "breaker" {
					s.Refused++
				}
			}
			for _, r := range b.during(from, to, EventCallSent) {
				if r.Target == k.target && r.Name == b.guarded(k.name) {
					s.Sent++
				}
			}
			b.report.Breakers = append(b.report.Breakers, s)
		}
		for _, s := range list {
			at := latest(s.At, b.from)
			add(at)
			state, from = s.Values["to"], at
		}
		add(b.seenTo)
	}
	slices.SortStableFunc(b.report.Breakers, func(x, y BreakerSpan) int {
		return cmp.Or(x.From.Compare(y.From.Time), strings.Compare(x.Breaker, y.Breaker), strings.Compare(x.Target, y.Target))
	})
}

// guarded is the dependency that a breaker stands before: the one of its name, else
// the only one that there is.
func (b *bench) guarded(breaker string) string {
	if d := b.report.Dependencies; len(d) == 1 {
		return d[0].Dependency
	}
	return breaker
}
