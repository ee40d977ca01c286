package views

import "gapless/analysis"

// Words for codes, for reports that are no pages. A code that has none is returned in
// a readable form.

// ReasonWords says why a report's claim is in its state.
func ReasonWords(r *analysis.Report, reason string) string {
	if reason == "" {
		return ""
	}
	return about(r, word(reasonWords, reason))
}

// OutcomeWords says how a request ended.
func OutcomeWords(o analysis.Outcome) string { return word(outcomeWords, o) }

// CauseWords says what a failure comes from.
func CauseWords(c analysis.Cause) string { return word(causeWords, c) }

// BlindWords says why a source saw nothing.
func BlindWords(reason string) string { return word(blindWords, reason) }

// WindowWords says how far a window is.
func WindowWords(state analysis.WindowState) string { return word(windowWords, state) }

// EjectedWords answers whether a target was out of rotation before it stopped.
func EjectedWords(ejected string) string { return word(ejectedWords, ejected) }

// ResultWords says how a call to a dependency ended, or what refused it.
func ResultWords(result string) string { return word(resultWords, result) }

// PercentWords prints a share between 0 and 1.
func PercentWords(share float64) string { return percent(share) }
