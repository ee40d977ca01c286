package views

import (
	"slices"
	"strconv"

	"gapless/analysis"
)

// journeyRecords has a row for every journey and phase in which any began.
func journeyRecords(r *analysis.Report) [][]string {
	records := [][]string{{"journey", "phase", "started", "completed", "completed_after_retries", "later_without_earlier", "never_finished", "undecided"}}
	for i := range r.Journeys {
		j := &r.Journeys[i]
		for _, phase := range r.Phases {
			c, ok := j.ByPhase[phase.Name]
			if !ok {
				continue
			}
			record := []string{j.Journey, phase.Name}
			for _, n := range []int{c.Started, c.Completed, c.AfterRetries, c.WithoutEarlier, c.NeverFinished, c.Undecided} {
				record = append(record, strconv.Itoa(n))
			}
			records = append(records, record)
		}
	}
	return records
}

// dependencyRecords has a column for everything that refused a call, and for every
// result.
func dependencyRecords(r *analysis.Report) [][]string {
	var refused, results []string
	for _, d := range r.Dependencies {
		for name := range d.Refused {
			refused = append(refused, name)
		}
		for name := range d.Results {
			results = append(results, name)
		}
	}
	sortNames(&refused)
	sortNames(&results)
	head := []string{"dependency", "wanted", "sent", "amplification", "max_per_second", "max_at", "max_in_flight"}
	for _, name := range refused {
		head = append(head, "refused "+name)
	}
	for _, name := range results {
		head = append(head, "result "+name)
	}
	records := [][]string{head}
	for _, d := range r.Dependencies {
		wanted := ""
		if d.Wanted > 0 {
			wanted = strconv.Itoa(d.Wanted)
		}
		record := []string{d.Dependency, wanted, strconv.Itoa(d.Sent), csvOptional(d.Amplification), strconv.Itoa(d.MaxPerSecond), csvTime(d.MaxAt), csvCount(d.MaxInFlight)}
		for _, name := range refused {
			record = append(record, strconv.Itoa(d.Refused[name]))
		}
		for _, name := range results {
			record = append(record, strconv.Itoa(d.Results[name]))
		}
		records = append(records, record)
	}
	return records
}

func breakerRecords(r *analysis.Report) [][]string {
	records := [][]string{{"breaker", "target", "state", "from", "to", "seconds", "sent", "refused"}}
	for _, b := range r.Breakers {
		records = append(records, []string{b.Breaker, b.Target, b.State, csvTime(b.From), csvTime(b.To), csvNumber(b.Seconds), strconv.Itoa(b.Sent), strconv.Itoa(b.Refused)})
	}
	return records
}

func gaugeRecords(r *analysis.Report) [][]string {
	records := [][]string{{"metric", "target", "source", "before", "max", "max_at", "after"}}
	for _, g := range r.Gauges {
		records = append(records, []string{g.Metric, g.Target, g.Source, csvOptional(g.Before), csvOptional(g.Max), csvTime(g.MaxAt), csvOptional(g.After)})
	}
	return records
}

func sortNames(names *[]string) {
	slices.Sort(*names)
	*names = slices.Compact(*names)
}
