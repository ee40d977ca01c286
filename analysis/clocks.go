package analysis

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// prober names the clock of whoever sent a request: the console's own, or that of
// another place.
func prober(source string) string { return proberAt(Vantage(source)) }

func proberAt(vantage string) string {
	if vantage != "" {
		return "prober" + vantageSign + vantage
	}
	return "prober"
}

// clocks bounds the offset of every application's and access log's clock against
// each prober's: the server's moment of a request lies between send and receive, so
// (its clock − the prober's) lies in [at − done, at − sent], where a log that cuts its
// times to milliseconds says of "at" only that it lies within one. The bounds of all
// matched requests are intersected per minute; the report gives the intersection of
// the whole window, or, where that is empty because clocks drifted, their hull.
func (b *bench) clocks() []ClockOffset {
	type pair struct{ prober, source string }
	perMinute := map[clockMinute]Interval{}
	for _, j := range b.pairings() {
		m := j.minute()
		bound, ok := perMinute[m]
		if !ok {
			perMinute[m] = Interval{j.low, j.high}
			continue
		}
		perMinute[m] = Interval{max(bound.From, j.low), min(bound.To, j.high)}
	}
	if len(perMinute) == 0 {
		return nil
	}
	minutes := make([]clockMinute, 0, len(perMinute))
	for m := range perMinute {
		minutes = append(minutes, m)
	}
	slices.SortFunc(minutes, func(x, y clockMinute) int {
		return cmp.Or(strings.Compare(x.prober, y.prober), strings.Compare(x.source, y.source), cmp.Compare(x.at, y.at))
	})
	var offsets []ClockOffset
	hull := map[pair]Interval{}
	for _, m := range minutes {
		bound := perMinute[m]
		if bound.From > bound.To {
			b.skewed[m.source] = true
			bound = Interval{bound.To, bound.From}
		}
		if n := len(offsets); n > 0 && offsets[n-1].A == m.prober && offsets[n-1].B == m.source {
			o := &offsets[n-1].Offset
			*o = Interval{max(o.From, bound.From), min(o.To, bound.To)}
			h := hull[pair{m.prober, m.source}]
			hull[pair{m.prober, m.source}] = Interval{min(h.From, bound.From), max(h.To, bound.To)}
			continue
		}
		offsets = append(offsets, ClockOffset{A: m.prober, B: m.source, Offset: bound})
		hull[pair{m.prober, m.source}] = bound
	}
	for i := range offsets {
		if o := &offsets[i]; o.Offset.From > o.Offset.To {
			o.Offset = hull[pair{o.A, o.B}]
		}
	}
	return offsets
}

// pairing is a server's record of a request that an id joins with our own of it, and what
// both say of (the server's clock − the prober's), in milliseconds.
type pairing struct {
	id        probeID
	source    string // of the server's record
	probe     *ProbeRequest
	handled   int // index of the application's line; −1: a row of an access log
	low, high float64
}

// clockMinute is a minute of a prober's clock, held against one other.
type clockMinute struct {
	prober, source string
	at             int64 // Unix minute of the send
}

func (j *pairing) minute() clockMinute {
	return clockMinute{prober(j.probe.Source), j.source, j.probe.Sent.Unix() / 60}
}

// pairings are the records of answered requests that bound a clock.
func (b *bench) pairings() []pairing {
	var list []pairing
	resolution := resolutions(b.handledInside())
	for i, h := range b.obs.Handled {
		id := probeID{h.Run, h.Seq}
		if p := b.sent[id]; p != nil && p.Status > 0 {
			latest := h.At.Add(resolution[h.Source])
			list = append(list, pairing{id, h.Source, p, i, milliseconds(h.At.Sub(p.Done)), milliseconds(latest.Sub(p.Sent))})
		}
	}
	for id, r := range b.logged {
		if p := b.sent[id]; p != nil && p.Status > 0 && !r.Start.IsZero() {
			// It received after the send and answered before the answer came.
			fine := max(cutTo(r.Start, r.End), b.cuts[r.Source]) // its start is no finer than its end
			list = append(list, pairing{id, r.Source, p, -1, milliseconds(r.End.Sub(p.Done)), milliseconds(r.Start.Add(fine).Sub(p.Sent))})
		}
	}
	return list
}

// resolutions tells, by source, to what a log's times are cut.
func resolutions(handled []HandledRequest) map[string]time.Duration {
	times := map[string][]time.Time{}
	for _, h := range handled {
		times[h.Source] = append(times[h.Source], h.At)
	}
	cut := map[string]time.Duration{}
	for source, all := range times {
		cut[source] = cutTo(all...)
	}
	return cut
}

// cutTo tells to what some times of one log are cut: a second or a millisecond where
// none has anything finer, else nothing.
func cutTo(times ...time.Time) time.Duration {
	cut := time.Second
	for _, t := range times {
		switch nanoseconds := time.Duration(t.Nanosecond()); {
		case nanoseconds%time.Millisecond != 0:
			return 0
		case nanoseconds != 0:
			cut = min(cut, time.Millisecond)
		}
	}
	return cut
}

// handledInside are the records of the window itself.
func (b *bench) handledInside() []HandledRequest {
	var inside []HandledRequest
	for _, h := range b.obs.Handled {
		if b.inWindow(h.At) {
			inside = append(inside, h)
		}
	}
	return inside
}
