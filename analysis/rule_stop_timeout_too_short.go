package analysis

// stopTimeoutTooShort fires when a process began to shut down and was ended before it
// had finished: by a signal that cannot be caught, as container runtimes and service
// managers send once their patience is over (docker stop: 10 s, systemd: 90 s), or by
// its own limit, with work still going on.
func stopTimeoutTooShort(b *bench) ([]Finding, string) {
	var found []Finding
	judged, blind := false, false
	for i := range b.stoppings {
		s := &b.stoppings[i]
		if s.began.IsZero() {
			continue
		}
		cut, by := s.killed, "kill"
		if !s.aborted.IsZero() && (cut.IsZero() || s.aborted.Before(cut)) {
			cut, by = s.aborted, "application"
		}
		// Where nothing cut it the time is zero, and so before it began.
		if cut.Before(s.began) || !s.ended.IsZero() && !s.ended.After(cut) {
			judged = true
			continue
		}
		// The line that it had finished may be one that nobody saw.
		if by == "kill" && b.blindIn(b.logsOf(s.target), s.began, cut) {
			blind = true
			continue
		}
		found = append(found, Finding{
			Severity: SeverityHigh, Target: new(s.target), From: Time{s.began}, To: Time{cut},
			Values: map[string]any{
				"asked_at": moment(s.asked), "began_at": Time{s.began}, "cut_at": Time{cut}, "by": by,
				"after_s": seconds(cut.Sub(earliest(s.asked, s.began))),
			},
			Evidence: stopEvidence(s),
		})
	}
	switch {
	case len(found) > 0:
		return found, ""
	case blind:
		return nil, whyAppLogBlind
	case judged:
		return nil, ""
	case len(b.stoppings) == 0:
		return nil, whyNoStop
	}
	return nil, b.shutdownUntold()
}

// stopEvidence points at the lines about a stop; at its time where only steps tell it.
func stopEvidence(s *stopping) []Evidence {
	if list := signalEvidence(s.told...); len(list) > 0 {
		return list
	}
	return []Evidence{{Kind: "steps", Source: "steps", From: Time{s.from()}, To: Time{latest(s.from(), s.over())}}}
}

// shutdownUntold says why no process is known to have begun its shutdown.
func (b *bench) shutdownUntold() string {
	if why := b.untold(EventShutdownBegan); why != "" {
		return why
	}
	return whyNoShutdown
}
