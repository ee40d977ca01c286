package logrules

import (
	"cmp"
	"slices"
	"time"

	"gapless/analysis"
)

// Batch gathers what a stretch of lines of one source tells.
type Batch struct {
	Handled  []analysis.HandledRequest
	Steps    []analysis.Step
	Signals  []analysis.Signal
	Journeys []analysis.JourneyStep
	// Timeless counts lines that tell something and could not be placed in time.
	Timeless int
	// Doubtful counts lines that would tell something, but cannot be read in one sure way:
	// JSON objects in a stream whose lines begin with a time, since a text of several lines
	// may quote them; and those in which a client's text may stand for the name. They tell
	// nothing.
	Doubtful int

	seconds map[int64]*second

	key     [19]byte // the first bytes of the last line that was parsed for its second
	current *second  // of that line
	// last is the start of a later line of that second, whose time was not needed yet.
	last   [48]byte
	lastOf int // its length; 0 where there is none

	recent   *second // of the last line that was looked up
	recentAt int64
}

// second counts the lines of one second.
type second struct {
	lines   int
	matched []int // by index of Interpreter.counted
	probes  int   // lines with an id, which RuleProbe was tried on
}

// InDoubt says of a doubtful line what is the matter with it, and which setting decides
// it where one does. No rule can: a body of several objects that a dated line quotes
// looks like the objects of a log that an agent began with a dated line.
func (in *Interpreter) InDoubt() string {
	const text = "a line would tell something, but cannot be read in one sure way: it may be text that a client sent"
	if !in.json || in.cfg.Objects {
		return text
	}
	return text + "; if it is a JSON object and each one in this log is a message of its own, as where only agents or the runtime write other lines, set objects: true"
}

// NewBatch is an empty batch.
func NewBatch() *Batch { return &Batch{seconds: map[int64]*second{}} }

// Rows is how many things besides counts the batch holds.
func (b *Batch) Rows() int { return len(b.Handled) + len(b.Steps) + len(b.Signals) + len(b.Journeys) }

// Earliest is the second of the earliest line that has a time; false where none does.
func (b *Batch) Earliest() (time.Time, bool) {
	first, ok := int64(0), false
	for key := range b.seconds {
		if key >= 0 && (!ok || key < first) {
			first, ok = key, true
		}
	}
	return time.Unix(first, 0).UTC(), ok
}

// Fill puts what the batch holds into a batch for the store.
func (in *Interpreter) Fill(b *Batch, into *analysis.AppBatch) {
	into.Handled, into.Steps, into.Signals, into.Journeys = b.Handled, b.Steps, b.Signals, b.Journeys
	into.Counts = in.Counts(b)
}

// Settle makes the state good for another reader to go on from: it reads the time
// that the last line was left without. Call it before the state is stored.
func (in *Interpreter) Settle(b *Batch, s *State) { in.settle(b, s) }

func (in *Interpreter) settle(b *Batch, s *State) {
	if b.lastOf == 0 {
		return
	}
	if t, _, ok := in.time(b.last[:b.lastOf], s.Last); ok {
		s.Last = t
	}
	b.lastOf = 0
}

// add puts what a rule found where it belongs.
func (b *Batch) add(c *current, r *rule, f fill) {
	source, target := c.in.cfg.Source, c.in.target(c.line.Target, f.target)
	if r.step != "" {
		b.Steps = append(b.Steps, analysis.Step{Kind: r.step, At: c.at, Target: target, Source: source, Inferred: true})
	}
	if r.event == analysis.EventJourneyStep {
		step := cmp.Or(f.values[groupStep], f.name)
		b.Journeys = append(b.Journeys, analysis.JourneyStep{
			Source: source, Journey: f.values[groupJourney], Key: f.key, Step: step, At: c.at, Target: target,
			Outcome: cmp.Or(f.outcome, analysis.OutcomeUnknown), // a word that is no outcome, or none at all
		})
		return
	}
	if r.event != "" {
		b.Signals = append(b.Signals, analysis.Signal{
			Source: source, Rule: r.name, Target: target, At: c.at, Event: r.event,
			Name: f.name, Key: f.key, Outcome: f.outcome, Values: f.values,
		})
	}
}

func (b *Batch) second(at time.Time, counts int) *second {
	key := at.Unix()
	if b.recent != nil && b.recentAt == key {
		return b.recent
	}
	m := b.seconds[key]
	if m == nil {
		m = &second{matched: make([]int, counts)}
		b.seconds[key] = m
	}
	b.recent, b.recentAt = m, key
	return m
}

// Counts are the batch's counts in order of time and rule. Lines before the first
// that has a time are in no second and are left out.
func (in *Interpreter) Counts(b *Batch) []analysis.RuleCount {
	var keys []int64
	for key := range b.seconds {
		if key >= 0 {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	var counts []analysis.RuleCount
	for _, key := range keys {
		m := b.seconds[key]
		for i, name := range in.counted {
			if !in.counts(i) {
				continue
			}
			lines := m.lines
			if name == RuleProbe {
				lines = m.probes
			}
			counts = append(counts, analysis.RuleCount{
				Source: in.cfg.Source, Rule: name, Second: time.Unix(key, 0).UTC(), Lines: lines, Matched: m.matched[i],
			})
		}
	}
	return counts
}
