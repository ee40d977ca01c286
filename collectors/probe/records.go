package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"log/slog"
	"time"

	"gapless/analysis"
	"gapless/collectors/ndjson"
)

// KindFile is the kind of the runs that a reader of record files stores.
const KindFile = "file"

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

	told told // to Run
}

// told are the records that a reading was told, by run and number: one that comes
// again with other content contradicts itself.
type told map[requestID]uint64

type requestID struct {
	run string
	seq int
}

// toldKept bounds the records that are remembered; beyond it all are forgotten, since
// a record comes again soon or with all of its file.
const toldKept = 200_000

var toldSeed = maphash.MakeSeed()

// contradicts reports whether a record with the id of r was told that says something
// else, and remembers r.
func (t told) contradicts(r analysis.ProbeRequest) bool {
	id := requestID{r.Run, r.Seq}
	sum := maphash.Comparable(toldSeed, r)
	if before, ok := t[id]; ok {
		return before != sum
	}
	if len(t) >= toldKept {
		clear(t)
	}
	t[id] = sum
	return false
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
	return &File{cfg: cfg, feed: feed, sink: sink, told: told{}}, nil
}

// Collect reads the whole file and stores the requests sent in [from, to), with a
// run over that span. Lines that are not understood are stored as failed runs over
// the time that they leave open; they are no error of Collect.
func (f *File) Collect(ctx context.Context, from, to time.Time) error {
	return f.feed.Collect(ctx, from, to, f.batch(from, to, told{}))
}

// Run stores what is appended to the file until ctx ends.
func (f *File) Run(ctx context.Context) error {
	return f.feed.Run(ctx, func() ndjson.Batch { return f.batch(time.Time{}, time.Time{}, f.told) })
}

// batch gathers the requests of one read; zero times stand for no bound.
func (f *File) batch(from, to time.Time, told told) ndjson.Batch {
	var requests []analysis.ProbeRequest
	return ndjson.Batch{
		Line: func(line []byte) (time.Time, error) {
			r, err := f.decode(line)
			if err != nil {
				return time.Time{}, err
			}
			if told.contradicts(r) {
				return time.Time{}, &ndjson.DatedError{At: r.Sent, Err: fmt.Errorf("id %s-%06d was told before, and something else of it", analysis.Clip(r.Run, 100), r.Seq)}
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
	var record analysis.ProbeRecord
	if err := json.Unmarshal(line, &record); err != nil {
		return analysis.ProbeRequest{}, err
	}
	if err := record.Validate(); err != nil {
		if analysis.Plausible(record.Sent.Time) {
			err = &ndjson.DatedError{At: record.Sent.Time, Err: err}
		}
		return analysis.ProbeRequest{}, err
	}
	return record.Request(f.cfg.Source, f.cfg.Probe, f.cfg.Class, f.cfg.Names), nil
}
