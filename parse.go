package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"gapless/collectors/accesslog"
)

// parseCommand shows how each line of a log is understood.
type parseCommand struct {
	Format    string   `required:"" placeholder:"NAME" help:"The log's format: alb, alb-health, alb-conn, nginx, nginx-json, haproxy."`
	LogFormat string   `placeholder:"TEXT" help:"Of nginx: combined (the default), main, or the text of the log_format."`
	Zone      string   `placeholder:"NAME" help:"Where times are from that name no offset, as Asia/Seoul; UTC if left out."`
	Files     []string `arg:"" optional:"" name:"file" help:"Logs, gzip or not; standard input if there is none, or for -."`
}

func (c *parseCommand) run(ctx context.Context, p *program) (int, error) {
	cfg := accesslog.Config{Kind: c.Format, Format: c.LogFormat}
	if c.LogFormat != "" && c.Format != accesslog.KindNginx {
		return exitFailed, fmt.Errorf("--log-format is for --format %s", accesslog.KindNginx)
	}
	if c.Zone != "" {
		zone, err := time.LoadLocation(c.Zone)
		if err != nil {
			return exitFailed, fmt.Errorf("--zone: %w", err)
		}
		cfg.Zone = zone
	}
	files := c.Files
	if len(files) == 0 {
		files = []string{"-"}
	}
	inputs := make([]accesslog.Input, 0, len(files))
	for _, name := range files {
		if name == "-" {
			inputs = append(inputs, accesslog.Input{Name: "standard input", Reader: p.stdin})
			continue
		}
		file, err := os.Open(name)
		if err != nil {
			return exitFailed, fmt.Errorf("open the log: %w", err)
		}
		defer file.Close()
		inputs = append(inputs, accesslog.Input{Name: name, Reader: file})
	}
	parsed, err := accesslog.Parse(ctx, p.stdout, cfg, inputs...)
	switch {
	case err != nil:
		return exitFailed, errors.Join(append(parsed.Broken, err)...)
	case len(parsed.Broken) > 0:
		return exitDisproved, errors.Join(parsed.Broken...)
	case parsed.SetAside > 0:
		return exitDisproved, nil
	}
	return exitOK, nil
}
