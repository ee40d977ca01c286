package gauges

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"gapless/analysis"
	"gapless/collectors/ndjson"
)

// Record is one line of a file: one scrape, and what it told, or why it failed.
type Record struct {
	At     analysis.Time      `json:"at"`
	From   analysis.Time      `json:"from"` // the scrape before it; null: the line before
	Values map[string]float64 `json:"values,omitempty"`
	Code   string             `json:"code,omitempty"` // of a failed one: unreachable, bad_reply, …
	Error  string             `json:"error,omitempty"`
}

// RecordOf is a scrape as a line of a file.
func RecordOf(run analysis.Run, gauges []analysis.Gauge) Record {
	record := Record{At: analysis.Time{Time: run.To}, From: analysis.Time{Time: run.From}, Code: run.Code, Error: run.Error}
	for _, g := range gauges {
		if record.Values == nil {
			record.Values = map[string]float64{}
		}
		record.Values[g.Metric] = g.Value
	}
	return record
}

// How far a line may be ahead of the present, by the clock of who wrote it; and how far
// it may reach back: a scrape vouches for the time since the one before.
const (
	clockAhead   = time.Hour
	longestPause = 24 * time.Hour
)

// FileConfig describes a file of scrapes.
type FileConfig struct {
	Service, Source, Path string
	Target                string
	Every                 time.Duration // how often the file is looked at; 0 is a second
	Now                   func() time.Time
	Log                   *slog.Logger
}

// File reads a file of scrapes.
type File struct {
	cfg  FileConfig
	feed *ndjson.Feed
	sink Sink
	last time.Time // of the line before, for Run
}

// NewFile makes a reader. It does not touch the file.
func NewFile(cfg FileConfig, sink Sink) (*File, error) {
	if cfg.Path == "" {
		return nil, fmt.Errorf("metrics %s: path is missing", cfg.Source)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	feed := ndjson.NewFeed(ndjson.FeedConfig{
		Service: cfg.Service, Source: cfg.Source, Kind: KindFile, Path: cfg.Path, Every: cfg.Every, Now: cfg.Now, Log: cfg.Log,
	}, sink)
	return &File{cfg: cfg, feed: feed, sink: sink}, nil
}

// Collect reads the whole file and stores the scrapes of [from, to), each with the
// run that it was. Lines that are not understood are stored as failed runs.
func (f *File) Collect(ctx context.Context, from, to time.Time) error {
	var last time.Time
	return f.feed.Collect(ctx, from, to, f.batch(from, to, &last))
}

// Run stores what is appended to the file until ctx ends.
func (f *File) Run(ctx context.Context) error {
	return f.feed.Run(ctx, func() ndjson.Batch { return f.batch(time.Time{}, time.Time{}, &f.last) })
}

type scrape struct {
	run    analysis.Run
	gauges []analysis.Gauge
}

func (f *File) batch(from, to time.Time, last *time.Time) ndjson.Batch {
	var scrapes []scrape
	return ndjson.Batch{
		Line: func(line []byte) (time.Time, error) {
			one, err := f.decode(line, *last)
			if err != nil {
				return time.Time{}, err
			}
			// What is read as it is written was not scraped in a time to come, and would
			// vouch for all of it.
			if at := one.run.To; to.IsZero() && at.After(f.cfg.Now().Add(clockAhead)) {
				return time.Time{}, fmt.Errorf("at is %s, which is still to come", at.Format(time.RFC3339))
			}
			*last = one.run.To
			if to.IsZero() || !one.run.To.Before(from) && one.run.To.Before(to) {
				scrapes = append(scrapes, one)
			}
			return one.run.To, nil
		},
		Rows: func() int { return len(scrapes) },
		Store: func(ctx context.Context, run analysis.Run) error {
			for _, one := range scrapes {
				if err := f.sink.AddGauges(ctx, f.cfg.Service, one.run, one.gauges); err != nil {
					return err
				}
			}
			// That the file could be read covers no time: only its scrapes do.
			run.From = run.To
			return f.sink.AddRun(ctx, f.cfg.Service, run)
		},
	}
}

func (f *File) decode(line []byte, last time.Time) (scrape, error) {
	var record struct {
		Record
		Values map[string]*float64 `json:"values"` // nil: null, which is no zero
	}
	// The same name twice in one object is refused: nobody knows which of them is meant.
	if err := json.Unmarshal(line, &record); err != nil {
		return scrape{}, err
	}
	at := record.At.Time
	switch {
	case at.IsZero():
		return scrape{}, errors.New("at is missing")
	case !analysis.Plausible(at):
		return scrape{}, fmt.Errorf("at is in the year %d", at.Year())
	case !record.From.IsZero() && (record.From.After(at) || at.Sub(record.From.Time) > longestPause):
		return scrape{}, &ndjson.DatedError{At: at, Err: fmt.Errorf("from is not in the %s before at", longestPause)}
	case analysis.CheckRunCode(record.Code) != nil:
		return scrape{}, &ndjson.DatedError{At: at, Err: analysis.CheckRunCode(record.Code)}
	case len(record.Values) == 0 && record.Code == "":
		return scrape{}, &ndjson.DatedError{At: at, Err: errors.New("neither values nor a code of what failed")}
	}
	from := record.From.Time
	if from.IsZero() {
		from = last
	}
	if from.IsZero() || from.After(at) || at.Sub(from) > longestPause {
		from = at
	}
	one := scrape{run: analysis.Run{
		Source: f.cfg.Source, Kind: KindFile, From: from.UTC(), To: at.UTC(), At: at.UTC(), Rows: len(record.Values),
		Code: record.Code, Error: analysis.Clip(record.Error, longestText),
	}}
	for _, role := range slices.Sorted(maps.Keys(record.Values)) {
		if !slices.Contains(analysis.GaugeRoles, role) {
			return scrape{}, &ndjson.DatedError{At: at, Err: fmt.Errorf("value %q is not known; allowed: %s", analysis.Clip(role, longestText), strings.Join(analysis.GaugeRoles, ", "))}
		}
		value := record.Values[role]
		if value == nil {
			return scrape{}, &ndjson.DatedError{At: at, Err: fmt.Errorf("value %s is null", role)}
		}
		one.gauges = append(one.gauges, analysis.Gauge{Source: f.cfg.Source, Target: f.cfg.Target, Metric: role, At: at.UTC(), Value: *value})
	}
	return one, nil
}
