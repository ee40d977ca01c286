package analysis

import (
	"slices"
	"time"
)

// stopSignalIgnored fires when a process was asked to stop and was gone after it
// without a single line about a shutdown: the signal never reached it (a shell in
// front of it as process 1 does not pass it on), or it has no orderly shutdown.
//
// That no such line came means something only where lines came at all, of a source
// that was seen throughout, and where its rules are known to fit: one that tells of
// shutdowns matched elsewhere, or one of the same set matched in this source.
func stopSignalIgnored(b *bench) ([]Finding, string) {
	var found []Finding
	why, judged := "", false
	for i := range b.stoppings {
		s := &b.stoppings[i]
		over := s.over()
		if s.asked.IsZero() || over.Before(s.asked) {
			continue // nobody asked it, it was gone already, or nobody knows when it was gone
		}
		if !earliest(s.began, s.ended, s.aborted).IsZero() {
			judged = true
			continue
		}
		logs := b.logsOf(s.target)
		from, to := s.asked.Add(-b.stopSlack()), over.Add(b.stopSlack())
		lines := b.linesIn(logs, latest(b.from, s.asked.Add(-time.Minute)), to)
		switch {
		case b.blindIn(logs, from, to):
			why = whyAppLogBlind
			continue
		case lines == 0:
			why = whyNoLines
			continue
		}
		if silent := b.shutdownUntoldBy(s.target); silent != "" {
			why = silent
			continue
		}
		found = append(found, Finding{
			Severity: SeverityHigh, Target: new(s.target), From: Time{s.asked}, To: Time{over},
			Values: map[string]any{
				"asked_at": Time{s.asked}, "over_at": Time{over}, "after_s": seconds(over.Sub(s.asked)), "killed": !s.killed.IsZero(), "lines": lines,
			},
			Evidence: stopEvidence(s),
		})
	}
	switch {
	case len(found) > 0:
		return found, ""
	case why != "":
		return nil, why
	case judged:
		return nil, ""
	}
	return nil, whyNoStop
}

// shutdownEvents are what only a process itself says about its shutdown.
var shutdownEvents = []Event{EventShutdownBegan, EventShutdownEnded}

// shutdownUntoldBy says why a target's silence about a shutdown is no evidence; empty
// where it is. What other targets told says nothing of this one's wording: another of
// its stops must have been told, or another rule of a set that tells of shutdowns must
// fit its own log.
func (b *bench) shutdownUntoldBy(target string) string {
	if b.tells(target, shutdownEvents...) {
		return ""
	}
	logs := b.logsOf(target)
	why := whySignals
	for _, event := range shutdownEvents {
		if len(b.signals[event]) > 0 {
			why = whyNeverMatched // of other targets they tell
		}
	}
	for _, rule := range b.obs.Service.LogRules {
		if !slices.Contains(shutdownEvents, rule.Event) {
			continue
		}
		if set := setOf(rule.Name); set != "" && b.setFits(set, target) {
			return ""
		}
		for _, c := range b.report.Controls {
			if c.Rule == rule.Name && c.Lines > 0 && slices.Contains(logs, c.Source) {
				why = whyNeverMatched
			}
		}
	}
	return why
}

// setFits reports whether a rule of a set matched a line of a target: in a log of its
// own, or in one that names it.
func (b *bench) setFits(set, target string) bool {
	for _, log := range b.obs.Service.AppLogs {
		for _, c := range b.report.Controls {
			if log.Target == target && c.Source == log.Name && setOf(c.Rule) == set && c.Matched > 0 {
				return true
			}
		}
	}
	return slices.ContainsFunc(b.obs.Signals, func(s Signal) bool { return s.Target == target && setOf(s.Rule) == set })
}
