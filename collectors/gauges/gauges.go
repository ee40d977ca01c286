// Package gauges reads what targets tell of themselves: busy threads, pool use, calls
// in flight.
//
// What belongs here: asking a Prometheus or Spring Boot Actuator endpoint for a
// handful of values, or reading such values from a file. A value that was not told is
// never a zero: a scrape that fails is stored as a failed run, since the server that
// cannot be scraped may be the one in trouble.
package gauges

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"time"

	"gapless/analysis"
	"gapless/collectors/runcode"
)

// Kinds of endpoints.
const (
	KindPrometheus = "prometheus" // text exposition format, one page for all
	KindActuator   = "actuator"   // Spring Boot's /actuator/metrics/NAME, one page a metric
	KindFile       = "file"       // lines of [Record]
)

// Kinds lists what can be configured.
var Kinds = []string{KindPrometheus, KindActuator, KindFile}

// Sink keeps what was told; each call is one transaction.
type Sink interface {
	AddGauges(ctx context.Context, service string, run analysis.Run, gauges []analysis.Gauge) error
	AddRun(ctx context.Context, service string, run analysis.Run) error
}

// Config describes one target's endpoint.
type Config struct {
	Service string
	Source  string // its name in the configuration
	Kind    string
	Target  string // who tells
	// URL is the page of a Prometheus endpoint, or the address under which an
	// Actuator has its metrics (…/actuator/metrics).
	URL     string
	Headers map[string]string
	// Read says where each value is, by the role that it has here: for Prometheus
	// name{label="value"}, whose matching series are summed; for an Actuator
	// name[?tag=key:value][#STATISTIC].
	Read    map[string]string
	Path    string        // of a file
	Every   time.Duration // between two scrapes; 0 is 5 s
	Timeout time.Duration // of one scrape; 0 is Every
	Client  *http.Client  // nil: one without redirects
	Now     func() time.Time
	Log     *slog.Logger
}

// Scraper asks one endpoint again and again.
type Scraper struct {
	cfg   Config
	sink  Sink
	reads []read
	last  time.Time // when the scrape before was sent
}

// read is one value to look for.
type read struct {
	role string
	from string // as configured
	selector
	actuatorPath string
	statistic    string
}

// New makes a scraper. It asks nothing yet. Errors are the configuration's and name
// the source and the value.
func New(cfg Config, sink Sink) (*Scraper, error) {
	if cfg.Every <= 0 {
		cfg.Every = 5 * time.Second
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = cfg.Every
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Client == nil {
		cfg.Client = &http.Client{
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport:     &http.Transport{Proxy: nil, DisableKeepAlives: true}, // a scrape fails where a new client's would
		}
	}
	s := &Scraper{cfg: cfg, sink: sink}
	for _, role := range slices.Sorted(maps.Keys(cfg.Read)) {
		one := read{role: role, from: cfg.Read[role]}
		var err error
		switch cfg.Kind {
		case KindPrometheus:
			one.selector, err = parseSelector(one.from)
		case KindActuator:
			one.actuatorPath, one.statistic, err = parseActuator(one.from)
		default:
			err = fmt.Errorf("kind %q has no endpoint", cfg.Kind)
		}
		if err != nil {
			return nil, fmt.Errorf("metrics %s: read.%s: %w", cfg.Source, role, err)
		}
		s.reads = append(s.reads, one)
	}
	if len(s.reads) == 0 {
		return nil, fmt.Errorf("metrics %s: read is missing: name at least one value", cfg.Source)
	}
	return s, nil
}

// Run scrapes until ctx ends, on a schedule that no slow answer shifts. Failures are
// stored, not returned.
func (s *Scraper) Run(ctx context.Context) error {
	tick := time.NewTicker(s.cfg.Every)
	defer tick.Stop()
	failing := ""
	for {
		code, err := s.scrape(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if code != failing && err != nil {
			s.cfg.Log.Warn("metrics cannot be read", "service", s.cfg.Service, "source", s.cfg.Source, "code", code, "error", err)
		}
		failing = code
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// scrape asks once and stores what came, with a run from the scrape before to this one.
func (s *Scraper) scrape(ctx context.Context) (code string, err error) {
	sent := s.cfg.Now().UTC().Truncate(time.Microsecond)
	bounded, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	values, err := s.ask(bounded)
	cancel()
	if ctx.Err() != nil { // told to stop, which leaves no hole
		return "", ctx.Err()
	}
	run := analysis.Run{Source: s.cfg.Source, Kind: s.cfg.Kind, From: s.last, To: sent, At: s.cfg.Now().UTC().Truncate(time.Microsecond), Rows: len(values)}
	if run.From.IsZero() {
		run.From = sent
	}
	if err != nil {
		run.Code, run.Error = codeOf(err), analysis.Clip(err.Error(), longestText)
	}
	s.last = sent
	gauges := make([]analysis.Gauge, 0, len(values))
	for _, each := range s.reads {
		if value, ok := values[each.role]; ok {
			gauges = append(gauges, analysis.Gauge{Source: s.cfg.Source, Target: s.cfg.Target, Metric: each.role, At: sent, Value: value})
		}
	}
	if stored := s.sink.AddGauges(ctx, s.cfg.Service, run, gauges); stored != nil {
		return "error", errors.Join(err, fmt.Errorf("store metrics: %w", stored))
	}
	return run.Code, err
}

// ask reads the values. What was found counts even where something else is missing.
func (s *Scraper) ask(ctx context.Context) (map[string]float64, error) {
	if s.cfg.Kind == KindActuator {
		return s.askActuator(ctx)
	}
	body, err := s.get(ctx, s.cfg.URL, "text/plain;version=0.0.4")
	if err != nil {
		return nil, err
	}
	return valuesIn(body, s.reads)
}

// Bounds of a page, and of what is kept of an error's text, in bytes.
const (
	largest     = 32 << 20
	longestText = 500
)

// get reads one page.
func (s *Scraper) get(ctx context.Context, url, accept string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", accept)
	request.Header.Set("User-Agent", "gapless-metrics")
	for name, value := range s.cfg.Headers {
		request.Header.Set(name, value)
	}
	response, err := s.cfg.Client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, statusError(response.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, largest+1))
	if err != nil {
		return nil, err
	}
	if len(body) > largest {
		return nil, badReply(fmt.Sprintf("the page is larger than %d bytes", largest))
	}
	return body, nil
}

// statusError is an answer that is no page.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("answered with status %d", int(e)) }

// badReply is a page that does not say what it was asked for.
type badReply string

func (e badReply) Error() string { return string(e) }

// codeOf is the stable word for a failed scrape.
func codeOf(err error) string {
	var status statusError
	var reply badReply
	var network net.Error
	switch {
	case errors.As(err, &status):
		return cmp.Or(runcode.OfStatus(int(status)), analysis.CodeBadReply)
	case errors.As(err, &reply):
		return analysis.CodeBadReply
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return analysis.CodeUnreachable
	}
	return analysis.CodeError
}
