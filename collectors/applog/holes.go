package applog

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"gapless/analysis"
	"gapless/collectors/applog/logrules"
)

// hole is a stretch of lines that were not understood, one after another, between the
// moments of the understood ones around it.
type hole struct {
	From time.Time `json:"from"`           // zero: nothing was understood before it
	To   time.Time `json:"to"`             // at the latest when it was read
	Text string    `json:"text"`           // where it begins, and what is wrong there
	More int       `json:"more,omitempty"` // further places in it

	told bool
}

// A path's position keeps what was not understood there, since that is not read again:
// a later run over the same time does not make up for it. Of too many holes the nearest
// become one.
const mostHoles = 50

// damage notes that what was read now is not understood, after the moment from.
func (p *position) damage(text string, from, now time.Time) {
	if p.inHole {
		h := &p.Holes[len(p.Holes)-1]
		h.More, h.To, h.told = h.More+1, later(h.To, now), false
		return
	}
	p.inHole = true
	p.note(hole{From: from, To: later(from, now), Text: text})
}

// keep takes over what was not understood under the path before.
func (p *position) keep(holes []hole) {
	p.Holes, p.inHole = slices.Clone(p.Holes), false
	for _, h := range holes {
		if !slices.ContainsFunc(p.Holes, h.same) {
			p.note(h)
		}
	}
}

func (h hole) same(other hole) bool {
	return h.From.Equal(other.From) && h.To.Equal(other.To) && h.Text == other.Text
}

// note keeps a hole, as the last one.
func (p *position) note(h hole) {
	for len(p.Holes) >= mostHoles {
		at := 1
		for i := 2; i < len(p.Holes); i++ {
			if p.Holes[i].From.Sub(p.Holes[i-1].To) < p.Holes[at].From.Sub(p.Holes[at-1].To) {
				at = i
			}
		}
		p.Holes[at-1].join(p.Holes[at])
		p.Holes = slices.Delete(p.Holes, at, at+1)
	}
	p.Holes = append(p.Holes, h)
}

func (h *hole) join(other hole) {
	if other.From.Before(h.From) {
		h.From = other.From
	}
	h.To, h.More, h.told = later(h.To, other.To), h.More+1+other.More, h.told && other.told
}

// understood ends the hole that reading is in, if something was understood after it.
func (p *position) understood(at time.Time) {
	h := &p.Holes[len(p.Holes)-1]
	if !at.After(h.From) {
		return
	}
	p.inHole = false
	if at.Before(h.To) {
		h.To = at
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// settle looks at the lines that are whole, and notes what is not understood. place
// says where that is.
func (r *Reader) settle(b *logrules.Batch, d decoder, at *position, place func() string) {
	doubtful := b.Doubtful
	for _, line := range d.lines() {
		r.lines.Line(b, at.stream(line.stream), line.Line)
	}
	if at.inHole {
		at.understood(r.moment(b, d, at))
	}
	text := d.malformed()
	if b.Doubtful > doubtful {
		text = joined(text, r.lines.InDoubt())
	}
	if text != "" {
		at.damage(place()+text, r.moment(b, d, at), r.cfg.Now().UTC())
	}
}

// moment is that of the last line that was understood.
func (r *Reader) moment(b *logrules.Batch, d decoder, at *position) time.Time {
	if heard := d.heard(); !heard.IsZero() {
		return heard
	}
	r.lines.Settle(b, &at.State)
	return at.latest()
}

// latest is the time of the last line of all streams.
func (p *position) latest() time.Time {
	last := p.Last
	for _, s := range p.Streams {
		last = later(last, s.Last)
	}
	return last
}

// timeless notes lines that tell something and stand before every line with a time.
func (p *position) timeless(b *logrules.Batch, place string, now time.Time) {
	if b.Timeless == 0 {
		return
	}
	h := hole{To: now, Text: place + counted(b.Timeless, "line matches", "lines match") + " a rule, at a time that is not known"}
	if first, ok := b.Earliest(); ok && first.Before(now) {
		h.To = first
	}
	inHole := p.inHole
	p.note(h)
	if n := len(p.Holes); inHole && n > 1 { // the hole that reading is in stays the last one
		p.Holes[n-1], p.Holes[n-2] = p.Holes[n-2], p.Holes[n-1]
	}
}

// untold are the holes that no run told of yet. They count as told.
func (p *position) untold() []hole {
	var holes []hole
	for i := range p.Holes {
		if h := &p.Holes[i]; !h.told {
			h.told = true
			holes = append(holes, *h)
		}
	}
	return holes
}

// within are the holes in a run's span.
func within(holes []hole, from, to time.Time) []hole {
	var found []hole
	for _, h := range holes {
		if h.To.After(from) && h.From.Before(to) {
			found = append(found, h)
		}
	}
	return found
}

// mostRuns bounds the failed runs that one pass stores for holes; the last one stands
// for all that are left.
const mostRuns = 100

// holeRuns are the failed runs that tell of holes, beside one over a span.
func holeRuns(run analysis.Run, holes []hole) []analysis.Run {
	slices.SortFunc(holes, func(a, b hole) int {
		return cmp.Or(a.From.Compare(b.From), a.To.Compare(b.To), cmp.Compare(a.Text, b.Text))
	})
	holes = slices.CompactFunc(holes, hole.same)
	for len(holes) > mostRuns {
		last := len(holes) - 1
		holes[last-1].join(holes[last])
		holes = holes[:last]
	}
	var runs []analysis.Run
	for _, h := range holes {
		failed := analysis.Run{Source: run.Source, Kind: run.Kind, From: h.From, To: h.To, Code: analysis.CodeBadReply, Error: h.Text}
		if h.More > 0 {
			failed.Error += fmt.Sprintf("; and %d more places", h.More)
		}
		if h.From.IsZero() {
			failed.From = run.From
		}
		if failed.From.Before(run.To) && failed.To.After(run.To) {
			failed.To = run.To
		}
		if failed.To.Before(failed.From) {
			failed.From = failed.To // before the run
		}
		failed.To = later(failed.To, failed.From.Add(time.Microsecond))
		runs = append(runs, failed)
	}
	return runs
}
