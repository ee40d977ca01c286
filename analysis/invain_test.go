package analysis

import "testing"

// A request from 80 to 81, of a log that counts, that api-1 did not answer, and what looks
// like one.
func TestWhatIsSentInVain(t *testing.T) {
	request := func(b *table) *Request {
		b.obs.Requests = append(b.obs.Requests, Request{CellKey: CellKey{Source: "alb", Target: "api-1", Class: ClassUser, Outcome: OutcomeLB5xx, Status: 502}, Start: b.at(80), End: b.at(81)})
		return &b.obs.Requests[len(b.obs.Requests)-1]
	}
	masked := func(b *table) *Request {
		r := request(b)
		r.Target, r.Outcome, r.Status, r.FailedOn = "api-2", OutcomeOK, 200, []string{"api-1"}
		return r
	}
	left := func(b *table) *Cell {
		c := b.cell("alb", "api-1", 80, 80, 1)
		c.Outcome, c.Status, c.TargetStatus = OutcomeClientAbort, 460, 0
		return c
	}
	for _, c := range []struct {
		name string
		lay  func(*table)
		want int
	}{
		{"it failed", func(b *table) { request(b) }, 1},
		{"it went well", func(b *table) { request(b).Outcome = OutcomeOK }, 0},
		{"another's", func(b *table) { request(b).Target = "api-2" }, 0},
		{"in a log that does not count", func(b *table) { request(b).Source = "edge" }, 0},
		{"another one answered it", func(b *table) { masked(b) }, 1},
		{"another one answered it, by a log that does not count", func(b *table) { masked(b).Source = "edge" }, 0},
		{"another one failed as well", func(b *table) { masked(b).Outcome = OutcomeLB5xx }, 1},
		{"it was tried twice", func(b *table) { request(b).FailedOn = []string{"api-1"} }, 1},
		{"it had been sent to a third one first", func(b *table) { masked(b).FailedOn = []string{"api-3"} }, 0},
		{"its client left", func(b *table) { left(b) }, 1},
		{"another's client left", func(b *table) { left(b).Target = "api-2" }, 0},
		{"its client left after it had answered", func(b *table) { left(b).TargetStatus = 200 }, 0},
		{"its client left, by a log that does not count", func(b *table) { left(b).Source = "edge" }, 0},
	} {
		b := newTable()
		c.lay(b)
		n := 0
		for u := range b.sentInVain("api-1") {
			if n += u.n; !u.from.Equal(b.at(80)) || !u.to.Equal(b.at(80)) || u.class != ClassUser || u.source != "alb" {
				t.Errorf("%s: %+v", c.name, u)
			}
		}
		if n != c.want {
			t.Errorf("%s: %d, want %d", c.name, n, c.want)
		}
	}
}
