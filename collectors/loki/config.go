// Package loki reads application logs that are kept in a Loki.
//
// What belongs here: asking Loki for lines so that none is lost or read twice, and
// where reading goes on. What a line tells is the business of collectors/applog.
//
// Only /loki/api/v1/query_range is used. Live reading asks it again and again: the
// tail endpoint promises neither order nor completeness, and a line that it brings
// would have to be asked for once more to be counted.
package loki

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"gapless/analysis"
	"gapless/collectors/applog/logrules"
)

// Kind is the kind of these sources.
const Kind = "loki"

// Defaults. DefaultLimit is what a Loki allows a query unless it is told otherwise
// (max_entries_limit_per_query).
const (
	DefaultEvery = 2 * time.Second
	DefaultDelay = 2 * time.Second
	DefaultLate  = time.Minute
	DefaultLimit = 5000
)

// Sink keeps what was read. AddAppBatch stores rows and position in one transaction;
// it refuses a batch that began elsewhere than where the log had been read to, with
// [analysis.ErrMoved].
type Sink interface {
	AddAppBatch(ctx context.Context, service string, b analysis.AppBatch) error
	Position(ctx context.Context, service, source, file string) ([]byte, error)
	AddRun(ctx context.Context, service string, run analysis.Run) error
}

// Config describes one query whose lines are read.
type Config struct {
	Service string
	Source  string // its name in the configuration
	URL     string // where Loki is, without /loki/api/…
	Query   string // a LogQL query that gives lines
	Tenant  string // X-Scope-OrgID; empty sends none
	// TargetLabel is the label that names the target that wrote a line.
	TargetLabel string
	User        string // of basic authentication, with Password
	Password    string
	Token       string // bearer token

	Every time.Duration // between two live looks; 0 is DefaultEvery
	// Delay is how far behind the present lines are read for the first time; 0 is
	// DefaultDelay, negative none.
	Delay time.Duration
	// Late is how late a line may come: everything is looked at a second time when it
	// is that old. 0 is DefaultLate.
	Late  time.Duration
	Limit int // lines asked for at once; 0 is DefaultLimit

	Rules logrules.Config // what is looked for; source, names and clock are filled in here

	Names *analysis.Classifier
	Now   func() time.Time
	Log   *slog.Logger
	HTTP  *http.Client // nil is one of its own
}

// Reader reads one query's lines.
type Reader struct {
	cfg    Config
	sink   Sink
	client *client
	lines  *logrules.Interpreter
	file   string // under which the store keeps the position

	mu       sync.Mutex // one pass at a time
	position *position  // nil until it was loaded
	stored   []byte     // as it was loaded
	streams  map[string]*logrules.State
	limits   limits
	covered  time.Time // until when good runs are stored
	lastRun  time.Time // of the last run that was stored
	failing  string    // code of the last failure, empty after a success
	unsure   bool      // the last second look failed
}

// New checks a configuration and makes its reader. It asks nobody anything.
func New(cfg Config, sink Sink) (*Reader, error) {
	address, err := url.Parse(cfg.URL)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		return nil, fmt.Errorf("application log %s: url %q is no http or https URL", cfg.Source, cfg.URL)
	}
	if address.User != nil {
		return nil, fmt.Errorf("application log %s: url has a password in it", cfg.Source)
	}
	if !strings.HasPrefix(strings.TrimSpace(cfg.Query), "{") {
		return nil, fmt.Errorf("application log %s: query %q gives no lines: it does not begin with {", cfg.Source, cfg.Query)
	}
	if cfg.Every <= 0 {
		cfg.Every = DefaultEvery
	}
	switch {
	case cfg.Delay == 0:
		cfg.Delay = DefaultDelay
	case cfg.Delay < 0:
		cfg.Delay = 0
	}
	if cfg.Late <= 0 {
		cfg.Late = DefaultLate
	}
	if cfg.Limit <= 0 {
		cfg.Limit = DefaultLimit
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.Rules.Source, cfg.Rules.Names, cfg.Rules.Now = cfg.Source, cfg.Names, cfg.Now
	lines, err := logrules.New(cfg.Rules)
	if err != nil {
		return nil, fmt.Errorf("application log %s: %w", cfg.Source, err)
	}
	return &Reader{
		cfg: cfg, sink: sink, client: newClient(cfg, address), lines: lines,
		file:    strings.Join([]string{address.String(), cfg.Tenant, cfg.Query}, " "),
		streams: map[string]*logrules.State{},
		limits:  limits{entries: cfg.Limit, most: mostEntries, span: longestSpan, longest: longestSpan},
	}, nil
}
