package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/goccy/go-yaml"

	"gapless/analysis"
	"gapless/collectors/targethealth"
	"gapless/lab"
)

// liveConfig watches a running lab by the means that it would take for a real
// service: the load balancer's API, its access logs, the nodes' logs, and probes.
func liveConfig(settings lab.Settings) (configFile, error) {
	s := commonConfig(settings)
	for i := range s.LoadBalancers[0].AccessLogs {
		s.LoadBalancers[0].AccessLogs[i].URL = "file://" + filepath.ToSlash(settings.AccessLogDir)
	}
	s.LoadBalancers[0].TargetGroups[0].States = []stateFile{{
		Name: "elbv2", Kind: "elbv2", TargetGroup: settings.TargetGroupARN,
		Region: settings.Region, Endpoint: settings.ELBv2Endpoint, Every: settings.StatesEvery.String(),
	}}
	for _, target := range settings.Targets {
		s.AppLogs = append(s.AppLogs, appLogFile{
			Name: target.Name, Kind: "file", Target: target.Name, Every: "200ms",
			URL: "file://" + filepath.ToSlash(settings.NodeLogs[target.Name]),
		})
	}
	for _, p := range settings.Probes {
		s.Probes = append(s.Probes, probeFile{
			Name: p.Name, Class: string(p.Class), Method: p.Method, URL: p.URL, Every: p.Every.String(), Timeout: p.Timeout.String(),
			Connection: connectionOf(p), Expect: p.Expect, Drain: p.Drain, FromTarget: p.FromTarget,
		})
	}
	s.Metrics = liveMetrics(settings)
	var err error
	if s.Journeys, err = journeys(settings, filepath.Abs); err != nil {
		return configFile{}, fmt.Errorf("find journey records: %w", err)
	}
	return configFile{Services: []serviceFile{s}}, nil
}

// keptConfig reads the same evidence from the files that the demo leaves in dir.
// Sources keep their names, so that a report can be compared with the live one.
func keptConfig(dir string, settings lab.Settings) (configFile, error) {
	s := commonConfig(settings)
	inside := func(path string) (string, error) {
		relative, err := filepath.Rel(dir, path)
		if err != nil {
			return "", fmt.Errorf("find %s from %s: %w", path, dir, err)
		}
		return "file://" + filepath.ToSlash(relative), nil
	}
	logs, err := inside(settings.AccessLogDir)
	if err != nil {
		return configFile{}, err
	}
	for i := range s.LoadBalancers[0].AccessLogs {
		s.LoadBalancers[0].AccessLogs[i].URL = logs
	}
	s.LoadBalancers[0].TargetGroups[0].States = []stateFile{{
		Name: "elbv2", Kind: "file", Path: keptStates, Every: settings.StatesEvery.String(),
	}}
	for _, target := range settings.Targets {
		log := appLogFile{Name: target.Name, Kind: "file", Target: target.Name}
		if log.URL, err = inside(settings.NodeLogs[target.Name]); err != nil {
			return configFile{}, err
		}
		s.AppLogs = append(s.AppLogs, log)
	}
	for _, p := range settings.Probes {
		s.ProbeRecords = append(s.ProbeRecords, recordsFile{
			Name: p.Name, Kind: "file", Path: keptProbe(p.Name), Probe: p.Name, Class: string(p.Class),
			Every: p.Every.String(), Timeout: p.Timeout.String(), Connection: connectionOf(p),
		})
	}
	s.Metrics = keptMetrics(settings)
	if s.Journeys, err = journeys(settings, besides(dir)); err != nil {
		return configFile{}, fmt.Errorf("find journey records from %s: %w", dir, err)
	}
	s.Steps = []stepsFile{{Name: "steps", Kind: "file", Path: keptSteps}}
	return configFile{Services: []serviceFile{s}}, nil
}

// Names of the files that a demo leaves.
const (
	keptConfigName = "gapless.yml"
	keptStates     = "states.ndjson"
	keptSteps      = "steps.ndjson"
	keptTruth      = "truth.ndjson"
)

func keptProbe(name string) string { return "probe-" + name + ".ndjson" }

func connectionOf(p lab.ProbeSettings) string {
	if p.NewConnections {
		return "new"
	}
	return "keep"
}

// commonConfig is what both configurations say of the service.
func commonConfig(settings lab.Settings) serviceFile {
	s := serviceFile{
		Name: settings.Scenario,
		Window: windowFile{
			Baseline: settings.Window.Baseline.String(), Tail: settings.Window.Tail.String(),
			Settle: settings.Window.Settle.String(), Max: settings.Window.Max.String(),
		},
		LoadBalancers: []loadBalancerFile{{
			Name:       "public",
			AccessLogs: []accessLogFile{{Name: "alb", Kind: "alb", Every: "500ms"}, {Name: "alb-health", Kind: "alb-health", Every: "500ms"}},
			TargetGroups: []targetGroupFile{{
				Name: settings.TargetGroup,
				HealthCheck: healthFile{
					Interval: settings.Health.Interval.String(), Timeout: settings.Health.Timeout.String(),
					Unhealthy: settings.Health.Unhealthy, Healthy: settings.Health.Healthy, Path: settings.Health.Path,
				},
			}},
		}},
		RequestID:    requestIDFile{Header: settings.RequestIDHeader, LogMatch: settings.LogMatch, ReceivedMatch: settings.ReceivedMatch},
		LogRules:     append(ruleSets(settings.LogRules), ownRules(settings.OwnRules)...),
		Dependencies: dependencies(settings),
		Traffic: trafficFile{
			Probe: trafficRules(settings.Traffic.Probe), Health: trafficRules(settings.Traffic.Health), Tool: trafficRules(settings.Traffic.Tool),
		},
	}
	for _, job := range settings.Jobs {
		s.Jobs = append(s.Jobs, jobFile{Name: job.Name, Every: job.Every.String()})
	}
	for _, target := range settings.Targets {
		s.Targets = append(s.Targets, targetFile{Name: target.Name, Address: target.Address, Aliases: target.Aliases})
	}
	for _, route := range settings.Routes {
		s.Routes = append(s.Routes, routeFile{Name: route.Name, Match: route.Match, Critical: route.Critical})
	}
	return s
}

func trafficRules(rules []analysis.TrafficRule) []trafficRuleFile {
	var files []trafficRuleFile
	for _, rule := range rules {
		files = append(files, trafficRuleFile{UserAgentPrefix: rule.UserAgentPrefix, Path: rule.Path, Client: rule.Client})
	}
	return files
}

func writeConfig(path string, file configFile) error {
	body, err := yaml.Marshal(file)
	if err != nil {
		return fmt.Errorf("encode the configuration: %w", err)
	}
	if err := os.WriteFile(path, body, 0o600); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	return nil
}

// export leaves everything that an audit of the scenario needs beside the access
// and node logs, which are there already, and the truth to hold it against.
func (d *demo) export(ctx context.Context, dir, id string, settings lab.Settings, truth lab.Truth) error {
	kept, err := keptConfig(dir, settings)
	if err != nil {
		return err
	}
	if err := writeConfig(filepath.Join(dir, keptConfigName), kept); err != nil {
		return err
	}
	deploy, err := d.console.db.Deploy(ctx, id)
	if err != nil {
		return fmt.Errorf("read the deploy: %w", err)
	}
	deploys, err := d.console.db.DeploysIn(ctx, deploy.Service, time.Unix(0, 0), d.console.db.Now())
	if err != nil {
		return err
	}
	// Somewhat more than the window, so that its edges look as they did live.
	from, to := analysis.WindowOf(deploy, settings.Window)
	for _, each := range deploys { // and a deploy that went before, so that its own window does
		if before, _ := analysis.WindowOf(each, settings.Window); before.Before(from) {
			from = before
		}
	}
	o, err := d.console.db.ObservationsBetween(ctx, deploy.Service, from.Add(-settings.Window.Baseline), to.Add(settings.Window.Tail), id)
	if err != nil {
		return fmt.Errorf("read what was collected: %w", err)
	}
	files := map[string]func(*json.Encoder) error{
		keptStates: func(e *json.Encoder) error { return exportStates(e, o.States) },
		keptSteps:  func(e *json.Encoder) error { return exportSteps(e, deploys, o.Steps) },
	}
	for _, p := range settings.Probes {
		files[keptProbe(p.Name)] = func(e *json.Encoder) error { return exportProbe(e, p.Name, o.Probes) }
	}
	for _, m := range settings.Metrics {
		files[keptScrapes(m.Name)] = func(e *json.Encoder) error { return exportScrapes(e, m.Name, o) }
	}
	for name, write := range files {
		err := writeFile(filepath.Join(dir, name), func(w io.Writer) error {
			encoder := json.NewEncoder(w)
			encoder.SetEscapeHTML(false)
			return write(encoder)
		})
		if err != nil {
			return err
		}
	}
	return writeFile(filepath.Join(dir, keptTruth), truth.WriteNDJSON)
}

func exportStates(e *json.Encoder, samples []analysis.StateSample) error {
	slices.SortStableFunc(samples, func(a, b analysis.StateSample) int { return a.At.Compare(b.At) })
	for _, sample := range samples {
		if err := e.Encode(targethealth.RecordOf(sample)); err != nil {
			return err
		}
	}
	return nil
}

func exportProbe(e *json.Encoder, name string, requests []analysis.ProbeRequest) error {
	for _, request := range requests {
		if request.Probe != name {
			continue
		}
		if err := e.Encode(analysis.ProbeRecordOf(request)); err != nil {
			return err
		}
	}
	return nil
}

// exportSteps leaves what was told. What was inferred from the nodes' logs is
// inferred from them again.
func exportSteps(e *json.Encoder, deploys []analysis.Deploy, steps []analysis.Step) error {
	for _, step := range steps {
		at := slices.IndexFunc(deploys, func(d analysis.Deploy) bool { return d.ID == step.Deploy })
		if step.Inferred || at < 0 {
			continue
		}
		deploy := deploys[at]
		var event analysis.StepEvent
		switch step.Kind {
		case analysis.StepDeployStarted:
			event = startedEvent(deploy)
		case analysis.StepDeployReported:
			event = reportedEvent(deploy.Service, deploy.ID, step.At, deploy.Result, step.Source)
		default:
			event = stepEvent(deploy.Service, step)
		}
		if err := e.Encode(event); err != nil {
			return err
		}
	}
	return nil
}

func writeFile(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("make %s: %w", path, err)
	}
	if err := write(file); err != nil {
		_ = file.Close()
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
