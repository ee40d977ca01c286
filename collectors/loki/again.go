package loki

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gapless/analysis"
)

// lookAgain reads a second time what has become older than Late, and adds the lines
// that came after they were due: an agent that sends in batches, or was cut off for a
// while. What comes later still is not seen.
func (r *Reader) lookAgain(ctx context.Context, whole bool) error {
	settled := wholeSecond(r.cfg.Now().Add(-r.cfg.Late).UnixNano())
	for _, s := range r.position.Spans {
		to := min(settled, wholeSecond(s.To))
		if to <= s.Look || !whole && to-s.Look < int64(lookLeast) {
			continue
		}
		run := analysis.Run{Source: r.cfg.Source, Kind: Kind, From: moment(s.Look), To: moment(to)}
		late, err := r.lookAt(ctx, s, to, run)
		if errors.Is(err, analysis.ErrMoved) || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		if err != nil {
			run.Code, run.Error = failure(err), err.Error()
			if !r.unsure {
				err = errors.Join(err, r.addRun(ctx, run))
			}
			r.unsure = true
			return fmt.Errorf("look for late lines: %w", err)
		}
		if r.unsure && late == 0 {
			if err := r.addRun(ctx, run); err != nil {
				return err
			}
		}
		r.unsure = false
		if late > 0 {
			r.cfg.Log.Info("late lines", "service", r.cfg.Service, "source", r.cfg.Source, "lines", late)
		}
	}
	r.position.join()
	return nil
}

// lookAt compares [Look, to) of a span with what was read of it, second by second,
// and returns how many lines were added.
func (r *Reader) lookAt(ctx context.Context, s *span, to int64, run analysis.Run) (late int, err error) {
	b := analysis.AppBatch{Run: run, Again: true}
	var pending []entry // of one second, which the next reply may go on with
	compare := func() {
		if len(pending) > 0 {
			late += r.compare(&b, s.Recent[pending[0].at/int64(time.Second)], pending)
			pending = pending[:0]
		}
	}
	for c := (cursor{next: s.Look}); c.next < to; {
		got, err := r.step(ctx, c, to)
		if err != nil {
			return 0, err
		}
		for _, e := range got.entries {
			if len(pending) > 0 && wholeSecond(pending[0].at) != wholeSecond(e.at) {
				compare()
			}
			pending = append(pending, e)
		}
		if got.cut {
			r.position.cut(c.next)
		}
		c = got.next
	}
	compare()
	s.Look = to
	s.forget()
	if late == 0 {
		return 0, nil // stored with the next lines
	}
	return late, r.store(ctx, b)
}

// compare adds a second's lines where there are others than were read of it before.
// What they tell is stored under keys of its own, so that what is there already stays
// as it is; of the counts only the difference is added.
func (r *Reader) compare(into *analysis.AppBatch, before *second, entries []entry) (late int) {
	read := summary(entries)
	if before == nil {
		before = &second{}
	}
	if before.same(read) {
		return 0
	}
	counted := len(into.Counts)
	r.tell(into, entries)
	kept := into.Counts[:counted]
	for _, c := range into.Counts[counted:] {
		earlier := before.counts(c.Rule)
		c.Lines, c.Matched = max(c.Lines-earlier[0], 0), max(c.Matched-earlier[1], 0)
		if c.Lines > 0 {
			kept = append(kept, c)
		}
	}
	into.Counts = kept
	return max(read.Lines-before.Lines, 1)
}
