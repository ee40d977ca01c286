package analysis

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// BasisFailOpen is the ground that nothing took a target out: it was sent requests
// until it was back or another was, since no target of its group was in rotation.
const BasisFailOpen = "fail-open"

// failOpen fires when, by the polled states, every target of a group was out of
// rotation and requests were still routed to them: the load balancer then sends to
// all targets, whatever their health (spec: domain facts §2, Fail-open). It fires,
// too, when the load balancer's own monitoring counted requests so routed.
func failOpen(b *bench) ([]Finding, string) {
	found := b.failOpenCounted()
	if len(found) > 0 {
		return found, ""
	}
	if len(b.obs.States) == 0 {
		return nil, whyNoStates
	}
	if !b.logRead() {
		return nil, whyNoAccessLog
	}
	for _, g := range b.allOut() {
		requests := perClass{}
		for i := range b.obs.Cells {
			c := &b.obs.Cells[i]
			if b.counting[c.Source] && c.Target != "" && b.byName[c.Target].group == g.group && b.cellInside(c, g.from, g.to) {
				requests.add(c.Class, c.Count)
			}
		}
		if requests.all() == 0 {
			continue
		}
		found = append(found, Finding{
			Severity: SeverityHigh, From: Time{g.from}, To: Time{g.to},
			Values:   map[string]any{"target_group": g.group, "seconds": seconds(g.to.Sub(g.from)), "requests": requests},
			Evidence: append([]Evidence{{Kind: "states", Source: g.source, From: Time{g.from}, To: Time{g.to}}}, requests.evidence(g.from, g.to)...),
		})
	}
	return found, ""
}

// failOpenCounted is what the load balancer's own monitoring says of it, with the
// polled states of the same time as further evidence.
func (b *bench) failOpenCounted() []Finding {
	var found []Finding
	spans, requests := b.sentUnhealthy()
	for i, s := range spans {
		f := Finding{
			Severity: SeverityHigh, From: Time{s.from}, To: Time{s.to},
			Values:   map[string]any{"target_group": s.group, "seconds": seconds(s.to.Sub(s.from)), "requests": requests[i], "counted_by": s.source},
			Evidence: []Evidence{{Kind: "metrics", Source: s.source, From: Time{s.from}, To: Time{s.to}}},
		}
		for _, g := range b.allOut() {
			if overlap(g.from, g.to, s.from, s.to) {
				f.Values["target_group"] = g.group
				f.Evidence = append(f.Evidence, Evidence{Kind: "states", Source: g.source, From: Time{g.from}, To: Time{g.to}})
			}
		}
		found = append(found, f)
	}
	return found
}

// openFor reports whether, by the polled states, the load balancer had no target of
// the group to choose all the while from one moment to another, so that what it sent
// there says nothing about ejection. Between two polls the state is not known, so the
// polls around a span bound it.
func (b *bench) openFor(group string, from, to time.Time) bool {
	reach := max(b.pollInterval(), time.Second)
	return slices.ContainsFunc(b.allOut(), func(s groupSpan) bool {
		return s.group == group && !from.Before(s.from.Add(-reach)) && !to.After(s.to.Add(reach))
	})
}

type groupSpan struct {
	group, source string
	span
}

// allOut finds the spans from the first to the last poll at which, by the latest state
// of each, every target of a group was out of rotation. Targets may be polled at
// moments of their own, so a state holds until the next, for at most three intervals;
// one that was not polled for longer has left the group, and one whose first poll
// comes only later has not joined it yet, unless that poll is as near.
func (b *bench) allOut() []groupSpan {
	type key struct{ source, group string }
	series := map[key][]StateSample{}
	var keys []key
	for _, s := range b.obs.States {
		k := key{s.Source, s.TargetGroup}
		if series[k] == nil {
			keys = append(keys, k)
		}
		series[k] = append(series[k], s)
	}
	slices.SortFunc(keys, func(x, y key) int {
		return cmp.Or(strings.Compare(x.source, y.source), strings.Compare(x.group, y.group))
	})
	reach := pollReach * max(b.pollInterval(), time.Second)
	var spans []groupSpan
	for _, k := range keys {
		samples := series[k]
		slices.SortStableFunc(samples, func(x, y StateSample) int { return x.At.Compare(y.At) })
		type joined struct {
			target string
			at     time.Time // of its first poll
		}
		var targets []joined
		for _, s := range samples {
			if !slices.ContainsFunc(targets, func(t joined) bool { return t.target == s.Target }) {
				targets = append(targets, joined{s.Target, s.At})
			}
		}
		last := map[string]StateSample{}
		open := false
		for i, s := range samples {
			last[s.Target] = s
			if i+1 < len(samples) && samples[i+1].At.Equal(s.At) {
				continue // the same poll
			}
			out := !slices.ContainsFunc(targets, func(t joined) bool {
				l, polled := last[t.target]
				if !polled {
					return t.at.Sub(s.At) <= reach
				}
				return s.At.Sub(l.At) <= reach && l.State.InRotation()
			})
			switch {
			case out && open:
				spans[len(spans)-1].to = s.At
			case out:
				spans = append(spans, groupSpan{k.group, k.source, span{latest(s.At, b.from), s.At}})
			}
			open = out
		}
	}
	return slices.DeleteFunc(spans, func(s groupSpan) bool { return !s.from.Before(s.to) })
}
