package analysis

import (
	"math"
	"slices"
	"strconv"
	"time"
)

// tally collects the counts of one class, in one phase or in the whole window.
type tally struct {
	requests, failures int
	outcomes           map[Outcome]int
	statuses           map[string]int
	routes             map[string]RouteCount
	byTarget           map[string]int
	attributed         bool      // something tells which target served
	sketch             Histogram // users: from cells, microseconds
	exact              []float64 // probes: milliseconds
}

func newTally(attributed bool) *tally {
	return &tally{attributed: attributed, outcomes: map[Outcome]int{}, statuses: map[string]int{}, routes: map[string]RouteCount{}, byTarget: map[string]int{}}
}

func (t *tally) add(n int, outcome Outcome, status int, route, servedBy string) {
	t.requests += n
	t.outcomes[outcome] += n
	t.statuses[statusKey(status)] += n
	r := t.routes[route]
	r.Requests += n
	if outcome.Failure() {
		t.failures += n
		r.Failures += n
	}
	t.routes[route] = r
	if servedBy != "" {
		t.byTarget[servedBy] += n
	}
}

func statusKey(status int) string {
	if status == 0 {
		return "none"
	}
	return strconv.Itoa(status)
}

// byProber reports whether a class is counted in the prober's own records.
func (b *bench) byProber(class Class) bool { return b.prober[class] }

// measured reports whether anything counts a class at all. A counting access log
// that was read, even one without a single request of it, does.
func (b *bench) measured(class Class) bool {
	if b.byProber(class) {
		return true
	}
	if class == ClassProbe || class == ClassHealth {
		return slices.ContainsFunc(b.obs.Cells, func(c Cell) bool { return c.Class == class && b.counting[c.Source] })
	}
	return b.logRead()
}

// logRead reports whether any counting access log gave evidence for the window: it
// brought an object; or it was read without one, and none was due, since no probe
// of ours passed the load balancer either.
func (b *bench) logRead() bool {
	if slices.ContainsFunc(b.obs.Objects, func(o Object) bool { return b.counting[o.Source] && o.Error == "" }) ||
		slices.ContainsFunc(b.obs.Cells, func(c Cell) bool { return b.counting[c.Source] }) {
		return true
	}
	due := slices.ContainsFunc(b.obs.Probes, func(p ProbeRequest) bool { return p.Status > 0 && b.inWindow(p.Sent) })
	return !due && slices.ContainsFunc(b.obs.Runs, func(r Run) bool { return b.counting[r.Source] && r.Code == "" })
}

// attributes reports whether anything can tell which target served a class's
// requests: an access log does for those that it counts; for a prober's own records an
// application log, known requests in an access log, or the answers themselves.
func (b *bench) attributes(class Class) bool {
	return !b.byProber(class) || len(b.obs.Service.AppLogs) > 0 || len(b.obs.Known) > 0 ||
		slices.ContainsFunc(b.obs.Probes, func(p ProbeRequest) bool { return p.Class == class && p.Target != "" })
}

// countTraffic fills the traffic of every phase and the totals. Probe requests and
// all failures that were recorded one by one belong to phases by exact time (start;
// a failure by its end), other logged requests by the start of their second.
func (b *bench) countTraffic() {
	whole := map[Class]*tally{}
	phases := make([]map[Class]*tally, len(b.report.Phases))
	for i := range phases {
		phases[i] = map[Class]*tally{}
	}
	for _, class := range Classes {
		if b.measured(class) || slices.ContainsFunc(b.failures, func(f failure) bool { return f.class == class }) {
			whole[class] = newTally(b.attributes(class))
			for i := range phases {
				phases[i][class] = newTally(b.attributes(class))
			}
		}
	}
	b.countProbes(whole, phases)
	b.countCells(whole, phases)
	b.mergeLatencies(whole, phases)
	for i := range b.failures {
		f := &b.failures[i]
		served := ""
		if f.targetAnswers {
			served = f.target
		}
		whole[f.class].add(f.n, f.outcome, f.status, f.route, served)
		if phase := b.phaseAt(f.counted()); phase >= 0 {
			phases[phase][f.class].add(f.n, f.outcome, f.status, f.route, served)
		}
	}
	b.report.Totals = map[Class]*Total{}
	for _, class := range Classes {
		b.report.Totals[class] = nil
		if t := whole[class]; t != nil {
			b.report.Totals[class] = t.total()
		}
	}
	for i := range b.report.Phases {
		traffic := map[Class]*Counts{}
		for _, class := range Classes {
			traffic[class] = nil
			if t := phases[i][class]; t != nil {
				traffic[class] = t.counts()
			}
		}
		b.report.Phases[i].Traffic = traffic
	}
}

func (b *bench) countProbes(whole map[Class]*tally, phases []map[Class]*tally) {
	for i := range b.obs.Probes {
		p := &b.obs.Probes[i]
		outcome := b.probeOutcome(p)
		phase := b.phaseAt(p.Sent)
		if outcome.Failure() || phase < 0 {
			continue
		}
		served := ""
		if target, answered := b.sentTo(p); answered {
			served = target
		}
		for _, t := range []*tally{whole[p.Class], phases[phase][p.Class]} {
			t.add(1, outcome, p.Status, p.Probe, served)
			if outcome == OutcomeOK {
				t.exact = append(t.exact, milliseconds(p.Done.Sub(p.Sent)))
			}
		}
	}
}

func (b *bench) countCells(whole map[Class]*tally, phases []map[Class]*tally) {
	for i := range b.obs.Cells {
		c := &b.obs.Cells[i]
		if !b.counting[c.Source] || c.Outcome.Failure() || b.byProber(c.Class) {
			continue
		}
		phase := b.phaseAt(time.Unix(c.Second, 0))
		if phase < 0 {
			continue
		}
		served := ""
		if c.TargetStatus > 0 {
			served = c.Target
		}
		phases[phase][c.Class].add(c.Count, c.Outcome, c.Status, c.Route, served)
		whole[c.Class].add(c.Count, c.Outcome, c.Status, c.Route, served)
	}
}

// mergeLatencies merges how long logged requests took, into the phase that their
// second began in.
func (b *bench) mergeLatencies(whole map[Class]*tally, phases []map[Class]*tally) {
	for i := range b.obs.Latencies {
		l := &b.obs.Latencies[i]
		phase := b.phaseAt(time.Unix(l.Second, 0))
		if phase < 0 || whole[l.Class] == nil || !b.counting[l.Source] || b.byProber(l.Class) {
			continue
		}
		phases[phase][l.Class].sketch.Merge(l.Took)
	}
	for class, t := range whole {
		for i := range phases {
			t.sketch.Merge(&phases[i][class].sketch)
		}
	}
}

// latencies are p50, p95, p99 and max in milliseconds: exact by nearest rank for
// probes, from the sketch (within [HistogramError]; the maximum exact) for logs.
func (t *tally) latencies() (p50, p95, p99, top *float64) {
	var values [4]float64
	switch {
	case len(t.exact) > 0:
		slices.Sort(t.exact)
		for i, share := range []float64{.5, .95, .99, 1} {
			values[i] = t.exact[nearestRank(share, len(t.exact))-1]
		}
	case t.sketch.Count() > 0:
		for i, v := range t.sketch.Quantiles(.5, .95, .99) {
			values[i] = float64(v) / 1e3
		}
		values[3] = float64(t.sketch.Max()) / 1e3
	default:
		return nil, nil, nil, nil
	}
	return &values[0], &values[1], &values[2], &values[3]
}

// servedBy counts requests per target; nil where nothing tells who served.
func (t *tally) servedBy() map[string]int {
	if !t.attributed && len(t.byTarget) == 0 {
		return nil
	}
	return t.byTarget
}

func (t *tally) counts() *Counts {
	c := &Counts{Requests: t.requests, Failures: t.failures, Outcomes: t.outcomes, ByTarget: t.servedBy()}
	c.P50, c.P95, c.P99, c.Max = t.latencies()
	return c
}

func (t *tally) total() *Total {
	total := &Total{
		Requests: t.requests, Failures: t.failures, Outcomes: t.outcomes, Statuses: t.statuses,
		Causes: map[Cause]int{}, ByRoute: t.routes, ByTarget: t.servedBy(),
	}
	total.P50, total.P95, total.P99, total.Max = t.latencies()
	return total
}

func milliseconds(d time.Duration) float64 { return math.Round(float64(d.Nanoseconds())/1e3) / 1e3 }
