package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"gapless/analysis"
	"gapless/lab"
	"gapless/store"
)

// demoCommand runs scenarios of the lab under the console's eyes.
type demoCommand struct {
	Scenario []string `placeholder:"NAME" help:"What to run, one after another; rolling-naive and rolling-drain if left out."`
	Guard    []string `placeholder:"NAME" help:"What to switch on in the scenarios that have it: ${guards}."`
	Listen   string   `placeholder:"ADDRESS" help:"Where the console listens; 127.0.0.1:8080, or a free port where that one is taken."`
	DB       string   `name:"db" placeholder:"FILE" help:"The database; a temporary one if left out."`
	Keep     string   `placeholder:"DIR" help:"Where to leave the source files of every scenario, ready for gapless audit."`
	Exit     bool     `help:"End after the last verdict."`
	Format   string   `default:"text" enum:"text,json" help:"text or json."`
}

// demoResult is what became of one scenario, as --format json prints it.
type demoResult struct {
	Name       string                       `json:"name"`
	AsExpected bool                         `json:"as_expected"`
	Truth      map[analysis.Class]demoTruth `json:"truth"`
	Report     json.RawMessage              `json:"report"`

	differences []string // in words, where it is not as expected
	report      analysis.Report
}

// demoTruth counts what the lab knows of one class inside the report's window.
type demoTruth struct {
	Requests int `json:"requests"`
	Failures int `json:"failures"`
}

func (c *demoCommand) run(ctx context.Context, p *program) (int, error) {
	scenarios, err := c.scenarios()
	if err != nil {
		return exitFailed, err
	}
	if err := c.checkGuards(scenarios); err != nil {
		return exitFailed, err
	}
	dir, remove, err := c.folder(scenarios)
	if err != nil {
		return exitFailed, err
	}
	defer remove()
	cfg := noConfig(p.env)
	cfg.db = c.DB
	if cfg.db == "" {
		cfg.db = filepath.Join(dir, defaultDB)
	}
	listener, err := c.listen(ctx, cfg)
	if err != nil {
		return exitFailed, err
	}
	log := slog.New(slog.NewTextHandler(p.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
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

	// The console outlives the scenarios, which are what ends it with --exit.
	group, ctx := errgroup.WithContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group.Go(func() error { return console.run(ctx, listener, cfg.retention) })
	announced := p.stdout
	if c.Format == "json" {
		announced = p.stderr // standard output is the JSON alone
	}
	fmt.Fprintf(announced, "gapless is at %s\n", addressOf(listener))
	d := &demo{console: console, dir: dir, keep: c.Keep != "", guarded: c.guarded, stderr: p.stderr, log: log}
	if d.client, err = newClient(addressOf(listener), cfg.token); err != nil {
		return exitFailed, err
	}
	status := exitOK
	group.Go(func() error {
		defer func() {
			if c.Exit {
				stop()
			}
		}()
		results, err := d.all(ctx, scenarios)
		if err != nil || slices.ContainsFunc(results, func(r *demoResult) bool { return !r.AsExpected }) {
			status = exitDisproved
		}
		if err != nil {
			return err
		}
		return c.print(p.stdout, results)
	})
	if err := group.Wait(); err != nil {
		return exitDisproved, err
	}
	return status, nil
}

// scenarios are the ones asked for, each known to the lab.
func (c *demoCommand) scenarios() ([]string, error) {
	if len(c.Scenario) == 0 {
		return []string{lab.RollingNaive, lab.RollingDrain}, nil
	}
	for i, name := range c.Scenario {
		if !slices.Contains(lab.Scenarios(), name) {
			return nil, fmt.Errorf("--scenario %q is not one; allowed: %s", name, strings.Join(lab.Scenarios(), ", "))
		}
		if slices.Contains(c.Scenario[:i], name) {
			return nil, fmt.Errorf("--scenario %q is named twice; each is a service of its own", name)
		}
	}
	return c.Scenario, nil
}

// guarded are the guards asked for that a scenario has.
func (c *demoCommand) guarded(scenario string) []string {
	return slices.DeleteFunc(lab.Guards(scenario), func(guard string) bool { return !slices.Contains(c.Guard, guard) })
}

// checkGuards refuses a guard that none of the scenarios has.
func (c *demoCommand) checkGuards(scenarios []string) error {
	for _, guard := range c.Guard {
		if !slices.ContainsFunc(scenarios, func(name string) bool { return slices.Contains(lab.Guards(name), guard) }) {
			return fmt.Errorf("--guard %q is in none of %s; there are: %s", guard, strings.Join(scenarios, ", "), knownGuards())
		}
	}
	return nil
}

// knownGuards lists every guard with its scenario, for people.
func knownGuards() string {
	var known []string
	for _, name := range lab.Scenarios() {
		if guards := lab.Guards(name); len(guards) > 0 {
			known = append(known, name+" ("+strings.Join(guards, ", ")+")")
		}
	}
	return strings.Join(known, "; ")
}

// folder is where the scenarios' files go. What an earlier demo kept there is not
// mixed with this one's.
func (c *demoCommand) folder(scenarios []string) (dir string, remove func(), err error) {
	if c.Keep == "" {
		dir, err = os.MkdirTemp("", "gapless-demo-")
		if err != nil {
			return "", nil, fmt.Errorf("make a folder for the demo: %w", err)
		}
		return dir, func() { _ = os.RemoveAll(dir) }, nil
	}
	dir, err = filepath.Abs(c.Keep)
	if err != nil {
		return "", nil, fmt.Errorf("--keep: %w", err)
	}
	for _, name := range scenarios {
		if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, os.ErrNotExist) {
			return "", nil, fmt.Errorf("--keep %s: it has a folder %s already; name another folder, or remove that one", c.Keep, name)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", nil, fmt.Errorf("--keep: %w", err)
	}
	return dir, func() {}, nil
}

// listen opens the address asked for, else 8080 of loopback, else any free port.
func (c *demoCommand) listen(ctx context.Context, cfg *config) (net.Listener, error) {
	if c.Listen != "" {
		cfg.listen = c.Listen
		return listen(ctx, cfg)
	}
	listener, err := listen(ctx, cfg)
	if err != nil {
		cfg.listen = "127.0.0.1:0"
		listener, err = listen(ctx, cfg)
	}
	return listener, err
}

func (c *demoCommand) print(w io.Writer, results []*demoResult) error {
	var out bytes.Buffer
	if c.Format == "json" {
		encoder := json.NewEncoder(&out)
		encoder.SetIndent("", " ")
		if err := encoder.Encode(map[string]any{"scenarios": results}); err != nil {
			return fmt.Errorf("encode the results: %w", err)
		}
	} else {
		for _, r := range results {
			r.writeText(&out)
		}
	}
	if _, err := w.Write(out.Bytes()); err != nil {
		return fmt.Errorf("print the results: %w", err)
	}
	return nil
}

func (r *demoResult) writeText(w io.Writer) {
	fmt.Fprintf(w, "\n%s: %s\n  %s\n", r.Name, r.report.Verdict.State, printable(r.report.Verdict.Sentence))
	for _, class := range []analysis.Class{analysis.ClassUser, analysis.ClassProbe} {
		truth, total := r.Truth[class], r.report.Totals[class]
		judged := "not measured"
		if total != nil {
			judged = fmt.Sprintf("%d of %d failed", total.Failures, total.Requests)
		}
		fmt.Fprintf(w, "  %-6s %s; in truth %d of %d\n", class, judged, truth.Failures, truth.Requests)
	}
	for _, finding := range r.report.Findings {
		fmt.Fprintf(w, "  %s: %s\n", finding.Code, printable(finding.Sentence))
	}
	if r.AsExpected {
		fmt.Fprintln(w, "  This is what truly happened.")
	}
	for _, difference := range r.differences {
		fmt.Fprintf(w, "  NOT as it truly was: %s\n", difference)
	}
}

// demo runs scenarios against a running console.
type demo struct {
	console *console
	client  *client
	dir     string
	keep    bool
	guarded func(scenario string) []string
	stderr  io.Writer
	log     *slog.Logger
}

func (d *demo) all(ctx context.Context, scenarios []string) ([]*demoResult, error) {
	var results []*demoResult
	for _, name := range scenarios {
		result, err := d.scenario(ctx, name)
		if err != nil {
			return results, fmt.Errorf("scenario %s: %w", name, err)
		}
		results = append(results, result)
	}
	return results, nil
}

// lastVerdict bounds how long after its window a verdict is waited for, beyond the
// settle time.
const lastVerdict = 30 * time.Second

// scenario runs one scenario from a fresh lab to its verdict.
func (d *demo) scenario(ctx context.Context, name string) (*demoResult, error) {
	dir := filepath.Join(d.dir, name)
	d.progress(name, "starting nodes, load balancer and users")
	bench, err := lab.Start(ctx, lab.Options{Dir: dir, Scenario: name, Guards: d.guarded(name), Log: d.log})
	if err != nil {
		return nil, err
	}
	defer bench.Close()
	settings := bench.Settings()
	s, err := d.configure(dir, settings)
	if err != nil {
		return nil, err
	}
	w, err := d.console.watch(ctx, s)
	if err != nil {
		return nil, err
	}
	watching, stopWatching := context.WithCancel(ctx)
	watched := make(chan error, 1)
	go func() { watched <- w.run(watching) }()
	stopped := func() error { // collectors write what they hold before they end
		stopWatching()
		err := <-watched
		watched <- nil
		return err
	}
	defer stopped() //nolint:errcheck // on the good way it has been called, and its error seen

	d.progress(name, fmt.Sprintf("baseline of %s", settings.Window.Baseline))
	id, err := bench.Run(ctx, &announcer{demo: d, service: name})
	if err != nil {
		return nil, err
	}
	d.progress(name, fmt.Sprintf("the window is over; waiting %s for late logs", settings.Window.Settle))
	report, err := d.verdict(ctx, id, settings.Window.Settle+lastVerdict)
	if err != nil {
		return nil, err
	}
	if err := stopped(); err != nil {
		return nil, err
	}
	d.console.roster.end(name)
	if err := bench.Close(); err != nil {
		return nil, fmt.Errorf("close the lab: %w", err)
	}
	result, err := d.compare(ctx, name, id, report, bench.Truth())
	if err != nil {
		return nil, err
	}
	if d.keep {
		if err := d.export(ctx, dir, id, settings, bench.Truth()); err != nil {
			return nil, fmt.Errorf("keep the sources: %w", err)
		}
	}
	d.progress(name, fmt.Sprintf("%s. %s", result.report.Verdict.State, result.report.Verdict.Sentence))
	return result, nil
}

// configure writes a configuration for the lab's endpoints and loads it as serve
// would.
func (d *demo) configure(dir string, settings lab.Settings) (*serviceConfig, error) {
	path := filepath.Join(dir, "live.yml")
	live, err := liveConfig(settings)
	if err != nil {
		return nil, err
	}
	if err := writeConfig(path, live); err != nil {
		return nil, err
	}
	cfg, err := loadConfig(path, func(string) string { return "" })
	if err != nil {
		return nil, err
	}
	return &cfg.services[0], nil
}

// verdict waits until the deploy's window has been sealed and returns the report.
func (d *demo) verdict(ctx context.Context, id string, limit time.Duration) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	changes, unsubscribe := d.console.db.Subscribe()
	defer unsubscribe()
	for {
		revision, err := d.console.db.LatestRevision(ctx, id)
		if err == nil && revision.State == analysis.WindowSealed {
			return revision.Report, nil
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, fmt.Errorf("wait for the verdict: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the verdict: %w", ctx.Err())
		case <-changes:
		}
	}
}

// progress tells on standard error what is going on.
func (d *demo) progress(scenario, what string) {
	fmt.Fprintf(d.stderr, "%s %s: %s\n", time.Now().UTC().Format("15:04:05"), scenario, printable(what))
}

// announcer tells the console of the lab's deploys over the HTTP API, as a real
// workflow would with `gapless deploy`.
type announcer struct {
	demo    *demo
	service string
	source  string // of the deploy, as its start told it
}

// StartDeploy implements lab.Announcer.
func (a *announcer) StartDeploy(ctx context.Context, d analysis.Deploy) error {
	a.demo.progress(a.service, "deploy "+d.ID+" started")
	a.source = d.Source
	_, err := a.demo.client.tell(ctx, startedEvent(d))
	return err
}

// Step implements lab.Announcer.
func (a *announcer) Step(ctx context.Context, step analysis.Step) error {
	a.demo.progress(a.service, strings.TrimSpace(string(step.Kind)+" "+step.Target))
	_, err := a.demo.client.tell(ctx, stepEvent(a.service, step))
	return err
}

// FinishDeploy implements lab.Announcer.
func (a *announcer) FinishDeploy(ctx context.Context, id string, at time.Time, result string) error {
	a.demo.progress(a.service, "deploy "+id+" reports that it "+result)
	_, err := a.demo.client.tell(ctx, reportedEvent(a.service, id, at, result, a.source))
	return err
}
