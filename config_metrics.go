package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gapless/analysis"
	"gapless/collectors/gauges"
)

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
