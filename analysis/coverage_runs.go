package analysis

import "time"

// runsOf are the runs of a collector, in the order in which they ended (see
// [sortInputs]).
func (b *bench) runsOf(source string) []Run {
	var runs []Run
	for _, r := range b.obs.Runs {
		if r.Source == source {
			runs = append(runs, r)
		}
	}
	return runs
}

// vouched is what runs of a collector vouch for, and those that failed: in the order
// in which the runs ended, a good one covers its span and a failed one uncovers it.
func (b *bench) vouched(source string) (covered []span, failed []Run) {
	for _, r := range b.runsOf(source) {
		if r.Code == "" {
			covered = append(covered, span{r.From, r.To})
			continue
		}
		failed = append(failed, r)
		covered = subtract(covered, span{r.From, r.To})
	}
	return covered, failed
}

// blindByRuns finds what no run of a collector vouches for.
func (b *bench) blindByRuns(source string) []Blind {
	covered, failed := b.vouched(source)
	blind := []Blind{}
	lag := b.readingLag(source)
	for _, hole := range holes(b.from, b.seenTo, covered) {
		spot := explain(hole, failed, blindNoData)
		if spot.Reason == blindNoData && b.seenTo.Before(b.to) && hole.to.Equal(b.seenTo) && hole.to.Sub(hole.from) <= lag {
			continue // the window is open, and the next read is not due yet
		}
		blind = append(blind, spot)
	}
	return blind
}

// readingLag is how far a source that is read again and again may be behind the
// present without being blind: three times its usual interval, as with polls.
func (b *bench) readingLag(source string) time.Duration {
	var at []time.Time
	for _, r := range b.runsOf(source) {
		if r.Code == "" {
			at = append(at, r.At)
		}
	}
	return pollReach * medianGap(at)
}

// explain gives a hole the reason of the last failed run that meets it.
func explain(hole span, failed []Run, otherwise string) Blind {
	blind := Blind{Time{hole.from}, Time{hole.to}, otherwise, ""}
	for _, r := range failed {
		if overlap(r.From, r.To, hole.from, hole.to) || within(r.From, hole.from, hole.to) { // the latter of one without a length
			blind.Reason, blind.Detail = blindQueryFailed, r.Code+": "+r.Error
		}
	}
	return blind
}
