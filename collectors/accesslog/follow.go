package accesslog

import (
	"context"
	"fmt"
	"time"

	"gapless/analysis"
	"gapless/collectors/follow"
)

// A followed file is stored as stretches, each an object whose key names the text, its
// bytes and a sum of the last of them. The ledger of objects is the only record of
// how far a file was read, so that rows and position cannot disagree, whenever the
// process dies.

// followed makes one pass over the files: what is new in them is read and stored.
func (r *Reader) followed(ctx context.Context, s passSpan, progress func(done, total int, bytes int64)) error {
	r.following.Lock()
	defer r.following.Unlock()
	if r.files == nil {
		files, err := r.restore(ctx)
		if err != nil {
			return r.failed(ctx, s.newFrom, s.to, time.Time{}, err)
		}
		r.files = files
	}
	rows, done, bytes := 0, 0, int64(0)
	err := r.files.Look(ctx, r.cfg.Now(), s.lookFrom, func(part *follow.Stretch) error {
		understood, err := r.stretch(ctx, part)
		if err != nil {
			return err
		}
		done, rows, bytes = done+1, rows+understood, bytes+part.To-part.From
		if progress != nil {
			progress(done, done, bytes)
		}
		return nil
	})
	if err != nil {
		return r.failed(ctx, s.newFrom, s.to, time.Time{}, fmt.Errorf("follow %s: %w", r.pattern, err))
	}
	run := analysis.Run{Source: r.cfg.Source, Kind: r.cfg.Kind, From: s.from, To: s.to, At: r.cfg.Now(), Rows: rows}
	if err := r.sink.AddRun(ctx, r.cfg.Service, run); err != nil {
		return fmt.Errorf("store run: %w", err)
	}
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

// restore learns from the ledger how far the files were read.
func (r *Reader) restore(ctx context.Context) (*follow.Files, error) {
	keys, err := r.sink.ReadObjects(ctx, r.cfg.Service, r.cfg.Source, time.Unix(0, 0).UTC(), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC))
	if err != nil {
		return nil, fmt.Errorf("ask how far files were read: %w", err)
	}
	files := follow.New(r.pattern, r.cfg.Settle)
	for key := range keys {
		files.Restore(key)
	}
	return files, nil
}

// stretch reads a stretch of a file into an object and stores it. It answers how many
// lines were understood.
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
	if len(batch.Cells) > 0 {
		batch.From, batch.To = spanOf(&batch)
		batch.To = later(batch.To, object.To)
	}
	if part.Broken != nil {
		batch.Partial, batch.Error = true, ""
		batch.To = time.Time{} // nobody knows how far it would have reached
		r.cfg.Log.Warn("log file is cut short", "service", r.cfg.Service, "source", r.cfg.Source, "file", part.Path, "after", part.From)
	}
	if _, err := r.sink.AddObject(ctx, r.cfg.Service, batch); err != nil {
		return 0, fmt.Errorf("store %s of %s: %w", batch.Key, part.Path, err)
	}
	return batch.Understood, nil
}
