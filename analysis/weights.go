package analysis

import (
	"slices"
	"time"
)

// turn is a stretch of time in which a group's requests were sent to the same targets.
type turn struct {
	span
	targets []int // by their place among the group's
	sent    int   // requests that went to them, as far as the logs that count say
}

// groupTurns are the turns of a group in the window, and the weights of its targets.
type groupTurns struct {
	mates   []*life
	turns   []turn
	weights []float64
	missed  bool // probes went to other groups only
}

func (b *bench) groupTurns(group string) groupTurns {
	g := groupTurns{missed: b.probesWentElsewhere(group)}
	for _, l := range b.lives {
		if l.group == group {
			g.mates = append(g.mates, l)
		}
	}
	g.turns = b.turns(g.mates)
	g.weights = b.weights(g.mates, g.turns)
	return g
}

// share is a target's share of its group's probe requests at a moment of the window at
// which it was in rotation: its weight, out of the weights of those that requests were
// sent to just then. Where no access log counts enough of them, targets are taken to be
// equal; where one tells that probes went to other groups only, none came here.
func (g groupTurns) share(l *life, t time.Time) float64 {
	if g.missed {
		return 0
	}
	own, all := 0.0, 0.0
	begun := inside(g.turns, func(u turn) time.Time { return u.from }, time.Time{}, t.Add(time.Nanosecond))
	for _, i := range begun[len(begun)-1].targets {
		all += g.weights[i]
		if g.mates[i] == l {
			own = g.weights[i]
		}
	}
	if own == 0 {
		return 0
	}
	return own / all
}

// probesWentElsewhere reports whether the logs that count have probes' requests to
// targets, and none to those of a group.
func (b *bench) probesWentElsewhere(group string) bool {
	elsewhere := false
	for i := range b.obs.Cells {
		c := &b.obs.Cells[i]
		if c.Class != ClassProbe || c.Target == "" || !b.counting[c.Source] {
			continue
		}
		if b.byName[c.Target].group == group {
			return false
		}
		elsewhere = true
	}
	return elsewhere
}

// turns cut the window where requests began or ceased to be sent to one of a group's
// targets.
func (b *bench) turns(mates []*life) []turn {
	edges := []time.Time{b.from, b.seenTo}
	sentTo := make([][]span, len(mates))
	for i, l := range mates {
		sentTo[i] = b.sentSpans(l)
		for _, s := range sentTo[i] {
			edges = append(edges, s.from, s.to)
		}
	}
	slices.SortFunc(edges, time.Time.Compare)
	edges = slices.CompactFunc(edges, time.Time.Equal)
	var turns []turn
	for i := 1; i < len(edges); i++ {
		u := turn{span: span{edges[i-1], edges[i]}}
		for j := range mates {
			if covers(sentTo[j], u.from) {
				u.targets = append(u.targets, j)
			}
		}
		turns = append(turns, u)
	}
	return turns
}

// sentSpans is the time in which a target was in rotation, and after each such time that
// in which requests were still sent to it, though it served none.
func (b *bench) sentSpans(l *life) []span {
	in := b.inRotation(l, b.from, b.seenTo)
	out := holes(b.from, b.seenTo, in)
	last := make([]time.Time, len(out))
	for i := range b.obs.Cells {
		c := &b.obs.Cells[i]
		if c.Target != l.name || !b.counting[c.Source] {
			continue
		}
		for j, o := range out {
			if within(c.First, o.from, o.to) {
				last[j] = latest(last[j], earliest(c.begun().to, o.to))
			}
		}
	}
	for j, o := range out {
		in = append(in, span{o.from, latest(o.from, last[j])})
	}
	return union(in)
}

// weights of a group's targets are those under which each had as many requests as the
// logs that count say, in whole seconds of its turns: w = n ÷ Σ N/W, over the turns that
// it took part in, N their requests and W the sum of the weights in them, is repeated
// until it holds (Hunter, MM algorithms for generalized Bradley-Terry models, 2004). Who
// took part in turns of fewer than [lowTraffic] requests weighs as much as the others do
// on average.
func (b *bench) weights(mates []*life, turns []turn) []float64 {
	place := map[string]int{}
	for i, l := range mates {
		place[l.name] = i
	}
	counted := make([]float64, len(mates))
	for i := range b.obs.Cells {
		c := &b.obs.Cells[i]
		target, ok := place[c.Target]
		if !ok || !b.counting[c.Source] {
			continue
		}
		second := time.Unix(c.Second, 0)
		began := inside(turns, func(u turn) time.Time { return u.from }, time.Time{}, second.Add(time.Nanosecond))
		if len(began) == 0 {
			continue
		}
		u := &began[len(began)-1]
		if second.Add(time.Second).After(u.to) || !slices.Contains(u.targets, target) {
			continue
		}
		counted[target] += float64(c.Count)
		u.sent += c.Count
	}
	seen := make([]int, len(mates))
	weights := make([]float64, len(mates))
	for i := range mates {
		weights[i] = 1
	}
	for _, u := range turns {
		for _, i := range u.targets {
			seen[i] += u.sent
		}
	}
	for range 100 {
		due := make([]float64, len(mates))
		for _, u := range turns {
			all := 0.0
			for _, i := range u.targets {
				all += weights[i]
			}
			for _, i := range u.targets {
				if all > 0 {
					due[i] += float64(u.sent) / all
				}
			}
		}
		for i := range mates {
			if seen[i] >= lowTraffic {
				weights[i] = counted[i] / due[i]
			}
		}
	}
	sum, measured := 0.0, 0
	for i := range mates {
		if seen[i] >= lowTraffic {
			sum, measured = sum+weights[i], measured+1
		}
	}
	for i := range mates {
		if seen[i] < lowTraffic && measured > 0 {
			weights[i] = sum / float64(measured)
		}
	}
	return weights
}
