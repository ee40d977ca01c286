// Package targethealth reads what load balancers say of their targets: their
// states, poll by poll, and the settings of their target groups.
//
// What belongs here: asking the ELBv2 API, reading files of states, and telling
// failures apart by stable codes. What a state means is the judge's business.
package targethealth

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"gapless/analysis"
)

// Kinds of sources.
const (
	KindELBv2 = "elbv2" // Elastic Load Balancing v2, polled
	KindFile  = "file"  // a file of polled states, one JSON object a line
)

// Sink keeps what was observed; each call is one transaction.
type Sink interface {
	AddStates(ctx context.Context, service string, run analysis.Run, samples []analysis.StateSample) error
	AddGroupSettings(ctx context.Context, service string, g analysis.GroupSettings) error
	AddRun(ctx context.Context, service string, run analysis.Run) error
}

// Config describes one source of target states.
type Config struct {
	Service      string
	Source       string // its name in the configuration
	Kind         string
	LoadBalancer string // name of the load balancer in the configuration
	TargetGroup  string // name of the target group in the configuration

	// For kind elbv2. Credentials come from the SDK's default chain; with an
	// Endpoint and none there, requests are signed with placeholders.
	ARN                             string
	Region, Profile, Role, Endpoint string
	SettingsEvery                   time.Duration // how often group settings are asked for; 0 is 5 minutes
	Timeout                         time.Duration // for one call; 0 is 2 × Every, between 2 s and 10 s
	API                             API           // nil: a client of the SDK

	Path string // for kind file

	Every time.Duration // between polls, or between looks at the file; 0 is 5 s
	Names *analysis.Classifier
	Now   func() time.Time
	Log   *slog.Logger
}

func (cfg *Config) setDefaults() error {
	if cfg.Every == 0 {
		cfg.Every = 5 * time.Second
	}
	if cfg.Every < 0 {
		return fmt.Errorf("every %v is negative", cfg.Every)
	}
	if cfg.SettingsEvery <= 0 {
		cfg.SettingsEvery = 5 * time.Minute
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = min(max(2*cfg.Every, 2*time.Second), 10*time.Second)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	switch cfg.Kind {
	case KindELBv2:
		if cfg.ARN == "" {
			return fmt.Errorf("target_group is missing: give the target group's ARN")
		}
	case KindFile:
		if cfg.Path == "" {
			return fmt.Errorf("path is missing")
		}
	default:
		return fmt.Errorf("kind %q is neither %s nor %s", cfg.Kind, KindELBv2, KindFile)
	}
	return nil
}

// Collector is one source of target states.
type Collector interface {
	// Collect fetches what the source has of [from, to). A source that has no
	// history brings its settings only.
	Collect(ctx context.Context, from, to time.Time) error
	// Run collects live until ctx ends. Failures of the source are stored, not
	// returned.
	Run(ctx context.Context) error
}

// New makes the collector for a source. It sends nothing; it may look for
// credentials. Errors are the configuration's and name the source.
func New(ctx context.Context, cfg Config, sink Sink) (Collector, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, fmt.Errorf("states %s: %w", cfg.Source, err)
	}
	if cfg.Kind == KindFile {
		return newFile(cfg, sink), nil
	}
	if cfg.API == nil {
		api, err := newClient(ctx, cfg)
		if err != nil {
			return nil, fmt.Errorf("states %s: %w", cfg.Source, err)
		}
		cfg.API = api
	}
	return &Poller{cfg: cfg, sink: sink}, nil
}
