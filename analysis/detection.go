package analysis

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// missWindows are the lengths of failure windows for which a chance is given.
var missWindows = []time.Duration{100 * time.Millisecond, 400 * time.Millisecond, time.Second, 5 * time.Second}

// detect says, per business probe, which total outages of one target its requests
// would have missed: in the risky phases taken one by one, and over the whole
// window. Where no application log attributes requests, the figure is for an outage
// that takes a target's equal share of the requests.
func (b *bench) detect() []Detection {
	var rows []Detection
	for _, probe := range b.obs.Service.Probes {
		if probe.Class != ClassProbe {
			continue
		}
		var sends []time.Time
		byTarget := map[string][]time.Time{}
		failed := map[string]int{}
		for i := range b.obs.Probes {
			p := &b.obs.Probes[i]
			if p.Probe != probe.Name || !b.inWindow(p.Sent) {
				continue
			}
			sends = append(sends, p.Sent)
			target, answered := b.sentTo(p)
			if answered {
				byTarget[target] = append(byTarget[target], p.Sent)
			}
			if b.probeOutcome(p).Failure() {
				failed[target]++
			}
		}
		slices.SortFunc(sends, time.Time.Compare)
		scopes := []Phase{{From: Time{b.from}, To: Time{b.seenTo}}}
		for _, phase := range b.report.Phases {
			if phase.risky() && phase.From.Before(b.seenTo) {
				scopes = append(scopes, phase)
			}
		}
		for _, scope := range scopes {
			if len(byTarget) == 0 {
				all := 0
				for _, n := range failed {
					all += n
				}
				rows = append(rows, b.detectUnattributed(probe, scope, sends, all))
				continue
			}
			for _, l := range b.lives {
				// One that no request reached has its row too: all would have been missed.
				at := byTarget[l.name]
				slices.SortFunc(at, time.Time.Compare)
				rows = append(rows, b.detectTarget(probe, scope, l, at, failed[l.name]+failed[""]))
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
func (b *bench) detectTarget(probe Probe, scope Phase, l *life, at []time.Time, failed int) Detection {
	d := Detection{Scope: probe.Name, Phase: scope.Name, Target: l.name, Miss: []Miss{}}
	var gaps []time.Duration
	var spans []time.Duration
	for _, in := range b.inRotation(l, scope.From.Time, earliest(scope.To.Time, b.seenTo)) {
		spans = append(spans, in.to.Sub(in.from))
		before := in.from
		for _, t := range at {
			if t.Before(in.from) || !t.Before(in.to) {
				continue
			}
			gaps = append(gaps, t.Sub(before))
			before = t
			d.Requests++
		}
		gaps = append(gaps, in.to.Sub(before))
	}
	describeGaps(&d, gaps, d.Requests)
	for _, w := range missWindows {
		if p, ok := missChance(gaps, spans, w); ok {
			d.Miss = append(d.Miss, Miss{milliseconds(w), p})
		}
	}
	if failed == 0 {
		d.FailureRateBelow = rateBound(d.Requests)
	}
	return d
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

// detectUnattributed gives the mean of (1 − s)^N over all placements of a failure
// window in the scope, s one target's share, N the requests sent within it.
func (b *bench) detectUnattributed(probe Probe, scope Phase, sends []time.Time, failed int) Detection {
	from, to := scope.From.Time, earliest(scope.To.Time, b.seenTo)
	d := Detection{Scope: probe.Name, Phase: scope.Name, Miss: []Miss{}}
	var inside []time.Time
	for _, t := range sends {
		if within(t, from, to) {
			inside = append(inside, t)
		}
	}
	d.Requests = len(inside)
	var gaps []time.Duration
	before := from
	for _, t := range inside {
		gaps = append(gaps, t.Sub(before))
		before = t
	}
	gaps = append(gaps, to.Sub(before))
	describeGaps(&d, gaps, d.Requests)
	share := 1.0
	if n := len(b.lives); n > 0 {
		share = 1 / float64(n)
	}
	for _, w := range missWindows {
		if to.Sub(from) > w {
			d.Miss = append(d.Miss, Miss{milliseconds(w), meanMiss(inside, from, to, w, share)})
		}
	}
	if failed == 0 {
		d.FailureRateBelow = rateBound(d.Requests)
	}
	return d
}

// meanMiss averages (1 − share)^N over all starts t of [t, t+w) in [from, to−w]: N
// changes only where t passes a send, or the window's end does.
func meanMiss(sends []time.Time, from, to time.Time, w time.Duration, share float64) float64 {
	last := to.Add(-w)
	type event struct {
		at    time.Time
		delta int
	}
	var events []event
	n := 0
	for _, s := range sends {
		if s.Before(from.Add(w)) {
			n++ // already inside the first placement
		} else if enters := s.Add(-w); enters.Before(last) {
			events = append(events, event{enters, 1})
		}
		if s.Before(last) {
			events = append(events, event{s, -1})
		}
	}
	slices.SortFunc(events, func(x, y event) int { return cmp.Or(x.at.Compare(y.at), cmp.Compare(x.delta, y.delta)) })
	sum, before := 0.0, from
	for _, e := range events {
		sum += math.Pow(1-share, float64(n)) * seconds(e.at.Sub(before))
		before, n = e.at, n+e.delta
	}
	sum += math.Pow(1-share, float64(n)) * seconds(last.Sub(before))
	return sum / seconds(last.Sub(from))
}

// describeGaps fills median, p99 and maximum of the gaps, by nearest rank.
func describeGaps(d *Detection, gaps []time.Duration, requests int) {
	if requests == 0 {
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
