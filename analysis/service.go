package analysis

import "time"

// Service is one thing that is deployed, as far as judging needs to know it. It
// holds names, settings and which sources are expected; never URLs or secrets.
type Service struct {
	Name          string         `json:"name"`
	Window        WindowSettings `json:"window"`
	Targets       []TargetName   `json:"targets"`
	LoadBalancers []LoadBalancer `json:"load_balancers"`
	AppLogs       []AppLog       `json:"app_logs"`
	Probes        []Probe        `json:"probes"`
	Traffic       TrafficRules   `json:"traffic"`
	Routes        []Route        `json:"routes"`
	// The rest is left out of what has none of it, so that older evidence reads the same.
	Journeys     []Journey       `json:"journeys,omitempty"`
	Metrics      []MetricsSource `json:"metrics,omitempty"`
	Jobs         []Job           `json:"jobs,omitempty"`
	Dependencies []Dependency    `json:"dependencies,omitempty"`
	LogRules     []LogRule       `json:"log_rules,omitempty"`
}

// WindowSettings shape the span that is judged around a deploy.
type WindowSettings struct {
	Baseline time.Duration `json:"baseline"` // before deploy.started
	Tail     time.Duration `json:"tail"`     // after deploy.reported
	Settle   time.Duration `json:"settle"`   // how long late logs are waited for
	Max      time.Duration `json:"max"`      // a deploy that never reports ends here
}

// TargetName gives a name to an address that the load balancer sends requests to.
type TargetName struct {
	Name    string   `json:"name"`
	Address string   `json:"address"` // ip:port
	Aliases []string `json:"aliases"` // alias:port, or a bare alias
}

// LoadBalancer is one balancer in front of the service.
type LoadBalancer struct {
	Name         string        `json:"name"`
	AccessLogs   []AccessLog   `json:"access_logs"`
	TargetGroups []TargetGroup `json:"target_groups"`
}

// AccessLog names one access-log source of a load balancer. Exactly one per load
// balancer counts users; the others serve attempts and completeness.
type AccessLog struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"`
	Counts bool   `json:"counts"`
	// Metrics names the source of the load balancer's own counts of the same
	// requests; empty where there is none.
	Metrics string `json:"metrics,omitempty"`
}

// TargetGroup is a set of targets with one health check.
type TargetGroup struct {
	Name   string        `json:"name"`
	Health HealthCheck   `json:"health_check"` // zero Interval: ask the load balancer
	States []StateSource `json:"states"`
}

// HealthCheck holds the settings that decide when a target is ejected and returns.
type HealthCheck struct {
	Interval  time.Duration `json:"interval"`
	Timeout   time.Duration `json:"timeout"`
	Unhealthy int           `json:"unhealthy"` // consecutive failures until ejection
	Healthy   int           `json:"healthy"`   // consecutive passes until return
	Path      string        `json:"path"`
	// AfterAnswer: the next check starts Interval after the answer to the one before, or
	// after its timeout, not Interval after its start.
	AfterAnswer bool `json:"after_answer"`
}

// reach is the longest that n checks in a row take, from just after the start of one.
func (h HealthCheck) reach(n int) time.Duration {
	if h.AfterAnswer {
		return time.Duration(n) * (h.Interval + h.Timeout)
	}
	return time.Duration(n)*h.Interval + h.Timeout
}

// Known reports whether the settings are known.
func (h HealthCheck) Known() bool { return h.Interval > 0 && h.Unhealthy > 0 }

// StateSource names one source of polled target states.
type StateSource struct {
	Name  string        `json:"name"`
	Kind  string        `json:"kind"`
	Every time.Duration `json:"every"` // polling interval; a gap over 3 × Every is blind
}

// AppLog names one application-log source. Target is empty where a label or a
// pattern in the line says which target wrote it.
type AppLog struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"`
	Target string `json:"target"`
}

// Probe is one kind of request that we send ourselves.
type Probe struct {
	Name           string        `json:"name"`
	Class          Class         `json:"class"`
	Every          time.Duration `json:"every"`
	Timeout        time.Duration `json:"timeout"`
	NewConnections bool          `json:"new_connections"` // a new connection per request
}

// TrafficRules decide the class of a request in an access log. Order is always
// probe, health, tool; what no rule claims is a user's.
type TrafficRules struct {
	Probe  []TrafficRule `json:"probe"`
	Health []TrafficRule `json:"health"`
	Tool   []TrafficRule `json:"tool"`
}

// TrafficRule claims a request when all of its keys that are set agree.
type TrafficRule struct {
	UserAgentPrefix string `json:"user_agent_prefix,omitempty"`
	Path            string `json:"path,omitempty"`   // exact, without the query
	Client          string `json:"client,omitempty"` // address or CIDR
}

// Route groups request paths under a name.
type Route struct {
	Name     string `json:"name"`
	Match    string `json:"match"` // RE2 over the path
	Critical bool   `json:"critical"`
}
