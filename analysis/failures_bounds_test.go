package analysis

import (
	"fmt"
	"strings"
	"testing"
)

// logRow lays down one row of an access log as its cell and, if it failed, by itself.
func (b *table) logRow(source, target string, class Class, status, answered int, start, end float64) *Request {
	c := b.cell(source, target, start, end, 1)
	c.Class, c.Status, c.TargetStatus, c.Outcome = class, status, answered, LogOutcome(status, answered)
	b.obs.Requests = append(b.obs.Requests, Request{CellKey: c.CellKey, Start: b.at(start), End: b.at(end)})
	return &b.obs.Requests[len(b.obs.Requests)-1]
}

// ask lays down one request of our own; its run is "run" and its number how many there
// were before.
func (b *table) ask(class Class, outcome Outcome, status int, sent, done float64) *ProbeRequest {
	b.obs.Probes = append(b.obs.Probes, ProbeRequest{
		Source: string(class), Probe: string(class), Class: class, Run: "run", Seq: len(b.obs.Probes),
		Sent: b.at(sent), Done: b.at(done), Outcome: outcome, Status: status,
	})
	return &b.obs.Probes[len(b.obs.Probes)-1]
}

// known asks for health samples at 100 s, all of which were answered, and of which the
// log of the load balancer has some.
func (b *table) known(known, found int) {
	k := KnownRequests{Source: "alb", Run: "run", Seqs: []uint32{}}
	for i := range known {
		p := b.ask(ClassHealth, OutcomeOK, 200, 100, 101)
		if i < found {
			k.Seqs = append(k.Seqs, uint32(p.Seq))
		}
	}
	b.obs.Known = append(b.obs.Known, k)
}

// handle lets a target's own log tell of one of our requests.
func (b *table) handle(seq int, target string, at float64, begun bool) {
	h := HandledRequest{Source: target + ".log", Target: target, Run: "run", Seq: seq, At: b.at(at), Begun: begun}
	if !begun {
		h.Status = 200
	}
	b.obs.Handled = append(b.obs.Handled, h)
}

// failed judges what lies there and prints the failures that it lists: whose, sent to
// whom, the status and the target's own, from when to when, and how many.
func (b *table) failed() string {
	number := func(n *int) string {
		if n == nil {
			return "-"
		}
		return fmt.Sprint(*n)
	}
	var list []string
	for _, f := range Judge(b.obs).Failures {
		list = append(list, fmt.Sprintf("%s %s %s/%s %s–%s ×%d", f.Traffic, b.word(f.Target), number(f.Status), number(f.TargetStatus),
			b.seconds(f.Start.Time), b.seconds(f.End.Time), f.Count))
	}
	return strings.Join(list, "; ")
}

func TestWhatIsListedAsAFailure(t *testing.T) {
	// counted lays down n failures alike of one second, of which some are kept singly.
	counted := func(b *table, source string, second float64, n, kept int) *Cell {
		c := b.cell(source, "api-1", second, second+1, n)
		c.Outcome, c.Status, c.TargetStatus = OutcomeLB5xx, 502, 0
		for range kept {
			b.obs.Requests = append(b.obs.Requests, Request{CellKey: c.CellKey, Start: b.at(second), End: b.at(second + .5)})
		}
		return c
	}
	for _, c := range []struct {
		name string
		lay  func(*table)
		want string
	}{
		{"the load balancer's own", func(b *table) { b.logRow("alb", "api-1", ClassUser, 502, 0, 100, 101) }, "user api-1 502/- 100–101 ×1"},
		{"the target's", func(b *table) { b.logRow("alb", "api-1", ClassUser, 500, 500, 100, 101) }, "user api-1 500/500 100–101 ×1"},
		{"in a log that does not count", func(b *table) { b.logRow("edge", "api-1", ClassUser, 502, 0, 100, 101) }, ""},
		{"no answer came", func(b *table) { b.ask(ClassProbe, OutcomeConnectionError, 0, 100, 101) }, "probe - -/- 100–101 ×1"},
		{"our own, in the log too", func(b *table) {
			b.ask(ClassProbe, OutcomeLB5xx, 502, 100, 101)
			r := b.logRow("alb", "api-1", ClassProbe, 502, 0, 100.1, 100.9)
			r.ProbeRun, r.ProbeSeq = "run", 0
		}, "probe api-1 502/- 100–101 ×1"},
		{"of five a sample of two", func(b *table) { counted(b, "alb", 100, 5, 2) },
			"user api-1 502/- 100–100.5 ×1; user api-1 502/- 100–100.5 ×1; user api-1 502/- 100–101 ×3"},
		{"of one nothing is kept", func(b *table) { counted(b, "alb", 100, 1, 0) }, "user api-1 502/- 100–101 ×1"},
		{"all are kept", func(b *table) { counted(b, "alb", 100, 1, 1) }, "user api-1 502/- 100–100.5 ×1"},
		{"two objects tell of one second, and one of them kept all of its own", func(b *table) {
			counted(b, "alb", 100, 1, 1)
			counted(b, "alb", 100, 3, 0)
		}, "user api-1 502/- 100–100.5 ×1; user api-1 502/- 100–101 ×3"},
		{"only counted, in a log that does not count", func(b *table) { counted(b, "edge", 100, 5, 0) }, ""},
		{"only counted, before the window", func(b *table) { counted(b, "alb", -1, 5, 0) }, ""},
		{"only counted, and ours, which our own records count", func(b *table) {
			counted(b, "alb", 100, 5, 0).Class = ClassProbe
			b.ask(ClassProbe, OutcomeOK, 200, 100, 101)
		}, ""},
	} {
		b := newTable()
		c.lay(b)
		if got := b.failed(); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}

// One request of ours: whom it was sent to, and whether that one answered it.
func TestWhoAnsweredAProbe(t *testing.T) {
	row := func(b *table, target string, status, answered int) {
		r := b.logRow("alb", target, ClassProbe, status, answered, 100.1, 100.9)
		r.ProbeRun, r.ProbeSeq = "run", 0
	}
	for _, c := range []struct {
		name   string
		status int
		lay    func(*table)
		sent   string // what its failure says; not of one that succeeded
		served string
	}{
		{"nobody tells", 502, func(*table) {}, "-", "map[]"},
		{"the application's line", 200, func(b *table) { b.handle(0, "api-1", 100.5, false) }, "", "map[api-1:1]"},
		{"its line twice", 200, func(b *table) { b.handle(0, "api-1", 100.5, false); b.handle(0, "api-1", 100.6, false) }, "", "map[api-1:1]"},
		{"two targets claim it", 502, func(b *table) { b.handle(0, "api-1", 100.5, false); b.handle(0, "api-2", 100.5, false) }, "-", "map[]"},
		{"the answer itself", 200, func(b *table) { b.obs.Probes[0].Target = "api-2" }, "", "map[api-2:1]"},
		{"the load balancer's row", 200, func(b *table) { row(b, "api-2", 200, 200) }, "", "map[api-2:1]"},
		{"the row of one that the target did not answer", 502, func(b *table) { row(b, "api-2", 502, 0) }, "api-2", "map[]"},
		{"the row, rather than the line that it was received", 502, func(b *table) { row(b, "api-2", 502, 0); b.handle(0, "api-1", 100.5, true) }, "api-2", "map[]"},
		{"a row that names nobody, and the line that it was received", 502, func(b *table) { row(b, "", 502, 0); b.handle(0, "api-1", 100.5, true) }, "api-1", "map[]"},
	} {
		b := newTable()
		b.obs.Service.AppLogs = []AppLog{{Name: "api-1.log", Target: "api-1"}, {Name: "api-2.log", Target: "api-2"}}
		b.ask(ClassProbe, LogOutcome(c.status, 0), c.status, 100, 101)
		c.lay(b)
		r := Judge(b.obs)
		sent := ""
		for _, f := range r.Failures {
			sent += b.word(f.Target)
		}
		if served := fmt.Sprint(r.Totals[ClassProbe].ByTarget); sent != c.sent || served != c.served {
			t.Errorf("%s: sent to %q, served %s; want %q, %s", c.name, sent, served, c.sent, c.served)
		}
	}
}

// A request that two targets claim attributes nothing: what the probe would have missed
// is then told for an equal share, not target by target.
func TestAClaimOfTwoTargetsAttributesNothing(t *testing.T) {
	b := newTable()
	b.obs.Service.Probes = []Probe{{Name: "probe", Class: ClassProbe}}
	b.ask(ClassProbe, OutcomeOK, 200, 100, 101)
	b.handle(0, "api-1", 100.5, false)
	b.handle(0, "api-2", 100.5, false)
	for _, d := range Judge(b.obs).Detection {
		if d.Share == nil {
			t.Errorf("%+v", d)
		}
	}
}

// api-1 is marked at 100 and ready at 150; with the check's timeout of 2 s at both ends
// its drain is from 98 to 152.
func TestWhenADrainAnswerIsOnPurpose(t *testing.T) {
	for _, c := range []struct {
		name       string
		sent, done float64
		want       Outcome
	}{
		{"before the drain", 97, 97.9, OutcomeTarget5xx},
		{"answered as it begins", 97, 98, OutcomeDrain503},
		{"in it", 120, 121, OutcomeDrain503},
		{"sent before its end", 151.9, 153, OutcomeDrain503},
		{"sent at its end", 152, 153, OutcomeTarget5xx},
	} {
		b := newTable()
		for _, s := range []struct {
			kind StepKind
			at   float64
		}{{StepDrainMarked, 100}, {StepRestartBegan, 110}, {StepAppReady, 150}} {
			b.obs.Steps = append(b.obs.Steps, Step{Deploy: "d1", Kind: s.kind, Target: "api-1", At: b.at(s.at), Source: "workflow"})
		}
		b.ask(ClassHealth, OutcomeDrain503, 503, c.sent, c.done).Target = "api-1"
		if got := Judge(b.obs).Totals[ClassHealth].Outcomes; len(got) != 1 || got[c.want] != 1 {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
