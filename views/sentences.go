package views

import (
	"slices"
	"strings"

	"gapless/analysis"
)

// FillSentences writes the English sentences of a report in place: the texts of
// claims, the verdict, its conditions, the findings and their remedies. What is
// already written stays. Codes that it does not know get an honest sentence that
// names the code. No sentence holds a time of day: pages print those in the
// reader's zone.
func FillSentences(r *analysis.Report) {
	for i := range r.Claims {
		switch claim := &r.Claims[i]; {
		case claim.Text != "":
		case claim.Typed != nil:
			claim.Text = about(r, typedText(*claim))
		default:
			claim.Text = about(r, claimText(claim.ID))
		}
	}
	if r.Verdict.Sentence == "" {
		r.Verdict.Sentence = verdictSentence(r)
	}
	for i := range r.Verdict.Conditions {
		if condition := &r.Verdict.Conditions[i]; condition.Sentence == "" {
			condition.Sentence = about(r, conditionSentence(condition.Code, values(condition.Values)))
		}
	}
	for i := range r.Findings {
		finding := &r.Findings[i]
		sentence, remedy := findingWords(finding, values(finding.Values))
		if finding.Code == "single-target" {
			sentence, remedy = singleTarget(finding, othersOf(r, finding))
		}
		if finding.Sentence == "" {
			finding.Sentence = sentence
		}
		if finding.Remedy == "" {
			finding.Remedy = remedy
		}
	}
}

func claimText(id string) string {
	if words, ok := claimWords[id]; ok {
		return words.text
	}
	return upperFirst(spoken(id)) + "."
}

func claimLabel(claim analysis.Claim) string {
	if words, ok := claimWords[claim.ID]; ok {
		return words.short
	}
	if claim.Text != "" {
		return "“" + Short(claim.Text, 60) + "” (typed)"
	}
	return spoken(claim.ID)
}

// verdictSentence is the answer in one or two sentences, each number with whose
// requests it counts.
func verdictSentence(r *analysis.Report) string {
	users, probes := r.Totals[analysis.ClassUser], r.Totals[analysis.ClassProbe]
	switch r.Verdict.State {
	case analysis.Disproved:
		return disproved(r, users, probes)
	case analysis.Supported:
		return supported(r, users, probes)
	case analysis.Inconclusive:
		return inconclusive(r, users, probes)
	case analysis.Untested:
		return untested(r, users, probes)
	case "":
		return "Not judged yet."
	}
	return "The verdict is " + spoken(string(r.Verdict.State)) + "."
}

func caused(t *analysis.Total) int {
	if t == nil {
		return 0
	}
	return t.Causes[analysis.CauseDeploy] + t.Causes[analysis.CauseVersion]
}

// of is "3 of 25,212 user requests".
func of(part int, t *analysis.Total, class analysis.Class) string {
	return Count(part) + " of " + requests(t.Requests, class)
}

func disproved(r *analysis.Report, users, probes *analysis.Total) string {
	switch {
	case caused(users) > 0:
		sentence := of(caused(users), users, analysis.ClassUser) + " failed because " + because(r, users, analysis.ClassUser) + "."
		if rest := users.Failures - caused(users); rest > 0 {
			sentence += " " + requests(rest, analysis.ClassUser) + " failed for other reasons."
		}
		switch {
		case caused(probes) > 0:
			sentence += " Probes agree: " + Count(caused(probes)) + " of " + Count(probes.Requests) + " failed so."
		case probes != nil && probes.Requests > 0:
			sentence += " The probes lost none of " + Count(probes.Requests) + " to it."
		}
		return sentence
	case caused(probes) > 0:
		sentence := of(caused(probes), probes, analysis.ClassProbe) + " failed because " + because(r, probes, analysis.ClassProbe) + "."
		if users == nil {
			return sentence + " User requests were not measured."
		}
		return sentence + " " + upperFirst(userFailures(users)) + ", and none is known to be lost to it."
	}
	return "The claim does not hold: " + claimReason(r) + "."
}

// userFailures is "none of 25,212 user requests failed", or how many did.
func userFailures(users *analysis.Total) string { return failures(users, analysis.ClassUser) }

func failures(t *analysis.Total, class analysis.Class) string {
	if t.Requests == 0 {
		return "no " + classWords[class].one + " was seen"
	}
	if t.Failures == 0 {
		return "none of " + requests(t.Requests, class) + " failed"
	}
	return of(t.Failures, t, class) + " failed"
}

func supported(r *analysis.Report, users, probes *analysis.Total) string {
	var sentence string
	switch {
	case users == nil:
		sentence = "No user request failed because of " + event(r) + "."
	case users.Failures == 0:
		sentence = upperFirst(userFailures(users)) + "."
	default:
		sentence = upperFirst(userFailures(users)) + ", none of them because of " + event(r) + "."
	}
	return sentence + probesToo(r, probes)
}

// probesToo adds what the probes saw, as a sentence of its own.
func probesToo(r *analysis.Report, probes *analysis.Total) string {
	switch {
	case probes == nil || probes.Requests == 0:
		return ""
	case probes.Failures == 0:
		return " None of " + requests(probes.Requests, analysis.ClassProbe) + " failed."
	case caused(probes) == 0:
		return " " + upperFirst(failures(probes, analysis.ClassProbe)) + ", none known to be because of " + event(r) + "."
	}
	return " " + upperFirst(failures(probes, analysis.ClassProbe)) + ", " + Count(caused(probes)) + " because of " + event(r) + "."
}

func inconclusive(r *analysis.Report, users, probes *analysis.Total) string {
	claim := verdictClaim(r)
	switch claim.Reason {
	case "unexplained_failure":
		if users != nil && users.Causes[analysis.CauseUnexplained] > 0 {
			return of(users.Causes[analysis.CauseUnexplained], users, analysis.ClassUser) + " failed and " + unexplained(r) + "." + probesToo(r, probes)
		}
	case "shared_failure":
		if users != nil && users.Causes[analysis.CauseShared] > 0 {
			return of(users.Causes[analysis.CauseShared], users, analysis.ClassUser) +
				" failed where the steps of two deploys meet, so neither can be cleared." + probesToo(r, probes)
		}
	case "surge":
		return "No user failure is known to come from " + event(r) +
			", but refusals, aborts or 4xx rose with it and nothing declared explains that." + probesToo(r, probes)
	}
	sentence := "No user request is known to have failed because of " + event(r) + ", but "
	if users != nil {
		sentence = upperFirst(userFailures(users)) + " as far as is known, but "
		if users.Failures > 0 {
			sentence = upperFirst(userFailures(users)) + ", none known to be because of " + event(r) + ", but "
		}
	}
	if lacking := lackingSources(claim); lacking != "" {
		return sentence + lacking + "." + probesToo(r, probes)
	}
	return sentence + claimReason(r) + "." + probesToo(r, probes)
}

// maxNamed bounds the findings that a sentence names.
const maxNamed = 4

// unexplained says of failures without a cause that the deploy is not known to be it,
// and which findings of weight may tell more.
func unexplained(r *analysis.Report) string {
	var codes []string
	for _, finding := range r.Findings {
		if code := spoken(finding.Code); finding.Severity == analysis.SeverityHigh && !slices.Contains(codes, code) {
			codes = append(codes, code)
		}
	}
	if len(codes) == 0 {
		return "nothing measured explains it"
	}
	if more := len(codes) - maxNamed; more > 0 {
		codes = append(codes[:maxNamed], Count(more)+" more")
	}
	to := event(r)
	if r.Deploy.ID == "" && r.Deploy.StartedAt.IsZero() && r.Deploy.Kind != analysis.KindFault {
		to = "a deploy"
	}
	return "none of it is put down to " + to + "; see the findings: " + list(codes)
}

func untested(r *analysis.Report, users, probes *analysis.Total) string {
	sentence := "User requests were not measured."
	switch {
	case verdictClaim(r).Reason == "nobody_in_risky_phases":
		sentence = "No user sent a request in the risky phases, so nothing was put to the test."
	case users != nil:
		sentence = "Nothing was put to the test: " + claimReason(r) + "."
	}
	if probes == nil || probes.Requests == 0 {
		return sentence
	}
	return sentence + " What the probes showed:" + strings.Replace(probesToo(r, probes), " None", " none", 1)
}

func verdictClaim(r *analysis.Report) analysis.Claim {
	for _, claim := range r.Claims {
		if claim.ID == r.Verdict.Claim {
			return claim
		}
	}
	return analysis.Claim{}
}

func claimReason(r *analysis.Report) string {
	if reason := verdictClaim(r).Reason; reason != "" {
		return ReasonWords(r, reason)
	}
	return "no reason was given"
}

// lackingSources says which required source is not whole, and why.
func lackingSources(claim analysis.Claim) string {
	by := map[string][]string{}
	var order []string
	for _, source := range claim.Required {
		if source.Complete {
			continue
		}
		if by[source.Why] == nil {
			order = append(order, source.Why)
		}
		by[source.Why] = append(by[source.Why], source.Source)
	}
	var parts []string
	for _, why := range order {
		names := list(by[why])
		switch why {
		case "blind":
			parts = append(parts, names+" was blind for a part of it")
		case "incomplete":
			parts = append(parts, names+" is incomplete")
		case "horizon":
			parts = append(parts, "late lines of "+names+" are still awaited")
		case "missing":
			parts = append(parts, names+" brought nothing")
		case "no_log":
			parts = append(parts, "load balancer "+names+" has no access log that counts its users")
		default:
			parts = append(parts, names+" is not whole ("+word(requiredWords, why)+")")
		}
	}
	return list(parts)
}

// because says what a class's failures that the deploy caused come from, by the
// findings. It names no target that is known to have lost none of that class.
func because(r *analysis.Report, t *analysis.Total, class analysis.Class) string {
	targets := func(code string) []string {
		var names []string
		for i := range r.Findings {
			finding := &r.Findings[i]
			if finding.Code == code && finding.Target != nil && !slices.Contains(names, *finding.Target) && !lostNone(finding, class) {
				names = append(names, *finding.Target)
			}
		}
		slices.Sort(names)
		return names
	}
	was := func(names []string) string {
		if len(names) == 1 {
			return " was"
		}
		return " were"
	}
	if names := targets("restart-before-eject"); len(names) > 0 {
		them := "it"
		if len(names) > 1 {
			them = "them"
		}
		return list(names) + was(names) + " stopped while the load balancer still sent to " + them
	}
	if names := targets("returned-before-eject"); len(names) > 0 {
		return list(names) + " died and" + was(names) + " back before the load balancer could take the target out"
	}
	if len(r.ZeroTargets) > 0 {
		return "for a time no target was in rotation"
	}
	if t.Causes[analysis.CauseDeploy] == 0 && t.Causes[analysis.CauseVersion] > 0 {
		return "of the new version"
	}
	return "of " + event(r)
}

// lostNone reports whether a finding about a stop says that it cost no request of a
// class.
func lostNone(f *analysis.Finding, class analysis.Class) bool {
	v := values(f.Values)
	if failed, ok := v.count("failed_" + string(class)); ok {
		return failed == 0
	}
	if v.get("failed") == nil {
		return false
	}
	failed, _ := v.class("failed", class)
	return failed == 0
}
