package analysis

import "time"

// overlapDoubleRun fires when a scheduled job began on two targets within its period
// while both were up, and neither run was skipped because the other one held the
// job's lock: a run that its target says afterwards that it skipped is none. A balancer moves requests from one version to the other; schedulers ask
// no balancer. A run on a target that was gone when the next one began elsewhere is
// the job moving on, not a second run.
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
		var first, last *Signal
		var twice []*Signal
		before, pairs := 0, 0
		for i, run := range j.runs {
			for _, later := range j.runs[i+1:] {
				if later.At.Sub(run.At) >= j.every-j.every/10 {
					break
				}
				if later.Target == run.Target || later.Target == "" || run.Target == "" || !b.scheduling(run.Target, later.At) {
					continue
				}
				if !b.inWindow(later.At) {
					continue
				}
				if later.At.Before(b.started) {
					before++
					break
				}
				if pairs++; first == nil {
					first = run
				}
				last = later
				twice = append(twice, run, later)
				break
			}
		}
		if pairs == 0 {
			continue
		}
		found = append(found, Finding{
			Severity: SeverityHigh, Target: new(last.Target), From: Time{latest(first.At, b.from)}, To: Time{last.At},
			Values: map[string]any{
				"job": j.name, "every_s": seconds(j.every), "pairs": pairs, "pairs_before": before, "targets": []string{first.Target, last.Target},
				"skipped": len(j.skipsIn(first.At.Add(-j.every), last.At.Add(j.every))), "nearest_s": nearestPair(twice),
			},
			Evidence: signalEvidence(twice...),
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

// single reports whether all runs before a moment were on one target.
func (j *jobRuns) single(before time.Time) bool {
	target := ""
	for _, r := range j.runs {
		switch {
		case !r.At.Before(before):
		case target != "" && r.Target != target:
			return false
		default:
			target = r.Target
		}
	}
	return target != ""
}

func (j *jobRuns) skipsIn(from, to time.Time) []*Signal {
	var list []*Signal
	for _, s := range j.skips {
		if !s.At.Before(from) && s.At.Before(to) {
			list = append(list, s)
		}
	}
	return list
}

// nearestPair is the shortest time, in seconds, between the two runs of a pair.
func nearestPair(pairs []*Signal) float64 {
	nearest := time.Duration(-1)
	for i := 0; i+1 < len(pairs); i += 2 {
		if d := pairs[i+1].At.Sub(pairs[i].At); nearest < 0 || d < nearest {
			nearest = d
		}
	}
	return seconds(nearest)
}
