package analysis

import "time"

// findEjections finds, for every stop, from when on nothing more was sent to the target.
// A failed request of which no witness says where it was sent was not sent there either.
func (b *bench) findEjections() {
	for _, l := range b.lives {
		for i := range l.cycles {
			c := &l.cycles[i]
			gone, back, _ := b.down(*c)
			last := b.lastSent(l.name, gone, back)
			if out := l.displayedOut(*c, back); !out.IsZero() {
				c.out = latest(out, gone, last)
			}
			if last.IsZero() && (c.stop.IsZero() || b.quietBefore(l, *c)) {
				c.out = earliest(latest(gone, c.lastServedBy), c.stopBy().by) // it may have been sent one until then
			}
		}
	}
}

// displayedOut is when the load balancer first displayed that a target was out of
// rotation for a stop; zero where it did not, before the target was back.
func (l *life) displayedOut(c cycle, back time.Time) (out time.Time) {
	for _, ch := range l.changes {
		switch {
		case !ch.seen.Before(back):
			return out
		case !ch.in:
			out = ch.seen
		case ch.seen.Before(latest(c.stopBy().by, c.readyBy().by)):
			out = time.Time{}
		}
	}
	return out
}

// isOut reports whether nothing was sent to a target at a moment, after it had left and
// before it served again. For the check's timeout after its last request it may have
// had another one under way.
func (b *bench) isOut(l *life, c cycle, at time.Time) bool {
	return !c.out.IsZero() && at.After(c.out.Add(b.slack(l.group))) && (c.firstServed.IsZero() || at.Before(c.servesFrom()))
}

// wasOut is the same of a failed request, whenever it was sent: its log may cut the
// moment, and clocks be apart.
func (b *bench) wasOut(l *life, c cycle, f *failure) bool {
	ahead := b.cycleAhead(l, c, b.clock(f))
	return b.isOut(l, c, f.start.Add(ahead.least)) && b.isOut(l, c, f.start.Add(f.cut+ahead.most))
}

// quietBefore reports whether a target served nothing before its stop for so many requests
// of its group through each load-balancer node that it cannot be chance (5 %): until then
// it would have answered what was sent to it.
func (b *bench) quietBefore(l *life, c cycle) bool {
	return b.passedOverByAll(l, c, latest(c.lastServed, b.from), c.stopBy().at)
}

// othersServe reports whether another target of the group surely was in rotation at a
// moment: it served before and after, no further apart than it usually pauses.
func (b *bench) othersServe(l *life, at time.Time) bool {
	for _, other := range b.lives {
		if !b.mates(l, other) {
			continue
		}
		if before, after := other.servedAround(at); !after.IsZero() && after.Sub(before) <= pollReach*max(other.usualPause, time.Second) {
			return true
		}
	}
	return false
}
