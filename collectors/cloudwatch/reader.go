// Package cloudwatch reads what a load balancer counted of its own requests, minute
// by minute, from Amazon CloudWatch.
//
// What belongs here: asking for a handful of sums and telling failures apart by
// stable codes. What they say about a log is the judge's business. A minute without
// a point is not a zero, and none is made of it.
package cloudwatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	cw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"gapless/analysis"
)

// Kind is what runs of this collector are called.
const Kind = "cloudwatch"

// Sink keeps what was observed; each call is one transaction.
type Sink interface {
	AddMetrics(ctx context.Context, service string, run analysis.Run, sums []analysis.MetricSum) error
	AddRun(ctx context.Context, service string, run analysis.Run) error
}

// Config describes one source of sums. Credentials come from the SDK's default
// chain; with an Endpoint and none there, requests are signed with placeholders.
type Config struct {
	Service string
	Source  string // its name
	// LoadBalancer is the dimension of that name: app/name/id. TargetGroup, where set,
	// is targetgroup/name/id, and narrows all sums that have it.
	LoadBalancer, TargetGroup       string
	Region, Profile, Role, Endpoint string
	API                             API // nil: a client of the SDK

	Every  time.Duration // between two readings; 0 is a minute
	Settle time.Duration // how far back Run reads again, since sums grow for a while; 0 is 15 minutes
	Now    func() time.Time
	Log    *slog.Logger
}

// API is the part of the CloudWatch client that is used.
type API interface {
	GetMetricData(context.Context, *cw.GetMetricDataInput, ...func(*cw.Options)) (*cw.GetMetricDataOutput, error)
}

// Reader reads one source.
type Reader struct {
	cfg  Config
	sink Sink
}

// New makes a Reader. It reads nothing yet.
func New(ctx context.Context, cfg Config, sink Sink) (*Reader, error) {
	if cfg.LoadBalancer == "" {
		return nil, fmt.Errorf("cloudwatch %s: load_balancer is missing: give app/name/id", cfg.Source)
	}
	if cfg.Every <= 0 {
		cfg.Every = time.Minute
	}
	if cfg.Settle <= 0 {
		cfg.Settle = 15 * time.Minute
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.API == nil {
		api, err := newClient(ctx, &cfg)
		if err != nil {
			return nil, fmt.Errorf("cloudwatch %s: %w", cfg.Source, err)
		}
		cfg.API = api
	}
	return &Reader{cfg: cfg, sink: sink}, nil
}

// longestWait bounds the time between two readings however often they fail.
const longestWait = 10 * time.Minute

// Run reads the recent past every Every until ctx ends. Failures are stored, not
// returned; after each the wait doubles.
func (r *Reader) Run(ctx context.Context) error {
	failures := 0
	failing := ""
	for {
		now := r.cfg.Now()
		err := r.Collect(ctx, now.Add(-r.cfg.Settle), now)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			failures++
			if code := codeOf(err); code != failing {
				failing = code
				r.cfg.Log.Error("metrics cannot be read", "source", r.cfg.Source, "service", r.cfg.Service, "code", code, "error", err)
			}
		default:
			failures, failing = 0, ""
		}
		wait := min(r.cfg.Every<<min(failures, 10), max(longestWait, r.cfg.Every))
		timer := time.NewTimer(wait - wait/10 + rand.N(wait/5+1))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

// Collect reads the minutes that meet [from, to) and stores them with a run.
func (r *Reader) Collect(ctx context.Context, from, to time.Time) error {
	sums, err := r.read(ctx, from, to)
	if ctx.Err() != nil { // told to stop, which leaves no hole
		return context.Cause(ctx)
	}
	run := analysis.Run{Source: r.cfg.Source, Kind: Kind, From: from, To: to, At: r.cfg.Now(), Rows: len(sums)}
	if err != nil {
		run.Rows, run.Code, run.Error = 0, codeOf(err), err.Error()
		if stored := r.sink.AddRun(ctx, r.cfg.Service, run); stored != nil {
			return errors.Join(err, fmt.Errorf("store failed run: %w", stored))
		}
		return err
	}
	if err := r.sink.AddMetrics(ctx, r.cfg.Service, run, sums); err != nil {
		return fmt.Errorf("store metrics: %w", err)
	}
	return nil
}

// period is the finest that load balancers report.
const period = time.Minute

// pages bounds the replies to one question. Four sums of a day's minutes are one.
const pages = 100

func (r *Reader) read(ctx context.Context, from, to time.Time) ([]analysis.MetricSum, error) {
	metrics := analysis.BalancerMetrics
	if r.cfg.TargetGroup != "" {
		metrics = analysis.GroupMetrics
	}
	first, last := from.UTC().Truncate(period), to.UTC().Add(period-time.Nanosecond).Truncate(period)
	in := &cw.GetMetricDataInput{StartTime: &first, EndTime: &last, ScanBy: types.ScanByTimestampAscending}
	names := map[string]string{}
	for i, name := range metrics {
		id := fmt.Sprintf("m%d", i)
		names[id] = name
		dimensions := []types.Dimension{{Name: aws.String("LoadBalancer"), Value: &r.cfg.LoadBalancer}}
		if r.cfg.TargetGroup != "" {
			dimensions = append(dimensions, types.Dimension{Name: aws.String("TargetGroup"), Value: &r.cfg.TargetGroup})
		}
		in.MetricDataQueries = append(in.MetricDataQueries, types.MetricDataQuery{Id: &id, ReturnData: aws.Bool(true), MetricStat: &types.MetricStat{
			Metric: &types.Metric{Namespace: aws.String("AWS/ApplicationELB"), MetricName: &name, Dimensions: dimensions},
			Period: aws.Int32(int32(period.Seconds())), Stat: aws.String("Sum"),
		}})
	}
	var sums []analysis.MetricSum
	for range pages {
		out, err := r.cfg.API.GetMetricData(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("get metric data: %w", err)
		}
		for _, result := range out.MetricDataResults {
			name, asked := names[aws.ToString(result.Id)]
			if !asked || len(result.Timestamps) != len(result.Values) {
				return nil, fmt.Errorf("get metric data: %w: result %q has %d times and %d values", errBadReply, aws.ToString(result.Id), len(result.Timestamps), len(result.Values))
			}
			if result.StatusCode == types.StatusCodeForbidden || result.StatusCode == types.StatusCodeInternalError {
				return nil, fmt.Errorf("get metric data: %w", &refused{name, result.StatusCode, result.Messages})
			}
			for i, at := range result.Timestamps {
				if at = at.UTC(); at.Before(first) || !at.Before(last) {
					continue
				}
				sums = append(sums, analysis.MetricSum{Source: r.cfg.Source, Metric: name, At: at, Period: period, Sum: result.Values[i]})
			}
		}
		if aws.ToString(out.NextToken) == "" {
			return sums, nil
		}
		in.NextToken = out.NextToken
	}
	return nil, fmt.Errorf("get metric data: %w: more than %d pages", errBadReply, pages)
}
