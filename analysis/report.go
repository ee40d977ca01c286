package analysis

import (
	"time"
)

// Report is what the judge found, in the shape that CONTRACT fixes. Fields named
// Sentence and Remedy are left empty by the judge; views fills them.
type Report struct {
	Schema       int               `json:"schema"`
	Deploy       DeployReport      `json:"deploy"`
	Window       WindowReport      `json:"window"`
	Verdict      Verdict           `json:"verdict"`
	Claims       []Claim           `json:"claims"`
	Steps        []StepReport      `json:"steps"`
	Phases       []Phase           `json:"phases"`
	Totals       map[Class]*Total  `json:"totals"`
	Targets      []TargetReport    `json:"targets"`
	SingleTarget []TargetSpan      `json:"single_target"`
	ZeroTargets  []TargetGroupSpan `json:"zero_targets"`
	Attribution  []Attribution     `json:"attribution"`
	Detection    []Detection       `json:"detection"`
	Completeness []Completeness    `json:"completeness"`
	Controls     []Control         `json:"controls"`
	Coverage     []Coverage        `json:"coverage"`
	Clocks       []ClockOffset     `json:"clocks"`
	Baseline     []BaselineTest    `json:"baseline"`
	Journeys     []JourneyReport   `json:"journeys"`     // null where none is configured
	Dependencies []DependencyUse   `json:"dependencies"` // null where no line tells of calls
	Breakers     []BreakerSpan     `json:"breakers"`     // null where no line tells of breakers
	Gauges       []GaugeReport     `json:"gauges"`       // null where no endpoint is scraped
	Failures     []FailedRequest   `json:"failures"`     // the first [MaxFailures], by their end
	// FailuresUnkept is how many of the window's failures were only counted, by second
	// and kind: of many that are alike, logs keep a sample one by one.
	FailuresUnkept int `json:"failures_unkept,omitempty"`

	Findings   []Finding   `json:"findings"`
	Rules      []RuleState `json:"rules"`
	Provenance Provenance  `json:"provenance"`
}

// Time is a moment in a report: RFC 3339 in UTC with six decimals, null when zero.
type Time struct{ time.Time }

const timeLayout = "2006-01-02T15:04:05.000000Z"

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return []byte(`"` + t.UTC().Format(timeLayout) + `"`), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Time) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		t.Time = time.Time{}
		return nil
	}
	parsed, err := time.Parse(`"`+time.RFC3339Nano+`"`, string(b))
	if err != nil {
		return &NoTimeError{string(b)}
	}
	t.Time = parsed.UTC()
	return nil
}

// NoTime says of a value that it is no time, and what is.
const NoTime = "is not a time; allowed: RFC 3339, such as 2026-10-14T03:00:00Z"

// NoTimeError is a value that is none of a [Time], as its JSON is written.
type NoTimeError struct{ Text string }

func (e *NoTimeError) Error() string { return e.Text + " " + NoTime }

// Bound says on which side of the true value a measured value lies.
type Bound string

// Bounds.
const (
	Exact Bound = "exact"
	Lower Bound = "lower"
	Upper Bound = "upper"
)

// Bounded is a value with its bound. Its unit is in the field's name.
type Bounded struct {
	Value float64 `json:"value"`
	Bound Bound   `json:"bound"`
}

// Interval is a half-open interval of numbers. Its unit is in the field's name.
type Interval struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
}

// Span is a half-open stretch of time.
type Span struct {
	From    Time    `json:"from"`
	To      Time    `json:"to"`
	Seconds float64 `json:"seconds"`
}

// TargetSpan is a stretch of time that concerns one target.
type TargetSpan struct {
	Target string `json:"target"`
	Span
}

// TargetGroupSpan is a stretch of time that concerns one target group.
type TargetGroupSpan struct {
	TargetGroup string `json:"target_group"`
	Span
}

// DeployReport repeats the deploy. Unknown strings are null.
type DeployReport struct {
	ID            string     `json:"id"`
	Service       string     `json:"service"`
	Kind          DeployKind `json:"kind"`
	VersionBefore *string    `json:"version_before"`
	VersionAfter  *string    `json:"version_after"`
	RollbackOf    *string    `json:"rollback_of"`
	Environment   *string    `json:"environment"`
	Actor         *string    `json:"actor"`
	StartedAt     Time       `json:"started_at"`
	ReportedAt    Time       `json:"reported_at"`
	Result        *string    `json:"result"`
	SeenUntil     Time       `json:"seen_until"` // last sign of a deploy that nobody announced, else null
	Source        string     `json:"source"`
	URL           *string    `json:"url"`
}

// WindowReport is the span that was judged.
type WindowReport struct {
	From     Time        `json:"from"`
	To       Time        `json:"to"`
	State    WindowState `json:"state"`
	Revision int         `json:"revision"`
	SealedAt Time        `json:"sealed_at"`
	PartOf   *Span       `json:"part_of"` // the whole window, where the report is about a part of it
}

// Verdict is the answer about users, with what it depends on.
type Verdict struct {
	State      VerdictState `json:"state"`
	Claim      string       `json:"claim"` // id of the claim it is about
	Sentence   string       `json:"sentence"`
	Conditions []Condition  `json:"conditions"`
}

// Condition is something that the verdict depends on. Values feed its sentence.
type Condition struct {
	Code     string         `json:"code"`
	Sentence string         `json:"sentence"`
	Values   map[string]any `json:"values,omitempty"`
}

// Claim is a sentence that somebody asserts, with its scope and what became of it.
type Claim struct {
	ID           string       `json:"id"`
	Text         string       `json:"text"`
	Scope        Scope        `json:"scope"`
	State        VerdictState `json:"state"`
	Reason       string       `json:"reason"` // stable code; views words it
	Required     []Required   `json:"required"`
	RegisteredAt Time         `json:"registered_at"`
	Evidence     []Evidence   `json:"evidence"`
	Typed        *Typed       `json:"typed"` // null for a built-in claim
}

// Scope says whose requests, and when, a claim is about.
type Scope struct {
	Traffic Class `json:"traffic"`
	From    Time  `json:"from"`
	To      Time  `json:"to"`
}

// Required is a source that a claim needs, and whether it was whole.
type Required struct {
	Source   string `json:"source"`
	Complete bool   `json:"complete"`
	Why      string `json:"why"` // empty when complete, else a stable code
}

// Evidence points at raw records: a link that a page can follow.
type Evidence struct {
	Kind    string `json:"kind"` // requests, probes, states, checks, steps, runs, objects
	Source  string `json:"source"`
	Traffic Class  `json:"traffic,omitempty"` // whose requests Count counts, where it counts such
	From    Time   `json:"from"`
	To      Time   `json:"to"`
	Count   int    `json:"count"` // records of the kind; 0: not counted
}

// StepReport is one step as the judge used it.
type StepReport struct {
	Kind     StepKind `json:"kind"`
	At       Time     `json:"at"`
	Target   *string  `json:"target"`
	Source   string   `json:"source"`
	Inferred bool     `json:"inferred"`
	Ignored  bool     `json:"ignored"`
}

// Phase is the time between steps, named for what was going on.
type Phase struct {
	Name     string            `json:"name"`
	Kind     string            `json:"kind"` // baseline, build, drain, restart, down, back, …, tail, whole
	Targets  []string          `json:"targets"`
	From     Time              `json:"from"`
	To       Time              `json:"to"`
	Inferred bool              `json:"inferred"`
	Traffic  map[Class]*Counts `json:"traffic"` // null for a class that was not measured

	serving time.Time // from when on all of its targets served again; zero where one did not, or nothing was taken down
}

// Counts are the requests of one class in one phase. Percentiles are over outcome
// ok, nearest rank, in milliseconds; null where there was none.
type Counts struct {
	Requests int             `json:"requests"`
	Failures int             `json:"failures"`
	Outcomes map[Outcome]int `json:"outcomes"`
	P50      *float64        `json:"p50_ms"`
	P95      *float64        `json:"p95_ms"`
	P99      *float64        `json:"p99_ms"`
	Max      *float64        `json:"max_ms"`
	ByTarget map[string]int  `json:"by_target"` // served by; "" is never a key
}

// Total are the requests of one class in the whole window.
type Total struct {
	Requests int                   `json:"requests"`
	Failures int                   `json:"failures"`
	Outcomes map[Outcome]int       `json:"outcomes"`
	Statuses map[string]int        `json:"statuses"` // "200": n; "none" where no status came
	Causes   map[Cause]int         `json:"causes"`   // of the failures
	ByRoute  map[string]RouteCount `json:"by_route"`
	P50      *float64              `json:"p50_ms"`
	P95      *float64              `json:"p95_ms"`
	P99      *float64              `json:"p99_ms"`
	Max      *float64              `json:"max_ms"`
	ByTarget map[string]int        `json:"by_target"`
}

// RouteCount are the requests of one route.
type RouteCount struct {
	Requests int `json:"requests"`
	Failures int `json:"failures"`
}

// TargetReport is one target's way through the deploy.
type TargetReport struct {
	Target                string          `json:"target"`
	TargetGroup           string          `json:"target_group"`
	VersionBefore         *string         `json:"version_before"`
	VersionAfter          *string         `json:"version_after"`
	DrainMarkedAt         Time            `json:"drain_marked_at"`
	DeregisteredAt        Time            `json:"deregistered_at"`
	LastServedAt          Time            `json:"last_served_at"` // last before the stop: it surely still served then
	RestartAt             Time            `json:"restart_at"`
	KilledAt              Time            `json:"killed_at"`
	ReadyAt               Time            `json:"ready_at"`
	FirstServedAt         Time            `json:"first_served_at"` // first after ready: by then it surely served
	Eject                 *Bounded        `json:"eject_s"`
	LastServedToRestart   *Bounded        `json:"last_served_to_restart_s"`
	KillToRestart         *Bounded        `json:"kill_to_restart_s"`
	Boot                  *Bounded        `json:"boot_s"`
	RestartToFirstRequest *Bounded        `json:"restart_to_first_request_s"`
	ReadyToFirstRequest   *Bounded        `json:"ready_to_first_request_s"`
	ReportedToFirstServed *Bounded        `json:"reported_to_first_served_s"` // negative: served before the report
	ReturnToNextDrain     *Bounded        `json:"return_to_next_drain_s"`
	InFlightAtStop        *int            `json:"in_flight_at_stop"` // at least; null where unknown
	InFlightOf            map[Class]int   `json:"in_flight_of"`      // whose they were
	StateLagDown          *Interval       `json:"state_lag_down_s"`
	StateLagUp            *Interval       `json:"state_lag_up_s"`
	Predicted             *Predicted      `json:"predicted"`
	Checks                *ChecksReport   `json:"checks"` // null without a health-check log
	RecommendedDrainWait  *float64        `json:"recommended_drain_wait_s"`
	Ejected               string          `json:"ejected"` // yes, no, unknown
	EjectedBasis          []string        `json:"ejected_basis"`
	FailureWindows        []FailureWindow `json:"failure_windows"`
	// InferredFrom is what tells that the target was out or down where no step does: a
	// source of states or checks, or traffic. Then only when it served is known.
	InferredFrom *string `json:"inferred_from"`
}

// Predicted is what the health-check settings alone imply.
type Predicted struct {
	Eject  Interval `json:"eject_s"`
	Return Interval `json:"return_s"`
}

// ChecksReport is what the load balancer's own health-check log says of a target's
// ejection and return: those of its last node.
type ChecksReport struct {
	Source     string             `json:"source"`
	EjectedAt  Time               `json:"ejected_at"`  // the last node's last failure that it took
	ReturnedAt Time               `json:"returned_at"` // the last node's last pass that it took
	Eject      *Bounded           `json:"eject_s"`     // from the drain mark, else from the stop
	Return     *Bounded           `json:"return_s"`    // from ready
	Nodes      []NodeChecksReport `json:"nodes"`
}

// NodeChecksReport is one load-balancer node's own ejection and return of a target.
type NodeChecksReport struct {
	Node       string `json:"node"`
	EjectedAt  Time   `json:"ejected_at"`
	ReturnedAt Time   `json:"returned_at"`
}

// FailureWindow is a cluster of failures of one target and class.
type FailureWindow struct {
	Traffic        Class          `json:"traffic"`
	From           Time           `json:"from"`    // first failure
	To             Time           `json:"to"`      // last failure
	Seconds        float64        `json:"seconds"` // first to last failure: a lower bound
	Upper          *float64       `json:"upper_s"` // last success before to first success after; null where one is missing
	Requests       int            `json:"requests"`
	Failed         int            `json:"failed"`
	ServedByOthers int            `json:"served_by_others"`
	Boundary       int            `json:"boundary"`     // served by this very target inside the window
	Unattributed   int            `json:"unattributed"` // answered, and no record says by which target
	LongestRun     *int           `json:"longest_run"`  // null where single requests were not recorded
	Statuses       map[string]int `json:"statuses"`
}

// Attribution matches the requests of one probe with the targets that served them.
type Attribution struct {
	Probe                   string         `json:"probe"`
	Sent                    int            `json:"sent"`
	Attributed              int            `json:"attributed"`
	ByTarget                map[string]int `json:"by_target"`
	Duplicates              int            `json:"duplicates"`
	SuccessWithoutRecord    *int           `json:"success_without_record"`    // null where a target has no log, as FailedWithoutRecord
	ReceivedWithoutResponse *int           `json:"received_without_response"` // null where no line says received
	FailedWithoutRecord     *int           `json:"failed_without_record"`
	Ambiguous               int            `json:"ambiguous"` // a record has the id, and the clocks contradict it
}

// Detection says which failure windows the requests of a scope would have missed: those
// that reached the target, or, where nothing tells which did, all that were sent while it
// was in rotation, of which each reached it with a chance, its share.
type Detection struct {
	Scope            string   `json:"scope"` // probe name
	Phase            string   `json:"phase"`
	Target           string   `json:"target"` // empty: the service, of which no target is known
	Requests         int      `json:"requests"`
	Share            *float64 `json:"share"` // mean chance of each to have reached it; null where they are known to have
	GapMedian        *float64 `json:"gap_median_ms"`
	GapP99           *float64 `json:"gap_p99_ms"`
	GapMax           *float64 `json:"gap_max_ms"`
	Miss             []Miss   `json:"miss"`
	FailureRateBelow *float64 `json:"failure_rate_below"` // of those that reached it, at 95 %; null unless no failure was seen
	// LongestMissed is the longest outage that would have been missed with a chance of 5 %
	// or more; null where there was no time in rotation, never 0. Without stalls as in Miss.
	LongestMissed              *float64 `json:"longest_missed_ms"`
	LongestMissedWithoutStalls *float64 `json:"longest_missed_without_stalls_ms"`
}

// Miss is the chance that a failure window of the given length was not seen.
type Miss struct {
	WindowMS    float64 `json:"window_ms"`
	Probability float64 `json:"probability"`
	// WithoutStalls is the same without the time in which a stuck request kept the
	// others from being sent; null where there was none.
	WithoutStalls *float64 `json:"without_stalls"`
}

// Completeness says how much of a log we have, by requests known to be in it.
type Completeness struct {
	Source  string   `json:"source"`
	Node    string   `json:"node"`
	Phase   string   `json:"phase"`
	Known   int      `json:"known"`
	Found   int      `json:"found"`
	Share   *float64 `json:"share"`
	Matched string   `json:"matched"` // one_by_one or count
}

// Control is a log rule with the lines that it had and those it matched.
type Control struct {
	Rule    string `json:"rule"`
	Source  string `json:"source"`
	Lines   int    `json:"lines"`
	Matched int    `json:"matched"`
}

// Coverage says what one source saw of the window.
type Coverage struct {
	Source         string  `json:"source"`
	From           Time    `json:"from"`
	To             Time    `json:"to"`
	Seen           float64 `json:"seen_s"`
	Blind          []Blind `json:"blind"`
	Lines          *int    `json:"lines"`
	Malformed      *int    `json:"malformed"`
	PartialObjects *int    `json:"partial_objects"`
	HorizonPassed  *bool   `json:"horizon_passed"`
	// Awaited is what may still come while the horizon has not passed.
	Awaited []Awaited `json:"awaited,omitempty"`
}

// Awaited is the time of which a log's load-balancer node may still deliver objects.
type Awaited struct {
	Node string `json:"node"` // empty where no node is known yet
	From Time   `json:"from"` // what it has delivered ends here
	To   Time   `json:"to"`
}

// Blind is a blind spot. Reason is a stable code, Detail what the source said.
type Blind struct {
	From   Time   `json:"from"`
	To     Time   `json:"to"`
	Reason string `json:"reason"`
	Detail string `json:"detail,omitempty"`
}

// ClockOffset bounds b's clock minus a's.
type ClockOffset struct {
	A      string   `json:"a"`
	B      string   `json:"b"`
	Offset Interval `json:"offset_ms"`
}

// BaselineTest compares failures of one kind with the baseline's.
type BaselineTest struct {
	Kind             string `json:"kind"`
	BaselineFailures int    `json:"baseline_failures"` // in the window, before the deploy
	BaselineRequests int    `json:"baseline_requests"`
	WindowFailures   int    `json:"window_failures"`
	WindowRequests   int    `json:"window_requests"`
	// The last seven days outside of windows; zero where they had none of the kind.
	BackgroundFailures int     `json:"background_failures"`
	BackgroundRequests int     `json:"background_requests"`
	BackgroundSpans    int     `json:"background_spans"` // of ten minutes, that had any
	P                  float64 `json:"p"`
	Significant        bool    `json:"significant"`
}

// MaxFailures is how many failed requests a report lists one by one; the totals
// count all of them.
const MaxFailures = 1000

// FailedRequest is one failed request of the window, or several that were only
// counted.
type FailedRequest struct {
	Traffic Class   `json:"traffic"`
	Start   Time    `json:"start"`
	End     Time    `json:"end"`
	Target  *string `json:"target"` // that it was sent to; null where no witness says
	Outcome Outcome `json:"outcome"`
	Status  *int    `json:"status"`
	// TargetStatus is what the target itself answered; null where it did not, or
	// where the witness (a prober) cannot tell.
	TargetStatus *int    `json:"target_status"`
	Route        string  `json:"route"`   // a probe's name, for probes
	Request      string  `json:"request"` // empty where they were only counted
	Phase        *string `json:"phase"`
	Cause        Cause   `json:"cause"`
	Count        int     `json:"count"` // how many: of those that were only counted, all between Start and End
}

// Finding is a warning with a stable code, its evidence and a remedy.
type Finding struct {
	Code     string         `json:"code"`
	Severity Severity       `json:"severity"`
	Phase    *string        `json:"phase"`
	Target   *string        `json:"target"`
	From     Time           `json:"from"`
	To       Time           `json:"to"`
	Values   map[string]any `json:"values"`
	Sentence string         `json:"sentence"`
	Remedy   string         `json:"remedy"`
	Evidence []Evidence     `json:"evidence"`
}

// Severity orders findings.
type Severity string

// Severities, worst first.
const (
	SeverityHigh   Severity = "high"
	SeverityMedium Severity = "medium"
	SeverityInfo   Severity = "info"
)

// RuleState says whether a rule fired, was clear, or could not be evaluated.
type RuleState struct {
	Code  string `json:"code"`
	State string `json:"state"`
	Why   string `json:"why"` // stable code; empty unless not_evaluable
}

// Rule states.
const (
	RuleFired        = "fired"
	RuleClear        = "clear"
	RuleNotEvaluable = "not_evaluable"
)

// Provenance says what the report was made from and by.
type Provenance struct {
	Binary       string   `json:"binary"`
	ConfigSHA256 string   `json:"config_sha256"`
	RulesSHA256  string   `json:"rules_sha256"`
	InputsSHA256 string   `json:"inputs_sha256"`
	GeneratedAt  Time     `json:"generated_at"`
	Previous     *string  `json:"previous"`
	Changes      []string `json:"changes"`
}
