package analysis

import (
	"cmp"
	"slices"
	"time"
)

// call is one call that a target sent to a dependency.
type call struct {
	dependency, target, key string
	source                  string // of the line that it was sent
	sent                    time.Time
	ended                   time.Time // zero: no line tells its end, nor that its process died
	result                  string    // ok, failed, timeout, or what the line said; none without an end
	unseen                  bool      // no line tells its end, and one may stand where nobody read: it took any time
	untold                  bool      // the same, since its process never told the end of a call
}

// Results of calls.
const (
	resultOK      = "ok"
	resultTimeout = "timeout"
	resultNone    = "none" // no line tells the end
)

// calls joins lines about calls being sent with those about their ends: by target,
// dependency and identifier, first in, first out. A call whose process died ended then.
// Where a log that would tell the end was blind meanwhile, or where its process never
// told the end of any call, the call's length is unknown.
func (b *bench) calls() []call {
	type key struct{ dependency, target, key string }
	open := map[key][]int{}
	var all []call
	signals := b.during(time.Time{}, endOfTime, EventCallSent, EventCallEnded)
	for _, s := range signals {
		k := key{s.Name, s.Target, s.Key}
		if s.Event == EventCallSent {
			open[k] = append(open[k], len(all))
			all = append(all, call{dependency: s.Name, target: s.Target, key: s.Key, source: s.Source, sent: s.At, result: resultNone})
			continue
		}
		if waiting := open[k]; len(waiting) > 0 {
			all[waiting[0]].ended, all[waiting[0]].result = s.At, resultOf(s)
			open[k] = waiting[1:]
		}
	}
	told := b.tellers(EventCallEnded)
	for i := range all {
		c := &all[i]
		if c.result != resultNone {
			continue
		}
		life := b.lifeOf(c.target, c.sent)
		c.ended = life.to
		c.untold = !told[process{c.target, life}]
		c.unseen = c.untold || b.unseenIn(b.callLogs(c.target, c.source), c.sent, earliest(life.to, b.seenTo))
	}
	return all
}

// callLogs are the application logs that may tell of a target's calls: its own, and
// those that did.
func (b *bench) callLogs(target string, told ...string) []string {
	return append(b.logsOf(target), told...)
}

var endOfTime = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

func resultOf(s *Signal) string {
	return cmp.Or(s.Values["result"], string(s.Outcome), "ended")
}

// refusals are the calls that were refused in [from, to). One refusal may stand in
// several lines, by the guard itself and by whoever called, which nothing ties
// together: of the rules that tell of a guard of a target, the one that told most
// counts.
func (b *bench) refusals(from, to time.Time) []*Signal {
	type guard struct{ dependency, target, by string }
	told := map[guard]map[string]int{}
	all := b.during(from, to, EventCallRefused)
	for _, s := range all {
		g := guard{s.Name, s.Target, refusedBy(s)}
		if told[g] == nil {
			told[g] = map[string]int{}
		}
		told[g][s.Rule]++
	}
	return slices.DeleteFunc(all, func(s *Signal) bool {
		rules := told[guard{s.Name, s.Target, refusedBy(s)}]
		best := ""
		for _, rule := range sortedKeys(rules) {
			if rules[rule] > rules[best] {
				best = rule
			}
		}
		return s.Rule != best
	})
}

// refusedBy is what refused a call.
func refusedBy(s *Signal) string { return cmp.Or(s.Values["by"], "unknown") }

// countDependencies counts the calls of every dependency that a line tells of.
func (b *bench) countDependencies() {
	b.report.Dependencies = nil
	b.called = b.calls()
	uses := map[string]*DependencyUse{}
	use := func(name string) *DependencyUse {
		u := uses[name]
		if u == nil {
			u = &DependencyUse{Dependency: name, Refused: map[string]int{}, Results: map[string]int{}}
			uses[name] = u
		}
		return u
	}
	wanted, sentFor := map[string]map[string]bool{}, map[string]map[string]bool{}
	note := func(into map[string]map[string]bool, name, key string) {
		if into[name] == nil {
			into[name] = map[string]bool{}
		}
		into[name][key] = true
	}
	sent := map[string][]time.Time{}
	for _, c := range b.called {
		if !b.inWindow(c.sent) {
			continue
		}
		u := use(c.dependency)
		u.Sent++
		u.Results[c.result]++
		sent[c.dependency] = append(sent[c.dependency], c.sent)
		note(wanted, c.dependency, c.key)
		note(sentFor, c.dependency, c.key)
	}
	for _, s := range b.refusals(b.from, b.to) {
		use(s.Name).Refused[refusedBy(s)]++
		note(wanted, s.Name, s.Key)
	}
	b.report.Dependencies = make([]DependencyUse, 0, len(uses))
	for _, name := range sortedKeys(uses) {
		u := uses[name]
		if keys := wanted[name]; !keys[""] {
			u.Wanted = len(keys)
			if n := len(sentFor[name]); n > 0 {
				u.Amplification = new(float64(u.Sent) / float64(n))
			}
		}
		var at time.Time
		u.MaxPerSecond, at = mostWithin(sent[name], time.Second)
		u.MaxAt = Time{at}
		if slices.ContainsFunc(b.called, func(c call) bool { return c.dependency == name && !c.unseen }) {
			most := 0
			for _, target := range b.callers(name) {
				waited, _ := b.mostInFlight(name, target, b.from, b.to)
				most = max(most, waited)
			}
			u.MaxInFlight = &most
		}
		b.report.Dependencies = append(b.report.Dependencies, *u)
	}
	if len(uses) == 0 {
		b.report.Dependencies = nil
	}
}

// hangsUntold says why calls that hung cannot be ruled out: the end of some is not told
// by any line that a rule fits, or a log was blind. It is empty where all were seen.
func (b *bench) hangsUntold() string {
	if slices.ContainsFunc(b.called, func(c call) bool { return c.untold && b.inWindow(c.sent) }) {
		return whyNeverMatched
	}
	return b.silenceUntold()
}

// mostWithin is the largest number of moments, which ascend, that lie within any
// stretch of the given length (half-open), and where the first such stretch begins.
func mostWithin(at []time.Time, length time.Duration) (most int, from time.Time) {
	first := 0
	for i := range at {
		for at[i].Sub(at[first]) >= length {
			first++
		}
		if n := i - first + 1; n > most {
			most, from = n, at[first]
		}
	}
	return most, from
}

// mostInFlight is the largest number of calls of one target to a dependency that
// waited at once at a moment in [from, to), and the first such moment. A call of unknown
// length is left out, so that there may have been more.
func (b *bench) mostInFlight(dependency, target string, from, to time.Time) (most int, at time.Time) {
	type edge struct {
		at     time.Time
		change int
	}
	var edges []edge
	for _, c := range b.called {
		if c.dependency != dependency || c.target != target || c.unseen {
			continue
		}
		edges = append(edges, edge{latest(c.sent, from), 1})
		if !c.ended.IsZero() {
			edges = append(edges, edge{c.ended, -1})
		}
	}
	slices.SortStableFunc(edges, func(x, y edge) int { return cmp.Or(x.at.Compare(y.at), cmp.Compare(x.change, y.change)) })
	waiting := 0
	for _, e := range edges {
		if !e.at.Before(to) {
			break
		}
		if waiting += e.change; waiting > most {
			most, at = waiting, e.at
		}
	}
	return most, at
}

// callers are the targets that called a dependency, by name.
func (b *bench) callers(dependency string) []string {
	seen := map[string]struct{}{}
	for _, c := range b.called {
		if c.dependency == dependency {
			seen[c.target] = struct{}{}
		}
	}
	return sortedKeys(seen)
}

// hangFactor is how many times its usual time a call must wait to hang.
const hangFactor = 10

// hangs are the stretches of the window in which calls to a dependency hung: some
// call had waited for at least a second and ten times the usual time of one that was
// answered: before the deploy began, where one was, since what hung may yet be answered
// in the end. Without one that was answered the usual time is not known, and a second
// is enough. A call of unknown length is none that is known to have hung.
func (b *bench) hangs(dependency string) []span {
	var took, before []time.Duration
	for _, c := range b.called {
		if c.dependency == dependency && c.result == resultOK {
			took = append(took, c.ended.Sub(c.sent))
			if c.ended.Before(b.started) {
				before = append(before, c.ended.Sub(c.sent))
			}
		}
	}
	if len(before) > 0 {
		took = before
	}
	limit := time.Second
	if len(took) > 0 {
		slices.Sort(took)
		limit = max(limit, hangFactor*took[nearestRank(.5, len(took))-1])
	}
	var spans []span
	for _, c := range b.called {
		if c.unseen || c.dependency != dependency {
			continue
		}
		end := c.ended
		if end.IsZero() {
			end = b.seenTo
		}
		spans = append(spans, span{latest(c.sent.Add(limit), b.from), earliest(end, b.to)})
	}
	return union(spans)
}

// limitsOf are what is stated of a dependency; the zero value where nothing is.
func (b *bench) limitsOf(dependency string) Dependency {
	for _, d := range b.obs.Service.Dependencies {
		if d.Name == dependency {
			return d
		}
	}
	return Dependency{Name: dependency}
}
