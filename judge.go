package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"gapless/analysis"
	"gapless/views"
)

// judge is how every part of the program judges: the pure judge, then the words,
// then what the report was made by and from.
type judge struct {
	configSHA256 string
}

func (j judge) judge(o analysis.Observations) analysis.Report {
	report := analysis.Judge(o)
	views.FillSentences(&report)
	report.Provenance.Binary = version()
	report.Provenance.ConfigSHA256 = j.configSHA256
	report.Provenance.RulesSHA256 = rulesSHA256(o.Service)
	report.Provenance.GeneratedAt = analysis.Time{Time: o.At}
	for _, saved := range o.Revisions { // of the revision that this is, where it is one
		if saved.Number == o.Revision && saved.Number > 1 {
			previous := fmt.Sprint(saved.Number - 1)
			report.Provenance.Previous, report.Provenance.Changes = &previous, saved.Changes
		}
	}
	return report
}

// rulesSHA256 identifies the rules that requests were classified by: rollups that
// were made by other rules cannot be compared with these.
func rulesSHA256(s analysis.Service) string {
	rules, err := json.Marshal(struct {
		Targets []analysis.TargetName
		Traffic analysis.TrafficRules
		Routes  []analysis.Route
	}{s.Targets, s.Traffic, s.Routes})
	if err != nil { // strings only: cannot fail
		return ""
	}
	sum := sha256.Sum256(rules)
	return hex.EncodeToString(sum[:])
}

// changesBetween says what a reader of the earlier report has to take back:
// verdict, claims, counts and findings that differ. Empty where none does.
func changesBetween(before, after *analysis.Report) []string {
	var changes []string
	change := func(what string, was, is any) {
		if was != is {
			changes = append(changes, fmt.Sprintf("%s: %v → %v", what, was, is))
		}
	}
	change("verdict", before.Verdict.State, after.Verdict.State)
	states := map[string]analysis.VerdictState{}
	for _, claim := range before.Claims {
		states[claim.ID] = claim.State
	}
	for _, claim := range after.Claims {
		if was, ok := states[claim.ID]; ok {
			change("claim "+claim.ID, was, claim.State)
		} else {
			changes = append(changes, fmt.Sprintf("claim %s: new, %s", claim.ID, claim.State))
		}
	}
	for _, class := range analysis.Classes {
		was, is := before.Totals[class], after.Totals[class]
		if was == nil {
			was = &analysis.Total{}
		}
		if is == nil {
			is = &analysis.Total{}
		}
		change(string(class)+" requests", was.Requests, is.Requests)
		change(string(class)+" failures", was.Failures, is.Failures)
	}
	changes = append(changes, changedFigures(before, after)...)
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

// changedFigures names the parts of a report whose figures differ, of those that the
// other lines of [changesBetween] do not spell out.
func changedFigures(before, after *analysis.Report) []string {
	var changes []string
	for _, part := range []struct {
		name    string
		was, is any
	}{
		{"steps", before.Steps, after.Steps}, {"phases", before.Phases, after.Phases}, {"targets", before.Targets, after.Targets},
		{"failures", before.Failures, after.Failures}, {"attribution", before.Attribution, after.Attribution},
		{"completeness", before.Completeness, after.Completeness}, {"detection", before.Detection, after.Detection},
	} {
		was, err := json.Marshal(part.was)
		is, err2 := json.Marshal(part.is)
		if err != nil || err2 != nil || !bytes.Equal(was, is) {
			changes = append(changes, part.name+": other figures")
		}
	}
	return changes
}

// findingCodes lists the codes of a report's findings, each once, in order.
func findingCodes(r *analysis.Report) []string {
	codes := []string{}
	for _, finding := range r.Findings {
		if !slices.Contains(codes, finding.Code) {
			codes = append(codes, finding.Code)
		}
	}
	slices.Sort(codes)
	return codes
}

// verdictStatus is the exit status that a verdict has.
func verdictStatus(state analysis.VerdictState) int {
	switch state {
	case analysis.Supported:
		return exitOK
	case analysis.Disproved:
		return exitDisproved
	}
	return exitInconclusive
}
