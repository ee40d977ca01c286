// Package steps reads what deploys told about themselves from a file.
//
// What belongs here: lines of steps and their way to a sink. Their shape is
// [analysis.StepEvent], which the API shares.
package steps

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
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
	cfg   Config
	feed  *ndjson.Feed
	sink  Sink
	again []telling // starts and reports that were refused; only Run uses it
}

// telling is the start or the report of a deploy, and how often it was refused.
type telling struct {
	Event
	refused int
}

// maxTries is how often a start or report is told in live collecting: a report may
// be read before a start that comes by another way, or the store may be busy.
const maxTries = 5

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
// The run is over the span. Lines that are not understood, and deploys that the
// sink refuses, are stored as failed runs.
func (r *Reader) Collect(ctx context.Context, from, to time.Time) error {
	b := &batch{reader: r, tries: 1}
	return r.feed.Collect(ctx, from, to, b.feed())
}

// Run stores what is appended to the file until ctx ends.
func (r *Reader) Run(ctx context.Context) error {
	return r.feed.Run(ctx, func() ndjson.Batch {
		b := &batch{reader: r, tries: maxTries, deploys: slices.Clone(r.again)}
		return b.feed()
	})
}

// batch is what one read brings, and what is told again.
type batch struct {
	reader  *Reader
	tries   int       // 1 where nothing is told again
	deploys []telling // starts and reports
	steps   []analysis.Step
}

func (b *batch) feed() ndjson.Batch {
	return ndjson.Batch{Line: b.line, Rows: func() int { return len(b.deploys) + len(b.steps) }, Store: b.store}
}

func (b *batch) line(line []byte) (time.Time, error) {
	cfg := b.reader.cfg
	e, err := Decode(line)
	if err != nil {
		return time.Time{}, err
	}
	if e.Service != cfg.Service {
		return e.At.Time, nil
	}
	if e.Source == "" {
		e.Source = cfg.Source
	}
	if cfg.Names != nil {
		e.Target = cfg.Names.Target(e.Target)
	}
	if e.Kind == analysis.StepDeployStarted || e.Kind == analysis.StepDeployReported {
		b.deploys = append(b.deploys, telling{Event: e})
	} else {
		b.steps = append(b.steps, e.Step())
	}
	return e.At.Time, nil
}

// store begins deploys before their steps and ends them after, in whatever order
// the file has them. A start or report that the sink refuses for good (an id that
// another service has, a deploy that never started) becomes a failed run of no
// length, and the rest is stored.
func (b *batch) store(ctx context.Context, run analysis.Run) error {
	sink, service := b.reader.sink, b.reader.cfg.Service
	var again []telling
	var failed []error
	tell := func(kind analysis.StepKind, how func(Event) error) {
		for _, each := range b.deploys {
			if each.Kind != kind {
				continue
			}
			err := how(each.Event)
			if err == nil {
				continue
			}
			if each.refused++; each.refused < b.tries {
				again = append(again, each)
			} else {
				failed = append(failed, fmt.Errorf("%s of deploy %s: %w", kind, each.Deploy, err))
			}
		}
	}
	tell(analysis.StepDeployStarted, func(e Event) error {
		d, _ := e.Started()
		_, err := sink.StartDeploy(ctx, d)
		return err
	})
	if len(b.steps) > 0 {
		if _, err := sink.AddSteps(ctx, service, b.steps); err != nil {
			return fmt.Errorf("store steps: %w", err)
		}
	}
	tell(analysis.StepDeployReported, func(e Event) error {
		_, err := sink.FinishDeploy(ctx, e.Deploy, e.At.Time, e.Result, e.Source)
		return err
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := sink.AddRun(ctx, service, run); err != nil {
		return err
	}
	if b.tries > 1 {
		b.reader.again = again
	}
	for i, err := range failed {
		one := analysis.Run{
			Source: run.Source, Kind: run.Kind, From: run.To, To: run.To,
			At: run.At.Add(time.Duration(i+1) * time.Microsecond), Code: "error", Error: err.Error(),
		}
		if err := sink.AddRun(ctx, service, one); err != nil {
			return err
		}
	}
	return nil
}
