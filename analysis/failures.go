package analysis

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// failure is one failed request, from whichever witness counts its class; or, where
// unkept, n of them that were only counted: they are alike, began in one second, and
// lie between start and end.
type failure struct {
	class         Class
	start, end    time.Time
	cut           time.Duration // start and end may have been later by less than this: the log's are cut to it
	late          time.Duration // and by this by the clock of the deploy's start, or by less
	group         string        // target group that a log names; empty where none does
	target        string        // that it was sent to; empty where no witness says
	targetAnswers bool          // the target itself answered
	outcome       Outcome
	status        int
	targetStatus  int
	route         string
	request       string // its method and URL, or a probe's name and id
	source        string
	n             int
	unkept        bool
	cause         Cause
	caused        time.Time // start of the deploy that caused it; zero where none did
	id            probeID
}

// ended is when it ended, as far as its log and the clocks tell.
func (f *failure) ended() point { return point{at: f.end, by: f.endBy().Add(f.late)} }

// endBy is the latest that it can have ended.
func (f *failure) endBy() time.Time { return f.end.Add(f.cut) }

// kind is what makes failures of one sort: status, made by whom, route.
func (f failure) kind() string {
	return string(f.class) + " " + string(f.outcome) + " " + statusKey(f.status) + " " + f.route
}

// collectFailures lists every failed request of every class in the window.
func (b *bench) collectFailures() {
	for i := range b.obs.Probes {
		p := &b.obs.Probes[i]
		outcome := b.probeOutcome(p)
		if !outcome.Failure() || !b.inWindow(p.Done) {
			continue
		}
		f := failure{class: p.Class, start: p.Sent, end: p.Done, outcome: outcome, status: p.Status, route: p.Probe, source: p.Source, n: 1, id: probeID{p.Run, p.Seq}, request: p.Probe + " " + p.Run + "-" + strconv.Itoa(p.Seq)}
		f.target, f.targetAnswers = b.sentTo(p)
		if r := b.logged[f.id]; r != nil {
			f.targetStatus, f.group = r.TargetStatus, r.TargetGroup
		}
		b.failures = append(b.failures, f)
	}
	for i := range b.obs.Requests {
		r := &b.obs.Requests[i]
		if !b.counting[r.Source] || b.byProber(r.Class) || !r.Outcome.Failure() {
			continue
		}
		if b.inWindow(r.End) {
			b.failures = append(b.failures, failure{
				class: r.Class, start: r.moment(), end: r.End, group: r.TargetGroup, target: r.Target, targetAnswers: r.TargetStatus > 0,
				outcome: r.Outcome, status: r.Status, targetStatus: r.TargetStatus, route: r.Route, source: r.Source, n: 1, cut: b.cuts[r.Source],
				request: r.Method + " " + r.URL,
			})
		}
	}
	for _, c := range b.unkept {
		if b.counting[c.Source] && !b.byProber(c.Class) && !c.late && b.inWindow(time.Unix(c.Second, 0).UTC()) {
			b.failures = append(b.failures, failure{
				class: c.Class, start: c.First, end: c.Last, group: c.TargetGroup, target: c.Target, targetAnswers: c.TargetStatus > 0,
				outcome: c.Outcome, status: c.Status, targetStatus: c.TargetStatus, route: c.Route, source: c.Source, n: c.n, unkept: true, cut: b.cuts[c.Source],
			})
		}
	}
	slices.SortStableFunc(b.failures, func(x, y failure) int {
		return cmp.Or(x.end.Compare(y.end), x.start.Compare(y.start), cmp.Compare(x.class, y.class),
			strings.Compare(x.id.run, y.id.run), cmp.Compare(x.id.seq, y.id.seq), strings.Compare(x.kind(), y.kind()), strings.Compare(x.target, y.target), strings.Compare(x.request, y.request))
	})
}

// unkept is a cell of failures of which not every one is among the single requests,
// with how many are not.
type unkept struct {
	*Cell
	n    int
	late bool // some ended later than single requests are looked at: they may all be of that time
}

// findUnkept finds the failures that were only counted. A log that fails in bulk
// keeps a sample of those that are alike; all of them are in its cells.
func (b *bench) findUnkept() {
	kept := map[CellKey]int{}
	for i := range b.obs.Requests {
		if r := &b.obs.Requests[i]; r.Outcome.Failure() {
			kept[r.CellKey]++
		}
	}
	place := map[CellKey]int{}
	for i := range b.obs.Cells {
		c := &b.obs.Cells[i]
		if !c.Outcome.Failure() {
			continue
		}
		if at, ok := place[c.CellKey]; ok { // two objects have cells of one key: of which those are that were kept, nobody knows
			all := *b.unkept[at].Cell
			all.Count, all.First, all.Last = all.Count+c.Count, earliest(all.First, c.First), latest(all.Last, c.Last)
			b.unkept[at].Cell = &all
			continue
		}
		place[c.CellKey] = len(b.unkept)
		b.unkept = append(b.unkept, unkept{Cell: c})
	}
	b.unkept = slices.DeleteFunc(b.unkept, func(c unkept) bool { return c.Count <= kept[c.CellKey] })
	for i := range b.unkept {
		c := &b.unkept[i]
		c.n, c.late = c.Count-kept[c.CellKey], !c.Last.Before(b.to.Add(EdgeReach))
	}
}

// failedRequests lists the failures one by one, with what the judge made of them.
func (b *bench) failedRequests() []FailedRequest {
	b.report.FailuresUnkept = 0
	for _, f := range b.failures {
		if f.unkept {
			b.report.FailuresUnkept += f.n
		}
	}
	list := []FailedRequest{}
	for _, f := range b.failures[:min(len(b.failures), MaxFailures)] {
		row := FailedRequest{
			Traffic: f.class, Start: Time{f.start}, End: Time{f.end}, Target: known(f.target), Outcome: f.outcome, Route: f.route,
			Request: f.request, Phase: b.phaseName(f.counted()), Cause: f.cause, Count: f.n,
		}
		if f.status > 0 {
			row.Status = new(f.status)
		}
		if f.targetStatus > 0 {
			row.TargetStatus = new(f.targetStatus)
		}
		list = append(list, row)
	}
	return list
}

// counted is the moment by which a failure belongs to a phase: its end, or, for
// failures that were only counted, their start.
func (f *failure) counted() time.Time {
	if f.unkept {
		return f.start
	}
	return f.end
}

// probeOutcome is the outcome of a probe request as it counts: a drain answer
// outside its target's drain is a 5xx that the application made.
func (b *bench) probeOutcome(p *ProbeRequest) Outcome {
	if p.Outcome != OutcomeDrain503 {
		return p.Outcome
	}
	target, _ := b.sentTo(p)
	if b.draining(target, p.Sent) || b.draining(target, p.Done) {
		return OutcomeDrain503
	}
	return OutcomeTarget5xx
}

// sentTo is the target that a probe request went to: by the application that
// logged it, by the answer itself, or by its row in the access log.
func (b *bench) sentTo(p *ProbeRequest) (target string, answered bool) {
	id := probeID{p.Run, p.Seq}
	begun, answeredBy := "", ""
	for _, h := range b.handled[id] {
		switch {
		case h.Begun:
			begun = h.Target
		case answeredBy != "" && answeredBy != h.Target:
			return "", false // two targets claim it: neither can be believed
		default:
			answeredBy = h.Target
		}
	}
	if answeredBy != "" {
		return answeredBy, true
	}
	if p.Target != "" {
		return p.Target, true
	}
	if r := b.logged[id]; r != nil && r.Target != "" {
		return r.Target, r.TargetStatus > 0
	}
	return begun, false
}
