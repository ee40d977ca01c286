package logrules

import "gapless/analysis"

// Names of rule sets: lines that frameworks write on their own, as their sources word
// them. The set for JSON has no rules of its own: it lets the rules of the others see
// the message of a line that is a JSON object.
const (
	SetSpringBoot    = "spring-boot"
	SetSystemd       = "systemd"
	SetTomcat        = "tomcat"
	SetHikariCP      = "hikaricp"
	SetResilience4j  = "resilience4j"
	SetNginxError    = "nginx-error"
	SetSchedulerLock = "scheduler-lock"
	SetJSON          = "json"
)

// Sets lists every rule set.
var Sets = []string{SetSpringBoot, SetSystemd, SetTomcat, SetHikariCP, SetResilience4j, SetNginxError, SetSchedulerLock, SetJSON}

var ruleSets = map[string][]rule{
	SetSpringBoot: built(SetSpringBoot, springBoot), SetSystemd: systemd(), SetTomcat: built(SetTomcat, tomcat),
	SetHikariCP: built(SetHikariCP, hikari), SetResilience4j: built(SetResilience4j, resilience4j),
	SetNginxError: built(SetNginxError, nginxError), SetSchedulerLock: built(SetSchedulerLock, schedulerLock),
	SetJSON: nil,
}

// spec is a built-in rule as it is written down.
type spec struct {
	name, match string
	step        analysis.StepKind
	event       analysis.Event
	fixed       map[string]string
	trace       bool
	named       func(message []byte) (name []byte, sure bool)
}

func built(set string, specs []spec) []rule {
	rules := make([]rule, len(specs))
	for i, s := range specs {
		re, literal, err := pattern(s.match)
		if err != nil {
			panic(err) // it is written here
		}
		rules[i] = rule{
			name: set + "/" + s.name, literal: literal, pattern: re, groups: re.SubexpNames(), trace: s.trace,
			step: s.step, event: s.event, fixed: s.fixed, origin: programs[set], named: s.named,
		}
	}
	return rules
}

// programs are those that alone write the lines of a set.
var programs = map[string]string{SetSystemd: originSystemd}

// springBoot: Spring Boot's StartupInfoLogger and GracefulShutdown, and Spring
// Framework's DefaultLifecycleProcessor. "Restored" is what CRaC writes, "JVM running"
// was written before 3.0, "Failed to shut down" before Framework 6.1.
var springBoot = []spec{
	{name: "starting", event: analysis.EventProcessStarting,
		match: `^Starting (?:AOT-processed )?(?P<name>\S+) (?:v(?P<version>\S+) )?.*?with PID (?P<pid>\d+)`},
	{name: "version", event: analysis.EventVersion,
		match: `^Starting (?:AOT-processed )?(?P<name>\S+) v(?P<version>\S+) .*?with PID \d+`},
	{name: "started", step: analysis.StepAppReady,
		match: `^(?:Started|Restored) \S+ in [0-9.]+ seconds \((?:process|JVM) running`},
	{name: "graceful-shutdown", step: analysis.StepRestartBegan, event: analysis.EventShutdownBegan,
		match: `^Commencing graceful shutdown\. Waiting for active requests to complete`},
	{name: "shutdown-complete", event: analysis.EventShutdownEnded, match: `^Graceful shutdown complete`},
	{name: "shutdown-aborted", event: analysis.EventShutdownAborted,
		match: `^Graceful shutdown aborted with one or more requests still active`},
	{name: "phase-timeout", event: analysis.EventShutdownAborted,
		match: `^Shutdown phase (?P<phase>-?\d+) ends with \d+ beans? still running after timeout of (?P<timeout_ms>\d+)ms`},
	{name: "phase-timeout-before-6.1", event: analysis.EventShutdownAborted,
		match: `^Failed to shut down \d+ beans? with phase value (?P<phase>-?\d+) within timeout of (?P<timeout_ms>\d+)`},
}

// tomcat: Tomcat's own log, and what it says inside Spring Boot (there the application
// is ready only when Spring Boot says so: it does not write "Server startup").
var tomcat = []spec{
	{name: "startup", step: analysis.StepAppReady, match: `^Server startup in \[?[\d,.]+\]? (?:milliseconds|ms)`},
	{name: "stopping", event: analysis.EventShutdownBegan, match: `^Stopping service \[?(?P<name>[^\]\s]+)\]?$`},
	{name: "threads-exhausted", event: analysis.EventPoolExhausted, fixed: map[string]string{groupName: "http"},
		match: `^(?:Maximum|All) (?:number of )?threads \((?P<max>\d+)\) (?:created for connector|are currently busy)`},
}

// hikari: HikariPool. One exhaustion is told by up to three lines: the pool's own at
// level DEBUG, the persistence framework's, and the exception's. A pool that is closed
// does not say that the process ends: an application may close one of several.
var hikari = []spec{
	{name: "exhausted", event: analysis.EventPoolExhausted, trace: true,
		match: `^(?:Caused by: )?(?:java\.sql\.SQLTransientConnectionException: )?(?P<name>[^\s:]+) - Connection is not available, request timed out after (?P<waited_ms>\d+)ms\.?(?: \(total=(?P<total>\d+)[^)]*\bactive=(?P<active>\d+)[^)]*\bwaiting=(?P<waiting>\d+)\))?`},
	{name: "timeout-stats", event: analysis.EventPoolExhausted,
		match: `^(?P<name>\S+) - Timeout failure (?:stats )?\(total=(?P<total>\d+)[^)]*\bactive=(?P<active>\d+)[^)]*\bwaiting=(?P<waiting>\d+)\)`},
	{name: "shutdown", event: "pool.closing", match: `^(?P<name>\S+) - Shutdown initiated\.\.\.`},
	{name: "shutdown-complete", event: "pool.closed", match: `^(?P<name>\S+) - Shutdown completed\.`},
}

// eventTime stands before the text of a Resilience4j event.
const eventTime = `^(?:Event [A-Z_]+ published: )?(?:\d{4}-\d\d-\d\dT[0-9:.+Z-]+(?:\[[\w/+-]+\])?: )?`

// refusal stands before a refusal: the exception's class, as a trace has it.
const refusal = `^(?:Caused by: )?(?:io\.github\.resilience4j\.[\w.]+: )?`

// resilience4j: the texts of its events (logged by its own classes at level DEBUG, or
// by whoever subscribes to them) and of its exceptions. Where an application logs
// both, one refused call is told twice.
var resilience4j = []spec{
	{name: "breaker-changed", event: analysis.EventBreakerChanged,
		match: eventTime + `CircuitBreaker '(?P<name>[^']+)' changed state from (?P<from>[A-Z_]+) to (?P<to>[A-Z_]+)`},
	{name: "breaker-refused", event: analysis.EventCallRefused, trace: true, fixed: map[string]string{"by": "breaker"},
		match: refusal + `CircuitBreaker '(?P<name>[^']+)' is (?P<state>[A-Z_]+) and does not permit further calls`},
	{name: "breaker-recorded-refusal", event: analysis.EventCallRefused, fixed: map[string]string{"by": "breaker"},
		match: eventTime + `CircuitBreaker '(?P<name>[^']+)' recorded a call which was not permitted`},
	{name: "limiter-refused", event: analysis.EventCallRefused, trace: true, fixed: map[string]string{"by": "limiter"},
		match: refusal + `RateLimiter '(?P<name>[^']+)' does not permit further calls`},
	{name: "bulkhead-refused", event: analysis.EventCallRefused, trace: true, fixed: map[string]string{"by": "bulkhead"},
		match: refusal + `(?:ThreadPool)?Bulkhead '(?P<name>[^']+)' is full and does not permit further calls`},
	{name: "bulkhead-recorded-refusal", event: analysis.EventCallRefused, fixed: map[string]string{"by": "bulkhead"},
		match: eventTime + `Bulkhead '(?P<name>[^']+)' rejected a call`},
	{name: "retry", event: "call.retried",
		match: eventTime + `Retry '(?P<name>[^']+)', waiting (?P<wait>P[0-9TDHMS.]+) until attempt '(?P<attempt>\d+)'`},
	{name: "retry-gave-up", event: "call.gave_up",
		match: eventTime + `Retry '(?P<name>[^']+)' recorded a failed retry attempt\. Number of retry attempts: '(?P<attempts>\d+)'\. Giving up`},
	{name: "timeout", event: "call.timed_out", trace: true,
		match: `^(?:Caused by: )?(?:java\.util\.concurrent\.TimeoutException: )?TimeLimiter '(?P<name>[^']+)' recorded a timeout exception`},
}

// nginxError: nginx's error log, about the servers behind it. A request can say
// anything about itself in such a line, and nothing of it is taken (see [nginxUpstream]).
var nginxError = []spec{
	{name: "upstream-failed", event: analysis.EventUpstreamFailed, named: nginxUpstream,
		match: `^\[(?:warn|error|crit|alert)\] \d+#\d+: \*\d+ (?P<reason>connect\(\) failed|recv\(\) failed|send\(\) failed|upstream timed out|upstream prematurely closed connection|no live upstreams) ?(?:\((?P<errno>\d+): [^)]*\) )?while (?P<action>[a-z ]+), client: `},
	{name: "upstream-disabled", event: analysis.EventUpstreamFailed, named: nginxUpstream, fixed: map[string]string{"reason": "temporarily disabled"},
		match: `^\[warn\] \d+#\d+: \*\d+ upstream server temporarily disabled while (?P<action>[a-z ]+), client: `},
}

// schedulerLock: ShedLock's DefaultLockingTaskExecutor, at level DEBUG.
var schedulerLock = []spec{
	{name: "locked", event: analysis.EventJobBegan, match: `^Locked '(?P<name>[^']+)', lock will be held at most until `},
	{name: "finished", event: analysis.EventJobEnded, match: `^Task finished, lock '(?P<name>[^']+)' (?:released|will be released at )`},
	{name: "skipped", event: analysis.EventJobSkipped, match: `^Not executing '(?P<name>[^']+)'\. It's locked\.`},
}
