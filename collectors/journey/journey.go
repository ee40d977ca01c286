// Package journey reads what a client recorded of business transactions that take
// several requests.
//
// What belongs here: lines of journey steps and their way to a sink. Whether a
// journey was completed is the judge's business.
package journey

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"gapless/analysis"
	"gapless/collectors/ndjson"
)

// Kind is the kind of the runs that are stored.
const Kind = "file"

// Sink keeps steps. Adding the same again changes nothing.
type Sink interface {
	AddJourneys(ctx context.Context, service string, run analysis.Run, file string, before, position []byte, steps []analysis.JourneyStep) error
	AddRun(ctx context.Context, service string, run analysis.Run) error
}

// Record is one line of a file: one attempt at one step.
type Record struct {
	Journey string           `json:"journey"`
	Key     string           `json:"key"`  // identifier that the requests of one transaction share
	Step    string           `json:"step"` // name in the configuration
	At      analysis.Time    `json:"at"`   // when it ended, by the client's clock
	Outcome analysis.Outcome `json:"outcome"`
	Target  *string          `json:"target"` // who served it; null where the client cannot tell
}

// Config describes a file of journey records.
type Config struct {
	Service string
	Source  string // the record file's name in the configuration
	Path    string
	Journey string   // the journey that its lines are about; lines of others are left alone
	Steps   []string // the journey's steps; a line about another is not understood
	Every   time.Duration
	Names   *analysis.Classifier
	Now     func() time.Time
	Log     *slog.Logger
}

// Reader reads a file of journey records.
type Reader struct {
	cfg  Config
	feed *ndjson.Feed
	sink Sink
}

// New makes a reader. It does not touch the file.
func New(cfg Config, sink Sink) (*Reader, error) {
	if cfg.Path == "" {
		return nil, fmt.Errorf("journey records %s: path is missing", cfg.Source)
	}
	feed := ndjson.NewFeed(ndjson.FeedConfig{
		Service: cfg.Service, Source: cfg.Source, Kind: Kind, Path: cfg.Path, Every: cfg.Every, Now: cfg.Now, Log: cfg.Log,
	}, sink)
	return &Reader{cfg: cfg, feed: feed, sink: sink}, nil
}

// Collect reads the whole file and stores the steps of [from, to) and, so that
// journeys at the edges can be followed, every other step of theirs and of those just
// outside, which another witness may have seen inside, with a run over that span.
// Lines that are not understood are stored as failed runs over the time that they
// leave open; they are no error of Collect.
func (r *Reader) Collect(ctx context.Context, from, to time.Time) error {
	return r.feed.Collect(ctx, from, to, r.batch(from, to))
}

// Run stores what is appended to the file until ctx ends.
func (r *Reader) Run(ctx context.Context) error {
	return r.feed.Run(ctx, func() ndjson.Batch { return r.batch(time.Time{}, time.Time{}) })
}

// batch gathers the steps of one read; zero times stand for no bound.
func (r *Reader) batch(from, to time.Time) ndjson.Batch {
	var steps []analysis.JourneyStep
	inSpan := map[string]bool{} // keys
	kept := func() []analysis.JourneyStep {
		if to.IsZero() {
			return steps
		}
		return slices.DeleteFunc(slices.Clone(steps), func(s analysis.JourneyStep) bool { return !inSpan[s.Key] })
	}
	return ndjson.Batch{
		Line: func(line []byte) (time.Time, error) {
			step, err := r.decode(line)
			if err != nil {
				return time.Time{}, err
			}
			if step.Journey != r.cfg.Journey {
				return step.At, nil
			}
			if !step.At.Before(from.Add(-analysis.EdgeReach)) && step.At.Before(to.Add(analysis.EdgeReach)) {
				inSpan[step.Key] = true
			}
			steps = append(steps, step)
			return step.At, nil
		},
		Rows: func() int { return len(kept()) },
		Store: func(ctx context.Context, run analysis.Run) error {
			return r.sink.AddJourneys(ctx, r.cfg.Service, run, r.cfg.Path, nil, nil, kept())
		},
	}
}

// longest bounds what a record may say in one field, in bytes.
const longest = 200

func (r *Reader) decode(line []byte) (analysis.JourneyStep, error) {
	var record Record
	if err := json.Unmarshal(line, &record); err != nil {
		return analysis.JourneyStep{}, err
	}
	if err := r.check(&record); err != nil {
		if analysis.Plausible(record.At.Time) {
			err = &ndjson.DatedError{At: record.At.Time, Err: err}
		}
		return analysis.JourneyStep{}, err
	}
	step := analysis.JourneyStep{
		Source: r.cfg.Source, Journey: record.Journey, Key: record.Key, Step: record.Step, At: record.At.UTC(), Outcome: record.Outcome,
	}
	if record.Target != nil {
		step.Target = *record.Target
		if r.cfg.Names != nil {
			step.Target = r.cfg.Names.Target(step.Target)
		}
	}
	return step, nil
}

func (r *Reader) check(record *Record) error {
	target := ""
	if record.Target != nil {
		target = *record.Target
	}
	for _, field := range []struct{ name, value string }{
		{"journey", record.Journey}, {"key", record.Key}, {"step", record.Step},
	} {
		if field.value == "" {
			return errors.New(field.name + " is missing")
		}
	}
	switch {
	case max(len(record.Journey), len(record.Key), len(record.Step), len(target)) > longest:
		return fmt.Errorf("a field is longer than %d bytes", longest)
	case record.At.IsZero():
		return errors.New("at is missing")
	case !analysis.Plausible(record.At.Time):
		return fmt.Errorf("at is in the year %d", record.At.Year())
	case !slices.Contains(analysis.Outcomes, record.Outcome):
		return fmt.Errorf("outcome %q is not known", record.Outcome)
	case record.Journey == r.cfg.Journey && len(r.cfg.Steps) > 0 && !slices.Contains(r.cfg.Steps, record.Step):
		return fmt.Errorf("step %q is none of journey %s; allowed: %s", record.Step, record.Journey, strings.Join(r.cfg.Steps, ", "))
	}
	return nil
}
