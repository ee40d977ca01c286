package analysis

import "math"

// classificationSuspect fires when the share of users among the logged requests
// after the deploy's start differs greatly from the baseline's while the deploy gave
// no reason for it: then a traffic rule no longer fits, and a number may count
// somebody else's requests. The test is that of two shares, at 0.01, and the shares
// must also differ by a third.
func classificationSuspect(b *bench) ([]Finding, string) {
	if tools := b.report.Totals[ClassTool]; tools == nil || tools.Requests == 0 {
		return nil, whyNotApply // without tools among the requests every share is a user's
	}
	var users, all [2]int // before, after
	for i := range b.obs.Cells {
		c := &b.obs.Cells[i]
		if !b.counting[c.Source] || c.Class == ClassProbe || c.Class == ClassHealth {
			continue // ours come at a rate of their own
		}
		side := 0
		if c.Second >= b.started.Unix() {
			side = 1
		}
		all[side] += c.Count
		if c.Class == ClassUser {
			users[side] += c.Count
		}
	}
	if all[0] < lowTraffic || all[1] < lowTraffic {
		return nil, whyNoBaseline
	}
	before, after := float64(users[0])/float64(all[0]), float64(users[1])/float64(all[1])
	pooled := float64(users[0]+users[1]) / float64(all[0]+all[1])
	spread := math.Sqrt(pooled * (1 - pooled) * (1/float64(all[0]) + 1/float64(all[1])))
	if spread == 0 || math.Abs(after-before) < 2.576*spread || math.Abs(after-before) < before/3 {
		return nil, ""
	}
	return []Finding{{
		Severity: SeverityMedium, From: Time{b.started}, To: Time{b.seenTo},
		Values:   map[string]any{"share_before": before, "share_after": after, "requests_before": all[0], "requests_after": all[1]},
		Evidence: perClass{ClassUser: users[1], ClassTool: all[1] - users[1]}.evidence(b.started, b.seenTo),
	}}, ""
}
