package analysis

import (
	"slices"
	"time"
)

// pollReach is how many intervals back a poll vouches for.
const pollReach = 3

// coverPolls: a poll (or a probe's send) vouches for the time back to the one
// before, if that is at most three intervals ago. At the window's edges, where the
// neighbouring poll was not loaded, the same distance is allowed.
func (b *bench) coverPolls(source string, every time.Duration, at []time.Time) Coverage {
	_, failed := b.vouched(source)
	c := Coverage{Blind: []Blind{}}
	if len(at) == 0 {
		for _, all := range holes(b.from, b.seenTo, nil) {
			c.Blind = append(c.Blind, explain(all, failed, blindNoData))
		}
		return c
	}
	if every <= 0 {
		every = medianGap(at)
	}
	before := b.from
	for _, t := range append(slices.Clone(at), b.seenTo) {
		t = earliest(latest(t, b.from), b.seenTo)
		if t.Sub(before) > pollReach*every {
			c.Blind = append(c.Blind, explain(span{before, t}, failed, blindGap))
		}
		before = latest(before, t)
	}
	return c
}

// refusedRecords are the stretches in which a probe's records were not understood,
// however near their neighbours are: a failure may stand there. A later reading that
// understood them makes up for it.
func (b *bench) refusedRecords(probe string) []Blind {
	sources := map[string]bool{probe: true}
	for i := range b.obs.Probes {
		if b.obs.Probes[i].Probe == probe {
			sources[b.obs.Probes[i].Source] = true
		}
	}
	var refused []Blind
	for _, r := range b.obs.Runs {
		if !sources[r.Source] || r.Code != CodeBadReply {
			continue
		}
		left := []span{{r.From, latest(r.To, r.From.Add(time.Microsecond))}}
		for _, later := range b.runsOf(r.Source) {
			if later.Code == "" && later.At.After(r.At) {
				left = subtract(left, span{later.From, later.To})
			}
		}
		for _, s := range left {
			s = span{latest(s.from, b.from), earliest(s.to, b.seenTo)}
			if s.from.Before(s.to) {
				refused = append(refused, Blind{Time{s.from}, Time{s.to}, blindQueryFailed, r.Code + ": " + r.Error})
			}
		}
	}
	return refused
}

func medianGap(at []time.Time) time.Duration {
	gaps := []time.Duration{}
	for i := 1; i < len(at); i++ {
		if gap := at[i].Sub(at[i-1]); gap > 0 {
			gaps = append(gaps, gap)
		}
	}
	if len(gaps) == 0 {
		return 0
	}
	slices.Sort(gaps)
	return gaps[len(gaps)/2]
}

// pollTimes are the moments of the polls of a source that brought states.
func (b *bench) pollTimes(source string) []time.Time {
	var at []time.Time
	for _, s := range b.obs.States {
		if s.Source == source {
			at = append(at, s.At)
		}
	}
	for _, r := range b.runsOf(source) { // an answer without a single target is an answer
		if r.Code == "" && r.Kind != "file" {
			at = append(at, r.To)
		}
	}
	slices.SortFunc(at, time.Time.Compare)
	return slices.CompactFunc(at, time.Time.Equal)
}

// vantages are the sources of a probe's requests from other places than the console.
func (b *bench) vantages(probe string) []string {
	var sources []string
	for i := range b.obs.Probes {
		if p := &b.obs.Probes[i]; p.Probe == probe && Vantage(p.Source) != "" {
			sources = append(sources, p.Source)
		}
	}
	slices.Sort(sources)
	return slices.Compact(sources)
}

// sendTimes are the moments at which a probe sent from a place; the console's own
// place has no name.
func (b *bench) sendTimes(probe, vantage string) []time.Time {
	var at []time.Time
	for i := range b.obs.Probes {
		if p := &b.obs.Probes[i]; p.Probe == probe && Vantage(p.Source) == vantage {
			at = append(at, p.Sent)
		}
	}
	slices.SortFunc(at, time.Time.Compare)
	return at
}
