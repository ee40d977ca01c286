package analysis

import "time"

// Event says what a line of an application's log tells, besides steps and requests.
type Event string

// Events that rules of the judge rest on. A log rule may name another one; it is
// kept and shown, and nothing is concluded from it.
const (
	EventStopRequested   Event = "stop.requested"   // the service manager asked the process to end
	EventShutdownBegan   Event = "shutdown.began"   // the process began to end on its own account
	EventShutdownEnded   Event = "shutdown.ended"   // it finished what it had begun
	EventShutdownAborted Event = "shutdown.aborted" // its time was up with work still going on
	EventProcessExited   Event = "process.exited"   // values: code, status
	EventProcessStarting Event = "process.starting" // values: version, pid
	EventVersion         Event = "app.version"      // values: version
	EventWorkBegan       Event = "work.began"       // key: the work's identifier
	EventWorkEnded       Event = "work.ended"
	EventJobBegan        Event = "job.began" // name: the scheduled job
	EventJobEnded        Event = "job.ended"
	EventJobSkipped      Event = "job.skipped"  // another instance held the job's lock
	EventCallSent        Event = "call.sent"    // name: the dependency; key: what the call was for
	EventCallEnded       Event = "call.ended"   // values: result (ok, failed, timeout)
	EventCallRefused     Event = "call.refused" // never sent; values: by (breaker, limiter, bulkhead)
	EventBreakerChanged  Event = "breaker.changed"
	EventPoolExhausted   Event = "pool.exhausted" // name: the pool
	EventJourneyStep     Event = "journey.step"   // name: the step; key: the journey's identifier
	EventUpstreamFailed  Event = "upstream.failed"
)

// Signal is one event that a log rule found in a line.
type Signal struct {
	Source  string // application log's name
	Rule    string // name of the rule, set and rule: spring-boot/graceful-shutdown
	Target  string // who wrote the line; empty where nothing tells
	At      time.Time
	Event   Event
	Name    string            // what it is about: a job, breaker, pool, dependency or step
	Key     string            // identifier that lines about the same thing share
	Outcome Outcome           // of a journey's step or a call; empty where the line does not say
	Values  map[string]string // everything else that the rule's groups took
}

// JourneyStep is one attempt at one step of a business transaction that takes
// several requests, as a client, a browser or an application recorded it.
type JourneyStep struct {
	Source  string // record file's or application log's name
	Journey string // name in the configuration
	Key     string // identifier that its requests share
	Step    string // name in the configuration
	At      time.Time
	Outcome Outcome
	Target  string // who served it, where the record says
}

// Gauge is one value that a target told of itself. A scrape that failed is a failed
// [Run] of its source, never a zero.
type Gauge struct {
	Source string // metrics source's name
	Target string
	Metric string // role in the configuration: busy_threads, in_flight, pool_active, …
	At     time.Time
	Value  float64
}

// Roles of gauges that rules of the judge rest on. Counters are kept as they were
// told; the judge takes differences.
const (
	GaugeBusyThreads = "busy_threads"
	GaugeMaxThreads  = "max_threads"
	GaugeInFlight    = "in_flight" // calls to a dependency that wait for their answer
	GaugePoolActive  = "pool_active"
	GaugePoolMax     = "pool_max"
	GaugePoolPending = "pool_pending"
)

// GaugeRoles are what a metric can be, in the order in which they are listed.
var GaugeRoles = []string{GaugeBusyThreads, GaugeMaxThreads, GaugeInFlight, GaugePoolActive, GaugePoolMax, GaugePoolPending}

// Journey is a business transaction of several requests that share an identifier.
type Journey struct {
	Name   string        `json:"name"`
	Steps  []string      `json:"steps"`  // in their order
	Within time.Duration `json:"within"` // a journey not completed by then, from its first step, was never finished
	// Sources are the record files and application logs that tell its steps. Where
	// there are several, the identifiers of each are held against those of the first.
	Sources []string `json:"sources"`
}

// MetricsSource names one endpoint at which a target tells of itself.
type MetricsSource struct {
	Name   string        `json:"name"`
	Kind   string        `json:"kind"`
	Target string        `json:"target"`
	Every  time.Duration `json:"every"` // between two scrapes; a gap over 3 × Every is blind
}

// Job is a scheduled job that must not run twice within its period.
type Job struct {
	Name  string        `json:"name"`
	Every time.Duration `json:"every"`
}

// Dependency is something that the service calls.
type Dependency struct {
	Name      string `json:"name"`
	PerSecond int    `json:"per_second"` // calls that it allows in any one second; 0: not stated
	InFlight  int    `json:"in_flight"`  // calls that may wait for it at once, in one target; 0: not stated
	// Routes are those whose requests call it. Without them nobody can tell which
	// requests have nothing to do with it.
	Routes []string `json:"routes,omitempty"`
}

// LogRule says what a log rule gives when it matches, so that one that never did is
// known for what it would have told.
type LogRule struct {
	Name  string   `json:"name"` // as in [RuleCount]
	Event Event    `json:"event,omitempty"`
	Step  StepKind `json:"step,omitempty"`
}
