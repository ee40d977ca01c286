package probe

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"gapless/analysis"
)

// longestGap is how many intervals may lie between two sends before the time
// between them counts as not covered.
const longestGap = 3

// Prober sends the requests of one probe.
type Prober struct {
	cfg        Config
	conditions conditions
	sink       Sink
	run        string
	clock      *clock
	flushEvery time.Duration

	mu       sync.Mutex
	inFlight map[int]time.Time // when each request that has no answer yet was sent, by its number
	spans    []span            // when requests were due, oldest first; not yet stored
	done     []analysis.ProbeRequest
	counts   environment // sent, failures, consecutive failures
	stopped  string
	stop     context.CancelFunc
}

// span is a stretch of time in which every request due was sent or recorded.
type span struct {
	from, to time.Time
	closed   bool // sends after it began anew
}

// New compiles a probe. Errors are the configuration's: they name the probe and the
// key or expression.
func New(cfg Config, sink Sink) (*Prober, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, fmt.Errorf("probe %s: %w", cfg.Source, err)
	}
	conditions, err := compileConditions(cfg)
	if err != nil {
		return nil, err
	}
	return &Prober{
		cfg: cfg, conditions: conditions, sink: sink, run: newRun(), flushEvery: time.Second,
		inFlight: map[int]time.Time{},
	}, nil
}

// RunID is the run part of the ids of this prober's requests.
func (p *Prober) RunID() string { return p.run }

// Stopped is why stop_when ended the probe, else empty.
func (p *Prober) Stopped() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stopped
}

// Run sends until ctx ends or stop_when holds, then waits for the answers that are
// still due, which takes up to one timeout, and stores them. Its error is that of
// the last attempt to store; nothing else ends it.
//
// Sends lie on a grid: a late answer delays none. Where the process itself was
// held up for longer than one interval, the sends missed are left out rather than
// bunched, and the time is not covered by any run.
func (p *Prober) Run(ctx context.Context) error {
	p.clock = newClock()
	sending, stop := context.WithCancel(ctx)
	defer stop()
	p.stop = stop
	stored := make(chan struct{})
	flushing := make(chan struct{})
	go func() {
		defer close(stored)
		p.flushLoop(flushing)
	}()
	var requests sync.WaitGroup
	p.schedule(sending, func(seq int, at time.Time) {
		requests.Go(func() { p.one(context.WithoutCancel(ctx), seq, at) })
	})
	requests.Wait()
	close(flushing)
	<-stored
	return p.finish(context.WithoutCancel(ctx))
}

// schedule calls send at start + n × every until ctx ends. It counts sequence
// numbers from 1, and records sends that the bound forbids.
func (p *Prober) schedule(ctx context.Context, send func(seq int, at time.Time)) {
	every := p.cfg.Every
	start := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	seq, slot, last := 0, int64(0), int64(-1)
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if ctx.Err() != nil {
			return
		}
		slot = max(int64(time.Since(start)/every), last+1)
		seq++
		at := p.clock.now().Truncate(time.Microsecond)
		if p.admit(seq, at, slot > last+longestGap) {
			send(seq, at)
		}
		last = slot
		timer.Reset(time.Until(start.Add(time.Duration(slot+1) * every)))
	}
}

// admit notes that a request is due at a moment, and reports whether it may be
// sent. gap says that sends before it were missed.
func (p *Prober) admit(seq int, at time.Time, gap bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if gap && len(p.spans) > 0 {
		p.spans[len(p.spans)-1].closed = true
	}
	if n := len(p.spans); n == 0 || p.spans[n-1].closed {
		p.spans = append(p.spans, span{from: at})
	}
	p.spans[len(p.spans)-1].to = at.Add(p.cfg.Every)
	if len(p.inFlight) < p.cfg.MaxInFlight {
		p.inFlight[seq] = at
		return true
	}
	p.record(p.blank(seq, at, analysis.OutcomeRejected,
		fmt.Sprintf("not sent: %d requests already wait for an answer", len(p.inFlight))), environment{})
	return false
}

func (p *Prober) blank(seq int, at time.Time, outcome analysis.Outcome, why string) analysis.ProbeRequest {
	return analysis.ProbeRequest{
		Source: p.cfg.Source, Probe: p.cfg.Probe, Class: p.cfg.Class, Run: p.run, Seq: seq,
		Sent: at, Done: at, Outcome: outcome, Error: why,
	}
}

func (p *Prober) one(ctx context.Context, seq int, at time.Time) {
	r := p.blank(seq, at, "", "")
	env := p.send(ctx, &r)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.inFlight, seq)
	p.record(r, env)
}

// record keeps a request for the next flush and asks stop_when. The caller holds mu.
func (p *Prober) record(r analysis.ProbeRequest, env environment) {
	p.done = append(p.done, r)
	p.counts.Sent++
	if r.Outcome.Failure() {
		p.counts.Failures++
		p.counts.ConsecutiveFailures++
	} else {
		p.counts.ConsecutiveFailures = 0
	}
	if p.conditions.stopWhen == nil || p.stopped != "" {
		return
	}
	if env.Header == nil {
		env.Header = func(string) string { return "" }
	}
	env.Outcome, env.Sent = string(r.Outcome), p.counts.Sent
	env.Failures, env.ConsecutiveFailures = p.counts.Failures, p.counts.ConsecutiveFailures
	if ok, _ := holds(p.conditions.stopWhen, env); ok {
		p.stopped = fmt.Sprintf("stop_when held after request %s-%06d (status %d, %s): %s",
			r.Run, r.Seq, r.Status, r.Outcome, p.cfg.StopWhen)
		p.cfg.Log.Warn("probe stopped", "service", p.cfg.Service, "probe", p.cfg.Source, "reason", p.stopped)
		if p.stop != nil {
			p.stop()
		}
	}
}

// newRun makes a run id: six characters, with no dash, which ends it in a request's id.
func newRun() string {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	var b [6]byte
	for i := range b {
		for {
			var one [1]byte
			_, _ = rand.Read(one[:]) // never fails: crypto/rand ends the program instead
			if int(one[0]) < 256/len(letters)*len(letters) {
				b[i] = letters[int(one[0])%len(letters)]
				break
			}
		}
	}
	return string(b[:])
}
