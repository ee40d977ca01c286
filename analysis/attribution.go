package analysis

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// attribute matches the requests of every probe with the targets whose application
// logs hold their ids. Without an application log there is nothing to match with,
// and the report says null; likewise how many have no record where a target has no log
// that could hold one.
func (b *bench) attribute() {
	if len(b.obs.Service.AppLogs) == 0 {
		return
	}
	whole := !slices.ContainsFunc(b.lives, func(l *life) bool { return b.voiceless(l.name) })
	begins := slices.ContainsFunc(b.obs.Handled, func(h HandledRequest) bool { return h.Begun })
	b.report.Attribution = []Attribution{}
	index := map[string]int{}
	for i := range b.obs.Probes {
		p := &b.obs.Probes[i]
		if !b.inWindow(p.Sent) {
			continue
		}
		at, ok := index[p.Probe]
		if !ok {
			at = len(b.report.Attribution)
			index[p.Probe] = at
			a := Attribution{Probe: p.Probe, ByTarget: map[string]int{}}
			if whole {
				a.SuccessWithoutRecord, a.FailedWithoutRecord = new(0), new(0)
			}
			if begins {
				a.ReceivedWithoutResponse = new(0)
			}
			b.report.Attribution = append(b.report.Attribution, a)
		}
		b.matchProbe(&b.report.Attribution[at], p)
	}
	slices.SortFunc(b.report.Attribution, func(x, y Attribution) int { return strings.Compare(x.Probe, y.Probe) })
}

func (b *bench) matchProbe(a *Attribution, p *ProbeRequest) {
	a.Sent++
	answers, received := 0, 0
	target := ""
	for _, h := range b.handled[probeID{p.Run, p.Seq}] {
		if h.Begun {
			received++
			continue
		}
		answers++
		target = h.Target
	}
	switch {
	case answers > 1:
		a.Duplicates++
	case answers == 1:
		a.Attributed++
		a.ByTarget[target]++
	case b.ambiguous[probeID{p.Run, p.Seq}]:
		a.Ambiguous++
	case received > 0:
		*a.ReceivedWithoutResponse++
	case a.SuccessWithoutRecord == nil: // it may have reached a target without a log
	case b.probeOutcome(p) == OutcomeOK:
		*a.SuccessWithoutRecord++
	case b.probeOutcome(p).Failure():
		*a.FailedWithoutRecord++
	}
}

// complete says how many of the requests known to have reached a load balancer
// (of our probes and health samples that got an answer with a status) are in its access
// log that counts, per phase. With several load-balancer nodes it cannot be known which one a
// missing request would have met, so then the node is empty.
func (b *bench) complete() []Completeness {
	rows := b.metricRows()
	if len(b.counting) == 0 || len(b.obs.Probes) == 0 {
		return rows
	}
	if rows == nil {
		rows = []Completeness{}
	}
	for _, source := range sortedKeys(b.counting) {
		nodes := map[string]struct{}{}
		for _, k := range b.obs.Known {
			if k.Source == source {
				nodes[k.Node] = struct{}{}
			}
		}
		node := ""
		if len(nodes) == 1 {
			for name := range nodes {
				node = name
			}
		}
		for _, phase := range b.report.Phases {
			row := Completeness{Source: source, Node: node, Phase: phase.Name, Matched: "one_by_one"}
			if len(nodes) == 0 {
				row.Matched = "count"
			}
			row.Known, row.Found = b.knownFound(source, phase.From.Time, phase.To.Time)
			if row.Known > 0 {
				row.Share = new(float64(row.Found) / float64(row.Known))
			}
			rows = append(rows, row)
		}
		for _, name := range b.untouched(source, b.from, b.to) {
			rows = append(rows, Completeness{Source: source, Node: name, Phase: "", Matched: "one_by_one"})
		}
	}
	return rows
}

// knownFound says how many requests of ours that were sent in [from, to) are known to
// have passed a log's load balancer, and how many of them the log has.
func (b *bench) knownFound(source string, from, to time.Time) (known, found int) {
	l, ok := b.passed[source]
	if !ok {
		l = b.passing(source)
		b.passed[source] = l
	}
	for _, p := range l.requests {
		if within(p.Sent, from, to) {
			known++
			if l.has[probeID{p.Run, p.Seq}] {
				found++
			}
		}
	}
	return known, found
}

// passing is what is known to have passed the load balancer of one access log.
type passing struct {
	requests []*ProbeRequest  // that got an answer with a status
	has      map[probeID]bool // what the log holds
	ids      bool             // the log has ids at all
}

// passing finds what passed a log's load balancer: all that was answered, less what went
// through another one beside it. That are the requests in the log of that one, and of a
// probe with requests there and none here also those that no log has.
func (b *bench) passing(source string) passing {
	l := passing{has: map[probeID]bool{}}
	others := map[string]map[probeID]bool{}
	for _, k := range b.obs.Known {
		if k.Source == source {
			l.ids = true
			for _, seq := range k.Seqs {
				l.has[probeID{k.Run, int(seq)}] = true
			}
		} else if b.counting[k.Source] {
			if others[k.Source] == nil {
				others[k.Source] = map[probeID]bool{}
			}
			for _, seq := range k.Seqs {
				others[k.Source][probeID{k.Run, int(seq)}] = true
			}
		}
	}
	elsewhere := map[probeID]bool{}
	for _, other := range others {
		if !inLine(l.has, other) {
			maps.Copy(elsewhere, other)
		}
	}
	here, there := map[string]bool{}, map[string]bool{} // sources of requests
	for i := range b.obs.Probes {
		p := &b.obs.Probes[i]
		id := probeID{p.Run, p.Seq}
		here[p.Source] = here[p.Source] || l.has[id]
		there[p.Source] = there[p.Source] || elsewhere[id]
	}
	for i := range b.obs.Probes {
		p := &b.obs.Probes[i]
		if p.Status > 0 && !elsewhere[probeID{p.Run, p.Seq}] && (here[p.Source] || !there[p.Source]) {
			l.requests = append(l.requests, p)
		}
	}
	if !l.ids {
		b.matchRows(source, &l)
	}
	return l
}

// inLine reports whether two logs hold the same request: their load balancers stand one
// behind the other, and what passed one passed both.
func inLine(one, other map[probeID]bool) bool {
	for id := range one {
		if other[id] {
			return true
		}
	}
	return false
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
