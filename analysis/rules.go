package analysis

import (
	"slices"
	"time"
)

// rule is one finding's rule. check returns the findings it fires, or, where the
// evidence it needs is missing, why it cannot be evaluated.
type rule struct {
	code  string
	check func(*bench) (found []Finding, notEvaluable string)
}

// Why a rule cannot be evaluated.
const (
	whyNoAccessLog = "no_access_log"
	whyNoStates    = "no_states"
	whyNoStop      = "no_stop_time"
	whyNoDeploy    = "no_deploy"
	whyNotReported = "not_reported"
	whyNotApply    = "not_applicable"
	whyServed      = "served_unknown"
	whySignals     = "needs_application_signals"
	whyOneTarget   = "single_target_only"
	whyAppLogBlind = "app_log_blind"
	whyNoBaseline  = "no_baseline"
	whyNoMark      = "no_drain_mark"
	whyNoChange    = "no_state_change"
	whyNoMatches   = "no_matched_requests"
	whyNoProbes    = "no_probe_records"
	whyNoAttempts  = "no_attempts_in_log"
	whyHorizon     = "horizon_not_passed"
	whyNoArrival   = "no_arrival_times"
	whyVersions    = "needs_versions"

	whyNeverMatched   = "rule_never_matched" // the rule that would tell it fits no line at all
	whyNoLines        = "no_lines"           // the log had no line when it would have told
	whyNoShutdown     = "no_shutdown_told"
	whyNoPeriod       = "period_not_known"
	whyWindowShort    = "window_too_short"
	whyNoJourneys     = "no_journeys"
	whyNoJourneySteps = "no_journey_steps"
	whyUndecided      = "journeys_undecided"
	whyNoKeys         = "no_identifiers"
	whyNoCalls        = "no_calls"
	whyNoLimit        = "limit_not_stated"
	whyNoRoutes       = "routes_not_stated"
)

// rules are all findings, in the order of their documentation.
var rules = []rule{
	{"restart-before-eject", restartBeforeEject},
	{"returned-before-eject", returnedBeforeEject},
	{"reported-before-return", reportedBeforeReturn},
	{"back-to-back-deploy", backToBackDeploy},
	{"fail-open", failOpen},
	{"single-target", singleTarget},
	{"blind-spot", blindSpot},
	{"query-failed", queryFailed},
	{"zero-targets", zeroTargets},
	{"drain-wait-too-short", drainWaitTooShort},
	{"drain-never-seen", drainNeverSeen},
	{"drain-marker-expired", drainMarkerExpired},
	{"returned-then-failed", returnedThenFailed},
	{"health-check-never-passes", healthCheckNeverPasses},
	{"idle-target", idleTarget},
	{"draining-target-served", drainingTargetServed},
	{"state-lag", stateLag},
	{"retry-masked", retryMasked},
	{"rejection-surge", surgeRule(OutcomeRejected)},
	{"abort-surge", surgeRule(OutcomeClientAbort)},
	{"client-error-surge", surgeRule(OutcomeClientError)},
	{"version-worse", versionWorse},
	{"version-mismatch", versionMismatch},
	{"log-incomplete", logIncomplete},
	{"log-late", logLate},
	{"no-baseline", noBaseline},
	{"low-traffic", lowTrafficRule},
	{"health-sample-claim", healthSampleClaim},
	{"clock-skew", clockSkew},
	{"probe-stall", probeStall},
	{"shutdown-5xx", shutdown5xx},
	{"health-check-blind", healthCheckBlind},
	{"reregistered", reregistered},
	{"classification-suspect", classificationSuspect},
	{"stop-timeout-too-short", stopTimeoutTooShort},
	{"stop-signal-ignored", stopSignalIgnored},
	{"torn-write", tornWrite},
	{"overlap-double-run", overlapDoubleRun},
	{"job-stopped", jobStopped},
	{"step-order", stepOrder},
	{"retry-amplification", retryAmplification},
	{"burst-over-limit", burstOverLimit},
	{"unbounded-wait", unboundedWait},
	{"unrelated-collapse", unrelatedCollapse},
}

// runRules evaluates every rule.
func (b *bench) runRules() {
	b.findSurges()
	b.report.Findings, b.report.Rules = []Finding{}, []RuleState{}
	for _, r := range rules {
		b.report.Rules = append(b.report.Rules, b.run(r))
	}
	slices.SortStableFunc(b.report.Findings, byTime)
}

// run evaluates one rule and keeps its findings.
func (b *bench) run(r rule) RuleState {
	found, why := r.check(b)
	for _, f := range found {
		f.Code = r.code
		if f.Phase == nil {
			f.Phase = b.phaseName(f.From.Time)
		}
		if f.Evidence == nil {
			f.Evidence = []Evidence{}
		}
		b.report.Findings = append(b.report.Findings, f)
	}
	switch {
	case len(found) > 0:
		return RuleState{Code: r.code, State: RuleFired}
	case why != "":
		return RuleState{Code: r.code, State: RuleNotEvaluable, Why: why}
	}
	return RuleState{Code: r.code, State: RuleClear}
}

// phaseName names the phase of a moment; nil outside the window.
func (b *bench) phaseName(t time.Time) *string {
	if i := b.phaseAt(t); i >= 0 {
		return &b.report.Phases[i].Name
	}
	return nil
}

// moment is a time for a finding's values: nil when it is not known.
func moment(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return Time{t}
}
