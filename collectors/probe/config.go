// Package probe sends requests of our own on an open schedule and records what
// came of each, and reads such records from files.
//
// What belongs here: when a request is sent, how it is sent, how its answer is
// told apart, and handing every one of them to a sink. What the records mean for a
// deploy is the judge's business.
package probe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"gapless/analysis"
)

// Sink keeps what was observed. One call is one transaction; repeating it with the
// same requests changes nothing.
type Sink interface {
	AddProbes(ctx context.Context, service string, run analysis.Run, requests []analysis.ProbeRequest) error
}

// Config describes one probe.
type Config struct {
	Service string
	Source  string         // the probe's name in the configuration, with the place where it is not the console's
	Probe   string         // the probe's name in the configuration; empty is Source
	Class   analysis.Class // probe or health; empty is probe
	URL     string
	Method  string // empty is GET
	Headers map[string]string
	Body    string
	// RequestIDHeader carries the id of each request; empty is X-Request-Id.
	RequestIDHeader string
	Every           time.Duration // between two sends
	Timeout         time.Duration // for one request, to the end of its body
	KeepAlive       bool          // reuse connections; else each request has a new one
	// MaxInFlight bounds the requests that wait for an answer. At the bound a send
	// is recorded as rejected. 0 is twice what Timeout and Every make possible.
	MaxInFlight int
	MaxBody     int64 // bytes of a body that are read; 0 is 1 MiB

	// Expressions, in the language of expr-lang.org, over the answer: status,
	// body (decoded where it is JSON, else text), text, headers and header(name).
	Expect   string            // success; empty: a status below 400
	Classify map[string]string // "rejected" and "unknown", tried before Expect
	Drain    string            // the deliberate answer of a target that wants to be ejected, tried first
	// FromTarget proves that the target and not the load balancer answered. A
	// prober cannot see who made a 5xx: without this proof, and without Target, it
	// is recorded as the load balancer's.
	FromTarget string
	Target     string // the name or address of the target that answered, as text
	// StopWhen ends the probe. It may also use outcome, sent, failures and
	// consecutive_failures, which count the answers so far, this one included.
	StopWhen string

	Version   string // of this program, for the user agent
	Names     *analysis.Classifier
	Transport http.RoundTripper // nil: one of our own, by KeepAlive
	Log       *slog.Logger
}

func (cfg *Config) setDefaults() error {
	if cfg.Probe == "" {
		cfg.Probe = cfg.Source
	}
	if cfg.Class == "" {
		cfg.Class = analysis.ClassProbe
	}
	if cfg.Class != analysis.ClassProbe && cfg.Class != analysis.ClassHealth {
		return fmt.Errorf("class %q is neither probe nor health", cfg.Class)
	}
	if cfg.Every <= 0 {
		return fmt.Errorf("every %v is not positive", cfg.Every)
	}
	if cfg.Timeout <= 0 {
		return fmt.Errorf("timeout %v is not positive", cfg.Timeout)
	}
	if cfg.Method == "" {
		cfg.Method = http.MethodGet
	}
	if cfg.RequestIDHeader == "" {
		cfg.RequestIDHeader = "X-Request-Id"
	}
	for name := range cfg.Headers {
		if strings.EqualFold(name, "User-Agent") || strings.EqualFold(name, cfg.RequestIDHeader) {
			return fmt.Errorf("header %s is set by gapless, so that the request can be recognised in logs", name)
		}
	}
	target, err := url.Parse(cfg.URL)
	if err != nil {
		return fmt.Errorf("url: %w", errors.Unwrap(err)) // without the address, which may hold secrets
	}
	if target.Scheme != "http" && target.Scheme != "https" || target.Host == "" {
		return fmt.Errorf("url %q is not an http or https address", target.Redacted())
	}
	if cfg.MaxInFlight == 0 {
		cfg.MaxInFlight = min(max(10, 2*int((cfg.Timeout+cfg.Every-1)/cfg.Every)), 1000)
	}
	if cfg.MaxBody == 0 {
		cfg.MaxBody = 1 << 20
	}
	if cfg.Version == "" {
		cfg.Version = "dev"
	}
	cfg.Version = strings.Join(strings.Fields(cfg.Version), "-")
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Transport == nil {
		cfg.Transport = newTransport(cfg.KeepAlive, cfg.MaxInFlight)
	}
	return nil
}

// newTransport speaks HTTP/1.1, so that with keepAlive unset every request has a
// TCP and TLS connection of its own and none is resumed.
func newTransport(keepAlive bool, connections int) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		Protocols:              protocols,
		DisableKeepAlives:      !keepAlive,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    connections,
		IdleConnTimeout:        time.Minute,
		MaxResponseHeaderBytes: 1 << 20,
	}
}
