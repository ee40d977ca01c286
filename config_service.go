package main

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"

	"gapless/analysis"
	"gapless/collectors/accesslog"
	"gapless/collectors/applog"
	"gapless/collectors/loki"
)

// Kinds that this version reads, and kinds whose names are kept for later ones.
var (
	accessLogKinds         = accesslog.Formats
	accessLogKindsReserved = []string{"counts"}
	stateKinds             = []string{"elbv2", "file"}
	stateKindsReserved     = []string{"ncp", "haproxy"}
	appLogKinds            = append(slices.Clone(applog.Kinds), loki.Kind)
	fileKinds              = []string{"file"}
	classes                = []string{"user", "probe", "health", "tool"}
)

// withoutRequests are access logs whose lines are no requests, so that they cannot
// count users.
var withoutRequests = map[string]bool{"alb-health": true, "alb-conn": true}

func (c *checker) config(file *configFile) *config {
	checked := noConfig(c.env)
	if file.Listen != "" {
		checked.listen = file.Listen
		if _, _, err := net.SplitHostPort(file.Listen); err != nil {
			c.wrong("listen", "%q is not an address; allowed: host:port, such as 127.0.0.1:8080", file.Listen)
		}
	}
	for i, host := range file.Hosts {
		if host == "" || strings.ContainsAny(host, "/: ") {
			c.wrong(fmt.Sprintf("hosts[%d]", i), "%q is not a host; allowed: a name such as gapless.example.com, without scheme and port", host)
		}
	}
	checked.hosts = file.Hosts
	checked.db = defaultDB
	if file.DB != "" {
		checked.db = file.DB
	}
	checked.db = c.path(checked.db)
	checked.zone = c.timeZone("time_zone", file.TimeZone)
	checked.retention = c.duration("retention", file.Retention, defaultRetention, time.Hour)
	checked.token = c.secret("token_file", file.TokenFile, "GAPLESS_TOKEN")
	checked.password = c.secret("password_file", file.PasswordFile, "GAPLESS_PASSWORD")
	checked.publish = c.publishLoki("publish.loki", file.Publish.Loki)
	names := namesSeen{}
	for i := range file.Services {
		path := fmt.Sprintf("services[%d]", i)
		c.name(path+".name", file.Services[i].Name, "service", names)
		service := c.service(path, &file.Services[i])
		for j := range service.accessLogs {
			service.accessLogs[j].Late = lateReach(checked.retention)
		}
		checked.services = append(checked.services, service)
	}
	return checked
}

// lateReach is how late a log object is still looked for: not when what it belongs to
// is forgotten, or it would be read and forgotten again and again.
func lateReach(retention time.Duration) time.Duration {
	return min(accesslog.UsualLate, max(retention-pruneEvery, time.Second))
}

func (c *checker) service(path string, file *serviceFile) serviceConfig {
	var s serviceConfig
	s.Name = file.Name
	s.Window = c.window(path+".window", &file.Window)
	s.Targets = c.targets(path+".targets", file.Targets)
	s.Traffic = c.traffic(path+".traffic", &file.Traffic)
	s.Routes = c.routes(path+".routes", file.Routes)
	if _, err := analysis.NewClassifier(s.Service); err != nil {
		c.wrong(path+".traffic", "%v; allowed in a rule: user_agent_prefix, path, client (an address or a CIDR)", err)
	}
	sources := namesSeen{}
	c.loadBalancers(path+".load_balancers", file.LoadBalancers, &s, sources)
	c.appLogs(path, file, &s, sources)
	c.probes(path+".probes", file.Probes, &s, sources)
	c.probeRecords(path+".probe_records", file.ProbeRecords, &s, sources)
	c.steps(path+".steps", file.Steps, &s, sources)
	c.journeys(path+".journeys", file.Journeys, &s, sources)
	c.metrics(path+".metrics", file, &s, sources)
	c.jobs(path+".jobs", file.Jobs, &s)
	c.dependencies(path+".dependencies", file.Dependencies, &s)
	return s
}

func (c *checker) window(path string, file *windowFile) analysis.WindowSettings {
	return analysis.WindowSettings{
		Baseline: c.duration(path+".baseline", file.Baseline, defaultBaseline, 0),
		Tail:     c.duration(path+".tail", file.Tail, defaultTail, 0),
		Settle:   c.duration(path+".settle", file.Settle, defaultSettle, 0),
		Max:      c.duration(path+".max", file.Max, defaultMax, time.Second),
	}
}

func (c *checker) targets(path string, files []targetFile) []analysis.TargetName {
	targets := []analysis.TargetName{}
	names, addresses := namesSeen{}, namesSeen{}
	for i, file := range files {
		at := fmt.Sprintf("%s[%d]", path, i)
		c.name(at+".name", file.Name, "target", names)
		if _, _, err := net.SplitHostPort(file.Address); err != nil {
			c.wrong(at+".address", "%q is not an address; allowed: ip:port, such as \"10.0.1.11:8080\"", file.Address)
		} else {
			c.name(at+".address", file.Address, "address", addresses)
		}
		targets = append(targets, analysis.TargetName{Name: file.Name, Address: file.Address, Aliases: file.Aliases})
	}
	return targets
}

// traffic fills in the rules that recognise our own probes and ELB's health checks
// for each class that the file says nothing about.
func (c *checker) traffic(path string, file *trafficFile) analysis.TrafficRules {
	rules := func(name string, files []trafficRuleFile, otherwise ...analysis.TrafficRule) []analysis.TrafficRule {
		if files == nil {
			return otherwise
		}
		converted := []analysis.TrafficRule{}
		for i, each := range files {
			rule := analysis.TrafficRule{UserAgentPrefix: each.UserAgentPrefix, Path: each.Path, Client: each.Client}
			if rule.Path != "" && (!strings.HasPrefix(rule.Path, "/") || strings.Contains(rule.Path, "?")) {
				c.wrong(fmt.Sprintf("%s.%s[%d].path", path, name, i), "%q is not a path; allowed: an exact path without its query, such as /actuator/health", rule.Path)
			}
			converted = append(converted, rule)
		}
		return converted
	}
	return analysis.TrafficRules{
		Probe:  rules("probe", file.Probe, analysis.TrafficRule{UserAgentPrefix: "gapless-probe/"}),
		Health: rules("health", file.Health, analysis.TrafficRule{UserAgentPrefix: "gapless-health/"}, analysis.TrafficRule{UserAgentPrefix: "ELB-HealthChecker/"}),
		Tool:   rules("tool", file.Tool),
	}
}

func (c *checker) routes(path string, files []routeFile) []analysis.Route {
	routes := []analysis.Route{}
	names := namesSeen{}
	for i, file := range files {
		at := fmt.Sprintf("%s[%d]", path, i)
		c.name(at+".name", file.Name, "route", names)
		if c.regexp(at+".match", file.Match) != nil {
			routes = append(routes, analysis.Route{Name: file.Name, Match: file.Match, Critical: file.Critical})
		}
	}
	return routes
}

func (c *checker) loadBalancers(path string, files []loadBalancerFile, s *serviceConfig, sources namesSeen) {
	names, groups := namesSeen{}, namesSeen{}
	for i := range files {
		at := fmt.Sprintf("%s[%d]", path, i)
		file := &files[i]
		c.name(at+".name", file.Name, "load balancer", names)
		balancer := analysis.LoadBalancer{Name: file.Name}
		counting := c.counting(at, file.AccessLogs)
		for j := range file.AccessLogs {
			logAt := fmt.Sprintf("%s.access_logs[%d]", at, j)
			log := c.accessLog(logAt, &file.AccessLogs[j], s, sources)
			balancer.AccessLogs = append(balancer.AccessLogs, analysis.AccessLog{Name: log.Name, Kind: log.Kind, Counts: j == counting, Metrics: log.Metrics})
		}
		for j := range file.TargetGroups {
			groupAt := fmt.Sprintf("%s.target_groups[%d]", at, j)
			c.name(groupAt+".name", file.TargetGroups[j].Name, "target group", groups)
			balancer.TargetGroups = append(balancer.TargetGroups, c.targetGroup(groupAt, balancer.Name, &file.TargetGroups[j], s, sources))
		}
		s.LoadBalancers = append(s.LoadBalancers, balancer)
	}
}

// counting is the index of the one access log that counts users: the one that says
// so, else the first that does not say no. -1 where there is none.
func (c *checker) counting(path string, files []accessLogFile) int {
	chosen, first := -1, -1
	for j, file := range files {
		switch {
		case withoutRequests[file.Kind]:
			if file.Counts != nil && *file.Counts {
				c.wrong(fmt.Sprintf("%s.access_logs[%d].counts", path, j), "true, but %s has no requests to count; allowed: an entry of another kind", file.Kind)
			}
		case file.Counts == nil && first < 0:
			first = j
		case file.Counts != nil && *file.Counts && chosen < 0:
			chosen = j
		case file.Counts != nil && *file.Counts:
			c.wrong(fmt.Sprintf("%s.access_logs[%d].counts", path, j), "true, but %s counts users already; allowed: one entry of a load balancer", files[chosen].Name)
		}
	}
	if chosen < 0 {
		chosen = first
	}
	if chosen < 0 && slices.ContainsFunc(files, func(f accessLogFile) bool { return !withoutRequests[f.Kind] }) {
		c.wrong(path+".access_logs", "no entry counts users; allowed: counts: true on one entry of a load balancer")
	}
	return chosen
}

func (c *checker) zone(path, value string) *time.Location {
	if value == "" {
		return nil
	}
	return c.timeZone(path, value)
}

func (c *checker) timeZone(path, value string) *time.Location {
	if value == "" {
		return time.UTC
	}
	zone, err := time.LoadLocation(value)
	if err != nil || value == "Local" {
		c.wrong(path, "%q is not a time zone; allowed: a name of the IANA database, such as Asia/Seoul or UTC", value)
		return time.UTC
	}
	return zone
}

func (c *checker) regexp(path, value string) *regexp.Regexp {
	if value == "" {
		c.wrong(path, "missing; allowed: a regular expression in RE2's syntax")
		return nil
	}
	compiled, err := regexp.Compile(value)
	if err != nil {
		c.wrong(path, "%q: %v; allowed: a regular expression in RE2's syntax", value, err)
		return nil
	}
	return compiled
}

// namesSeen remembers which names are taken.
type namesSeen map[string]bool

// name checks that something is named, and that its name is free among its like.
func (c *checker) name(path, value, what string, seen namesSeen) {
	switch {
	case value == "":
		c.wrong(path, "missing; allowed: a name that no other %s here has", what)
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }):
		c.wrong(path, "%q has control characters; allowed: printable text", value)
	case seen[value]:
		c.wrong(path, "%q is used twice; allowed: a name that no other %s here has", value, what)
	}
	seen[value] = true
}
