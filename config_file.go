package main

// The shapes of gapless.yml, as CONTRACT fixes them. Durations, kinds and zones are
// read as text here and checked in config_check.go, so that every complaint can name
// the line, the value and what is allowed. The demo writes its configurations from
// the same shapes.

type configFile struct {
	Listen       string        `yaml:"listen,omitempty"`
	Hosts        []string      `yaml:"hosts,omitempty"`
	DB           string        `yaml:"db,omitempty"`
	TimeZone     string        `yaml:"time_zone,omitempty"`
	Retention    string        `yaml:"retention,omitempty"`
	TokenFile    string        `yaml:"token_file,omitempty"`
	PasswordFile string        `yaml:"password_file,omitempty"`
	Publish      publishFile   `yaml:"publish,omitempty"`
	Services     []serviceFile `yaml:"services,omitempty"`
}

// publishFile says who is told of deploys and verdicts.
type publishFile struct {
	Loki *publishLokiFile `yaml:"loki,omitempty"`
}

type publishLokiFile struct {
	URL          string            `yaml:"url,omitempty"`
	Tenant       string            `yaml:"tenant,omitempty"`
	User         string            `yaml:"user,omitempty"`
	PasswordFile string            `yaml:"password_file,omitempty"`
	TokenFile    string            `yaml:"token_file,omitempty"`
	Labels       map[string]string `yaml:"labels,omitempty"`
}

type serviceFile struct {
	Name          string             `yaml:"name,omitempty"`
	Window        windowFile         `yaml:"window,omitempty"`
	Targets       []targetFile       `yaml:"targets,omitempty"`
	LoadBalancers []loadBalancerFile `yaml:"load_balancers,omitempty"`
	AppLogs       []appLogFile       `yaml:"app_logs,omitempty"`
	RequestID     requestIDFile      `yaml:"request_id,omitempty"`
	LogRules      []logRuleFile      `yaml:"log_rules,omitempty"`
	Traffic       trafficFile        `yaml:"traffic,omitempty"`
	Routes        []routeFile        `yaml:"routes,omitempty"`
	Probes        []probeFile        `yaml:"probes,omitempty"`
	ProbeRecords  []recordsFile      `yaml:"probe_records,omitempty"`
	Steps         []stepsFile        `yaml:"steps,omitempty"`
	Journeys      []journeyFile      `yaml:"journeys,omitempty"`
	Metrics       []metricsFile      `yaml:"metrics,omitempty"`
	Jobs          []jobFile          `yaml:"jobs,omitempty"`
	Dependencies  []dependencyFile   `yaml:"dependencies,omitempty"`
}

type windowFile struct {
	Baseline string `yaml:"baseline,omitempty"`
	Tail     string `yaml:"tail,omitempty"`
	Settle   string `yaml:"settle,omitempty"`
	Max      string `yaml:"max,omitempty"`
}

type targetFile struct {
	Name    string   `yaml:"name,omitempty"`
	Address string   `yaml:"address,omitempty"`
	Aliases []string `yaml:"aliases,omitempty"`
}

type loadBalancerFile struct {
	Name         string            `yaml:"name,omitempty"`
	AccessLogs   []accessLogFile   `yaml:"access_logs,omitempty"`
	TargetGroups []targetGroupFile `yaml:"target_groups,omitempty"`
}

type accessLogFile struct {
	Name     string    `yaml:"name,omitempty"`
	Kind     string    `yaml:"kind,omitempty"`
	URL      string    `yaml:"url,omitempty"`
	Region   string    `yaml:"region,omitempty"`
	Profile  string    `yaml:"profile,omitempty"`
	Role     string    `yaml:"role,omitempty"`
	Endpoint string    `yaml:"endpoint,omitempty"`
	Format   string    `yaml:"format,omitempty"`
	Zone     string    `yaml:"zone,omitempty"`
	Counts   *bool     `yaml:"counts,omitempty"`
	Every    string    `yaml:"every,omitempty"`
	Match    matchFile `yaml:"match,omitempty"`

	CloudWatch *cloudWatchFile `yaml:"cloudwatch,omitempty"`
}

// cloudWatchFile asks for the load balancer's own counts beside its log.
type cloudWatchFile struct {
	Name         string `yaml:"name,omitempty"`
	LoadBalancer string `yaml:"load_balancer,omitempty"`
	TargetGroup  string `yaml:"target_group,omitempty"`
	Region       string `yaml:"region,omitempty"`
	Profile      string `yaml:"profile,omitempty"`
	Role         string `yaml:"role,omitempty"`
	Endpoint     string `yaml:"endpoint,omitempty"`
	Every        string `yaml:"every,omitempty"`
}

type matchFile struct {
	LoadBalancer string `yaml:"load_balancer,omitempty"`
	TargetGroup  string `yaml:"target_group,omitempty"`
	Host         string `yaml:"host,omitempty"`
}

type targetGroupFile struct {
	Name        string      `yaml:"name,omitempty"`
	HealthCheck healthFile  `yaml:"health_check,omitempty"`
	States      []stateFile `yaml:"states,omitempty"`
}

type healthFile struct {
	Interval  string `yaml:"interval,omitempty"`
	Timeout   string `yaml:"timeout,omitempty"`
	Unhealthy int    `yaml:"unhealthy,omitempty"`
	Healthy   int    `yaml:"healthy,omitempty"`
	Path      string `yaml:"path,omitempty"`

	AfterAnswer bool `yaml:"after_answer,omitempty"`
}

type stateFile struct {
	Name        string `yaml:"name,omitempty"`
	Kind        string `yaml:"kind,omitempty"`
	TargetGroup string `yaml:"target_group,omitempty"`
	Region      string `yaml:"region,omitempty"`
	Profile     string `yaml:"profile,omitempty"`
	Role        string `yaml:"role,omitempty"`
	Endpoint    string `yaml:"endpoint,omitempty"`
	Path        string `yaml:"path,omitempty"`
	Every       string `yaml:"every,omitempty"`
}

type appLogFile struct {
	Name         string `yaml:"name,omitempty"`
	Kind         string `yaml:"kind,omitempty"`
	URL          string `yaml:"url,omitempty"`
	Query        string `yaml:"query,omitempty"`
	TargetLabel  string `yaml:"target_label,omitempty"`
	Tenant       string `yaml:"tenant,omitempty"`
	User         string `yaml:"user,omitempty"`
	PasswordFile string `yaml:"password_file,omitempty"`
	TokenFile    string `yaml:"token_file,omitempty"`
	Delay        string `yaml:"delay,omitempty"`
	Late         string `yaml:"late,omitempty"`
	Limit        int    `yaml:"limit,omitempty"`
	Target       string `yaml:"target,omitempty"`
	TargetMatch  string `yaml:"target_match,omitempty"`
	Unit         string `yaml:"unit,omitempty"`
	Zone         string `yaml:"zone,omitempty"`
	TimeFormat   string `yaml:"time_format,omitempty"`
	TimeMatch    string `yaml:"time_match,omitempty"`
	Objects      bool   `yaml:"objects,omitempty"`
	Every        string `yaml:"every,omitempty"`
}

type requestIDFile struct {
	Header        string `yaml:"header,omitempty"`
	LogMatch      string `yaml:"log_match,omitempty"`
	ReceivedMatch string `yaml:"received_match,omitempty"`
}

type trafficFile struct {
	Probe  []trafficRuleFile `yaml:"probe,omitempty"`
	Health []trafficRuleFile `yaml:"health,omitempty"`
	Tool   []trafficRuleFile `yaml:"tool,omitempty"`
}

type trafficRuleFile struct {
	UserAgentPrefix string `yaml:"user_agent_prefix,omitempty"`
	Path            string `yaml:"path,omitempty"`
	Client          string `yaml:"client,omitempty"`
}

type routeFile struct {
	Name     string `yaml:"name,omitempty"`
	Match    string `yaml:"match,omitempty"`
	Critical bool   `yaml:"critical,omitempty"`
}

type probeFile struct {
	Name        string            `yaml:"name,omitempty"`
	Class       string            `yaml:"class,omitempty"`
	URL         string            `yaml:"url,omitempty"`
	Method      string            `yaml:"method,omitempty"`
	Headers     map[string]string `yaml:"headers,omitempty"`
	HeadersFile string            `yaml:"headers_file,omitempty"`
	Body        string            `yaml:"body,omitempty"`
	Every       string            `yaml:"every,omitempty"`
	Timeout     string            `yaml:"timeout,omitempty"`
	Connection  string            `yaml:"connection,omitempty"`
	Expect      string            `yaml:"expect,omitempty"`
	Classify    classifyFile      `yaml:"classify,omitempty"`
	Drain       string            `yaml:"drain,omitempty"`
	FromTarget  string            `yaml:"from_target,omitempty"`
	Target      string            `yaml:"target,omitempty"`
	StopWhen    string            `yaml:"stop_when,omitempty"`
}

type classifyFile struct {
	Rejected string `yaml:"rejected,omitempty"`
	Unknown  string `yaml:"unknown,omitempty"`
}

type recordsFile struct {
	Name       string `yaml:"name,omitempty"`
	Kind       string `yaml:"kind,omitempty"`
	Path       string `yaml:"path,omitempty"`
	Probe      string `yaml:"probe,omitempty"`
	Class      string `yaml:"class,omitempty"`
	Every      string `yaml:"every,omitempty"`
	Timeout    string `yaml:"timeout,omitempty"`
	Connection string `yaml:"connection,omitempty"`
}

type stepsFile struct {
	Name  string `yaml:"name,omitempty"`
	Kind  string `yaml:"kind,omitempty"`
	Path  string `yaml:"path,omitempty"`
	Every string `yaml:"every,omitempty"`
}

type journeyFile struct {
	Name    string               `yaml:"name,omitempty"`
	Steps   []string             `yaml:"steps,omitempty"`
	Within  string               `yaml:"within,omitempty"`
	Records []journeyRecordsFile `yaml:"records,omitempty"`
	AppLogs []string             `yaml:"app_logs,omitempty"`
}

type journeyRecordsFile struct {
	Name  string `yaml:"name,omitempty"`
	Kind  string `yaml:"kind,omitempty"`
	Path  string `yaml:"path,omitempty"`
	Every string `yaml:"every,omitempty"`
}

type metricsFile struct {
	Name        string            `yaml:"name,omitempty"`
	Kind        string            `yaml:"kind,omitempty"`
	URL         string            `yaml:"url,omitempty"`
	Path        string            `yaml:"path,omitempty"`
	Target      string            `yaml:"target,omitempty"`
	Every       string            `yaml:"every,omitempty"`
	Timeout     string            `yaml:"timeout,omitempty"`
	Headers     map[string]string `yaml:"headers,omitempty"`
	HeadersFile string            `yaml:"headers_file,omitempty"`
	Read        map[string]string `yaml:"read,omitempty"`
}

type jobFile struct {
	Name  string `yaml:"name,omitempty"`
	Every string `yaml:"every,omitempty"`
}

type dependencyFile struct {
	Name      string   `yaml:"name,omitempty"`
	PerSecond int      `yaml:"per_second,omitempty"`
	InFlight  int      `yaml:"in_flight,omitempty"`
	Routes    []string `yaml:"routes,omitempty"`
}
