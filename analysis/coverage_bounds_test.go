package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// blindOf covers the window and tells where a source is blind, and why.
func (b *table) blindOf(source string) string {
	clear(b.coverage)
	b.cover()
	c := b.coverage[source]
	if c == nil {
		return "no row"
	}
	var all []string
	for _, spot := range c.Blind {
		all = append(all, strings.TrimSpace(b.seconds(spot.From.Time)+"–"+b.seconds(spot.To.Time)+" "+spot.Reason+" "+spot.Detail))
	}
	if len(all) == 0 {
		return "whole"
	}
	return strings.Join(all, "; ")
}

// ran lays down a run over a span that ended at its end, good or failed.
func (b *table) ran(source string, from, to float64, code string) *Run {
	r := Run{Source: source, From: b.at(from), To: b.at(to), At: b.at(to), Code: code}
	if code != "" {
		r.Error = "refused"
	}
	b.obs.Runs = append(b.obs.Runs, r)
	return &b.obs.Runs[len(b.obs.Runs)-1]
}

type blindCase struct {
	name string
	lay  func(*table)
	want string
}

func tryBlind(t *testing.T, source string, lay func(*table), cases []blindCase) {
	t.Helper()
	for _, c := range cases {
		b := newTable()
		lay(b)
		c.lay(b)
		if got := b.blindOf(source); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Polls every second, but none between two moments.
func TestBlindnessOfPolls(t *testing.T) {
	except := func(b *table, from, to float64) {
		for s := 0.0; s < 300; s++ {
			if s <= from || s >= to {
				b.poll("api-1", StateHealthy, s)
			}
		}
	}
	tryBlind(t, "states", func(*table) {}, []blindCase{
		{"none at all", func(*table) {}, "0–300 no_data"},
		{"none at all, and the window has not begun", func(b *table) { b.seenTo = b.from }, "whole"},
		{"each", func(b *table) { except(b, 300, 300) }, "whole"},
		{"three intervals apart", func(b *table) { except(b, 100, 103) }, "whole"},
		{"four", func(b *table) { except(b, 100, 104) }, "100–104 gap"},
		{"answers without a target", func(b *table) {
			except(b, 100, 104)
			b.ran("states", 101, 102, "")
		}, "whole"},
		{"a file that was read and held no poll", func(b *table) {
			except(b, 100, 104)
			b.ran("states", 101, 102, "").Kind = "file"
		}, "100–104 gap"},
		{"answers to another source", func(b *table) {
			except(b, 100, 104)
			b.ran("others", 101, 102, "")
		}, "100–104 gap"},
		{"no interval is configured, every two seconds, three of them missing", func(b *table) {
			b.obs.Service.LoadBalancers[0].TargetGroups[0].States[0].Every = 0
			for s := 0.0; s < 300; s += 2 {
				if s <= 100 || s >= 106 {
					b.poll("api-1", StateHealthy, s)
				}
			}
		}, "whole"},
		{"no interval is configured, four missing", func(b *table) {
			b.obs.Service.LoadBalancers[0].TargetGroups[0].States[0].Every = 0
			for s := 0.0; s < 300; s += 2 {
				if s <= 100 || s >= 108 {
					b.poll("api-1", StateHealthy, s)
				}
			}
		}, "100–108 gap"},
		{"one is configured, and polled half as often", func(b *table) {
			for s := 0.0; s < 300; s += 2 {
				if s <= 100 || s >= 104 {
					b.poll("api-1", StateHealthy, s)
				}
			}
		}, "100–104 gap"},
	})
	why := func(from, to float64, code string) func(*table) {
		return func(b *table) { b.ran("states", from, to, code) }
	}
	const failed = "100–120 query_failed throttled: refused"
	tryBlind(t, "states", func(b *table) { except(b, 100, 120) }, []blindCase{
		{"failed in it", why(105, 106, "throttled"), failed},
		{"failed into it", why(90, 101, "throttled"), failed},
		{"failed out of it", why(119, 130, "throttled"), failed},
		{"failed until it", why(90, 100, "throttled"), "100–120 gap"},
		{"failed after it", why(120, 125, "throttled"), "100–120 gap"},
		{"failed at a moment in it", why(110, 110, "throttled"), failed},
		{"failed at its first moment", why(100, 100, "throttled"), failed},
		{"failed at the moment of its end", why(120, 120, "throttled"), "100–120 gap"},
		{"another source failed", func(b *table) { b.ran("others", 105, 106, "throttled") }, "100–120 gap"},
	})
}

// An application log read every ten seconds, each time up to the present.
func TestBlindnessOfReads(t *testing.T) {
	reads := func(b *table, until float64) {
		b.obs.Service.AppLogs = []AppLog{{Name: "api-1.log", Target: "api-1"}}
		for s := 0.0; s <= until; s += 10 {
			b.ran("api-1.log", s-10, s, "")
		}
	}
	open := func(b *table, now float64) { b.seenTo = b.at(now) }
	tryBlind(t, "api-1.log", func(*table) {}, []blindCase{
		{"to the end", func(b *table) { reads(b, 300) }, "whole"},
		{"short of the end of a window that is over", func(b *table) { reads(b, 290) }, "290–300 no_data"},
		{"three reads behind, while it is open", func(b *table) { reads(b, 200); open(b, 230) }, "whole"},
		{"further behind", func(b *table) { reads(b, 200); open(b, 231) }, "200–231 no_data"},
		{"a hole before the present", func(b *table) {
			reads(b, 200)
			b.obs.Runs = b.obs.Runs[:20] // up to 190
			b.ran("api-1.log", 200, 210, "")
			open(b, 230)
		}, "190–200 no_data"},
		{"the last read failed", func(b *table) {
			reads(b, 200)
			b.ran("api-1.log", 200, 210, "unreachable")
			open(b, 210)
		}, "200–210 query_failed unreachable: refused"},
		{"another log is read oftener", func(b *table) {
			for s := 0.5; s <= 200; s++ {
				b.ran("api-0.log", s-1, s, "")
			}
			reads(b, 200)
			open(b, 230)
		}, "whole"},
		{"reads that failed are none", func(b *table) {
			for s := 0.0; s <= 200; s += 10 {
				b.ran("api-1.log", -20, -19, "unreachable").At = b.at(s + .1)
				b.ran("api-1.log", s-10, s, "")
			}
			b.obs.Service.AppLogs = []AppLog{{Name: "api-1.log", Target: "api-1"}}
			open(b, 230)
		}, "whole"},
		{"two files at each look", func(b *table) {
			reads(b, 200)
			looks := b.obs.Runs
			b.obs.Runs = nil
			for _, look := range looks {
				b.obs.Runs = append(b.obs.Runs, look, look)
			}
			open(b, 230)
		}, "whole"},
	})
}

// A probe sends every second, and not between 100 and 110; in the same or another
// stretch its records were not understood.
func TestBlindnessOfRefusedRecords(t *testing.T) {
	lay := func(b *table) {
		b.obs.Service.Probes = []Probe{{Name: "store", Class: ClassProbe, Every: time.Second}, {Name: "health", Class: ClassHealth, Every: time.Second}}
		for s := 0.0; s < 300; s++ {
			if s <= 100 || s >= 110 {
				b.obs.Probes = append(b.obs.Probes, ProbeRequest{Source: "store", Probe: "store", Class: ClassProbe, Sent: b.at(s), Done: b.at(s)})
			}
			b.obs.Probes = append(b.obs.Probes, ProbeRequest{Source: "health@office", Probe: "health", Class: ClassHealth, Sent: b.at(s), Done: b.at(s)})
		}
	}
	refused := func(from, to float64) func(*table) {
		return func(b *table) { b.ran("store", from, to, CodeBadReply) }
	}
	const gap = "100–110 query_failed bad_reply: refused"
	tryBlind(t, "store", lay, []blindCase{
		{"none", func(*table) {}, "100–110 gap"},
		{"within the gap", refused(102, 105), gap},
		{"from its beginning on", refused(100, 105), gap},
		{"to its end", refused(105, 110), gap},
		{"from before it", refused(99, 105), "99–105 query_failed bad_reply: refused; " + gap},
		{"until after it", refused(105, 111), gap + "; 105–111 query_failed bad_reply: refused"},
		{"elsewhere", refused(200, 201), "100–110 gap; 200–201 query_failed bad_reply: refused"},
		{"elsewhere, of another probe", func(b *table) { b.ran("health", 200, 201, CodeBadReply) }, "100–110 gap"},
		{"at the window's end", refused(300, 300), "100–110 gap"},
		{"understood later", func(b *table) {
			refused(200, 201)(b)
			b.ran("store", 199, 202, "")
		}, "100–110 gap"},
		{"understood by a read that ended at the same time", func(b *table) {
			b.ran("store", 199, 201, "")
			refused(200, 201)(b)
		}, "100–110 gap; 200–201 query_failed bad_reply: refused"},
		{"another source understood later", func(b *table) {
			refused(200, 201)(b)
			b.ran("health", 199, 202, "")
		}, "100–110 gap; 200–201 query_failed bad_reply: refused"},
		{"a later read that failed", func(b *table) {
			refused(200, 201)(b)
			b.ran("store", 199, 202, CodeUnreachable)
		}, "100–110 gap; 200–201 query_failed bad_reply: refused"},
		{"a good run sends nothing", func(b *table) { b.ran("store", 101, 109, "") }, "100–110 gap"},
	})
	b := newTable()
	lay(b)
	refused(99, 105)(b)
	b.blindOf("store")
	if got := b.coverage["store"].Seen; got != 300-11 {
		t.Errorf("seen %g s: the second from 99 on and the ten of the gap were not", got)
	}
	if got := b.blindOf("health@office"); got != "whole" {
		t.Errorf("the office's, which sent each second: %s", got)
	}
}

// What the configuration does not list has a row where it failed, and only then.
func TestCoverageOfOtherSources(t *testing.T) {
	b := newTable()
	b.ran("ci", 0, 300, "")
	b.ran("steps.ndjson", 0, 100, "")
	b.ran("steps.ndjson", 100, 110, CodeForbidden)
	if got := b.blindOf("ci"); got != "no row" {
		t.Errorf("one that did not fail: %s", got)
	}
	if got := b.blindOf("steps.ndjson"); got != "100–300 query_failed forbidden: refused" {
		t.Errorf("one that failed: %s", got)
	}
}

// Blind spots that begin at once stand in one order, whichever was told first.
func TestOrderOfBlindSpots(t *testing.T) {
	b := newTable()
	b.obs.Objects = []Object{
		{Source: "alb", Key: "y", From: b.at(70), To: b.at(78), Partial: true}, {Source: "alb", Key: "x", From: b.at(70), To: b.at(78), Partial: true},
		{Source: "alb", Key: "a", From: b.at(70), To: b.at(75), Partial: true}, {Source: "alb", Key: "z", From: b.at(60), To: b.at(80), Partial: true},
	}
	for range 2 {
		b.coverage = map[string]*Coverage{}
		b.cover()
		got := ""
		for _, blind := range b.coverage["alb"].Blind {
			got += b.seconds(blind.From.Time) + "–" + b.seconds(blind.To.Time) + " " + blind.Reason + " " + blind.Detail + ";"
		}
		const want = "0–300 no_data ;60–80 partial_object z;70–75 partial_object a;70–78 partial_object x;70–78 partial_object y;"
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		slices.Reverse(b.obs.Objects)
	}
}

func TestCoverageOfAnAccessLog(t *testing.T) {
	object := func(b *table, node string, from, to float64) *Object {
		b.obs.Objects = append(b.obs.Objects, Object{Source: "alb", Node: node, Key: "k", From: b.at(from), To: b.at(to)})
		return &b.obs.Objects[len(b.obs.Objects)-1]
	}
	now := func(b *table, s float64) { b.obs.At, b.seenTo = b.at(s), earliest(b.at(s), b.to) }
	lay := func(b *table) { b.ran("alb", -10, 300, "") }
	tryBlind(t, "alb", lay, []blindCase{
		{"cut short", func(b *table) { object(b, "", 100, 160).Partial = true }, "100–160 partial_object k"},
		{"not read", func(b *table) { object(b, "", 100, 160).Error = "denied" }, "100–160 partial_object k: denied"},
		{"cut short before the window", func(b *table) { object(b, "", -60, 0).Partial = true }, "whole"},
		{"of another log", func(b *table) {
			o := object(b, "", 100, 160)
			o.Source, o.Partial = "edge", true
		}, "whole"},
		{"nothing delivered yet", func(b *table) { now(b, 310) }, "0–300 horizon"},
		{"delivered up to 240 s", func(b *table) { object(b, "", 180, 240); now(b, 310) }, "240–300 horizon"},
		{"two nodes, one behind", func(b *table) {
			object(b, "n1", 180, 240)
			object(b, "n2", 240, 301)
			now(b, 310)
		}, "240–300 horizon"},
		{"delivered to the window's very end", func(b *table) { object(b, "", 240, 300); now(b, 310) }, "whole"},
		{"written before its period ended", func(b *table) { object(b, "", 240, 301); now(b, 300) }, "240–300 horizon"},
		{"written as its period ended", func(b *table) { object(b, "", 240, 300); now(b, 300) }, "whole"},
		{"the present is before the window", func(b *table) { now(b, -5) }, "whole"},
	})

	b := newTable()
	lay(b)
	cut := object(b, "n1", 0, 150)
	cut.Lines, cut.SetAside, cut.Partial = 5, 1, true
	rest := object(b, "n2", 150, 301)
	rest.Lines, rest.SetAside, rest.Requestless = 7, 4, 2
	object(b, "n3", 150, 301)
	now(b, 310)
	b.blindOf("alb")
	c := b.coverage["alb"]
	if *c.Lines != 12 || *c.Malformed != 3 || *c.PartialObjects != 1 || *c.HorizonPassed {
		t.Errorf("lines %d, not understood %d, cut short %d, horizon passed %t", *c.Lines, *c.Malformed, *c.PartialObjects, *c.HorizonPassed)
	}
	if got := fmt.Sprintf("%s %s–%s", c.Awaited[0].Node, b.seconds(c.Awaited[0].From.Time), b.seconds(c.Awaited[0].To.Time)); len(c.Awaited) != 1 || got != "n1 150–300" {
		t.Errorf("awaited %+v", c.Awaited)
	}
}

func TestLinesOfAnApplicationLog(t *testing.T) {
	b := newTable()
	b.obs.Service.AppLogs = []AppLog{{Name: "api-1.log", Target: "api-1"}, {Name: "api-2.log", Target: "api-2"}}
	b.obs.Counts = []RuleCount{
		{"api-1.log", "spring-boot", b.at(1), 5, 1}, {"api-1.log", "spring-boot", b.at(2), 6, 0},
		{"api-1.log", "own", b.at(1), 5, 0}, {"gone.log", "own", b.at(1), 100, 0},
	}
	b.cover()
	// Every rule sees the same lines: they are not 16. What nobody counted is not none.
	if got := b.coverage["api-1.log"].Lines; got == nil || *got != 11 {
		t.Errorf("lines %v, want 11", got)
	}
	if got := b.coverage["api-2.log"].Lines; got != nil {
		t.Errorf("%d lines that nobody counted", *got)
	}
}

// What lies before the window was seen where a run that reaches into it vouches.
func TestWhatWasSeenBeforeTheWindow(t *testing.T) {
	for _, c := range []struct {
		name     string
		source   string
		ran      float64 // a run from then to the window's end
		from, to float64
		want     bool // unseen
	}{
		{"one of which nothing is known", "nobody", -100, 10, 20, true},
		{"in the window", "api-1.log", 0, 10, 20, false},
		{"from its beginning on", "api-1.log", 0, 0, 20, false},
		{"before it, not read", "api-1.log", 0, -1, 20, true},
		{"before it, read", "api-1.log", -1, -1, 20, false},
		{"all before it, read", "api-1.log", -20, -20, -10, false},
		{"in the window, not read", "api-1.log", 15, 10, 20, true},
		{"up to where it was read", "api-1.log", 15, 15, 20, false},
	} {
		b := newTable()
		b.obs.Service.AppLogs = []AppLog{{Name: "api-1.log", Target: "api-1"}}
		b.ran("api-1.log", c.ran, 300, "")
		b.cover()
		if got := b.unseenIn([]string{c.source}, b.at(c.from), b.at(c.to)); got != c.want {
			t.Errorf("%s: unseen %t", c.name, got)
		}
	}
}
