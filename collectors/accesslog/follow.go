package accesslog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"gapless/analysis"
	"gapless/collectors/follow"
)

// A followed file is stored as stretches, each an object whose key names the text, its
// bytes and a sum of the last of them, and whose name says where it begins. The ledger of
// objects is the only record of how far a file was read, so that rows and position cannot
// disagree, whenever the process dies; and since a name is stored once, two processes
// cannot both go on from one place: the second one learns what the first one read.
//
// Of a file of which something was not read there is an object without lines that breaks
// off, which is whole once nothing is missing.

// movedMost is how often in a row others may have read on before us.
const movedMost = 100

// followed makes one pass over the files: what is new in them is read and stored.
func (r *Reader) followed(ctx context.Context, s passSpan, progress func(done, total int, bytes int64)) error {
	r.following.Lock()
	defer r.following.Unlock()
	rows, done, bytes := 0, 0, int64(0)
	read := func(part *follow.Stretch) error {
		understood, err := r.stretch(ctx, part)
		if err != nil {
			return err
		}
		done, rows, bytes = done+1, rows+understood, bytes+part.To-part.From
		if progress != nil {
			progress(done, done, bytes)
		}
		return nil
	}
	err := r.restore(ctx)
	for moved := 0; err == nil; moved++ {
		err = r.files.Look(ctx, r.cfg.Now(), s.lookFrom, read)
		if !errors.Is(err, analysis.ErrMoved) || moved == movedMost {
			break
		}
		err = r.learn(ctx)
	}
	if !errors.Is(err, analysis.ErrMoved) && ctx.Err() == nil { // also where a file beside them could not be read
		if err = errors.Join(err, r.tellUnread(ctx, s)); err == nil {
			err = r.keepPlaces(ctx)
		}
	}
	if err != nil {
		return r.failed(ctx, s.newFrom, s.to, time.Time{}, fmt.Errorf("follow %s: %w", r.pattern, err))
	}
	run := analysis.Run{Source: r.cfg.Source, Kind: r.cfg.Kind, From: s.from, To: s.to, At: r.cfg.Now(), Rows: rows}
	if err := r.sink.AddRun(ctx, r.cfg.Service, run); err != nil {
		return fmt.Errorf("store run: %w", err)
	}
	return nil
}

// tellUnread stores of which files something was not read, and of which nothing is
// missing any more, whoever found that.
func (r *Reader) tellUnread(ctx context.Context, s passSpan) error {
	stored, err := r.sink.CutObjects(ctx, r.cfg.Service, r.cfg.Source)
	if err != nil {
		return fmt.Errorf("ask which files were not read to their ends: %w", err)
	}
	for path, unread := range r.files.Unread() {
		batch := analysis.ObjectBatch{Object: analysis.Object{Source: r.cfg.Source, Key: "rest of " + path}}
		version, isStored := stored[batch.Key]
		switch {
		case unread == nil && !isStored, unread != nil && isStored && version == unread.Version:
			continue
		case unread != nil:
			batch.To = unread.Until.UTC()
			batch.From, batch.Partial, batch.Error, batch.Version = unread.Since.UTC(), true, unread.Why.Error(), unread.Version
			if batch.From.IsZero() && !unread.Final {
				batch.From = s.from
			}
			r.cfg.Log.Warn("log file is not read to its end", "service", r.cfg.Service, "source", r.cfg.Source, "file", path, "why", unread.Why)
		}
		if _, err := r.sink.AddObject(ctx, r.cfg.Service, batch); err != nil {
			return fmt.Errorf("store that %s was not read to its end: %w", path, err)
		}
	}
	return nil
}

// keepPlaces stores which texts the paths led to, for whoever looks next.
func (r *Reader) keepPlaces(ctx context.Context) error {
	places := r.files.Places()
	if maps.Equal(places, r.places) {
		return nil
	}
	if err := r.sink.KeepPlaces(ctx, r.cfg.Service, r.cfg.Source, places); err != nil {
		return fmt.Errorf("store which texts are followed: %w", err)
	}
	r.places = places
	return nil
}

// keepOpen says whether files are held open for a next pass; where not, those that are
// held are closed.
func (r *Reader) keepOpen(running bool) {
	r.following.Lock()
	r.running = running
	r.following.Unlock()
	r.letGo()
}

// letGo closes the files that are held open, unless a next pass will want them.
func (r *Reader) letGo() {
	r.following.Lock()
	defer r.following.Unlock()
	if r.files != nil && !r.running {
		r.files.Close()
	}
}

// restore learns from the ledger how far the files were read, before the first pass.
func (r *Reader) restore(ctx context.Context) error {
	if r.files != nil {
		return nil
	}
	r.files = follow.New(r.pattern, r.cfg.Settle, r.timeOf)
	err := r.learn(ctx)
	if err == nil {
		r.places, err = r.sink.Places(ctx, r.cfg.Service, r.cfg.Source)
	}
	if err != nil {
		r.files = nil
	} else {
		for path, text := range r.places {
			r.files.Await(path, text)
		}
	}
	return err
}

// learn learns from the ledger what was read.
func (r *Reader) learn(ctx context.Context) error {
	keys, err := r.sink.ObjectKeys(ctx, r.cfg.Service, r.cfg.Source)
	if err != nil {
		return fmt.Errorf("ask how far files were read: %w", err)
	}
	for key, last := range keys {
		r.files.Restore(key, last)
	}
	return nil
}

// timeOf is when a line's request ended; zero where the line is not understood.
func (r *Reader) timeOf(text []byte) time.Time {
	lines, err := newFormat(&r.cfg)
	if err != nil {
		return time.Time{}
	}
	var e entry
	if _, ok := lines.parse(withoutBOM(&line{text: bytes.TrimSuffix(text, []byte{'\r'}), number: 1}), &e); !ok || !anyObject.holds(&e) {
		return time.Time{}
	}
	return at(e.end)
}

// stretch reads a stretch of a file into an object and stores it. It answers how many
// lines were understood. One that somebody else read before is [analysis.ErrMoved].
func (r *Reader) stretch(ctx context.Context, part *follow.Stretch) (understood int, err error) {
	object := analysis.Object{Source: r.cfg.Source, Key: part.Key(), To: part.Modified.UTC()}
	lines, err := newFormat(&r.cfg)
	if err != nil {
		return 0, err
	}
	roll := newRollup(lines, r.rules, &r.cfg, object)
	source := &watched{r: part.Reader}
	end, err := eachLine(ctx, source, roll.add)
	if err == nil {
		err = source.err
	}
	if err == nil {
		err = part.Verify()
	}
	if err != nil {
		return 0, err
	}
	batch := roll.finish(end)
	batch.Name = part.Name()
	if len(batch.Cells) > 0 {
		batch.From, batch.To = spanOf(&batch)
		batch.To = later(batch.To, object.To)
	}
	if part.Broken != nil {
		batch.Partial, batch.Error = true, fmt.Sprintf("%s: %v", part.Path, part.Broken)
		batch.To = time.Time{} // nobody knows how far it would have reached
		r.cfg.Log.Warn("log file is cut short", "service", r.cfg.Service, "source", r.cfg.Source, "file", part.Path, "after", part.To, "why", part.Broken)
	}
	stored, err := r.sink.AddObject(ctx, r.cfg.Service, batch)
	switch {
	case err != nil:
		return 0, fmt.Errorf("store %s of %s: %w", batch.Key, part.Path, err)
	case !stored && part.Broken == nil:
		return 0, fmt.Errorf("store %s of %s: %w", batch.Key, part.Path, analysis.ErrMoved)
	}
	return batch.Understood, nil
}
