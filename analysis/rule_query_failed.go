package analysis

import "time"

// queryFailed fires once per source and error code when a collector asked and got
// an error, or a reply without the element that would hold the answer: that is not
// "there was nothing". A target that was stopped cannot answer for itself.
func queryFailed(b *bench) ([]Finding, string) {
	var found []Finding
	index := map[[2]string]int{}
	for _, r := range b.obs.Runs {
		if r.Code == "" || r.To.Before(b.from) || !r.From.Before(b.to) || b.askedWhileDown(r) {
			continue
		}
		k := [2]string{r.Source, r.Code}
		i, ok := index[k]
		if !ok {
			index[k] = len(found)
			found = append(found, Finding{
				Severity: SeverityMedium, From: Time{latest(r.From, b.from)}, To: Time{earliest(latest(r.To, r.From.Add(time.Microsecond)), b.to)},
				Values:   map[string]any{"source": r.Source, "code": r.Code, "error": r.Error, "count": 1},
				Evidence: []Evidence{{Kind: "runs", Source: r.Source, From: Time{r.From}, To: Time{r.To}, Count: 1}},
			})
			continue
		}
		f := &found[i]
		f.From, f.To = Time{latest(earliest(f.From.Time, r.From), b.from)}, Time{earliest(latest(f.To.Time, r.To), b.to)}
		f.Values["count"] = f.Values["count"].(int) + 1
		f.Values["error"] = r.Error
		f.Evidence[0].From, f.Evidence[0].To, f.Evidence[0].Count = f.From, f.To, f.Evidence[0].Count+1
	}
	return found, ""
}
