package analysis

import (
	"slices"
	"time"
)

// inFlightAtStop counts the requests that a target had begun and not ended when it
// was stopped, as far as they are known one by one: rows of the access logs that count
// which failed or were slow, our own requests, and what the target's log says it had
// received. Quick requests of a log are not kept one by one, and those that were in
// flight and succeeded were not harmed; so the number is one of at least. It is nil
// where there was no stop, or nothing tells which requests the target had.
func (b *bench) inFlightAtStop(l *life, c cycle) (count *int, of perClass) {
	if c.stop.IsZero() || !b.logRead() && !b.probesAttributed() {
		return nil, nil
	}
	of = perClass{}
	spans := func(clock string, from, to time.Time) bool { // by another clock than told the stop
		ahead := b.stopAhead(l.name, c.stop, clock).ifKnown()
		return from.Add(ahead.most).Before(c.stop) && to.Add(ahead.least).After(c.stop)
	}
	own := map[probeID]bool{} // requests of ours, by what names them, that are counted
	for i := range b.obs.Probes {
		p := &b.obs.Probes[i]
		if target, _ := b.sentTo(p); target == l.name && spans(prober(p.Source), p.Sent, p.Done) {
			own[probeID{p.Run, p.Seq}] = p.Run != ""
			of.add(p.Class, 1)
		}
	}
	for i := range b.obs.Requests {
		r := &b.obs.Requests[i]
		id := probeID{r.ProbeRun, r.ProbeSeq}
		if !b.counting[r.Source] || r.Target != l.name || r.TargetStatus == 0 && !r.Connected || r.Start.IsZero() || !spans(r.Source, b.by(r.Source, r.Start), r.End) || own[id] {
			continue
		}
		own[id] = r.ProbeRun != ""
		of.add(r.Class, 1)
	}
	since := b.lifeOf(l.name, c.stop).from
	if _, untold := unanswered(inside(b.received()[l.name], requestReceived.at, since, c.stop)); untold != "" {
		return new(of.all()), of // its log told the answer of none: it may word them otherwise
	}
	for i, h := range b.obs.Handled {
		// Of one whose lines clocks make ambiguous, the answer may be the line that was not
		// believed.
		id := probeID{h.Run, h.Seq}
		if b.doubtfulLines[i] || b.ambiguous[id] || h.Target != l.name || own[id] {
			continue
		}
		// It was received, and not answered before the stop: by the target's own clock.
		p := b.sent[id]
		if p != nil && h.At.Before(c.stop) && h.At.After(c.stop.Add(-EdgeReach)) && !b.answeredBefore(id, l.name, c.stop) {
			own[id] = true
			of.add(p.Class, 1)
		}
	}
	return new(of.all()), of
}

// probesAttributed reports whether requests of ours were sent, and something can tell
// to which target.
func (b *bench) probesAttributed() bool {
	return slices.ContainsFunc([]Class{ClassProbe, ClassHealth}, func(class Class) bool { return b.byProber(class) && b.attributes(class) })
}

// answeredBefore reports whether a target's log answers a request before a moment.
func (b *bench) answeredBefore(id probeID, target string, at time.Time) bool {
	for _, h := range b.handled[id] {
		if !h.Begun && h.Target == target && h.At.Before(at) {
			return true
		}
	}
	return false
}
