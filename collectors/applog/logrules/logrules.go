// Package logrules says what one line of an application's log tells: a request that
// was handled, a step of a deploy, or a named event with values.
//
// What belongs here: the sets of rules for known frameworks, rules from the
// configuration, finding a line's time and message, and counting how many lines each
// rule was tried on. Where lines come from is the business of the packages that read
// them: collectors/applog (files, the journal, containers) and collectors/loki. A
// line's text leaves this package only in the groups that a rule names.
package logrules

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"gapless/analysis"
)

// Config says what is to be found in the lines of one source.
type Config struct {
	Source string // its name in the configuration
	// Target wrote the lines. Where it is empty, the line's own target is taken, and
	// where it has none, the group "target" of the pattern that matched.
	Target string
	// Unit is the systemd unit whose fate the lines tell, with * and ? as
	// [path.Match] knows them; lines of systemd about other units tell nothing.
	// Empty is every unit.
	Unit       string
	Zone       *time.Location // of line times that name none; nil is UTC
	TimeFormat *TimeFormat    // of line times; nil: the forms that [lineTime] knows

	// Objects says that every line that is a JSON object is a message of its own, whatever
	// lines stand before it: the application logs nothing of several lines.
	Objects bool

	// LogMatch finds a request that was answered: group id, and where there are
	// any, groups status and target. ReceivedMatch finds one that was begun.
	LogMatch, ReceivedMatch string
	Sets                    []string // of [Sets]
	Own                     []Own

	Names *analysis.Classifier
	Now   func() time.Time // nil is the machine's clock
}

// Names of what is counted besides the rules. The first two say how many lines had a
// request id, whoever's; the third how many of these were ours; the last how many
// lines were JSON objects with a message.
const (
	RuleAnswered = "request-id"
	RuleReceived = "request-id/received"
	RuleProbe    = "request-id/probe"
	RuleJSON     = SetJSON + "/line"
)

// Interpreter takes lines apart. It serves one goroutine.
type Interpreter struct {
	cfg      Config
	answered *idPattern
	received *idPattern
	rules    []rule
	counted  []string // names of everything that is counted, by index
	json     bool     // the set for JSON is among the sets
	jsonAt   int      // index of its count
	line     current  // at hand
}

// New compiles what is to be found. Its error is the configuration's and names the
// key and the value.
func New(cfg Config) (*Interpreter, error) {
	if cfg.Zone == nil {
		cfg.Zone = time.UTC
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	in := &Interpreter{cfg: cfg, counted: []string{RuleAnswered, RuleReceived, RuleProbe}}
	var err error
	if in.answered, err = compileID(cfg.LogMatch); err != nil {
		return nil, fmt.Errorf("log_match: %w", err)
	}
	if in.received, err = compileID(cfg.ReceivedMatch); err != nil {
		return nil, fmt.Errorf("received_match: %w", err)
	}
	if _, err := path.Match(cfg.Unit, ""); err != nil {
		return nil, fmt.Errorf("unit: %q is no pattern: %w", cfg.Unit, err)
	}
	for i, name := range cfg.Sets {
		set, ok := ruleSets[name]
		switch {
		case !ok:
			return nil, fmt.Errorf("log_rules: %q is none of %s", name, strings.Join(Sets, ", "))
		case slices.Contains(cfg.Sets[:i], name):
			return nil, fmt.Errorf("log_rules: %q is there twice", name)
		case name == SetJSON:
			in.json, in.jsonAt = true, len(in.counted)
			in.counted = append(in.counted, RuleJSON)
		}
		for _, each := range set {
			in.add(each)
		}
	}
	for i, own := range cfg.Own {
		each, err := own.compile()
		if err != nil {
			return nil, fmt.Errorf("log_rules: %w", err)
		}
		if slices.ContainsFunc(cfg.Own[:i], func(before Own) bool { return before.Name == own.Name }) {
			return nil, fmt.Errorf("log_rules: name: %q is there twice", own.Name)
		}
		in.add(each)
	}
	return in, nil
}

func (in *Interpreter) add(each rule) {
	each.count = len(in.counted)
	in.counted = append(in.counted, each.name)
	in.rules = append(in.rules, each)
}

// Rules are the names of everything that is counted, in order.
func (in *Interpreter) Rules() []string {
	var names []string
	for i, name := range in.counted {
		if in.counts(i) {
			names = append(names, name)
		}
	}
	return names
}

// counts says whether the i-th thing that could be counted was asked for.
func (in *Interpreter) counts(i int) bool {
	switch in.counted[i] {
	case RuleAnswered:
		return in.answered != nil
	case RuleReceived:
		return in.received != nil
	case RuleProbe:
		return in.answered != nil || in.received != nil
	}
	return true
}

// target is who wrote a line, by what is known of it, the surest first.
func (in *Interpreter) target(line, found string) string {
	name := cmp.Or(in.cfg.Target, line, found)
	if in.cfg.Names != nil {
		return in.cfg.Names.Target(name)
	}
	return name
}
