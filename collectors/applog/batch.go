package applog

import (
	"bytes"
	"slices"
	"time"

	"gapless/analysis"
)

// batch gathers what a stretch of lines brings.
type batch struct {
	handled []analysis.HandledRequest
	steps   []analysis.Step
	seconds map[int64]*second
	bytes   int64
	// timeless counts lines that a rule matched and that could not be placed in time.
	timeless int

	key     [19]byte // the first bytes of the last line that was parsed for its second
	current *second  // of that line
	// last is the start of a later line of that second, whose time was not needed yet.
	last   [48]byte
	lastOf int // its length; 0 where there is none
}

// second counts the lines of one second.
type second struct {
	lines   int
	matched []int // by index of Reader.counted
	probes  int   // lines with an id, which RuleProbe was tried on
}

func newBatch() *batch { return &batch{seconds: map[int64]*second{}} }

// line takes one whole line, without its end, apart. Lines without a time of their
// own (stack traces) belong to the line before them.
func (r *Reader) line(b *batch, line []byte, p *position) {
	var at time.Time
	width, parsed := 0, false
	parse := func() {
		if !parsed {
			parsed = true
			if t, n, ok := lineTime(line, r.cfg.Zone, r.cfg.Now()); ok {
				at, width = t, n
				p.Last, b.lastOf = t, 0
			} else {
				r.settle(b, p)
				at = p.Last
			}
		}
	}
	// The lines of a second begin alike; only the first of them is parsed for the count.
	if b.current == nil || len(line) < len(b.key) || line[4] != '-' || [19]byte(line[:19]) != b.key {
		parse()
		b.current = b.second(at, len(r.counted))
		if width > 0 {
			copy(b.key[:], line)
		} else {
			b.key = [19]byte{}
		}
	} else {
		b.lastOf = copy(b.last[:], line)
	}
	m := b.current
	m.lines++

	f, ok := r.answered.find(line)
	begun := false
	if ok {
		m.matched[0]++
	} else if f, ok = r.received.find(line); ok {
		m.matched[1]++
		begun = true
	}
	if ok {
		m.probes++
		if f.ours {
			m.matched[2]++
			if parse(); at.IsZero() {
				b.timeless++
			} else {
				b.handled = append(b.handled, analysis.HandledRequest{
					Source: r.cfg.Source, Target: r.target(f.target), Run: f.run, Seq: f.seq, At: at, Status: f.status, Begun: begun,
				})
			}
		}
	}
	for i := range r.rules {
		each := &r.rules[i]
		if !bytes.Contains(line, each.literal) {
			continue
		}
		if parse(); !each.match(message(line, width)) {
			continue
		}
		m.matched[each.count]++
		if each.step == "" {
			continue
		}
		if at.IsZero() {
			b.timeless++
			continue
		}
		b.steps = append(b.steps, analysis.Step{
			Kind: each.step, At: at, Target: r.target(""), Source: r.cfg.Source, Inferred: true,
		})
	}
}

// settle reads the time that p.Last was left without.
func (r *Reader) settle(b *batch, p *position) {
	if b.lastOf == 0 {
		return
	}
	if t, _, ok := lineTime(b.last[:b.lastOf], r.cfg.Zone, r.cfg.Now()); ok {
		p.Last = t
	}
	b.lastOf = 0
}

func (r *Reader) target(found string) string {
	if r.cfg.Target != "" {
		found = r.cfg.Target
	}
	if r.cfg.Names != nil {
		return r.cfg.Names.Target(found)
	}
	return found
}

func (b *batch) second(at time.Time, counts int) *second {
	key := at.Unix()
	m := b.seconds[key]
	if m == nil {
		m = &second{matched: make([]int, counts)}
		b.seconds[key] = m
	}
	return m
}

// counts are the batch's counts in order of time and rule. Lines before the first
// that has a time are in no second and are left out.
func (r *Reader) counts(b *batch) []analysis.RuleCount {
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
		for i, name := range r.counted {
			lines := m.lines
			switch name {
			case RuleAnswered:
				if r.answered == nil {
					continue
				}
			case RuleReceived:
				if r.received == nil {
					continue
				}
			case RuleProbe:
				if lines = m.probes; r.answered == nil && r.received == nil {
					continue
				}
			}
			counts = append(counts, analysis.RuleCount{
				Source: r.cfg.Source, Rule: name, Second: time.Unix(key, 0).UTC(), Lines: lines, Matched: m.matched[i],
			})
		}
	}
	return counts
}
