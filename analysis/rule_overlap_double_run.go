package analysis

import (
	"cmp"
	"slices"
	"time"
)

// overlapDoubleRun fires when a scheduled job began on two targets within its period
// while both were up, and neither run was skipped because the other one held the
// job's lock: a run that its target says afterwards that it skipped is none. A balancer
// moves requests from one version to the other; schedulers ask no balancer. A run on a
// target that was gone when the next one began elsewhere is the job moving on, not a
// second run.
//
// Of a job that is not configured it is known that it is to run once only where it ran
// on a single target before the deploy.
func overlapDoubleRun(b *bench) ([]Finding, string) {
	var found []Finding
	known := 0
	for _, j := range b.jobs() {
		if j.every == 0 || !j.declared && !j.single(b.started) {
			continue
		}
		if len(j.runs) > 0 {
			known++
		}
		all := b.pairs(j)
		count := len(all)
		pairs := slices.DeleteFunc(all, func(p runPair) bool { return p.second.At.Before(b.started) })
		if len(pairs) == 0 {
			continue
		}
		targets, lines := map[string]struct{}{}, map[*Signal]bool{}
		for _, p := range pairs {
			for _, run := range []*Signal{p.first, p.second} {
				targets[run.Target], lines[run] = struct{}{}, true
			}
		}
		first := pairs[0].first
		last := slices.MaxFunc(pairs, func(x, y runPair) int { return x.second.At.Compare(y.second.At) }).second
		nearest := slices.MinFunc(pairs, func(x, y runPair) int { return cmp.Compare(x.apart(), y.apart()) })
		found = append(found, Finding{
			Severity: SeverityHigh, Target: new(last.Target), From: Time{latest(first.At, b.from)}, To: Time{last.At},
			Values: map[string]any{
				"job": j.name, "every_s": seconds(j.every), "pairs": len(pairs), "pairs_before": count - len(pairs), "targets": sortedKeys(targets),
				"skipped": len(j.skipsIn(first.At.Add(-j.every), last.At.Add(j.every))), "nearest_s": seconds(nearest.apart()),
			},
			Evidence: signalEvidence(slices.DeleteFunc(slices.Clone(j.runs), func(r *Signal) bool { return !lines[r] })...),
		})
	}
	switch {
	case len(found) > 0:
		return found, ""
	case known > 0:
		return nil, b.silenceUntold()
	}
	return nil, b.jobsUntold()
}

// jobsUntold says why nothing is known of scheduled jobs.
func (b *bench) jobsUntold() string {
	if why := b.untold(EventJobBegan); why != "" {
		return why
	}
	return whyNoPeriod
}

// single reports whether all runs before a moment are known to have been on one target.
func (j *jobRuns) single(before time.Time) bool {
	targets := map[string]bool{}
	for _, r := range j.runs {
		if r.At.Before(before) {
			targets[r.Target] = true
		}
	}
	return len(targets) == 1 && !targets[""]
}

// skipsIn are the lines in [from, to) that tell that a run was skipped.
func (j *jobRuns) skipsIn(from, to time.Time) []*Signal { return inside(j.skips, toldAt, from, to) }
