package analysis

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// life is one target's way through the window.
type life struct {
	name, group string
	groups      map[string]bool // all groups in which it was seen; its figures are by one of them, group
	witnesses   map[string]bool // clocks by which points are; of one that served, the serving clock
	points      []served        // moments at which it was sent what it answered, ascending by the earliest that they were
	cycles      []cycle         // one for every time it stopped, or at least one
	usualPause  time.Duration   // 99th percentile of the pauses between them
	changes     []change        // of its polled state, into and out of rotation
	polled      bool
	checked     *checked // by the health-check log; nil where there is none
	arrives     bool     // this deploy brought it into service
	absent      []span   // it was out or down, and neither a step nor this deploy tells why
}

// cycle is one drain, stop and return of a target. Zero times did not happen or
// are not known.
type cycle struct {
	marked, deregistered, stop, restart, killed, ready time.Time
	registered                                         time.Time // of a target that arrives
	// By how much the clocks that told the stop and the readiness are ahead of the serving
	// clock; zero where nothing bounds it: then the two are taken as they stand.
	stopAhead, readyAhead spread
	// Between lastServed and firstServed it may not have served: surely it still did then,
	// and by then again. The last request before was at the latest at lastServedBy, the
	// first after at the earliest at firstServedFrom, where a log has whole seconds.
	lastServed, firstServed       time.Time
	lastServedBy, firstServedFrom time.Time
	lastAhead, firstAhead         time.Duration // of the two, as they were recorded by another clock
	out                           time.Time     // from when on nothing more was sent to it, until firstServed; zero where that is not known
	onPurpose                     bool          // it was told to stop
	stops                         []dated       // all that told of its stop
	arrives                       bool          // it was started, not stopped: stop is zero, and restart the start
	leaves                        bool          // nobody waits for its return
	until                         time.Time     // the next cycle's begin, or the window's end
	inferred                      string        // what tells of it where no step does: a source, or traffic; then only when it served is known
}

// lastServedAt and firstServedAt are the moments as they were recorded.
func (c cycle) lastServedAt() time.Time  { return c.lastServed.Add(c.lastAhead) }
func (c cycle) firstServedAt() time.Time { return c.firstServed.Add(c.firstAhead) }

// stopBy and readyBy are when, by the serving clock, a target was told to stop and was
// ready, as far as is known between those clocks.
func (c cycle) stopBy() point  { return told(c.stop).than(&c.stopAhead) }
func (c cycle) readyBy() point { return told(c.ready).than(&c.readyAhead) }

// byServing reports whether all that a cycle is dated by can be told by the serving clock.
func (c cycle) byServing() bool {
	return (c.stop.IsZero() || c.stopAhead.known) && (c.ready.IsZero() || c.readyAhead.known)
}

// back is when the target was there again, by the serving clock: ready, or, where nobody
// told that, serving. Where neither is known it may be so from the next cycle on, c.until.
func (c cycle) back(otherwise time.Time) time.Time {
	if back := earliest(c.readyBy().at, c.firstServed); !back.IsZero() {
		return back
	}
	return otherwise
}

// servesFrom is the earliest moment at which the first request after the return can have
// been served.
func (c cycle) servesFrom() time.Time { return earliest(c.firstServedFrom, c.firstServed) }

// change is a polled state that went into or out of rotation between two polls.
type change struct {
	in           bool
	before, seen time.Time // last poll with the old state, first with the new
	source       string
}

// readStates finds the moments between which each polled state changed.
func (b *bench) readStates() {
	samples := slices.Clone(b.obs.States)
	slices.SortStableFunc(samples, func(x, y StateSample) int {
		return cmp.Or(x.At.Compare(y.At), strings.Compare(x.Source, y.Source), strings.Compare(x.Target, y.Target))
	})
	type key struct{ source, target string }
	last := map[key]StateSample{}
	for _, s := range samples {
		l := b.byName[s.Target]
		l.polled = true
		k := key{s.Source, s.Target}
		before, ok := last[k]
		last[k] = s
		if !ok || before.State.InRotation() == s.State.InRotation() {
			continue
		}
		l.changes = append(l.changes, change{in: s.State.InRotation(), before: before.At, seen: s.At, source: s.Source})
	}
}

// followTargets cuts each target's life into cycles by the steps, and finds the
// last request served before each stop and the first one after each return.
func (b *bench) followTargets() {
	for _, l := range b.lives {
		var c cycle
		begun := false
		flush := func() {
			if begun {
				l.cycles = append(l.cycles, c)
			}
			c, begun = cycle{}, false
		}
		for _, s := range b.steps {
			if s.of() != l.name || !s.opens && !s.repeats {
				continue
			}
			if s.again || s.opens && rank(s.Kind) <= 2 && !c.ready.IsZero() {
				flush()
			}
			begun = true
			if rank(s.Kind) == 2 {
				c.stops = append(c.stops, dated{s.At, stepClock(s.Step)})
			}
			if s.repeats {
				continue
			}
			switch s.Kind {
			case StepDrainMarked:
				c.marked = s.At
			case StepTargetDeregistered:
				c.deregistered = s.At
			case StepRestartBegan:
				c.restart = s.At
				c.onPurpose = c.onPurpose || c.killed.IsZero()
			case StepProcessKilled:
				c.killed = s.At
			case StepAppReady:
				c.ready = s.At
			case StepTargetRegistered:
				c.registered = s.At
			}
		}
		flush()
		if l.arrives && len(l.cycles) > 0 {
			l.cycles[0].arrives = true
		}
		for i := range l.cycles {
			c := &l.cycles[i]
			if !c.arrives {
				c.stop = earliest(c.restart, c.killed)
			}
			c.stopAhead, c.readyAhead = b.aheadOfServing(b.toldAt(l.name, c.stop)), b.aheadOfServing(b.toldAt(l.name, c.ready))
		}
		for i := range l.cycles {
			c, until := &l.cycles[i], b.to
			if i+1 < len(l.cycles) {
				until = l.cycles[i+1].began()
			}
			c.until = until
			b.serve(l, c, until)
		}
	}
}

func (c cycle) begin() time.Time {
	if c.inferred != "" {
		return c.lastServed
	}
	return earliest(c.marked, c.deregistered, c.restart, c.killed, c.ready, c.registered)
}

// began is the same by the serving clock, at the earliest, as far as that is known.
func (c cycle) began() time.Time {
	if c.inferred != "" || c.arrives {
		return c.begin()
	}
	return earliest(c.marked, c.deregistered, c.stopBy().at, c.readyBy().at, c.registered)
}

// serve fills the last request before the target was gone and the first after it
// was back. Requests in flight may end after the stop, so the dividing moment is
// readiness; without it, the return that traffic shows.
func (b *bench) serve(l *life, c *cycle, until time.Time) {
	if c.stop.IsZero() && c.ready.IsZero() && c.registered.IsZero() && c.deregistered.IsZero() {
		return
	}
	divide := c.readyBy()
	if c.arrives {
		divide = told(c.begin())
	}
	if divide.at.IsZero() {
		at, _ := b.returnAfter(l, cmp.Or(c.stopBy().at, c.deregistered), until)
		divide = told(at)
	}
	var maybe, again served
	first := func(of *served, p served) {
		if of.by.IsZero() || p.by.Before(of.by) {
			*of = p
		}
	}
	for _, p := range l.points {
		switch {
		case p.before(divide.at):
			c.lastServed, c.lastAhead, c.lastServedBy = p.at, p.ahead().most, latest(c.lastServedBy, p.by)
		case !p.at.Before(until):
		case p.at.Before(divide.by):
			// On either side. What was asked after the stop is taken for the return, not for
			// the last before it; that it is one, is not sure.
			if p.at.Before(c.stopBy().by) {
				c.lastServedBy = latest(c.lastServedBy, divide.by)
			}
			c.firstServedFrom = divide.at
			first(&maybe, p)
		default:
			c.firstServedFrom = earliest(c.firstServedFrom, p.at)
			first(&again, p)
		}
	}
	if again.by.IsZero() { // nothing surely after it: it is the one on either side, or none
		again = maybe
	}
	c.firstServed, c.firstAhead = again.by, again.ahead().least
}

// returnAfter is when a target was back from a stop of whose end no step tells, as it
// served; until when it did not. It is the end of a pause, of that which the stop meets or
// a later one. A pause in which nobody asked for anything tells nothing: what counts are
// the seconds in it in which others of the group served or requests failed. The first that
// held more of them than it ever pauses is sure. Where there is none, it is the one that
// held most; and of several alike the first that is longer than it ever pauses, or else
// the longest.
func (b *bench) returnAfter(l *life, stop, until time.Time) (at time.Time, sure bool) {
	asked, long := b.askedOthers(l), pollReach*max(l.usualPause, time.Second)
	var most, longest time.Duration
	before, _ := l.servedAround(stop)
	if before.IsZero() {
		before = stop
	}
	missed := func(to time.Time) time.Duration {
		var n time.Duration
		for _, s := range asked {
			n += max(earliest(s.to, to).Sub(latest(s.from, before)), 0)
		}
		if length := min(to.Sub(before), long); n > most || n == most && length > longest {
			at, most, longest = to, n, length
		}
		before = to
		return n
	}
	for _, p := range l.points {
		if p.at.Before(stop) || !p.at.Before(until) {
			continue
		}
		if missed(p.at) > long {
			return p.at, true
		}
	}
	missed(until)
	return at, false
}

// askedOthers are the whole seconds in which other targets of a target's group served, or
// requests that the group was sent got no answer of a target.
func (b *bench) askedOthers(l *life) []span {
	var asked []span
	add := func(t time.Time) {
		second := t.Truncate(time.Second)
		asked = cover(asked, span{second, second.Add(time.Second)})
	}
	for _, other := range b.lives {
		if b.mates(l, other) {
			for _, p := range other.points {
				add(p.at)
			}
		}
	}
	for i := range b.obs.Cells {
		c := &b.obs.Cells[i]
		sent := c.Target != "" && b.counting[c.Source] && c.TargetStatus == 0 && b.pool(b.byName[c.Target].group) == b.pool(l.group)
		if sent || b.refusedBy(&c.CellKey, b.pool(l.group)) {
			add(c.First)
		}
	}
	return union(asked)
}

// down is the span in which the target may not have served around one stop: from
// the last request it served to the first after its return, or to the next cycle,
// half-open, within the window, by the serving clock. ok is false when it did not stop.
func (b *bench) down(c cycle) (from, to time.Time, ok bool) {
	fell := c.fell()
	if fell.IsZero() {
		return from, to, false
	}
	from, to = c.lastServed, c.firstServed
	if from.IsZero() || from.After(fell) {
		from = fell
	}
	if to.IsZero() {
		to = c.until
	}
	return from, to, true
}

// moment is when a logged request began, or its end where the log has no start.
func (r *Request) moment() time.Time {
	if r.Start.IsZero() {
		return r.End
	}
	return r.Start
}

// seconds is a duration in seconds, to the microsecond.
func seconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e6 }

// earliest is the earliest of the moments that are known; zero when none is.
func earliest(times ...time.Time) time.Time {
	var first time.Time
	for _, t := range times {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}

// latest is the latest of the moments.
func latest(times ...time.Time) time.Time {
	var last time.Time
	for _, t := range times {
		if t.After(last) {
			last = t
		}
	}
	return last
}
