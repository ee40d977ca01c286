package targethealth

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"gapless/analysis"
	"gapless/collectors/ndjson"
)

// Record is one line of a file of states: what one poll said of one target.
type Record struct {
	At     analysis.Time        `json:"at"`
	Target string               `json:"target"`
	State  analysis.TargetState `json:"state"`
	Reason string               `json:"reason"`
}

// RecordOf is a sample as a line of a file.
func RecordOf(s analysis.StateSample) Record {
	return Record{At: analysis.Time{Time: s.At}, Target: s.Target, State: s.State, Reason: s.Reason}
}

// File reads a file of polled states.
type File struct {
	cfg  Config
	feed *ndjson.Feed
	sink Sink
}

func newFile(cfg Config, sink Sink) *File {
	return &File{cfg: cfg, sink: sink, feed: ndjson.NewFeed(ndjson.FeedConfig{
		Service: cfg.Service, Source: cfg.Source, Kind: KindFile, Path: cfg.Path,
		Every: min(cfg.Every, time.Second), Now: cfg.Now, Log: cfg.Log,
	}, sink)}
}

// Collect reads the whole file and stores the states polled in [from, to), and
// those up to three polling intervals around it, so that the states at the ends are
// known. Lines that are not understood are stored as failed runs over the time that
// they leave open; they are no error of Collect.
func (f *File) Collect(ctx context.Context, from, to time.Time) error {
	around := longestGap * f.cfg.Every
	return f.feed.Collect(ctx, from, to, f.batch(from.Add(-around), to.Add(around)))
}

// Run stores what is appended to the file until ctx ends.
func (f *File) Run(ctx context.Context) error {
	return f.feed.Run(ctx, func() ndjson.Batch { return f.batch(time.Time{}, time.Time{}) })
}

// batch gathers the samples of one read; zero times stand for no bound.
func (f *File) batch(from, to time.Time) ndjson.Batch {
	var samples []analysis.StateSample
	return ndjson.Batch{
		Line: func(line []byte) (time.Time, error) {
			s, err := f.decode(line)
			if err != nil {
				return time.Time{}, err
			}
			if to.IsZero() || !s.At.Before(from) && s.At.Before(to) {
				samples = append(samples, s)
			}
			return s.At, nil
		},
		Rows: func() int { return len(samples) },
		Store: func(ctx context.Context, run analysis.Run) error {
			return f.sink.AddStates(ctx, f.cfg.Service, run, samples)
		},
	}
}

func (f *File) decode(line []byte) (analysis.StateSample, error) {
	var record Record
	if err := json.Unmarshal(line, &record); err != nil {
		return analysis.StateSample{}, err
	}
	switch {
	case record.At.IsZero():
		return analysis.StateSample{}, fmt.Errorf("at is missing")
	case record.Target == "":
		return analysis.StateSample{}, fmt.Errorf("target is missing")
	case record.State == "":
		return analysis.StateSample{}, fmt.Errorf("state is missing")
	case len(record.Target) > 200 || len(record.State) > 200 || len(record.Reason) > 2000:
		return analysis.StateSample{}, fmt.Errorf("target, state or reason is too long")
	}
	if f.cfg.Names != nil {
		record.Target = f.cfg.Names.Target(record.Target)
	}
	return analysis.StateSample{
		Source: f.cfg.Source, TargetGroup: f.cfg.TargetGroup, Target: record.Target,
		At: record.At.Time, State: record.State, Reason: record.Reason,
	}, nil
}
