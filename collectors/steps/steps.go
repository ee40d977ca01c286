// Package steps reads what deploys told about themselves from a file.
//
// What belongs here: lines of steps and their way to a sink. Their shape is
// [analysis.StepEvent], which the API shares.
package steps

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"gapless/analysis"
	"gapless/collectors/ndjson"
)

// Kind is the kind of the runs that are stored.
const Kind = "file"

// Event is one line of a steps file.
type Event = analysis.StepEvent

// Decode reads and validates one line.
func Decode(line []byte) (Event, error) { return analysis.DecodeStepEvent(line) }

// Sink keeps deploys and steps. Telling the same again changes nothing.
type Sink interface {
	StartDeploy(ctx context.Context, d analysis.Deploy) (stored bool, err error)
	FinishDeploy(ctx context.Context, id string, at time.Time, result, source string) (stored bool, err error)
	AddSteps(ctx context.Context, service string, steps []analysis.Step) (stored int, err error)
	AddRun(ctx context.Context, service string, run analysis.Run) error
}

// Config describes a steps file.
type Config struct {
	Service string
	Source  string // the file's name in the configuration; the source of steps that name none
	Path    string
	Every   time.Duration // how often the file is looked at; 0 is a second
	Names   *analysis.Classifier
	Now     func() time.Time
	Log     *slog.Logger
}

// Reader reads a steps file. Lines of other services are left alone.
type Reader struct {
	cfg  Config
	feed *ndjson.Feed
	sink Sink
}

// New makes a reader. It does not touch the file.
func New(cfg Config, sink Sink) (*Reader, error) {
	if cfg.Path == "" {
		return nil, fmt.Errorf("steps %s: path is missing", cfg.Source)
	}
	feed := ndjson.NewFeed(ndjson.FeedConfig{
		Service: cfg.Service, Source: cfg.Source, Kind: Kind, Path: cfg.Path, Every: cfg.Every, Now: cfg.Now, Log: cfg.Log,
	}, sink)
	return &Reader{cfg: cfg, feed: feed, sink: sink}, nil
}

// Collect reads the whole file and stores every deploy and step in it, also those
// outside [from, to): a window may need the start of a deploy that lies before it.
// The run is over the span. Lines that are not understood are stored as failed runs.
func (r *Reader) Collect(ctx context.Context, from, to time.Time) error {
	return r.feed.Collect(ctx, from, to, r.batch())
}

// Run stores what is appended to the file until ctx ends.
func (r *Reader) Run(ctx context.Context) error { return r.feed.Run(ctx, r.batch) }

func (r *Reader) batch() ndjson.Batch {
	var starts []analysis.Deploy
	var steps []analysis.Step
	var reports []Event
	return ndjson.Batch{
		Line: func(line []byte) (time.Time, error) {
			e, err := Decode(line)
			if err != nil {
				return time.Time{}, err
			}
			if e.Service != r.cfg.Service {
				return e.At.Time, nil
			}
			if e.Source == "" {
				e.Source = r.cfg.Source
			}
			if r.cfg.Names != nil {
				e.Target = r.cfg.Names.Target(e.Target)
			}
			if d, ok := e.Started(); ok {
				starts = append(starts, d)
			} else if e.Kind == analysis.StepDeployReported {
				reports = append(reports, e)
			} else {
				steps = append(steps, e.Step())
			}
			return e.At.Time, nil
		},
		Rows: func() int { return len(starts) + len(steps) + len(reports) },
		Store: func(ctx context.Context, run analysis.Run) error {
			return r.store(ctx, run, starts, steps, reports)
		},
	}
}

// store begins deploys before their steps and ends them after, in whatever order
// the file has them. What the sink refuses (a report of a deploy that never
// started, an id that another service has) becomes a failed run of no length, and
// the rest is stored.
func (r *Reader) store(ctx context.Context, run analysis.Run, starts []analysis.Deploy, steps []analysis.Step, reports []Event) error {
	var refused []error
	for _, d := range starts {
		if _, err := r.sink.StartDeploy(ctx, d); err != nil {
			refused = append(refused, fmt.Errorf("start of deploy %s: %w", d.ID, err))
		}
	}
	if len(steps) > 0 {
		if _, err := r.sink.AddSteps(ctx, r.cfg.Service, steps); err != nil {
			return fmt.Errorf("store steps: %w", err)
		}
	}
	for _, e := range reports {
		if _, err := r.sink.FinishDeploy(ctx, e.Deploy, e.At.Time, e.Result, e.Source); err != nil {
			refused = append(refused, fmt.Errorf("report of deploy %s: %w", e.Deploy, err))
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := r.sink.AddRun(ctx, r.cfg.Service, run); err != nil {
		return err
	}
	for i, err := range refused {
		failed := analysis.Run{
			Source: run.Source, Kind: run.Kind, From: run.To, To: run.To,
			At: run.At.Add(time.Duration(i+1) * time.Microsecond), Code: "error", Error: err.Error(),
		}
		if err := r.sink.AddRun(ctx, r.cfg.Service, failed); err != nil {
			return err
		}
	}
	return nil
}
