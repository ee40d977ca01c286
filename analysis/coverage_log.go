package analysis

import "time"

// coverAccessLog: a missing object is not blind by itself; a listing or an object
// that could not be read is, and so is the time whose objects may still arrive.
func (b *bench) coverAccessLog(source string) Coverage {
	c := Coverage{Blind: b.blindByRuns(source), Lines: new(0), Malformed: new(0), PartialObjects: new(0)}
	horizon := map[string]time.Time{}
	for _, o := range b.obs.Objects {
		if o.Source != source {
			continue
		}
		*c.Lines += o.Lines
		*c.Malformed += o.SetAside - o.Requestless
		if end := o.To; end.IsZero() { // nobody knows how far it reaches
		} else if end.After(b.obs.At) { // it was written before its period ended: more may follow
			horizon[o.Node] = latest(horizon[o.Node], o.From)
		} else {
			horizon[o.Node] = latest(horizon[o.Node], end)
		}
		if o.Partial {
			*c.PartialObjects++
		}
		if o.Partial || o.Error != "" {
			// Where it is not known when it begins or ends, any time may be missing.
			from, to := latest(o.From, b.from), b.seenTo
			if !o.To.IsZero() {
				to = earliest(o.To, to)
			}
			if from.Before(to) {
				detail := o.Key
				if o.Error != "" {
					detail += ": " + o.Error
				}
				c.Blind = append(c.Blind, Blind{Time{from}, Time{to}, blindPartial, detail})
			}
		}
	}
	passed := b.settled()
	if !passed && len(horizon) > 0 {
		passed = true
		for _, end := range horizon {
			passed = passed && end.After(b.to)
		}
	}
	c.HorizonPassed = &passed
	if !passed {
		c.Awaited = b.awaited(horizon)
		var begins time.Time
		for _, end := range horizon {
			begins = earliest(begins, end)
		}
		if begins = latest(begins, b.from); begins.Before(b.seenTo) {
			c.Blind = append(c.Blind, Blind{Time{begins}, Time{b.seenTo}, blindHorizon, ""})
		}
	}
	return c
}

// awaited lists, per node, from when on log objects are still expected.
func (b *bench) awaited(horizon map[string]time.Time) []Awaited {
	if len(horizon) == 0 {
		return []Awaited{{From: Time{b.from}, To: Time{b.to}}}
	}
	var list []Awaited
	for _, node := range sortedKeys(horizon) {
		if end := horizon[node]; !end.After(b.to) {
			list = append(list, Awaited{Node: node, From: Time{latest(end, b.from)}, To: Time{b.to}})
		}
	}
	return list
}
