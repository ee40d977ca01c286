package analysis

// blindSpot fires once per source and reason for the time that no evidence of it
// covers. Logs that may still arrive are no blind spot yet, and that a stopped target
// told nothing of itself is no gap in the evidence.
func blindSpot(b *bench) ([]Finding, string) {
	var found []Finding
	for _, c := range b.report.Coverage {
		index := map[string]int{}
		for _, blind := range c.Blind {
			if blind.Reason == blindHorizon || blind.Reason == BlindTargetDown {
				continue
			}
			length := seconds(blind.To.Sub(blind.From.Time))
			i, ok := index[blind.Reason]
			if !ok {
				index[blind.Reason] = len(found)
				found = append(found, Finding{
					Severity: SeverityMedium, From: blind.From, To: blind.To,
					Values:   map[string]any{"source": c.Source, "seconds": length, "reason": blind.Reason, "detail": blind.Detail, "count": 1},
					Evidence: []Evidence{{Kind: "runs", Source: c.Source, From: blind.From, To: blind.To, Count: 1}},
				})
				continue
			}
			f := &found[i]
			f.To = blind.To
			f.Values["seconds"] = f.Values["seconds"].(float64) + length
			f.Values["count"] = f.Values["count"].(int) + 1
			f.Values["detail"] = blind.Detail
			f.Evidence[0].To, f.Evidence[0].Count = blind.To, f.Evidence[0].Count+1
		}
	}
	return found, ""
}
