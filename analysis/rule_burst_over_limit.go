package analysis

import "time"

// burstSlack is taken off the second in which calls are counted: a line is written a
// little before or after the call is sent, so that calls which a limiter let through a
// second apart may stand closer in the log.
const burstSlack = 50 * time.Millisecond

// burstOverLimit fires when more calls were sent to a dependency within a second, any
// second, than it allows: a limiter that counts by fixed windows, or that lets a burst
// through, keeps the average and passes the limit.
func burstOverLimit(b *bench) ([]Finding, string) {
	limited := false
	var found []Finding
	for _, d := range b.obs.Service.Dependencies {
		if d.PerSecond <= 0 {
			continue
		}
		var sent []time.Time
		for _, c := range b.called {
			if c.dependency == d.Name && b.inWindow(c.sent) {
				sent = append(sent, c.sent)
			}
		}
		if len(sent) == 0 {
			continue
		}
		limited = true
		most, _ := mostWithin(sent, time.Second-burstSlack)
		if most <= d.PerSecond {
			continue
		}
		whole, from := mostWithin(sent, time.Second)
		found = append(found, Finding{
			Severity: SeverityMedium, From: Time{from}, To: Time{from.Add(time.Second)},
			Values: map[string]any{
				"dependency": d.Name, "limit": d.PerSecond, "most": whole, "surely": most, "average": float64(len(sent)) / max(seconds(sent[len(sent)-1].Sub(sent[0])), 1),
			},
			Evidence: b.callEvidence(d.Name, from, from.Add(time.Second)),
		})
	}
	switch {
	case len(found) > 0:
		return found, ""
	case limited:
		return nil, b.silenceUntold()
	case len(b.report.Dependencies) > 0:
		return nil, whyNoLimit
	}
	return nil, b.callsUntold()
}

// callEvidence points at the lines about calls that were sent to a dependency.
func (b *bench) callEvidence(dependency string, from, to time.Time) []Evidence {
	var lines []*Signal
	for _, s := range b.during(from, to.Add(time.Microsecond), EventCallSent) {
		if s.Name == dependency {
			lines = append(lines, s)
		}
	}
	return signalEvidence(lines...)
}
