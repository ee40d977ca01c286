package applog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"
	"time"

	"gapless/analysis"
	"gapless/collectors/applog/logrules"
	"gapless/collectors/runcode"
)

// Standard is the URL of a journal that comes in on the standard input.
const Standard = "-"

// Once says whether the log comes through a pipe: it is read as it comes, and what was
// read cannot be read again.
func (r *Reader) Once() bool {
	if r.cfg.Kind != KindJournal {
		return false
	}
	if r.pattern == Standard {
		return true
	}
	info, err := os.Stat(r.pattern)
	return err == nil && info.Mode()&os.ModeNamedPipe != 0
}

// pipePosition is what is known of the entries that came through a pipe, so that a
// journalctl that is started again may repeat some of them.
type pipePosition struct {
	// Cursors are the numbers of the last entry of each journal file series (i and s
	// of its cursor); journald counts up within a series.
	Cursors map[string]uint64 `json:"cursors"`
	State   position          `json:"state"`
}

// pipe is one reading of a pipe.
type pipe struct {
	reader   *Reader
	position pipePosition
	stored   []byte
	decoder  *journalDecoder
	split    *splitter
	batch    *logrules.Batch
	size     int
	covered  time.Time // until when runs are stored
	open     bool      // somebody writes
	runs     int
}

// errUnwritten is a named pipe that no program has opened to write.
var errUnwritten = errors.New("nobody writes to the pipe")

// readPipe reads a pipe until it ends, or ctx does. What comes in is stored at every
// tick. While nobody writes to a named pipe, nothing is covered: failed runs say so.
func (r *Reader) readPipe(ctx context.Context, from, to time.Time, live bool) error {
	p := &pipe{reader: r, decoder: &journalDecoder{reader: r}, batch: logrules.NewBatch(), covered: from}
	var err error
	if p.stored, err = r.sink.Position(ctx, r.cfg.Service, r.cfg.Source, r.pattern); err != nil {
		return fmt.Errorf("load position in %s: %w", r.pattern, err)
	}
	if len(p.stored) > 0 {
		if err := json.Unmarshal(p.stored, &p.position); err != nil {
			return fmt.Errorf("%s: decode position: %w", r.pattern, err)
		}
	}
	if p.position.Cursors == nil {
		p.position.Cursors = map[string]uint64{}
	}
	p.decoder.seen = p.seen
	p.split = &splitter{take: p.line, lost: p.longLine}
	opened, chunks, failed := r.chunks(ctx)
	begin := func(at time.Time) {
		p.open = true
		if live && at.After(p.covered) {
			p.covered = at
		}
	}
	tick := time.NewTicker(max(r.cfg.Every, 100*time.Millisecond))
	defer tick.Stop()
	end := func() time.Time {
		if live {
			return r.cfg.Now()
		}
		return to
	}
	last := r.cfg.Now()
	for {
		select {
		case at := <-opened:
			begin(at)
		case chunk, ok := <-chunks:
			if !p.open {
				select { // what was opened says so before anything comes out of it
				case at := <-opened:
					begin(at)
				default:
				}
			}
			if !ok {
				err := <-failed
				if errors.Is(err, io.EOF) {
					err = nil
				}
				p.split.end()
				p.decoder.give()
				p.settle()
				return errors.Join(err, p.store(ctx, end(), err))
			}
			p.split.write(chunk)
			if p.size >= batchBytes || p.batch.Rows() >= batchRows {
				if err := p.store(ctx, p.covered, nil); err != nil {
					return err
				}
			}
		case <-tick.C:
			if now := r.cfg.Now(); live && (p.size > 0 || now.Sub(last) >= idle) {
				if err := p.storeOrUnwritten(ctx, now); err != nil {
					return err
				}
				last = now
			}
		case <-ctx.Done():
			bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			return p.storeOrUnwritten(bounded, end())
		}
	}
}

// chunks delivers what comes in, and before it when there was somebody who writes. It
// holds no more than one piece, so that a store that is slow slows the writer down.
func (r *Reader) chunks(ctx context.Context) (<-chan time.Time, <-chan []byte, <-chan error) {
	begun, chunks, failed := make(chan time.Time, 1), make(chan []byte), make(chan error, 1)
	go func() {
		defer close(chunks)
		in := r.cfg.Stdin
		if r.pattern != Standard {
			opened, err := openPipe(ctx, r.pattern)
			if err != nil {
				failed <- err
				return
			}
			defer opened.Close()
			stop := context.AfterFunc(ctx, func() { _ = opened.Close() })
			defer stop()
			in = opened
		}
		if in == nil {
			failed <- errors.New("there is no standard input")
			return
		}
		begun <- r.cfg.Now()
		for {
			chunk := make([]byte, 64<<10)
			n, err := in.Read(chunk)
			if n > 0 {
				select {
				case chunks <- chunk[:n]:
				case <-ctx.Done():
					return
				}
			}
			if err != nil {
				failed <- err
				return
			}
		}
	}()
	return begun, chunks, failed
}

// openPipe waits for a writer, or for the end of ctx.
func openPipe(ctx context.Context, path string) (*os.File, error) {
	stop := context.AfterFunc(ctx, func() {
		// Whoever waits in open is let go by a writer that comes and goes.
		if w, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			_ = w.Close()
		}
	})
	defer stop()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	opened, err := os.Open(path)
	if err == nil && ctx.Err() != nil { // it was that one
		return nil, errors.Join(ctx.Err(), opened.Close())
	}
	return opened, err
}

func (p *pipe) line(raw []byte) {
	p.size += len(raw) + 1
	p.decoder.take(raw, 0, 0)
	p.settle()
}

func (p *pipe) longLine(part []byte, begins bool) {
	p.size += len(part)
	p.decoder.lost(part, begins, 0)
	p.settle()
}

func (p *pipe) settle() {
	p.reader.settle(p.batch, p.decoder, &p.position.State, func() string { return "" })
}

// seen says whether an entry came before, by its cursor; one without is new.
func (p *pipe) seen(cursor []byte) bool {
	series, number, ok := parseCursor(cursor)
	if !ok {
		return false
	}
	if last, known := p.position.Cursors[series]; known && number <= last {
		return true
	}
	if len(p.position.Cursors) < maxStreams || p.position.Cursors[series] > 0 {
		p.position.Cursors[series] = number
	}
	return false
}

// parseCursor reads "s=<series>;i=<number>;…", both in hexadecimal digits.
func parseCursor(cursor []byte) (series string, number uint64, ok bool) {
	for part := range bytes.SplitSeq(cursor, []byte(";")) {
		switch {
		case bytes.HasPrefix(part, []byte("s=")):
			series = string(part[2:])
		case bytes.HasPrefix(part, []byte("i=")):
			var err error
			number, err = strconv.ParseUint(string(part[2:]), 16, 64)
			ok = err == nil
		}
	}
	return series, number, ok && series != "" && len(series) <= 64
}

// store stores what came in, with a run up to a time, or with the one that failed.
func (p *pipe) store(ctx context.Context, to time.Time, failed error) error {
	r := p.reader
	run := analysis.Run{Source: r.cfg.Source, Kind: r.cfg.Kind, From: p.covered, To: to}
	b := analysis.AppBatch{File: r.pattern, Before: p.stored}
	r.lines.Fill(p.batch, &b)
	p.position.State.timeless(p.batch, "", r.cfg.Now().UTC())
	p.batch, p.size = logrules.NewBatch(), 0
	holes := p.position.State.untold()
	position, err := json.Marshal(p.position)
	if err != nil {
		return fmt.Errorf("encode position in %s: %w", r.pattern, err)
	}
	b.Position, b.Run = position, run
	if failed != nil {
		b.To = run.From
	}
	b.At, b.Rows = p.at(), len(b.Handled)+len(b.Steps)+len(b.Signals)+len(b.Journeys)
	if err := r.sink.AddAppBatch(ctx, r.cfg.Service, b); err != nil {
		return fmt.Errorf("store lines of %s: %w", r.pattern, err)
	}
	p.stored, p.covered = position, b.To
	if failed != nil {
		run.Code, run.Error = runcode.OfFile(failed), failed.Error()
		if err := p.addRun(ctx, run); err != nil {
			return err
		}
	} else {
		holes = append(holes, within(p.position.State.Holes, run.From, run.To)...)
	}
	for _, failed := range holeRuns(run, holes) {
		if err := p.addRun(ctx, failed); err != nil {
			return err
		}
	}
	return nil
}

// storeOrUnwritten stores what came in, with a run up to a time; or while nobody
// writes a failed run, since nobody knows what the application logs meanwhile.
func (p *pipe) storeOrUnwritten(ctx context.Context, to time.Time) error {
	if p.open {
		return p.store(ctx, to, nil)
	}
	cfg := &p.reader.cfg
	err := p.addRun(ctx, analysis.Run{Source: cfg.Source, Kind: cfg.Kind, From: p.covered, To: to, Code: analysis.CodeUnreachable, Error: errUnwritten.Error()})
	p.covered = to
	return err
}

func (p *pipe) addRun(ctx context.Context, run analysis.Run) error {
	run.At = p.at()
	if err := p.reader.sink.AddRun(ctx, p.reader.cfg.Service, run); err != nil {
		return fmt.Errorf("store run of %s: %w", run.Source, err)
	}
	return nil
}

func (p *pipe) at() time.Time {
	p.runs++
	return p.reader.cfg.Now().Add(time.Duration(p.runs%1000) * time.Microsecond)
}

// runPipe reads a pipe until ctx ends, one writer after another.
func (r *Reader) runPipe(ctx context.Context) error {
	for {
		err := r.readPipe(ctx, r.cfg.Now(), time.Time{}, true)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			r.cfg.Log.Warn("application log not read", "service", r.cfg.Service, "source", r.cfg.Source, "error", err)
		}
		if r.pattern == Standard && err == nil {
			<-ctx.Done() // it does not begin again
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(max(r.cfg.Every, 100*time.Millisecond)):
		}
	}
}
