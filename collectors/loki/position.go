package loki

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"gapless/analysis"
)

// position says which times were read. All of it is stored with every batch.
type position struct {
	Spans []*span `json:"spans"` // in order, none meets another but at its ends
	// Cut are moments that have more entries than could be asked for, each the first
	// nanosecond and the last; at most mostCut of them.
	Cut [][2]int64 `json:"cut,omitempty"`
	// Doubt are moments, bounded alike, with lines that cannot be read in one sure way.
	Doubt [][2]int64 `json:"doubt,omitempty"`
}

// mostCut bounds how many moments are kept apart: where there are more, the two that
// are nearest to each other become one. A log whose times are whole seconds could have
// one in every second.
const mostCut = 1000

// span is a time of which every line was read. Its times are nanoseconds since 1970.
type span struct {
	From int64 `json:"from"` // a whole second
	To   int64 `json:"to"`
	// Seen are the entries at To that were read too, so many times each.
	Seen map[string]int `json:"seen,omitempty"`
	// Look is up to where no line is awaited any more: what is before it was looked
	// at twice, or was old when it was read. A whole second.
	Look int64 `json:"look"`
	// Recent is what was read from Look on, by second.
	Recent map[int64]*second `json:"recent,omitempty"`
}

// second is what was read of one second: enough to see whether a line was added, and
// what the added lines count.
type second struct {
	Lines int       `json:"n"`
	Sum   [2]uint64 `json:"sum"` // of the hashes of its entries, which has no order
	// Counts are lines and matches by rule, where they are not Lines and 0.
	Counts map[string][2]int `json:"counts,omitempty"`
}

func decodePosition(b []byte) (*position, error) {
	p := &position{}
	if len(b) == 0 {
		return p, nil
	}
	if err := json.Unmarshal(b, p); err != nil {
		return nil, fmt.Errorf("decode position: %w", err)
	}
	end := int64(0)
	for _, s := range p.Spans {
		if s == nil || s.From < end || s.To < s.From || s.Look < s.From {
			return nil, fmt.Errorf("position %.200s is impossible", b)
		}
		for name := range s.Seen {
			if raw, err := base64.RawStdEncoding.DecodeString(name); err != nil || len(raw) != len(key{}) {
				return nil, fmt.Errorf("position %.200s has no hash where one belongs", b)
			}
		}
		end = s.To
	}
	return p, nil
}

func (p *position) encode() []byte {
	b, err := json.Marshal(p)
	if err != nil {
		panic(err) // it holds numbers and texts
	}
	return b
}

// gap is a time that was not read.
type gap struct {
	from, to int64
	after    *span // ends where the gap begins; nil where none does
}

// gaps are what was not read of [from, to).
func (p *position) gaps(from, to int64) []gap {
	var gaps []gap
	var after *span
	for _, s := range p.Spans {
		if s.From >= to {
			break
		}
		if s.To < from {
			continue
		}
		if s.From > from {
			gaps = append(gaps, gap{from, s.From, after})
		}
		from, after = max(from, s.To), s
	}
	if from < to {
		gaps = append(gaps, gap{from, to, after})
	}
	return gaps
}

// cut notes a nanosecond of which not all could be read.
func (p *position) cut(at int64) { p.Cut = withMoment(p.Cut, at) }

// doubt notes a nanosecond of which it is not sure what it tells.
func (p *position) doubt(at int64) { p.Doubt = withMoment(p.Doubt, at) }

// withMoment adds a moment to those that are kept apart.
func withMoment(moments [][2]int64, at int64) [][2]int64 {
	i, _ := slices.BinarySearchFunc(moments, at, func(c [2]int64, at int64) int { return cmp.Compare(c[1], at) })
	if i < len(moments) && moments[i][0] <= at {
		return moments // known
	}
	moments = slices.Insert(moments, i, [2]int64{at, at})
	if len(moments) <= mostCut {
		return moments
	}
	nearest := 0
	for i := range len(moments) - 1 {
		if moments[i+1][0]-moments[i][1] < moments[nearest+1][0]-moments[nearest][1] {
			nearest = i
		}
	}
	moments[nearest][1] = moments[nearest+1][1]
	return slices.Delete(moments, nearest+1, nearest+2)
}

// open is the span that grows into a gap. Lines up to settled are not awaited.
func (p *position) open(g gap, settled int64) *span {
	if g.after != nil && g.after.To == g.from {
		return g.after
	}
	s := &span{From: g.from, To: g.from, Look: g.from}
	s.settle(settled, g.from)
	at, _ := slices.BinarySearchFunc(p.Spans, g.from, func(s *span, from int64) int {
		if s.From < from {
			return -1
		}
		return 1
	})
	p.Spans = slices.Insert(p.Spans, at, s)
	return s
}

// join makes one of two spans that meet, where no line of the first is awaited.
func (p *position) join() {
	for i := 0; i+1 < len(p.Spans); {
		s, next := p.Spans[i], p.Spans[i+1]
		if s.To != next.From || s.awaits() {
			i++
			continue
		}
		next.From = s.From
		p.Spans = slices.Delete(p.Spans, i, i+1)
	}
}

// awaits says that a second of the span is to be looked at again.
func (s *span) awaits() bool { return s.Look < wholeSecond(s.To) }

// settle moves Look forward, up to next and settled, unless something is awaited.
func (s *span) settle(settled, next int64) {
	if s.awaits() {
		return
	}
	s.Look = max(s.Look, min(wholeSecond(settled), wholeSecond(next)))
	s.forget()
}

// forget drops what is not needed of the seconds before Look.
func (s *span) forget() {
	for at := range s.Recent {
		if at*int64(time.Second) < s.Look {
			delete(s.Recent, at)
		}
	}
}

func (s *span) cursor() cursor {
	c := cursor{next: s.To, seen: map[key]int{}}
	for name, n := range s.Seen {
		raw, _ := base64.RawStdEncoding.DecodeString(name) // as decodePosition checked
		c.seen[key(raw)] = n
	}
	return c
}

func (s *span) moveTo(c cursor) {
	s.To, s.Seen = c.next, nil
	if len(c.seen) > 0 {
		s.Seen = make(map[string]int, len(c.seen))
	}
	for k, n := range c.seen {
		s.Seen[base64.RawStdEncoding.EncodeToString(k[:])] = n
	}
}

// remember adds entries of one second, and what they counted.
func (s *span) remember(at int64, read *second) {
	if s.Recent == nil {
		s.Recent = map[int64]*second{}
	}
	before := s.Recent[at]
	if before == nil {
		s.Recent[at] = read
		return
	}
	counts := map[string][2]int{}
	for _, each := range []*second{before, read} {
		for rule := range each.Counts {
			b, r := before.counts(rule), read.counts(rule)
			counts[rule] = [2]int{b[0] + r[0], b[1] + r[1]}
		}
	}
	before.Lines += read.Lines
	before.Sum[0] += read.Sum[0]
	before.Sum[1] += read.Sum[1]
	before.Counts = counts
}

// add counts one entry.
func (s *second) add(e *entry) {
	s.Lines++
	k := e.key()
	s.Sum[0] += binary.LittleEndian.Uint64(k[:8])
	s.Sum[1] += binary.LittleEndian.Uint64(k[8:])
}

// count keeps what the rules counted in the second.
func (s *second) count(counts []analysis.RuleCount) {
	for _, c := range counts {
		if c.Lines == s.Lines && c.Matched == 0 {
			continue
		}
		if s.Counts == nil {
			s.Counts = map[string][2]int{}
		}
		s.Counts[c.Rule] = [2]int{c.Lines, c.Matched}
	}
}

func (s *second) counts(rule string) [2]int {
	if s == nil {
		return [2]int{}
	}
	if c, ok := s.Counts[rule]; ok {
		return c
	}
	return [2]int{s.Lines, 0}
}

// same says that both hold the same entries.
func (s *second) same(other *second) bool {
	return s.Lines == other.Lines && s.Sum == other.Sum
}

// wholeSecond is the last whole second that is not after a time.
func wholeSecond(at int64) int64 { return at - at%int64(time.Second) }
