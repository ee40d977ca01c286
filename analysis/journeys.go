package analysis

import (
	"slices"
	"time"
)

// AppLogWitness names all application logs of a service together, which tell one
// journey in parts: each target logs the requests that it served.
const AppLogWitness = "application logs"

// witness tells journeys: one file of records, or all application logs.
type witness struct {
	name    string
	sources []string
	silent  []span // in which processes served whose lines told it of no step
}

// trip is one journey of one identifier, as one witness told it.
type trip struct {
	key      string
	began    time.Time
	first    string                   // the step that it was seen to begin with
	attempts map[string][]JourneyStep // by step, in order
}

// ok is the first attempt at a step that succeeded; nil without one.
func (t *trip) ok(step string) *JourneyStep {
	for i := range t.attempts[step] {
		if s := &t.attempts[step][i]; s.Outcome == OutcomeOK {
			return s
		}
	}
	return nil
}

// skipped is a later step that succeeded though an earlier one had not.
type skipped struct {
	key, later, missing string
	at                  time.Time // of the later step
	source              string
	late                bool // the earlier one succeeded afterwards
}

// witnesses are who tells a journey, the first that is configured first.
func (b *bench) witnesses(j Journey) []witness {
	var list []witness
	logs := -1
	for _, source := range j.Sources {
		if !slices.ContainsFunc(b.obs.Service.AppLogs, func(l AppLog) bool { return l.Name == source }) {
			list = append(list, witness{name: source, sources: []string{source}})
			continue
		}
		if logs < 0 {
			logs = len(list)
			list = append(list, witness{name: source})
		} else {
			list[logs].name = AppLogWitness
		}
		list[logs].sources = append(list[logs].sources, source)
	}
	if logs >= 0 {
		list[logs].silent = b.silentLives(list[logs].sources)
	}
	return list
}

// missed reports whether a witness may have missed a step in [from, to]: it was blind,
// or a process served whose lines told it of none.
func (b *bench) missed(w witness, from, to time.Time) bool {
	return b.unseenIn(w.sources, from, to) || slices.ContainsFunc(w.silent, func(s span) bool { return overlap(s.from, s.to, from, to) })
}

// trips are the journeys of one kind that a witness told, by the time they began.
func (b *bench) trips(j Journey, w witness) []*trip {
	byKey := map[string]*trip{}
	var list []*trip
	for _, s := range b.obs.Journeys {
		if s.Journey != j.Name || s.Key == "" || !slices.Contains(w.sources, s.Source) {
			continue
		}
		t := byKey[s.Key]
		if t == nil { // steps come in the order of their times
			t = &trip{key: s.Key, began: s.At, first: s.Step, attempts: map[string][]JourneyStep{}}
			byKey[s.Key] = t
			list = append(list, t)
		}
		t.attempts[s.Step] = append(t.attempts[s.Step], s)
	}
	return list
}

// countJourneys says how the journeys that began in the window ended, by the first
// witness of each kind, and holds every further witness against it.
func (b *bench) countJourneys() {
	b.report.Journeys, b.skipped = nil, map[string][]skipped{}
	for _, j := range b.obs.Service.Journeys {
		r := JourneyReport{Journey: j.Name, ByPhase: map[string]JourneyCounts{}, Reconciled: []Reconciled{}}
		witnesses := b.witnesses(j)
		for i, w := range witnesses {
			if i > 0 {
				r.Reconciled = append(r.Reconciled, b.reconcile(j, witnesses[0], w)...)
				continue
			}
			for _, t := range b.trips(j, w) {
				phase := b.phaseAt(t.began)
				if phase < 0 {
					continue
				}
				counts := b.ending(j, w, t)
				r.add(counts)
				by := r.ByPhase[b.report.Phases[phase].Name]
				by.add(counts)
				r.ByPhase[b.report.Phases[phase].Name] = by
			}
		}
		b.report.Journeys = append(b.report.Journeys, r)
	}
}

func (c *JourneyCounts) add(more JourneyCounts) {
	c.Started += more.Started
	c.Completed += more.Completed
	c.AfterRetries += more.AfterRetries
	c.WithoutEarlier += more.WithoutEarlier
	c.NeverFinished += more.NeverFinished
	c.Undecided += more.Undecided
}

// ending says how one journey ended. A step that is missing proves something only
// where its witness saw all of the time in which it was due: from the first attempt on,
// and where that was at a later step, also as long before it as a journey may take.
func (b *bench) ending(j Journey, w witness, t *trip) JourneyCounts {
	since, until := t.began, t.began.Add(j.Within)
	if slices.Index(j.Steps, t.first) != 0 {
		since = t.began.Add(-j.Within)
	}
	missing := slices.ContainsFunc(j.Steps, func(step string) bool { return t.ok(step) == nil })
	again := slices.ContainsFunc(j.Steps, func(step string) bool { return t.ok(step) != nil && t.attempts[step][0].Outcome != OutcomeOK })
	wrong := b.wrongOrder(j, t)
	if wrong != nil && wrong.late {
		until = wrong.at
	}
	seenTo := earliest(b.obs.At, b.obs.To.Add(b.obs.Service.JourneyReach()))
	counts := JourneyCounts{Started: 1}
	switch {
	case !missing && !again:
		counts.Completed = 1
	case !missing && wrong == nil:
		counts.AfterRetries = 1
	case until.After(seenTo) || b.missed(w, since, until):
		counts.Undecided = 1
	case wrong != nil:
		counts.WithoutEarlier = 1
		b.skipped[j.Name] = append(b.skipped[j.Name], *wrong)
	default:
		counts.NeverFinished = 1
	}
	return counts
}

// wrongOrder is a step of a journey that succeeded though an earlier one had not: it
// never did, or had failed by then and succeeded only afterwards. Nil without one. An
// earlier step that nobody saw fail may only have been told late.
func (b *bench) wrongOrder(j Journey, t *trip) *skipped {
	var found *skipped
	for i, step := range j.Steps {
		later := t.ok(step)
		if later == nil {
			continue
		}
		for _, earlier := range j.Steps[:i] {
			ok, late := t.ok(earlier), false
			if ok != nil {
				slack := time.Duration(0)
				if ok.Source != later.Source { // two clocks
					slack = b.doubt
				}
				// Where the first attempt is not the one that succeeded, it failed.
				tried := t.attempts[earlier][0].At.Before(later.At.Add(-slack))
				if late = tried && ok.At.After(later.At.Add(slack)); !late {
					continue
				}
			}
			if found == nil || found.late || !late { // one that never succeeded says more
				found = &skipped{t.key, step, earlier, later.At, later.Source, late}
			}
		}
	}
	return found
}

// reconcile compares, step by step, the identifiers for which two witnesses say that
// the step succeeded in the window. One that the other witness may have missed is held
// against nobody.
func (b *bench) reconcile(j Journey, one, other witness) []Reconciled {
	a, c := b.trips(j, one), b.trips(j, other)
	var list []Reconciled
	for _, step := range j.Steps {
		succeeded := func(trips []*trip) map[string]time.Time {
			at := map[string]time.Time{}
			for _, t := range trips {
				if s := t.ok(step); s != nil {
					at[t.key] = s.At
				}
			}
			return at
		}
		ones, others := succeeded(a), succeeded(c)
		r := Reconciled{Step: step, A: one.name, B: other.name}
		for key, at := range ones {
			if _, both := others[key]; both && b.inWindow(at) {
				r.Both++
			}
		}
		onlyA, onlyB := b.only(ones, others, other), b.only(others, ones, one)
		r.OnlyA, r.OnlyB, r.ExamplesA, r.ExamplesB = len(onlyA), len(onlyB), examples(onlyA), examples(onlyB)
		list = append(list, r)
	}
	return list
}

// only are the identifiers of one witness's steps in the window that are not among
// another's, which would have told them.
func (b *bench) only(told, others map[string]time.Time, other witness) []string {
	var keys []string
	for key, at := range told {
		if _, both := others[key]; !both && b.inWindow(at) && !b.missed(other, at.Add(-b.stopSlack()), at.Add(b.stopSlack())) {
			keys = append(keys, key)
		}
	}
	return keys
}
