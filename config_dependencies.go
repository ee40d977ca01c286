package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gapless/analysis"
)

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
