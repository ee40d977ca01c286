package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"gapless/collectors/accesslog"
)

// parseCommand shows how each line of a log is understood.
type parseCommand struct {
	Format string   `required:"" placeholder:"NAME" help:"The log's format: alb, alb-health, alb-conn, nginx, nginx-json, haproxy."`
	Files  []string `arg:"" optional:"" name:"file" help:"Logs, gzip or not; standard input if there is none, or for -."`
}

func (c *parseCommand) run(ctx context.Context, p *program) (_ int, err error) {
	files := c.Files
	if len(files) == 0 {
		files = []string{"-"}
	}
	inputs := make([]io.Reader, 0, len(files))
	for _, name := range files {
		if name == "-" {
			inputs = append(inputs, p.stdin)
			continue
		}
		file, openErr := os.Open(name)
		if openErr != nil {
			return exitFailed, fmt.Errorf("open the log: %w", openErr)
		}
		defer file.Close()
		inputs = append(inputs, file)
	}
	parsed, err := accesslog.Parse(ctx, p.stdout, c.Format, inputs...)
	if err != nil {
		return exitFailed, err
	}
	if parsed.Partial {
		return exitDisproved, errors.New("the input breaks off: what came before it was read")
	}
	if parsed.SetAside > 0 {
		return exitDisproved, nil
	}
	return exitOK, nil
}
