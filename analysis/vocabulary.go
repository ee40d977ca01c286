// Package analysis holds the vocabulary of gapless and its judge.
//
// What belongs here: the words for deploys, targets, requests and verdicts; the
// observations that collectors produce and the store keeps; and [Judge], which
// turns observations into a [Report]. It is pure: no clock, no database, no
// network and no sentences meant for people (those live in views). The program in
// analysis/mutants changes the judge's conditions one by one and reports each change
// that no test notices.
package analysis

import "slices"

// Class says whose request it was. Counts of different classes are never summed.
type Class string

// Traffic classes, in the order in which pages show them.
const (
	ClassUser   Class = "user"   // real users; whatever no traffic rule claims
	ClassProbe  Class = "probe"  // our business probes
	ClassHealth Class = "health" // health samples, ours and the load balancer's
	ClassTool   Class = "tool"   // declared others
)

// Classes lists every traffic class in display order.
var Classes = []Class{ClassUser, ClassProbe, ClassHealth, ClassTool}

// perClass counts requests by whose they were. A sum over classes says only whether
// there was any; it is never shown.
type perClass map[Class]int

func (n perClass) add(class Class, more int) {
	if more != 0 {
		n[class] += more
	}
}

func (n perClass) all() int {
	sum := 0
	for _, each := range n {
		sum += each
	}
	return sum
}

// Outcome says how one request ended.
type Outcome string

// Outcomes, best first.
const (
	OutcomeOK              Outcome = "ok"
	OutcomeClientError     Outcome = "client_error"     // 4xx other than the ones below
	OutcomeRejected        Outcome = "rejected"         // 429, or refused before it was sent
	OutcomeClientAbort     Outcome = "client_abort"     // 460 (ALB), 499 (nginx)
	OutcomeDrain503        Outcome = "drain_503"        // health answering OUT_OF_SERVICE on purpose
	OutcomeTarget5xx       Outcome = "target_5xx"       // the application answered so
	OutcomeLB5xx           Outcome = "lb_5xx"           // the load balancer made it
	OutcomeTimeout         Outcome = "timeout"          // no answer in time (probers only)
	OutcomeConnectionError Outcome = "connection_error" // no connection, or broken (probers only)
	OutcomeUnknown         Outcome = "unknown"          // sent, result not known
	OutcomeBadBody         Outcome = "bad_body"         // 2xx whose body says otherwise
)

// Outcomes lists every outcome, best first.
var Outcomes = []Outcome{
	OutcomeOK, OutcomeClientError, OutcomeRejected, OutcomeClientAbort, OutcomeDrain503,
	OutcomeTarget5xx, OutcomeLB5xx, OutcomeTimeout, OutcomeConnectionError, OutcomeUnknown, OutcomeBadBody,
}

// Failure reports whether the outcome counts among failures. Client errors,
// rejections, aborts and deliberate drain answers are outcomes but not failures.
func (o Outcome) Failure() bool {
	switch o {
	case OutcomeTarget5xx, OutcomeLB5xx, OutcomeTimeout, OutcomeConnectionError, OutcomeUnknown, OutcomeBadBody:
		return true
	}
	return false
}

// LogOutcome classifies a request seen in an access log. status is the code that
// the load balancer sent to the client, targetStatus the one the target answered;
// 0 means that the log had none. A numeric 5xx from the target is its own failure,
// any other 5xx was made by the load balancer.
func LogOutcome(status, targetStatus int) Outcome {
	switch {
	case targetStatus >= 500:
		return OutcomeTarget5xx
	case status >= 500:
		return OutcomeLB5xx
	case status == 460 || status == 499:
		return OutcomeClientAbort
	case status == 429:
		return OutcomeRejected
	case status >= 400:
		return OutcomeClientError
	case status >= 100:
		return OutcomeOK
	}
	return OutcomeUnknown
}

// DeployKind says how a change was rolled out.
type DeployKind string

// Deploy kinds. A fault is an outage that nobody planned, judged with the same instruments.
const (
	KindRolling   DeployKind = "rolling"
	KindBlueGreen DeployKind = "blue_green"
	KindInPlace   DeployKind = "in_place"
	KindFault     DeployKind = "fault"
)

// StepKind names something that happened at a moment in a deploy.
type StepKind string

// Step kinds, in the order in which one target goes through them.
const (
	StepDeployStarted      StepKind = "deploy.started"
	StepBuildFinished      StepKind = "build.finished"
	StepDrainMarked        StepKind = "drain.marked"
	StepTargetDeregistered StepKind = "target.deregistered"
	StepTargetEjected      StepKind = "target.ejected"
	StepLastRequest        StepKind = "last.request"
	StepRestartBegan       StepKind = "restart.began"
	StepProcessKilled      StepKind = "process.killed"
	StepAppReady           StepKind = "app.ready"
	StepTargetRegistered   StepKind = "target.registered"
	StepFirstRequest       StepKind = "first.request"
	StepTargetHealthy      StepKind = "target.healthy"
	StepTrafficSwitched    StepKind = "traffic.switched"
	StepDeployReported     StepKind = "deploy.reported"
)

// StepKinds lists every step kind in order.
var StepKinds = []StepKind{
	StepDeployStarted, StepBuildFinished, StepDrainMarked, StepTargetDeregistered, StepTargetEjected,
	StepLastRequest, StepRestartBegan, StepProcessKilled, StepAppReady, StepTargetRegistered,
	StepFirstRequest, StepTargetHealthy, StepTrafficSwitched, StepDeployReported,
}

// Known reports whether k is one of the step kinds.
func (k StepKind) Known() bool { return slices.Contains(StepKinds, k) }

// TargetState is a state word of the load balancer, kept as it says it.
type TargetState string

// States of ELBv2 and of NCP. Any other word is kept as it is and counts as not in rotation.
const (
	StateInitial           TargetState = "initial"
	StateHealthy           TargetState = "healthy"
	StateUnhealthy         TargetState = "unhealthy"
	StateUnhealthyDraining TargetState = "unhealthy.draining"
	StateUnused            TargetState = "unused"
	StateDraining          TargetState = "draining"
	StateUnavailable       TargetState = "unavailable"
	StateUp                TargetState = "UP"
	StateDown              TargetState = "DOWN"
	StateUnusedNCP         TargetState = "UNUSED"
)

// InRotation reports whether the load balancer, by this state, sends new requests
// to the target while its group has a healthy one. "unavailable" means that health
// checks are disabled, and such a target is served.
func (s TargetState) InRotation() bool {
	return s == StateHealthy || s == StateUp || s == StateUnavailable
}

// WindowState is the life of a deploy window, in order.
type WindowState string

// Window states: evidence still arriving, waiting for late logs, settled.
const (
	WindowOpen     WindowState = "open"
	WindowSettling WindowState = "settling"
	WindowSealed   WindowState = "sealed"
)

// VerdictState is what may be said of a claim.
type VerdictState string

// Verdict states, strongest statement first.
const (
	Disproved    VerdictState = "disproved"
	Inconclusive VerdictState = "inconclusive"
	Untested     VerdictState = "untested"
	Supported    VerdictState = "supported"
)

// Cause says why a request failed, as far as the evidence goes.
type Cause string

// Causes, in the order in which they are tried.
const (
	CauseDeploy      Cause = "deploy"
	CauseVersion     Cause = "version"
	CauseBackground  Cause = "background"
	CauseClient      Cause = "client"
	CauseShared      Cause = "shared"
	CauseUnexplained Cause = "unexplained"
)
