package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/klauspost/compress/gzip"

	"gapless/analysis"
	"gapless/collectors/applog"
	"gapless/collectors/applog/logrules"
	"gapless/views"
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

// line prints one line's outcome.
func (t *rulesTest) line(file string, number int, e *logrules.Explained) {
	if show := t.command.Show; show == "none" || show == "matched" && len(e.Rules) == 0 || show == "unmatched" && len(e.Rules) > 0 {
		return
	}
	if t.command.Format == "json" {
		t.json(explainedLine(file, number, e))
		return
	}
	at := "no time"
	switch {
	case !e.At.IsZero() && e.OwnTime:
		at = e.At.Format("2006-01-02T15:04:05.000Z")
	case !e.At.IsZero():
		at = "as before"
	}
	fmt.Fprintf(t.out, "%s:%d\t%s\t", file, number, at)
	if len(e.Rules) == 0 {
		if e.Continues {
			fmt.Fprint(t.out, "goes on ")
		}
		fmt.Fprintf(t.out, "- %q\n", views.Short(e.Message, 120))
		return
	}
	fmt.Fprint(t.out, strings.Join(e.Rules, ", "))
	for _, gave := range gaveText(e.Batch) {
		fmt.Fprintf(t.out, " → %s", gave)
	}
	fmt.Fprintln(t.out)
}

// gaveText says what a line gave, in short.
func gaveText(b *logrules.Batch) []string {
	var all []string
	add := func(what, target string, parts ...string) {
		for i := 0; i+1 < len(parts); i += 2 {
			if parts[i+1] != "" {
				what += fmt.Sprintf(" %s=%q", parts[i], parts[i+1])
			}
		}
		if target != "" {
			what += " of " + target
		}
		all = append(all, what)
	}
	for _, h := range b.Handled {
		state := fmt.Sprintf("answered %d", h.Status)
		if h.Begun {
			state = "received"
		}
		add(fmt.Sprintf("request %s-%06d %s", h.Run, h.Seq, state), h.Target)
	}
	for _, s := range b.Steps {
		add("step "+string(s.Kind), s.Target)
	}
	for _, s := range b.Signals {
		parts := []string{"name", s.Name, "key", s.Key, "outcome", string(s.Outcome)}
		for _, key := range slices.Sorted(maps.Keys(s.Values)) {
			parts = append(parts, key, s.Values[key])
		}
		add("event "+string(s.Event), s.Target, parts...)
	}
	for _, j := range b.Journeys {
		add("journey "+j.Journey, j.Target, "step", j.Step, "key", j.Key, "outcome", string(j.Outcome))
	}
	return all
}

// explainedJSON is one line of the JSON form.
type explainedJSON struct {
	File      string     `json:"file"`
	Line      int        `json:"line"`
	At        *time.Time `json:"at"`       // null: no time is known
	OwnTime   bool       `json:"own_time"` // false: that of the line before
	Continues bool       `json:"continues"`
	Message   string     `json:"message"` // what the patterns of rules see
	Rules     []string   `json:"rules"`
	Gave      []gaveJSON `json:"gave"`
}

type gaveJSON struct {
	Step    string            `json:"step,omitempty"` // a step's kind, or the step of a journey
	Event   string            `json:"event,omitempty"`
	Journey string            `json:"journey,omitempty"`
	Request string            `json:"request,omitempty"`
	Status  int               `json:"status,omitempty"`
	Begun   bool              `json:"begun,omitempty"`
	Target  string            `json:"target,omitempty"`
	Name    string            `json:"name,omitempty"`
	Key     string            `json:"key,omitempty"`
	Outcome string            `json:"outcome,omitempty"`
	Values  map[string]string `json:"values,omitempty"`
}

func explainedLine(file string, number int, e *logrules.Explained) explainedJSON {
	line := explainedJSON{
		File: file, Line: number, OwnTime: e.OwnTime, Continues: e.Continues, Message: strings.ToValidUTF8(e.Message, "\uFFFD"),
		Rules: append([]string{}, e.Rules...), Gave: []gaveJSON{},
	}
	if !e.At.IsZero() {
		line.At = &e.At
	}
	for _, h := range e.Batch.Handled {
		line.Gave = append(line.Gave, gaveJSON{Request: fmt.Sprintf("%s-%06d", h.Run, h.Seq), Status: h.Status, Begun: h.Begun, Target: h.Target})
	}
	for _, s := range e.Batch.Steps {
		line.Gave = append(line.Gave, gaveJSON{Step: string(s.Kind), Target: s.Target})
	}
	for _, s := range e.Batch.Signals {
		line.Gave = append(line.Gave, gaveJSON{Event: string(s.Event), Target: s.Target, Name: s.Name, Key: s.Key, Outcome: string(s.Outcome), Values: s.Values})
	}
	for _, j := range e.Batch.Journeys {
		line.Gave = append(line.Gave, gaveJSON{Journey: j.Journey, Step: j.Step, Key: j.Key, Outcome: string(j.Outcome), Target: j.Target})
	}
	return line
}

// summary prints how often each rule was tried and matched.
func (t *rulesTest) summary() {
	if t.command.Format == "json" {
		type rule struct {
			Rule    string `json:"rule"`
			Lines   int    `json:"lines"`
			Matched int    `json:"matched"`
		}
		rules := []rule{}
		for _, r := range t.tally.Rules {
			rules = append(rules, rule(r))
		}
		t.json(struct {
			Lines    int    `json:"lines"`
			Timeless int    `json:"without_time"`      // at no known time
			Borrowed int    `json:"with_time_before"`  // without a time of their own
			Untimed  int    `json:"told_without_time"` // told something at no known time, which is lost
			Rules    []rule `json:"rules"`
		}{t.tally.Lines, t.tally.Timeless, t.tally.Borrowed, t.tally.Untimed, rules})
		return
	}
	table := tabwriter.NewWriter(t.out, 0, 8, 2, ' ', 0)
	if t.command.Show != "none" {
		fmt.Fprintln(t.out)
	}
	fmt.Fprintln(table, "rule\tlines tried\tmatched\t")
	for _, r := range t.tally.Rules {
		note := ""
		if r.Matched == 0 {
			note = "never"
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%s\n", r.Rule, r.Lines, r.Matched, note)
	}
	_ = table.Flush() // into a buffer, whose own error comes with its flush
	fmt.Fprintf(t.out, "%d lines, %d without a time of their own (they have that of the line before), %d at no known time", t.tally.Lines, t.tally.Borrowed, t.tally.Timeless)
	if t.tally.Untimed > 0 {
		fmt.Fprintf(t.out, "; %d told something that is lost, for want of a time", t.tally.Untimed)
	}
	fmt.Fprintln(t.out)
}

func (t *rulesTest) json(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // times between 1970 and 9998, and text
	}
	_, _ = t.out.Write(append(b, '\n')) // its error comes with its flush
}

// unpacked reads a stream, gzip or not.
func unpacked(in io.Reader) (io.Reader, error) {
	buffered := bufio.NewReaderSize(in, 256<<10)
	if magic, err := buffered.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		return gzip.NewReader(buffered)
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
