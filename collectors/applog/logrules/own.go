package logrules

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"gapless/analysis"
)

// Own is a rule from the configuration.
type Own struct {
	Name  string // letters, digits, "-", "_" and "."
	Match string // regular expression for the line's message
	Event string // one of [Events] or another word; or else
	Step  string // one of [analysis.StepKinds]
	// Target, Journey and Values are always so, where no group says them.
	Target, Journey string
	Values          map[string]string
}

// Events are those that rules of the judge rest on.
var Events = []analysis.Event{
	analysis.EventStopRequested, analysis.EventShutdownBegan, analysis.EventShutdownEnded, analysis.EventShutdownAborted,
	analysis.EventProcessExited, analysis.EventProcessStarting, analysis.EventVersion,
	analysis.EventWorkBegan, analysis.EventWorkEnded, analysis.EventJobBegan, analysis.EventJobEnded, analysis.EventJobSkipped,
	analysis.EventCallSent, analysis.EventCallEnded, analysis.EventCallRefused, analysis.EventBreakerChanged,
	analysis.EventPoolExhausted, analysis.EventJourneyStep, analysis.EventUpstreamFailed,
}

// FieldError is what is wrong with one key of a rule. Its text names the value and
// what is allowed.
type FieldError struct {
	Key  string // as it is written in the configuration
	Text string
}

func (e *FieldError) Error() string { return e.Key + ": " + e.Text }

func wrong(key, format string, args ...any) error {
	return &FieldError{Key: key, Text: fmt.Sprintf(format, args...)}
}

var (
	ownName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	ownEvent = regexp.MustCompile(`^[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)+$`)
)

// Check says everything that is wrong with a rule, as [FieldError]s.
func (o Own) Check() []error {
	var problems []error
	if !ownName.MatchString(o.Name) || o.Name == RuleAnswered {
		problems = append(problems, wrong("name", "%q is no name for a rule; allowed: letters, digits, \"-\", \"_\" and \".\", and not %s", o.Name, RuleAnswered))
	}
	groups := map[string]bool{}
	if re, err := regexp.Compile(o.Match); o.Match == "" {
		problems = append(problems, wrong("match", "missing; allowed: a regular expression for the line's message, such as '^order=(?P<key>\\S+) work begun'"))
	} else if err != nil {
		problems = append(problems, wrong("match", "%q is no regular expression: %v; allowed: RE2 syntax, with named groups (?P<name>…)", o.Match, cause(err)))
	} else {
		for _, group := range re.SubexpNames() {
			groups[group] = true
		}
		if re.MatchString("") {
			problems = append(problems, wrong("match", "%q matches an empty line, and so every line; allowed: a regular expression that needs some text", o.Match))
		}
	}
	switch {
	case o.Event == "" && o.Step == "":
		problems = append(problems, wrong("event", "missing; allowed: an event (%s, or a word of your own with a dot in it), or else step", join(Events)))
	case o.Event != "" && o.Step != "":
		problems = append(problems, wrong("step", "%q stands beside event %q; allowed: one of the two", o.Step, o.Event))
	case o.Event != "" && !ownEvent.MatchString(o.Event):
		problems = append(problems, wrong("event", "%q is no event; allowed: %s, or words of your own with a dot between them, such as cache.filled", o.Event, join(Events)))
	case slices.Contains(analysis.StepKinds, analysis.StepKind(o.Event)):
		problems = append(problems, wrong("event", "%q is a kind of step, and as an event no rule of the judge knows it; write step: %s", o.Event, o.Event))
	case slices.Contains(Events, analysis.Event(o.Step)):
		problems = append(problems, wrong("step", "%q is an event; write event: %s", o.Step, o.Step))
	case o.Step != "" && !slices.Contains(analysis.StepKinds, analysis.StepKind(o.Step)):
		problems = append(problems, wrong("step", "%q is not one of the values allowed: %s", o.Step, join(analysis.StepKinds)))
	}
	if o.Journey != "" && o.Event != string(analysis.EventJourneyStep) {
		problems = append(problems, wrong("journey", "%q means nothing for this rule; allowed for: event %s", o.Journey, analysis.EventJourneyStep))
	}
	for _, need := range needs(analysis.Event(o.Event)) {
		_, fixed := o.Values[need[0]]
		if fixed = fixed || need[0] == groupJourney && o.Journey != ""; o.Match != "" && !fixed && !slices.ContainsFunc(need, func(group string) bool { return groups[group] }) {
			problems = append(problems, wrong("match", "%q has no group for what %s is about; allowed: a regular expression with (?P<%s>…)", o.Match, o.Event, strings.Join(need, ">…) or (?P<")))
		}
	}
	return problems
}

// needs are the groups without which an event tells nothing: of each, one.
func needs(event analysis.Event) [][]string {
	switch event {
	case analysis.EventWorkBegan, analysis.EventWorkEnded:
		return [][]string{{groupKey}}
	case analysis.EventJobBegan, analysis.EventJobEnded, analysis.EventJobSkipped, analysis.EventBreakerChanged,
		analysis.EventCallSent, analysis.EventCallEnded, analysis.EventCallRefused:
		return [][]string{{groupName}}
	case analysis.EventJourneyStep:
		return [][]string{{groupKey}, {groupStep, groupName}, {groupJourney}}
	}
	return nil
}

// compile makes a rule of it.
func (o Own) compile() (rule, error) {
	if problems := o.Check(); len(problems) > 0 {
		return rule{}, fmt.Errorf("%s: %w", o.Name, errors.Join(problems...))
	}
	re, literal, err := pattern(o.Match)
	if err != nil {
		return rule{}, fmt.Errorf("%s: match: %w", o.Name, err)
	}
	r := rule{
		name: o.Name, literal: literal, pattern: re, groups: re.SubexpNames(), trace: true,
		event: analysis.Event(o.Event), step: analysis.StepKind(o.Step), fixed: map[string]string{},
	}
	maps.Copy(r.fixed, o.Values)
	if o.Target != "" {
		r.fixed[groupTarget] = o.Target
	}
	if o.Journey != "" {
		r.fixed[groupJourney] = o.Journey
	}
	for _, group := range r.groups {
		delete(r.fixed, group) // the line knows better
	}
	return r, nil
}

// cause is a regular expression's error without the expression itself.
func cause(err error) string {
	return strings.TrimPrefix(err.Error(), "error parsing regexp: ")
}

func join[S ~string](words []S) string {
	text := make([]string, len(words))
	for i, word := range words {
		text[i] = string(word)
	}
	return strings.Join(text, ", ")
}
