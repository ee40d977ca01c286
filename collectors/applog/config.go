// Package applog reads the logs of applications: which of our own requests they
// handled, and when they stopped, died and became ready.
//
// What belongs here: following files and reading each form of them into lines. What a
// line says is the business of the package logrules.
package applog

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"gapless/analysis"
	"gapless/collectors/applog/logrules"
)

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
	// URL is file:///path, or a path; * ? and [ make it a pattern for several files. For
	// a journal it may be a named pipe, or [Standard].
	URL   string
	Stdin io.Reader // for Standard
	// TargetMatch finds in a file's path who wrote it: its group "target". Nil where
	// Lines.Target does, or the lines themselves.
	TargetMatch *regexp.Regexp
	// TargetLabel says who wrote each entry of a journal (host, unit, or a field's name)
	// or a container's log (a name among its attrs). Targets are then those whose
	// entries are read; nil is everybody's.
	TargetLabel string
	Targets     []string
	Lines       logrules.Config // what is looked for; its Source, Names and Now are those here

	Every time.Duration // between two looks at the files; 0 is a second
	Names *analysis.Classifier
	Now   func() time.Time
	Log   *slog.Logger
}

// Reader reads one application log.
type Reader struct {
	cfg     Config
	sink    Sink
	pattern string
	lines   *logrules.Interpreter

	mu      sync.Mutex // one pass at a time
	files   map[string]*file
	retired map[uint64]position  // files that were read to their end before they were renamed
	texts   map[textID]knownText // that were read
	order   int                  // of the last of them
	covered time.Time            // until when good runs are stored
	reached time.Time            // up to where the last pass vouches
	stored  time.Time            // when the last run was stored
	failing string               // code of the last failure, empty after a success
}

// New compiles the patterns of a log. It does not touch the files. Errors are the
// configuration's: they name the log and the pattern.
func New(cfg Config, sink Sink) (*Reader, error) {
	if cfg.Kind == "" {
		cfg.Kind = KindFile
	}
	if !slices.Contains(Kinds, cfg.Kind) {
		return nil, fmt.Errorf("application log %s: kind %q is none of %s", cfg.Source, cfg.Kind, strings.Join(Kinds, ", "))
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
		files: map[string]*file{}, retired: map[uint64]position{}, texts: map[textID]knownText{},
	}
	if r.pattern == "" || strings.Contains(r.pattern, "://") {
		return nil, fmt.Errorf("application log %s: url %q is not a file:///path", cfg.Source, cfg.URL)
	}
	lines := cfg.Lines
	lines.Source, lines.Names, lines.Now = cfg.Source, cfg.Names, cfg.Now
	var err error
	if r.lines, err = logrules.New(lines); err != nil {
		return nil, fmt.Errorf("application log %s: %w", cfg.Source, err)
	}
	return r, nil
}
