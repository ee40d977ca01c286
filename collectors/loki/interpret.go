package loki

import (
	"time"

	"gapless/analysis"
	"gapless/collectors/applog/logrules"
)

// interpret takes entries apart, which are in order of their times, and remembers
// those of seconds that are looked at again.
func (r *Reader) interpret(into *analysis.AppBatch, s *span, entries []entry) {
	for len(entries) > 0 {
		at, n := entries[0].at, 0
		if at < s.Look {
			for n < len(entries) && entries[n].at < s.Look {
				n++
			}
			r.tell(into, entries[:n])
		} else {
			for n < len(entries) && wholeSecond(entries[n].at) == wholeSecond(at) {
				n++
			}
			read := summary(entries[:n])
			read.count(r.tell(into, entries[:n]))
			s.remember(at/int64(time.Second), read)
		}
		entries = entries[n:]
	}
}

// mostStreams bounds of how many streams is known whether their lines begin with a time.
const mostStreams = 50_000

// tell adds what lines tell to a batch, and returns what was counted.
func (r *Reader) tell(into *analysis.AppBatch, entries []entry) []analysis.RuleCount {
	b := logrules.NewBatch()
	for i := range entries {
		e := &entries[i]
		state := r.streams[e.stream.labels]
		if state == nil {
			if len(r.streams) >= mostStreams {
				clear(r.streams) // most of them ended long ago
			}
			state = &logrules.State{}
			r.streams[e.stream.labels] = state
		}
		doubtful := b.Doubtful
		if r.lines.Line(b, state, logrules.Line{Text: e.line, At: moment(e.at), Target: e.stream.target}); b.Doubtful > doubtful {
			r.position.doubt(e.at)
		}
	}
	var filled analysis.AppBatch
	r.lines.Fill(b, &filled)
	into.Handled = append(into.Handled, filled.Handled...)
	into.Steps = append(into.Steps, filled.Steps...)
	into.Signals = append(into.Signals, filled.Signals...)
	into.Journeys = append(into.Journeys, filled.Journeys...)
	into.Counts = append(into.Counts, filled.Counts...)
	return filled.Counts
}

func summary(entries []entry) *second {
	read := &second{}
	for i := range entries {
		read.add(&entries[i])
	}
	return read
}
