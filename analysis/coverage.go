package analysis

import (
	"cmp"
	"slices"
	"strings"
)

// Why a span is blind.
const (
	blindQueryFailed = "query_failed"   // the collector was answered with an error, or not at all
	blindGap         = "gap"            // nothing was polled or sent for more than three intervals
	blindNoData      = "no_data"        // no collector was responsible for the span
	blindPartial     = "partial_object" // a log object was cut short or could not be read
	blindHorizon     = "horizon"        // logs of the span may still arrive
)

// cover says for every configured source what it saw of the window so far. While
// the window is open, only the time up to the present is judged.
func (b *bench) cover() {
	b.report.Coverage = []Coverage{}
	add := func(source string, c Coverage) {
		if _, ok := b.coverage[source]; ok {
			return
		}
		c.Source, c.From, c.To = source, Time{b.from}, Time{b.seenTo}
		slices.SortFunc(c.Blind, func(x, y Blind) int {
			return cmp.Or(x.From.Compare(y.From.Time), x.To.Compare(y.To.Time), strings.Compare(x.Reason, y.Reason), strings.Compare(x.Detail, y.Detail))
		})
		c.Seen = seconds(max(b.seenTo.Sub(b.from), 0))
		spans := make([]span, 0, len(c.Blind))
		for _, blind := range c.Blind {
			spans = append(spans, span{blind.From.Time, blind.To.Time})
		}
		for _, s := range union(spans) {
			c.Seen -= seconds(s.to.Sub(s.from))
		}
		if c.Blind == nil {
			c.Blind = []Blind{}
		}
		b.report.Coverage = append(b.report.Coverage, c)
		b.coverage[source] = &b.report.Coverage[len(b.report.Coverage)-1]
	}
	s := b.obs.Service
	for _, balancer := range s.LoadBalancers {
		for _, log := range balancer.AccessLogs {
			add(log.Name, b.coverAccessLog(log.Name))
		}
		for _, group := range balancer.TargetGroups {
			for _, states := range group.States {
				add(states.Name, b.coverPolls(states.Name, states.Every, b.pollTimes(states.Name)))
			}
		}
	}
	for _, log := range s.AppLogs {
		add(log.Name, Coverage{Blind: b.blindByRuns(log.Name), Lines: b.appLines(log.Name)})
	}
	for _, probe := range s.Probes {
		for _, source := range b.vantages(probe.Name) {
			add(source, b.coverPolls(source, probe.Every, b.sendTimes(probe.Name, Vantage(source))))
		}
		c := b.coverPolls(probe.Name, probe.Every, b.sendTimes(probe.Name, ""))
		for _, refused := range b.refusedRecords(probe.Name) {
			holds := func(gap Blind) bool { return !refused.From.Before(gap.From.Time) && !refused.To.After(gap.To.Time) }
			if !slices.ContainsFunc(c.Blind, holds) {
				c.Blind = append(c.Blind, refused)
			}
		}
		add(probe.Name, c)
	}
	for _, m := range s.Metrics {
		add(m.Name, b.coverMetrics(m))
	}
	for _, j := range s.Journeys {
		for _, source := range j.Sources { // record files; application logs have theirs
			add(source, Coverage{Blind: b.blindByRuns(source)})
		}
	}
	// Sources outside that list (step files, say) matter only when they failed.
	var failed []string // in the order of runs, which is by source
	for _, run := range b.obs.Runs {
		if run.Code != "" {
			failed = append(failed, run.Source)
		}
	}
	for _, source := range slices.Compact(failed) {
		add(source, Coverage{Blind: b.blindByRuns(source)})
	}
	for i := range b.report.Coverage { // the slice may have moved while it grew
		b.coverage[b.report.Coverage[i].Source] = &b.report.Coverage[i]
	}
}
