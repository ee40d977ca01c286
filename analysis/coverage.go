package analysis

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Why a span is blind.
const (
	blindQueryFailed = "query_failed"   // the collector was answered with an error, or not at all
	blindGap         = "gap"            // nothing was polled or sent for more than three intervals
	blindNoData      = "no_data"        // no collector was responsible for the span
	blindPartial     = "partial_object" // a log object was cut short or could not be read
	blindHorizon     = "horizon"        // logs of the span may still arrive
)

// pollReach is how many intervals back a poll vouches for.
const pollReach = 3

// cover says for every configured source what it saw of the window so far. While
// the window is open, only the time up to the present is judged.
func (b *bench) cover() {
	b.report.Coverage = []Coverage{}
	add := func(source string, c Coverage) {
		if _, ok := b.coverage[source]; ok {
			return
		}
		c.Source, c.From, c.To = source, Time{b.from}, Time{b.seenTo}
		slices.SortFunc(c.Blind, func(x, y Blind) int { return x.From.Compare(y.From.Time) })
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
			within := func(gap Blind) bool { return !refused.From.Before(gap.From.Time) && !refused.To.After(gap.To.Time) }
			if !slices.ContainsFunc(c.Blind, within) {
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
			if _, known := b.coverage[source]; !known {
				add(source, Coverage{Blind: b.blindByRuns(source)})
			}
		}
	}
	// Sources outside that list (step files, say) matter only when they failed.
	for _, run := range b.obs.Runs {
		if _, known := b.coverage[run.Source]; !known && run.Code != "" {
			add(run.Source, Coverage{Blind: b.blindByRuns(run.Source)})
		}
	}
	for i := range b.report.Coverage { // the slice may have moved while it grew
		b.coverage[b.report.Coverage[i].Source] = &b.report.Coverage[i]
	}
}

// coverAccessLog: a missing object is not blind by itself; a listing or an object
// that could not be read is, and so is the time whose objects may still arrive.
func (b *bench) coverAccessLog(source string) Coverage {
	c := Coverage{Blind: b.blindByRuns(source), Lines: new(0), Malformed: new(0), PartialObjects: new(0)}
	horizon := map[string]time.Time{}
	for _, o := range b.obs.Objects {
		if o.Source != source {
			continue
		}
		*c.Lines += o.Lines
		*c.Malformed += o.SetAside
		if end := o.To; end.IsZero() { // nobody knows how far it reaches
		} else if end.After(b.obs.At) { // it was written before its period ended: more may follow
			horizon[o.Node] = latest(horizon[o.Node], o.From)
		} else {
			horizon[o.Node] = latest(horizon[o.Node], end)
		}
		if o.Partial {
			*c.PartialObjects++
		}
		if o.Partial || o.Error != "" {
			// Where it is not known when it begins or ends, any time may be missing.
			from, to := latest(o.From, b.from), b.seenTo
			if !o.To.IsZero() {
				to = earliest(o.To, to)
			}
			if from.Before(to) {
				detail := o.Key
				if o.Error != "" {
					detail += ": " + o.Error
				}
				c.Blind = append(c.Blind, Blind{Time{from}, Time{to}, blindPartial, detail})
			}
		}
	}
	passed := b.settled()
	if !passed && len(horizon) > 0 {
		passed = true
		for _, end := range horizon {
			passed = passed && end.After(b.to)
		}
	}
	c.HorizonPassed = &passed
	if !passed {
		c.Awaited = b.awaited(horizon)
		begins := b.seenTo
		for _, end := range horizon {
			begins = earliest(begins, end)
		}
		if len(horizon) == 0 {
			begins = b.from
		}
		if begins = latest(begins, b.from); begins.Before(b.seenTo) {
			c.Blind = append(c.Blind, Blind{Time{begins}, Time{b.seenTo}, blindHorizon, ""})
		}
	}
	return c
}

// awaited lists, per node, from when on log objects are still expected.
func (b *bench) awaited(horizon map[string]time.Time) []Awaited {
	if len(horizon) == 0 {
		return []Awaited{{From: Time{b.from}, To: Time{b.to}}}
	}
	var list []Awaited
	for _, node := range sortedKeys(horizon) {
		if end := horizon[node]; !end.After(b.to) {
			list = append(list, Awaited{Node: node, From: Time{latest(end, b.from)}, To: Time{b.to}})
		}
	}
	return list
}

// vouched is what runs of a collector vouch for, and those that failed: in the order
// in which the runs ended, a good one covers its span and a failed one uncovers it.
func (b *bench) vouched(source string) (covered []span, failed []Run) {
	runs := slices.Clone(b.obs.Runs)
	slices.SortStableFunc(runs, func(x, y Run) int { return cmp.Or(x.At.Compare(y.At), x.From.Compare(y.From)) })
	for _, r := range runs {
		if r.Source != source {
			continue
		}
		if r.Code == "" {
			covered = append(covered, span{r.From, r.To})
			continue
		}
		failed = append(failed, r)
		covered = subtract(covered, span{r.From, r.To})
	}
	return covered, failed
}

// blindByRuns finds what no run of a collector vouches for.
func (b *bench) blindByRuns(source string) []Blind {
	covered, failed := b.vouched(source)
	blind := []Blind{}
	lag := b.readingLag(source)
	for _, hole := range holes(b.from, b.seenTo, covered) {
		spot := explain(hole, failed, blindNoData)
		if spot.Reason == blindNoData && b.seenTo.Before(b.to) && hole.to.Equal(b.seenTo) && hole.to.Sub(hole.from) <= lag {
			continue // the window is open, and the next read is not due yet
		}
		blind = append(blind, spot)
	}
	return blind
}

// readingLag is how far a source that is read again and again may be behind the
// present without being blind: three times its usual interval, as with polls.
func (b *bench) readingLag(source string) time.Duration {
	var at []time.Time
	for _, r := range b.obs.Runs {
		if r.Source == source && r.Code == "" {
			at = append(at, r.At)
		}
	}
	slices.SortFunc(at, time.Time.Compare)
	return pollReach * medianGap(at)
}

// explain gives a hole the reason of the last failed run that meets it.
func explain(hole span, failed []Run, otherwise string) Blind {
	blind := Blind{Time{hole.from}, Time{hole.to}, otherwise, ""}
	for _, r := range failed {
		if r.From.Before(hole.to) && (r.To.After(hole.from) || r.To.Equal(r.From) && !r.To.Before(hole.from)) {
			blind.Reason, blind.Detail = blindQueryFailed, r.Code+": "+r.Error
		}
	}
	return blind
}

// coverPolls: a poll (or a probe's send) vouches for the time back to the one
// before, if that is at most three intervals ago. At the window's edges, where the
// neighbouring poll was not loaded, the same distance is allowed.
func (b *bench) coverPolls(source string, every time.Duration, at []time.Time) Coverage {
	var failed []Run
	for _, r := range b.obs.Runs {
		if r.Source == source && r.Code != "" {
			failed = append(failed, r)
		}
	}
	c := Coverage{Blind: []Blind{}}
	if len(at) == 0 {
		if b.from.Before(b.seenTo) {
			c.Blind = append(c.Blind, explain(span{b.from, b.seenTo}, failed, blindNoData))
		}
		return c
	}
	if every <= 0 {
		every = medianGap(at)
	}
	before := b.from
	for _, t := range append(slices.Clone(at), b.seenTo) {
		t = earliest(latest(t, b.from), b.seenTo)
		if t.Sub(before) > pollReach*every {
			c.Blind = append(c.Blind, explain(span{before, t}, failed, blindGap))
		}
		before = latest(before, t)
	}
	return c
}

// refusedRecords are the stretches in which a probe's records were not understood,
// however near their neighbours are: a failure may stand there. A later reading that
// understood them makes up for it.
func (b *bench) refusedRecords(probe string) []Blind {
	sources := map[string]bool{probe: true}
	for i := range b.obs.Probes {
		if b.obs.Probes[i].Probe == probe {
			sources[b.obs.Probes[i].Source] = true
		}
	}
	var refused []Blind
	for _, r := range b.obs.Runs {
		if !sources[r.Source] || r.Code != codeBadReply {
			continue
		}
		left := []span{{r.From, latest(r.To, r.From.Add(time.Microsecond))}}
		for _, later := range b.obs.Runs {
			if later.Source == r.Source && later.Code == "" && later.At.After(r.At) {
				left = subtract(left, span{later.From, later.To})
			}
		}
		for _, s := range left {
			s = span{latest(s.from, b.from), earliest(s.to, b.seenTo)}
			if s.from.Before(s.to) {
				refused = append(refused, Blind{Time{s.from}, Time{s.to}, blindQueryFailed, r.Code + ": " + r.Error})
			}
		}
	}
	return refused
}

// codeBadReply is the code of a run that was answered something illegible.
const codeBadReply = "bad_reply"

func medianGap(at []time.Time) time.Duration {
	gaps := []time.Duration{}
	for i := 1; i < len(at); i++ {
		if gap := at[i].Sub(at[i-1]); gap > 0 {
			gaps = append(gaps, gap)
		}
	}
	if len(gaps) == 0 {
		return 0
	}
	slices.Sort(gaps)
	return gaps[len(gaps)/2]
}

// pollTimes are the moments of the polls of a source that brought states.
func (b *bench) pollTimes(source string) []time.Time {
	var at []time.Time
	for _, s := range b.obs.States {
		if s.Source == source {
			at = append(at, s.At)
		}
	}
	for _, r := range b.obs.Runs { // an answer without a single target is an answer
		if r.Source == source && r.Code == "" && r.Kind != "file" {
			at = append(at, r.To)
		}
	}
	slices.SortFunc(at, time.Time.Compare)
	return slices.CompactFunc(at, time.Time.Equal)
}

// vantages are the sources of a probe's requests from other places than the console.
func (b *bench) vantages(probe string) []string {
	sources := map[string]bool{}
	for i := range b.obs.Probes {
		if p := &b.obs.Probes[i]; p.Probe == probe && Vantage(p.Source) != "" {
			sources[p.Source] = true
		}
	}
	return sortedKeys(sources)
}

// sendTimes are the moments at which a probe sent from a place; the console's own
// place has no name.
func (b *bench) sendTimes(probe, vantage string) []time.Time {
	var at []time.Time
	for i := range b.obs.Probes {
		if p := &b.obs.Probes[i]; p.Probe == probe && Vantage(p.Source) == vantage {
			at = append(at, b.obs.Probes[i].Sent)
		}
	}
	slices.SortFunc(at, time.Time.Compare)
	return at
}

// appLines is how many lines of an application log the rules saw; nil when the
// collector did not count them.
func (b *bench) appLines(source string) *int {
	most, counted := 0, false
	byRule := map[string]int{}
	for _, c := range b.obs.Counts {
		if c.Source == source {
			byRule[c.Rule] += c.Lines
			most, counted = max(most, byRule[c.Rule]), true
		}
	}
	if !counted {
		return nil
	}
	return &most
}

// controls sums the lines and matches of every log rule: a rule that never matched
// while its source had lines must not look like nothing happened.
func (b *bench) controls() []Control {
	var controls []Control
	index := map[[2]string]int{}
	counts := slices.Clone(b.obs.Counts)
	slices.SortStableFunc(counts, func(x, y RuleCount) int {
		return cmp.Or(strings.Compare(x.Rule, y.Rule), strings.Compare(x.Source, y.Source))
	})
	for _, c := range counts {
		k := [2]string{c.Rule, c.Source}
		i, ok := index[k]
		if !ok {
			i = len(controls)
			index[k] = i
			controls = append(controls, Control{Rule: c.Rule, Source: c.Source})
		}
		controls[i].Lines += c.Lines
		controls[i].Matched += c.Matched
	}
	return controls
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

// unseenIn reports whether any of some sources that are read by runs is blind somewhere
// in [from, to], or, before the window, where no run that reaches into it vouches.
func (b *bench) unseenIn(sources []string, from, to time.Time) bool {
	if b.blindIn(sources, from, to) {
		return true
	}
	return from.Before(b.from) && slices.ContainsFunc(sources, func(source string) bool {
		covered, _ := b.vouched(source)
		return len(holes(from, earliest(to, b.from), covered)) > 0
	})
}

// silenceUntold says why nothing that would have been told by an application log from
// the deploy's start on can be ruled out: some log of them was blind. It is empty where
// all were seen.
func (b *bench) silenceUntold() string {
	for _, log := range b.obs.Service.AppLogs {
		if b.blindIn([]string{log.Name}, b.started, b.seenTo) {
			return whyAppLogBlind
		}
	}
	return ""
}
