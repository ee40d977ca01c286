package analysis

import (
	"slices"
	"time"
)

// offset bounds by how much, in milliseconds, one clock is ahead of another: as requests
// that both saw bound it, or, where none did, by a third clock that is known against
// both. It is not known where neither is there, or bounds exclude each other.
func (b *bench) offset(of, than string) (ahead Interval, known bool) {
	if of == than {
		return Interval{}, true
	}
	narrow := func(bound Interval) {
		if known {
			bound = Interval{max(ahead.From, bound.From), min(ahead.To, bound.To)}
		}
		ahead, known = bound, true
	}
	direct := map[string]Interval{} // by how much others are ahead of the second
	for _, o := range b.offsets {
		switch {
		case b.skewed[o.B]:
		case o.A == than:
			direct[o.B] = o.Offset
		case o.B == than:
			direct[o.A] = Interval{-o.Offset.To, -o.Offset.From}
		}
	}
	if bound, ok := direct[of]; ok {
		return bound, true
	}
	for _, o := range b.offsets {
		if third, ok := direct[o.A]; ok && o.B == of && !b.skewed[of] {
			narrow(Interval{third.From + o.Offset.From, third.To + o.Offset.To})
		}
		if third, ok := direct[o.B]; ok && o.A == of {
			narrow(Interval{third.From - o.Offset.To, third.To - o.Offset.From})
		}
	}
	return ahead, known && ahead.From <= ahead.To
}

// clock names the clock by which a failure's times are.
func (b *bench) clock(f *failure) string {
	if b.byProber(f.class) {
		return prober(f.source)
	}
	return f.source
}

// stepClock names the clock by which a step's time is.
func stepClock(s Step) string {
	if s.Clock != "" {
		return s.Clock
	}
	return s.Source
}

// spread is by how much, at least and at most, a clock that dates a moment may be
// ahead of the one that is asked about; known where something bounds it.
type spread struct {
	least, most time.Duration
	known       bool
}

// with is a spread so much wider that it holds another one.
func (s spread) with(o spread) spread {
	s.least, s.most = min(s.least, o.least), max(s.most, o.most)
	return s
}

// ifKnown is a spread where something bounds it, and otherwise none.
func (s spread) ifKnown() spread {
	if s.known {
		return s
	}
	return spread{}
}

// between are all moments, by the clock that dates something, at which a failure may
// have been.
func (s spread) between(f *failure) (from, to time.Time) {
	return f.start.Add(s.least), f.endBy().Add(s.most)
}

// ahead is what is known of one clock against another: within the doubt about all
// clocks where nothing is.
func (b *bench) ahead(of, than string) spread {
	k := [2]string{of, than}
	s, ok := b.aheads[k]
	if !ok {
		s = spread{-b.doubt, b.doubt, false}
		if o, known := b.offset(of, than); known {
			s = spread{fromMilliseconds(o.From), fromMilliseconds(o.To), true}
		}
		b.aheads[k] = s
	}
	return s
}

// stopAhead is how far the clocks that date a target's stop (or what else began a cycle)
// are ahead of another one. Where none of them is known, as a workflow's seldom is, but
// another source told a stop nearby by a known clock, the time between the two adds to
// what is known of that.
func (b *bench) stopAhead(target string, at time.Time, than string) spread {
	k := cycleClock{target, at, than, false}
	if s, ok := b.spreads[k]; ok {
		return s
	}
	best := spread{-b.doubt, b.doubt, false}
	for _, s := range b.steps {
		apart := s.At.Sub(at).Abs()
		if s.Target != target || apart > 0 && (rank(s.Kind) != 2 || apart > b.doubt) {
			continue
		}
		ahead := b.ahead(stepClock(s.Step), than)
		ahead.least, ahead.most = ahead.least-apart, ahead.most+apart
		if ahead.known && (!best.known || ahead.most-ahead.least < best.most-best.least) {
			best = ahead
		}
	}
	b.spreads[k] = best
	return best
}

// startAhead is how far the clock that dates the deploy's start is ahead of another one:
// as is known of it, or, if that is narrower, of a stop that was told by it.
func (b *bench) startAhead(than string) spread {
	k := cycleClock{than: than}
	if s, ok := b.spreads[k]; ok {
		return s
	}
	i := slices.IndexFunc(b.steps, func(s step) bool { return s.Kind == StepDeployStarted && !s.ignored })
	best := spread{-b.doubt, b.doubt, false}
	if i >= 0 {
		clock := stepClock(b.steps[i].Step)
		best = b.ahead(clock, than)
		for _, s := range b.steps {
			if rank(s.Kind) != 2 || stepClock(s.Step) != clock {
				continue
			}
			if ahead := b.stopAhead(s.Target, s.At, than); ahead.most-ahead.least < best.most-best.least {
				best = ahead
			}
		}
	}
	b.spreads[k] = best
	return best
}

// cycleAhead is how far the clocks that date a cycle are ahead of another one: that by which
// its target served, and its stop's where that is not known against it.
func (b *bench) cycleAhead(l *life, c cycle, than string) spread {
	at := c.stop
	if at.IsZero() {
		at = c.begin()
	}
	k := cycleClock{l.name, at, than, true}
	s, ok := b.spreads[k]
	switch {
	case ok:
	case c.byServing():
		s = b.ahead(b.servingClock, than)
		b.spreads[k] = s
	default:
		s = b.stopAhead(l.name, at, than)
		for _, witness := range sortedKeys(l.witnesses) {
			if ahead := b.ahead(witness, than); ahead.known {
				s = s.with(ahead)
			}
		}
		b.spreads[k] = s
	}
	return s
}

// cycleClock is what a spread is remembered by: target, moment and clock.
type cycleClock struct {
	target string
	at     time.Time
	than   string
	served bool // with the clocks by which the target served
}

// groupAhead is how far the clocks that date when the targets of a group served and
// stopped are ahead of another one.
func (b *bench) groupAhead(group, than string) spread {
	var all []spread
	for _, l := range b.lives {
		if l.group != group {
			continue
		}
		for _, witness := range sortedKeys(l.witnesses) {
			all = append(all, b.ahead(witness, than))
		}
		for _, c := range l.cycles {
			all = append(all, b.cycleAhead(l, c, than))
		}
	}
	if len(all) == 0 {
		return spread{-b.doubt, b.doubt, false}
	}
	s := all[0]
	for _, other := range all {
		s = s.with(other)
	}
	return s
}

// surelyAfter reports whether a moment by a log's clock lies after a target's stop, as any
// that told of it dates it, however the clocks of the two are apart; or, where the stop is
// not known, after it served for the last time.
func (b *bench) surelyAfter(l *life, c cycle, source string, at time.Time) bool {
	if c.inferred != "" {
		return at.After(c.lastServed)
	}
	return at.Add(b.stopAhead(l.name, c.stop, source).least).After(c.stop) ||
		slices.ContainsFunc(c.stops, func(told dated) bool { return b.surelyBefore(told, dated{at, source}) })
}

// aheadOfServing is by how much the clock of a moment is ahead of the serving clock; zero,
// and not known, where nothing bounds it.
func (b *bench) aheadOfServing(of dated) spread {
	return b.ahead(of.clock, b.servingClock).ifKnown()
}

// dated is a moment by a clock.
type dated struct {
	at    time.Time
	clock string
}

// toldAt is a moment that a step told of a target, or of the whole deploy where its name is
// empty. A moment that no step told is by a clock of which nothing is known.
func (b *bench) toldAt(target string, at time.Time) dated {
	for _, s := range b.steps {
		if s.of() == target && s.At.Equal(at) {
			return dated{at, stepClock(s.Step)}
		}
	}
	return dated{at: at}
}

// served is a moment of a target's serving.
func (b *bench) served(at time.Time) dated { return dated{at, b.servingClock} }

// apart is how long it was from one moment to another, at least and at most, whatever is
// between their clocks.
func (b *bench) apart(from, to dated) (least, most time.Duration) {
	ahead := b.ahead(to.clock, from.clock)
	return to.at.Sub(from.at) - ahead.most, to.at.Sub(from.at) - ahead.least
}

// surelyBefore reports whether a moment lay before another one, whatever is between
// their clocks.
func (b *bench) surelyBefore(first, then dated) bool {
	least, _ := b.apart(first, then)
	return least > 0
}

// between is the time from one moment to another, nil where one is missing: what clocks
// leave open makes it shorter where it is a lower bound, and longer otherwise. Between two
// clocks nothing is exact.
func (b *bench) between(from, to dated, bound Bound) *Bounded {
	if from.at.IsZero() || to.at.IsZero() {
		return nil
	}
	least, most := b.apart(from, to)
	switch {
	case bound == Lower:
		return &Bounded{seconds(least), Lower}
	case bound == Exact && least == most:
		return &Bounded{seconds(most), Exact}
	}
	return &Bounded{seconds(most), Upper}
}
