package analysis

import (
	"fmt"
	"testing"
	"time"
)

// api-1 was stopped at 100. Our requests to it are told by its own log, and the access
// log that counts users was read. It has told the answer of one that it received at 50.
func TestInFlightBounds(t *testing.T) {
	row := func(b *table, start, end float64) *Request {
		b.obs.Requests = append(b.obs.Requests, Request{
			CellKey: CellKey{Source: "alb", Target: "api-1", Class: ClassUser, TargetStatus: 200}, Start: b.at(start), End: b.at(end), Connected: true,
		})
		return &b.obs.Requests[len(b.obs.Requests)-1]
	}
	ours := func(r *Request, seq int) { r.Class, r.ProbeRun, r.ProbeSeq = ClassProbe, "run", seq }
	probe := func(b *table, seq int, sent, done float64) *ProbeRequest {
		p := &ProbeRequest{Class: ClassProbe, Run: "run", Seq: seq, Sent: b.at(sent), Done: b.at(done), Status: 200, Outcome: OutcomeOK, Target: "api-1"}
		b.obs.Probes = append(b.obs.Probes, *p)
		b.sent[probeID{"run", seq}] = p
		return &b.obs.Probes[len(b.obs.Probes)-1]
	}
	line := func(b *table, seq int, at float64, begun bool) *HandledRequest {
		h := HandledRequest{Source: "api-1.log", Target: "api-1", Run: "run", Seq: seq, At: b.at(at), Begun: begun}
		b.obs.Handled = append(b.obs.Handled, h)
		id := probeID{"run", seq}
		b.handled[id] = append(b.handled[id], h)
		return &b.obs.Handled[len(b.obs.Handled)-1]
	}
	const none = "0 map[]"
	for _, c := range []struct {
		name string
		lay  func(*table)
		want string
	}{
		{"nothing", func(*table) {}, none},
		{"a user's", func(b *table) { row(b, 99, 101) }, "1 map[user:1]"},
		{"two users'", func(b *table) { row(b, 99, 101); row(b, 99, 101) }, "2 map[user:2]"},
		{"it began as the target stopped", func(b *table) { row(b, 100, 101) }, none},
		{"it ended as the target stopped", func(b *table) { row(b, 99, 100) }, none},
		{"nobody knows when it began", func(b *table) { row(b, 0, 101).Start = time.Time{} }, none},
		{"another target's", func(b *table) { row(b, 99, 101).Target = "api-2" }, none},
		{"in a log that does not count users", func(b *table) { row(b, 99, 101).Source = "edge" }, none},
		{"it never reached the target", func(b *table) { r := row(b, 99, 101); r.TargetStatus, r.Connected = 0, false }, none},
		{"it reached the target, which did not answer", func(b *table) { row(b, 99, 101).TargetStatus = 0 }, "1 map[user:1]"},
		{"the target answered, though the log has no connection", func(b *table) { row(b, 99, 101).Connected = false }, "1 map[user:1]"},

		{"ours", func(b *table) { probe(b, 1, 99, 101) }, "1 map[probe:1]"},
		{"ours, sent as the target stopped", func(b *table) { probe(b, 1, 100, 101) }, none},
		{"ours, done as the target stopped", func(b *table) { probe(b, 1, 99, 100) }, none},
		{"ours, to another target", func(b *table) { probe(b, 1, 99, 101).Target = "api-2" }, none},
		{"ours, and its row in the log", func(b *table) { probe(b, 1, 99, 101); ours(row(b, 99, 101), 1) }, "1 map[probe:1]"},
		{"ours, and the row of another of ours", func(b *table) { probe(b, 1, 99, 101); ours(row(b, 99, 101), 2) }, "2 map[probe:2]"},
		{"ours, and a user's", func(b *table) { probe(b, 0, 99, 101).Run = ""; row(b, 99, 101) }, "2 map[probe:1 user:1]"},
		{"ours by the log alone, in two rows", func(b *table) { ours(row(b, 99, 101), 1); ours(row(b, 99, 101), 1) }, "1 map[probe:1]"},
		{"ours by the balancer's clock, and received by the target's", func(b *table) {
			probe(b, 1, 98, 99.9)
			ours(row(b, 98.2, 100.1), 1)
			line(b, 1, 98.1, true)
		}, "1 map[probe:1]"},

		{"received and never answered", func(b *table) { probe(b, 1, 99, 99.9); line(b, 1, 99, true) }, "1 map[probe:1]"},
		{"received twice", func(b *table) { probe(b, 1, 99, 99.9); line(b, 1, 99, true); line(b, 1, 99.1, true) }, "1 map[probe:1]"},
		{"sent and received", func(b *table) { probe(b, 1, 99, 101); line(b, 1, 99.1, true) }, "1 map[probe:1]"},
		{"received as the target stopped", func(b *table) { probe(b, 1, 99, 99.9); line(b, 1, 100, true) }, none},
		{"received after the target stopped", func(b *table) { probe(b, 1, 99, 99.9); line(b, 1, 100.1, true) }, none},
		{"received less than a minute before", func(b *table) { probe(b, 1, 39, 39.9); line(b, 1, 40.1, true) }, "1 map[probe:1]"},
		{"received a minute before", func(b *table) { probe(b, 1, 39, 39.9); line(b, 1, 40, true) }, none},
		{"received by another target", func(b *table) { probe(b, 1, 99, 99.9); line(b, 1, 99, true).Target = "api-2" }, none},
		{"received, and its log told no answer since it began at 70", func(b *table) {
			b.stoppings = []stopping{{target: "api-1", exited: b.at(70)}}
			probe(b, 1, 99, 99.9)
			line(b, 1, 99, true)
		}, none},
		{"answered, and no line says received", func(b *table) { probe(b, 1, 99, 99.9); line(b, 1, 99, false) }, none},
		{"answered before the stop", func(b *table) { probe(b, 1, 98, 99); line(b, 1, 99, true); line(b, 1, 99.9, false) }, none},
		{"answered as the target stopped", func(b *table) { probe(b, 1, 98, 99); line(b, 1, 99, true); line(b, 1, 100, false) }, "1 map[probe:1]"},
		{"answered before the stop by another target", func(b *table) {
			probe(b, 1, 98, 99)
			line(b, 1, 99, true)
			id := probeID{"run", 1}
			b.handled[id] = append(b.handled[id], HandledRequest{Source: "api-2.log", Target: "api-2", Run: "run", Seq: 1, At: b.at(99.5)})
		}, "1 map[probe:1]"},
		{"received, and nobody knows who sent it", func(b *table) { line(b, 1, 99, true) }, none},

		{"the access log was not read, and we sent nothing", func(b *table) { b.obs.Objects = nil; row(b, 99, 101) }, "nobody knows"},
		{"the access log was not read, and nothing tells where ours went", func(b *table) {
			b.obs.Objects = nil
			b.prober[ClassProbe] = true
			probe(b, 1, 99, 101).Target = ""
		}, "nobody knows"},
		{"the access log was not read, and application logs tell where ours went", func(b *table) {
			b.obs.Objects = nil
			b.prober[ClassProbe] = true
			b.logs()
		}, none},
		{"the access log was not read, and application logs tell where our health checks went", func(b *table) {
			b.obs.Objects = nil
			b.prober[ClassHealth] = true
			b.logs()
		}, none},
		{"the access log was read, and nothing tells where ours went", func(b *table) {
			b.prober[ClassProbe] = true
			probe(b, 1, 99, 101).Target = ""
		}, none},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newTable()
			b.obs.Objects = []Object{{Source: "alb"}}
			line(b, 0, 50, true)
			line(b, 0, 50.1, false)
			c.lay(b)
			got := "nobody knows"
			if n, of := b.inFlightAtStop(b.life("api-1"), cycle{stop: b.at(100)}); n != nil {
				got = fmt.Sprint(*n, " ", of)
			}
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
	b := newTable()
	if n, _ := b.inFlightAtStop(b.life("api-1"), cycle{}); n != nil {
		t.Errorf("%d of a target that did not stop", *n)
	}
}

// The answers of the process before do not show that this one's log tells them: api-1,
// which restarts at 100 and at 200, told none in between.
func TestInFlightOfAnotherProcess(t *testing.T) {
	s := newScene(t)
	s.stop("api-1", 100, 110, true)
	s.stop("api-1", 200, 210, true)
	s.prepare()
	s.obs.Handled = nil
	received := func(seq int, at float64, answered bool) {
		h := HandledRequest{Source: "api-1.log", Target: "api-1", Run: "own", Seq: seq, At: s.at(at), Begun: true}
		s.obs.Handled = append(s.obs.Handled, h)
		if answered {
			h.Begun = false
			s.obs.Handled = append(s.obs.Handled, h)
		}
		s.obs.Probes = append(s.obs.Probes, ProbeRequest{Source: "store", Probe: "store", Class: ClassProbe, Run: "own", Seq: seq, Sent: s.at(at), Done: s.at(at + .01), Outcome: OutcomeConnectionError})
	}
	received(1, 90, true)
	received(2, 99.9, false)
	received(3, 199.9, false)
	for i, want := range []int{1, 0} {
		if got := Judge(s.obs).Targets[i]; got.Target != "api-1" || *got.InFlightAtStop != want {
			t.Errorf("%s, stop %d: %d in flight, want %d", got.Target, i+1, *got.InFlightAtStop, want)
		}
	}
}
