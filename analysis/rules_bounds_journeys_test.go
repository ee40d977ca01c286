package analysis

import "testing"

func TestStepOrderBounds(t *testing.T) {
	order := func(b *table, started, undecided int) {
		b.obs.Service.Journeys = []Journey{{Name: "order", Steps: []string{"create", "pay", "ack"}}}
		b.report.Journeys = []JourneyReport{{Journey: "order", JourneyCounts: JourneyCounts{Started: started, Undecided: undecided}}}
		b.skipped = map[string][]skipped{}
	}
	skip := func(b *table, key, missing, later string, at float64) {
		b.skipped["order"] = append(b.skipped["order"], skipped{key: key, missing: missing, later: later, at: b.at(at), source: "client"})
	}
	tryRule(t, stepOrder, []tableCase{
		{"no journey is configured", func(*table) {}, whyNoJourneys},
		{"none began", func(b *table) { order(b, 0, 0) }, whyNoJourneySteps},
		{"how it ended is known of none", func(b *table) { order(b, 2, 2) }, whyUndecided},
		{"how it ended is known of one", func(b *table) { order(b, 2, 1) }, "clear"},
		{"one acknowledged and not paid", func(b *table) { order(b, 2, 0); skip(b, "o-1", "pay", "ack", 100) },
			"100–100 count=1 journey=order keys=[o-1] late=0 later=ack missing=pay started=2 (1)"},
		{"the first of what happened as often is told", func(b *table) {
			order(b, 9, 0)
			skip(b, "o-1", "create", "pay", 120)
			skip(b, "o-2", "pay", "ack", 100)
		}, "100–120 count=2 journey=order keys=[o-1,o-2] late=0 later=pay missing=create started=9 (2)"},
		{"what happened most often is told", func(b *table) {
			order(b, 9, 0)
			skip(b, "o-1", "create", "pay", 120)
			skip(b, "o-2", "pay", "ack", 100)
			skip(b, "o-3", "pay", "ack", 110)
			skip(b, "o-4", "create", "ack", 111)
		}, "100–120 count=4 journey=order keys=[o-1,o-2,o-3,o-4] late=0 later=ack missing=pay started=9 (4)"},
		{"one of two succeeded afterwards", func(b *table) {
			order(b, 9, 0)
			skip(b, "o-1", "pay", "ack", 100)
			skip(b, "o-2", "pay", "ack", 110)
			b.skipped["order"][1].late = true
		}, "100–110 count=2 journey=order keys=[o-1,o-2] late=1 later=ack missing=pay started=9 (2)"},
	})
}
