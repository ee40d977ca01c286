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
		if len(hangs) == 0 {
			continue
		}
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
			for _, r := range b.obs.Runs {
				if r.Code != "" && r.From.Before(to) && r.To.After(from) && slices.ContainsFunc(b.obs.Service.Metrics, func(m MetricsSource) bool { return m.Name == r.Source }) {
					if scrapes++; scrapes == 1 {
						f.Evidence = append(f.Evidence, Evidence{Kind: "runs", Source: r.Source, From: Time{from}, To: Time{to}})
					}
				}
			}
			f.Values["scrapes_failed"] = scrapes
			if scrapes > 0 {
				f.Evidence[0].Count = scrapes
			}
			f.Evidence = append(f.Evidence, Evidence{Kind: "requests", Source: "traffic", From: Time{from}, To: Time{to}, Count: during.requests})
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

// routesBut are the routes of users and probes that are not among some.
func (b *bench) routesBut(routes []string) []routeKey {
	seen := map[routeKey]bool{}
	for i := range b.obs.Cells {
		if c := &b.obs.Cells[i]; b.counting[c.Source] && c.Class == ClassUser && !b.byProber(c.Class) {
			seen[routeKey{c.Class, c.Route}] = true
		}
	}
	for i := range b.obs.Probes {
		if p := &b.obs.Probes[i]; p.Class == ClassProbe {
			seen[routeKey{p.Class, p.Probe}] = true
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
		for _, s := range spans {
			if !at.Before(s.from) && at.Before(s.to) {
				return during
			}
		}
		return apart
	}
	for i := range b.obs.Probes {
		p := &b.obs.Probes[i]
		if k.class != p.Class || p.Probe != k.route || !b.inWindow(p.Sent) {
			continue
		}
		outcome := b.probeOutcome(p)
		t := of(p.Sent)
		t.add(1, outcome, p.Status, p.Probe, "")
		if outcome == OutcomeOK {
			t.exact = append(t.exact, milliseconds(p.Done.Sub(p.Sent)))
		}
	}
	for i := range b.obs.Cells {
		c := &b.obs.Cells[i]
		at := time.Unix(c.Second, 0)
		if k.class != c.Class || c.Route != k.route || !b.counting[c.Source] || b.byProber(c.Class) || !b.inWindow(at) {
			continue
		}
		of(at).add(c.Count, c.Outcome, c.Status, c.Route, "")
	}
	for i := range b.obs.Latencies {
		l := &b.obs.Latencies[i]
		at := time.Unix(l.Second, 0)
		if k.class == l.Class && l.Route == k.route && b.counting[l.Source] && !b.byProber(l.Class) && b.inWindow(at) {
			of(at).sketch.Merge(l.Took)
		}
	}
	return during, apart
}

// collapse compares requests during a hang with those apart from it; nil where they
// are as they always are.
func collapse(during, apart *tally) *Finding {
	if during.requests == 0 || apart.requests == 0 {
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
