package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"gapless/collectors/applog/logrules"
	"gapless/views"
)

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
			Doubtful int    `json:"told_in_doubt"`     // would tell something, but cannot be read in one sure way
			Rules    []rule `json:"rules"`
		}{t.tally.Lines, t.tally.Timeless, t.tally.Borrowed, t.tally.Untimed, t.tally.Doubtful, rules})
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
	if t.tally.Doubtful > 0 {
		fmt.Fprintf(t.out, "; %d would tell something, but cannot be read in one sure way: they may be text that a client sent", t.tally.Doubtful)
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
