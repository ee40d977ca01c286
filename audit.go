package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gapless/analysis"
	"gapless/store"
	"gapless/store/evidence"
	"gapless/views"
)

// auditCommand collects one window from the configured sources, judges it and
// prints the report.
type auditCommand struct {
	Config  string `short:"c" required:"" placeholder:"FILE" help:"The configuration."`
	Service string `required:"" placeholder:"NAME" help:"The service, as the configuration names it."`
	From    string `placeholder:"TIME" help:"Start of the window, RFC 3339."`
	To      string `placeholder:"TIME" help:"End of the window, RFC 3339."`
	Deploy  string `placeholder:"ID" help:"The deploy to judge; needed where the span has several."`
	DB      string `name:"db" placeholder:"FILE" help:"A database to collect into; a temporary one if left out."`
	Format  string `default:"text" enum:"text,json,html,md" help:"text, json, html or md."`
	Output  string `short:"o" placeholder:"FILE" help:"Where to write the report; standard output if left out."`
}

func (c *auditCommand) run(ctx context.Context, p *program) (int, error) {
	span, err := c.span()
	if err != nil {
		return exitFailed, err
	}
	cfg, err := loadConfig(c.Config, p.env)
	if err != nil {
		return exitFailed, err
	}
	service, err := cfg.service(c.Service)
	if err != nil {
		return exitFailed, err
	}
	path := c.DB
	if path == "" {
		dir, err := os.MkdirTemp("", "gapless-audit-")
		if err != nil {
			return exitFailed, fmt.Errorf("make a folder for the database: %w", err)
		}
		defer os.RemoveAll(dir)
		path = filepath.Join(dir, "gapless.db")
	}
	db, err := store.Open(ctx, path)
	if err != nil {
		return exitFailed, err
	}
	defer db.Close()
	a := &audit{service: service, db: db, stderr: p.stderr}
	observations, err := a.observe(ctx, c.Deploy, span)
	if err != nil {
		return exitFailed, err
	}
	report := judge{cfg.sha256}.judge(observations)
	if report.Provenance.InputsSHA256, err = evidence.InputsSHA256(observations); err != nil {
		return exitFailed, fmt.Errorf("hash the evidence: %w", err)
	}
	if err := c.write(ctx, p, observations, &report, cfg.zone); err != nil {
		return exitFailed, err
	}
	return verdictStatus(report.Verdict.State), nil
}

// span reads --from and --to; both or neither.
func (c *auditCommand) span() (analysis.Span, error) {
	var span analysis.Span
	if (c.From == "") != (c.To == "") {
		return span, errors.New("--from and --to go together")
	}
	if c.From == "" {
		return span, nil
	}
	for _, end := range []struct {
		flag, value string
		at          *time.Time
	}{{"--from", c.From, &span.From.Time}, {"--to", c.To, &span.To.Time}} {
		at, err := time.Parse(time.RFC3339Nano, end.value)
		if err != nil {
			return span, fmt.Errorf("%s %q %s", end.flag, end.value, analysis.NoTime)
		}
		*end.at = at.UTC()
	}
	if !span.From.Before(span.To.Time) {
		return span, fmt.Errorf("--from %s is not before --to %s", c.From, c.To)
	}
	return span, nil
}

// audit collects one window of one service.
type audit struct {
	service *serviceConfig
	db      *store.DB
	stderr  io.Writer
}

// observe finds the deploy, collects its window and returns what was seen. A span
// that is not zero replaces baseline and tail.
func (a *audit) observe(ctx context.Context, deployID string, span analysis.Span) (analysis.Observations, error) {
	var none analysis.Observations
	if err := a.db.PutService(ctx, a.service.Service); err != nil {
		return none, fmt.Errorf("store service %s: %w", a.service.Name, err)
	}
	if err := a.db.NoteConfig(ctx, a.service.Name, a.service.configSHA256); err != nil {
		return none, err
	}
	w, err := newWatch(ctx, a.service, a.db, slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err != nil {
		return none, err
	}
	// The deploys first: they say which window it is.
	everything := span
	if everything.From.IsZero() || deployID != "" {
		everything.From.Time, everything.To.Time = time.Unix(0, 0), a.db.Now()
	}
	a.warn(w.collectDeploys(ctx, everything.From.Time, everything.To.Time))
	deploy, err := a.deploy(ctx, deployID, everything, !span.From.IsZero())
	if err != nil {
		return none, err
	}
	if span.From.IsZero() {
		span.From.Time, span.To.Time = analysis.WindowOf(deploy, a.service.Window)
	}
	a.warn(w.collect(ctx, span.From.Time, span.To.Time, func(string, int, int) {}))
	if err := ctx.Err(); err != nil {
		return none, err
	}
	observations, err := a.db.ObservationsBetween(ctx, a.service.Name, span.From.Time, span.To.Time, deploy.ID)
	if err != nil {
		return none, fmt.Errorf("read what was collected: %w", err)
	}
	return observations, nil
}

// warn prints what could not be collected. The report shows it as a blind spot.
func (a *audit) warn(err error) {
	if err == nil {
		return
	}
	for _, complaint := range complaints(err) {
		fmt.Fprintf(a.stderr, "gapless: %s\n", complaint)
	}
}

// deploy is the one to judge: the one named, else the only one in the span. Where
// the span was given and has none, the span is judged without a deploy.
func (a *audit) deploy(ctx context.Context, id string, span analysis.Span, given bool) (analysis.Deploy, error) {
	if id != "" {
		deploy, err := a.db.Deploy(ctx, id)
		if errors.Is(err, store.ErrNotFound) || (err == nil && deploy.Service != a.service.Name) {
			return deploy, fmt.Errorf("no deploy %q of service %s in the sources", id, a.service.Name)
		}
		return deploy, err
	}
	deploys, err := a.db.DeploysIn(ctx, a.service.Name, span.From.Time, span.To.Time)
	if err != nil {
		return analysis.Deploy{}, fmt.Errorf("list deploys: %w", err)
	}
	switch {
	case len(deploys) == 1:
		return deploys[0], nil
	case len(deploys) == 0 && given:
		return analysis.Deploy{}, nil
	case len(deploys) == 0:
		return analysis.Deploy{}, errors.New("no deploy in the sources: say which span to judge with --from and --to")
	}
	ids := make([]string, len(deploys))
	for i, deploy := range deploys {
		ids[i] = deploy.ID
	}
	return analysis.Deploy{}, fmt.Errorf("%d deploys in the span: say which with --deploy: %s", len(deploys), strings.Join(ids, ", "))
}

// write renders the whole report before it touches the output, so that a failure
// leaves no half of one.
func (c *auditCommand) write(ctx context.Context, p *program, o analysis.Observations, r *analysis.Report, zone *time.Location) error {
	var out bytes.Buffer
	switch c.Format {
	case "json":
		encoder := json.NewEncoder(&out)
		encoder.SetIndent("", " ")
		if err := encoder.Encode(r); err != nil {
			return fmt.Errorf("encode the report: %w", err)
		}
	case "html":
		if err := views.Standalone(views.NewDeployPage(o, *r, zone)).Render(ctx, &out); err != nil {
			return fmt.Errorf("render the report: %w", err)
		}
	default:
		(&sheet{w: &out, markdown: c.Format == "md", zone: zone}).writeReport(r)
	}
	if c.Output != "" {
		if err := os.WriteFile(c.Output, views.Bare(out.Bytes()), 0o600); err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
		return nil
	}
	if _, err := p.stdout.Write(out.Bytes()); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}
