package analysis

import (
	"cmp"
	"slices"
	"time"
)

// A group whose targets all go at once is seen in its traffic, whether or not anybody
// told of a step: nothing is sent to any of its targets, and the load balancer itself
// refuses what comes.

// refusal are n requests that the load balancer refused for want of a target; their
// starts and ends lie between two moments.
type refusal struct {
	from, to point
	n        int
}

// findEmpty finds, per target group, the stretches in which no target was in rotation
// as the load balancer's refusals show, and those in which nobody can say.
//
// A hole is a stretch in which nothing was sent to any target of the group. It is long
// where it is more than three times as long as 99 % of the other ones in which nothing
// was refused. In a long one, from its first refusal to its last, nobody was in
// rotation, if refusals came more often there than elsewhere (conditional binomial test
// with time as exposure): an answer that the load balancer gives by a rule of its own,
// at any time, shows nothing. What is not so clear is left open: a long hole that the
// refusals do not settle, if it lasts over a second; and refusals in a short one, where
// none comes while the group serves.
func (b *bench) findEmpty() {
	b.empty, b.open = map[string][]span{}, map[string][]span{}
	sent := b.sentTimes()
	for _, group := range sortedKeys(sent) {
		refused := b.refusedFor(group)
		gaps := holes(b.from, b.seenTo, sent[group])
		of := make([][]refusal, len(gaps)) // refusals by hole
		served := 0                        // refused while the group served
		for _, r := range refused {
			// The first hole that ends after the refusal began: no other one can hold it.
			i, _ := slices.BinarySearchFunc(gaps, r.from.at, func(h span, t time.Time) int {
				if h.to.After(t) {
					return 1
				}
				return -1
			})
			switch {
			case i < len(gaps) && !r.from.at.Before(gaps[i].from) && r.to.before(gaps[i].to):
				of[i] = append(of[i], r)
			case i < len(gaps) && r.to.by.After(r.to.at) && gaps[i].from.Before(r.to.by): // in it, or while the group served
			default:
				served += r.n
			}
		}
		long := longHoles(gaps, of)
		elsewhere, rest := served, b.seenTo.Sub(b.from)
		for i, h := range gaps {
			if long[i] {
				rest -= h.to.Sub(h.from)
			} else {
				elsewhere += count(of[i])
			}
		}
		for i, h := range gaps {
			n, length := count(of[i]), h.to.Sub(h.from)
			switch {
			case long[i] && binomialAtLeast(n, n+elsewhere, float64(length)/float64(length+rest)) < significance:
				from, to := h.to, h.from
				for _, r := range of[i] {
					from, to = earliest(from, r.from.by), latest(to, r.to.at)
				}
				b.empty[group] = append(b.empty[group], span{from, to})
			case long[i] && length > time.Second, n > 0 && served == 0:
				b.open[group] = append(b.open[group], h)
			}
		}
	}
}

// sentTimes are, per target group, the stretches in which requests may have been sent
// to its targets: of every second's cell, from its first start to its last end or the
// second's; and the moment of its last answer.
func (b *bench) sentTimes() map[string][]span {
	lists := map[string]*[]span{}
	add := func(group string, from time.Time, to point) {
		group = b.pool(group)
		list, ok := lists[group]
		if !ok {
			list = new([]span)
			lists[group] = list
		}
		*list = cover(*list, span{from, latest(to.at.Add(time.Microsecond), to.by)})
	}
	for i := range b.obs.Cells {
		c := &b.obs.Cells[i]
		if c.Target == "" || !b.counting[c.Source] {
			continue
		}
		group := cmp.Or(c.TargetGroup, b.onlyGroup(c.Source), b.byName[c.Target].group)
		add(group, c.begun().from, b.point(c.Source, c.begun().to))
		if c.TargetStatus > 0 {
			add(group, c.Last, b.point(c.Source, c.Last))
		}
	}
	for i := range b.obs.Handled {
		if at, ok := b.servedAt(i); ok {
			h := &b.obs.Handled[i]
			group := b.byName[h.Target].group
			if r := b.logged[probeID{h.Run, h.Seq}]; r != nil && r.TargetGroup != "" {
				group = r.TargetGroup
			}
			add(group, at, b.point(h.Source, at))
		}
	}
	times := map[string][]span{}
	for group, list := range lists {
		times[group] = union(*list)
	}
	return times
}

// begun are the first and the last moment at which a cell's requests may have begun.
func (c *Cell) begun() span {
	second := time.Unix(c.Second, 0).UTC()
	from := c.First
	if from.Before(second) {
		from = second
	}
	to := from
	if c.Count > 1 {
		to = latest(from, earliest(c.Last, second.Add(time.Second-time.Microsecond)))
	}
	return span{from, to}
}

// refusedFor are the requests that the load balancer refused for want of a target of a
// group, or of one that the log does not name.
func (b *bench) refusedFor(group string) []refusal {
	var list []refusal
	for i := range b.obs.Requests {
		if r := &b.obs.Requests[i]; b.wantsTarget(&r.CellKey, group) && b.inWindow(r.End) {
			list = append(list, refusal{b.point(r.Source, r.moment()), b.point(r.Source, r.End), 1})
		}
	}
	for _, c := range b.unkept {
		if b.wantsTarget(&c.CellKey, group) && b.inWindow(c.Last) {
			list = append(list, refusal{b.point(c.Source, c.First), b.point(c.Source, c.Last), c.n})
		}
	}
	return list
}

// refusedBy reports whether a load balancer answered requests that may have been meant for
// a group with an error of its own, and no target was asked.
func (b *bench) refusedBy(k *CellKey, group string) bool {
	return b.counting[k.Source] && k.Outcome == OutcomeLB5xx && k.Target == "" &&
		(b.pool(k.TargetGroup) == group || k.TargetGroup == "" && b.logs(k.Source, group))
}

// wantsTarget reports whether a load balancer answered requests by itself because it
// had no target: nginx with 502 ("no live upstreams"; its 503 is a limit's), others with
// 503 (spec: domain facts §1.3, §6).
func (b *bench) wantsTarget(k *CellKey, group string) bool {
	refuses := 503
	if b.byNginx[k.Source] {
		refuses = 502
	}
	return k.Status == refuses && b.refusedBy(k, group)
}

// longHoles tells which holes are unusually long: [pollReach] times the 99th percentile
// of the other ones in which nothing was refused.
func longHoles(gaps []span, refused [][]refusal) []bool {
	var usual []time.Duration
	for i, h := range gaps {
		if len(refused[i]) == 0 {
			usual = append(usual, h.to.Sub(h.from))
		}
	}
	slices.Sort(usual)
	long := make([]bool, len(gaps))
	for i, h := range gaps {
		others := len(usual)
		if len(refused[i]) == 0 {
			others-- // itself; a hole that is one of the shorter ones is not long anyway
		}
		long[i] = others == 0 || h.to.Sub(h.from) > pollReach*usual[nearestRank(.99, others)-1]
	}
	return long
}

func count(refused []refusal) int {
	n := 0
	for _, r := range refused {
		n += r.n
	}
	return n
}

// meantFor reports whether a failure may have been meant for a target group: the log
// names it; or, where it names none, its target is of that group, or it names no target
// either and is of a load balancer that may have the group.
func (b *bench) meantFor(f *failure, group string) bool {
	if f.group != "" {
		return f.group == group
	}
	if l := b.byName[f.target]; l != nil {
		return l.groups[group]
	}
	return b.logs(f.source, group)
}

// meantForPool reports whether a failure may have been meant for a target group, or for the
// one that its traffic was switched to.
func (b *bench) meantForPool(f *failure, group string) bool {
	return b.meantFor(f, group) || b.switched[f.group] == group
}
