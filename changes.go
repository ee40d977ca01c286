package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gapless/analysis"
	"gapless/views"
)

// changesBetween says what a reader of the earlier report has to take back. Verdict,
// claims, counts and findings are spelled out; of whatever else differs the part is
// named. Empty where the two are the same report (see [essence]).
func changesBetween(before, after *analysis.Report) ([]string, error) {
	was, err := essence(before)
	if err != nil {
		return nil, err
	}
	is, err := essence(after)
	if err != nil || reflect.DeepEqual(was, is) {
		return nil, err
	}
	var changes []string
	change := func(what, was, is string) bool {
		if was != is {
			changes = append(changes, fmt.Sprintf("%s: %s → %s", what, was, is))
		}
		return was != is
	}
	change("verdict", string(before.Verdict.State), string(after.Verdict.State))
	changes = append(changes, changedClaims(before, after)...)
	for _, class := range analysis.Classes {
		was, is := before.Totals[class], after.Totals[class]
		change(string(class)+" requests", totalOf(was, requestsOf), totalOf(is, requestsOf))
		change(string(class)+" failures", totalOf(was, failuresOf), totalOf(is, failuresOf))
	}
	changes = append(changes, changedFindings(before, after)...)
	return append(changes, changedParts(was, is, changes)...), nil
}

// essence is a report as a tree of JSON, without what two reports that are the same
// may differ in: where the deploy was told from, how far its window is, what made the
// report and by which evidence, and every sentence.
func essence(r *analysis.Report) (map[string]any, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode a report: %w", err)
	}
	decoder := json.NewDecoder(strings.NewReader(string(body)))
	decoder.UseNumber()
	var tree map[string]any
	if err := decoder.Decode(&tree); err != nil {
		return nil, fmt.Errorf("decode a report: %w", err)
	}
	for _, path := range [][]string{
		{"deploy", "source"}, {"deploy", "url"}, {"window", "state"}, {"window", "revision"}, {"window", "sealed_at"}, {"provenance"}, {"coverage"},
	} {
		node := tree
		for _, key := range path[:len(path)-1] {
			node, _ = node[key].(map[string]any)
		}
		delete(node, path[len(path)-1])
	}
	withoutWords(tree)
	return tree, nil
}

// withoutWords drops sentences, and the evidence that they rest on, wherever they are.
func withoutWords(node any) {
	switch node := node.(type) {
	case []any:
		for _, each := range node {
			withoutWords(each)
		}
	case map[string]any:
		for _, key := range []string{"sentence", "remedy", "text", "evidence"} {
			delete(node, key)
		}
		for _, each := range node {
			withoutWords(each)
		}
	}
}

func changedClaims(before, after *analysis.Report) []string {
	var changes []string
	find := func(claims []analysis.Claim, id string) (analysis.Claim, bool) {
		i := slices.IndexFunc(claims, func(c analysis.Claim) bool { return c.ID == id })
		if i < 0 {
			return analysis.Claim{}, false
		}
		return claims[i], true
	}
	for _, claim := range after.Claims {
		was, ok := find(before.Claims, claim.ID)
		switch {
		case !ok:
			changes = append(changes, fmt.Sprintf("claim %s: new, %s", claim.ID, claim.State))
		case was.State != claim.State:
			changes = append(changes, fmt.Sprintf("claim %s: %s → %s", claim.ID, was.State, claim.State))
		case was.Reason != claim.Reason:
			changes = append(changes, fmt.Sprintf("claim %s, still %s: %s → %s", claim.ID, claim.State, views.ReasonWords(before, was.Reason), views.ReasonWords(after, claim.Reason)))
		}
	}
	for _, claim := range before.Claims {
		if _, ok := find(after.Claims, claim.ID); !ok {
			changes = append(changes, "claim "+claim.ID+": gone")
		}
	}
	return changes
}

func requestsOf(t *analysis.Total) int { return t.Requests }
func failuresOf(t *analysis.Total) int { return t.Failures }

// totalOf is a count in words: what was not measured is no zero.
func totalOf(t *analysis.Total, of func(*analysis.Total) int) string {
	if t == nil {
		return "not measured"
	}
	return fmt.Sprint(of(t))
}

func changedFindings(before, after *analysis.Report) []string {
	var changes []string
	was, is := findingCodes(before), findingCodes(after)
	for _, code := range is {
		if !slices.Contains(was, code) {
			changes = append(changes, "finding "+code+": new")
		}
	}
	for _, code := range was {
		if !slices.Contains(is, code) {
			changes = append(changes, "finding "+code+": gone")
		}
	}
	return changes
}

// changedParts names the parts in which two reports differ, in the order of their
// names. A part of which a change is spelled out already is named all the same where
// it holds more than that.
func changedParts(was, is map[string]any, told []string) []string {
	keys := map[string]bool{}
	for key := range was {
		keys[key] = true
	}
	for key := range is {
		keys[key] = true
	}
	spelled := func(kind string) bool {
		return slices.ContainsFunc(told, func(change string) bool { return strings.HasPrefix(change, kind) })
	}
	var changes []string
	for key := range keys {
		switch {
		case reflect.DeepEqual(was[key], is[key]),
			key == "verdict" && spelled("verdict"), key == "claims" && spelled("claim "), key == "findings" && spelled("finding "), key == "rules":
		case key == "totals" && sameCounts(told):
			changes = append(changes, "totals: other figures than requests and failures")
		case key == "totals":
		case key == "verdict":
			changes = append(changes, "verdict: it depends on other things")
		default:
			changes = append(changes, strings.ReplaceAll(key, "_", " ")+": other figures")
		}
	}
	slices.Sort(changes)
	if len(changes) == 0 && len(told) == 0 { // only the rules can be left
		changes = append(changes, "rules: others could be evaluated")
	}
	return changes
}

func sameCounts(told []string) bool {
	return !slices.ContainsFunc(told, func(change string) bool {
		return strings.Contains(change, " requests: ") || strings.Contains(change, " failures: ")
	})
}
