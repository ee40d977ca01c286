package views

import (
	"math"

	"gapless/analysis"
)

// The labels beside the plot, in the picture's coordinates. Widths of characters are
// those of a common sans-serif, rather too wide than too narrow.
const (
	labelX     = 8
	widestLeft = 240
	laneLabel  = 50 // "LB says", with the space before it
	nameDigit  = 7.6
	boldDigit  = 7.0
	smallDigit = 6.0
)

// labelWidth is how much room a small label on the right takes, with the space before it.
func labelWidth(label string) int {
	return int(math.Ceil(float64(len([]rune(label)))*smallDigit)) + 10
}

// fit cuts a name to a room by its middle: names that belong together mostly begin
// alike and differ at their end.
func fit(name string, room int, digit float64) string {
	runes, limit := []rune(name), max(int(float64(room)/digit), 3)
	if len(runes) <= limit {
		return name
	}
	head := limit / 2
	return string(runes[:head]) + "…" + string(runes[len(runes)-(limit-1-head):])
}

// labelColumn is where the plot begins: wide enough for the names beside it, within
// bounds.
func labelColumn(s scale, r *analysis.Report) int {
	widest := plotLeft
	need := func(name string, digit float64, beside int) {
		widest = max(widest, labelX+int(math.Ceil(float64(len([]rune(name)))*digit))+beside+8)
	}
	for i := range r.Targets {
		if i < maxLanes {
			need(r.Targets[i].Target, nameDigit, laneLabel)
		}
	}
	for _, lane := range blindLanes(s, r) {
		need(lane.Label, boldDigit, labelWidth(lane.Sub))
	}
	for _, span := range r.Breakers {
		need(span.Breaker, boldDigit, labelWidth(span.Target))
	}
	return min(widest, widestLeft)
}

// fitBreaker cuts a breaker's name and its target's so that both stand in one row.
func fitBreaker(breaker, target string, room int) (string, string) {
	target = fit(target, room/2, smallDigit)
	return fit(breaker, room-labelWidth(target), boldDigit), target
}
