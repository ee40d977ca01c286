package evidence

import (
	"gapless/analysis"
)

// serviceRecord is the configuration as far as judging needs it, which has neither
// addresses of sources nor secrets. Types without durations are as in analysis.
type serviceRecord struct {
	Name          string                `json:"name"`
	Window        windowSettings        `json:"window"`
	Targets       []analysis.TargetName `json:"targets"`
	LoadBalancers []loadBalancer        `json:"load_balancers"`
	AppLogs       []analysis.AppLog     `json:"app_logs"`
	Probes        []probeSettings       `json:"probes"`
	Traffic       analysis.TrafficRules `json:"traffic"`
	Routes        []analysis.Route      `json:"routes"`
	Journeys      []journeySettings     `json:"journeys,omitempty"`
	Metrics       []metricsSource       `json:"metrics,omitempty"`
	Jobs          []jobSettings         `json:"jobs,omitempty"`
	Dependencies  []analysis.Dependency `json:"dependencies,omitempty"`
	LogRules      []analysis.LogRule    `json:"log_rules,omitempty"`
	rawBytes
}

type windowSettings struct {
	Baseline float64 `json:"baseline_s"`
	Tail     float64 `json:"tail_s"`
	Settle   float64 `json:"settle_s"`
	Max      float64 `json:"max_s"`
}

type loadBalancer struct {
	Name         string               `json:"name"`
	AccessLogs   []analysis.AccessLog `json:"access_logs"`
	TargetGroups []targetGroup        `json:"target_groups"`
}

type targetGroup struct {
	Name   string        `json:"name"`
	Health healthCheck   `json:"health_check"`
	States []stateSource `json:"states"`
}

type healthCheck struct {
	Interval  float64 `json:"interval_s"`
	Timeout   float64 `json:"timeout_s"`
	Unhealthy int     `json:"unhealthy"`
	Healthy   int     `json:"healthy"`
	Path      string  `json:"path"`

	AfterAnswer bool `json:"after_answer"`
}

type stateSource struct {
	Name  string  `json:"name"`
	Kind  string  `json:"kind"`
	Every float64 `json:"every_s"`
}

type probeSettings struct {
	Name           string         `json:"name"`
	Class          analysis.Class `json:"class"`
	Every          float64        `json:"every_s"`
	Timeout        float64        `json:"timeout_s"`
	NewConnections bool           `json:"new_connections"`
}

type journeySettings struct {
	Name    string   `json:"name"`
	Steps   []string `json:"steps"`
	Within  float64  `json:"within_s"`
	Sources []string `json:"sources"`
}

type metricsSource struct {
	Name   string  `json:"name"`
	Kind   string  `json:"kind"`
	Target string  `json:"target"`
	Every  float64 `json:"every_s"`
}

type jobSettings struct {
	Name  string  `json:"name"`
	Every float64 `json:"every_s"`
}

func serviceOf(s *analysis.Service) (serviceRecord, error) {
	return serviceRecord{
		Name: s.Name,
		Window: windowSettings{
			secondsOf(s.Window.Baseline), secondsOf(s.Window.Tail), secondsOf(s.Window.Settle), secondsOf(s.Window.Max),
		},
		Targets: s.Targets,
		LoadBalancers: each(s.LoadBalancers, func(b analysis.LoadBalancer) loadBalancer {
			return loadBalancer{b.Name, b.AccessLogs, each(b.TargetGroups, func(g analysis.TargetGroup) targetGroup {
				return targetGroup{g.Name, healthOf(g.Health), each(g.States, func(x analysis.StateSource) stateSource {
					return stateSource{x.Name, x.Kind, secondsOf(x.Every)}
				})}
			})}
		}),
		AppLogs: s.AppLogs,
		Probes: each(s.Probes, func(p analysis.Probe) probeSettings {
			return probeSettings{p.Name, p.Class, secondsOf(p.Every), secondsOf(p.Timeout), p.NewConnections}
		}),
		Traffic: s.Traffic, Routes: s.Routes,
		Journeys: each(s.Journeys, func(j analysis.Journey) journeySettings {
			return journeySettings{j.Name, j.Steps, secondsOf(j.Within), j.Sources}
		}),
		Metrics: each(s.Metrics, func(m analysis.MetricsSource) metricsSource {
			return metricsSource{m.Name, m.Kind, m.Target, secondsOf(m.Every)}
		}),
		Jobs:         each(s.Jobs, func(j analysis.Job) jobSettings { return jobSettings{j.Name, secondsOf(j.Every)} }),
		Dependencies: s.Dependencies, LogRules: s.LogRules,
	}, nil
}

func (r serviceRecord) service(*lineReader) (analysis.Service, error) {
	return analysis.Service{
		Name: r.Name,
		Window: analysis.WindowSettings{
			Baseline: fromSeconds(r.Window.Baseline), Tail: fromSeconds(r.Window.Tail),
			Settle: fromSeconds(r.Window.Settle), Max: fromSeconds(r.Window.Max),
		},
		Targets: r.Targets,
		LoadBalancers: each(r.LoadBalancers, func(b loadBalancer) analysis.LoadBalancer {
			return analysis.LoadBalancer{Name: b.Name, AccessLogs: b.AccessLogs, TargetGroups: each(b.TargetGroups, func(g targetGroup) analysis.TargetGroup {
				return analysis.TargetGroup{Name: g.Name, Health: g.Health.settings(), States: each(g.States, func(x stateSource) analysis.StateSource {
					return analysis.StateSource{Name: x.Name, Kind: x.Kind, Every: fromSeconds(x.Every)}
				})}
			})}
		}),
		AppLogs: r.AppLogs,
		Probes: each(r.Probes, func(p probeSettings) analysis.Probe {
			return analysis.Probe{Name: p.Name, Class: p.Class, Every: fromSeconds(p.Every), Timeout: fromSeconds(p.Timeout), NewConnections: p.NewConnections}
		}),
		Traffic: r.Traffic, Routes: r.Routes,
		Journeys: each(r.Journeys, func(j journeySettings) analysis.Journey {
			return analysis.Journey{Name: j.Name, Steps: j.Steps, Within: fromSeconds(j.Within), Sources: j.Sources}
		}),
		Metrics: each(r.Metrics, func(m metricsSource) analysis.MetricsSource {
			return analysis.MetricsSource{Name: m.Name, Kind: m.Kind, Target: m.Target, Every: fromSeconds(m.Every)}
		}),
		Jobs:         each(r.Jobs, func(j jobSettings) analysis.Job { return analysis.Job{Name: j.Name, Every: fromSeconds(j.Every)} }),
		Dependencies: r.Dependencies, LogRules: r.LogRules,
	}, nil
}

func healthOf(h analysis.HealthCheck) healthCheck {
	return healthCheck{secondsOf(h.Interval), secondsOf(h.Timeout), h.Unhealthy, h.Healthy, h.Path, h.AfterAnswer}
}

func (h healthCheck) settings() analysis.HealthCheck {
	return analysis.HealthCheck{
		Interval: fromSeconds(h.Interval), Timeout: fromSeconds(h.Timeout), Unhealthy: h.Unhealthy, Healthy: h.Healthy, Path: h.Path, AfterAnswer: h.AfterAnswer,
	}
}

type groupRecord struct {
	LoadBalancer        string      `json:"load_balancer"`
	TargetGroup         string      `json:"target_group"`
	ARN                 string      `json:"arn"`
	At                  moment      `json:"at"`
	Health              healthCheck `json:"health_check"`
	DeregistrationDelay float64     `json:"deregistration_delay_s"`
	rawBytes
}

func groupOf(g *analysis.GroupSettings) (groupRecord, error) {
	return groupRecord{
		LoadBalancer: g.LoadBalancer, TargetGroup: g.TargetGroup, ARN: g.ARN, At: moment{g.At},
		Health: healthOf(g.Health), DeregistrationDelay: secondsOf(g.DeregistrationDelay),
	}, nil
}

func (r groupRecord) group(*lineReader) (analysis.GroupSettings, error) {
	return analysis.GroupSettings{
		LoadBalancer: r.LoadBalancer, TargetGroup: r.TargetGroup, ARN: r.ARN, At: r.At.Time,
		Health: r.Health.settings(), DeregistrationDelay: fromSeconds(r.DeregistrationDelay),
	}, nil
}

// each keeps nil apart from empty.
func each[A, B any](all []A, do func(A) B) []B {
	if all == nil {
		return nil
	}
	made := make([]B, len(all))
	for i := range all {
		made[i] = do(all[i])
	}
	return made
}
