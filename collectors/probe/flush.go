package probe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gapless/analysis"
)

// flushLoop stores what has come, every second until done is closed.
func (p *Prober) flushLoop(done <-chan struct{}) {
	tick := time.NewTicker(p.flushEvery)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		err := p.flush(ctx)
		cancel()
		if err != nil && !failing {
			p.cfg.Log.Error("probe results not stored; they are kept and tried again",
				"service", p.cfg.Service, "probe", p.cfg.Source, "error", err)
		}
		failing = err != nil
	}
}

// flush stores the requests that are done and the spans that are complete: those up
// to the oldest request without an answer. What could not be stored stays.
func (p *Prober) flush(ctx context.Context) error {
	p.mu.Lock()
	now := p.clock.now().Truncate(time.Microsecond)
	limit := now
	for _, sent := range p.inFlight {
		if sent.Before(limit) {
			limit = sent
		}
	}
	requests := p.done
	p.done = nil
	var ready []span
	var rest []span
	for _, s := range p.spans {
		part := s
		if part.to.After(limit) {
			part.to = limit
		}
		if part.to.After(part.from) {
			ready = append(ready, part)
		}
		if left := (span{from: latest(s.from, part.to), to: s.to, closed: s.closed}); !s.closed || left.to.After(left.from) {
			rest = append(rest, left)
		}
	}
	p.spans = rest
	p.mu.Unlock()

	if len(requests) == 0 && len(ready) == 0 {
		return nil
	}
	if len(ready) == 0 { // answers, but an older request still waits: a run without a span
		from := requests[0].Sent
		ready = []span{{from: from, to: from}}
	}
	for i, s := range ready {
		run := analysis.Run{Source: p.cfg.Source, Kind: analysis.KindProbe, From: s.from, To: s.to, At: now}
		var with []analysis.ProbeRequest
		if i == 0 {
			with, run.Rows = requests, len(requests)
		}
		if err := p.sink.AddProbes(ctx, p.cfg.Service, run, with); err != nil {
			p.putBack(with, ready[i:])
			return fmt.Errorf("store probe requests: %w", err)
		}
	}
	return nil
}

// putBack returns what a flush took and could not store.
func (p *Prober) putBack(requests []analysis.ProbeRequest, spans []span) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = append(requests, p.done...)
	var back []span
	for _, s := range spans {
		if s.to.After(s.from) {
			s.closed = true
			back = append(back, s)
		}
	}
	p.spans = append(back, p.spans...)
}

// finish stores what is left, trying three times, and why the probe stopped.
func (p *Prober) finish(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var err error
	for try := range 3 {
		if try > 0 {
			select {
			case <-ctx.Done():
			case <-time.After(time.Duration(try) * 200 * time.Millisecond):
			}
		}
		if err = p.flush(ctx); err == nil {
			break
		}
	}
	if reason := p.Stopped(); reason != "" && err == nil {
		now := p.clock.now().Truncate(time.Microsecond)
		err = p.sink.AddProbes(ctx, p.cfg.Service, analysis.Run{
			Source: p.cfg.Source, Kind: analysis.KindProbe, From: now, To: now, At: now, Code: "error", Error: analysis.Clip(reason, 500),
		}, nil)
	}
	if err != nil {
		p.mu.Lock()
		left := len(p.done)
		p.mu.Unlock()
		err = errors.Join(fmt.Errorf("probe %s: %d requests were not stored", p.cfg.Source, left), err)
	}
	return err
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
