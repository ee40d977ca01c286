package analysis

import (
	"iter"
	"slices"
	"time"
)

// inVain are requests that a load balancer sent to a target and that it did not
// answer: they failed there, for good or until another one was asked, or their clients
// left. They were sent between two moments, by their log.
type inVain struct {
	class    Class
	source   string
	from, to time.Time
	n        int
	left     bool // by their clients: a cell of them may have begun long before
}

// sentInVain are all of a target's, as the access logs that count say.
func (b *bench) sentInVain(target string) iter.Seq[inVain] {
	return func(yield func(inVain) bool) {
		for i := range b.obs.Requests {
			r := &b.obs.Requests[i]
			failed := r.Target == target && b.counting[r.Source] && r.Outcome.Failure()
			if (failed || b.triedOn(r, target)) && !yield(inVain{r.Class, r.Source, r.moment(), r.moment(), 1, false}) {
				return
			}
		}
		for _, c := range b.unkept {
			began := c.begun()
			if c.Target == target && b.counting[c.Source] && !yield(inVain{c.Class, c.Source, began.from, began.to, c.n, false}) {
				return
			}
		}
		for i := range b.obs.Cells {
			c := &b.obs.Cells[i]
			if !b.leftBy(c, target) {
				continue
			}
			if began := c.begun(); !yield(inVain{c.Class, c.Source, began.from, began.to, c.Count, true}) {
				return
			}
		}
	}
}

// sentWhileDown counts, of every class, what was sent to a target from its stop until it
// was ready again and that it did not answer, and tells when the last of it was sent.
func (b *bench) sentWhileDown(l *life, c cycle) (n perClass, last time.Time) {
	n = perClass{}
	until := c.back(c.until)
	for u := range b.sentInVain(l.name) {
		after := u.to // to the second: what failed in a second that meets the time
		if u.left {
			after = u.from
		}
		if b.surelyAfter(l, c, u.source, after) && b.point(u.source, u.from).before(until) {
			n.add(u.class, u.n)
			last = latest(last, u.to)
		}
	}
	return n, last
}

// lastSent is the last moment between two at which something was sent to a target that it
// did not answer; zero where there is none.
func (b *bench) lastSent(target string, from, to time.Time) (last time.Time) {
	for u := range b.sentInVain(target) {
		if by := b.by(u.source, u.to); by.After(from) && u.from.Before(to) {
			last = latest(last, by)
		}
	}
	return last
}

// sentAfterStop counts what the load balancer still sent to a target after it was
// told to stop: requests that failed there, and those that it yet answered.
func (b *bench) sentAfterStop(l *life, c cycle) (n perClass, last time.Time) {
	n, last = b.sentWhileDown(l, c)
	until := c.back(c.until)
	for i := range b.obs.Cells {
		cell := &b.obs.Cells[i]
		if cell.Target == l.name && cell.TargetStatus > 0 && !cell.Outcome.Failure() && b.counting[cell.Source] && b.surelyAfter(l, c, cell.Source, cell.First) && b.point(cell.Source, cell.First).before(until) {
			n.add(cell.Class, cell.Count)
			last = latest(last, cell.Last)
		}
	}
	return n, last
}

// leftBy reports whether requests were sent to a target that answered none of them, and
// yet are no failures: their clients went away before.
func (b *bench) leftBy(c *Cell, target string) bool {
	return c.Target == target && c.TargetStatus == 0 && c.Outcome == OutcomeClientAbort && b.counting[c.Source]
}

// triedOn reports whether a request was tried at a target, and then at another one; ""
// asks for a target that the log does not name.
func (b *bench) triedOn(r *Request, target string) bool {
	return slices.Contains(r.FailedOn, target) && b.counting[r.Source]
}
