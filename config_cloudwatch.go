package main

import (
	"cmp"
	"regexp"
	"time"

	"gapless/collectors/cloudwatch"
)

// CloudWatch's dimensions of a load balancer and of a target group.
var (
	balancerDimension = regexp.MustCompile(`^app/[^/]+/[0-9a-f]+$`)
	groupDimension    = regexp.MustCompile(`^targetgroup/[^/]+/[0-9a-f]+$`)
)

// cloudWatch converts the load balancer's own counts beside an access log, and
// answers their name; empty where there are none. What the log's entry says of the
// account (region, profile, role) holds for them too, unless they say otherwise.
func (c *checker) cloudWatch(path string, log *accessLogFile, kind string, s *serviceConfig, sources namesSeen) string {
	file := log.CloudWatch
	if file == nil {
		return ""
	}
	if kind != "alb" {
		c.wrong(path, "means nothing for kind %s; allowed for: alb", kind)
		return ""
	}
	name := cmp.Or(file.Name, log.Name+"-cloudwatch")
	c.name(path+".name", name, "source", sources)
	if !balancerDimension.MatchString(file.LoadBalancer) {
		c.wrong(path+".load_balancer", "%q is not how CloudWatch names a load balancer; allowed: the end of its ARN, such as app/orders-public/50dc6c495c0c9188", file.LoadBalancer)
	}
	if file.TargetGroup != "" && !groupDimension.MatchString(file.TargetGroup) {
		c.wrong(path+".target_group", "%q is not how CloudWatch names a target group; allowed: the end of its ARN, such as targetgroup/orders-api/73e2d6bc24d8a067", file.TargetGroup)
	}
	// Counts of more requests than the log's rows would look like a log with holes.
	switch {
	case log.Match.Host != "":
		c.wrong(path, "counts every host, but match.host leaves rows out; allowed: one of the two")
	case log.Match.TargetGroup != "" && file.TargetGroup == "":
		c.wrong(path+".target_group", "missing; allowed: the end of its ARN, such as targetgroup/orders-api/73e2d6bc24d8a067, since match.target_group leaves the rows of others out")
	case log.Match.TargetGroup == "" && file.TargetGroup != "":
		c.wrong(path+".target_group", "%q counts one group, but the log's rows are of all; allowed: match.target_group on the entry, or no target_group here", file.TargetGroup)
	}
	s.cloudWatches = append(s.cloudWatches, cloudwatch.Config{
		Service: s.Name, Source: name, LoadBalancer: file.LoadBalancer, TargetGroup: file.TargetGroup,
		Region: cmp.Or(file.Region, log.Region), Profile: cmp.Or(file.Profile, log.Profile), Role: cmp.Or(file.Role, log.Role),
		Endpoint: c.endpoint(path+".endpoint", file.Endpoint),
		Every:    c.duration(path+".every", file.Every, time.Minute, 100*time.Millisecond), Settle: s.Window.Settle,
	})
	return name
}
