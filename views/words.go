package views

import (
	"strings"

	"gapless/analysis"
)

// spoken turns a stable code that has no words of its own into something readable.
func spoken(code string) string {
	return strings.NewReplacer("_", " ", "-", " ").Replace(code)
}

func word[K ~string](words map[K]string, code K) string {
	if text, ok := words[code]; ok {
		return text
	}
	return spoken(string(code))
}

var verdictWords = map[analysis.VerdictState]string{
	analysis.Disproved: "Disproved", analysis.Inconclusive: "Inconclusive",
	analysis.Untested: "Untested", analysis.Supported: "Supported",
	"": "Not judged yet",
}

// tone is the class that colours a verdict; its icon says the same without colour.
func tone(state analysis.VerdictState) (class, icon string) {
	switch state {
	case analysis.Disproved:
		return "dis", "✕"
	case analysis.Supported:
		return "sup", "✓"
	case analysis.Inconclusive:
		return "inc", "?"
	}
	return "unt", "–"
}

var claimWords = map[string]struct{ short, text string }{
	"no-user-failure-caused":  {"users unharmed", "No user request failed because of the deploy."},
	"no-user-failure":         {"all users served", "No user request failed during the deploy."},
	"no-probe-failure-caused": {"probes unharmed", "No probe request failed because of the deploy."},
	"no-probe-failure":        {"all probes served", "No probe request failed during the deploy."},
	"always-one-target":       {"always one target", "At least one target was in rotation at every moment."},
	"ejected-before-stop":     {"ejected before stop", "Every target was out of rotation before it was stopped."},
}

var reasonWords = map[string]string{
	"caused_by_deploy":           "failures caused by the deploy",
	"caused_by_version":          "failures caused by the new version",
	"failure_in_scope":           "a request in scope failed",
	"unexplained_failure":        "failures that are neither put down to the deploy nor cleared of it",
	"shared_failure":             "failures that meet the steps of two deploys",
	"surge":                      "refusals, aborts or 4xx rose and nothing declared explains it",
	"source_blind":               "a source that it needs was blind",
	"source_incomplete":          "a source that it needs is incomplete",
	"horizon_not_passed":         "late log lines are still awaited",
	"not_measured":               "nothing in scope was measured",
	"nobody_in_risky_phases":     "nobody was there in the risky phases",
	"no_failure":                 "no failure was found",
	"zero_targets":               "for a time no target was in rotation",
	"stopped_in_rotation":        "a target was stopped while still in rotation",
	"stop_unknown":               "the moment of the stop is not known",
	"deploy_not_over":            "the evidence does not reach to the deploy's end",
	"deploy_began_before":        "the evidence does not reach back to the deploy's start",
	"failure_ended_after_window": "a request that was sent in scope failed after its end",
	"clocks_disagree":            "the clocks that date the steps disagree, so what came first is not known",
	"served_unknown":             "who served when is not known",
	"not_applicable":             "does not apply here",
	"balancer_without_log":       "the users of a load balancer without an access log were not measured",
	"rests_on_health_samples":    "it rests on health samples, which are not users",
}

var requiredWords = map[string]string{
	"blind": "blind", "incomplete": "incomplete", "horizon": "late lines awaited", "missing": "not configured or without data", "no_log": "no access log that counts",
}

var blindWords = map[string]string{
	"query_failed": "query failed", "gap": "nothing polled or sent", "no_data": "no data", "partial_object": "log object cut short",
	"horizon": "late lines awaited", "stalled": "stalled", analysis.BlindTargetDown: "its target was stopped",
}

var whyWords = map[string]string{
	"no_access_log":             "needs an access log",
	"no_probe_records":          "needs probe records",
	"no_states":                 "needs polled target states",
	"no_health_check_settings":  "needs the health-check settings",
	"no_stop_time":              "needs the moment of a stop",
	"no_app_log":                "needs the application's log",
	"no_baseline":               "needs a baseline to compare with",
	"no_deploy":                 "needs a deploy",
	"single_target_only":        "has one target only",
	"needs_application_signals": "needs log lines that tell of it, and a log rule that reads them",
	"rule_never_matched":        "the log rule that would tell of it matched no line where it was to be told",
	"no_lines":                  "needs lines in the log at that time",
	"no_shutdown_told":          "no shutdown was told in the window",
	"period_not_known":          "needs to know how often the jobs run",
	"window_too_short":          "needs a window of more than two periods of the job",
	"no_journeys":               "needs journeys in the configuration",
	"no_journey_steps":          "no journey began in the window",
	"journeys_undecided":        "no journey could be followed to its end",
	"no_identifiers":            "needs identifiers of what calls were for",
	"no_calls":                  "no call was sent in the window",
	"limit_not_stated":          "needs the limit of a dependency in the configuration",
	"routes_not_stated":         "needs to know which routes call a dependency",
	"needs_versions":            "needs to know the versions",
	"needs_cloudwatch":          "needs CloudWatch",
	"needs_second_deploy":       "needs a second deploy close by",
	"not_applicable":            "does not apply to this kind of deploy",
	"not_reported":              "needs the deploy's own report of its end",
	"served_unknown":            "needs to know who served when",
	"app_log_blind":             "needs the whole application log",
	"no_drain_mark":             "needs a drain mark",
	"no_state_change":           "saw no state change",
	"no_matched_requests":       "needs requests matched in two places",
	"no_attempts_in_log":        "needs an access log that tells which targets were asked before the one that answered",
	"horizon_not_passed":        "late log lines are still awaited",
	"no_arrival_times":          "needs to know when objects were delivered, which a folder does not tell",
}

var basisWords = map[string]string{
	analysis.BasisFailOpen:       "no target was in rotation, so all were sent requests",
	"served-right-after-ready":   "it served right after it was ready",
	"failures-shared-to-the-end": "it got its share of failures to the end",
	"window-shorter-than-checks": "its window was shorter than the checks need",
	"state-never-changed":        "its displayed state never changed",
	"nothing-sent-before-stop":   "nothing was sent to it before the stop",
	"state-changed":              "its displayed state changed",
	"health-check-log":           "the load balancer's own health-check log",
}

var outcomeNouns = map[analysis.Outcome]string{
	analysis.OutcomeRejected: "refusals", analysis.OutcomeClientAbort: "client aborts", analysis.OutcomeClientError: "4xx answers",
}

var outcomeWords = map[analysis.Outcome]string{
	analysis.OutcomeOK: "ok", analysis.OutcomeClientError: "client error", analysis.OutcomeRejected: "rejected",
	analysis.OutcomeClientAbort: "client gave up", analysis.OutcomeDrain503: "draining on purpose",
	analysis.OutcomeTarget5xx: "application", analysis.OutcomeLB5xx: "load balancer",
	analysis.OutcomeTimeout: "no answer in time", analysis.OutcomeConnectionError: "connection broken",
	analysis.OutcomeUnknown: "result not known", analysis.OutcomeBadBody: "body says failure",
}

var causeWords = map[analysis.Cause]string{
	analysis.CauseDeploy: "deploy", analysis.CauseVersion: "new version", analysis.CauseBackground: "was there before",
	analysis.CauseClient: "client", analysis.CauseShared: "two deploys at once", analysis.CauseUnexplained: "unexplained",
}

var causeOrder = []analysis.Cause{analysis.CauseDeploy, analysis.CauseVersion, analysis.CauseShared,
	analysis.CauseUnexplained, analysis.CauseBackground, analysis.CauseClient}

var classWords = map[analysis.Class]struct{ one, many, lane string }{
	analysis.ClassUser:   {"user request", "user requests", "users"},
	analysis.ClassProbe:  {"probe request", "probe requests", "probes"},
	analysis.ClassHealth: {"health sample", "health samples", "health"},
	analysis.ClassTool:   {"tool request", "tool requests", "tools"},
}

// requests is "3 user requests"; a class that we have no words for names itself.
func requests(n int, class analysis.Class) string {
	words, ok := classWords[class]
	if !ok {
		words.one, words.many = string(class)+" request", string(class)+" requests"
	}
	return plural(n, words.one, words.many)
}

func classLane(class analysis.Class) string {
	if words, ok := classWords[class]; ok {
		return words.lane
	}
	return string(class)
}

var stepWords = map[analysis.StepKind]string{
	analysis.StepDeployStarted: "deploy started", analysis.StepBuildFinished: "build finished",
	analysis.StepDrainMarked: "drain marked", analysis.StepTargetDeregistered: "deregistered",
	analysis.StepTargetEjected: "ejected", analysis.StepLastRequest: "last request",
	analysis.StepRestartBegan: "restart began", analysis.StepProcessKilled: "process killed",
	analysis.StepAppReady: "application ready", analysis.StepTargetRegistered: "registered",
	analysis.StepFirstRequest: "first request", analysis.StepTargetHealthy: "healthy",
	analysis.StepTrafficSwitched: "traffic switched", analysis.StepDeployReported: "result reported",
}

var windowWords = map[analysis.WindowState]string{
	analysis.WindowOpen: "open", analysis.WindowSettling: "waiting for late logs", analysis.WindowSealed: "sealed",
}

var kindWords = map[analysis.DeployKind]string{
	analysis.KindRolling: "rolling deploy", analysis.KindBlueGreen: "blue/green deploy",
	analysis.KindInPlace: "in-place deploy", analysis.KindFault: "outage",
}

// event names what is judged, for a sentence.
func event(r *analysis.Report) string {
	switch {
	case r.Deploy.Kind == analysis.KindFault:
		return "the outage"
	case r.Deploy.ID == "" && r.Deploy.StartedAt.IsZero():
		return "anything in this span"
	}
	return "the deploy"
}

var (
	ofOutage = strings.NewReplacer("the deploy", "the outage", "The deploy", "The outage")
	ofSpan   = strings.NewReplacer("during the deploy", "in this span", "because of the deploy", "because of anything in this span",
		"the deploy's end", "the span's end", "before the deploy", "before", "inside the deploy", "inside the span")
)

// about says words about a deploy of what is judged: an outage, or a span of time that
// nobody called a deploy.
func about(r *analysis.Report, text string) string {
	switch event(r) {
	case "the deploy":
		return text
	case "the outage":
		return ofOutage.Replace(text)
	}
	return ofSpan.Replace(text)
}
