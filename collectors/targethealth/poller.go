package targethealth

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"time"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go"

	"gapless/analysis"
)

// Poller asks ELBv2 for target states and group settings.
type Poller struct {
	cfg  Config
	sink Sink

	polled    time.Time // when the last poll ended, whatever came of it
	succeeded time.Time // when the last good poll ended
	throttles int       // in a row
	failing   string    // code of the last failure that was logged
}

// The delay after throttling doubles from Every up to longestBackoff, or Every
// where that is longer. Delays vary by a tenth, so that several pollers that began
// together do not stay together.
const (
	longestBackoff = time.Minute
	jitter         = 0.1
	// longestGap is how many intervals back a good poll covers, to the good one
	// before it.
	longestGap = 3
)

// Run polls until ctx ends. Each poll is one stored run, back to the poll before; a
// good poll reaches back to the good one before it where that is at most three
// intervals ago.
func (p *Poller) Run(ctx context.Context) error {
	p.polled = p.cfg.Now()
	settings := time.Time{}
	for {
		began := time.Now()
		if settings.IsZero() || began.Sub(settings) >= p.cfg.SettingsEvery {
			settings = began
			// Settings that could not be had are asked for again in a while, not at
			// every poll: the states matter more.
			if p.settings(ctx) != nil {
				settings = began.Add(min(30*time.Second, p.cfg.SettingsEvery) - p.cfg.SettingsEvery)
			}
		}
		p.poll(ctx)
		timer := time.NewTimer(p.delay(time.Since(began)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

// Collect fetches the group's settings; ELBv2 keeps no history of states.
func (p *Poller) Collect(ctx context.Context, _, _ time.Time) error { return p.settings(ctx) }

// delay is how long to wait until the next poll, given how long this one took.
func (p *Poller) delay(took time.Duration) time.Duration {
	wait := p.cfg.Every
	if p.throttles > 0 {
		longest := max(longestBackoff, p.cfg.Every)
		for range p.throttles {
			if wait *= 2; wait >= longest {
				wait = longest
				break
			}
		}
	}
	wait += time.Duration((rand.Float64()*2 - 1) * jitter * float64(wait))
	return max(wait-took, 0)
}

func (p *Poller) poll(ctx context.Context) {
	call, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
	defer cancel()
	out, err := p.cfg.API.DescribeTargetHealth(call, &elb.DescribeTargetHealthInput{TargetGroupArn: &p.cfg.ARN})
	if ctx.Err() != nil {
		return // we are stopping: that is no failure of the source
	}
	now := p.cfg.Now()
	run := analysis.Run{Source: p.cfg.Source, Kind: KindELBv2, From: p.polled, To: now, At: now}
	var samples []analysis.StateSample
	if err == nil {
		samples, err = p.samples(out, now)
	}
	run.Rows, run.Code, run.Error = len(samples), codeOf(err), text(err)
	p.polled = now
	if err == nil {
		p.throttles = 0
		if now.Sub(p.succeeded) <= longestGap*p.cfg.Every {
			run.From = p.succeeded
		}
	} else if run.Code == "throttled" {
		p.throttles++
	} else {
		p.throttles = 0
	}
	p.note(run)
	if err := p.sink.AddStates(ctx, p.cfg.Service, run, samples); err != nil {
		p.cfg.Log.Error("target states not stored", "service", p.cfg.Service, "source", p.cfg.Source, "error", err)
		return // the next good poll reaches back to the last one that was stored
	}
	if run.Code == "" {
		p.succeeded = now
	}
}

// note logs a failure when it begins or changes, and its end.
func (p *Poller) note(run analysis.Run) {
	if run.Code == p.failing {
		return
	}
	p.failing = run.Code
	if run.Code == "" {
		p.cfg.Log.Info("target states are read again", "service", p.cfg.Service, "source", p.cfg.Source)
		return
	}
	p.cfg.Log.Warn("target states not read", "service", p.cfg.Service, "source", p.cfg.Source, "code", run.Code, "error", run.Error)
}

// samples are what a reply says of each target, at the moment of the reply.
func (p *Poller) samples(out *elb.DescribeTargetHealthOutput, at time.Time) ([]analysis.StateSample, error) {
	samples := make([]analysis.StateSample, 0, len(out.TargetHealthDescriptions))
	for i, description := range out.TargetHealthDescriptions {
		if description.Target == nil || description.Target.Id == nil || description.TargetHealth == nil || description.TargetHealth.State == "" {
			return nil, fmt.Errorf("%w: target %d has no id or no state", errBadReply, i+1)
		}
		samples = append(samples, analysis.StateSample{
			Source: p.cfg.Source, TargetGroup: p.cfg.TargetGroup, Target: p.target(description.Target), At: at,
			State: analysis.TargetState(description.TargetHealth.State), Reason: string(description.TargetHealth.Reason),
		})
	}
	return samples, nil
}

func (p *Poller) target(t *types.TargetDescription) string {
	address := *t.Id
	if t.Port != nil {
		address += ":" + strconv.Itoa(int(*t.Port))
	}
	if p.cfg.Names == nil {
		return address
	}
	name := p.cfg.Names.Target(address)
	if name == address && t.Port != nil && strings.Contains(*t.Id, ":") { // IPv6 may be configured with brackets
		bracketed := net.JoinHostPort(*t.Id, strconv.Itoa(int(*t.Port)))
		if other := p.cfg.Names.Target(bracketed); other != bracketed {
			return other
		}
	}
	return name
}

// longestText bounds an error's text, in bytes.
const longestText = 500

// text is an error as a run holds it. What the API itself answered is told without
// the request's id, so that the same failure has the same words each time.
func text(err error) string {
	if err == nil {
		return ""
	}
	told := err.Error()
	var operation *smithy.OperationError
	var api smithy.APIError
	if errors.As(err, &operation) && errors.As(err, &api) {
		told = fmt.Sprintf("%s: %s: %s", operation.Operation(), api.ErrorCode(), api.ErrorMessage())
	}
	return analysis.Clip(told, longestText)
}
