package analysis

import (
	"errors"
	"time"
)

// Observations are everything that the judge may use for one window. Times are by
// the clock of whoever observed them and are never shifted.
//
// Requests, Probes and Handled may reach [EdgeReach] beyond the window on both
// sides, since a request that began in it may end outside and the other way round;
// the judge counts each where it belongs.
type Observations struct {
	Service  Service
	Deploy   Deploy
	From, To time.Time // the window, half-open
	Part     Part      // what of it the report is to be about
	// At is the moment up to which evidence had been read; it decides what is
	// still awaited. It is data, not a clock.
	At        time.Time
	Revision  int
	Revisions []RevisionNote // saved reports of this deploy, oldest first
	SealedAt  time.Time      // zero while not sealed
	Change    int64          // the store's count of changes up to which evidence was read; it tells a later one from this
	Claims    []TypedClaim   // that people typed for this deploy, or for a time that this window meets
	Neighbors []Deploy       // deploys of the same service whose windows touch this one, without it
	Steps     []Step
	Groups    []GroupSettings // what the load balancer itself said of its target groups, newest last
	Cells     []Cell
	Latencies []Latencies
	Requests  []Request // failures (of very many that are alike, a sample) and slow outliers, one by one; all are counted in Cells too
	Known     []KnownRequests
	Probes    []ProbeRequest
	Handled   []HandledRequest
	States    []StateSample
	Checks    []HealthCheckResult // from CheckReach before the window to its end
	Metrics   []MetricSum
	Signals   []Signal
	Journeys  []JourneyStep
	Gauges    []Gauge
	// Background is what went on outside of every deploy window in the [BackgroundReach]
	// before this one, and Ejections what earlier deploys measured.
	Background []BackgroundCount
	Ejections  []PastEjection
	Runs       []Run
	Objects    []Object
	Counts     []RuleCount
}

// EdgeReach is how far around a window single requests are looked at.
const EdgeReach = time.Minute

// CheckReach is how far before a window health checks are looked at: whether a
// target was in or out at its start takes as many of them as the thresholds say.
const CheckReach = 5 * time.Minute

// BackgroundReach is how far before a window the service's own background is looked at.
const BackgroundReach = 7 * 24 * time.Hour

// BackgroundSpan is the stretch that background is counted by.
const BackgroundSpan = 10 * time.Minute

// BackgroundCount sums up the requests of one sort that one source saw in the stretches
// of [BackgroundSpan] that lie outside of every deploy window. An outage that nobody
// deployed may be in them, so that beside the sum it tells how the requests spread.
type BackgroundCount struct {
	Source  string // access log's or probe's name
	Class   Class
	Outcome Outcome // empty: all requests of the class
	Status  int
	Route   string // a probe's name, for probes
	Count   int
	Spans   int // stretches that had any of them
	Typical int // the median of those
	Of      int // stretches in which the source saw any request at all
}

// PastEjection is how long a target took to leave rotation in an earlier deploy of the
// service, from its drain mark: exactly, or at most. What is only a lower bound is not
// among them, since nothing may be recommended by it.
type PastEjection struct {
	Deploy string        `json:"deploy"`
	Target string        `json:"target"`
	At     time.Time     `json:"at"` // the mark
	Took   time.Duration `json:"took"`
	Bound  Bound         `json:"bound"` // exact or upper
}

// RevisionNote says what one saved report of a deploy changed in the one before it.
type RevisionNote struct {
	Number  int
	At      time.Time // up to when evidence had been read
	Verdict VerdictState
	Changes []string // empty for the first
}

// Deploy is one change rolled over the targets of a service.
type Deploy struct {
	ID            string     `json:"id"`
	Service       string     `json:"service"`
	Kind          DeployKind `json:"kind"`
	VersionBefore string     `json:"version_before"`
	VersionAfter  string     `json:"version_after"`
	RollbackOf    string     `json:"rollback_of"`
	Environment   string     `json:"environment"`
	Actor         string     `json:"actor"`
	URL           string     `json:"url"`
	Source        string     `json:"source"` // who told us
	StartedAt     time.Time  `json:"started_at"`
	ReportedAt    time.Time  `json:"reported_at"` // zero until reported
	Result        string     `json:"result"`      // succeeded, failed, cancelled, or empty
	// SeenUntil is the last sign of a deploy that nobody announced; zero for one that
	// somebody did.
	SeenUntil time.Time `json:"seen_until,omitzero"`
}

// Succeeded reports whether the deploy's own report says nothing else.
func (d *Deploy) Succeeded() bool { return d.Result == "" || d.Result == "succeeded" }

// Step is something that happened at a moment in a deploy.
type Step struct {
	Deploy   string // id; empty where the source does not know of deploys
	Kind     StepKind
	At       time.Time
	Target   string // name; empty where it concerns the whole deploy
	Source   string
	Inferred bool   // seen by us rather than told to us
	Clock    string // whose clock At is by, where it is not the source's own
}

// GroupSettings are a target group's settings as its load balancer told them.
type GroupSettings struct {
	LoadBalancer, TargetGroup string
	ARN                       string
	At                        time.Time
	Health                    HealthCheck
	DeregistrationDelay       time.Duration
}

// Cell counts the requests of one second in one access log that agree in all of
// its key fields. Second is the Unix second in which they started.
type Cell struct {
	CellKey
	Count  int
	Masked int       // of those: an attempt failed, and another one hid it from the client
	First  time.Time // earliest start in the cell, to the microsecond
	Last   time.Time // latest end in the cell
}

// Latencies is how long those requests of one second, class and route took in one
// access log that ended well ([OutcomeOK]); a WebSocket's time is none. They are not
// told apart by target and status: as many sketches more would be kept and merged,
// and no number of the report asks for them.
type Latencies struct {
	LatencyKey
	Took *Histogram // microseconds
}

// LatencyKey is what the requests of [Latencies] share. Second is the Unix second in
// which they started.
type LatencyKey struct {
	Second int64
	Source string // access log's name
	Node   string // load-balancer node's address; empty where the log has none
	Class  Class
	Route  string
}

// CellKey is what requests of one cell share.
type CellKey struct {
	Second       int64
	Source       string // access log's name
	Node         string // load-balancer node's address; empty where the log has none
	TargetGroup  string
	Target       string // name; empty where no target was chosen
	Class        Class
	Outcome      Outcome
	Route        string
	Status       int // what the client got
	TargetStatus int // what the target answered; 0: it did not answer
}

// Request is one request as an access log saw it.
type Request struct {
	CellKey     // Second is the second of Start, or of End where Start is not known
	Start, End  time.Time
	Duration    time.Duration
	Method, URL string
	Client      string
	UserAgent   string
	ProbeRun    string // for a known probe: run and sequence number from its id
	ProbeSeq    int
	Connected   bool // a connection to the target was made (the log gives a processing time ≥ 0)
	WebSocket   bool
	// Before is how long it waited, from its arrival until it was sent to the target, and
	// TargetTook how long the target then took until it answered. Nil: the log does not say.
	Before, TargetTook *time.Duration
	ErrorReason        string
	Attempts           int      // targets that were asked; 0 where the log cannot tell
	FailedOn           []string // targets of the failed attempts before the last one; "" where the log does not say
	Object             string   // key of the object it stood in
	Line               int      // 1-based line in that object
}

// KnownRequests are the sequence numbers of one probe run that were found in one
// access log, per load-balancer node.
type KnownRequests struct {
	Source, Node, Run string
	Seqs              []uint32 // ascending
}

// ProbeRequest is one request that we sent, by the prober's clock.
type ProbeRequest struct {
	Source  string // probe's or record file's name in the configuration
	Probe   string
	Class   Class
	Run     string
	Seq     int
	Sent    time.Time
	Done    time.Time
	Status  int // 0: none came
	Outcome Outcome
	Target  string // where the answer itself named it, else empty
	Error   string
	// OutOfService: the body was the deliberate drain answer.
	OutOfService bool
}

// HandledRequest is one probe request as the application that handled it logged it.
type HandledRequest struct {
	Source string // application log's name
	Target string
	Run    string
	Seq    int
	At     time.Time
	Status int  // 0 where the line had none
	Begun  bool // the line says received, not answered
}

// StateSample is what one poll said of one target.
type StateSample struct {
	Source      string
	TargetGroup string
	Target      string
	At          time.Time
	State       TargetState
	Reason      string
}

// HealthCheckResult is one health check, as the load-balancer node that made it
// logged it. Every node checks every target by itself.
type HealthCheckResult struct {
	Source      string // health-check log's name
	Node        string // address of the node; empty where neither line nor name has it
	TargetGroup string // name
	Target      string // name
	At          time.Time
	Latency     time.Duration // until the answer, or until it was given up
	Pass        bool
	Status      int    // what the target answered; 0: nothing
	Reason      string // of a failure, in the load balancer's words
}

// Done is when the node knew how the check ended.
func (h *HealthCheckResult) Done() time.Time { return h.At.Add(h.Latency) }

// MetricSum is what the load balancer counted in one period, by its own monitoring.
// A period without a sum is one that nothing is known of, never a zero.
type MetricSum struct {
	Source string
	Metric string    // RequestCount, HTTPCode_ELB_5XX_Count, …
	At     time.Time // start of the period
	Period time.Duration
	Sum    float64
}

// Why a run failed, in words that stay.
const (
	CodeThrottled   = "throttled"
	CodeForbidden   = "forbidden"
	CodeNotFound    = "not_found"
	CodeBadReply    = "bad_reply"
	CodeUnreachable = "unreachable"
	CodeError       = "error"
)

// Run is one attempt of a collector to observe a span of time.
type Run struct {
	Source   string    // name in the configuration
	Kind     string    // what sort of collector: elbv2, alb, file, probe, …
	From, To time.Time // span whose evidence it fetched or failed to fetch
	At       time.Time // when it ended
	Rows     int
	Code     string // empty when it succeeded, else a stable word: one of the Code constants, or a source's own
	Error    string // empty when it succeeded
}

// Object is one log object (or stretch of a followed file) and what came of it.
type Object struct {
	Source string
	Node   string // load-balancer node's address, where the name gives it
	Key    string
	// From and To are the span of time that it should hold by its name, else that of
	// its lines. Of an object without such a name that was not read to its end, To is
	// zero: nobody knows how far it reaches; and From is zero where nothing is known.
	From, To   time.Time
	Lines      int
	Understood int
	SetAside   int
	// Requestless are the lines among those set aside that stand for no request, of which
	// nothing can have failed: empty ones, and what a proxy says of its servers or itself.
	Requestless int
	Unmatched   int    // of those understood: rows that the configured match leaves out; not counted in cells
	Partial     bool   // cut short; whole lines before the cut were kept
	Error       string // empty unless it could not be read
	// Arrived is when the object was delivered, as its store says; zero where that is
	// not known (a file's time may be that of a copy).
	Arrived time.Time
}

// ObjectBatch is everything that one log object held, stored in one transaction.
type ObjectBatch struct {
	Object
	// Name is by what the object is known wherever it lies: two of one name are one
	// object, of which there is a copy. Empty: Key.
	Name string
	// Version changes with the object's content: what was read under another one is
	// replaced. Empty where the place of the object tells none.
	Version   string
	Cells     []Cell
	Latencies []Latencies
	Requests  []Request
	Known     []KnownRequests
	Checks    []HealthCheckResult
	Lines     []SetAsideLine // lines that were not understood
}

// SetAsideLine is a log line that was not understood. Nothing of it is lost.
type SetAsideLine struct {
	Line   int    // 1-based
	Offset int64  // of its first byte, in the uncompressed object
	Reason string // stable word
	Detail string
	Kind   string // what the line seems to be: an access log's kind (alb, nginx and so on), classic_elb, nlb, unknown
	Raw    []byte
}

// AppBatch is what one read of an application log brought, stored with the position
// after it in one transaction.
type AppBatch struct {
	Run
	File     string // the file (or stream) that was read
	Before   []byte // where this read began: the position stored before it; nil where there was none
	Position []byte // where the next read goes on; opaque to the store
	Handled  []HandledRequest
	Steps    []Step
	Signals  []Signal
	Journeys []JourneyStep
	Counts   []RuleCount
	// Again says that lines of the batch may be stored already: a second look at a time,
	// or a copy of a file. Equal signals are then numbered from the first on; otherwise
	// those of a batch that begins where another one ended are more of them.
	Again bool
}

// ErrMoved is why a batch is not stored that began elsewhere than where the log had
// been read to: another reader was there meanwhile. It is to be read again from the
// position that is stored now.
var ErrMoved = errors.New("the log was read further by another reader")

// RuleCount says how many lines a log rule was tried on, and how many it matched,
// in one second, by the lines' own times. Seconds, so that a window's counts do not
// depend on what lies outside of it.
type RuleCount struct {
	Source, Rule   string
	Second         time.Time
	Lines, Matched int
}
