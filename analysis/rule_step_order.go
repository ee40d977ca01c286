package analysis

// stepOrder fires when a later step of a journey succeeded though an earlier one had
// not: it never did, or it had failed by then and succeeded only afterwards. An order is
// acknowledged that nobody has read. The records must have been seen for all of the time
// in which the earlier step was due.
func stepOrder(b *bench) ([]Finding, string) {
	if len(b.obs.Service.Journeys) == 0 {
		return nil, whyNoJourneys
	}
	var found []Finding
	started, undecided := 0, 0
	for _, r := range b.report.Journeys {
		started += r.Started
		undecided += r.Undecided
		list := b.skipped[r.Journey]
		if len(list) == 0 {
			continue
		}
		f := Finding{Severity: SeverityHigh, Evidence: []Evidence{{Kind: "journeys", Source: list[0].source, Count: len(list)}}}
		type pair struct{ missing, later string }
		keys, pairs, late := []string{}, map[pair]int{}, 0
		var most pair
		for _, s := range list {
			keys = append(keys, s.key)
			f.From, f.To = Time{earliest(f.From.Time, s.at)}, Time{latest(f.To.Time, s.at)}
			if s.late {
				late++
			}
			each := pair{s.missing, s.later}
			if pairs[each]++; pairs[each] > pairs[most] {
				most = each
			}
		}
		f.Values = map[string]any{"journey": r.Journey, "count": len(list), "started": r.Started, "later": most.later, "missing": most.missing, "late": late, "keys": examples(keys)}
		f.Evidence[0].From, f.Evidence[0].To = f.From, f.To
		found = append(found, f)
	}
	switch {
	case len(found) > 0:
		return found, ""
	case started == 0:
		return nil, b.journeysUntold()
	case undecided == started:
		return nil, whyUndecided
	}
	return nil, ""
}

// journeysUntold says why no journey is known to have begun.
func (b *bench) journeysUntold() string {
	for _, j := range b.obs.Service.Journeys {
		for _, w := range b.witnesses(j) {
			if b.blindIn(w.sources, b.from, b.seenTo) {
				return whyAppLogBlind
			}
		}
	}
	if why := b.untold(EventJourneyStep); why == whyNeverMatched {
		return why
	}
	return whyNoJourneySteps
}
