package analysis

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Health-check logs tell exactly what polling only samples: every check of every
// load-balancer node. Each node decides by itself, so a target is out once the last
// of them has ejected it, and back once the last of them has taken it in again.

// BasisHealthCheckLog is the ground that ejection was or was not seen in the log of
// the health checks themselves.
const BasisHealthCheckLog = "health-check-log"

// checked is what the health-check logs say of one target.
type checked struct {
	source  string
	nodes   []nodeChecks
	changes []checkedChange // of all nodes together, ascending
}

// nodeChecks is how one node saw a target.
type nodeChecks struct {
	node        string
	first, last time.Time // start of its first check, end of its last one
	spans       []checkedSpan
	// known are the spans in which its state follows from its checks: not before the
	// thresholds could be met, nor in a gap of the log.
	known []span
}

// checkedSpan is a stretch in which a node had the target out. to is zero where
// nothing tells that it returned.
type checkedSpan struct {
	from, to time.Time
}

// checkedChange is a moment at which the last node ejected the target, or the last
// one took it in again.
type checkedChange struct {
	in bool
	at time.Time
	// until is where nobody knows any longer whether an ejected target is still out:
	// no node's checks go on, or there is a hole in them.
	until time.Time
}

// readChecks follows every target through the health checks, per node.
func (b *bench) readChecks() {
	type key struct{ source, group, target, node string }
	type at struct{ source, group, node string }
	checks := slices.Clone(b.obs.Checks)
	slices.SortStableFunc(checks, func(x, y HealthCheckResult) int {
		return cmp.Or(x.Done().Compare(y.Done()), x.At.Compare(y.At), strings.Compare(x.Node, y.Node), strings.Compare(x.Target, y.Target))
	})
	series := map[key][]HealthCheckResult{}
	times := map[at][]time.Time{} // of all checks by a node in a group, ascending by their ends
	var order []key
	for _, c := range checks {
		k := key{c.Source, c.TargetGroup, c.Target, c.Node}
		if _, ok := series[k]; !ok {
			order = append(order, k)
		}
		series[k] = append(series[k], c)
		k2 := at{c.Source, c.TargetGroup, c.Node}
		times[k2] = append(times[k2], c.At)
	}
	slices.SortFunc(order, func(x, y key) int {
		return cmp.Or(strings.Compare(x.source, y.source), strings.Compare(x.target, y.target), strings.Compare(x.node, y.node), strings.Compare(x.group, y.group))
	})
	for _, k := range order {
		l := b.byName[k.target]
		h := b.health(k.group)
		if l == nil || l.group != k.group && l.group != "" || !h.Known() {
			continue
		}
		if l.checked == nil {
			l.checked = &checked{source: k.source}
		}
		if l.checked.source != k.source { // a second log of the same checks
			continue
		}
		l.checked.nodes = append(l.checked.nodes, followNode(k.node, series[k], h, times[at{k.source, k.group, k.node}]))
	}
	for _, l := range b.lives {
		if l.checked != nil {
			l.checked.join()
		}
	}
}

// followNode runs one node's checks of a target through the thresholds. all are the
// times of its checks of any target of the group. A target that the node did not
// check for a while, although it checked others, is a new one (it was registered, or
// registered again), which one pass takes in. Where it checked nothing at all, the
// log has a hole, and the target's state is not known until the thresholds are met.
func followNode(node string, checks []HealthCheckResult, h HealthCheck, all []time.Time) nodeChecks {
	n := nodeChecks{node: node, first: checks[0].At, last: checks[len(checks)-1].Done()}
	const unknown, fresh, in, out = 0, 1, 2, 3
	pause := 3*h.Interval + h.Timeout
	after := func(before time.Time, next time.Time) int {
		if slices.ContainsFunc(all, func(t time.Time) bool { return t.After(before.Add(h.Interval)) && t.Before(next.Add(-h.Interval)) }) {
			return fresh
		}
		return unknown
	}
	state, passes, failures := after(checks[0].At.Add(-pause), checks[0].At), 0, 0
	var knownFrom time.Time
	end := func(until time.Time) {
		if !knownFrom.IsZero() {
			n.known = append(n.known, span{knownFrom, until})
		}
		knownFrom = time.Time{}
	}
	for i := range checks {
		c := &checks[i]
		if i > 0 && c.At.Sub(checks[i-1].At) > pause {
			end(checks[i-1].Done().Add(h.Interval))
			state, passes, failures = after(checks[i-1].At, c.At), 0, 0
		}
		if c.Pass {
			passes, failures = passes+1, 0
		} else {
			passes, failures = 0, failures+1
		}
		before := state
		switch {
		case c.Pass && state == fresh, passes >= max(h.Healthy, 1):
			state = in
		case failures >= h.Unhealthy && state != fresh:
			state = out
		}
		if before != state && before != in && before != out {
			knownFrom = c.Done()
		}
		switch {
		case before == in && state == out:
			n.spans = append(n.spans, checkedSpan{from: c.Done()})
		case before == unknown && state == out:
			n.spans = append(n.spans, checkedSpan{from: c.Done()}) // at the latest
		case before == out && state == in:
			n.spans[len(n.spans)-1].to = c.Done()
		}
	}
	end(n.last.Add(h.Interval)) // until the next one was due
	return n
}

// join finds when the last node ejected the target and when the last one took it in
// again, of those nodes whose state was known at the time.
func (c *checked) join() {
	type event struct {
		at   time.Time
		node int
		what int // order of events of one moment: what a node does, then that it ends
	}
	const begins, ejects, returns, ends = 0, 1, 2, 3
	var events []event
	for i, n := range c.nodes {
		for _, k := range n.known {
			events = append(events, event{k.from, i, begins}, event{k.to, i, ends})
		}
		for _, s := range n.spans {
			events = append(events, event{s.from, i, ejects})
			if !s.to.IsZero() {
				events = append(events, event{s.to, i, returns})
			}
		}
	}
	slices.SortFunc(events, func(x, y event) int {
		return cmp.Or(x.at.Compare(y.at), cmp.Compare(x.what, y.what), cmp.Compare(x.node, y.node))
	})
	known, out := map[int]struct{}{}, map[int]struct{}{}
	allOut := false
	for _, e := range events {
		switch e.what {
		case begins:
			known[e.node] = struct{}{}
		case ejects:
			out[e.node] = struct{}{}
		case returns:
			delete(out, e.node)
		case ends:
			delete(known, e.node)
			delete(out, e.node)
		}
		switch {
		case !allOut && e.what == ejects && len(out) == len(known):
			allOut = true
			c.changes = append(c.changes, checkedChange{at: e.at})
		case allOut && e.what == returns && len(out) == 0:
			allOut = false
			c.changes = append(c.changes, checkedChange{in: true, at: e.at})
		case allOut && len(out) == 0:
			allOut = false
			c.changes[len(c.changes)-1].until = e.at
		}
	}
}

// knew reports whether every node that checked the target in a span knew its state
// in all of it, and at least one did.
func (c *checked) knew(from, to time.Time) bool {
	some := false
	for _, n := range c.nodes {
		if n.last.Before(from) || !n.first.Before(to) {
			continue
		}
		if len(holes(from, to, n.known)) > 0 {
			return false
		}
		some = true
	}
	return some
}

// out is the span in which every node had the target out that meets [from, to), as
// far as it is known; its own to is zero where nothing tells that they took it in
// again. ok is false where there is none.
func (c *checked) out(from, to time.Time) (out checkedSpan, ok bool) {
	for i, change := range c.changes {
		if change.in || !change.at.Before(to) {
			continue
		}
		out = checkedSpan{from: change.at}
		end := change.until
		if end.IsZero() && i+1 < len(c.changes) {
			out.to = c.changes[i+1].at
			end = out.to
		}
		if end.IsZero() || end.After(from) {
			return out, true
		}
	}
	return checkedSpan{}, false
}

// gone is the time in which a cycle's target was not there to be served, as far as
// it is known: from its stop until it was ready.
func (b *bench) gone(c cycle) (from, to time.Time) {
	return c.stop, c.back(b.seenTo)
}

// ejectedByChecks says by the health-check log whether a target was out before or
// while it was down: yes, no, or unknown where the log does not tell.
func (b *bench) ejectedByChecks(l *life, c cycle) string {
	if l.checked == nil {
		return "unknown"
	}
	from, to := b.gone(c)
	if _, ok := l.checked.out(from, to); ok {
		return "yes"
	}
	if c.deregistered.IsZero() && l.checked.knew(from, to) { // else it left without them
		return "no"
	}
	return "unknown"
}

// outAtStop says by the health-check log whether every node had the target out when
// it stopped. Within a check's timeout around that moment, clocks and answers under
// way leave it open; and one that was deregistered before leaves however its checks went.
func (b *bench) outAtStop(l *life, c cycle) string {
	if l.checked == nil {
		return "unknown"
	}
	slack := b.slack(l.group)
	if out, ok := l.checked.out(c.stop, c.stop.Add(slack)); ok {
		if !out.from.After(c.stop) {
			return "yes"
		}
		return "unknown"
	}
	if l.checked.knew(c.stop, c.stop.Add(slack)) && (c.deregistered.IsZero() || c.deregistered.After(c.stop)) {
		return "no"
	}
	return "unknown"
}

// checksReport measures a cycle by the health-check log: from the first moment at
// which the target failed on purpose or was gone until the last node had ejected it,
// and from ready until the last node had taken it in again.
func (b *bench) checksReport(l *life, c cycle) *ChecksReport {
	if l.checked == nil {
		return nil
	}
	r := &ChecksReport{Source: l.checked.source, Nodes: []NodeChecksReport{}}
	begin := earliest(c.marked, c.deregistered, c.stop)
	until := earliest(c.until, b.to)
	if begin.IsZero() {
		begin = b.from
	}
	for _, n := range l.checked.nodes {
		row := NodeChecksReport{Node: n.node}
		for _, s := range n.spans {
			if within(s.from, begin, until) {
				row.EjectedAt, row.ReturnedAt = Time{s.from}, Time{s.to}
				break
			}
		}
		r.Nodes = append(r.Nodes, row)
	}
	if out, _ := l.checked.out(begin, until); !out.from.Before(begin) {
		r.EjectedAt, r.ReturnedAt = Time{out.from}, Time{out.to}
		if !c.begin().IsZero() {
			r.Eject = b.between(b.toldAt(l.name, earliest(c.marked, c.deregistered, c.stop)), dated{out.from, l.checked.source}, Exact)
			r.Return = b.between(b.toldAt(l.name, c.ready), dated{out.to, l.checked.source}, Exact)
		}
	}
	return r
}

// checkSteps are the ejections and returns in the window that the health-check log
// tells.
func (b *bench) checkSteps() []StepReport {
	var steps []StepReport
	for _, l := range b.lives {
		if l.checked == nil {
			continue
		}
		for _, change := range l.checked.changes {
			if !b.inWindow(change.at) {
				continue
			}
			kind := StepTargetHealthy
			if !change.in {
				kind = StepTargetEjected
			}
			steps = append(steps, StepReport{Kind: kind, At: Time{change.at}, Target: new(l.name), Source: l.checked.source, Inferred: true})
		}
	}
	return steps
}

// corrected reports whether the health-check log tells when a change happened that
// polling saw: then the polled one says nothing of its own. The displayed state
// gathers what the nodes say, so the log's moment lies around it, at most as far as a
// change takes.
func (b *bench) corrected(l *life, polled change) bool {
	if l.checked == nil {
		return false
	}
	h := b.health(l.group)
	reach := predictedReturn(h)
	if !polled.in {
		reach = time.Duration(max(h.Unhealthy, 1))*h.Interval + h.Timeout
	}
	return slices.ContainsFunc(l.checked.changes, func(c checkedChange) bool {
		return c.in == polled.in && c.at.Before(polled.seen.Add(reach)) && c.at.After(polled.before.Add(-reach))
	})
}
