package lab

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gapless/analysis"
)

// scenarios are all that the lab can run, each in a file of its own.
var scenarios = []*scenario{
	&rollingNaive,
	&rollingDrain,
	&kill,
	&failOpen,
	&backToBack,
	&blueGreen,
	&reregistered,
	&orderJourney,
	&slowDependency,
	&admissionQueue,
}

// scenario is one deploy, its settings, and what a judge has to find.
type scenario struct {
	name         string
	kind         analysis.DeployKind
	health       analysis.HealthCheck
	window       analysis.WindowSettings
	boot         time.Duration
	restartDelay time.Duration // of the supervisor, after a death that nobody asked for
	expect       Expect
	deploy       func(*workflow, context.Context) error

	// nodes are the application's processes; none: api-1 and api-2, both in.
	nodes []nodePlan
	// guards names what can be switched on for a run, see [Options]; with makes of
	// the scenario the one with these switched on, its expectation included.
	guards []string
	with   func(s scenario, on []string) scenario
	// equip adds what a scenario has besides nodes, balancer and users. It runs
	// before the first node starts and may use [Lab.rest] and [Lab.releases].
	equip func(l *Lab, rest context.Context, dir string) error
	// nodeArgs are further arguments for a node, by the version that it will run.
	nodeArgs func(l *Lab, node, version string) []string
	// guests are a scenario's own clients. They begin with the users and go home
	// with them, at the end of ctx.
	guests func(l *Lab, ctx context.Context)
	// watch adds to the settings what a console needs for this scenario alone.
	watch func(l *Lab, s *Settings)
	// crowd are the users where they are not those of every scenario.
	crowd []persona
	// idleTimeout is how long the balancer waits for an answer; 0: a minute.
	idleTimeout time.Duration
}

// nodePlan says what a node is when the lab starts.
type nodePlan struct {
	name string
	idle bool // neither running nor registered; the deploy will start it
}

var twoNodes = []nodePlan{{name: "api-1"}, {name: "api-2"}}

// Expect is what a sound judge says of a scenario.
type Expect struct {
	Verdict  analysis.VerdictState
	Findings []string // codes that must be among the findings
	// MayAlso are codes that the timing of a run may add, and that are true then.
	MayAlso []string
}

// Met reports whether a verdict and its findings' codes are as expected: every
// expected one is there, and none that is neither expected nor allowed.
func (e Expect) Met(verdict analysis.VerdictState, findings []string) bool {
	if verdict != e.Verdict {
		return false
	}
	for _, code := range e.Findings {
		if !slices.Contains(findings, code) {
			return false
		}
	}
	for _, code := range findings {
		if !slices.Contains(e.Findings, code) && !slices.Contains(e.MayAlso, code) {
			return false
		}
	}
	return true
}

// Scenarios lists the scenarios that the lab can run.
func Scenarios() []string {
	var names []string
	for _, s := range scenarios {
		names = append(names, s.name)
	}
	return names
}

// Guards lists what can be switched on for a run of a scenario.
func Guards(name string) []string {
	if s := find(name); s != nil {
		return slices.Clone(s.guards)
	}
	return nil
}

// Expectation is what a sound judge says of a scenario with these guards switched
// on; zero for an unknown one.
func Expectation(name string, guards ...string) Expect {
	s, err := choose(name, guards)
	if err != nil {
		return Expect{}
	}
	return s.expect
}

// choose is the scenario of that name with these guards switched on.
func choose(name string, guards []string) (*scenario, error) {
	s := find(name)
	if s == nil {
		return nil, fmt.Errorf("no scenario %q; there are %s", name, strings.Join(Scenarios(), ", "))
	}
	chosen := *s
	for _, guard := range guards {
		if !slices.Contains(s.guards, guard) {
			return nil, fmt.Errorf("scenario %s has no guard %q; it has: %s", name, guard, strings.Join(s.guards, ", "))
		}
	}
	if chosen.with != nil {
		chosen = chosen.with(chosen, guards)
	}
	if len(chosen.nodes) == 0 {
		chosen.nodes = twoNodes
	}
	return &chosen, nil
}

func find(name string) *scenario {
	for _, s := range scenarios {
		if s.name == name {
			return s
		}
	}
	return nil
}

// The lab's times are those of the first report, some thirty times shorter: checks
// every second instead of every 30, a boot of 0.6 s instead of 16 to 18 s, so that
// a restart is as much shorter than an ejection as it was there.
var (
	fastChecks = analysis.HealthCheck{Interval: time.Second, Timeout: 300 * time.Millisecond, Unhealthy: 2, Healthy: 2, Path: healthPath}
	slowChecks = analysis.HealthCheck{Interval: 3 * time.Second, Timeout: time.Second, Unhealthy: 2, Healthy: 2, Path: healthPath}
	window     = analysis.WindowSettings{Baseline: 5 * time.Second, Tail: 5 * time.Second, Settle: 3 * time.Second, Max: 2 * time.Minute}
)

const (
	bootTime  = 600 * time.Millisecond
	buildTime = time.Second
	// margin is added to every wait that a workflow derives from the settings.
	margin = 700 * time.Millisecond
)

// busyMachine are the findings that a machine with too much else to do brings, where
// it keeps a prober from sending or answers from arriving for a second, or an
// application from writing down an answer until it has long arrived.
var busyMachine = []string{"blind-spot", "probe-stall", "clock-skew"}
