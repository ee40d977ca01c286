package analysis

import (
	"slices"
	"time"
)

// Ids of the built-in claims.
const (
	ClaimNoUserFailureCaused  = "no-user-failure-caused"
	ClaimNoUserFailure        = "no-user-failure"
	ClaimNoProbeFailureCaused = "no-probe-failure-caused"
	ClaimNoProbeFailure       = "no-probe-failure"
	ClaimAlwaysOneTarget      = "always-one-target"
	ClaimEjectedBeforeStop    = "ejected-before-stop"
)

// Reasons of a claim's state.
const (
	ReasonCausedByDeploy  = "caused_by_deploy"
	ReasonCausedByVersion = "caused_by_version"
	ReasonFailureInScope  = "failure_in_scope"
	ReasonUnexplained     = "unexplained_failure"
	ReasonShared          = "shared_failure"
	ReasonSurge           = "surge"
	ReasonSourceBlind     = "source_blind"
	ReasonIncomplete      = "source_incomplete"
	ReasonHorizon         = "horizon_not_passed"
	ReasonNotMeasured     = "not_measured"
	ReasonNobodyThere     = "nobody_in_risky_phases"
	ReasonNoFailure       = "no_failure"
	ReasonZeroTargets     = "zero_targets"
	ReasonStoppedInUse    = "stopped_in_rotation"
	ReasonStopUnknown     = "stop_unknown"
	ReasonServedUnknown   = "served_unknown"
	ReasonNotApplicable   = "not_applicable"
	ReasonNotOver         = "deploy_not_over"
	ReasonBegunBefore     = "deploy_began_before"
	ReasonClocks          = "clocks_disagree"
	ReasonEndedAfter      = "failure_ended_after_window"
	ReasonNoLog           = "balancer_without_log"
)

// judgeClaims judges the built-in claims over [deploy.started, end of the window), and
// those that people typed, each over its own scope.
func (b *bench) judgeClaims() {
	scope := func(class Class) Scope { return Scope{class, Time{b.started}, Time{b.to}} }
	claim := func(id string, class Class, judge func(*Claim)) {
		// They are held against every deploy from its start on.
		c := Claim{ID: id, Scope: scope(class), Required: []Required{}, Evidence: []Evidence{}, RegisteredAt: Time{b.obs.Deploy.StartedAt}}
		judge(&c)
		b.report.Claims = append(b.report.Claims, c)
	}
	claim(ClaimNoUserFailureCaused, ClassUser, func(c *Claim) { b.judgeFailures(c, true) })
	claim(ClaimNoUserFailure, ClassUser, func(c *Claim) { b.judgeFailures(c, false) })
	claim(ClaimNoProbeFailureCaused, ClassProbe, func(c *Claim) { b.judgeFailures(c, true) })
	claim(ClaimNoProbeFailure, ClassProbe, func(c *Claim) { b.judgeFailures(c, false) })
	claim(ClaimAlwaysOneTarget, ClassUser, b.judgeAlwaysOne)
	claim(ClaimEjectedBeforeStop, ClassUser, b.judgeEjected)
	b.report.Claims = append(b.report.Claims, b.typedClaims()...)
}

// judgeFailures judges "no failure" for a class: any failure in scope disproves the
// literal claim, one caused by the deploy or its version the caused claim.
func (b *bench) judgeFailures(c *Claim, caused bool) {
	class := c.Scope.Traffic
	c.Required = b.requiredIn(c.Scope)
	causes := b.causesIn(c.Scope)
	failures := 0
	for _, n := range causes {
		failures += n
	}
	if failures > 0 {
		c.Evidence = append(c.Evidence, b.failureEvidence(c.Scope, failures))
	}
	late := b.endedAfter(c.Scope)
	if late.Count > 0 {
		c.Evidence = append(c.Evidence, late)
	}
	switch {
	case !caused && failures > 0:
		c.State, c.Reason = Disproved, ReasonFailureInScope
	case causes[CauseDeploy] > 0:
		c.State, c.Reason = Disproved, ReasonCausedByDeploy
	case causes[CauseVersion] > 0:
		c.State, c.Reason = Disproved, ReasonCausedByVersion
	case len(c.Required) == 0 || !b.measured(class) && whole(c.Required):
		c.State, c.Reason = Untested, ReasonNotMeasured
	case causes[CauseShared] > 0:
		c.State, c.Reason = Inconclusive, ReasonShared
	case causes[CauseUnexplained] > 0:
		c.State, c.Reason = Inconclusive, ReasonUnexplained
	case slices.ContainsFunc(b.surges, func(s surge) bool { return s.class == class && b.surgedIn(s, c.Scope) }):
		c.State, c.Reason = Inconclusive, ReasonSurge
	case !whole(c.Required):
		c.State, c.Reason = Inconclusive, incompleteReason(c.Required)
	case c.Scope.From.Before(b.from):
		c.State, c.Reason = Inconclusive, ReasonBegunBefore
	case b.unfinished():
		c.State, c.Reason = Inconclusive, ReasonNotOver
	case late.Count > 0: // sent in scope, it counts outside of it by its end
		c.State, c.Reason = Inconclusive, ReasonEndedAfter
	case b.mayBeIn(c.Scope, caused): // those that are in it were seen above
		c.State, c.Reason = Inconclusive, ReasonClocks
	case b.doubtful && slices.ContainsFunc(b.failures, func(f failure) bool { return f.class == class }):
		c.State, c.Reason = Inconclusive, ReasonClocks // some of the window's failures may lie after the true start
	case b.nobodyIn(c.Scope):
		c.State, c.Reason = Untested, ReasonNobodyThere
	default:
		c.State, c.Reason = Supported, ReasonNoFailure
	}
}

// required lists the sources that a claim about a class needs, over the whole deploy.
func (b *bench) required(class Class) []Required {
	return b.requiredIn(Scope{class, Time{b.started}, Time{b.to}})
}

// requiredIn lists the sources that a claim needs, and whether each was whole over the
// claim's scope: for users the access logs that count, for probes their own records. Of a
// load balancer without such a log nobody knows what happened to its users, where those
// of another are measured.
func (b *bench) requiredIn(s Scope) []Required {
	list, class := []Required{}, s.Traffic
	if class == ClassUser {
		for _, source := range sortedKeys(b.counting) {
			why := b.lacking(source, s)
			list = append(list, Required{Source: source, Complete: why == "", Why: why})
		}
		for _, balancer := range b.unlogged() {
			list = append(list, Required{Source: balancer, Why: "no_log"})
		}
		return list
	}
	for _, probe := range b.obs.Service.Probes {
		if probe.Class == class {
			why := b.wholeOver(probe.Name, s)
			list = append(list, Required{Source: probe.Name, Complete: why == "", Why: why})
		}
	}
	return list
}

// unlogged are the load balancers that have no access log that counts users, where
// another one has.
func (b *bench) unlogged() []string {
	var names []string
	for _, balancer := range b.obs.Service.LoadBalancers {
		if len(b.counting) > 0 && !slices.ContainsFunc(balancer.AccessLogs, func(log AccessLog) bool { return log.Counts }) {
			names = append(names, balancer.Name)
		}
	}
	return names
}

// lacking says why an access log is not whole over a scope: as [bench.wholeOver] does, or
// incomplete; empty when it is whole.
func (b *bench) lacking(source string, s Scope) string {
	why := b.wholeOver(source, s)
	if known, found := b.knownFound(source, s.From.Time, s.To.Time); why == "" && (found < known || b.lacksRows(source) || len(b.logDoubts(source, s.From.Time, s.To.Time)) > 0) {
		return "incomplete"
	}
	return why
}

// wholeOver says why a source is not whole over a scope: blind or horizon; missing
// where nothing is known of it; empty when it is whole.
func (b *bench) wholeOver(source string, s Scope) string {
	c := b.coverage[source]
	if c == nil {
		return "missing"
	}
	for _, blind := range c.Blind {
		if blind.Reason != blindHorizon && overlap(blind.From.Time, blind.To.Time, s.From.Time, s.To.Time) {
			return "blind"
		}
	}
	if c.HorizonPassed != nil && !*c.HorizonPassed || b.seenTo.Before(b.to) {
		return "horizon"
	}
	return ""
}

func whole(required []Required) bool {
	return !slices.ContainsFunc(required, func(r Required) bool { return !r.Complete })
}

// incompleteReason is the gravest reason among the sources that are not whole.
func incompleteReason(required []Required) string {
	for _, pair := range [][2]string{{"missing", ReasonNotMeasured}, {"no_log", ReasonNoLog}, {"blind", ReasonSourceBlind}, {"incomplete", ReasonIncomplete}} {
		if slices.ContainsFunc(required, func(r Required) bool { return r.Why == pair[0] }) {
			return pair[1]
		}
	}
	return ReasonHorizon
}

// judgeAlwaysOne judges "at every moment at least one target of the group was in
// rotation", by the served pattern.
func (b *bench) judgeAlwaysOne(c *Claim) {
	if len(b.counting) > 0 {
		c.Required = b.required(ClassUser)
	} else {
		c.Required = b.required(ClassProbe)
	}
	served := b.servedAtAll()
	switch {
	case b.zeroAfter(b.zero):
		c.State, c.Reason = Disproved, ReasonZeroTargets
		for _, s := range b.zero {
			if s.To.After(b.started) {
				c.Evidence = append(c.Evidence, Evidence{Kind: "requests", Source: "traffic", From: s.From, To: s.To})
			}
		}
	case !served && len(c.Required) == 0:
		c.State, c.Reason = Untested, ReasonNotMeasured
	case !served:
		c.State, c.Reason = Inconclusive, ReasonServedUnknown
	case slices.ContainsFunc(c.Required, func(r Required) bool { return !r.Complete && r.Why != "incomplete" }): // silence may be its own
		c.State, c.Reason = Inconclusive, incompleteReason(c.Required)
	case b.zeroAfter(b.maybeZero): // nobody served, and no refusal settles it: traffic cannot tell
		c.State, c.Reason = Inconclusive, ReasonServedUnknown
	case !whole(c.Required):
		c.State, c.Reason = Inconclusive, incompleteReason(c.Required)
	case b.started.Before(b.from):
		c.State, c.Reason = Inconclusive, ReasonBegunBefore
	case b.unfinished():
		c.State, c.Reason = Inconclusive, ReasonNotOver
	default:
		c.State, c.Reason = Supported, ReasonNoFailure
	}
}

// zeroAfter reports whether any of the spans reaches beyond the deploy's start.
func (b *bench) zeroAfter(spans []TargetGroupSpan) bool {
	return slices.ContainsFunc(spans, func(s TargetGroupSpan) bool { return overlap(s.From.Time, s.To.Time, b.started, b.to) })
}

// judgeEjected judges "every target was out of rotation before it was stopped". It
// does not apply to a fault, which nobody planned.
func (b *bench) judgeEjected(c *Claim) {
	if b.obs.Deploy.Kind == KindFault || b.obs.Deploy.ID == "" {
		c.State, c.Reason = Untested, ReasonNotApplicable
		return
	}
	c.Required = b.required(ClassUser)
	stopped, untold, unknown := false, false, false
	for _, l := range b.lives {
		for _, cycle := range l.cycles {
			if !b.obs.Part.IsZero() && !b.inWindow(cycle.fell()) {
				continue // what was stopped outside of the part is not judged in it
			}
			if cycle.stop.IsZero() {
				untold = untold || !cycle.fell().IsZero()
				continue
			}
			stopped = true
			if sent, last := b.sentAfterStop(l, cycle); sent.all() > 0 {
				c.State, c.Reason = Disproved, ReasonStoppedInUse
				c.Evidence = append(c.Evidence, sent.evidence(cycle.stop, last)...)
			} else {
				switch b.outAtStop(l, cycle) {
				case "yes":
				case "no":
					c.State, c.Reason = Disproved, ReasonStoppedInUse
					c.Evidence = append(c.Evidence, Evidence{Kind: "checks", Source: l.checked.source, From: Time{cycle.stop}, To: Time{cycle.stop}})
				default:
					if !b.wouldHaveSeen(l, cycle) {
						unknown = true
					}
				}
			}
		}
	}
	switch {
	case c.State == Disproved:
	case len(c.Required) == 0:
		c.State, c.Reason = Untested, ReasonNotMeasured
	case !stopped || untold:
		c.State, c.Reason = Inconclusive, ReasonStopUnknown
	case !whole(c.Required):
		c.State, c.Reason = Inconclusive, incompleteReason(c.Required)
	case b.started.Before(b.from):
		c.State, c.Reason = Inconclusive, ReasonBegunBefore
	case b.unfinished():
		c.State, c.Reason = Inconclusive, ReasonNotOver
	case b.doubtful: // what was out then, may have been so at another moment than the stop's
		c.State, c.Reason = Inconclusive, ReasonClocks
	case unknown:
		c.State, c.Reason = Inconclusive, ReasonServedUnknown
	default:
		c.State, c.Reason = Supported, ReasonNoFailure
	}
}

// endedAfter points at requests that were sent in a scope and failed after its end. A
// failure counts by its end, so that it is none of the scope's; whoever asks about the
// scope should still know.
func (b *bench) endedAfter(s Scope) Evidence {
	e := Evidence{Kind: "requests", Traffic: s.Traffic}
	var from, to time.Time
	add := func(source string, start, end time.Time, n int) {
		if within(start, s.From.Time, s.To.Time) && !end.Before(s.To.Time) {
			from, to = earliest(from, start), latest(to, end)
			e.Source = source
			e.Count += n
		}
	}
	if b.byProber(s.Traffic) {
		e.Kind = "probes"
		for i := range b.obs.Probes {
			if p := &b.obs.Probes[i]; p.Class == s.Traffic && b.probeOutcome(p).Failure() {
				add(p.Source, p.Sent, p.Done, 1)
			}
		}
	} else {
		for i := range b.obs.Requests {
			if r := &b.obs.Requests[i]; r.Class == s.Traffic && r.Outcome.Failure() && b.counting[r.Source] {
				add(r.Source, r.moment(), r.End, 1)
			}
		}
		for _, c := range b.unkept {
			if c.late && c.Class == s.Traffic && b.counting[c.Source] {
				add(c.Source, c.First, c.Last, c.n)
			}
		}
	}
	e.From, e.To = Time{from}, Time{to}
	return e
}

func (b *bench) failureEvidence(s Scope, n int) Evidence {
	e := Evidence{Kind: "requests", Traffic: s.Traffic, Count: n}
	if b.byProber(s.Traffic) {
		e.Kind = "probes"
	}
	var from, to time.Time
	for i := range b.failures {
		if f := &b.failures[i]; b.in(f, s) {
			from, to = earliest(from, f.end), latest(to, f.end)
			e.Source = f.source
		}
	}
	e.From, e.To = Time{from}, Time{to}
	return e
}
