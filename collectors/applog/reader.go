package applog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gapless/analysis"
	"gapless/collectors/follow"
	"gapless/collectors/runcode"
)

// idle is how often a run is stored when the files bring nothing new.
const idle = 5 * time.Second

// Collect reads everything that is new in the files, however old, and stores it
// with a run over [from, to). Files last written before from are left alone; a pipe is
// read to its end. The error is that of files that could not be read; it is stored as a
// failed run too.
func (r *Reader) Collect(ctx context.Context, from, to time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Once() {
		return r.readPipe(ctx, from, to, false)
	}
	_, err := r.pass(ctx, from, to, true, true)
	return err
}

// Run reads what is new until ctx ends, and once more then. On first sight a file
// is read from its start. Failures of files are stored, not returned.
func (r *Reader) Run(ctx context.Context) error {
	if r.Once() {
		return r.runPipe(ctx)
	}
	r.mu.Lock()
	r.covered = r.cfg.Now()
	r.mu.Unlock()
	tick := time.NewTicker(r.cfg.Every)
	defer tick.Stop()
	for {
		r.look(ctx, false)
		select {
		case <-ctx.Done():
			bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			r.look(bounded, true)
			return nil
		case <-tick.C:
		}
	}
}

// look is one live pass. Its run reaches back to the last good one: what a pass
// could not read, the next good one brings.
func (r *Reader) look(ctx context.Context, last bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.cfg.Now()
	stored, err := r.pass(ctx, r.covered, now, last, false)
	if ctx.Err() != nil {
		return // what was not stored is read again
	}
	code := runcode.OfFile(err)
	if code != r.failing && err != nil {
		r.cfg.Log.Warn("application log not read", "service", r.cfg.Service, "source", r.cfg.Source, "code", code, "error", err)
	}
	if err == nil && stored {
		r.covered = r.reached
	}
	r.failing = code
}

// pass reads every file once. A run is stored when there is something new, when the
// kind of failure changed, when always is set, and otherwise every [idle]; stored
// says whether it was. whole allows for files that nobody writes to any more.
//
// Where another reader of the same log was there meanwhile, everything that is not
// stored yet is read again from where that one ended.
func (r *Reader) pass(ctx context.Context, from, to time.Time, always, whole bool) (stored bool, err error) {
	for range passes {
		stored, err = r.onePass(ctx, from, to, always, whole)
		if !errors.Is(err, analysis.ErrMoved) {
			return stored, err
		}
		r.forget()
	}
	return stored, err
}

// errNotStored is why a pass ends before it has looked at every file.
var errNotStored = errors.New("store lines")

// passes bounds how often one pass begins again.
const passes = 5

// forget makes the next pass begin where the store says that each file was read to.
// Files that were renamed are found again by their numbers.
func (r *Reader) forget() {
	for _, f := range r.files {
		if f.handle != nil {
			_ = f.handle.Close() // it was only read
		}
	}
	clear(r.files)
}

func (r *Reader) onePass(ctx context.Context, from, to time.Time, always, whole bool) (stored bool, err error) {
	p := &pass{reader: r, run: analysis.Run{Source: r.cfg.Source, Kind: r.cfg.Kind, From: from, To: to}, until: to}
	var failures []error
	paths, err := follow.Paths(r.pattern)
	if err != nil { // of some of the folders, maybe
		failures = append(failures, err)
	}
	if len(paths) > 0 {
		if err = r.load(ctx, append(oldNames(paths), paths...)); err == nil {
			if err = r.missing(ctx, p, paths); err != nil {
				paths = nil // what was renamed would be taken for new
			}
		}
		if errors.Is(err, analysis.ErrMoved) {
			return false, err
		}
		if err != nil {
			failures = append(failures, err)
		}
	}
	for _, path := range paths {
		err := r.read(ctx, p, path, from, whole, always)
		if err != nil {
			failures = append(failures, err)
		}
		if errors.Is(err, analysis.ErrMoved) {
			return false, err
		}
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if errors.Is(err, errNotStored) {
			break // how far a file was read under its old name must be known before its new one is read
		}
	}
	err = errors.Join(failures...)
	if p.until.Before(from) {
		p.until = from
	}
	r.reached = p.until
	if !always && p.pending == nil && len(p.holes) == 0 && runcode.OfFile(err) == r.failing && r.cfg.Now().Sub(r.stored) < idle {
		return false, err
	}
	if failed := p.finish(ctx, err); failed != nil {
		return false, errors.Join(err, failed)
	}
	r.stored = r.cfg.Now()
	return true, err
}

// pass is one reading of the files. Only its last batch carries the run over the
// whole span; those before it carry runs of no length, since they do not cover it.
type pass struct {
	reader  *Reader
	run     analysis.Run
	until   time.Time // what was written before it was read
	pending *analysis.AppBatch
	after   func() // makes the pending batch count as read
	file    *file  // that the pending batch is of
	holes   []hole // that are new
	stored  int
}

// add stores the batch before and keeps this one until it is known to be the last.
func (p *pass) add(ctx context.Context, f *file, b analysis.AppBatch, after func()) error {
	if err := p.flush(ctx, p.run.From); err != nil {
		return err
	}
	p.pending, p.after, p.file = &b, after, f
	return nil
}

func (p *pass) flush(ctx context.Context, to time.Time) error {
	if p.pending == nil {
		return nil
	}
	b := *p.pending
	p.pending = nil
	b.Run, b.Before = p.run, p.file.stored
	b.To = to
	b.At = p.at()
	b.Rows = len(b.Handled) + len(b.Steps) + len(b.Signals) + len(b.Journeys)
	if err := p.reader.sink.AddAppBatch(ctx, p.reader.cfg.Service, b); err != nil {
		return fmt.Errorf("%w of %s: %w", errNotStored, b.File, err)
	}
	p.after()
	return nil
}

// at gives every run of a pass a moment of its own: runs are told apart by it.
func (p *pass) at() time.Time {
	at := p.reader.cfg.Now().Add(time.Duration(p.stored) * time.Microsecond)
	p.stored++
	return at
}

// finish stores what is left, with the run that tells how the pass went.
func (p *pass) finish(ctx context.Context, err error) error {
	run := p.run
	if err != nil {
		if failed := p.flush(ctx, p.run.From); failed != nil {
			return failed
		}
		run.Code, run.Error = runcode.OfFile(err), err.Error()
		if failed := p.addRun(ctx, run); failed != nil {
			return failed
		}
		return p.addHoles(ctx, run, p.holes)
	}
	run.To = p.until
	if p.pending != nil {
		if failed := p.flush(ctx, p.until); failed != nil {
			return failed
		}
	} else if failed := p.addRun(ctx, run); failed != nil {
		return failed
	}
	holes := p.holes
	for _, f := range p.reader.files {
		holes = append(holes, within(f.position.Holes, run.From, run.To)...)
	}
	return p.addHoles(ctx, run, holes)
}

// addHoles tells of what was not understood: the good run before does not vouch for it.
func (p *pass) addHoles(ctx context.Context, run analysis.Run, holes []hole) error {
	for _, failed := range holeRuns(run, holes) {
		if err := p.addRun(ctx, failed); err != nil {
			return err
		}
	}
	return nil
}

func (p *pass) addRun(ctx context.Context, run analysis.Run) error {
	run.At, run.Error = p.at(), strings.ToValidUTF8(run.Error, "\uFFFD")
	if err := p.reader.sink.AddRun(ctx, p.reader.cfg.Service, run); err != nil {
		return fmt.Errorf("store run of %s: %w", run.Source, err)
	}
	return nil
}
