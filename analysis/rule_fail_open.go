package analysis

import (
	"cmp"
	"slices"
	"time"
)

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
			if b.counting[c.Source] && c.Target != "" && b.byName[c.Target].group == g.group && !c.First.Before(g.from) && c.Last.Before(g.to) {
				requests.add(c.Class, c.Count)
			}
		}
		if requests.all() == 0 {
			continue
		}
		found = append(found, Finding{
			Severity: SeverityHigh, From: Time{g.from}, To: Time{g.to},
			Values:   map[string]any{"target_group": g.group, "seconds": seconds(g.to.Sub(g.from)), "requests": requests},
			Evidence: []Evidence{{Kind: "states", Source: g.source, From: Time{g.from}, To: Time{g.to}, Count: requests.all()}},
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
			Evidence: []Evidence{{Kind: "metrics", Source: s.source, From: Time{s.from}, To: Time{s.to}, Count: requests[i]}},
		}
		for _, g := range b.allOut() {
			if g.from.Before(s.to) && s.from.Before(g.to) {
				f.Values["target_group"] = g.group
				f.Evidence = append(f.Evidence, Evidence{Kind: "states", Source: g.source, From: Time{g.from}, To: Time{g.to}})
			}
		}
		found = append(found, f)
	}
	return found
}

type groupSpan struct {
	group, source string
	span
}

// allOut finds the spans from the first poll in which every target of a group was
// out of rotation to the first in which one was back.
func (b *bench) allOut() []groupSpan {
	type poll struct {
		source, group string
		at            time.Time
	}
	in := map[poll]int{}
	var polls []poll
	for _, s := range b.obs.States {
		p := poll{s.Source, s.TargetGroup, s.At}
		if _, ok := in[p]; !ok {
			polls = append(polls, p)
			in[p] = 0
		}
		if s.State.InRotation() {
			in[p]++
		}
	}
	slices.SortFunc(polls, func(x, y poll) int {
		return cmp.Or(compareStrings(x.source, y.source), compareStrings(x.group, y.group), x.at.Compare(y.at))
	})
	var spans []groupSpan
	open := false
	for i, p := range polls {
		same := i > 0 && polls[i-1].source == p.source && polls[i-1].group == p.group
		if open && same {
			spans[len(spans)-1].to = p.at
		}
		if !same {
			open = false
		}
		out := in[p] == 0
		if out && !open {
			spans = append(spans, groupSpan{p.group, p.source, span{latest(p.at, b.from), b.seenTo}})
		}
		open = out
	}
	return slices.DeleteFunc(spans, func(s groupSpan) bool { return !s.from.Before(s.to) })
}
