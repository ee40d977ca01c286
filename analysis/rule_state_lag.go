package analysis

import "time"

// stateLag fires when the displayed state of a target surely trailed what traffic
// shows: its change was seen later than three polls and the target's usual pause
// between requests can explain.
func stateLag(b *bench) ([]Finding, string) {
	if len(b.obs.States) == 0 {
		return nil, whyNoStates
	}
	var found []Finding
	measured := false
	for _, l := range b.lives {
		allowed := pollReach*b.pollInterval() + l.usualPause
		for _, c := range l.cycles {
			down, up := b.stateLags(l, c)
			values := map[string]any{"down_from_s": nil, "down_to_s": nil, "up_from_s": nil, "up_to_s": nil}
			late := false
			if down != nil {
				measured = true
				values["down_from_s"], values["down_to_s"] = down.From, down.To
				late = down.From > seconds(allowed)
			}
			if up != nil && !b.openFor(l.group, c.firstServed, c.firstServed) {
				measured = true
				values["up_from_s"], values["up_to_s"] = up.From, up.To
				late = late || up.From > seconds(allowed)
			}
			if late {
				found = append(found, Finding{
					Severity: SeverityInfo, Target: new(l.name), From: Time{c.begin()}, To: Time{latest(c.firstServed, c.ready, c.begin().Add(time.Microsecond))}, Values: values,
					Evidence: []Evidence{{Kind: "states", Source: l.changes[0].source, From: Time{l.changes[0].before}, To: Time{l.changes[len(l.changes)-1].seen}, Count: len(l.changes)}},
				})
			}
		}
	}
	if !measured {
		return nil, whyNoChange
	}
	return found, ""
}

// pollInterval is the longest configured polling interval of any state source.
func (b *bench) pollInterval() time.Duration {
	longest := time.Duration(0)
	for _, balancer := range b.obs.Service.LoadBalancers {
		for _, g := range balancer.TargetGroups {
			for _, s := range g.States {
				longest = max(longest, s.Every)
			}
		}
	}
	return longest
}
