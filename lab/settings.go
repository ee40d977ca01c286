package lab

import (
	"time"

	"gapless/analysis"
)

const (
	probePrefix   = "gapless-probe/"
	healthPrefix  = "gapless-health/"
	checkerPrefix = "ELB-HealthChecker/"
	healthPath    = "/actuator/health"
)

// Settings are what a console needs to watch the lab, all of it by the means that
// it would use for a real service.
type Settings struct {
	Scenario   string
	DeployKind analysis.DeployKind

	LoadBalancerURL  string // without a path; probes go through it
	LoadBalancerName string // app/name/id, as it stands in the access log
	LoadBalancerARN  string
	ELBv2Endpoint    string // base endpoint; any credentials do, none too
	Region           string
	TargetGroup      string // name
	TargetGroupARN   string
	AccessLogDir     string // file:// folder that holds AWSLogs/…: access log and health-check log
	AccessLogEvery   time.Duration

	Targets  []analysis.TargetName
	NodeLogs map[string]string // log file by target
	// Health is exact. The API tells whole seconds only, rounded up.
	Health      analysis.HealthCheck
	Window      analysis.WindowSettings
	StatesEvery time.Duration

	Probes  []ProbeSettings
	Traffic analysis.TrafficRules
	Routes  []analysis.Route

	// Patterns and rule names for the nodes' logs, as a configuration holds them.
	RequestIDHeader string
	LogMatch        string
	ReceivedMatch   string
	LogRules        []string
	OwnRules        []OwnRule

	Journeys     []JourneySettings
	Metrics      []MetricsSettings
	Dependencies []analysis.Dependency
	Jobs         []analysis.Job
}

// ProbeSettings suggest a probe, with its conditions as a configuration holds them.
type ProbeSettings struct {
	Name           string
	Class          analysis.Class
	Method, URL    string
	Every, Timeout time.Duration
	NewConnections bool
	Expect, Drain  string
	// FromTarget tells a 5xx of the application from one that the balancer made.
	FromTarget string
}

// Settings tells how to watch the lab.
func (l *Lab) Settings() Settings {
	health := l.scenario.health
	s := Settings{
		Scenario: l.scenario.name, DeployKind: l.scenario.kind,
		LoadBalancerURL: l.url, LoadBalancerName: l.id.loadBalancer, LoadBalancerARN: l.id.loadBalancerARN,
		ELBv2Endpoint: l.apiURL, Region: l.id.region,
		TargetGroup: l.id.targetGroup, TargetGroupARN: l.id.targetGroupARN,
		AccessLogDir: l.files.dir, AccessLogEvery: logEvery,
		NodeLogs: map[string]string{}, Health: health, Window: l.scenario.window,
		StatesEvery: 500 * time.Millisecond,
		Probes: []ProbeSettings{
			{
				Name: "store", Class: analysis.ClassProbe, Method: "GET", URL: l.url + "/v1/stores/17",
				Every: 100 * time.Millisecond, Timeout: 2 * time.Second, NewConnections: true,
				Expect: "status == 200 && body.success == true && body.data.id == 17 && len(body.data) >= 100",
			},
			{
				Name: "health", Class: analysis.ClassHealth, Method: "GET", URL: l.url + healthPath,
				Every: 250 * time.Millisecond, Timeout: 2 * time.Second, NewConnections: true,
				Expect: `status == 200 && body.status == "UP"`,
				Drain:  `status == 503 && body.status == "OUT_OF_SERVICE"`,
			},
		},
		Traffic: analysis.TrafficRules{
			Probe:  []analysis.TrafficRule{{UserAgentPrefix: probePrefix}},
			Health: []analysis.TrafficRule{{UserAgentPrefix: healthPrefix}, {UserAgentPrefix: checkerPrefix}, {Path: healthPath}},
		},
		Routes: []analysis.Route{
			{Name: "order", Match: "^/v1/orders", Critical: true},
			{Name: "store", Match: "^/v1/stores/"},
		},
		RequestIDHeader: "X-Request-Id",
		LogMatch:        `rid=(?P<id>\S+) status=(?P<status>\d+)`,
		ReceivedMatch:   `rid=(?P<id>\S+) received`,
		LogRules:        []string{"spring-boot", "systemd"},
	}
	for _, each := range l.nodes {
		s.Targets = append(s.Targets, analysis.TargetName{Name: each.name, Address: each.address})
		s.NodeLogs[each.name] = each.logPath
	}
	if l.scenario.watch != nil {
		l.scenario.watch(l, &s)
	}
	return s
}
