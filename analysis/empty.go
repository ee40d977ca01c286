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
	named    bool // the log names the group that had none
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
	for _, group := range b.configuredGroups() {
		if pool := b.pool(group); sent[pool] == nil {
			b.neverServed(pool)
		}
	}
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

// neverServed settles the same for a group to whose targets nothing was sent at all. There
// is no other time to compare with, and what shows it is that the load balancer chose the
// group and had no target, as the log says that names it: from the first such refusal to
// the last. Where it refused so before the deploy's start too, it may be a group that
// nobody uses any more, and it is left open.
func (b *bench) neverServed(group string) {
	var began time.Time
	var sure span
	for _, r := range b.refusedFor(group) {
		if r.named {
			began = earliest(began, r.from.at)
			sure = span{earliest(sure.from, r.from.by), latest(sure.to, r.to.at)}
		}
	}
	switch {
	case began.IsZero(): // nobody asked for it
	case began.Before(b.started) || !sure.from.Before(sure.to):
		b.open[group] = []span{{began, latest(sure.from, sure.to)}}
	default:
		b.empty[group] = []span{sure}
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

// refusedFor are the requests that the load balancer refused for want of a target of a
// group, or of one that the log does not name.
func (b *bench) refusedFor(group string) []refusal {
	var list []refusal
	for i := range b.obs.Requests {
		if r := &b.obs.Requests[i]; b.wantsTarget(&r.CellKey, group) && b.inWindow(r.End) {
			list = append(list, refusal{b.point(r.Source, r.moment()), b.point(r.Source, r.End), 1, r.TargetGroup != ""})
		}
	}
	for _, c := range b.unkept {
		if b.wantsTarget(&c.CellKey, group) && b.inWindow(c.Last) {
			list = append(list, refusal{b.point(c.Source, c.First), b.point(c.Source, c.Last), c.n, c.TargetGroup != ""})
		}
	}
	return list
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
