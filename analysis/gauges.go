package analysis

import (
	"cmp"
	"slices"
	"time"
)

// readGauges says of every metric what it was before the deploy, at its most from
// then on, and after the tail began.
func (b *bench) readGauges() {
	b.report.Gauges = nil
	if len(b.obs.Service.Metrics) > 0 {
		b.report.Gauges = []GaugeReport{}
	}
	tail := b.to
	for _, p := range b.report.Phases {
		if p.Kind == "tail" {
			tail = p.From.Time
		}
	}
	type key struct{ source, target, metric string }
	all := map[key][]Gauge{}
	for _, g := range b.obs.Gauges {
		if b.inWindow(g.At) {
			k := key{g.Source, g.Target, g.Metric}
			all[k] = append(all[k], g)
		}
	}
	for k, samples := range all {
		r := GaugeReport{Source: k.source, Target: k.target, Metric: k.metric}
		r.Before = meanOf(samples, b.from, b.started)
		r.After = meanOf(samples, tail, b.to)
		for _, g := range samples {
			if !g.At.Before(b.started) && (r.Max == nil || g.Value > *r.Max) {
				r.Max, r.MaxAt = new(g.Value), Time{g.At}
			}
		}
		b.report.Gauges = append(b.report.Gauges, r)
	}
	slices.SortFunc(b.report.Gauges, func(x, y GaugeReport) int {
		return slices.Compare([]string{x.Metric, x.Target, x.Source}, []string{y.Metric, y.Target, y.Source})
	})
}

// meanOf is the mean of the samples in [from, to); nil without one.
func meanOf(samples []Gauge, from, to time.Time) *float64 {
	sum, n := 0.0, 0
	for _, g := range samples {
		if within(g.At, from, to) {
			sum += g.Value
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return new(sum / float64(n))
}

// coverMetrics: a scrape vouches for the time back to the one before. One that failed
// vouches for nothing, also where it brought some values before it did. A target that
// was stopped cannot be asked, and that is told apart from one that should have
// answered: the server that is in trouble is the one that tells nothing.
func (b *bench) coverMetrics(m MetricsSource) Coverage {
	var at []time.Time
	var broken []Run // from the scrape before, which may have been a good one, to theirs
	for _, r := range b.obs.Runs {
		if r.Source == m.Name && r.Code != "" {
			broken = append(broken, r)
		}
	}
	failed := func(t time.Time) bool {
		return slices.ContainsFunc(broken, func(r Run) bool { return t.Equal(r.To) || within(t, r.From.Add(time.Nanosecond), r.To) })
	}
	for _, g := range b.obs.Gauges {
		if g.Source == m.Name && !failed(g.At) {
			at = append(at, g.At)
		}
	}
	for _, r := range b.obs.Runs {
		if r.Source == m.Name && r.Code == "" {
			at = append(at, r.To)
		}
	}
	slices.SortFunc(at, time.Time.Compare)
	c := b.coverPolls(m.Name, m.Every, slices.CompactFunc(at, time.Time.Equal))
	down := b.downSpans(m.Target)
	var blind []Blind
	for _, spot := range c.Blind {
		whole := span{spot.From.Time, spot.To.Time}
		left := []span{whole}
		for _, d := range down {
			left = subtract(left, d)
			if from, to := latest(d.from, whole.from), earliest(d.to, whole.to); from.Before(to) {
				blind = append(blind, Blind{Time{from}, Time{to}, BlindTargetDown, spot.Detail})
			}
		}
		for _, part := range left {
			// Next to a stop, the scrape before it and the first one after it vouch as far
			// as any other does.
			if part == whole || part.to.Sub(part.from) > pollReach*m.Every {
				blind = append(blind, Blind{Time{part.from}, Time{part.to}, spot.Reason, spot.Detail})
			}
		}
	}
	c.Blind = blind
	return c
}

// BlindTargetDown is why a target's own metrics were not seen while it was stopped:
// there was nobody to ask.
const BlindTargetDown = "target_down"

// downSpans are the stretches in which a target was stopped: from its stop until it
// was ready again.
func (b *bench) downSpans(target string) []span {
	l := b.byName[target]
	if l == nil {
		return nil
	}
	var down []span
	for _, cycle := range l.cycles {
		if cycle.stop.IsZero() {
			continue
		}
		down = append(down, span{cycle.stop, cmp.Or(cycle.ready, cycle.until)})
	}
	return union(down)
}

// askedWhileDown reports whether a run is a scrape of a target that was stopped when
// it was asked, or stopped before it could answer. When it was asked is the run's To:
// From is when the scrape before it was.
func (b *bench) askedWhileDown(r Run) bool {
	return slices.ContainsFunc(b.obs.Service.Metrics, func(m MetricsSource) bool {
		return m.Name == r.Source && slices.ContainsFunc(b.downSpans(m.Target), func(d span) bool {
			return !r.To.After(d.to.Add(b.stopSlack())) && !latest(r.To, r.At).Before(d.from.Add(-b.stopSlack()))
		})
	})
}
