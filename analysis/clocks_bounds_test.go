package analysis

import (
	"fmt"
	"testing"
	"time"
)

// ms is a moment in milliseconds after the window's beginning.
func (b *table) ms(after float64) time.Time {
	return b.from.Add(time.Duration(after*1000) * time.Microsecond)
}

// sentAt lays down an answered probe request; times are in milliseconds.
func (b *table) sentAt(sent, done float64) (p *ProbeRequest, id probeID) {
	id = probeID{"r", len(b.sent)}
	p = &ProbeRequest{Source: "store", Probe: "store", Class: ClassProbe, Run: id.run, Seq: id.seq, Sent: b.ms(sent), Done: b.ms(done), Status: 200, Outcome: OutcomeOK}
	b.sent[id] = p
	return p, id
}

// handledAt lays down one with the application's own line about it.
func (b *table) handledAt(sent, done, at float64) *ProbeRequest {
	p, id := b.sentAt(sent, done)
	b.obs.Handled = append(b.obs.Handled, HandledRequest{Source: "api-1.log", Target: "api-1", Run: id.run, Seq: id.seq, At: b.ms(at), Status: 200})
	return p
}

// rowOf lays down one with the access log's row of it.
func (b *table) rowOf(sent, done, start, end float64) (*ProbeRequest, *Request) {
	p, id := b.sentAt(sent, done)
	r := &Request{CellKey: CellKey{Source: "alb"}, Start: b.ms(start), End: b.ms(end), ProbeRun: id.run, ProbeSeq: id.seq}
	b.logged[id] = r
	return p, r
}

// A server's moment lies between the send and the answer: its clock is ahead of the
// prober's by no less than the moment less the answer, and by no more than the moment less
// the send. A time that is cut may be later by what was cut off.
func TestBoundsOfClocks(t *testing.T) {
	const minute = 60_000
	for _, c := range []struct {
		name string
		lay  func(*table)
		want string
	}{
		{"to the millisecond", func(b *table) { b.handledAt(1000, 1009, 1005) }, "api-1.log -4 to 6"},
		{"finer", func(b *table) { b.handledAt(1000, 1009, 1005.5) }, "api-1.log -3.5 to 5.5"},
		{"to the second", func(b *table) { b.handledAt(1200, 1209, 1000) }, "api-1.log -209 to 800"},
		{"to the millisecond, one at a whole second", func(b *table) { b.handledAt(996, 1005, 1000); b.handledAt(2000, 2009, 2005) }, "api-1.log -4 to 5"},
		{"nothing was answered", func(b *table) { b.handledAt(1000, 1009, 1005).Status = 0 }, ""},
		{"nothing was sent", func(b *table) { b.handledAt(1000, 1009, 1005); clear(b.sent) }, ""},
		{"two of a minute", func(b *table) { b.handledAt(1000, 1009, 1005); b.handledAt(2000, 2009, 2007) }, "api-1.log -2 to 6"},
		{"two that leave one moment", func(b *table) { b.handledAt(1000, 1009, 1005); b.handledAt(2000, 2009, 2015) }, "api-1.log 6 to 6"},
		{"two that contradict each other", func(b *table) { b.handledAt(1000, 1009, 1005); b.handledAt(2000, 2009, 2016) }, "api-1.log 6 to 7 skewed"},
		{"two of two minutes", func(b *table) {
			b.handledAt(1000, 1009, 1005)
			b.handledAt(minute+1000, minute+1009, minute+1007)
		}, "api-1.log -2 to 6"},
		{"two minutes that leave one moment", func(b *table) {
			b.handledAt(1000, 1009, 1005)
			b.handledAt(minute+1000, minute+1009, minute+1015)
		}, "api-1.log 6 to 6"},
		{"a clock that drifted from one minute to the next", func(b *table) {
			b.handledAt(1000, 1009, 1005)
			b.handledAt(minute+1000, minute+1009, minute+1016)
		}, "api-1.log -4 to 17"},
		{"a row", func(b *table) { b.rowOf(1000, 1010, 1004, 1009) }, "alb -1 to 5"},
		{"a row with finer times", func(b *table) { b.rowOf(1000, 1010, 1004.5, 1009.5) }, "alb -0.5 to 4.5"},
		{"a row that began at a whole second", func(b *table) { b.rowOf(1000, 1010, 1000, 1009) }, "alb -1 to 1"},
		{"that began at a whole second, with finer times", func(b *table) { b.rowOf(1000, 1010, 1000, 1009.5) }, "alb -0.5 to 0"},
		{"a row in whole seconds", func(b *table) { b.rowOf(1000, 1010, 1000, 1000) }, "alb -10 to 1000"},
		{"a row without its beginning", func(b *table) { _, r := b.rowOf(1000, 1010, 1004, 1009); r.Start = time.Time{} }, ""},
		{"a row of one that was not answered", func(b *table) { p, _ := b.rowOf(1000, 1010, 1004, 1009); p.Status = 0 }, ""},
		{"a row of one that was not sent in the window", func(b *table) { b.rowOf(1000, 1010, 1004, 1009); clear(b.sent) }, ""},
	} {
		b := newTable()
		c.lay(b)
		got := ""
		for _, o := range b.clocks() {
			got += fmt.Sprintf("%s %v to %v", o.B, o.Offset.From, o.Offset.To)
			if b.skewed[o.B] {
				got += " skewed"
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
