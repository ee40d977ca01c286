package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gapless/analysis"
	"gapless/collectors/gauges"
	"gapless/collectors/journey"
)

const defaultWithin = 30 * time.Second

// journeys converts the business transactions that take several requests.
func (c *checker) journeys(path string, files []journeyFile, s *serviceConfig, sources namesSeen) {
	names := namesSeen{}
	for i := range files {
		at := fmt.Sprintf("%s[%d]", path, i)
		file := &files[i]
		c.name(at+".name", file.Name, "journey", names)
		if len(file.Steps) < 2 {
			c.wrong(at+".steps", "%d steps are no journey; allowed: the names of two or more steps, in their order", len(file.Steps))
		}
		steps := namesSeen{}
		for j, step := range file.Steps {
			c.name(fmt.Sprintf("%s.steps[%d]", at, j), step, "step", steps)
		}
		one := analysis.Journey{Name: file.Name, Steps: file.Steps, Within: c.duration(at+".within", file.Within, defaultWithin, 10*time.Millisecond)}
		for j := range file.Records {
			records, place := &file.Records[j], fmt.Sprintf("%s.records[%d]", at, j)
			c.name(place+".name", records.Name, "source", sources)
			c.oneOf(place+".kind", records.Kind, "", fileKinds, nil)
			c.required(place+".path", records.Path, "a file of lines with journey, key, step, at and outcome")
			one.Sources = append(one.Sources, records.Name)
			s.journeyRecords = append(s.journeyRecords, journey.Config{
				Service: s.Name, Source: records.Name, Path: c.path(records.Path), Journey: file.Name, Steps: file.Steps,
				Every: c.duration(place+".every", records.Every, time.Second, 10*time.Millisecond),
			})
		}
		for j, name := range file.AppLogs {
			if !slices.ContainsFunc(s.AppLogs, func(l analysis.AppLog) bool { return l.Name == name }) {
				c.wrong(fmt.Sprintf("%s.app_logs[%d]", at, j), "%q is no application log of this service; allowed: %s", name, strings.Join(appLogNames(s), ", "))
			}
			one.Sources = append(one.Sources, name)
		}
		if len(one.Sources) == 0 {
			c.wrong(at, "nothing tells its steps; allowed: records, or app_logs whose log_rules give the event journey.step, or both")
		}
		s.Journeys = append(s.Journeys, one)
	}
}

func appLogNames(s *serviceConfig) []string {
	names := make([]string, len(s.AppLogs))
	for i := range s.AppLogs {
		names[i] = s.AppLogs[i].Name
	}
	return names
}

// metrics converts the endpoints at which targets tell of themselves.
func (c *checker) metrics(path string, service *serviceFile, s *serviceConfig, sources namesSeen) {
	for i := range service.Metrics {
		at := fmt.Sprintf("%s[%d]", path, i)
		file := &service.Metrics[i]
		c.name(at+".name", file.Name, "source", sources)
		kind := c.oneOf(at+".kind", file.Kind, "", gauges.Kinds, nil)
		if !slices.ContainsFunc(s.Targets, func(t analysis.TargetName) bool { return t.Name == file.Target }) {
			c.wrong(at+".target", "%q is no target of this service; allowed: %s", file.Target, strings.Join(targetNames(service), ", "))
		}
		every := c.duration(at+".every", file.Every, defaultPoll, 100*time.Millisecond)
		source := analysis.MetricsSource{Name: file.Name, Kind: kind, Target: file.Target, Every: every}
		s.Metrics = append(s.Metrics, source)
		if kind == gauges.KindFile {
			c.required(at+".path", file.Path, "a file of lines with at and values")
			c.only(at, kind, "prometheus, actuator", "url", file.URL, "timeout", file.Timeout, "headers_file", file.HeadersFile)
			s.gaugeFiles = append(s.gaugeFiles, gauges.FileConfig{Service: s.Name, Source: file.Name, Path: c.path(file.Path), Target: file.Target, Every: min(every, time.Second)})
			continue
		}
		c.only(at, kind, "file", "path", file.Path)
		for _, role := range slices.Sorted(maps.Keys(file.Read)) {
			c.oneOf(at+".read."+role, role, "", analysis.GaugeRoles, nil)
		}
		cfg := gauges.Config{
			Service: s.Name, Source: file.Name, Kind: kind, Target: file.Target, URL: c.webURL(at+".url", file.URL),
			Headers: c.headers(at, file.Headers, file.HeadersFile), Read: file.Read, Every: every,
			Timeout: c.duration(at+".timeout", file.Timeout, min(every, defaultTimeout), 10*time.Millisecond),
		}
		if kind != "" {
			if _, err := gauges.New(cfg, nil); err != nil {
				c.wrong(at+".read", "%v", err)
			}
		}
		s.gauges = append(s.gauges, cfg)
	}
}

// jobs converts the scheduled jobs that must not run twice within their period.
func (c *checker) jobs(path string, files []jobFile, s *serviceConfig) {
	names := namesSeen{}
	for i, file := range files {
		at := fmt.Sprintf("%s[%d]", path, i)
		c.name(at+".name", file.Name, "job", names)
		c.required(at+".every", file.Every, durationsAllowed)
		s.Jobs = append(s.Jobs, analysis.Job{Name: file.Name, Every: c.duration(at+".every", file.Every, 0, 10*time.Millisecond)})
	}
}

// dependencies converts what the service calls, with the limits that are stated for it.
func (c *checker) dependencies(path string, files []dependencyFile, s *serviceConfig) {
	names := namesSeen{}
	for i, file := range files {
		at := fmt.Sprintf("%s[%d]", path, i)
		c.name(at+".name", file.Name, "dependency", names)
		for _, limit := range []struct {
			key   string
			value int
		}{{"per_second", file.PerSecond}, {"in_flight", file.InFlight}} {
			if limit.value < 0 {
				c.wrong(at+"."+limit.key, "%d is no limit; allowed: 1 or more calls, or nothing where none is stated", limit.value)
			}
		}
		for j, route := range file.Routes {
			if !slices.Contains(requestNames(s), route) {
				c.wrong(fmt.Sprintf("%s.routes[%d]", at, j), "%q is no route and no probe of this service; allowed: %s", route, strings.Join(requestNames(s), ", "))
			}
		}
		s.Dependencies = append(s.Dependencies, analysis.Dependency{Name: file.Name, PerSecond: max(0, file.PerSecond), InFlight: max(0, file.InFlight), Routes: file.Routes})
	}
}

// requestNames are the names under which requests are counted: routes of users, and
// probes.
func requestNames(s *serviceConfig) []string {
	names := []string{}
	for _, route := range s.Routes {
		names = append(names, route.Name)
	}
	for _, probe := range s.Probes {
		names = append(names, probe.Name)
	}
	return append(names, analysis.OtherRoute)
}
