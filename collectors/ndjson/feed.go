package ndjson

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"gapless/analysis"
	"gapless/collectors/runcode"
)

// RunSink keeps runs that brought nothing.
type RunSink interface {
	AddRun(ctx context.Context, service string, run analysis.Run) error
}

// FeedConfig describes a file whose lines are evidence of one source.
type FeedConfig struct {
	Service, Source, Kind, Path string
	Every                       time.Duration // between two looks at the file; 0 is a second
	Now                         func() time.Time
	Log                         *slog.Logger
}

// Batch gathers what one read of the file brings, and stores it.
type Batch struct {
	Line  func(line []byte) (at time.Time, err error)
	Rows  func() int
	Store func(ctx context.Context, run analysis.Run) error
}

// Feed turns reads of a file into runs: each read is one, over the time since the
// read before or over the span that was asked for. Understood lines are stored even
// where others are not; those become failed runs of code bad_reply, over the time
// between their understood neighbours only.
type Feed struct {
	cfg    FeedConfig
	sink   RunSink
	reader Reader

	covered time.Time // until when good runs are stored
	stored  time.Time // when the last run was stored
	failing string    // code of the last failure, empty after a success
}

// idle is how often a run is stored when the file brings nothing new.
const idle = 5 * time.Second

// NewFeed makes a feed.
func NewFeed(cfg FeedConfig, sink RunSink) *Feed {
	if cfg.Every <= 0 {
		cfg.Every = time.Second
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Feed{cfg: cfg, sink: sink, reader: Reader{Path: cfg.Path}}
}

// Collect reads the whole file for a span. A file that cannot be read is a stored
// run and an error; lines that are not understood are stored runs and no error.
func (f *Feed) Collect(ctx context.Context, from, to time.Time, b Batch) error {
	reader := Reader{Path: f.cfg.Path}
	holes, err := reader.Read(true, b.Line)
	return f.store(ctx, from, to, b, holes, err)
}

// Run reads what is new until ctx ends; batch makes a batch for each read.
func (f *Feed) Run(ctx context.Context, batch func() Batch) error {
	f.covered = f.cfg.Now()
	Follow(ctx, f.cfg.Every, func(ctx context.Context, last bool) {
		b := batch()
		holes, err := f.reader.Read(false, b.Line)
		now := f.cfg.Now()
		news := err == nil && (b.Rows() > 0 || len(holes) > 0)
		if !news && !last && runcode.OfFile(err) == f.failing && now.Sub(f.stored) < idle {
			return
		}
		failed := f.store(ctx, f.covered, now, b, holes, err)
		if failed != nil && runcode.OfFile(failed) != f.failing {
			f.cfg.Log.Error("file not collected", "service", f.cfg.Service, "source", f.cfg.Source, "error", failed)
		}
		f.failing, f.stored = runcode.OfFile(failed), now
		if failed == nil {
			f.reader.Keep()
			f.covered = now // after a failure covered stays: the file may come back whole
		}
	})
	return nil
}

func (f *Feed) store(ctx context.Context, from, to time.Time, b Batch, holes []Hole, err error) error {
	run := analysis.Run{Source: f.cfg.Source, Kind: f.cfg.Kind, From: from, To: to, At: f.cfg.Now()}
	if err != nil {
		run.Code, run.Error = runcode.OfFile(err), err.Error()
		if stored := f.sink.AddRun(ctx, f.cfg.Service, run); stored != nil {
			return fmt.Errorf("store run of %s: %w", f.cfg.Source, stored)
		}
		return err
	}
	run.Rows = b.Rows()
	if stored := b.Store(ctx, run); stored != nil {
		return fmt.Errorf("store %s: %w", f.cfg.Source, stored)
	}
	for i, hole := range holes {
		if i == maxHoles {
			break
		}
		failed := analysis.Run{Source: f.cfg.Source, Kind: f.cfg.Kind, Code: "bad_reply"}
		failed.From, failed.To = hole.Span(from, to)
		failed.Error = Describe(f.cfg.Path, holes[i:i+1])
		if i == maxHoles-1 && len(holes) > maxHoles { // many: one run stands for all that are left
			failed.To = to
			failed.Error = Describe(f.cfg.Path, holes[i:])
		}
		// Later than the run over the whole span, which does not make up for it.
		failed.At = run.At.Add(time.Duration(i+1) * time.Microsecond)
		if stored := f.sink.AddRun(ctx, f.cfg.Service, failed); stored != nil {
			return fmt.Errorf("store run of %s: %w", f.cfg.Source, stored)
		}
	}
	return nil
}

// maxHoles bounds the failed runs that one read stores.
const maxHoles = 100
