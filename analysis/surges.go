package analysis

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// surge is a count of refusals, client aborts or 4xx of one class on one route that
// lies well above the baseline's.
type surge struct {
	class   Class
	outcome Outcome
	route   string
	test    BaselineTest
	alone   bool // there was no baseline to compare with
}

// surgeRatio is how many times its baseline's rate a count must have to be a surge:
// with enough requests any difference is significant.
const surgeRatio = 1.5

// aloneRate is the rate of refusals, aborts or 4xx from which a class that has no
// baseline cannot be cleared.
const aloneRate = 0.05

var surgeOutcomes = []Outcome{OutcomeRejected, OutcomeClientAbort, OutcomeClientError}

// surgedIn reports whether anything of a surge lies in a scope: a second of a log
// belongs to it by its start.
func (b *bench) surgedIn(s surge, scope Scope) bool {
	in := func(k routeKey, outcome Outcome, at time.Time) bool {
		return k == routeKey{s.class, s.route} && outcome == s.outcome && within(at, scope.From.Time, scope.To.Time)
	}
	return slices.ContainsFunc(b.obs.Cells, func(c Cell) bool {
		return b.counting[c.Source] && in(routeKey{c.Class, c.Route}, c.Outcome, time.Unix(c.Second, 0))
	}) || slices.ContainsFunc(b.obs.Probes, func(p ProbeRequest) bool {
		return in(routeKey{p.Class, p.Probe}, p.Outcome, p.Sent)
	})
}

// findSurges compares refusals, client aborts and client errors per route with the
// baseline: given all of a kind, the number after the start is binomial with that
// time's share of the route's requests; corrected over the kinds tested. Without
// requests in the baseline there is nothing to compare with.
func (b *bench) findSurges() {
	type kind struct {
		routeKey
		outcome Outcome
	}
	type pair struct{ before, after int }
	counts, exposure := map[kind]pair{}, map[routeKey]pair{}
	add := func(k routeKey, outcome Outcome, at time.Time, n int) {
		if !b.inWindow(at) {
			return
		}
		e, c := exposure[k], counts[kind{k, outcome}]
		if at.Before(b.started) {
			e.before, c.before = e.before+n, c.before+n
		} else {
			e.after, c.after = e.after+n, c.after+n
		}
		exposure[k] = e
		if slices.Contains(surgeOutcomes, outcome) {
			counts[kind{k, outcome}] = c
		}
	}
	for i := range b.obs.Cells {
		if c := &b.obs.Cells[i]; b.counting[c.Source] && c.Class == ClassUser {
			add(routeKey{c.Class, c.Route}, c.Outcome, time.Unix(c.Second, 0), c.Count)
		}
	}
	for i := range b.obs.Probes {
		if p := &b.obs.Probes[i]; p.Class == ClassProbe {
			add(routeKey{p.Class, p.Probe}, p.Outcome, p.Sent, 1)
		}
	}
	for k, c := range counts {
		e := exposure[k.routeKey]
		if before, _ := b.exposure(k.class); e.before == 0 && before == 0 && float64(c.after) > aloneRate*float64(e.after) {
			b.surges = append(b.surges, surge{k.class, k.outcome, k.route, BaselineTest{WindowFailures: c.after, WindowRequests: e.after}, true})
		}
		t := BaselineTest{
			Kind:             string(k.class) + " " + string(k.outcome) + " " + k.route,
			BaselineFailures: c.before, BaselineRequests: e.before, WindowFailures: c.after, WindowRequests: e.after,
			P: binomialAtLeast(c.after, c.before+c.after, share(e.after, e.before)),
		}
		higher := float64(c.after)*float64(e.before) >= surgeRatio*float64(c.before)*float64(e.after)
		if t.Significant = t.P < significance/float64(len(counts)) && higher; t.Significant {
			b.surges = append(b.surges, surge{k.class, k.outcome, k.route, t, false})
		}
	}
	slices.SortFunc(b.surges, func(x, y surge) int {
		return cmp.Or(cmp.Compare(x.class, y.class), cmp.Compare(x.outcome, y.outcome), strings.Compare(x.route, y.route))
	})
}
