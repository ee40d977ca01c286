package analysis

import "time"

// jobStopped fires when a scheduled job that is configured, or that ran regularly
// before the deploy, did not run for two periods and some slack after it, though the
// logs that would tell had lines: a scheduler that was to be switched on after the
// traffic moved and was not, a lock that nobody releases, a row that is missing. Such a
// failure says nothing by itself.
func jobStopped(b *bench) ([]Finding, string) {
	if b.obs.Deploy.ID == "" {
		return nil, whyNoDeploy
	}
	var found []Finding
	why, judged := "", 0
	for _, j := range b.jobs() {
		if j.every == 0 {
			continue // not known to be regular
		}
		var last *Signal
		sources := map[string]bool{}
		for _, r := range j.runs {
			if r.At.Before(b.seenTo) {
				last = r
			}
			sources[r.Source] = true
		}
		if last == nil {
			why = b.untold(EventJobBegan)
			if why == "" { // of other jobs it tells
				why = whyNeverMatched
			}
			continue
		}
		since := latest(last.At, b.started)
		quiet := b.seenTo.Sub(since)
		allowed := 2*j.every + jobSlack(j.every)
		// A job that ran twice after the start goes on.
		if quiet <= allowed {
			if runs := j.runsIn(b.started, b.seenTo); runs > 0 {
				judged++
			} else {
				why = whyWindowShort
			}
			continue
		}
		logs := sortedKeys(sources)
		for _, log := range b.obs.Service.AppLogs { // it may have moved on to a target that never ran it
			if !sources[log.Name] {
				logs = append(logs, log.Name)
			}
		}
		switch {
		case b.blindIn(logs, since, b.seenTo):
			why = whyAppLogBlind
			continue
		case b.linesIn(logs, since.Add(time.Second), b.seenTo) == 0:
			why = whyNoLines
			continue
		}
		judged++
		found = append(found, Finding{
			Severity: SeverityHigh, From: Time{since}, To: Time{b.seenTo},
			Values: map[string]any{
				"job": j.name, "every_s": seconds(j.every), "last_at": Time{last.At}, "last_on": last.Target, "quiet_s": seconds(quiet),
				"skipped": len(j.skipsIn(since, b.seenTo)), "declared": j.declared,
			},
			Evidence: signalEvidence(last),
		})
	}
	switch {
	case len(found) > 0:
		return found, ""
	case why != "":
		return nil, why
	case judged == 0:
		return nil, b.jobsUntold()
	}
	return nil, ""
}

// runsIn counts the runs that began in [from, to).
func (j *jobRuns) runsIn(from, to time.Time) int {
	n := 0
	for _, r := range j.runs {
		if !r.At.Before(from) && r.At.Before(to) {
			n++
		}
	}
	return n
}
