package main

import (
	"bufio"
	"cmp"
	"fmt"
	"net/http"
	"net/textproto"
	"os"
	"slices"
	"strings"
	"time"

	"gapless/analysis"
	"gapless/collectors/accesslog"
	"gapless/collectors/probe"
	"gapless/collectors/steps"
	"gapless/collectors/targethealth"
)

// accessLog converts one access-log entry. Its name and kind are returned even
// where something else about it is wrong.
func (c *checker) accessLog(path string, file *accessLogFile, s *serviceConfig, sources namesSeen) analysis.AccessLog {
	c.name(path+".name", file.Name, "source", sources)
	kind := c.oneOf(path+".kind", file.Kind, "", accessLogKinds, accessLogKindsReserved)
	if kind != accesslog.KindNginx {
		c.only(path, kind, accesslog.KindNginx, "format", file.Format)
	} else if err := accesslog.CheckFormat(file.Format); err != nil {
		c.wrong(path+".format", "%v; allowed: combined, main, or the text of a log_format", err)
	}
	proxy := accesslog.Follows(kind)
	if !proxy {
		c.only(path, kind, "nginx, nginx-json, haproxy", "zone", file.Zone)
	} else {
		c.only(path, kind, "alb", "region", file.Region, "profile", file.Profile, "role", file.Role, "endpoint", file.Endpoint)
	}
	c.match(path+".match", kind, file)
	s.accessLogs = append(s.accessLogs, accesslog.Config{
		Service: s.Name, Source: file.Name, Kind: kind, URL: c.location(path+".url", file.URL, !proxy),
		Format: file.Format, Zone: c.zone(path+".zone", file.Zone),
		Region: file.Region, Profile: file.Profile, Role: file.Role, Endpoint: c.endpoint(path+".endpoint", file.Endpoint),
		Every: c.duration(path+".every", file.Every, logEvery(proxy), 100*time.Millisecond), Settle: s.Window.Settle,
		Match: accesslog.Match{LoadBalancer: file.Match.LoadBalancer, TargetGroup: file.Match.TargetGroup, Host: file.Match.Host},
	})
	return analysis.AccessLog{Name: file.Name, Kind: kind, Metrics: c.cloudWatch(path+".cloudwatch", file, kind, s, sources)}
}

// match checks that the log tells what its rows are matched by: else none would be.
func (c *checker) match(path, kind string, file *accessLogFile) {
	switch kind {
	case accesslog.KindNginx, accesslog.KindNginxJSON:
		c.only(path, kind, "alb, alb-health, alb-conn, haproxy", "load_balancer", file.Match.LoadBalancer)
	}
	switch kind {
	case accesslog.KindNginx, accesslog.KindNginxJSON, accesslog.KindALBConnections:
		c.only(path, kind, "alb, alb-health, haproxy", "target_group", file.Match.TargetGroup)
	}
	switch kind {
	case accesslog.KindALBConnections, accesslog.KindALBHealth, accesslog.KindHAProxy: // HAProxy has it in some requests alone
		c.only(path, kind, "alb, nginx, nginx-json", "host", file.Match.Host)
	case accesslog.KindNginx:
		if file.Match.Host != "" && !accesslog.FormatHasHost(file.Format) {
			c.wrong(path+".host", "%q means nothing for a format without $host and $http_host; allowed for kind nginx: with a log_format that has one", file.Match.Host)
		}
	}
}

// logEvery is how often a log is looked at: a file on this machine more often than
// a bucket, to which objects come every five minutes.
func logEvery(file bool) time.Duration {
	if file {
		return defaultFollowEvery
	}
	return defaultLogEvery
}

func (c *checker) targetGroup(path, balancer string, file *targetGroupFile, s *serviceConfig, sources namesSeen) analysis.TargetGroup {
	group := analysis.TargetGroup{Name: file.Name, Health: c.health(path+".health_check", &file.HealthCheck)}
	for i := range file.States {
		at := fmt.Sprintf("%s.states[%d]", path, i)
		state := &file.States[i]
		c.name(at+".name", state.Name, "source", sources)
		kind := c.oneOf(at+".kind", state.Kind, "", stateKinds, stateKindsReserved)
		every := c.duration(at+".every", state.Every, defaultPoll, 100*time.Millisecond)
		source := targethealth.Config{Service: s.Name, Source: state.Name, Kind: kind, LoadBalancer: balancer, TargetGroup: file.Name, Every: every}
		switch kind {
		case "elbv2":
			c.required(at+".target_group", state.TargetGroup, "the target group's ARN")
			c.only(at, kind, "file", "path", state.Path)
			source.ARN, source.Region, source.Profile, source.Role = state.TargetGroup, state.Region, state.Profile, state.Role
			source.Endpoint = c.endpoint(at+".endpoint", state.Endpoint)
		case "file":
			c.required(at+".path", state.Path, "a file of lines with at, target and state")
			c.only(at, kind, "elbv2", "target_group", state.TargetGroup, "region", state.Region, "endpoint", state.Endpoint)
			source.Path = c.path(state.Path)
		}
		s.states = append(s.states, source)
		group.States = append(group.States, analysis.StateSource{Name: state.Name, Kind: kind, Every: every})
	}
	return group
}

// health reads the settings of a health check; none at all means that the load
// balancer is asked.
func (c *checker) health(path string, file *healthFile) analysis.HealthCheck {
	if *file == (healthFile{}) {
		return analysis.HealthCheck{}
	}
	c.required(path+".interval", file.Interval, durationsAllowed)
	check := analysis.HealthCheck{
		Interval: c.duration(path+".interval", file.Interval, 0, time.Millisecond),
		Timeout:  c.duration(path+".timeout", file.Timeout, 0, time.Millisecond),
		Path:     file.Path, Unhealthy: file.Unhealthy, Healthy: file.Healthy, AfterAnswer: file.AfterAnswer,
	}
	for _, count := range []struct {
		key   string
		value int
	}{{"unhealthy", file.Unhealthy}, {"healthy", file.Healthy}} {
		if count.value < 1 {
			c.wrong(path+"."+count.key, "%d is no threshold; allowed: 1 or more checks in a row", count.value)
		}
	}
	return check
}

func (c *checker) probes(path string, files []probeFile, s *serviceConfig, sources namesSeen) {
	for i := range files {
		at := fmt.Sprintf("%s[%d]", path, i)
		file := &files[i]
		c.name(at+".name", file.Name, "source", sources)
		if analysis.Vantage(file.Name) != "" {
			c.wrong(at+".name", "%q has an @; allowed: a name without, since what stands behind it is the place that gapless probe was started at", file.Name)
		}
		before := len(c.problems)
		class := analysis.Class(c.oneOf(at+".class", file.Class, "probe", classes[1:3], nil))
		connection := c.oneOf(at+".connection", file.Connection, "new", []string{"new", "keep"}, nil)
		cfg := probe.Config{
			Service: s.Name, Source: file.Name, Class: class, URL: c.webURL(at+".url", file.URL), Method: file.Method,
			Headers: c.headers(at, file.Headers, file.HeadersFile), Body: file.Body, RequestIDHeader: s.requestIDHeader,
			Every:     c.duration(at+".every", file.Every, defaultProbe, 10*time.Millisecond),
			Timeout:   c.duration(at+".timeout", file.Timeout, defaultTimeout, 10*time.Millisecond),
			KeepAlive: connection == "keep", Expect: file.Expect, Classify: file.Classify.byOutcome(), Drain: file.Drain,
			FromTarget: file.FromTarget, Target: file.Target, StopWhen: file.StopWhen, Version: version(),
		}
		if len(c.problems) == before {
			if _, err := probe.New(cfg, nil); err != nil {
				c.wrong(at, "%v", err)
			}
		}
		s.probes = append(s.probes, cfg)
		s.Probes = append(s.Probes, analysis.Probe{
			Name: file.Name, Class: class, Every: cfg.Every, Timeout: cfg.Timeout, NewConnections: !cfg.KeepAlive,
		})
	}
}

func (f classifyFile) byOutcome() map[string]string {
	classify := map[string]string{}
	if f.Rejected != "" {
		classify["rejected"] = f.Rejected
	}
	if f.Unknown != "" {
		classify["unknown"] = f.Unknown
	}
	return classify
}

// headers are those of the entry and, over them, those of its headers_file, which
// is where secrets belong.
func (c *checker) headers(path string, inline map[string]string, fromFile string) map[string]string {
	headers := map[string]string{}
	for name, value := range inline {
		headers[http.CanonicalHeaderKey(name)] = value
	}
	if fromFile == "" {
		return headers
	}
	const allowed = "a file of lines \"Name: value\""
	body, err := os.Open(c.path(fromFile))
	if err != nil {
		c.wrong(path+".headers_file", "%q cannot be read: %v; allowed: %s", fromFile, err, allowed)
		return headers
	}
	defer body.Close()
	lines := bufio.NewScanner(body)
	for number := 1; lines.Scan(); number++ {
		line := textproto.TrimString(lines.Text())
		if line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || name == "" {
			c.wrong(path+".headers_file", "%q: line %d has no colon; allowed: %s", fromFile, number, allowed)
			continue
		}
		headers[http.CanonicalHeaderKey(name)] = textproto.TrimString(value)
	}
	if err := lines.Err(); err != nil {
		c.wrong(path+".headers_file", "%q cannot be read: %v; allowed: %s", fromFile, err, allowed)
	}
	return headers
}

// probeRecords converts files of another prober's records. What such a file says
// of a probe that is configured too is not said twice to the judge.
func (c *checker) probeRecords(path string, files []recordsFile, s *serviceConfig, sources namesSeen) {
	for i := range files {
		at := fmt.Sprintf("%s[%d]", path, i)
		file := &files[i]
		c.name(at+".name", file.Name, "source", sources)
		c.oneOf(at+".kind", file.Kind, "", fileKinds, nil)
		c.required(at+".path", file.Path, "a file of lines with id, sent, done, status and outcome")
		class := analysis.Class(c.oneOf(at+".class", file.Class, "probe", classes[1:3], nil))
		connection := c.oneOf(at+".connection", file.Connection, "new", []string{"new", "keep"}, nil)
		source := probe.FileConfig{
			Service: s.Name, Source: file.Name, Path: c.path(file.Path), Probe: cmp.Or(file.Probe, file.Name), Class: class,
			Every: c.duration(at+".every", file.Every, defaultProbe, 10*time.Millisecond),
		}
		s.records = append(s.records, source)
		if !slices.ContainsFunc(s.Probes, func(p analysis.Probe) bool { return p.Name == source.Probe }) {
			s.Probes = append(s.Probes, analysis.Probe{
				Name: source.Probe, Class: class, Every: source.Every,
				Timeout: c.duration(at+".timeout", file.Timeout, defaultTimeout, 10*time.Millisecond), NewConnections: connection == "new",
			})
		}
	}
}

func (c *checker) steps(path string, files []stepsFile, s *serviceConfig, sources namesSeen) {
	for i := range files {
		at := fmt.Sprintf("%s[%d]", path, i)
		file := &files[i]
		c.name(at+".name", file.Name, "source", sources)
		c.oneOf(at+".kind", file.Kind, "", fileKinds, nil)
		c.required(at+".path", file.Path, "a file of lines with deploy, service, kind and at")
		s.steps = append(s.steps, steps.Config{
			Service: s.Name, Source: file.Name, Path: c.path(file.Path),
			Every: c.duration(at+".every", file.Every, time.Second, 10*time.Millisecond),
		})
	}
}

// endpoint checks an optional override of an AWS endpoint.
func (c *checker) endpoint(path, value string) string {
	if value == "" {
		return ""
	}
	return c.webURL(path, value)
}

// only complains about keys that belong to other kinds than the entry's own. keys
// are pairs of name and value.
func (c *checker) only(path, kind, wanted string, keys ...string) {
	for i := 0; i < len(keys); i += 2 {
		if keys[i+1] != "" && kind != "" {
			c.wrong(path+"."+keys[i], "%q means nothing for kind %s; allowed for: %s", keys[i+1], kind, wanted)
		}
	}
}
