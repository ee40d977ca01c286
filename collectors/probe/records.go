package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"gapless/analysis"
	"gapless/collectors/ndjson"
)

// KindFile is the kind of the runs that a reader of record files stores.
const KindFile = "file"

// Record is one line of a file of probe records.
type Record struct {
	ID      string           `json:"id"`
	Sent    analysis.Time    `json:"sent"`
	Done    analysis.Time    `json:"done"`   // null: when it was sent
	Status  *int             `json:"status"` // null where none came
	Outcome analysis.Outcome `json:"outcome"`
	Target  *string          `json:"target"`
	Error   *string          `json:"error"`
}

// RecordOf is a request as a line of a file.
func RecordOf(r analysis.ProbeRequest) Record {
	record := Record{
		ID:   fmt.Sprintf("%s-%06d", r.Run, r.Seq),
		Sent: analysis.Time{Time: r.Sent}, Done: analysis.Time{Time: r.Done}, Outcome: r.Outcome,
	}
	if r.Status != 0 {
		record.Status = &r.Status
	}
	if r.Target != "" {
		record.Target = &r.Target
	}
	if r.Error != "" {
		record.Error = &r.Error
	}
	return record
}

// FileConfig describes a file of probe records.
type FileConfig struct {
	Service string
	Source  string // the record file's name in the configuration
	Path    string
	Probe   string         // the probe that made the records
	Class   analysis.Class // empty is probe
	Every   time.Duration  // how often the file is looked at; 0 is a second
	Names   *analysis.Classifier
	Now     func() time.Time
	Log     *slog.Logger
}

// FileSink is what a reader of record files writes to.
type FileSink interface {
	Sink
	AddRun(ctx context.Context, service string, run analysis.Run) error
}

// File reads a file of probe records.
type File struct {
	cfg  FileConfig
	feed *ndjson.Feed
	sink FileSink
}

// NewFile makes a reader. It does not touch the file.
func NewFile(cfg FileConfig, sink FileSink) (*File, error) {
	if cfg.Path == "" {
		return nil, fmt.Errorf("probe records %s: path is missing", cfg.Source)
	}
	if cfg.Class == "" {
		cfg.Class = analysis.ClassProbe
	}
	if cfg.Class != analysis.ClassProbe && cfg.Class != analysis.ClassHealth {
		return nil, fmt.Errorf("probe records %s: class %q is neither probe nor health", cfg.Source, cfg.Class)
	}
	feed := ndjson.NewFeed(ndjson.FeedConfig{
		Service: cfg.Service, Source: cfg.Source, Kind: KindFile, Path: cfg.Path, Every: cfg.Every, Now: cfg.Now, Log: cfg.Log,
	}, sink)
	return &File{cfg: cfg, feed: feed, sink: sink}, nil
}

// Collect reads the whole file and stores the requests sent in [from, to), with a
// run over that span. Lines that are not understood are stored as failed runs over
// the time that they leave open; they are no error of Collect.
func (f *File) Collect(ctx context.Context, from, to time.Time) error {
	return f.feed.Collect(ctx, from, to, f.batch(from, to))
}

// Run stores what is appended to the file until ctx ends.
func (f *File) Run(ctx context.Context) error {
	return f.feed.Run(ctx, func() ndjson.Batch { return f.batch(time.Time{}, time.Time{}) })
}

// batch gathers the requests of one read; zero times stand for no bound.
func (f *File) batch(from, to time.Time) ndjson.Batch {
	var requests []analysis.ProbeRequest
	return ndjson.Batch{
		Line: func(line []byte) (time.Time, error) {
			r, err := f.decode(line)
			if err != nil {
				return time.Time{}, err
			}
			if to.IsZero() || !r.Sent.Before(from) && r.Sent.Before(to) {
				requests = append(requests, r)
			}
			return r.Sent, nil
		},
		Rows: func() int { return len(requests) },
		Store: func(ctx context.Context, run analysis.Run) error {
			return f.sink.AddProbes(ctx, f.cfg.Service, run, requests)
		},
	}
}

func (f *File) decode(line []byte) (analysis.ProbeRequest, error) {
	var record Record
	if err := json.Unmarshal(line, &record); err != nil {
		return analysis.ProbeRequest{}, err
	}
	run, seq, ok := analysis.ProbeID(record.ID)
	switch {
	case !ok || len(run) > 100:
		return analysis.ProbeRequest{}, fmt.Errorf("id %q is not <run>-<number>", clip(record.ID, 100))
	case record.Sent.IsZero():
		return analysis.ProbeRequest{}, fmt.Errorf("sent is missing")
	case !slices.Contains(analysis.Outcomes, record.Outcome):
		return analysis.ProbeRequest{}, fmt.Errorf("outcome %q is not known", clip(string(record.Outcome), 100))
	case !record.Done.IsZero() && record.Done.Before(record.Sent.Time):
		return analysis.ProbeRequest{}, fmt.Errorf("done is before sent")
	}
	r := analysis.ProbeRequest{
		Source: f.cfg.Source, Probe: f.cfg.Probe, Class: f.cfg.Class, Run: run, Seq: seq,
		Sent: record.Sent.Time, Done: record.Done.Time, Outcome: record.Outcome,
		OutOfService: record.Outcome == analysis.OutcomeDrain503,
	}
	if r.Done.IsZero() {
		r.Done = r.Sent
	}
	if record.Status != nil {
		if r.Status = *record.Status; r.Status < 0 || r.Status > 999 {
			return analysis.ProbeRequest{}, fmt.Errorf("status %d is not between 0 and 999", r.Status)
		}
	}
	if record.Target != nil {
		r.Target = clip(*record.Target, 200)
		if f.cfg.Names != nil {
			r.Target = f.cfg.Names.Target(r.Target)
		}
	}
	if record.Error != nil {
		r.Error = clip(*record.Error, 300)
	}
	return r, nil
}
