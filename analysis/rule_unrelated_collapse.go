package analysis

import (
	"slices"
	"time"
)

// Bounds of a collapse: failures of a share that nobody overlooks, or times that are
// a multiple of the usual ones.
const (
	collapseShare    = 0.1
	collapseFailures = 5
	collapseFactor   = 3
	collapseExtra    = 100 * time.Millisecond
)

// unrelatedCollapse fires when requests that have nothing to do with a dependency fail,
// or take a multiple of their usual time, while calls to it hang: they wait for the
// threads, connections or memory that the hanging calls hold. Which routes call the
// dependency is configured; nothing that is observed tells it.
//
// A target that cannot be scraped meanwhile is evidence too: its metrics are answered
// by the same threads.
func unrelatedCollapse(b *bench) ([]Finding, string) {
	if len(b.report.Dependencies) == 0 {
		return nil, b.callsUntold()
	}
	if why := b.untold(EventCallEnded); why != "" {
		return nil, why
	}
	var found []Finding
	told := false
	for _, d := range b.report.Dependencies {
		routes := b.limitsOf(d.Dependency).Routes
		if len(routes) == 0 {
			continue
		}
		told = true
		hangs := b.hangs(d.Dependency)
		for _, k := range b.routesBut(routes) {
			during, apart := b.trafficOf(k, hangs)
			f := collapse(during, apart)
			if f == nil {
				continue
			}
			from, to := hangs[0].from, hangs[len(hangs)-1].to
			f.Severity, f.From, f.To = SeverityHigh, Time{from}, Time{to}
			f.Values["dependency"], f.Values["traffic"], f.Values["route"] = d.Dependency, k.class, k.route
			scrapes := 0
			for _, e := range b.scrapesFailed(from, to) {
				scrapes += e.Count
				f.Evidence = append(f.Evidence, e)
			}
			f.Values["scrapes_failed"] = scrapes
			f.Evidence = append(f.Evidence, Evidence{Kind: "requests", Source: "traffic", Traffic: k.class, From: Time{from}, To: Time{to}, Count: during.requests})
			f.Evidence = append(f.Evidence, b.poolEvidence("", from, to)...)
			found = append(found, *f)
		}
	}
	switch {
	case len(found) > 0:
		return found, ""
	case !told:
		return nil, whyNoRoutes
	}
	return nil, b.hangsUntold()
}

// scrapesFailed points at the scrapes of metrics that failed in a stretch, under the
// source of the first.
func (b *bench) scrapesFailed(from, to time.Time) []Evidence {
	var list []Evidence
	for _, r := range b.obs.Runs {
		isMetrics := slices.ContainsFunc(b.obs.Service.Metrics, func(m MetricsSource) bool { return m.Name == r.Source })
		if !isMetrics || r.Code == "" || !overlap(r.From, r.To, from, to) {
			continue
		}
		if list == nil {
			list = []Evidence{{Kind: "runs", Source: r.Source, From: Time{from}, To: Time{to}}}
		}
		list[0].Count++
	}
	return list
}

// routesBut are the routes of users, and the probes, that are not among some.
func (b *bench) routesBut(routes []string) []routeKey {
	seen := map[routeKey]struct{}{}
	for i := range b.obs.Cells {
		if c := &b.obs.Cells[i]; c.Class == ClassUser {
			seen[routeKey{c.Class, c.Route}] = struct{}{}
		}
	}
	for i := range b.obs.Probes {
		if p := &b.obs.Probes[i]; p.Class == ClassProbe {
			seen[routeKey{p.Class, p.Probe}] = struct{}{}
		}
	}
	var list []routeKey
	for k := range seen {
		if !slices.Contains(routes, k.route) {
			list = append(list, k)
		}
	}
	slices.SortFunc(list, func(x, y routeKey) int {
		return slices.Compare([]string{string(x.class), x.route}, []string{string(y.class), y.route})
	})
	return list
}

// trafficOf counts the requests of a route that began in some stretches, and those that
// began apart from them.
func (b *bench) trafficOf(k routeKey, spans []span) (during, apart *tally) {
	during, apart = newTally(false), newTally(false)
	of := func(at time.Time) *tally {
		if slices.ContainsFunc(spans, func(s span) bool { return within(at, s.from, s.to) }) {
			return during
		}
		return apart
	}
	if k.class == ClassProbe {
		b.probesInto(k.route, of)
	} else {
		b.usersInto(k.route, of)
	}
	return during, apart
}

// probesInto adds the requests of a probe in the window to the tallies of the moments at
// which they were sent.
func (b *bench) probesInto(probe string, of func(time.Time) *tally) {
	for i := range b.obs.Probes {
		p := &b.obs.Probes[i]
		if p.Probe != probe || !b.inWindow(p.Sent) {
			continue
		}
		outcome, t := b.probeOutcome(p), of(p.Sent)
		t.add(1, outcome, p.Status, p.Probe, "")
		if outcome == OutcomeOK {
			t.exact = append(t.exact, milliseconds(p.Done.Sub(p.Sent)))
		}
	}
}

// usersInto adds the requests of users to a route in the window to the tallies of the
// seconds in which they began.
func (b *bench) usersInto(route string, of func(time.Time) *tally) {
	counts := func(source string, class Class, of string, second int64) bool {
		return b.counting[source] && class == ClassUser && of == route && b.inWindow(time.Unix(second, 0))
	}
	for i := range b.obs.Cells {
		if c := &b.obs.Cells[i]; counts(c.Source, c.Class, c.Route, c.Second) {
			of(time.Unix(c.Second, 0)).add(c.Count, c.Outcome, c.Status, c.Route, "")
		}
	}
	for i := range b.obs.Latencies {
		if l := &b.obs.Latencies[i]; counts(l.Source, l.Class, l.Route, l.Second) {
			of(time.Unix(l.Second, 0)).sketch.Merge(l.Took)
		}
	}
}

// collapse compares requests during a hang with those apart from it; nil where they
// are as they always are.
func collapse(during, apart *tally) *Finding {
	if apart.requests == 0 {
		return nil
	}
	_, slow, _, _ := during.latencies()
	_, usual, _, _ := apart.latencies()
	fails := during.failures >= collapseFailures && float64(during.failures) >= collapseShare*float64(during.requests) &&
		during.failures*apart.requests >= collapseFactor*apart.failures*during.requests
	slows := slow != nil && usual != nil && *slow >= collapseFactor**usual && *slow-*usual >= milliseconds(collapseExtra)
	if !fails && !slows {
		return nil
	}
	return &Finding{Values: map[string]any{
		"requests": during.requests, "failed": during.failures, "p95_ms": optionalNumber(slow), "usual_p95_ms": optionalNumber(usual), "usual_failed": apart.failures, "usual_requests": apart.requests,
	}}
}

// optionalNumber is a number for a finding's values: nil when it is not known.
func optionalNumber(v *float64) any {
	if v == nil {
		return nil
	}
	return *v
}
