package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"gapless/analysis"
	"gapless/collectors/loki/publish"
	"gapless/store"
	"gapless/views"
	"gapless/web"
)

// serveCommand runs the console with its collectors until it is told to stop.
type serveCommand struct {
	Config string `short:"c" placeholder:"FILE" help:"The configuration; without it, a console for the services that its database knows already."`
	Listen string `placeholder:"ADDRESS" help:"Where to listen; else as configured, else 127.0.0.1:8080."`
	DB     string `name:"db" placeholder:"FILE" help:"The database; else as configured, else gapless.db."`
}

func (c *serveCommand) run(ctx context.Context, p *program) (int, error) {
	cfg := noConfig(p.env)
	if c.Config != "" {
		var err error
		if cfg, err = loadConfig(c.Config, p.env); err != nil {
			return exitFailed, err
		}
	}
	cfg.noSources = c.Config == ""
	cfg.listen = cmp.Or(c.Listen, cfg.listen)
	cfg.db = cmp.Or(c.DB, cfg.db)
	log := slog.New(slog.NewTextHandler(p.stderr, nil))
	listener, err := listen(ctx, cfg)
	if err != nil {
		return exitFailed, err
	}
	db, release, err := openServed(ctx, cfg.db)
	if err != nil {
		_ = listener.Close()
		return exitFailed, err
	}
	defer release()
	console, err := newConsole(ctx, cfg, db, log)
	if err != nil {
		_ = listener.Close()
		return exitFailed, err
	}
	fmt.Fprintf(p.stdout, "gapless is at %s\n", addressOf(listener))
	if err := console.run(ctx, listener, cfg.retention); err != nil {
		return exitFailed, err
	}
	return exitOK, nil
}

// openServed opens a database for this process alone to serve. The caller releases it.
func openServed(ctx context.Context, path string) (db *store.DB, release func(), err error) {
	unlock, err := store.Serve(path)
	if errors.Is(err, store.ErrServed) {
		return nil, nil, fmt.Errorf("%w: stop that one first, or give this one a database of its own with --db", err)
	}
	if err != nil {
		return nil, nil, err
	}
	if db, err = store.Open(ctx, path); err != nil {
		unlock()
		return nil, nil, err
	}
	return db, func() { _ = db.Close(); unlock() }, nil
}

// listen opens the console's address. An address that others can reach is refused
// while anybody who reaches it could read and write.
func listen(ctx context.Context, cfg *config) (net.Listener, error) {
	host, _, err := net.SplitHostPort(cfg.listen)
	if err != nil {
		return nil, fmt.Errorf("listen %q is not an address; allowed: host:port, such as %s", cfg.listen, defaultListen)
	}
	if !loopback(host) && cfg.token == "" && cfg.password == "" {
		return nil, fmt.Errorf("listen %s would let anybody in who reaches this address: set GAPLESS_PASSWORD or password_file (for the pages) or GAPLESS_TOKEN or token_file (for write calls) first, or listen on 127.0.0.1", cfg.listen)
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", cfg.listen)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", cfg.listen, err)
	}
	return listener, nil
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	address := net.ParseIP(host)
	return address != nil && address.IsLoopback()
}

// addressOf is the address to type into a browser.
func addressOf(listener net.Listener) string {
	host, port, _ := net.SplitHostPort(listener.Addr().String())
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// console is the web server with the collectors of its services and the sealer.
type console struct {
	db      *store.DB
	log     *slog.Logger
	web     *web.Server
	roster  *roster
	watches []*watch
	publish *publish.Config // nil: nobody is told
}

// newConsole prepares a console. It starts nothing.
func newConsole(ctx context.Context, cfg *config, db *store.DB, log *slog.Logger) (*console, error) {
	c := &console{db: db, log: log, roster: newRoster(), publish: cfg.publish}
	for i := range cfg.services {
		w, err := c.watch(ctx, &cfg.services[i])
		if err != nil {
			return nil, err
		}
		c.watches = append(c.watches, w)
	}
	settings := web.Config{
		Store: db, Zone: cfg.zone, Version: version(), Token: cfg.token, Password: cfg.password, Hosts: cfg.hosts,
		Collect: c.collect, Log: log, Judge: c.judge, Now: db.Now, Ended: c.roster.ended, Retention: cfg.retention,
		Bundle: bundler{db: db, judge: c.roster.judge}.write,
	}
	if cfg.noSources {
		settings.Collect = nil
	}
	var err error
	c.web, err = web.New(settings)
	if err != nil {
		return nil, fmt.Errorf("prepare the pages: %w", err)
	}
	return c, nil
}

// watch makes a service known to the console and returns its collectors.
func (c *console) watch(ctx context.Context, s *serviceConfig) (*watch, error) {
	if err := c.db.PutService(ctx, s.Service); err != nil {
		return nil, fmt.Errorf("store service %s: %w", s.Name, err)
	}
	if err := c.db.NoteConfig(ctx, s.Name, s.configSHA256); err != nil {
		return nil, err
	}
	c.roster.add(s)
	w, err := newWatch(ctx, s, c.db, c.log)
	if err != nil {
		return nil, err
	}
	if err := c.db.Expect(ctx, s.Name, w.sources()); err != nil {
		return nil, fmt.Errorf("store sources of %s: %w", s.Name, err)
	}
	return w, nil
}

// collect reads a span of the past for a retrospective, with collectors of its own.
func (c *console) collect(ctx context.Context, service string, from, to time.Time, progress func(stage string, done, total int)) error {
	s, ok := c.roster.service(service)
	if !ok {
		return fmt.Errorf("service %s is not in the configuration, so nothing can be collected for it", service)
	}
	w, err := newWatch(ctx, s, c.db, c.log)
	if err != nil {
		return err
	}
	// A pipe is read by the collectors that watch; what came is in the store.
	w.collectors = slices.DeleteFunc(w.collectors, func(each collector) bool { return each.once })
	return w.collect(ctx, from, to, progress)
}

// judge judges for pages and API. While a window is sealed, the report is that of its
// revision, as it was saved: what was read under a number stays readable under it,
// whatever version judges by then. A part of the window is judged as of the sealing.
func (c *console) judge(o analysis.Observations) analysis.Report {
	if o.SealedAt.IsZero() {
		return unsealed(c.roster.judge(o), &o)
	}
	if !o.Part.IsZero() {
		o.At = o.SealedAt
		return c.roster.judge(o)
	}
	revision, err := c.db.LatestRevision(context.Background(), o.Deploy.ID)
	var sealed analysis.Report
	if err == nil {
		err = json.Unmarshal(revision.Report, &sealed)
	}
	if err != nil {
		c.log.Error("read the latest revision", "deploy", o.Deploy.ID, "error", err)
		return unsealed(c.roster.judge(o), &o)
	}
	sealed.Window.Revision = revision.Number
	return sealed
}

// unsealed says of a deploy whose settle time has passed that its next revision is
// still to be written: until it is, what the report says can change.
func unsealed(r analysis.Report, o *analysis.Observations) analysis.Report {
	if o.Deploy.ID == "" || r.Window.State != analysis.WindowSealed {
		return r
	}
	r.Window.State, r.Window.SealedAt = analysis.WindowSettling, analysis.Time{}
	r.Verdict.Conditions = append(r.Verdict.Conditions, analysis.Condition{Code: "revision-due", Values: map[string]any{"revision": o.Revision}})
	views.FillSentences(&r)
	return r
}

const (
	shutdownTime = 5 * time.Second // for requests that are being answered
	sealEvery    = time.Second     // between two looks at windows that may have settled
	pruneEvery   = time.Hour
)

// run serves until ctx ends, then stops in order: no new requests, the rest
// answered, collectors and sealer done. That end is no error.
func (c *console) run(ctx context.Context, listener net.Listener, retention time.Duration) error {
	group, ctx := errgroup.WithContext(ctx)
	server := &http.Server{
		Handler: c.web.Handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, // bodies have times of their own
		ErrorLog: slog.NewLogLogger(c.log.Handler(), slog.LevelWarn),
	}
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		c.web.Close()
		waiting, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
		defer cancel()
		if err := server.Shutdown(waiting); err != nil {
			_ = server.Close() // whoever still reads holds nothing that would be lost
		}
		return nil
	})
	group.Go(func() error {
		return (&sealer{db: c.db, judge: c.roster.judge, log: c.log, every: sealEvery}).run(ctx)
	})
	group.Go(func() error {
		c.prune(ctx, retention)
		return nil
	})
	if c.publish != nil {
		group.Go(func() error {
			(&reporter{db: c.db, cfg: *c.publish, log: c.log, every: reportEvery, told: map[string]reported{}}).run(ctx)
			return nil
		})
	}
	for _, w := range c.watches {
		group.Go(func() error { return w.run(ctx) })
	}
	return group.Wait()
}

// prune forgets, now and then, what is older than the retention and in no window.
func (c *console) prune(ctx context.Context, retention time.Duration) {
	ticker := time.NewTicker(pruneEvery)
	defer ticker.Stop()
	for {
		if err := c.db.Prune(ctx, c.db.Now().Add(-retention)); err != nil && ctx.Err() == nil {
			c.log.Error("prune old evidence", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
