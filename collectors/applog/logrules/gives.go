package logrules

import "gapless/analysis"

// Gives lists the rules that are looked for with what each tells, by the names under
// which they are counted, so that one that never matches is known for what it would
// have told. Rules that are only counted tell nothing and are left out.
func (cfg Config) Gives() []analysis.LogRule {
	var gives []analysis.LogRule
	for _, name := range cfg.Sets {
		for _, r := range ruleSets[name] {
			if r.event != "" || r.step != "" {
				gives = append(gives, analysis.LogRule{Name: r.name, Event: r.event, Step: r.step})
			}
		}
	}
	for _, own := range cfg.Own {
		gives = append(gives, analysis.LogRule{Name: own.Name, Event: analysis.Event(own.Event), Step: analysis.StepKind(own.Step)})
	}
	return gives
}
