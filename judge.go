package main

import (
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
