package analysis

import "time"

// logLate fires when log objects of the window were delivered later than the settle
// time waits for them: a verdict that was sealed in time did not know them. Delivery
// is as the objects' store tells it, so that whoever judges later finds the same.
func logLate(b *bench) ([]Finding, string) {
	type lateness struct {
		objects  int
		span     span
		latest   time.Duration
		firstKey string
	}
	index := map[string]*lateness{}
	timed, some := false, false
	settle := b.obs.Service.Window.Settle
	for i := range b.obs.Objects {
		o := &b.obs.Objects[i]
		some = true
		if o.Arrived.IsZero() || o.To.IsZero() {
			continue
		}
		timed = true
		by := o.Arrived.Sub(o.To)
		from, to := latest(o.From, b.from), earliest(o.To, b.to)
		if by <= settle || !from.Before(to) {
			continue
		}
		l := index[o.Source]
		if l == nil {
			l = &lateness{span: span{from, to}, firstKey: o.Key}
			index[o.Source] = l
		}
		l.objects++
		l.latest = max(l.latest, by)
		l.span = span{earliest(l.span.from, from), latest(l.span.to, to)}
		l.firstKey = min(l.firstKey, o.Key)
	}
	switch {
	case !some:
		return nil, whyNoAccessLog
	case !timed:
		return nil, whyNoArrival
	}
	found := []Finding{}
	for _, source := range sortedKeys(index) {
		l := index[source]
		found = append(found, Finding{
			Severity: SeverityMedium, From: Time{l.span.from}, To: Time{l.span.to},
			Values:   map[string]any{"source": source, "objects": l.objects, "late_s": seconds(l.latest), "settle_s": seconds(settle), "object": l.firstKey},
			Evidence: []Evidence{{Kind: "objects", Source: source, From: Time{l.span.from}, To: Time{l.span.to}, Count: l.objects}},
		})
	}
	return found, ""
}
