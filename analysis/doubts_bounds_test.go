package analysis

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestDoubtsAboutALog(t *testing.T) {
	object := func(b *table, source string, from, to float64, aside int) *Object {
		b.obs.Objects = append(b.obs.Objects, Object{Source: source, From: b.at(from), To: b.at(to), SetAside: aside})
		return &b.obs.Objects[len(b.obs.Objects)-1]
	}
	// One row a second in the baseline: 31 seconds without any are next to impossible.
	rows := func(b *table, at ...float64) {
		for s := 0.0; s < 60; s++ {
			b.cell("alb", "api-1", s, s, 1)
		}
		for _, s := range at {
			b.cell("alb", "api-1", s, s, 1)
		}
	}
	// A row a second of each of two nodes in the baseline, and of one in a time after.
	nodes := func(b *table, from, to float64) {
		for s := 0.0; s < to; s++ {
			if s < 60 {
				b.cell("alb", "api-1", s, s, 1).Node = "n2"
			}
			if s < 60 || s >= from {
				b.cell("alb", "api-1", s, s, 1).Node = "n1"
			}
		}
	}
	for _, c := range []struct {
		name     string
		lay      func(*table)
		from, to float64
		want     string
	}{
		{"nothing", func(*table) {}, 60, 300, ""},
		{"lines of another log", func(b *table) { object(b, "edge", 100, 160, 3) }, 60, 300, ""},
		{"lines of two objects", func(b *table) { object(b, "alb", 100, 160, 3); object(b, "alb", 160, 220, 4) }, 60, 300, "lines-not-understood 7;"},
		{"all understood", func(b *table) { object(b, "alb", 100, 160, 0) }, 60, 300, ""},
		{"lines that stand for no request", func(b *table) { object(b, "alb", 100, 160, 3).Requestless = 3 }, 60, 300, ""},
		{"and one more", func(b *table) { object(b, "alb", 100, 160, 4).Requestless = 3 }, 60, 300, "lines-not-understood 1;"},
		{"up to the scope", func(b *table) { object(b, "alb", 0, 60, 3) }, 60, 300, ""},
		{"into it", func(b *table) { object(b, "alb", 0, 61, 3) }, 60, 300, "lines-not-understood 3;"},
		{"from its end on", func(b *table) { object(b, "alb", 300, 360, 3) }, 60, 300, ""},
		{"nobody knows how far", func(b *table) { object(b, "alb", 0, 0, 3).To = time.Time{} }, 60, 300, "lines-not-understood 3;"},
		{"30 rows missing", func(b *table) { rows(b, 90, 120) }, 60, 121, ""},
		{"31 rows missing", func(b *table) { rows(b, 91, 120) }, 59, 121, "log-silent 60–91 31;"},
		{"missing from the scope's beginning on", func(b *table) { rows(b, 92) }, 60, 93, "log-silent 61–92 31;"},
		{"a row at its beginning", func(b *table) { rows(b, 70, 101) }, 70, 102, ""},
		{"rows before the scope do not fill it", func(b *table) { rows(b, 65, 102) }, 70, 103, "log-silent 71–102 31;"},
		{"missing to its end", func(b *table) { rows(b, 80) }, 79, 112, "log-silent 81–112 31;"},
		{"a row at its end is none of it", func(b *table) { rows(b, 80, 112) }, 79, 112, "log-silent 81–112 31;"},
		{"missing to its end, where more may come", func(b *table) { rows(b, 80); b.obs.At = b.at(329) }, 79, 112, ""},
		{"missing between, where more may come", func(b *table) { rows(b, 80, 112); b.obs.At = b.at(329) }, 79, 113, "log-silent 81–112 31;"},
		{"rows of another log do not fill it", func(b *table) {
			rows(b, 80)
			b.cell("edge", "api-1", 100, 100, 1)
		}, 79, 112, "log-silent 81–112 31;"},
		{"29 rows are no baseline", func(b *table) { b.started = b.at(29); rows(b); b.obs.Cells = b.obs.Cells[:29] }, 59, 300, ""},
		// 30 in 30 s are one a second; the row at 30 is no baseline.
		{"30 are", func(b *table) { b.started = b.at(30); rows(b); b.obs.Cells = b.obs.Cells[:31] }, 29, 62, "log-silent 31–62 31;"},
		{"30 are, and 30 rows are missing", func(b *table) { b.started = b.at(30); rows(b); b.obs.Cells = b.obs.Cells[:31] }, 29, 61, ""},
		{"a row after its end is none of it", func(b *table) { rows(b, 80, 150) }, 79, 112, "log-silent 81–112 31;"},
		{"a row at its end, where more may come", func(b *table) { rows(b, 80, 112); b.obs.At = b.at(329) }, 79, 112, ""},
		{"one node is silent, while the other writes", func(b *table) { nodes(b, 60, 120) }, 60, 120, "log-silent 61–120 59 n2;"},
		{"31 rows of it are missing", func(b *table) { nodes(b, 60, 120); b.cell("alb", "api-1", 91, 91, 1).Node = "n2" }, 59, 120, "log-silent 60–91 31 n2;"},
		{"30 rows of it are missing", func(b *table) { nodes(b, 60, 120); b.cell("alb", "api-1", 90, 90, 1).Node = "n2" }, 59, 120, ""},
		{"29 rows of a node are no baseline", func(b *table) {
			nodes(b, 60, 300)
			b.obs.Cells = slices.DeleteFunc(b.obs.Cells, func(c Cell) bool { return c.Node == "n2" && c.Second >= b.at(29).Unix() })
		}, 60, 300, ""},
		{"both are silent, and one goes on later", func(b *table) { nodes(b, 80, 120) }, 60, 120, "log-silent 61–80 19;log-silent 61–120 59 n2;"},
		{"both are silent at once", func(b *table) { nodes(b, 120, 120) }, 60, 120, "log-silent 61–120 59;"},
		{"its rows may still come", func(b *table) { nodes(b, 60, 120); b.obs.At = b.at(329) }, 60, 120, ""},
		{"no time before the start", func(b *table) { b.started = b.from; b.cell("alb", "api-1", -1, -1, 40) }, 0, 300, ""},
	} {
		b := newTable()
		c.lay(b)
		got := ""
		for _, d := range b.logDoubts("alb", b.at(c.from), b.at(c.to)) {
			if lines, ok := d.values["lines"]; ok {
				got += fmt.Sprintf("%s %d;", d.code, lines)
			} else {
				got += d.code + " " + b.word(d.values["from"]) + "–" + b.word(d.values["to"]) + " " + b.word(d.values["seconds"])
				if node := d.values["node"]; node != nil {
					got += " " + node.(string)
				}
				got += ";"
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestNodesThatNoKnownRequestMet(t *testing.T) {
	b := newTable()
	lay := func(source, node string, lines int) {
		b.obs.Objects = append(b.obs.Objects, Object{Source: source, Node: node, Lines: lines})
	}
	lay("alb", "n1", 5)
	lay("alb", "n2", 5)
	lay("alb", "n3", 0)  // wrote nothing
	lay("alb", "", 5)    // a name without a node
	lay("edge", "n4", 5) // another log
	untouched := func() string { return fmt.Sprint(b.untouched("alb", b.started, b.to)) }
	if got := untouched(); got != "[]" {
		t.Errorf("without one by one: %s", got)
	}
	b.obs.Known = []KnownRequests{{Source: "edge", Node: "n2", Seqs: []uint32{1}}}
	if got := untouched(); got != "[]" {
		t.Errorf("known in another log: %s", got)
	}
	b.obs.Known = []KnownRequests{{Source: "alb", Node: "n2"}}
	if got := untouched(); got != "[]" {
		t.Errorf("none known: %s", got)
	}
	b.known(2, 2)
	b.obs.Known[1].Node = "n1"
	b.obs.Known = append(b.obs.Known, KnownRequests{Source: "alb", Node: "n1", Run: "none"}) // nor does it take anything back
	for i := range b.obs.Probes {
		b.sent[probeID{"run", i}] = &b.obs.Probes[i]
	}
	if got := untouched(); got != "[n2]" {
		t.Errorf("untouched %s", got)
	}
	if got := fmt.Sprintf("%q", b.unchecked("alb")); got != `["n2"]` {
		t.Errorf("unchecked %s", got)
	}
	// What is known of n1 was sent at 100.
	for _, c := range []struct {
		from, to float64
		want     string
	}{{100, 101, "[n2]"}, {100.5, 300, "[n1 n2]"}, {0, 100, "[n1 n2]"}} {
		if got := fmt.Sprint(b.untouched("alb", b.at(c.from), b.at(c.to))); got != c.want {
			t.Errorf("untouched from %g to %g: %s, want %s", c.from, c.to, got, c.want)
		}
	}
	b.obs.Known[1].Run = "of nobody" // no record of ours tells when those were sent
	if got := untouched(); got != "[n1 n2]" {
		t.Errorf("of nobody: %s", got)
	}
	b.obs.Known, b.obs.Probes = nil, nil
	clear(b.passed)
	if got := fmt.Sprintf("%q", b.unchecked("alb")); got != `[""]` {
		t.Errorf("nothing known was sent: %s", got)
	}
}

func TestWhetherADeployIsOver(t *testing.T) {
	for _, c := range []struct {
		name string
		bend func(*table)
		want bool
	}{
		{"over", func(*table) {}, false},
		{"no deploy", func(b *table) { b.obs.Deploy = Deploy{} }, false},
		{"part of one", func(b *table) { b.obs.Deploy.ReportedAt = time.Time{}; b.obs.Part = Part{From: b.at(1), To: b.at(2)} }, false},
		{"noticed", func(b *table) { b.obs.Deploy.ReportedAt = time.Time{}; b.obs.Deploy.SeenUntil = b.at(200) }, false},
		{"not reported", func(b *table) { b.obs.Deploy.ReportedAt = time.Time{} }, true},
		{"neither reported nor begun, as far as anybody told", func(b *table) { b.obs.Deploy.ReportedAt, b.obs.Deploy.StartedAt = time.Time{}, time.Time{} }, true},
		{"reported as it began", func(b *table) { b.obs.Deploy.ReportedAt = b.at(60) }, false},
		{"reported before it began", func(b *table) { b.obs.Deploy.ReportedAt = b.at(59) }, true},
		{"reported at the end", func(b *table) { b.obs.Deploy.ReportedAt = b.at(300) }, true},
		{"reported just before", func(b *table) { b.obs.Deploy.ReportedAt = b.at(299) }, false},
		{"a step of its own just before", func(b *table) { b.obs.Steps = []Step{{Deploy: "d1", At: b.at(299)}} }, false},
		{"a step of its own at the end", func(b *table) { b.obs.Steps = []Step{{Deploy: "d1", At: b.at(300)}} }, true},
		{"a step of another there", func(b *table) { b.obs.Steps = []Step{{Deploy: "d2", At: b.at(300)}} }, false},
	} {
		b := newTable()
		c.bend(b)
		if got := b.unfinished(); got != c.want {
			t.Errorf("%s: unfinished is %t", c.name, got)
		}
	}
}

func TestSpans(t *testing.T) {
	b := newTable()
	spans := func(ends ...float64) (list []span) {
		for i := 0; i < len(ends); i += 2 {
			list = append(list, span{b.at(ends[i]), b.at(ends[i+1])})
		}
		return list
	}
	words := func(list []span) (s string) {
		for _, x := range list {
			s += b.seconds(x.from) + "–" + b.seconds(x.to) + ";"
		}
		return s
	}
	for _, c := range []struct{ name, got, want string }{
		{"apart", words(union(spans(5, 6, 1, 2))), "1–2;5–6;"},
		{"one within the other", words(union(spans(1, 9, 2, 3))), "1–9;"},
		{"one after the other", words(union(spans(1, 2, 2, 3))), "1–3;"},
		{"without a length", words(union(spans(1, 1, 3, 4, 5, 4))), "3–4;"},
		{"put to the last one: within it", words(cover(spans(1, 9), spans(3, 4)[0])), "1–9;"},
		{"put to the last one: after it", words(cover(spans(1, 2), spans(2, 4)[0])), "1–4;"},
		{"put to the last one: before it", words(cover(spans(2, 4), spans(1, 2)[0])), "1–4;"},
		{"put beside the last one: later", words(cover(spans(1, 2), spans(3, 4)[0])), "1–2;3–4;"},
		{"put beside the last one: earlier", words(cover(spans(3, 4), spans(1, 2)[0])), "3–4;1–2;"},
		{"taken from the middle", words(subtract(spans(1, 9), spans(3, 4)[0])), "1–3;4–9;"},
		{"taken from the beginning", words(subtract(spans(1, 9), spans(1, 4)[0])), "4–9;"},
		{"taken from the end", words(subtract(spans(1, 9), spans(3, 9)[0])), "1–3;"},
		{"taken whole", words(subtract(spans(1, 9), spans(1, 9)[0])), ""},
		{"beside", words(subtract(spans(1, 2, 4, 5), spans(2, 4)[0])), "1–2;4–5;"},
		{"holes", words(holes(b.at(0), b.at(9), spans(1, 2, 4, 9))), "0–1;2–4;"},
		{"holes, one of them at the end", words(holes(b.at(0), b.at(9), spans(1, 2, 10, 11, 12, 13))), "0–1;2–9;"},
		{"holes before what begins where they end", words(holes(b.at(0), b.at(9), spans(1, 2, 9, 11, 12, 13))), "0–1;2–9;"},
		{"holes until the last, with more beyond", words(holes(b.at(0), b.at(9), spans(1, 9, 10, 11))), "0–1;"},
		{"holes in nothing", words(holes(b.at(9), b.at(9), nil)), ""},
		{"holes in nothing, with a span beyond", words(holes(b.at(9), b.at(9), spans(10, 11))), ""},
		{"holes before the beginning", words(holes(b.at(9), b.at(8), nil)), ""},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", c.name, c.got, c.want)
		}
	}
	for _, c := range []struct {
		t, from, to float64
		want        bool
	}{{1, 1, 2, true}, {2, 1, 2, false}, {0.9, 1, 2, false}, {1.9, 1, 2, true}} {
		if got := within(b.at(c.t), b.at(c.from), b.at(c.to)); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
	for _, c := range []struct {
		from, to, otherFrom, otherTo float64
		want                         bool
	}{{1, 2, 2, 3, false}, {2, 3, 1, 2, false}, {1, 2.1, 2, 3, true}, {2, 3, 1, 2.1, true}, {2, 2, 1, 3, true}} {
		if got := overlap(b.at(c.from), b.at(c.to), b.at(c.otherFrom), b.at(c.otherTo)); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}

func TestSurges(t *testing.T) {
	type counts struct{ before, of, after, ofAfter int }
	lay := func(b *table, c counts, route string) {
		for _, side := range []struct {
			at     float64
			n, all int
		}{{10, c.before, c.of}, {100, c.after, c.ofAfter}} {
			for _, outcome := range []Outcome{OutcomeOK, OutcomeRejected} {
				n := side.n
				if outcome == OutcomeOK {
					n = side.all - side.n
				}
				cell := b.cell("alb", "api-1", side.at, side.at, n)
				cell.Outcome, cell.Route = outcome, route
			}
		}
	}
	for _, c := range []struct {
		name string
		lay  func(*table)
		want string
	}{
		{"three times as many", func(b *table) { lay(b, counts{10, 1000, 300, 10000}, "order") }, "user rejected order 10/1000 300/10000 false;"},
		// 1.5 times exactly: 200 of 1,000 against 3,000 of 10,000.
		{"half as many again", func(b *table) { lay(b, counts{200, 1000, 3000, 10000}, "order") }, "user rejected order 200/1000 3000/10000 false;"},
		{"significant, and hardly more", func(b *table) { lay(b, counts{2000, 10000, 2600, 10000}, "order") }, ""},
		{"twice as many, by chance", func(b *table) { lay(b, counts{1, 100, 2, 100}, "order") }, ""},
		{"none after", func(b *table) { lay(b, counts{100, 100, 0, 100}, "order") }, ""},
		{"a log that does not count", func(b *table) {
			lay(b, counts{10, 1000, 300, 10000}, "order")
			for i := range b.obs.Cells {
				b.obs.Cells[i].Source = "edge"
			}
		}, ""},
		{"tools", func(b *table) {
			lay(b, counts{10, 1000, 300, 10000}, "order")
			for i := range b.obs.Cells {
				b.obs.Cells[i].Class = ClassTool
			}
		}, ""},
		{"outside the window", func(b *table) {
			lay(b, counts{10, 1000, 10, 1000}, "order")
			c := b.cell("alb", "api-1", 300, 300, 500)
			c.Outcome, c.Route = OutcomeRejected, "order"
		}, ""},
		{"no baseline at all: 5 %", func(b *table) { lay(b, counts{0, 0, 5, 100}, "order") }, ""},
		{"no baseline at all: 6 %", func(b *table) { lay(b, counts{0, 0, 6, 100}, "order") }, "user rejected order 0/0 6/100 true;"},
		// By chance 5 % make 12 or more of 100 in 0.4 % of cases, 11 or more in 1.1 %.
		{"no baseline on that route alone: 11 %", func(b *table) {
			lay(b, counts{0, 0, 11, 100}, "order")
			b.phase("baseline", 0, 60).Traffic[ClassUser] = &Counts{Requests: 1}
		}, ""},
		{"no baseline on that route alone: 12 %", func(b *table) {
			lay(b, counts{0, 0, 12, 100}, "order")
			b.phase("baseline", 0, 60).Traffic[ClassUser] = &Counts{Requests: 1}
		}, "user rejected order 0/0 12/100 true;"},
		// The one before is not even unlikely to be the one of 61 that was answered.
		{"one request in the baseline, which was answered", func(b *table) { lay(b, counts{0, 1, 60, 60}, "order"); b.askedBefore() }, "user rejected order 0/1 60/60 true;"},
		{"one request in the baseline, which was refused", func(b *table) { lay(b, counts{1, 1, 60, 60}, "order"); b.askedBefore() }, ""},
		{"two requests in the baseline, of which all after tell", func(b *table) { lay(b, counts{0, 2, 60, 60}, "order"); b.askedBefore() }, "user rejected order 0/2 60/60 false;"},
		// With two in the baseline 60 after would have told: ten do not.
		{"enough in the baseline to tell, and they do not", func(b *table) { lay(b, counts{0, 2, 12, 60}, "order"); b.askedBefore() }, ""},
		{"two of a hundred in one second", func(b *table) { lay(b, counts{0, 100, 2, 100}, "order") }, ""},
		{"probes", func(b *table) {
			for i := range 200 {
				p := ProbeRequest{Probe: "store", Class: ClassProbe, Sent: b.at(10), Outcome: OutcomeOK}
				if i >= 100 {
					p.Sent, p.Outcome = b.at(60), OutcomeRejected
				}
				b.obs.Probes = append(b.obs.Probes, p)
				p.Class = ClassHealth
				b.obs.Probes = append(b.obs.Probes, p)
			}
		}, "probe rejected store 0/100 100/100 false;"},
	} {
		b := newTable()
		c.lay(b)
		b.findSurges()
		got := ""
		for _, s := range b.surges {
			got += fmt.Sprintf("%s %s %s %d/%d %d/%d %t;", s.class, s.outcome, s.route, s.test.BaselineFailures, s.test.BaselineRequests, s.test.WindowFailures, s.test.WindowRequests, s.alone)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	// One of two before and two of two after: of three, each after with 1/2, at least two
	// are after with a chance of 1/2.
	b := newTable()
	lay(b, counts{1, 2, 2, 2}, "order")
	b.findSurges()
	if len(b.surges) != 0 {
		t.Errorf("%+v", b.surges)
	}
}

// askedBefore lays down a baseline of users on other routes.
func (b *table) askedBefore() {
	b.phase("baseline", 0, 60).Traffic[ClassUser] = &Counts{Requests: 100}
}

func TestExactProbabilities(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"share", share(5, 15), .25},
		{"share of as many", share(5, 5), .5},
		{"share of nothing", share(0, 0), 1},
		{"none or more", binomialAtLeast(0, 7, .3), 1},
		{"surely", binomialAtLeast(2, 3, 1), 1},
		{"never", binomialAtLeast(1, 3, 0), 0},
		{"two of three", binomialAtLeast(2, 3, .5), .5},
		{"three of three", binomialAtLeast(3, 3, .5), .125},
		{"Fisher: both of two, none of two", fisherGreater(2, 2, 0, 2), 1. / 6},
		{"Fisher: one arm only", fisherGreater(2, 3, 0, 0), 1},
		{"Fisher: none failed", fisherGreater(0, 3, 2, 3), 1},
	} {
		if diff := c.got - c.want; !(diff < 1e-12 && diff > -1e-12) { // not a number is wrong, too
			t.Errorf("%s: %g, want %g", c.name, c.got, c.want)
		}
	}
	for n := range 50 { // to the last digit, which a sum does not reach
		if p := binomialAtLeast(0, n, .3); p != 1 {
			t.Errorf("none or more of %d: %g", n, p)
		}
	}
}
