package analysis

import (
	"slices"
	"time"
)

// signalEvidence points at signals of one source each.
func signalEvidence(signals ...*Signal) []Evidence {
	var list []Evidence
	index := map[string]int{}
	for _, s := range signals {
		i, ok := index[s.Source]
		if !ok {
			i = len(list)
			index[s.Source] = i
			list = append(list, Evidence{Kind: "signals", Source: s.Source, From: Time{s.At}, To: Time{s.At}})
		}
		e := &list[i]
		e.From, e.To, e.Count = Time{earliest(e.From.Time, s.At)}, Time{latest(e.To.Time, s.At)}, e.Count+1
	}
	return list
}

// evidence points at requests, a link for each class that there were any of; one that
// counts nothing where there were none.
func (n perClass) evidence(from, to time.Time) []Evidence {
	if n.all() == 0 {
		return []Evidence{{Kind: "requests", Source: "traffic", From: Time{from}, To: Time{to}}}
	}
	var list []Evidence
	for _, class := range Classes {
		if n[class] > 0 {
			list = append(list, Evidence{Kind: "requests", Source: "traffic", Traffic: class, From: Time{from}, To: Time{to}, Count: n[class]})
		}
	}
	return list
}

// maxExamples is how many identifiers a finding or a report lists.
const maxExamples = 10

func examples(keys []string) []string {
	keys = slices.Compact(slices.Sorted(slices.Values(keys)))
	return append([]string{}, keys[:min(len(keys), maxExamples)]...)
}
