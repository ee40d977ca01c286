package logrules

import "time"

// Explained says what one line was taken for, for whoever writes a rule.
type Explained struct {
	At        time.Time // when the line happened; zero where nothing tells
	OwnTime   bool      // the line says so itself, or its source does
	Continues bool      // it goes on with the line before it
	JSON      bool      // it is an object that holds its message
	Message   string    // what the patterns of rules see
	Rules     []string  // that matched, of those that are counted
	Batch     *Batch    // what it gave
}

// Explain takes one line as [Interpreter.Line] does, and says how.
func (in *Interpreter) Explain(s *State, line Line) Explained {
	b := NewBatch()
	in.Line(b, s, line)
	in.Settle(b, s)
	c := &in.line
	c.find()
	e := Explained{
		At: c.at, OwnTime: c.timed, Continues: c.continues(), JSON: c.isJSON, Message: string(c.message), Batch: b,
	}
	for i, name := range in.counted {
		if c.second.matched[i] > 0 {
			e.Rules = append(e.Rules, name)
		}
	}
	return e
}

// Tally sums what lines were taken for.
type Tally struct {
	Lines     int
	Timeless  int // lines that happened at no known time
	Borrowed  int // lines without a time of their own, which have that of the line before
	Untimed   int // lines that told something, at no known time
	Doubtful  int // lines that would tell something, but cannot be read in one sure way
	Rules     []RuleTally
	positions map[string]int
}

// RuleTally says how often a rule was tried and matched.
type RuleTally struct {
	Rule           string
	Lines, Matched int
}

// NewTally counts nothing yet.
func (in *Interpreter) NewTally() *Tally {
	t := &Tally{positions: map[string]int{}}
	t.include(in)
	return t
}

// include makes room for the rules of another interpreter.
func (t *Tally) include(in *Interpreter) {
	for _, name := range in.Rules() {
		if _, ok := t.positions[name]; !ok {
			t.positions[name] = len(t.Rules)
			t.Rules = append(t.Rules, RuleTally{Rule: name})
		}
	}
}

// Add counts a line that an interpreter explained.
func (t *Tally) Add(in *Interpreter, e Explained) {
	t.include(in)
	t.Lines++
	switch {
	case e.At.IsZero():
		t.Timeless++
	case !e.OwnTime:
		t.Borrowed++
	}
	t.Untimed += e.Batch.Timeless
	t.Doubtful += e.Batch.Doubtful
	for i, name := range in.counted {
		if !in.counts(i) {
			continue
		}
		r := &t.Rules[t.positions[name]]
		if r.Lines++; name == RuleProbe {
			r.Lines += in.line.second.probes - 1
		}
		r.Matched += in.line.second.matched[i]
	}
}
