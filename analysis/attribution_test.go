package analysis

import (
	"fmt"
	"strings"
	"testing"
)

// One request of ours and what the targets' own logs say of it.
func TestAttributionOfARequest(t *testing.T) {
	for _, c := range []struct {
		name    string
		outcome Outcome
		lay     func(*table)
		want    string // what became of it; then how many were received and not answered, where lines say "received" at all
	}{
		{"one target answered it", OutcomeOK, func(b *table) { b.handle(0, "api-1", 100.5, false) }, "by api-1, received -"},
		{"it received it before", OutcomeOK, func(b *table) { b.handle(0, "api-1", 100.2, true); b.handle(0, "api-1", 100.5, false) }, "by api-1, received 0"},
		{"two answered it", OutcomeOK, func(b *table) { b.handle(0, "api-1", 100.5, false); b.handle(0, "api-2", 100.6, false) }, "duplicate, received -"},
		{"received, and no answer came", OutcomeTimeout, func(b *table) { b.handle(0, "api-1", 100.5, true) }, "received 1"},
		{"received twice", OutcomeTimeout, func(b *table) { b.handle(0, "api-1", 100.5, true); b.handle(0, "api-2", 100.6, true) }, "received 1"},
		{"answered without a line", OutcomeOK, func(*table) {}, "success without record, received -"},
		{"answered without a line, where lines say that others were received", OutcomeOK, func(b *table) { b.handle(9, "api-1", 100.5, true) }, "success without record, received 0"},
		{"failed without a line", OutcomeLB5xx, func(*table) {}, "failed without record, received -"},
		{"neither answered well nor failed", OutcomeClientError, func(*table) {}, "received -"},
	} {
		b := newTable()
		b.obs.Service.AppLogs = []AppLog{{Name: "api-1.log", Target: "api-1"}, {Name: "api-2.log", Target: "api-2"}}
		b.ask(ClassProbe, c.outcome, 200, 100, 101)
		c.lay(b)
		b.obs.Probes = append(b.obs.Probes, b.obs.Probes[0]) // another one, sent as the window ends, is not counted
		b.obs.Probes[1].Seq, b.obs.Probes[1].Sent, b.obs.Probes[1].Done = 1, b.at(300), b.at(301)
		rows := Judge(b.obs).Attribution
		if len(rows) != 1 || rows[0].Sent != 1 {
			t.Errorf("%s: %+v", c.name, rows)
			continue
		}
		var got []string
		a := rows[0]
		for _, target := range sortedKeys(a.ByTarget) {
			got = append(got, "by "+target)
		}
		for _, n := range []struct {
			word string
			n    int
		}{{"duplicate", a.Duplicates}, {"ambiguous", a.Ambiguous}, {"success without record", *a.SuccessWithoutRecord}, {"failed without record", *a.FailedWithoutRecord}} {
			if n.n == 1 {
				got = append(got, n.word)
			} else if n.n != 0 {
				got = append(got, fmt.Sprint(n.n, " ", n.word))
			}
		}
		received := "received -"
		if a.ReceivedWithoutResponse != nil {
			received = fmt.Sprint("received ", *a.ReceivedWithoutResponse)
		}
		if got := strings.Join(append(got, received), ", "); got != c.want || a.Attributed != len(a.ByTarget) {
			t.Errorf("%s: %s, %d attributed; want %s", c.name, got, a.Attributed, c.want)
		}
	}
}

// The window is baseline until 60, build until 240, and tail. Of each phase: how many of
// the requests known to have passed the load balancer its log has.
func TestCompletenessByPhase(t *testing.T) {
	known := func(b *table, source, node string, seqs ...uint32) {
		b.obs.Known = append(b.obs.Known, KnownRequests{Source: source, Node: node, Run: "run", Seqs: seqs})
	}
	// sent sends one in the baseline, three in the build of which one was not answered,
	// and none in the tail; their numbers are 0 to 3.
	sent := func(b *table, class Class) {
		b.ask(class, OutcomeOK, 200, 10, 11)
		b.ask(class, OutcomeOK, 200, 100, 101)
		b.ask(class, OutcomeTimeout, 0, 110, 115)
		b.ask(class, OutcomeOK, 200, 120, 121)
	}
	rows := func(b *table, class Class, at float64, n int) { b.cell("alb", "api-1", at, at, n).Class = class }
	for _, c := range []struct {
		name string
		lay  func(*table)
		want string
	}{
		{"one by one", func(b *table) { sent(b, ClassProbe); known(b, "alb", "n1", 0, 2, 3) },
			"alb n1 baseline 1/1 one_by_one 1; alb n1 build 1/2 one_by_one 0.5; alb n1 tail 0/0 one_by_one -"},
		{"which of two nodes lacks one cannot be known", func(b *table) { sent(b, ClassProbe); known(b, "alb", "n1", 0); known(b, "alb", "n2", 1, 3) },
			"alb  baseline 1/1 one_by_one 1; alb  build 2/2 one_by_one 1; alb  tail 0/0 one_by_one -"},
		{"what another log has is not in this one", func(b *table) { sent(b, ClassProbe); known(b, "alb", "n1", 0, 1); known(b, "edge", "n2", 3) },
			"alb n1 baseline 1/1 one_by_one 1; alb n1 build 1/2 one_by_one 0.5; alb n1 tail 0/0 one_by_one -"},
		{"a node that none of them met", func(b *table) {
			sent(b, ClassProbe)
			known(b, "alb", "n1", 0, 1, 3)
			b.obs.Objects = []Object{{Source: "alb", Node: "n1", Lines: 1}, {Source: "alb", Node: "n2", Lines: 1}}
		}, "alb n1 baseline 1/1 one_by_one 1; alb n1 build 2/2 one_by_one 1; alb n1 tail 0/0 one_by_one -; alb n2  0/0 one_by_one -"},
		{"a log without ids: as many as it has rows of the kind, and no more than were sent", func(b *table) {
			sent(b, ClassProbe)
			b.ask(ClassHealth, OutcomeOK, 200, 130, 131)
			rows(b, ClassProbe, 10, 5)
			rows(b, ClassProbe, 100, 1)
			rows(b, ClassHealth, 130, 1)
			b.cell("edge", "api-1", 102, 102, 1).Class = ClassProbe
			b.obs.Objects = []Object{{Source: "alb", Node: "n1", Lines: 1}}
		}, "alb  baseline 1/1 count 1; alb  build 1/2 count 0.5; alb  tail 0/0 count -"},
		{"without ids and without business probes: by the health samples", func(b *table) {
			sent(b, ClassHealth)
			rows(b, ClassHealth, 11, 1)
			rows(b, ClassHealth, 101, 1)
			rows(b, ClassHealth, 121, 1)
		}, "alb  baseline 1/1 count 1; alb  build 2/2 count 1; alb  tail 0/0 count -"},
		{"nothing was sent", func(b *table) { known(b, "alb", "n1", 0) }, ""},
		{"no log counts", func(b *table) {
			sent(b, ClassProbe)
			b.obs.Service.LoadBalancers[0].AccessLogs[0].Counts = false
		}, ""},
	} {
		b := newTable()
		b.obs.Steps = []Step{{Deploy: "d1", Kind: StepDeployStarted, At: b.at(60)}}
		c.lay(b)
		var got []string
		r := Judge(b.obs)
		for _, row := range r.Completeness {
			share := "-"
			if row.Share != nil {
				share = fmt.Sprint(*row.Share)
			}
			got = append(got, fmt.Sprintf("%s %s %s %d/%d %s %s", row.Source, row.Node, row.Phase, row.Found, row.Known, row.Matched, share))
		}
		if got := strings.Join(got, "; "); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
		if (r.Completeness == nil) != (c.want == "") { // nothing to measure with is null, not an empty list
			t.Errorf("%s: %#v", c.name, r.Completeness)
		}
	}
}

// A verdict depends on a log that lacks known requests; on what the baseline lacks it
// does not, nor on what another log does.
func TestVerdictDependsOnWhatALogLacks(t *testing.T) {
	for _, c := range []struct {
		name      string
		alb, edge []uint32 // of number 0, sent in the baseline, and 1, sent during the deploy
		want      string
	}{
		{"both have all", []uint32{0, 1}, []uint32{0, 1}, ""},
		{"one lacks what was sent during the deploy", []uint32{0, 1}, []uint32{0}, "edge 0/1"},
		{"one lacks what was sent before", []uint32{1}, []uint32{0, 1}, ""},
	} {
		b := newTable()
		b.obs.Service.LoadBalancers[0].AccessLogs[1].Counts = true
		b.obs.Steps = []Step{{Deploy: "d1", Kind: StepDeployStarted, At: b.at(60)}}
		b.ask(ClassProbe, OutcomeOK, 200, 10, 11)
		b.ask(ClassProbe, OutcomeOK, 200, 100, 101)
		b.obs.Known = []KnownRequests{{Source: "alb", Node: "n1", Run: "run", Seqs: c.alb}, {Source: "edge", Node: "n1", Run: "run", Seqs: c.edge}}
		got := ""
		for _, condition := range Judge(b.obs).Verdict.Conditions {
			if v := condition.Values; condition.Code == "log-incomplete" {
				got += fmt.Sprintf("%s %d/%d", v["source"], v["found"], v["known"])
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
