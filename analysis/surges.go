package analysis

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// surge is a count of refusals, client aborts or 4xx of one class on one route that
// lies well above the baseline's, or in which many came together.
type surge struct {
	class     Class
	outcome   Outcome
	route     string
	test      BaselineTest
	alone     bool // there was no baseline to compare with
	gathering *gathering
}

// surgeRatio is how many times its baseline's rate a count must have to be a surge:
// with enough requests any difference is significant.
const surgeRatio = 1.5

// aloneRate is the rate of refusals, aborts or 4xx from which a route or a class that has
// no baseline cannot be cleared.
const aloneRate = 0.05

var surgeOutcomes = []Outcome{OutcomeRejected, OutcomeClientAbort, OutcomeClientError}

// surgedIn reports whether anything of a surge lies in a scope: a second of a log
// belongs to it by its start.
func (b *bench) surgedIn(s surge, scope Scope) bool {
	if g := s.gathering; g != nil {
		scope.From.Time, scope.To.Time = latest(scope.From.Time, g.from), earliest(scope.To.Time, g.to)
	}
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
// baseline (Fisher's exact test, one-sided, corrected over the kinds tested), and looks
// whether they came together. Where the baseline has none of a kind, and too few requests
// of the route for any number after to be significant, there is nothing to compare with:
// then a rate that is significantly above [aloneRate] cannot be cleared; nor can any above
// it where all of the class has no baseline.
func (b *bench) findSurges() {
	type kind struct {
		routeKey
		outcome Outcome
	}
	counts, exposure := map[kind]*series{}, map[routeKey]*series{}
	add := func(k routeKey, outcome Outcome, at time.Time, n int) {
		if !b.inWindow(at) {
			return
		}
		addTo(b, exposure, k, at, n)
		if slices.Contains(surgeOutcomes, outcome) {
			addTo(b, counts, kind{k, outcome}, at, n)
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
	limit := significance / float64(len(counts))
	for k, of := range counts {
		all := exposure[k.routeKey]
		t := BaselineTest{
			Kind:             string(k.class) + " " + string(k.outcome) + " " + k.route,
			BaselineFailures: of.before, BaselineRequests: all.before, WindowFailures: of.after, WindowRequests: all.after,
			P: fisherGreater(of.after, all.after, of.before, all.before),
		}
		higher := float64(of.after)*float64(all.before) >= surgeRatio*float64(of.before)*float64(all.after)
		t.Significant = t.P < limit && higher
		s := surge{class: k.class, outcome: k.outcome, route: k.route, test: t}
		switch {
		case t.Significant:
		case b.aloneAbove(k.class, t, limit):
			s.alone = true
		default:
			if s.gathering = b.gather(of, all, limit); s.gathering == nil {
				continue
			}
			s.test.P = s.gathering.p
		}
		b.surges = append(b.surges, s)
	}
	slices.SortFunc(b.surges, func(x, y surge) int {
		return cmp.Or(cmp.Compare(x.class, y.class), cmp.Compare(x.outcome, y.outcome), strings.Compare(x.route, y.route))
	})
}

// aloneAbove reports whether nothing of the baseline can be compared with a rate that is
// above [aloneRate].
func (b *bench) aloneAbove(class Class, t BaselineTest, limit float64) bool {
	n, of := t.WindowFailures, t.WindowRequests
	if t.BaselineFailures > 0 || float64(n) <= aloneRate*float64(of) || fisherGreater(of, of, 0, t.BaselineRequests) < limit {
		return false
	}
	before, _ := b.exposure(class)
	return before == 0 || binomialAtLeast(n, of, aloneRate) < limit
}
