package analysis

import (
	"cmp"
	"slices"
	"time"
)

// Bounds of a wait that nothing bounds: so many calls of one target at once, and so
// many times as many as before the deploy began.
const (
	unboundedCalls  = 20
	unboundedFactor = 5
)

// Grounds of unbounded-wait, strongest first.
const (
	waitOverLimit  = "over_limit"        // more calls waited at once than the configuration allows
	waitThreads    = "threads_exhausted" // every thread was busy, most of them waiting for the dependency
	waitNothingEnd = "no_bound_seen"     // they grew, and none was refused or timed out
)

// unboundedWait fires when calls to a dependency pile up in a target and nothing
// bounds them. A timeout bounds how long one waits, a bulkhead or breaker how many; a
// dependency whose calls are refused or time out has a bound, however generous.
func unboundedWait(b *bench) ([]Finding, string) {
	if len(b.report.Dependencies) == 0 {
		return nil, b.callsUntold()
	}
	if why := b.untold(EventCallEnded); why != "" {
		return nil, why
	}
	var found []Finding
	silent := b.hangsUntold()
	for _, d := range b.report.Dependencies {
		for _, target := range b.callers(d.Dependency) {
			f, why := b.unbounded(d, target)
			if f != nil {
				found = append(found, *f)
			}
			silent = cmp.Or(why, silent)
		}
	}
	if len(found) > 0 {
		return found, ""
	}
	return nil, silent
}

// unbounded weighs the calls of one target to a dependency; nil where something bounds
// them, and why nobody knows where what bounds them may stand in lines that were not read.
func (b *bench) unbounded(d DependencyUse, target string) (f *Finding, why string) {
	most, at := b.mostInFlight(d.Dependency, target, b.started, b.seenTo)
	before, _ := b.mostInFlight(d.Dependency, target, b.from, b.started)
	refused := 0
	for _, n := range d.Refused {
		refused += n
	}
	ground, limit := "", b.limitsOf(d.Dependency).InFlight
	threads, busy := b.threadsFull(target)
	busy = busy && float64(most) >= mostThreads*threads.Value
	switch {
	case limit > 0 && most > limit:
		ground = waitOverLimit
	case busy:
		ground = waitThreads
	case limit == 0 && refused == 0 && d.Results[resultTimeout] == 0 && most >= unboundedCalls && most >= unboundedFactor*max(before, 1):
		// A refusal, or that as many waited before, may stand where nobody read.
		if b.blindIn(b.callLogs(target, b.toldCalls(d.Dependency, target)...), b.from, b.seenTo) {
			return nil, whyAppLogBlind
		}
		ground = waitNothingEnd
	default:
		return nil, ""
	}
	from, to := b.waitAround(d.Dependency, target, at)
	values := map[string]any{
		"dependency": d.Dependency, "ground": ground, "most": most, "most_at": Time{at}, "before": before, "refused": refused,
		"timeouts": d.Results[resultTimeout], "limit": nil, "busy_threads": nil,
	}
	if limit > 0 {
		values["limit"] = limit
	}
	f = &Finding{Severity: SeverityHigh, From: Time{from}, To: Time{to}, Values: values, Evidence: b.callEvidence(d.Dependency, from, at)}
	if target != "" {
		f.Target = new(target)
	}
	if busy {
		values["busy_threads"] = threads.Value
		f.Evidence = append(f.Evidence, Evidence{Kind: "gauges", Source: threads.Source, From: Time{threads.At}, To: Time{threads.At}, Count: 1})
	}
	f.Evidence = append(f.Evidence, b.poolEvidence(target, from, to)...)
	return f, ""
}

// toldCalls are the sources that told of a target's calls to a dependency.
func (b *bench) toldCalls(dependency, target string) []string {
	seen := map[string]struct{}{}
	for _, c := range b.called {
		if c.dependency == dependency && c.target == target {
			seen[c.source] = struct{}{}
		}
	}
	return sortedKeys(seen)
}

// threadsFull is the moment at which all of a target's threads were busy, by its own
// metrics; ok is false where it tells nothing of it.
func (b *bench) threadsFull(target string) (at Gauge, ok bool) {
	most := 0.0
	for _, g := range b.obs.Gauges {
		if g.Metric == GaugeMaxThreads && g.Target == target && b.inWindow(g.At) {
			most = max(most, g.Value)
		}
	}
	for _, g := range b.obs.Gauges {
		if g.Metric == GaugeBusyThreads && g.Target == target && b.inWindow(g.At) && most > 0 && g.Value >= fullThreads*most {
			return g, true
		}
	}
	return at, false
}

// fullThreads is the share of all threads that are as good as all of them: a scrape
// takes one itself, and one may just be going back.
const fullThreads = 0.95

// mostThreads is the share of busy threads that must wait for one dependency, so that
// it is what keeps them busy.
const mostThreads = 0.8

// waitAround is the stretch around the moment of most calls in flight, from the first of
// them being sent to the last of them ending.
func (b *bench) waitAround(dependency, target string, at time.Time) (from, to time.Time) {
	from, to = at, at
	for _, c := range b.called {
		end := c.ended
		if end.IsZero() {
			end = b.seenTo
		}
		if c.dependency == dependency && c.target == target && !c.unseen && !c.sent.After(at) && end.After(at) {
			from, to = earliest(from, c.sent), latest(to, end)
		}
	}
	return latest(from, b.from), earliest(to, b.to)
}

// poolEvidence points at lines of a target, or of any where its name is empty, about
// pools that had nothing left in [from, to].
func (b *bench) poolEvidence(target string, from, to time.Time) []Evidence {
	lines := b.during(from, to.Add(time.Microsecond), EventPoolExhausted)
	return signalEvidence(slices.DeleteFunc(lines, func(s *Signal) bool { return target != "" && s.Target != target })...)
}
