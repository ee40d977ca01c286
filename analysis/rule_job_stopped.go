package analysis

import "time"

// jobStopped fires when a scheduled job that is configured, or that ran regularly
// before the deploy, did not run for two periods and some slack after it, though the
// logs that would tell had lines, and one of them had told of jobs: a lock that nobody
// releases, a row that is missing. Such a failure says nothing by itself. A log that
// never told of a job may word it otherwise, or its scheduler was to be switched on and
// was not: nothing tells which.
func jobStopped(b *bench) ([]Finding, string) {
	if b.obs.Deploy.ID == "" {
		return nil, whyNoDeploy
	}
	var found []Finding
	why, known := "", false
	for _, j := range b.jobs() {
		if j.every == 0 {
			continue // not known to be regular
		}
		known = true
		var last *Signal
		sources := map[string]struct{}{}
		for _, r := range j.runs {
			if r.At.Before(b.seenTo) {
				last = r
			}
			sources[r.Source] = struct{}{}
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
		// Not quiet for long enough to have stopped. Only a run since the start shows that
		// it goes on.
		if quiet <= allowed {
			if last.At.Before(b.started) {
				why = whyWindowShort
			}
			continue
		}
		for _, log := range b.obs.Service.AppLogs { // it may have moved on to a target that never ran it
			sources[log.Name] = struct{}{}
		}
		logs := sortedKeys(sources)
		switch {
		case b.blindIn(logs, since, b.seenTo):
			why = whyAppLogBlind
			continue
		case b.linesIn(logs, since.Add(time.Second), b.seenTo) == 0:
			why = whyNoLines
			continue
		case b.linesIn(b.jobLogs(), since.Add(time.Second), b.seenTo) == 0:
			why = whyNeverMatched // a log that told of no job yet may word it otherwise
			continue
		}
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
	case known:
		return nil, ""
	}
	return nil, b.jobsUntold()
}

// jobLogs are the logs that told of a job.
func (b *bench) jobLogs() []string {
	told := map[string]struct{}{}
	for _, event := range []Event{EventJobBegan, EventJobEnded, EventJobSkipped} {
		for _, s := range b.signals[event] {
			told[s.Source] = struct{}{}
		}
	}
	return sortedKeys(told)
}
