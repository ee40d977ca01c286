// Package applog reads the logs of applications: which of our own requests they
// handled, and when they stopped, died and became ready.
//
// What belongs here: following files, finding request ids and the lines of known
// frameworks in them, and counting how many lines each rule was tried on. A line's
// text never leaves this package.
package applog

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"gapless/analysis"
)

// KindFile is the kind of files on this machine.
const KindFile = "file"

// Sink keeps what was read. AddAppBatch stores rows and position in one
// transaction, so that no line is counted twice or lost; it refuses a batch that
// began elsewhere than where the file had been read to, with [analysis.ErrMoved].
type Sink interface {
	AddAppBatch(ctx context.Context, service string, b analysis.AppBatch) error
	Position(ctx context.Context, service, source, file string) ([]byte, error)
	AddRun(ctx context.Context, service string, run analysis.Run) error
}

// Config describes one application log.
type Config struct {
	Service string
	Source  string // its name in the configuration
	Kind    string // empty is file
	URL     string // file:///path, or a path; * ? and [ make it a pattern for several files
	// Target wrote the lines. Where it is empty, the group "target" of the request-id
	// patterns names it, and rules about starts and stops apply to no target.
	Target string
	Zone   *time.Location // of line times that name none; nil is UTC

	// LogMatch finds a request that was answered: group id, and where there are
	// any, groups status and target. ReceivedMatch finds one that was begun.
	LogMatch, ReceivedMatch string
	Rules                   []string // names of rule sets: spring-boot, systemd

	Every time.Duration // between two looks at the files; 0 is a second
	Names *analysis.Classifier
	Now   func() time.Time
	Log   *slog.Logger
}

// Reader reads one application log.
type Reader struct {
	cfg      Config
	sink     Sink
	pattern  string
	answered *idPattern
	received *idPattern
	rules    []rule
	counted  []string // names of everything that is counted, by index

	mu      sync.Mutex // one pass at a time
	files   map[string]*file
	retired map[uint64]position // files that were read to their end before they were renamed
	covered time.Time           // until when good runs are stored
	stored  time.Time           // when the last run was stored
	failing string              // code of the last failure, empty after a success
}

// New compiles the patterns of a log. It does not touch the files. Errors are the
// configuration's: they name the log and the pattern.
func New(cfg Config, sink Sink) (*Reader, error) {
	if cfg.Kind == "" {
		cfg.Kind = KindFile
	}
	if cfg.Kind != KindFile {
		return nil, fmt.Errorf("application log %s: kind %q is not %s", cfg.Source, cfg.Kind, KindFile)
	}
	if cfg.Zone == nil {
		cfg.Zone = time.UTC
	}
	if cfg.Every <= 0 {
		cfg.Every = time.Second
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	r := &Reader{
		cfg: cfg, sink: sink, pattern: strings.TrimPrefix(cfg.URL, "file://"),
		files: map[string]*file{}, retired: map[uint64]position{},
	}
	if r.pattern == "" || strings.Contains(r.pattern, "://") {
		return nil, fmt.Errorf("application log %s: url %q is not a file:///path", cfg.Source, cfg.URL)
	}
	var err error
	if r.answered, err = compileID(cfg.LogMatch); err != nil {
		return nil, fmt.Errorf("application log %s: log_match: %w", cfg.Source, err)
	}
	if r.received, err = compileID(cfg.ReceivedMatch); err != nil {
		return nil, fmt.Errorf("application log %s: received_match: %w", cfg.Source, err)
	}
	r.counted = []string{RuleAnswered, RuleReceived, RuleProbe}
	for _, name := range cfg.Rules {
		set, ok := ruleSets[name]
		if !ok {
			return nil, fmt.Errorf("application log %s: log_rules: %q is none of spring-boot, systemd", cfg.Source, name)
		}
		for _, each := range set {
			each.count = len(r.counted)
			r.counted = append(r.counted, each.name)
			r.rules = append(r.rules, each)
		}
	}
	return r, nil
}
