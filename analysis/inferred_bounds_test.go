package analysis

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// serves lets a target answer n requests a second, the last one .9 s after the first.
func (b *table) serves(target string, n int, from, to float64) {
	for s := from; s < to; s++ {
		b.cell("alb", target, s, s+.9, n)
	}
}

// shownOut displays a target out of rotation from one moment to another.
func (b *table) shownOut(target string, from, to float64) {
	l := b.byName[target]
	l.polled = true
	l.changes = append(l.changes,
		change{before: b.at(from), seen: b.at(from), source: "gossip"},
		change{in: true, before: b.at(to), seen: b.at(to), source: "gossip"})
}

// failing lets n requests that were sent to api-1 fail.
func (b *table) failing(n int, from, every float64) {
	for i := range n {
		at := b.at(from + float64(i)*every)
		b.obs.Requests = append(b.obs.Requests, Request{
			CellKey: CellKey{Second: at.Unix(), Source: "alb", TargetGroup: "api", Target: "api-1", Class: ClassUser, Outcome: OutcomeLB5xx, Route: OtherRoute, Status: 502},
			Start:   at, End: at.Add(time.Millisecond),
		})
	}
}

// api-1 serves until 100 and again from some moment on; it usually pauses for a second at
// most, so over 3 s are long. api-2 serves ten a second all the time, and half of all is
// api-1's: of five or more that went to others meanwhile it should have got some (3 %),
// and of four perhaps not (6 %).
func TestWhenAnAbsenceIsSure(t *testing.T) {
	until := func(b *table, back float64) {
		b.serves("api-1", 10, 0, 99)
		b.cell("alb", "api-1", 99, 99.9, 9)
		b.cell("alb", "api-1", 100, 100, 1)
		b.serves("api-1", 10, back, 300)
	}
	others := func(b *table) { b.serves("api-2", 10, 0, 300) }
	hardly := func(b *table, n int) {
		b.serves("api-2", 10, 0, 100)
		b.cell("alb", "api-2", 101, 101.5, n)
		b.serves("api-2", 10, 120, 300)
	}
	for _, c := range []struct {
		name      string
		lay       func(*table)
		want      string
		undecided bool
	}{
		{"three seconds", func(b *table) { until(b, 103); others(b) }, "", false},
		{"four seconds", func(b *table) { until(b, 104); others(b) }, "100–104 traffic", false},
		{"it served nothing before", func(b *table) { b.serves("api-1", 10, 50, 300); others(b) }, "", false},
		{"others were sent four", func(b *table) { until(b, 110); hardly(b, 4) }, "", false},
		{"others were sent five", func(b *table) { until(b, 110); hardly(b, 5) }, "100–110 traffic", false},
		{"served meanwhile, by a log that does not count", func(b *table) {
			until(b, 106)
			others(b)
			b.cell("edge", "api-1", 103, 103, 1)
		}, "100–106 traffic", false},
		{"answered a probe meanwhile", func(b *table) {
			until(b, 106)
			others(b)
			b.obs.Handled = append(b.obs.Handled, HandledRequest{Target: "api-1", At: b.at(103)})
		}, "", false},
		{"began to answer one", func(b *table) {
			until(b, 106)
			others(b)
			b.obs.Handled = append(b.obs.Handled, HandledRequest{Target: "api-1", At: b.at(103), Begun: true})
		}, "100–106 traffic", false},

		{"displayed in, and answered none of five", func(b *table) { until(b, 110); others(b); b.byName["api-1"].polled = true; b.failing(5, 101, 1) }, "100–110 traffic", false},
		{"displayed in, and answered none of four", func(b *table) { until(b, 110); others(b); b.byName["api-1"].polled = true; b.failing(4, 101, 1) }, "", false},

		{"displayed out until it paused", func(b *table) { until(b, 110); others(b); b.shownOut("api-1", 90, 100) }, "", false},
		{"displayed out as it paused for a short while", func(b *table) { until(b, 102); others(b); b.shownOut("api-1", 100, 102) }, "100–102 gossip", false},
		{"as long as its usual pauses", func(b *table) {
			until(b, 102)
			others(b)
			b.shownOut("api-1", 100, 102)
			b.byName["api-1"].usualPause = 2 * time.Second
		}, "100–102 gossip", false},
		{"shorter than its usual pauses", func(b *table) {
			until(b, 102)
			others(b)
			b.shownOut("api-1", 100, 102)
			b.byName["api-1"].usualPause = 3 * time.Second
		}, "", true},
		{"displayed out in the middle of it", func(b *table) { until(b, 103); others(b); b.shownOut("api-1", 101, 102) }, "100–103 gossip", false},
		{"paused for half of the time", func(b *table) { until(b, 103); others(b); b.shownOut("api-1", 97, 103) }, "100–103 gossip", false},
		{"paused for less than half, three seconds", func(b *table) { until(b, 103); others(b); b.shownOut("api-1", 96, 103) }, "", false},
		{"paused for less than half, and long", func(b *table) { until(b, 104); others(b); b.shownOut("api-1", 90, 104) }, "100–104 gossip", false},
		{"displayed out, and others were sent four", func(b *table) { until(b, 110); hardly(b, 4); b.shownOut("api-1", 101, 109) }, "", true},
		{"displayed out, and others were sent five", func(b *table) { until(b, 110); hardly(b, 5); b.shownOut("api-1", 101, 109) }, "100–110 gossip", false},
		{"the same before the deploy", func(b *table) { until(b, 110); hardly(b, 4); b.shownOut("api-1", 101, 109); b.started = b.at(109) }, "", false},

		{"nobody of its group was there at first", func(b *table) {
			until(b, 110)
			others(b)
			b.empty = map[string][]span{"api": {{b.at(100), b.at(106)}}}
		}, "100–110 traffic", false},
		{"nobody was there, but for the last three seconds", func(b *table) {
			until(b, 110)
			others(b)
			b.empty = map[string][]span{"api": {{b.at(100), b.at(107)}}}
		}, "", false},
		{"perhaps nobody was there, but for the last three seconds", func(b *table) {
			until(b, 110)
			others(b)
			b.open = map[string][]span{"api": {{b.at(100), b.at(107)}}}
		}, "", false},
	} {
		b := newTable()
		b.byName["api-1"].usualPause = time.Second
		c.lay(b)
		b.placeServed()
		if got := b.gone("api-1"); got != c.want || b.undecided != c.undecided {
			t.Errorf("%s: %q, undecided %t; want %q", c.name, got, b.undecided, c.want)
		}
	}
}

// gone prints the absences of a target.
func (b *table) gone(target string) string {
	var list []string
	for _, c := range b.absences(b.byName[target]) {
		list = append(list, b.seconds(c.lastServed)+"–"+b.seconds(c.firstServed)+" "+c.inferred)
	}
	return strings.Join(list, " ")
}

// A log of whole seconds dates an answer to a second, and not to its beginning. What the
// others were sent in the second of a target's last answer may have been sent before it.
func TestAbsencesInWholeSeconds(t *testing.T) {
	for _, c := range []struct {
		name string
		cut  time.Duration
		lay  func(*table)
		want string
	}{
		{"all in the second of its last answer", time.Second, func(b *table) { b.cell("alb", "api-2", 100, 100, 9) }, ""},
		{"the same to the microsecond", 0, func(b *table) { b.cell("alb", "api-2", 100, 100, 9) }, "100–105 gossip"},
		{"in the second after", time.Second, func(b *table) { b.cell("alb", "api-2", 101, 101, 9) }, "100–106 gossip"},
		{"in the second of its next answer", time.Second, func(b *table) { b.cell("alb", "api-2", 105, 105, 9) }, ""},
	} {
		b := newTable()
		b.byName["api-1"].usualPause = time.Second
		b.cuts = map[string]time.Duration{"alb": c.cut}
		for s := 90.0; s <= 100; s++ {
			b.cell("alb", "api-1", s, s, 10)
		}
		b.cell("alb", "api-1", 105, 105, 10)
		b.shownOut("api-1", 101, 105)
		c.lay(b)
		b.placeServed()
		if got := b.gone("api-1"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// An absence is the deploy's own where it tells of no target's stop, and the target had
// served since its start.
func TestWhoseAbsenceItIs(t *testing.T) {
	for _, c := range []struct {
		name string
		lay  func(*table)
		want string
	}{
		{"nothing was told", func(*table) {}, "69.9–80 until 89.9, 89.9–100 until 300"},
		{"a stop of another target", func(b *table) { b.told(StepRestartBegan, "api-2", 200) }, ""},
		{"at the start", func(b *table) { b.told(StepRestartBegan, "api-2", 60) }, ""},
		{"before the start", func(b *table) { b.told(StepRestartBegan, "api-2", 59) }, "69.9–80 until 89.9, 89.9–100 until 300"},
		{"a stop of no target", func(b *table) { b.told(StepRestartBegan, "", 200) }, "69.9–80 until 89.9, 89.9–100 until 300"},
		{"what is no step of a target", func(b *table) { b.told(StepTrafficSwitched, "api-2", 200) }, "69.9–80 until 89.9, 89.9–100 until 300"},
		{"it last served as the deploy began", func(b *table) { b.started = b.at(69.9) }, "69.9–80 until 89.9, 89.9–100 until 300"},
		{"it last served before", func(b *table) { b.started = b.at(70) }, "89.9–100 until 300"},
		{"a step tells of the first", func(b *table) { b.cycle("api-1", 71, 79, 80) }, "89.9–100 until 300"},
		{"a step tells that it was stopped, and nothing of a return", func(b *table) { b.cycle("api-1", 71, 0, 0) }, ""},
		{"no deploy", func(b *table) { b.obs.Deploy.ID = "" }, ""},
	} {
		b := newTable()
		b.byName["api-1"].usualPause = time.Second
		for s := 0.0; s < 300; s++ {
			if s < 70 || s >= 80 && s < 90 || s >= 100 {
				b.cell("alb", "api-1", s, s+.9, 5)
			}
			b.cell("alb", "api-2", s, s+.9, 5)
		}
		c.lay(b)
		b.placeServed()
		b.inferCycles()
		var list []string
		for _, x := range b.byName["api-1"].cycles {
			if x.inferred != "" {
				list = append(list, fmt.Sprintf("%s–%s until %s", b.seconds(x.lastServed), b.seconds(x.firstServed), b.seconds(x.until)))
			}
		}
		if got := strings.Join(list, ", "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func (b *table) told(kind StepKind, target string, at float64) {
	b.steps = append(b.steps, step{Step: Step{Deploy: "d1", Kind: kind, Target: target, At: b.at(at)}})
}

// A target that was failed until less than a health check's interval before it served
// again had not been taken out.
func TestEjectedAsInferred(t *testing.T) {
	health := HealthCheck{Interval: 10 * time.Second, Unhealthy: 2}
	for _, c := range []struct {
		name   string
		last   float64 // when the last one that failed was sent; 0: none
		source string
		health HealthCheck
		want   string
	}{
		{"failed just before it was back", 119.999, "states", health, "no"},
		{"failed an interval before", 110, "states", health, "yes"},
		{"a little less", 110.001, "states", health, "no"},
		{"long before", 105, inferredFromTraffic, health, "unknown"},
		{"no failure", 0, "states", health, "yes"},
		{"no failure, and nothing displays it", 0, inferredFromTraffic, health, "unknown"},
		{"no interval is known", 119.999, "states", HealthCheck{}, "yes"},
	} {
		b := newTable()
		if c.last > 0 {
			b.failing(1, c.last, 0)
		}
		got, _ := b.ejectedInferred(b.byName["api-1"], cycle{inferred: c.source, lastServed: b.at(100), firstServed: b.at(120)}, c.health)
		if got != c.want {
			t.Errorf("%s: ejected %s, want %s", c.name, got, c.want)
		}
	}
}
