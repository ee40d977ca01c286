package targethealth

import (
	"context"
	"fmt"
	"strconv"
	"time"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"gapless/analysis"
)

// settings asks for the group's health check and deregistration delay. A failure
// is stored as a run of no length: it leaves no hole in the states.
func (p *Poller) settings(ctx context.Context) error {
	g, err := p.describe(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		now := p.cfg.Now()
		run := analysis.Run{
			Source: p.cfg.Source, Kind: KindELBv2, From: now, To: now, At: now,
			Code: codeOf(err), Error: "target group settings: " + text(err),
		}
		if stored := p.sink.AddRun(ctx, p.cfg.Service, run); stored != nil {
			return stored
		}
		return fmt.Errorf("describe target group of %s: %w", p.cfg.Source, err)
	}
	if err := p.sink.AddGroupSettings(ctx, p.cfg.Service, g); err != nil {
		return fmt.Errorf("store settings of target group %s: %w", p.cfg.TargetGroup, err)
	}
	return nil
}

func (p *Poller) describe(ctx context.Context) (analysis.GroupSettings, error) {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
	defer cancel()
	g := analysis.GroupSettings{LoadBalancer: p.cfg.LoadBalancer, TargetGroup: p.cfg.TargetGroup, ARN: p.cfg.ARN, At: p.cfg.Now()}
	groups, err := p.cfg.API.DescribeTargetGroups(ctx, &elb.DescribeTargetGroupsInput{TargetGroupArns: []string{p.cfg.ARN}})
	if err != nil {
		return g, err
	}
	if len(groups.TargetGroups) != 1 {
		return g, fmt.Errorf("%w: %d target groups for one ARN", errBadReply, len(groups.TargetGroups))
	}
	group := groups.TargetGroups[0]
	g.Health = analysis.HealthCheck{
		Interval:  time.Duration(value(group.HealthCheckIntervalSeconds)) * time.Second,
		Timeout:   time.Duration(value(group.HealthCheckTimeoutSeconds)) * time.Second,
		Unhealthy: int(value(group.UnhealthyThresholdCount)),
		Healthy:   int(value(group.HealthyThresholdCount)),
	}
	if group.HealthCheckPath != nil {
		g.Health.Path = *group.HealthCheckPath
	}
	attributes, err := p.cfg.API.DescribeTargetGroupAttributes(ctx, &elb.DescribeTargetGroupAttributesInput{TargetGroupArn: &p.cfg.ARN})
	if err != nil {
		return g, err
	}
	for _, attribute := range attributes.Attributes {
		if attribute.Key == nil || attribute.Value == nil || *attribute.Key != "deregistration_delay.timeout_seconds" {
			continue
		}
		seconds, err := strconv.Atoi(*attribute.Value)
		if err != nil || seconds < 0 || seconds > 3600 {
			return g, fmt.Errorf("%w: deregistration delay %q is not 0 to 3600 seconds", errBadReply, *attribute.Value)
		}
		g.DeregistrationDelay = time.Duration(seconds) * time.Second
	}
	return g, nil
}

func value(n *int32) int32 {
	if n == nil {
		return 0
	}
	return *n
}
