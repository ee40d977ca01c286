package views

import (
	"slices"
	"strings"
	"time"

	"gapless/analysis"
)

// FindingView is one finding.
type FindingView struct {
	Code, Severity, Class, Icon string
	Where                       string
	From, To                    *Stamp
	Sentence, Remedy            string
	Evidence                    []string
}

// RuleGroup lists rules that share a state.
type RuleGroup struct {
	State, Icon string
	Rules       []RuleView
}

// RuleView is one rule and, where it could not be evaluated, why.
type RuleView struct{ Code, Why string }

func findingViews(r *analysis.Report, zone *time.Location) []FindingView {
	icons := map[analysis.Severity]string{analysis.SeverityHigh: "▲", analysis.SeverityMedium: "◆", analysis.SeverityInfo: "●"}
	var views []FindingView
	for i := range r.Findings {
		f := &r.Findings[i]
		view := FindingView{Code: f.Code, Severity: string(f.Severity), Class: string(f.Severity), Icon: icons[f.Severity], Sentence: tied(f.Sentence), Remedy: tied(f.Remedy)}
		if view.Icon == "" {
			view.Icon = "●"
		}
		var where []string
		for _, text := range []string{value(f.Target), value(f.Phase)} {
			if text != "" {
				where = append(where, text)
			}
		}
		view.Where = strings.Join(where, " · ")
		if !f.From.IsZero() {
			from := clock(f.From.Time, zone)
			view.From = &from
			if !f.To.IsZero() && f.To.After(f.From.Time) && clock(f.To.Time, zone).Text != from.Text {
				to := clock(f.To.Time, zone)
				view.To = &to
			}
		}
		for _, e := range f.Evidence {
			text := evidenceWords(e)
			if e.Source != "" {
				text += " in " + e.Source
			}
			view.Evidence = append(view.Evidence, text)
		}
		views = append(views, view)
	}
	return views
}

// evidenceWords names the records that a link points at, with how many they are where
// that was counted; requests are counted only by whose they are.
func evidenceWords(e analysis.Evidence) string {
	ofClients := e.Kind == "requests" || e.Kind == "probes"
	switch {
	case e.Count > 0 && ofClients && e.Traffic != "":
		return requests(e.Count, e.Traffic)
	case e.Count == 0 || ofClients:
		return e.Kind
	}
	return plural(e.Count, strings.TrimSuffix(e.Kind, "s"), e.Kind)
}

// ruleGroups lists the rules by their state, and counts them beside the findings, of
// which one rule may make several.
func ruleGroups(r *analysis.Report) (string, []RuleGroup) {
	groups := []RuleGroup{{State: "fired", Icon: "▲"}, {State: "clear", Icon: "✓"}, {State: "not evaluable", Icon: "–"}}
	for _, rule := range r.Rules {
		group := slices.Index([]string{analysis.RuleFired, analysis.RuleClear, analysis.RuleNotEvaluable}, rule.State)
		if group < 0 {
			continue
		}
		view := RuleView{Code: rule.Code}
		if rule.Why != "" {
			view.Why = word(whyWords, rule.Why)
		}
		groups[group].Rules = append(groups[group].Rules, view)
	}
	counts := plural(len(r.Findings), "finding", "findings") + " · " + plural(len(groups[1].Rules), "rule", "rules") + " clear · " + Count(len(groups[2].Rules)) + " not evaluable"
	return counts, slices.DeleteFunc(groups, func(g RuleGroup) bool { return len(g.Rules) == 0 })
}
