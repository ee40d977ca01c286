package analysis

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// sortSignals gives what lines, records and endpoints told an order of its own.
func sortSignals(o *Observations) {
	inOrder(&o.Signals, func(x, y Signal) int {
		return cmp.Or(x.At.Compare(y.At), compareStrings(x.Source, y.Source), compareStrings(x.Target, y.Target), compareStrings(x.Rule, y.Rule),
			cmp.Compare(x.Event, y.Event), compareStrings(x.Name, y.Name), compareStrings(x.Key, y.Key), cmp.Compare(x.Outcome, y.Outcome),
			compareValues(x.Values, y.Values))
	})
	inOrder(&o.Journeys, func(x, y JourneyStep) int {
		return cmp.Or(x.At.Compare(y.At), compareStrings(x.Source, y.Source), compareStrings(x.Journey, y.Journey), compareStrings(x.Key, y.Key),
			compareStrings(x.Step, y.Step), cmp.Compare(x.Outcome, y.Outcome), compareStrings(x.Target, y.Target))
	})
	inOrder(&o.Gauges, func(x, y Gauge) int {
		return cmp.Or(x.At.Compare(y.At), compareStrings(x.Source, y.Source), compareStrings(x.Target, y.Target), compareStrings(x.Metric, y.Metric),
			cmp.Compare(x.Value, y.Value))
	})
}

func compareValues(x, y map[string]string) int {
	a, b := sortedKeys(x), sortedKeys(y)
	if c := slices.Compare(a, b); c != 0 {
		return c
	}
	for _, name := range a {
		if c := compareStrings(x[name], y[name]); c != 0 {
			return c
		}
	}
	return 0
}

// readSignals sorts the signals by what they tell.
func (b *bench) readSignals() {
	b.signals = map[Event][]*Signal{}
	for i := range b.obs.Signals {
		s := &b.obs.Signals[i]
		b.signals[s.Event] = append(b.signals[s.Event], s)
	}
}

// during are the signals of some events in [from, to), in their order.
func (b *bench) during(from, to time.Time, events ...Event) []*Signal {
	var found []*Signal
	for _, event := range events {
		for _, s := range b.signals[event] {
			if !s.At.Before(from) && s.At.Before(to) {
				found = append(found, s)
			}
		}
	}
	if len(events) > 1 {
		slices.SortStableFunc(found, func(x, y *Signal) int { return x.At.Compare(y.At) })
	}
	return found
}

// untold says why no line can be expected to tell of an event; it is empty where one
// did. A rule that matched nothing at all in the lines that it was tried on may fit
// no line: its silence is no evidence.
func (b *bench) untold(event Event) string {
	if len(b.signals[event]) > 0 {
		return ""
	}
	why := whySignals
	for _, rule := range b.obs.Service.LogRules {
		if rule.Event != event {
			continue
		}
		for _, c := range b.report.Controls {
			if c.Rule == rule.Name && c.Lines > 0 {
				why = whyNeverMatched
			}
		}
	}
	return why
}

// logsOf are the application logs that may tell of a target: its own, and those that
// name the target in each line.
func (b *bench) logsOf(target string) []string {
	var names []string
	for _, log := range b.obs.Service.AppLogs {
		if log.Target == target || log.Target == "" {
			names = append(names, log.Name)
		}
	}
	return names
}

// linesIn counts the lines that the rules were tried on in some sources and a span, by
// whole seconds.
func (b *bench) linesIn(sources []string, from, to time.Time) int {
	type second struct {
		source string
		at     int64
	}
	lines, n := map[second]int{}, 0
	for _, c := range b.obs.Counts {
		if slices.Contains(sources, c.Source) && !c.Second.Before(from.Truncate(time.Second)) && c.Second.Before(to) {
			k := second{c.Source, c.Second.Unix()}
			lines[k] = max(lines[k], c.Lines)
		}
	}
	for _, each := range lines {
		n += each
	}
	return n
}

// blindIn reports whether any of some sources is blind somewhere in [from, to], as far
// as the window reaches. A source of which nothing is known is blind.
func (b *bench) blindIn(sources []string, from, to time.Time) bool {
	for _, source := range sources {
		c := b.coverage[source]
		if c == nil {
			return true
		}
		for _, blind := range c.Blind {
			if blind.From.Before(to) && blind.To.After(from) {
				return true
			}
		}
	}
	return false
}

// signalEvidence points at signals of one source each.
func signalEvidence(signals ...*Signal) []Evidence {
	var list []Evidence
	index := map[string]int{}
	for _, s := range signals {
		i, ok := index[s.Source]
		if !ok {
			i = len(list)
			index[s.Source] = i
			list = append(list, Evidence{Kind: "signals", Source: s.Source, From: Time{s.At}, To: Time{s.At}})
		}
		e := &list[i]
		e.From, e.To, e.Count = Time{earliest(e.From.Time, s.At)}, Time{latest(e.To.Time, s.At)}, e.Count+1
	}
	return list
}

// maxExamples is how many identifiers a finding or a report lists.
const maxExamples = 10

func examples(keys []string) []string {
	keys = slices.Compact(slices.Sorted(slices.Values(keys)))
	return append([]string{}, keys[:min(len(keys), maxExamples)]...)
}

// setOf is the rule set that a rule belongs to; empty for one from the configuration.
func setOf(rule string) string {
	set, _, ok := strings.Cut(rule, "/")
	if !ok {
		return ""
	}
	return set
}
