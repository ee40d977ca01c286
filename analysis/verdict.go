package analysis

import (
	"slices"
	"time"
)

// lowTraffic is the number of user requests in the risky phases below which the
// verdict says that few were there.
const lowTraffic = 30

// claimState is the state of a claim that was judged.
func (b *bench) claimState(id string) VerdictState {
	for _, c := range b.report.Claims {
		if c.ID == id {
			return c.State
		}
	}
	return Untested
}

// verdict is the answer: that of no-user-failure-caused, and disproved also where
// the deploy failed a probe, since a probe is a request like a user's.
func (b *bench) verdict() Verdict {
	v := Verdict{Claim: ClaimNoUserFailureCaused, State: b.claimState(ClaimNoUserFailureCaused)}
	if v.State != Disproved && b.claimState(ClaimNoProbeFailureCaused) == Disproved {
		v.Claim, v.State = ClaimNoProbeFailureCaused, Disproved
	}
	v.Conditions = b.conditions()
	return v
}

// conditions are what the verdict depends on and what was not measured.
func (b *bench) conditions() []Condition {
	conditions := []Condition{}
	add := func(code string, values map[string]any) {
		conditions = append(conditions, Condition{Code: code, Values: values})
	}
	if b.report.Window.State != WindowSealed {
		values := map[string]any{"until": Time{b.to.Add(b.obs.Service.Window.Settle)}}
		if awaited := b.awaitedLogs(); len(awaited) > 0 {
			values["awaited"] = awaited
		}
		add("provisional", values)
	}
	if b.obs.Deploy.Noticed() {
		add("noticed", map[string]any{"from": Time{b.started}, "to": Time{b.obs.Deploy.SeenUntil}})
	}
	if targets := b.inferredTargets(); len(targets) > 0 {
		add("steps-inferred", map[string]any{"targets": targets})
	}
	for _, l := range b.lives {
		if groups := l.severalGroups(b.configuredGroups()); groups != nil {
			add("several-target-groups", map[string]any{"target": l.name, "target_group": l.group, "target_groups": groups})
		}
	}
	if targets := b.untoldStops(); len(targets) > 0 || b.stopsUnknown() {
		add("stops-unknown", map[string]any{"targets": targets})
	}
	if targets := b.untoldTargets(); len(targets) > 0 {
		add("targets-untold", map[string]any{"targets": targets})
	}
	users, probes := b.report.Totals[ClassUser], b.report.Totals[ClassProbe]
	b.userConditions(add, users, probes)
	for _, class := range []Class{ClassUser, ClassProbe} {
		causes := b.causedIn(class)
		if n := causes[CauseUnexplained] + causes[CauseShared]; n > 0 {
			add("unexplained-failures", map[string]any{"traffic": class, "count": n})
		}
		if late := b.endedAfter(Scope{class, Time{b.started}, Time{b.to}}); late.Count > 0 {
			add("ended-after-window", map[string]any{"traffic": class, "count": late.Count})
		}
	}
	for _, a := range b.report.Attribution {
		if a.Ambiguous > 0 {
			add("ambiguous-joins", map[string]any{"probe": a.Probe, "count": a.Ambiguous, "sent": a.Sent})
		}
	}
	b.missConditions(add)
	for _, c := range b.report.Coverage {
		for _, blind := range c.Blind {
			switch blind.Reason {
			case blindHorizon:
				add("horizon", map[string]any{"source": c.Source})
				continue
			case BlindTargetDown:
				continue
			}
			add("blind-spot", map[string]any{"source": c.Source, "from": blind.From, "to": blind.To, "seconds": seconds(blind.To.Sub(blind.From.Time)), "reason": blind.Reason})
		}
	}
	for _, source := range sortedKeys(b.counting) {
		if known, found := b.knownFound(source, b.started, b.to); found < known && b.settled() {
			add("log-incomplete", map[string]any{"source": source, "known": known, "found": found})
		}
		for _, gap := range b.metricGaps(source) {
			add("log-incomplete", gap.values())
		}
		for _, doubt := range b.logDoubts(source, b.started, b.to) {
			add(doubt.code, doubt.values)
		}
		for _, node := range b.unchecked(source) {
			add("log-unchecked", map[string]any{"source": source, "node": node})
		}
	}
	for _, probe := range b.obs.Service.Probes {
		if probe.Class == ClassProbe && probe.NewConnections && probes != nil {
			add("new-connections-only", map[string]any{"probe": probe.Name})
		}
	}
	if probes != nil && !slices.ContainsFunc(b.obs.Service.Probes, func(p Probe) bool { return p.Class == ClassProbe && len(b.vantages(p.Name)) > 0 }) {
		add("one-vantage-point", nil)
	}
	add("single-run", nil)
	return conditions
}

// settled reports whether late logs are no longer waited for.
func (b *bench) settled() bool { return !b.obs.At.Before(b.to.Add(b.obs.Service.Window.Settle)) }

// awaitedLogs are the logs that may still bring objects, each with its nodes; an
// empty list of nodes means that none is known yet.
func (b *bench) awaitedLogs() map[string][]string {
	logs := map[string][]string{}
	for _, c := range b.report.Coverage {
		if len(c.Awaited) == 0 {
			continue
		}
		logs[c.Source] = []string{}
		for _, a := range c.Awaited {
			if a.Node != "" {
				logs[c.Source] = append(logs[c.Source], a.Node)
			}
		}
	}
	return logs
}

func (b *bench) userConditions(add func(string, map[string]any), users, probes *Total) {
	if users == nil {
		values := map[string]any{}
		if probes != nil {
			values["probe_requests"], values["probe_failures"] = probes.Requests, probes.Failures
		}
		add("users-not-measured", values)
		return
	}
	add("status-codes-only", map[string]any{"traffic": ClassUser})
	if b.claimState(ClaimNoUserFailure) == Supported {
		for _, source := range sortedKeys(b.counting) {
			if len(b.unchecked(source)) == 0 && b.lacking(source, Scope{ClassUser, Time{b.from}, Time{b.to}}) == "" {
				add("census", map[string]any{"source": source, "requests": b.usersIn(source)})
			}
		}
	}
	for _, balancer := range b.unlogged() {
		add("balancer-without-log", map[string]any{"load_balancer": balancer})
	}
	for _, class := range []Class{ClassHealth, ClassTool} {
		if n := b.causedIn(class)[CauseDeploy]; n > 0 {
			add("other-traffic-failed", map[string]any{"traffic": class, "count": n})
		}
	}
	if there, risky := b.usersAtRisk(); risky && there < lowTraffic && b.obs.Deploy.ID != "" {
		add("low-traffic", map[string]any{"requests": there})
	}
	for _, route := range b.untriedRoutes() {
		add("critical-route-untried", map[string]any{"route": route})
	}
}

// untriedRoutes are the critical routes that no user asked for in the risky phases of a
// deploy while a target was not back, though others were asked for: of those nothing was
// put to the test.
func (b *bench) untriedRoutes() []string {
	tried, risky := map[string]bool{}, b.riskySpans()
	for i := range b.obs.Cells {
		if c := &b.obs.Cells[i]; c.Class == ClassUser && b.counting[c.Source] && c.meets(risky) {
			tried[c.Route] = true
		}
	}
	var routes []string
	for _, route := range b.obs.Service.Routes {
		if route.Critical && len(tried) > 0 && !tried[route.Name] {
			routes = append(routes, route.Name)
		}
	}
	return routes
}

// usersIn counts the user requests of one access log, as the totals do: a failure
// belongs to the window by its end.
func (b *bench) usersIn(source string) int {
	n := 0
	for i := range b.obs.Cells {
		if c := &b.obs.Cells[i]; c.Source == source && c.Class == ClassUser && !c.Outcome.Failure() && b.inWindow(time.Unix(c.Second, 0)) {
			n += c.Count
		}
	}
	for i := range b.failures {
		if f := &b.failures[i]; f.source == source && f.class == ClassUser {
			n += f.n
		}
	}
	return n
}

// missConditions name, per probe, the worst chance that a window of 400 ms on one
// target was missed, the longest that could well have been missed, and the bound on the
// failure rate.
func (b *bench) missConditions(add func(string, map[string]any)) {
	worst := map[string]map[string]any{}
	order := []string{}
	for _, d := range b.report.Detection {
		for _, m := range d.Miss {
			if m.WindowMS != 400 {
				continue
			}
			if seen, ok := worst[d.Scope]; ok && seen["probability"].(float64) >= m.Probability {
				continue
			} else if !ok {
				order = append(order, d.Scope)
			}
			worst[d.Scope] = map[string]any{"probe": d.Scope, "phase": d.Phase, "target": d.Target, "window_ms": m.WindowMS, "probability": m.Probability}
		}
	}
	for _, scope := range order {
		add("miss-chance", worst[scope])
	}
	for _, d := range b.longestMissed() {
		add("longest-missed", map[string]any{"probe": d.Scope, "phase": d.Phase, "target": d.Target, "window_ms": *d.LongestMissed})
	}
	if probes := b.report.Totals[ClassProbe]; probes != nil && probes.Failures == 0 && probes.Requests > 0 {
		add("failure-rate-bound", map[string]any{"traffic": ClassProbe, "requests": probes.Requests, "below": *rateBound(probes.Requests)})
	}
}

// longestMissed are the rows of detection, one for each probe, with the longest outage
// that would have been missed with a chance of 5 % or more: the first of several.
func (b *bench) longestMissed() []Detection {
	var worst []Detection
	for _, d := range b.report.Detection {
		if d.LongestMissed == nil {
			continue
		}
		switch i := slices.IndexFunc(worst, func(w Detection) bool { return w.Scope == d.Scope }); {
		case i < 0:
			worst = append(worst, d)
		case *d.LongestMissed > *worst[i].LongestMissed:
			worst[i] = d
		}
	}
	return worst
}
