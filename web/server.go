// Package web serves the console: pages, their live streams, and the JSON API.
//
// What belongs here: parsing requests, one store call each, judging through the
// function it was given, and rendering what views made of it. It computes no figure
// and holds no words beyond those of its errors.
package web

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"gapless/analysis"
	"gapless/static"
	"gapless/views"
)

// Config is what a server needs.
type Config struct {
	Store   Store
	Zone    *time.Location // in which pages print times; nil is UTC
	Version string
	// Token, where set, is needed as a bearer token for write calls. Password, where
	// set, is needed for everything, by basic authentication with any user name.
	Token, Password string
	// Hosts are names, without ports, by which this server is reached besides those of
	// the machine itself. Where there are some, or neither token nor password is set,
	// requests for any other name are refused.
	Hosts []string
	// Collect reads what the sources of a service still have about a span, and says
	// how far it is. Nil: there are no retrospectives.
	Collect func(ctx context.Context, service string, from, to time.Time, progress func(stage string, done, total int)) error
	Judge   func(analysis.Observations) analysis.Report
	// Ended says whether the sources of a service have nothing more to read, so that
	// their age is no fault. Nil: none has ended.
	Ended func(service string) bool
	// Bundle writes a deploy's evidence bundle. Nil: there are none.
	Bundle func(ctx context.Context, deploy string, w io.Writer) error
	Log    *slog.Logger
	Now    func() time.Time // nil is time.Now
	// Retention is how long evidence is kept: what is older is not taken. 0: no bound.
	Retention time.Duration
}

// Server answers the console's requests.
type Server struct {
	cfg      Config
	echo     *echo.Echo
	metrics  *metrics
	readings *readings
	feeds    feeds
	streams  chan struct{} // holds a value for every open stream
	bundling chan struct{} // holds a value while a bundle is being made
	pace     pace

	// done is closed by Close; streams and readings end with it.
	done      context.Context
	closeDone context.CancelFunc
	running   sync.WaitGroup
}

// pace holds the intervals of streams, which tests shorten.
type pace struct {
	judge     time.Duration // least time between two judgements of one stream
	list      time.Duration // the same for lists
	heartbeat time.Duration
	write     time.Duration // for a reader to take one event
	body      time.Duration // for a body to come whole
}

// New prepares a server; it starts nothing.
func New(cfg Config) (*Server, error) {
	switch {
	case cfg.Store == nil:
		return nil, errors.New("web: no store given")
	case cfg.Judge == nil:
		return nil, errors.New("web: no judge given")
	}
	cfg.Zone = cmp.Or(cfg.Zone, time.UTC)
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &Server{
		cfg: cfg, echo: echo.New(), readings: newReadings(), bundling: make(chan struct{}, 1),
		feeds: feeds{all: map[string]*feed{}}, streams: make(chan struct{}, maxStreams),
		pace: pace{judge: 500 * time.Millisecond, list: time.Second, heartbeat: 15 * time.Second, write: 10 * time.Second, body: 20 * time.Second},
	}
	s.done, s.closeDone = context.WithCancel(context.Background())
	s.metrics = newMetrics(cfg.Store, cfg.Version)
	s.echo.HideBanner, s.echo.HidePort = true, true
	s.echo.HTTPErrorHandler = s.handleError
	s.echo.Use(s.requestID, s.metrics.measure, secure, s.recovered, s.limitBody, s.knownHost, s.crossOrigin, s.authenticate, readBody)
	s.routes()
	return s, nil
}

func (s *Server) routes() {
	e := routes{s.echo}
	e.GET("/", s.deploys)
	e.GET("/stream", s.deploysStream)
	e.GET("/deploys/:id", s.deploy)
	e.GET("/deploys/:id/stream", s.deployStream)
	e.GET("/services/:service/span", s.span)
	for _, table := range views.CSVTables {
		e.GET("/deploys/:id/"+table+".csv", s.tableFile(table))
		e.GET("/services/:service/span/"+table+".csv", s.spanTableFile(table))
	}
	e.GET("/services", s.services)
	e.GET("/services/stream", s.servicesStream)
	e.GET("/compare", s.compare)
	e.GET("/claims", s.claims)
	e.GET("/claims/new", s.newClaim)
	e.POST("/claims", s.addClaim)
	e.GET("/collectors", s.collectors)
	e.GET("/collectors/stream", s.collectorsStream)
	e.GET("/collectors/objects", s.objects)
	e.GET("/collectors/lines", s.lines)
	e.GET("/collectors/lines.ndjson", s.linesFile)
	e.GET("/retrospectives/new", s.newRetrospective)
	e.POST("/retrospectives", s.startRetrospective)
	e.GET("/retrospectives/:id", s.retrospective)
	e.GET("/retrospectives/:id/stream", s.retrospectiveStream)

	e.GET("/api/v1/deploys", s.apiDeploys)
	e.POST("/api/v1/deploys", s.apiStartDeploy)
	e.GET("/api/v1/deploys/:id", s.moved(s.apiDeploy))
	e.POST("/api/v1/deploys/:id/steps", s.moved(s.apiSteps))
	e.GET("/api/v1/deploys/:id/report", s.moved(s.apiReport))
	e.GET("/api/v1/deploys/:id/events", s.moved(s.apiEvents))
	e.GET("/api/v1/deploys/:id/bundle", s.moved(s.apiBundle))
	e.GET("/api/v1/claims", s.apiClaims)
	e.POST("/api/v1/claims", s.apiAddClaim)
	e.POST("/api/v1/services/:service/probes", s.apiProbes)
	e.GET("/openapi.json", s.openAPI)

	e.GET("/metrics", echo.WrapHandler(s.metrics.handler()))
	e.GET(static.Prefix+"*", echo.WrapHandler(static.Handler()))
	e.GET("/favicon.ico", func(c echo.Context) error { return c.Redirect(http.StatusFound, static.URL("favicon.svg")) })
}

// routes takes HEAD wherever it takes GET; the server leaves the body out.
type routes struct{ *echo.Echo }

func (r routes) GET(path string, handler echo.HandlerFunc) {
	r.Echo.GET(path, handler)
	r.HEAD(path, handler)
}

// Handler is the console as an http.Handler.
func (s *Server) Handler() http.Handler { return s.echo }

// Close ends every stream and every retrospective that is being read, and waits for
// the latter. Call it before http.Server.Shutdown, which would wait for streams.
func (s *Server) Close() {
	s.feeds.mu.Lock() // so that no feed begins once it waits
	s.closeDone()
	s.feeds.mu.Unlock()
	s.running.Wait()
}

func (s *Server) shell(title, active string) views.Shell {
	return views.NewShell(title, active, s.cfg.Zone, s.cfg.Version)
}
