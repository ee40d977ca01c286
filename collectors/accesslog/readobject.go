package accesslog

import (
	"context"
	"errors"
	"io"
	"math"
	"time"

	"gapless/analysis"
)

// roll reads one object into a batch. Where it could not be read the batch says so
// and holds nothing else.
func (r *Reader) roll(ctx context.Context, c candidate) (analysis.ObjectBatch, error) {
	object := analysis.Object{Source: r.cfg.Source, Node: c.name.node, Key: c.key}
	if c.name.known {
		object.From, object.To = c.name.end.Add(-objectSpan), c.name.end
	}
	if _, ok := r.place.(*bucket); ok { // a file's time may be that of a copy
		object.Arrived = c.modified.UTC()
	}
	batch, err := r.readObject(ctx, c, object)
	if err != nil {
		object.Error = err.Error()
		return analysis.ObjectBatch{Object: object, Name: c.id(), Version: c.version()}, err
	}
	batch.Name, batch.Version = c.id(), c.version()
	if !c.name.known {
		batch.From, batch.To = spanOf(&batch)
		switch {
		case batch.Partial:
			batch.To = time.Time{} // nobody knows how far it would have reached
		case batch.To.IsZero(): // without lines
			batch.To = c.modified.UTC()
		}
	}
	return batch, nil
}

// readObject rolls an object up. Where its content is corrupt, only the lines that
// lie wholly in members of the gzip file whose checksums are right are kept: there is
// no telling from where on what was unpacked is wrong. Of one that is only cut short
// the lines before the cut are kept.
func (r *Reader) readObject(ctx context.Context, c candidate, object analysis.Object) (analysis.ObjectBatch, error) {
	batch, end, err := r.readUpTo(ctx, c, object, ending{sound: math.MaxInt64})
	if err == nil && end.corrupt() {
		batch, _, err = r.readUpTo(ctx, c, object, end)
	}
	return batch, err
}

// readUpTo rolls up the lines within what is known to be sound.
func (r *Reader) readUpTo(ctx context.Context, c candidate, object analysis.Object, known ending) (analysis.ObjectBatch, ending, error) {
	body, err := r.place.open(ctx, c.stored)
	if err != nil {
		return analysis.ObjectBatch{}, ending{}, err
	}
	defer body.Close()
	source := &watched{r: body}
	lines, err := newFormat(&r.cfg)
	if err != nil {
		return analysis.ObjectBatch{}, ending{}, err
	}
	roll := newRollup(lines, r.rules, &r.cfg, object)
	visit := roll.add
	if known.corrupt() {
		visit = func(l *line) {
			if !l.cut && l.offset+max(int64(len(l.text)), l.long) < known.sound {
				roll.add(l)
			}
		}
	}
	end, err := eachLine(ctx, source, visit)
	if err == nil {
		err = source.err
	}
	if err != nil {
		return analysis.ObjectBatch{}, ending{}, err
	}
	if end.err == nil && known.corrupt() {
		end.err = known.err // it is another object by now, and the next pass reads that
	}
	if source.empty && c.packed() {
		end.err = io.ErrUnexpectedEOF // even nothing takes some bytes when it is packed
	}
	return roll.finish(end), end, nil
}

// watched tells an error of the source from one in what it delivered: both may be
// io.ErrUnexpectedEOF.
type watched struct {
	r     io.Reader
	err   error
	empty bool // it ended, and nothing came
	some  bool
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	w.some = w.some || n > 0
	w.empty = err != nil && !w.some
	if err != nil && !errors.Is(err, io.EOF) {
		w.err = err
	}
	return n, err
}

// spanOf is the time that an object's lines are about; zero where it has none.
func spanOf(b *analysis.ObjectBatch) (from, to time.Time) {
	add := func(first, last time.Time) {
		if to.IsZero() {
			from, to = first, last
		}
		from, to = earlier(first, from), later(last, to)
	}
	for i := range b.Cells {
		add(b.Cells[i].First, b.Cells[i].Last)
	}
	for i := range b.Checks {
		add(b.Checks[i].At, b.Checks[i].Done())
	}
	return from, to
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
