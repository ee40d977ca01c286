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
		if silent := b.shutdownRuleInUse(logs); silent != "" {
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

// shutdownRuleInUse says why the rules for shutdowns cannot be relied on in some
// sources; empty where they can.
func (b *bench) shutdownRuleInUse(logs []string) string {
	for _, event := range []Event{EventShutdownBegan, EventShutdownEnded, EventShutdownAborted} {
		if len(b.signals[event]) > 0 {
			return ""
		}
	}
	tried := false
	for _, rule := range b.obs.Service.LogRules {
		if rule.Event != EventShutdownBegan && rule.Event != EventShutdownEnded {
			continue
		}
		for _, c := range b.report.Controls {
			if !slices.Contains(logs, c.Source) || c.Lines == 0 {
				continue
			}
			tried = tried || c.Rule == rule.Name
			if set := setOf(rule.Name); set != "" && setOf(c.Rule) == set && c.Matched > 0 {
				return ""
			}
		}
	}
	if tried {
		return whyNeverMatched
	}
	return whySignals
}
