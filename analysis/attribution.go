package analysis

import (
	"slices"
	"strings"
	"time"
)

// attribute matches the requests of every probe with the targets whose application
// logs hold their ids. Without an application log there is nothing to match with,
// and the report says null.
func (b *bench) attribute() {
	if len(b.obs.Service.AppLogs) == 0 {
		return
	}
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
	case b.probeOutcome(p) == OutcomeOK:
		a.SuccessWithoutRecord++
	case b.probeOutcome(p).Failure():
		a.FailedWithoutRecord++
	}
}

// complete says how many of the requests known to have reached the load balancer
// (our probes that got an answer with a status) are in each counting access log,
// per phase. With several load-balancer nodes it cannot be known which one a
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
		found := map[probeID]bool{}
		nodes := map[string]struct{}{}
		for _, k := range b.obs.Known {
			if k.Source != source {
				continue
			}
			nodes[k.Node] = struct{}{}
			for _, seq := range k.Seqs {
				found[probeID{k.Run, int(seq)}] = true
			}
		}
		node := ""
		if len(nodes) == 1 {
			for name := range nodes {
				node = name
			}
		}
		for i, phase := range b.report.Phases {
			row := Completeness{Source: source, Node: node, Phase: phase.Name, Matched: "one_by_one"}
			for j := range b.obs.Probes {
				p := &b.obs.Probes[j]
				if p.Status == 0 || b.phaseAt(p.Sent) != i {
					continue
				}
				row.Known++
				if found[probeID{p.Run, p.Seq}] {
					row.Found++
				}
			}
			if len(nodes) == 0 { // the log lacks the ids: compare counts
				row.Matched = "count"
				row.Known, row.Found = b.countLogged(source, i)
			}
			if row.Known > 0 {
				row.Share = new(float64(row.Found) / float64(row.Known))
			}
			rows = append(rows, row)
		}
		for _, name := range b.untouched(source) {
			rows = append(rows, Completeness{Source: source, Node: name, Phase: "", Matched: "one_by_one"})
		}
	}
	return rows
}

// countLogged compares numbers where a log lacks the ids: of our business probes, or
// of the health samples where there are none, how many were answered in a phase and
// how many rows of that class the log has of its seconds. Others may send the like, so
// no more are found than were sent.
func (b *bench) countLogged(source string, phase int) (known, found int) {
	class := ClassProbe
	if !b.byProber(class) {
		class = ClassHealth
	}
	for i := range b.obs.Probes {
		if p := &b.obs.Probes[i]; p.Class == class && p.Status > 0 && b.phaseAt(p.Sent) == phase {
			known++
		}
	}
	for i := range b.obs.Cells {
		c := &b.obs.Cells[i]
		if c.Source == source && c.Class == class && b.phaseAt(time.Unix(c.Second, 0)) == phase {
			found += c.Count
		}
	}
	return known, min(found, known)
}

// knownFound sums a log's completeness from the deploy's start on, over the phases.
func (b *bench) knownFound(source string) (known, found int) {
	for _, row := range b.report.Completeness {
		if row.Source == source && row.Phase != "baseline" && row.Phase != WholeMinutes {
			known += row.Known
			found += row.Found
		}
	}
	return known, found
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
