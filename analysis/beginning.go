package analysis

import "time"

// A deploy that nobody announced begins with its first sign, and a sign comes after what
// it tells of: a target is ready after it was down, and ejected after it failed.

// findBeginning moves the start of a deploy that nobody announced back to the first
// failure on the way to one of its signs: of a request that was sent to the sign's target,
// or of which no witness says where it was sent, since [bench.failingSince].
func (b *bench) findBeginning() {
	if !b.obs.Deploy.Noticed() {
		return
	}
	b.collectFailures()
	started, clock := b.started, ""
	for _, l := range b.lives {
		sign, ejected := b.firstSign(l)
		if sign.IsZero() {
			continue
		}
		since := b.failingSince(l, sign, ejected)
		for i := range b.failures {
			f := &b.failures[i]
			known := f.target != "" || !since.IsZero() || !b.servedAtAll() // it was at work, or may have been
			if known && b.concerns(f, l) && f.endBy().After(since) {
				if at := f.counted(); at.Before(started) {
					started, clock = at, b.clock(f)
				}
			}
		}
	}
	b.failures = nil
	b.started = started
	for i := range b.steps {
		if s := &b.steps[i]; s.Kind == StepDeployStarted {
			s.At, s.Clock = started, clock
		}
	}
}

// firstSign is the first moment from the start on of which something tells that a target
// stopped, was ready or, by its polled state, ejected; zero where nothing does.
func (b *bench) firstSign(l *life) (at time.Time, ejected bool) {
	for _, s := range b.steps {
		if r := rank(s.Kind); s.Target == l.name && (r == 2 || r == 3) && !s.At.Before(b.started) {
			at = earliest(at, s.At)
		}
	}
	for _, ch := range l.changes {
		if !ch.in && !ch.before.Before(b.started) && (at.IsZero() || ch.before.Before(at)) {
			at, ejected = ch.before, true
		}
	}
	return at, ejected
}

// failingSince is from when on a target may have failed before a sign of it: since it was
// last sent what it answered well, or, if that is earlier, since the first of the checks
// may have failed that took it out. Zero where it is not known to have been at work.
func (b *bench) failingSince(l *life, sign time.Time, ejected bool) (since time.Time) {
	for _, p := range l.points {
		if !p.failed && p.before(sign) {
			since = latest(since, p.at)
		}
	}
	if h := b.health(l.group); ejected && h.Known() {
		since = earliest(since, sign.Add(-h.reach(h.Unhealthy)))
	}
	return since
}
