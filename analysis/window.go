package analysis

import "time"

// WindowOf is the span that is judged around a deploy: from Baseline before its
// start to Tail after its reported end. A deploy that has not reported is open
// until Max after its start, and one that nobody announced ends with its last sign.
func WindowOf(d Deploy, s WindowSettings) (from, to time.Time) {
	from = d.StartedAt.Add(-s.Baseline)
	switch {
	case d.Noticed():
		return from, d.SeenUntil.Add(s.Tail)
	case d.ReportedAt.IsZero():
		return from, d.StartedAt.Add(s.Max)
	}
	return from, d.ReportedAt.Add(s.Tail)
}

// WindowStateAt is the state of a window at a moment: open until its end, settling
// until every log horizon has passed, then sealed.
func WindowStateAt(to time.Time, s WindowSettings, at time.Time) WindowState {
	switch {
	case at.Before(to):
		return WindowOpen
	case at.Before(to.Add(s.Settle)):
		return WindowSettling
	}
	return WindowSealed
}
