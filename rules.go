package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"gapless/analysis"
	"gapless/collectors/applog"
	"gapless/collectors/applog/logrules"
	"gapless/collectors/gunzip"
)

// rulesCommand is about the rules for application logs.
type rulesCommand struct {
	Test rulesTestCommand `cmd:"" help:"Try the configured log rules on files, and show what each line is taken for."`
}

// rulesTestCommand tries log rules on files. It stores nothing.
type rulesTestCommand struct {
	Config  string   `short:"c" required:"" placeholder:"FILE" help:"The configuration."`
	Service string   `placeholder:"NAME" help:"The service; may be left out where there is one."`
	Log     string   `placeholder:"NAME" help:"The application log that the files are of; else the one whose url names them."`
	Show    string   `enum:"all,matched,unmatched,none" default:"all" help:"Which lines to print: all, matched, unmatched, none."`
	Format  string   `enum:"text,json" default:"text" help:"text or json."`
	Files   []string `arg:"" name:"file" help:"Logs, gzip or not; - is the standard input."`
}

func (c *rulesTestCommand) run(ctx context.Context, p *program) (int, error) {
	cfg, err := loadConfig(c.Config, p.env)
	if err != nil {
		return exitFailed, err
	}
	if c.Service == "" && len(cfg.services) == 1 {
		c.Service = cfg.services[0].Name
	}
	s, err := cfg.service(c.Service)
	if err != nil {
		return exitFailed, err
	}
	out := bufio.NewWriter(p.stdout)
	t := &rulesTest{command: c, out: out}
	for _, name := range c.Files {
		if err := t.file(ctx, p, s, name); err != nil {
			return exitFailed, errors.Join(err, out.Flush())
		}
	}
	t.summary()
	if err := out.Flush(); err != nil {
		return exitFailed, fmt.Errorf("write the result: %w", err)
	}
	return exitOK, nil
}

// rulesTest is one run of the command.
type rulesTest struct {
	command *rulesTestCommand
	out     *bufio.Writer
	tally   *logrules.Tally
}

func (t *rulesTest) file(ctx context.Context, p *program, s *serviceConfig, name string) error {
	cfg, note, err := t.command.logOf(s, name)
	if err != nil {
		return err
	}
	if note != "" {
		fmt.Fprintf(p.stderr, "gapless: %s: %s\n", name, note)
	}
	if cfg.Names, err = analysis.NewClassifier(s.Service); err != nil {
		return err
	}
	reader, err := applog.New(cfg, nil)
	if err != nil {
		return err
	}
	in := p.stdin
	if name != applog.Standard {
		opened, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("open the log: %w", err)
		}
		defer opened.Close()
		in = opened
	}
	if in, err = unpacked(in); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	lines := reader.Lines()
	if t.tally == nil {
		t.tally = lines.NewTally()
	}
	malformed, err := reader.Decode(name, stoppable{ctx, in}, func(number int, state *logrules.State, line logrules.Line) {
		e := lines.Explain(state, line)
		t.tally.Add(lines, e)
		t.line(name, number, &e)
	})
	if malformed != "" {
		fmt.Fprintf(p.stderr, "gapless: %s: %s\n", name, malformed)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}

// logOf is how a file is read: as the configured log that its name belongs to. note
// says what was assumed.
func (c *rulesTestCommand) logOf(s *serviceConfig, name string) (cfg applog.Config, note string, err error) {
	var names []string
	absolute, err := filepath.Abs(name)
	if err != nil {
		return cfg, "", fmt.Errorf("find %s: %w", name, err)
	}
	for _, log := range s.appLogs {
		pattern := strings.TrimPrefix(log.URL, "file://")
		if matched, err := filepath.Match(pattern, absolute); log.Source == c.Log || c.Log == "" && err == nil && (matched || pattern == absolute) {
			return log, "", nil
		}
		names = append(names, log.Source)
	}
	for _, log := range s.lokiLogs {
		if log.Source == c.Log {
			return applog.Config{Service: s.Name, Source: log.Source, URL: "file://" + name, Lines: log.Rules}, "", nil
		}
		names = append(names, log.Source)
	}
	switch {
	case c.Log != "":
		return cfg, "", fmt.Errorf("no application log %q in service %s; it has %s", c.Log, s.Name, strings.Join(names, ", "))
	case len(s.appLogs) == 1 && len(names) == 1:
		return s.appLogs[0], fmt.Sprintf("read as %s, the only application log", names[0]), nil
	}
	cfg = applog.Config{Service: s.Name, Source: cmp.Or(filepath.Base(name), "log"), URL: "file://" + name, Lines: s.lines}
	return cfg, "none of the application logs is of this file: read as kind file, with times in UTC where they name no zone (--log NAME reads it as another)", nil
}

// unpacked reads a stream, gzip or not.
func unpacked(in io.Reader) (io.Reader, error) {
	buffered := bufio.NewReaderSize(in, 256<<10)
	if magic, err := buffered.Peek(2); err == nil && gunzip.Is(magic) {
		return gunzip.New(buffered)
	}
	return buffered, nil
}

// stoppable is a reader that ends with a context.
type stoppable struct {
	ctx context.Context
	r   io.Reader
}

func (s stoppable) Read(p []byte) (int, error) {
	if err := context.Cause(s.ctx); err != nil {
		return 0, err
	}
	return s.r.Read(p)
}
