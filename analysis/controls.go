package analysis

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// appLines is how many lines of an application log the rules saw; nil when the
// collector did not count them.
func (b *bench) appLines(source string) *int {
	most, byRule := 0, map[string]int{}
	for _, c := range b.obs.Counts {
		if c.Source == source {
			byRule[c.Rule] += c.Lines
			most = max(most, byRule[c.Rule])
		}
	}
	if len(byRule) == 0 {
		return nil
	}
	return &most
}

// controls sums the lines and matches of every log rule: a rule that never matched
// while its source had lines must not look like nothing happened.
func (b *bench) controls() []Control {
	var controls []Control
	index := map[[2]string]int{}
	counts := slices.Clone(b.obs.Counts)
	slices.SortStableFunc(counts, func(x, y RuleCount) int {
		return cmp.Or(strings.Compare(x.Rule, y.Rule), strings.Compare(x.Source, y.Source))
	})
	for _, c := range counts {
		k := [2]string{c.Rule, c.Source}
		i, ok := index[k]
		if !ok {
			i = len(controls)
			index[k] = i
			controls = append(controls, Control{Rule: c.Rule, Source: c.Source})
		}
		controls[i].Lines += c.Lines
		controls[i].Matched += c.Matched
	}
	return controls
}

// linesIn counts the lines that the rules were tried on in some sources and a span, by
// whole seconds.
func (b *bench) linesIn(sources []string, from, to time.Time) int {
	type second struct {
		source string
		at     int64
	}
	lines, n := map[second]int{}, 0
	for _, c := range b.obs.Counts {
		if slices.Contains(sources, c.Source) && !c.Second.Before(from.Truncate(time.Second)) && c.Second.Before(to) {
			k := second{c.Source, c.Second.Unix()}
			lines[k] = max(lines[k], c.Lines)
		}
	}
	for _, each := range lines {
		n += each
	}
	return n
}
