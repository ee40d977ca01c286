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
		return cmp.Or(x.At.Compare(y.At), strings.Compare(x.Source, y.Source), strings.Compare(x.Target, y.Target), strings.Compare(x.Rule, y.Rule),
			cmp.Compare(x.Event, y.Event), strings.Compare(x.Name, y.Name), strings.Compare(x.Key, y.Key), cmp.Compare(x.Outcome, y.Outcome),
			compareValues(x.Values, y.Values))
	})
	inOrder(&o.Journeys, func(x, y JourneyStep) int {
		return cmp.Or(x.At.Compare(y.At), strings.Compare(x.Source, y.Source), strings.Compare(x.Journey, y.Journey), strings.Compare(x.Key, y.Key),
			strings.Compare(x.Step, y.Step), cmp.Compare(x.Outcome, y.Outcome), strings.Compare(x.Target, y.Target))
	})
	inOrder(&o.Gauges, func(x, y Gauge) int {
		return cmp.Or(x.At.Compare(y.At), strings.Compare(x.Source, y.Source), strings.Compare(x.Target, y.Target), strings.Compare(x.Metric, y.Metric),
			cmp.Compare(x.Value, y.Value))
	})
}

func compareValues(x, y map[string]string) int {
	a, b := sortedKeys(x), sortedKeys(y)
	if c := slices.Compare(a, b); c != 0 {
		return c
	}
	for _, name := range a {
		if c := strings.Compare(x[name], y[name]); c != 0 {
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
	slices.SortStableFunc(found, func(x, y *Signal) int { return x.At.Compare(y.At) })
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

// voiceless reports whether no application log can tell that a target served.
func (b *bench) voiceless(target string) bool { return len(b.logsOf(target)) == 0 }

// setOf is the rule set that a rule belongs to; empty for one from the configuration.
func setOf(rule string) string {
	set, _, ok := strings.Cut(rule, "/")
	if !ok {
		return ""
	}
	return set
}
