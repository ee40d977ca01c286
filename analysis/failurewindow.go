package analysis

import (
	"slices"
	"time"
)

// failureWindows clusters the failures that were sent to a target around one of its
// stops (all of them, for a target that never stopped), per class. A cluster ends
// where the target served well in between, or after a pause longer than the health-check
// interval.
func (b *bench) failureWindows(l *life, c cycle) []FailureWindow {
	var windows []FailureWindow
	if b.measured(ClassUser) || b.measured(ClassProbe) || b.measured(ClassHealth) {
		windows = []FailureWindow{} // measured, and perhaps none
	}
	pause := b.health(l.group).Interval
	if pause == 0 {
		pause = 30 * time.Second // ELBv2's default interval
	}
	for _, class := range Classes {
		var cluster []failure
		flush := func() {
			if len(cluster) > 0 {
				windows = append(windows, b.failureWindow(l, class, cluster))
			}
			cluster = nil
		}
		for _, f := range b.failures {
			if f.class != class || b.failedTarget(f) != l.name || !l.belongs(c, f) {
				continue
			}
			if n := len(cluster); n > 0 {
				last := cluster[n-1]
				_, ended := b.asServed(&last)
				began, _ := b.asServed(&f)
				if f.start.Sub(last.end) > pause || l.surelyServedWell(ended, began) {
					flush()
				}
			}
			cluster = append(cluster, f)
		}
		flush()
	}
	return windows
}

// failedTarget is the target that a failed request was sent to; where no witness
// says, the one target that was down at that moment and to which it may have been sent.
func (b *bench) failedTarget(f failure) string {
	if f.target != "" {
		return f.target
	}
	name := ""
	for _, l := range b.lives {
		if !b.concerns(&f, l) {
			continue
		}
		for _, c := range l.cycles {
			start, end := b.cycleAhead(l, c, b.clock(&f)).between(&f)
			if c.leaves && start.After(c.stop.Add(b.slack(l.group))) {
				continue // it is gone for good, and nobody is sent to it any more
			}
			if b.wasOut(l, c, &f) {
				continue
			}
			if from, to, _ := b.down(c); overlap(start, end, from, to) {
				if name != "" && name != l.name {
					return ""
				}
				name = l.name
			}
		}
	}
	return name
}

// concerns reports whether a failure may have to do with a target: with the one that it
// was sent to; where no witness says, with those of the groups that it may have been meant
// for; and with any, where no target of such a group is known.
func (b *bench) concerns(f *failure, l *life) bool {
	if f.target != "" {
		return f.target == l.name
	}
	of := func(l *life) bool {
		for group := range l.groups {
			if b.meantFor(f, group) {
				return true
			}
		}
		return false
	}
	return of(l) || !slices.ContainsFunc(b.lives, of)
}

// belongs assigns a failure to the cycle in whose time it ended: the last one that had
// begun by then, or the first.
func (l *life) belongs(c cycle, f failure) bool {
	at := cycle{} // of a target that has none
	for i, each := range l.cycles {
		if i == 0 || !each.begin().After(f.end) {
			at = each
		}
	}
	return at.begin().Equal(c.begin())
}

func (b *bench) failureWindow(l *life, class Class, cluster []failure) FailureWindow {
	from, to := cluster[0].end, cluster[0].end
	first := cluster[0].endBy() // the latest at which one of them had ended
	var last, lastBy time.Time  // between which, by the serving clock, all of them had
	w := FailureWindow{Traffic: class, Statuses: map[string]int{}}
	for _, f := range cluster {
		from, to, first = earliest(from, f.end), latest(to, f.end), earliest(first, f.endBy())
		_, ended := b.asServed(&f)
		last, lastBy = latest(last, ended.Add(-f.cut)), latest(lastBy, ended)
		w.Failed += f.n
		w.Statuses[statusKey(f.status)] += f.n
	}
	w.From, w.To, w.Seconds = Time{from}, Time{to}, max(seconds(to.Sub(first)), 0)
	began, _ := b.asServed(&cluster[0])
	w.Upper = l.upperBound(began, last, lastBy)
	w.Requests = w.Failed
	if b.byProber(class) {
		b.fillFromProbes(&w, l, class, from, to)
	} else {
		b.fillFromCells(&w, l, class, from, to)
	}
	return w
}

// asServed are all moments, by the clock that dates what targets served, at which a
// failure may have been.
func (b *bench) asServed(f *failure) (from, to time.Time) {
	return b.ahead(b.servingClock, b.clock(f)).between(f)
}

// asServedIfKnown is the same where the two clocks are known against each other, and
// otherwise as the failure was recorded.
func (b *bench) asServedIfKnown(f *failure) (from, to time.Time) {
	return b.ahead(b.servingClock, b.clock(f)).ifKnown().between(f)
}

// upperBound is the time from the last success before a failure window to the
// first after it, in seconds; nil where the target did not serve on both sides. Its last
// failure ended at to, and at the latest by another moment.
func (l *life) upperBound(from, to, by time.Time) *float64 {
	var before, after time.Time
	for _, p := range l.points {
		if p.failed {
			continue
		}
		if !p.by.After(from) {
			before = p.at
		} else if p.at.After(to) && !p.at.Before(by) {
			after = p.by
			break
		}
	}
	if before.IsZero() || after.IsZero() {
		return nil
	}
	return new(seconds(after.Sub(before)))
}

// fillFromProbes counts the probe requests that ended inside the window, in the
// order in which they were sent.
func (b *bench) fillFromProbes(w *FailureWindow, l *life, class Class, from, to time.Time) {
	var inside []*ProbeRequest
	for i := range b.obs.Probes {
		p := &b.obs.Probes[i]
		if p.Class == class && !p.Done.Before(from) && !p.Done.After(to) {
			inside = append(inside, p)
		}
	}
	slices.SortStableFunc(inside, func(x, y *ProbeRequest) int { return x.Sent.Compare(y.Sent) })
	w.Requests = len(inside)
	run, longest := 0, 0
	for _, p := range inside {
		if b.probeOutcome(p).Failure() {
			run++
			longest = max(longest, run)
			continue
		}
		run = 0
		switch target, answered := b.sentTo(p); {
		case !answered:
			w.Unattributed++
		case target == l.name:
			w.Boundary++
		default:
			w.ServedByOthers++
		}
	}
	w.LongestRun = &longest
}

// fillFromCells counts the logged requests of the seconds that the window touches:
// at its two edges up to a second more than it holds. The target's own answers count
// only where all of their second lies inside. The order within a second was not
// recorded, so neither was the longest run.
func (b *bench) fillFromCells(w *FailureWindow, l *life, class Class, from, to time.Time) {
	for i := range b.obs.Cells {
		c := &b.obs.Cells[i]
		if c.Class != class || !b.counting[c.Source] || c.Outcome.Failure() || c.Second < from.Unix() {
			continue
		}
		// One that lies wholly before or after the window, in the same second, is not in it.
		if c.Last.Before(from) || c.First.After(to) {
			continue
		}
		own := c.Target == l.name
		if own && (c.First.Before(b.by(c.Source, from)) || b.by(c.Source, c.Last).After(to)) {
			continue
		}
		w.Requests += c.Count
		switch {
		case c.TargetStatus == 0:
		case own:
			w.Boundary += c.Count
		default:
			w.ServedByOthers += c.Count
		}
	}
}
