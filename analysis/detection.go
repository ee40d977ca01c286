package analysis

import (
	"math"
	"slices"
	"time"
)

// missWindows are the lengths of failure windows for which a chance is given.
var missWindows = []time.Duration{100 * time.Millisecond, 400 * time.Millisecond, time.Second, 5 * time.Second}

// detect says, per business probe, which total outages of one target its requests
// would have missed: in the risky phases taken one by one, and over the whole
// window. Where nothing tells which target a request reached, each reached it with its
// share of the requests of its group; so of a target that neither an application log nor
// the answers could have told of, whatever they tell of others.
func (b *bench) detect() []Detection {
	var rows []Detection
	groups := map[string]groupTurns{}
	for _, probe := range b.obs.Service.Probes {
		if probe.Class != ClassProbe {
			continue
		}
		var sends []time.Time
		byTarget := map[string][]time.Time{}
		failed := map[string]bool{}
		told, named := false, false // by answers or applications; by answers. The access log keeps only what failed or was slow
		for i := range b.obs.Probes {
			p := &b.obs.Probes[i]
			if p.Probe != probe.Name {
				continue
			}
			sends = append(sends, p.Sent)
			target, answered := b.sentTo(p)
			if answered {
				byTarget[target] = append(byTarget[target], p.Sent)
				named = named || p.Target != ""
				told = told || named || len(b.handled[probeID{p.Run, p.Seq}]) > 0
			}
			if b.inWindow(p.Sent) && b.probeOutcome(p).Failure() {
				failed[target] = true
			}
		}
		slices.SortFunc(sends, time.Time.Compare)
		stuck := b.stuckTimes(probe, sends)
		scopes := []Phase{}
		for _, phase := range b.report.Phases {
			if phase.risky() && phase.From.Before(b.seenTo) {
				scopes = append(scopes, phase)
			}
		}
		scopes = append(scopes, Phase{From: Time{b.from}, To: Time{b.seenTo}}) // the whole window last
		for _, scope := range scopes {
			if len(b.lives) == 0 { // the outage is the whole service's
				rows = append(rows, b.detectShare(probe, scope, []span{{scope.From.Time, earliest(scope.To.Time, b.seenTo)}}, sends, stuck, len(failed) > 0, surely))
			}
			for _, l := range b.lives {
				if !told || !named && b.voiceless(l.name) {
					rows = append(rows, b.detectUnattributed(probe, scope, l, sends, stuck, len(failed) > 0, groups)...)
					continue
				}
				// One that no request reached has its row too: all would have been missed.
				at := byTarget[l.name]
				slices.SortFunc(at, time.Time.Compare)
				rows = append(rows, b.detectTarget(probe, scope, l, at, stuck, failed[l.name] || failed[""]))
			}
		}
	}
	return rows
}

// detectTarget gives the chances for one target, over the time in which it was in
// rotation: for a total outage of length w placed anywhere there,
// P(miss) = Σ max(0, g − w) ÷ Σ (L − w) over the gaps g between requests that
// reached it, edges included, and the spans L of that time. An outage lies within
// one span, hence the sum below the line; with one span it is the plain formula.
func (b *bench) detectTarget(probe Probe, scope Phase, l *life, at []time.Time, stuck []span, failed bool) Detection {
	rotation := b.inRotation(l, scope.From.Time, earliest(scope.To.Time, b.seenTo))
	d := detection(probe, scope, rotation, at, failed)
	d.Target = l.name
	d.Miss = misses(rotation, stuck, func(spans []span, w time.Duration) (float64, bool) {
		gaps, _ := gapsIn(spans, at)
		return missChance(gaps, lengths(spans), w)
	})
	d.longestMissed(rotation, stuck, sendingsOf(b.from, at, surely))
	return d
}

// detectUnattributed gives the chances for one target where nothing tells which requests
// reached it: the mean of Π(1 − s) over all placements of an outage in the time in which
// it was in rotation, s its share when each request in the outage was sent.
func (b *bench) detectUnattributed(probe Probe, scope Phase, l *life, sends []time.Time, stuck []span, failed bool, groups map[string]groupTurns) []Detection {
	rotation := b.inRotation(l, scope.From.Time, earliest(scope.To.Time, b.seenTo))
	if len(rotation) == 0 {
		return nil
	}
	group, ok := groups[l.group]
	if !ok {
		group = b.groupTurns(l.group)
		groups[l.group] = group
	}
	d := b.detectShare(probe, scope, rotation, sends, stuck, failed, func(t time.Time) float64 { return group.share(l, t) })
	d.Target = l.name
	return []Detection{d}
}

// detectShare describes the requests sent in some spans, each of which reached what the
// row is about with a chance of its own. No failure in them bounds the failure rate of
// those that did: it is 1/s times as high as that of all, s their mean share.
func (b *bench) detectShare(probe Probe, scope Phase, spans []span, sends []time.Time, stuck []span, failed bool, share func(time.Time) float64) Detection {
	d := detection(probe, scope, spans, sends, failed)
	var at []time.Time
	sum := 0.0
	for _, in := range spans {
		own := inside(sends, func(t time.Time) time.Time { return t }, in.from, in.to)
		at = append(at, own...)
		for _, t := range own {
			sum += share(t)
		}
	}
	if len(at) > 0 {
		d.Share = new(sum / float64(len(at)))
	}
	if d.FailureRateBelow != nil {
		d.FailureRateBelow = new(min(1, *d.FailureRateBelow / *d.Share))
	}
	reach := sendingsOf(b.from, at, share)
	d.Miss = misses(spans, stuck, reach.missIn)
	d.longestMissed(spans, stuck, reach)
	return d
}

// longestMissed fills the longest outage that could well have been missed: by all of the
// spans, and, where that differs, without the time in which requests were stuck.
func (d *Detection) longestMissed(spans, stuck []span, reach sendings) {
	d.LongestMissed = outages{spans, reach.meanMiss}.longestMissed()
	if free := without(spans, stuck); !slices.Equal(free, spans) {
		d.LongestMissedWithoutStalls = outages{free, reach.meanMiss}.longestMissed()
	}
}

// detection describes the requests that a probe sent at some moments, as far as they
// lie in the spans.
func detection(probe Probe, scope Phase, spans []span, at []time.Time, failed bool) Detection {
	d := Detection{Scope: probe.Name, Phase: scope.Name}
	gaps, requests := gapsIn(spans, at)
	d.Requests = requests
	describeGaps(&d, gaps)
	if !failed {
		d.FailureRateBelow = rateBound(requests)
	}
	return d
}

// misses gives the chance of every outage that fits into one of the spans: by all of
// them, and, where that differs, without the time in which requests were stuck.
func misses(spans, stuck []span, chance func(spans []span, w time.Duration) (p float64, ok bool)) []Miss {
	list := []Miss{}
	free := without(spans, stuck)
	for _, w := range missWindows {
		p, ok := chance(spans, w)
		if !ok {
			continue
		}
		m := Miss{WindowMS: milliseconds(w), Probability: p}
		if !slices.Equal(free, spans) {
			if p, ok := chance(free, w); ok {
				m.WithoutStalls = &p
			}
		}
		list = append(list, m)
	}
	return list
}

// gapsIn are the gaps between moments within each of the spans, edges included, and
// how many moments there are in them.
func gapsIn(spans []span, at []time.Time) (gaps []time.Duration, n int) {
	for _, in := range spans {
		before := in.from
		for _, t := range at {
			if t.Before(in.from) || !t.Before(in.to) {
				continue
			}
			gaps = append(gaps, t.Sub(before))
			before = t
			n++
		}
		gaps = append(gaps, in.to.Sub(before))
	}
	return gaps, n
}

func lengths(spans []span) []time.Duration {
	list := make([]time.Duration, len(spans))
	for i, s := range spans {
		list[i] = s.to.Sub(s.from)
	}
	return list
}

// without cuts spans out of others.
func without(spans, out []span) []span {
	for _, s := range out {
		spans = subtract(spans, s)
	}
	return spans
}

// stuckTimes are the stretches in which a probe sent nothing, at least three times its
// interval long, because one of its requests was stuck: it took as long as a stall does.
// They are blind spots of the probe, and no property of how densely it usually sends.
func (b *bench) stuckTimes(probe Probe, sends []time.Time) []span {
	limit, _, ok := b.stallLimit(probe.Name)
	if !ok {
		return nil
	}
	var stuck []span
	for i := range b.obs.Probes {
		p := &b.obs.Probes[i]
		if p.Probe != probe.Name || p.Done.Sub(p.Sent) < limit {
			continue
		}
		next, _ := slices.BinarySearchFunc(sends, p.Sent, func(s, t time.Time) int {
			if s.After(t) {
				return 1
			}
			return -1
		})
		until := b.seenTo
		if next < len(sends) {
			until = sends[next]
		}
		until = earliest(until, p.Done)
		if until.Sub(p.Sent) >= pollReach*max(probe.Every, time.Millisecond) {
			stuck = append(stuck, span{p.Sent, until})
		}
	}
	return stuck
}

// missChance is the chance that a total outage of length w, placed anywhere within
// one of the spans, fell between requests; ok is false when no span is longer.
func missChance(gaps, spans []time.Duration, w time.Duration) (p float64, ok bool) {
	var placements, missed time.Duration
	for _, g := range gaps {
		missed += max(0, g-w)
	}
	for _, s := range spans {
		placements += max(0, s-w)
	}
	if placements == 0 {
		return 0, false
	}
	return float64(missed) / float64(placements), true
}

// describeGaps fills median, p99 and maximum of the gaps, by nearest rank, where any
// request parts them.
func describeGaps(d *Detection, gaps []time.Duration) {
	if d.Requests == 0 {
		return
	}
	sorted := slices.Clone(gaps)
	slices.Sort(sorted)
	at := func(share float64) *float64 { return new(milliseconds(sorted[nearestRank(share, len(sorted))-1])) }
	d.GapMedian, d.GapP99, d.GapMax = at(.5), at(.99), at(1)
}

// rateBound is the failure rate below which no failure in n requests puts it, at
// 95 %: 1 − 0.05^(1/n). Failures cluster, so it bounds no failure window.
func rateBound(n int) *float64 {
	if n == 0 {
		return nil
	}
	return new(1 - math.Pow(0.05, 1/float64(n)))
}
