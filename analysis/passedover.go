package analysis

import (
	"math"
	"slices"
	"time"
)

// door is a node of a load balancer, as one of the access logs that count tells of it; of a
// log that does not name nodes, the whole load balancer.
type door struct{ source, node string }

// throughDoor is what came through a door while a target may have been out of rotation.
type throughDoor struct {
	n           int       // requests sent to other targets of its group then
	first, last time.Time // of all that was sent to the group through the door
}

// passedOver reports whether so many requests were sent to the other targets of a
// target's group between two moments that it cannot be chance (5 %) that it got none.
func (b *bench) passedOver(l *life, c cycle, from, to time.Time) bool {
	doors, share := b.sentToOthers(l, c, from, to)
	n := 0
	for _, d := range doors {
		n += d.n
	}
	return noChance(share, n)
}

// passedOverByAll reports the same of each door by itself that was there then: every node
// checks the targets by itself, and one that sends little may still have it in rotation.
func (b *bench) passedOverByAll(l *life, c cycle, from, to time.Time) bool {
	doors, share := b.sentToOthers(l, c, from, to)
	some := false
	for _, d := range doors {
		if noChance(share, d.n) {
			some = true
		} else if d.first.Before(to) && !d.last.Before(from) {
			return false
		}
	}
	return some
}

// noChance reports whether it cannot be chance (5 %) that a target with a share of them got
// none of n requests.
func noChance(share float64, n int) bool { return math.Pow(1-share, float64(n)) < 0.05 }

// sentToOthers counts, by door, the requests that were sent to other targets of a target's
// group between two moments, and tells the share of them that would have been its own.
func (b *bench) sentToOthers(l *life, c cycle, from, to time.Time) (map[door]*throughDoor, float64) {
	doors, mates := map[door]*throughDoor{}, []*life{l}
	var through *throughDoor
	var last door
	for i := range b.obs.Cells {
		cell := &b.obs.Cells[i]
		if !b.counting[cell.Source] || cell.Target == "" {
			continue
		}
		other := b.byName[cell.Target]
		if other != l && !b.mates(l, other) {
			continue
		}
		if d := (door{cell.Source, cell.Node}); d != last {
			if last, through = d, doors[d]; through == nil {
				through = &throughDoor{}
				doors[d] = through
			}
		}
		through.first, through.last = earliest(through.first, cell.First), latest(through.last, cell.First)
		if other != l && b.surely(cell.Source, cell.First, from, to) {
			through.n += cell.Count
			if !slices.Contains(mates, other) {
				mates = append(mates, other)
			}
		}
	}
	return doors, b.share(mates, c.began())
}

// share is what share of the requests to some targets the first one had before a moment,
// while all of them were in rotation as far as traffic shows. Weights may be unequal, so an
// equal share of its whole group is assumed only where fewer than [lowTraffic] requests were
// there to tell.
func (b *bench) share(mates []*life, before time.Time) float64 {
	together := []span{{b.from, before}}
	for _, l := range mates {
		together = without(together, holes(b.from, before, b.inRotation(l, b.from, before)))
		for _, p := range l.pauses() {
			if s := p.sure(); s.to.Sub(s.from) > pollReach*max(l.usualPause, time.Second) {
				together = subtract(together, s)
			}
		}
	}
	own, all := 0, 0
	for i := range b.obs.Cells {
		c := &b.obs.Cells[i]
		if !b.counting[c.Source] || !c.Last.Before(before) || !slices.Contains(mates, b.byName[c.Target]) || !covers(together, c.First) {
			continue
		}
		all += c.Count
		if c.Target == mates[0].name {
			own += c.Count
		}
	}
	if all < lowTraffic {
		return 1 / float64(b.groupSize(mates[0].group))
	}
	return float64(own) / float64(all)
}
