package loki

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gapless/analysis"
)

// idle is how often a run is stored when no line comes.
const idle = 5 * time.Second

// lookLeast is how much time is gathered before it is looked at a second time.
const lookLeast = 10 * time.Second

// longestAbsence is how long a console may have been away for its lines to be read
// from where it left; what is older is read when somebody asks for it.
const longestAbsence = 30 * 24 * time.Hour

// codeTruncated says that lines are missing since too many share a nanosecond.
const codeTruncated = "truncated"

// passes bounds how often a pass begins again since another reader of the same log
// was there meanwhile.
const passes = 5

// Collect reads what was not read yet of [from, to), up to Delay before the present,
// and stores it with a run over it. The error is stored as a failed run too.
func (r *Reader) Collect(ctx context.Context, from, to time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if seen := r.cfg.Now().Add(-r.cfg.Delay); to.After(seen) {
		to = seen
	}
	if !from.Before(to) {
		return nil
	}
	_, err := r.pass(ctx, from, to, true)
	return err
}

// Run reads what is new until ctx ends. It goes on from where the last reader ended,
// else from Late before the present. Failures are stored, not returned.
func (r *Reader) Run(ctx context.Context) error {
	tick := time.NewTicker(r.cfg.Every)
	defer tick.Stop()
	for {
		r.look(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// look is one live pass. Its run reaches back to the last good one: what a pass
// could not read, the next good one brings.
func (r *Reader) look(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.cfg.Now()
	err := r.begin(ctx, now)
	if to := now.Add(-r.cfg.Delay); err == nil && r.covered.Before(to) {
		var stored bool
		if stored, err = r.pass(ctx, r.covered, to, false); err == nil && stored {
			r.covered = to
		}
	}
	if ctx.Err() != nil {
		return // what was not stored is read again
	}
	code := failure(err)
	if code != r.failing && err != nil {
		r.cfg.Log.Warn("application log not read", "service", r.cfg.Service, "source", r.cfg.Source, "code", code, "error", err)
	}
	r.failing = code
}

// begin finds out where live reading goes on from.
func (r *Reader) begin(ctx context.Context, now time.Time) error {
	if !r.covered.IsZero() {
		return nil
	}
	if err := r.load(ctx); err != nil {
		return err
	}
	r.covered = now.Add(-r.cfg.Late)
	if n := len(r.position.Spans); n > 0 {
		if last := moment(r.position.Spans[n-1].To); last.After(now.Add(-longestAbsence)) && last.Before(now) {
			r.covered = last
		}
	}
	return nil
}

func (r *Reader) load(ctx context.Context) error {
	if r.position != nil {
		return nil
	}
	stored, err := r.sink.Position(ctx, r.cfg.Service, r.cfg.Source, r.file)
	if err != nil {
		return fmt.Errorf("load position: %w", err)
	}
	if r.position, err = decodePosition(stored); err != nil {
		return err
	}
	r.stored = stored
	return nil
}

// pass reads [from, to) once; stored says whether a run over it was stored. Where
// another reader of the same log was there meanwhile, it goes on from where that one
// ended.
func (r *Reader) pass(ctx context.Context, from, to time.Time, always bool) (stored bool, err error) {
	for range passes {
		if err := r.load(ctx); err != nil {
			return false, err
		}
		p := &pass{r: r, run: analysis.Run{Source: r.cfg.Source, Kind: Kind, From: from, To: to}, reached: from, always: always}
		stored, err = p.read(ctx)
		if err == nil {
			return stored, nil
		}
		r.position = nil // what was not stored is read again
		if !errors.Is(err, analysis.ErrMoved) {
			return stored, err
		}
	}
	return stored, err
}

// pass is one look at the times that were not read yet.
type pass struct {
	r       *Reader
	run     analysis.Run
	reached time.Time // runs of the pass vouch for everything before it
	always  bool      // store a run even where there is nothing new
	waiting bool      // something without lines was read after reached, and is not stored
	done    bool      // the run over all of it is stored
}

func (p *pass) read(ctx context.Context) (stored bool, err error) {
	r := p.r
	failed := r.lookAgain(ctx, p.always)
	if errors.Is(failed, analysis.ErrMoved) || ctx.Err() != nil {
		return false, errors.Join(failed, ctx.Err())
	}
	gaps := r.position.gaps(wholeSecond(p.run.From.UnixNano()), p.run.To.UnixNano())
	for i, gap := range gaps {
		if err := p.fill(ctx, gap, i == len(gaps)-1); err != nil {
			if errors.Is(err, analysis.ErrMoved) || ctx.Err() != nil {
				return false, err
			}
			return false, errors.Join(failed, err, p.fail(ctx, p.reached, p.run.To, err))
		}
	}
	if !p.done && (p.due() || r.failing != "") {
		if err := r.addRun(ctx, p.run); err != nil {
			return false, errors.Join(failed, err)
		}
		p.done = true
	}
	if p.done {
		err := p.tell(ctx, r.position.Cut, codeTruncated, "more lines share the time %s than this Loki gives at once")
		if err == nil {
			err = p.tell(ctx, r.position.Doubt, analysis.CodeBadReply, "%s: "+r.lines.InDoubt())
		}
		if err != nil {
			return true, errors.Join(failed, err)
		}
	}
	return p.done, failed
}

// fail stores that a span was not read.
func (p *pass) fail(ctx context.Context, from, to time.Time, err error) error {
	run := p.run
	run.From, run.To, run.Code, run.Error = from, to, failure(err), err.Error()
	if !p.always && run.Code == p.r.failing && !p.due() {
		return nil
	}
	return p.r.addRun(ctx, run)
}

// tell stores as failed moments of the run's span: what could not be read for want of a
// way to ask for it, or cannot be read in one sure way. It comes after the good run that
// it is an exception of.
func (p *pass) tell(ctx context.Context, moments [][2]int64, code, text string) error {
	for _, cut := range moments {
		run := p.run
		run.From, run.To, run.Code = moment(cut[0]), moment(cut[1]).Add(time.Microsecond), code
		if run.To.Before(p.run.From) || !run.From.Before(p.run.To) {
			continue
		}
		run.Error = fmt.Sprintf(text, time.Unix(0, cut[0]).UTC().Format(time.RFC3339Nano))
		if err := p.r.addRun(ctx, run); err != nil {
			return err
		}
	}
	return nil
}

// fetched is a stretch, or why there is none.
type fetched struct {
	stretch
	err error
}

// fill reads a gap, reply by reply; the next one is on its way while one is stored.
func (p *pass) fill(ctx context.Context, g gap, last bool) error {
	r := p.r
	ctx, cancel := context.WithCancel(ctx)
	replies := make(chan fetched, 1)
	fetch := func(c cursor) {
		go func() {
			got, err := r.step(ctx, c, g.to)
			replies <- fetched{got, err}
		}()
	}
	if !p.waiting && p.reached.Before(moment(g.from)) {
		p.reached = moment(g.from)
	}
	settled := r.cfg.Now().Add(-r.cfg.Late).UnixNano()
	s := r.position.open(g, settled)
	fetch(s.cursor())
	for waiting := true; waiting; {
		got := <-replies
		if got.err != nil {
			cancel()
			return got.err
		}
		if waiting = got.next.next < g.to; waiting {
			fetch(got.next)
		}
		if err := p.keep(ctx, s, got.stretch, settled, last && !waiting); err != nil {
			cancel()
			if waiting {
				<-replies
			}
			return err
		}
	}
	cancel()
	r.position.join()
	return nil
}

// keep stores what a stretch brought, with the position after it. A stretch without
// lines waits for the next one, unless it is time for a run.
func (p *pass) keep(ctx context.Context, s *span, got stretch, settled int64, last bool) error {
	r := p.r
	began := s.To
	s.settle(settled, got.next.next)
	var b analysis.AppBatch
	r.interpret(&b, s, got.entries)
	s.moveTo(got.next)
	if got.cut {
		r.position.cut(began)
	}
	due := last && (p.due() || r.failing != "")
	if len(got.entries) == 0 && !got.cut && !due {
		p.waiting = true
		return nil
	}
	b.Run = p.run
	if b.From, b.To = p.reached, moment(got.next.next); last {
		b.From, b.To = p.run.From, p.run.To
	}
	if err := r.store(ctx, b); err != nil {
		return err
	}
	p.reached, p.waiting, p.done = moment(got.next.next), false, last
	return nil
}

// due says that a run is to be stored even where there is nothing new.
func (p *pass) due() bool {
	return p.always || p.r.cfg.Now().Sub(p.r.lastRun) >= idle
}

// store stores a batch with the position as it is now.
func (r *Reader) store(ctx context.Context, b analysis.AppBatch) error {
	b.File, b.Before, b.Position = r.file, r.stored, r.position.encode()
	b.Rows = len(b.Handled) + len(b.Steps) + len(b.Signals) + len(b.Journeys)
	b.At = r.now()
	if err := r.sink.AddAppBatch(ctx, r.cfg.Service, b); err != nil {
		return fmt.Errorf("store lines: %w", err)
	}
	r.stored = b.Position
	return nil
}

func (r *Reader) addRun(ctx context.Context, run analysis.Run) error {
	run.At = r.now()
	if err := r.sink.AddRun(ctx, r.cfg.Service, run); err != nil {
		return fmt.Errorf("store run: %w", err)
	}
	return nil
}

// now gives every run a moment of its own: runs are told apart by it.
func (r *Reader) now() time.Time {
	at := r.cfg.Now().Truncate(time.Microsecond)
	if !at.After(r.lastRun) {
		at = r.lastRun.Add(time.Microsecond)
	}
	r.lastRun = at
	return at
}

// moment is a time as the rest of the program knows it: to the microsecond.
func moment(nanoseconds int64) time.Time {
	return time.Unix(0, nanoseconds).UTC().Truncate(time.Microsecond)
}
