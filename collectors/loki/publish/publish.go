// Package publish tells a Loki what the console found, so that a dashboard can show
// it beside other things.
//
// What belongs here: sending markers, and what became of them. What is told is
// decided elsewhere and kept in an outbox. Publishing is best effort: nothing waits
// for it, and what could not be sent is counted.
package publish

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"gapless/analysis"
	"gapless/collectors/runcode"
)

// Outbox keeps what is to be told.
type Outbox interface {
	// WaitingMarkers are markers that were neither told nor dropped, oldest first.
	WaitingMarkers(ctx context.Context, limit int) ([]analysis.Marker, error)
	// MarkersTold keeps what became of markers of one service.
	MarkersTold(ctx context.Context, service string, told analysis.Told) error
}

// Config says where markers go.
type Config struct {
	URL      string // where Loki is, without /loki/api/…
	Tenant   string // X-Scope-OrgID; empty sends none
	User     string // of basic authentication, with Password
	Password string
	Token    string            // bearer token
	Labels   map[string]string // of every marker, besides service and kind

	Every time.Duration // between two looks at the outbox; 0 is 5 s
	Now   func() time.Time
	Log   *slog.Logger
}

// LabelJob tells markers from other lines unless the configuration has labels of its own.
const LabelJob = "job"

// OwnLabels are those that a marker has by itself: the service, what kind of marker it
// is, and for one that Loki refused among others a mark of its own.
var OwnLabels = []string{"service", "kind", "late"}

// How many markers are read at once; how long is waited after a failure, at first and
// at most; and how old a marker may be: a Loki refuses what is older than a week
// unless it is told otherwise.
const (
	atOnce       = 500
	firstPause   = 5 * time.Second
	longestPause = 5 * time.Minute
	oldest       = 7 * 24 * time.Hour
)

// Publisher sends what is in an outbox.
type Publisher struct {
	cfg    Config
	outbox Outbox
	send   func(context.Context, line) error
	failed map[int64]bool // markers that wait and were answered otherwise before
}

// New checks a configuration. It asks nobody anything.
func New(cfg Config, outbox Outbox) (*Publisher, error) {
	address, err := url.Parse(cfg.URL)
	if err != nil || address.Host == "" || address.User != nil || address.Scheme != "http" && address.Scheme != "https" {
		return nil, errors.New("publish: loki: url is no http or https URL without a password")
	}
	if cfg.Every <= 0 {
		cfg.Every = firstPause
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if len(cfg.Labels) == 0 {
		cfg.Labels = map[string]string{LabelJob: "gapless"}
	}
	c, err := newClient(cfg, address)
	if err != nil {
		return nil, err
	}
	return &Publisher{cfg: cfg, outbox: outbox, send: c.send}, nil
}

// Run sends until ctx ends. Failures are kept in the outbox, not returned.
func (p *Publisher) Run(ctx context.Context) {
	pause := p.cfg.Every
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		failing, err := p.pass(ctx)
		if err != nil && ctx.Err() == nil {
			p.cfg.Log.Error("publish markers", "error", err)
		}
		if failing || err != nil {
			pause = min(max(2*pause, firstPause), longestPause)
		} else {
			pause = p.cfg.Every
		}
	}
}

// pass sends everything that waits, one marker after another, and keeps at once what
// became of each: whatever happens, the one that is sent again, since nobody knows
// whether it arrived, is the last that its stream has, and a Loki ignores that. Its
// error is the outbox's.
//
// One marker that Loki fails on does not keep the others back: after an answer that
// may be about it alone, the next one is tried, and at the next pass the failed ones
// come last. Two such answers in a row end the pass.
func (p *Publisher) pass(ctx context.Context) (failing bool, err error) {
	tried := map[int64]bool{}
	failures := 0
	for {
		markers, err := p.outbox.WaitingMarkers(ctx, atOnce)
		if err != nil {
			return false, err
		}
		markers = slices.DeleteFunc(markers, func(m analysis.Marker) bool { return tried[m.ID] })
		if len(markers) == 0 {
			return len(tried) > 0, nil
		}
		p.order(markers, tried)
		for i := range markers {
			told, ok, err := p.tell(ctx, &markers[i])
			if !ok {
				return true, nil
			}
			// Also at the end: what was sent is not to be sent again.
			if err := p.outbox.MarkersTold(context.WithoutCancel(ctx), markers[i].Service, told); err != nil {
				return true, err
			}
			if told.Error == "" {
				failures = 0
				continue
			}
			tried[markers[i].ID] = true
			p.failed[markers[i].ID] = true
			if failures++; failures == 2 || status(err) < 500 {
				return true, nil
			}
		}
	}
}

// order puts markers in the order of their times, and those that failed before last.
func (p *Publisher) order(markers []analysis.Marker, tried map[int64]bool) {
	slices.SortStableFunc(markers, func(a, b analysis.Marker) int {
		if p.failed[a.ID] != p.failed[b.ID] {
			if p.failed[a.ID] {
				return 1
			}
			return -1
		}
		return a.At.Compare(b.At)
	})
	failed := maps.Clone(tried) // others were told meanwhile, or dropped
	for i := range markers {
		if p.failed[markers[i].ID] {
			failed[markers[i].ID] = true
		}
	}
	p.failed = failed
}

// tell sends one marker. One that comes after a later one of its stream, which old
// Lokis refuse, goes into a stream of its own. It is not ok where ctx ended before
// there was an answer.
func (p *Publisher) tell(ctx context.Context, m *analysis.Marker) (told analysis.Told, ok bool, failed error) {
	told.At = p.cfg.Now()
	if told.At.Sub(m.At) > oldest {
		told.Dropped = map[int64]string{m.ID: "it is older than a week"}
		return told, true, nil
	}
	err := p.send(ctx, p.line(m, false))
	if status(err) == http.StatusBadRequest {
		err = p.send(ctx, p.line(m, true))
	}
	switch {
	case ctx.Err() != nil && err != nil:
		return told, false, err
	case err == nil:
		told.Sent = []int64{m.ID}
	case refusesForGood(status(err)):
		told.Dropped = map[int64]string{m.ID: err.Error()}
	default:
		told.Code, told.Error = code(err), err.Error()
	}
	return told, true, err
}

// refusesForGood says that an answer is about the marker, which no other time makes
// better: too large, of labels that are not allowed. Others of 400 to 499 are about who
// sends, how often, or an address at which there is no Loki; those may be set right,
// and nothing is to be lost until then.
func refusesForGood(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed,
		http.StatusProxyAuthRequired, http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return status >= 400 && status < 500
}

// line is a marker as it is sent. The same marker is always the same line: one that is
// sent twice, since nobody knows whether it arrived, is there once.
func (p *Publisher) line(m *analysis.Marker, alone bool) line {
	labels := map[string]string{"service": m.Service, "kind": m.Kind}
	maps.Copy(labels, p.cfg.Labels)
	if alone {
		sum := sha256.Sum256([]byte(m.Key))
		labels["late"] = hex.EncodeToString(sum[:4])
	}
	return line{labels: labels, at: m.At, text: m.Line}
}

// refused is what Loki answered instead of taking lines.
type refused struct {
	status int // 0 or less: no answer
	text   string
}

func (e *refused) Error() string {
	if e.status <= 0 {
		return cmp.Or(e.text, "no answer")
	}
	return fmt.Sprintf("Loki answered %d: %s", e.status, e.text)
}

func status(err error) int {
	if r, ok := errors.AsType[*refused](err); ok {
		return r.status
	}
	return 0
}

// code is the stable word for why markers were not sent.
func code(err error) string {
	if s := status(err); s > 0 {
		return cmp.Or(runcode.OfStatus(s), analysis.CodeError)
	}
	return analysis.CodeUnreachable
}
