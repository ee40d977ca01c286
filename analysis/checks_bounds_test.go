package analysis

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A target that only the health-check log names is listed with its group.
func TestTargetsThatOnlyChecksName(t *testing.T) {
	check := func(b *table, group string, at float64) {
		b.obs.Checks = append(b.obs.Checks, HealthCheckResult{Source: "checks", TargetGroup: group, Target: "more", At: b.at(at), Pass: true})
	}
	for _, c := range []struct {
		name string
		lay  func(*table)
		want string
	}{
		{"of the second group", func(b *table) { check(b, "web", 100) }, "web"},
		{"of a group that nobody configured: as one whose group nobody told", func(b *table) { check(b, "else", 100) }, "api"},
		{"of such a one and of the second", func(b *table) { check(b, "else", 100); check(b, "web", 110) }, "web"},
		{"of both: the first by name", func(b *table) { check(b, "api", 100); check(b, "web", 110) }, "api"},
		{"of both, the other way round", func(b *table) { check(b, "web", 100); check(b, "api", 110) }, "api"},
		{"before the window", func(b *table) { check(b, "web", -1) }, ""},
	} {
		b := newTable()
		groups := &b.obs.Service.LoadBalancers[0].TargetGroups
		*groups = append(*groups, TargetGroup{Name: "web", Health: (*groups)[0].Health})
		c.lay(b)
		got := ""
		for _, target := range Judge(b.obs).Targets {
			if target.Target == "more" {
				got += target.TargetGroup
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A node's view of a target is known from when its checks met a threshold until the next
// check was due.
func TestWhenANodesViewIsKnown(t *testing.T) {
	for _, c := range []struct {
		name string
		lay  func(*scene)
		want string
	}{
		{"one pass", func(s *scene) { s.checkEvery("n1", "api-1", 0, "P") }, ""},
		{"one of each", func(s *scene) { s.checkEvery("n1", "api-1", 0, "PF") }, ""},
		{"two passes", func(s *scene) { s.checkEvery("n1", "api-1", 0, "PP") }, "10.1–20.1"},
		{"in and out", func(s *scene) { s.checkEvery("n1", "api-1", 0, "PPPFF") }, "10.1–50.1"},
		{"up to a hole and after it", func(s *scene) { s.checkEvery("n1", "api-1", 0, "PPPP.....PP") }, "10.1–40.1 100.1–110.1"},
		{"a new target's first pass", func(s *scene) {
			s.checkEvery("n1", "api-2", 0, "PPPPPPPPP")
			s.checkEvery("n1", "api-1", 60, "P")
		}, "60.1–70.1"},
		{"a new target's failures say nothing", func(s *scene) {
			s.checkEvery("n1", "api-2", 0, "PPPPPPPPP")
			s.checkEvery("n1", "api-1", 60, "FF")
		}, ""},
	} {
		s := newScene(t)
		c.lay(s)
		b := newBench(s.obs)
		b.readChecks()
		var got []string
		for _, k := range b.byName["api-1"].checked.nodes[0].known {
			got = append(got, fmt.Sprintf("%g–%g", k.from.Sub(s.zero).Seconds(), k.to.Sub(s.zero).Seconds()))
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%s: known %s, want %s", c.name, got, c.want)
		}
	}
}

// api-1 is stopped at 100 and ready at 110; a check's timeout is 2 s. Was it out at any
// moment of that, and was it out when it stopped?
func TestWhatChecksSayOfAStop(t *testing.T) {
	node := func(b *table, first, last, knownFrom, knownTo float64) nodeChecks {
		return nodeChecks{first: b.at(first), last: b.at(last), known: []span{{b.at(knownFrom), b.at(knownTo)}}}
	}
	for _, c := range []struct {
		name    string
		changes []float64 // out, in, out, …
		bend    func(*table, *checked)
		want    string
	}{
		{"never out", nil, nil, "no no"},
		{"out before", []float64{90}, nil, "yes yes"},
		{"out as it stops", []float64{100}, nil, "yes yes"},
		{"out within the timeout after", []float64{101}, nil, "yes unknown"},
		{"out the timeout after", []float64{102}, nil, "yes no"},
		{"out before it is ready", []float64{109.9}, nil, "yes no"},
		{"out as it is ready", []float64{110}, nil, "no no"},
		{"back long before", []float64{80, 90}, nil, "no no"},
		{"back as it stops", []float64{80, 100}, nil, "no no"},
		{"back after it stops", []float64{80, 100.1}, nil, "yes yes"},
		{"back, and out again", []float64{80, 90, 105}, nil, "yes no"},
		{"out, and then nobody looked", []float64{80}, func(b *table, c *checked) {
			c.changes[0].until = b.at(95)
			c.nodes = []nodeChecks{node(b, 0, 90, 0, 95)}
		}, "unknown unknown"},
		{"out, and nobody looked from when it stopped", []float64{80}, func(b *table, c *checked) {
			c.changes[0].until = b.at(100)
			c.nodes = []nodeChecks{node(b, 0, 100, 0, 100)}
		}, "unknown unknown"},
		{"out, and nobody looked from then on", []float64{80}, func(b *table, c *checked) { c.changes[0].until = b.at(100.1) }, "yes yes"},
		{"out, and nobody looked, and out again", []float64{80, 105}, func(b *table, c *checked) {
			c.changes[0].until, c.changes[1].in = b.at(95), false
		}, "yes no"},
		{"no node checked it", nil, func(_ *table, c *checked) { c.nodes = nil }, "unknown unknown"},
		{"seen until it was ready", nil, func(b *table, c *checked) { c.nodes = []nodeChecks{node(b, 0, 100, 0, 110)} }, "no no"},
		{"seen for less", nil, func(b *table, c *checked) { c.nodes = []nodeChecks{node(b, 0, 100, 0, 109)} }, "unknown no"},
		{"seen until a second after it stopped", nil, func(b *table, c *checked) { c.nodes = []nodeChecks{node(b, 0, 100, 0, 101)} }, "unknown unknown"},
		{"another node had left", nil, func(b *table, c *checked) { c.nodes = append(c.nodes, node(b, 0, 99.9, 0, 105)) }, "no no"},
		{"another node checked last as it stopped", nil, func(b *table, c *checked) { c.nodes = append(c.nodes, node(b, 0, 100, 0, 105)) }, "unknown no"},
		{"another node began before it was ready", nil, func(b *table, c *checked) { c.nodes = append(c.nodes, node(b, 109, 299, 119, 299)) }, "unknown no"},
		{"another node began as it was ready", nil, func(b *table, c *checked) { c.nodes = append(c.nodes, node(b, 110, 299, 120, 299)) }, "no no"},
		{"deregistered before", nil, func(b *table, _ *checked) { b.life("api-1").cycles[0].deregistered = b.at(92) }, "unknown unknown"},
		{"deregistered as it stops", nil, func(b *table, _ *checked) { b.life("api-1").cycles[0].deregistered = b.at(100) }, "unknown unknown"},
		{"deregistered later", nil, func(b *table, _ *checked) { b.life("api-1").cycles[0].deregistered = b.at(100.1) }, "unknown no"},
		{"deregistered, and out before", []float64{90}, func(b *table, _ *checked) { b.life("api-1").cycles[0].deregistered = b.at(92) }, "yes yes"},
		{"there is no such log", nil, func(b *table, _ *checked) { b.life("api-1").checked = nil }, "unknown unknown"},
	} {
		b := newTable()
		cycle := b.cycle("api-1", 100, 110, 115)
		l := b.life("api-1")
		l.checked = &checked{source: "checks", nodes: []nodeChecks{node(b, 0, 299, 0, 300)}}
		for i, at := range c.changes {
			l.checked.changes = append(l.checked.changes, checkedChange{in: i%2 == 1, at: b.at(at)})
		}
		if c.bend != nil {
			c.bend(b, l.checked)
		}
		if got := b.ejectedByChecks(l, *cycle) + " " + b.outAtStop(l, *cycle); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Ejection and return are told for the stop that they belong to.
func TestWhichEjectionBelongsToAStop(t *testing.T) {
	for _, c := range []struct {
		name  string
		spans []float64 // of the one node: out, in, out, …
		lay   func(*table) cycle
		want  string // all nodes; the node; how long it took to eject and to return
	}{
		{"after its stop", []float64{112, 125}, nil, "112–125, 112–125, 12, 15"},
		{"as it stops", []float64{100, 125}, nil, "100–125, 100–125, 0, 15"},
		{"not the one before it", []float64{50, 70, 112, 125}, nil, "112–125, 112–125, 12, 15"},
		{"the first one after it", []float64{112, 125, 140, 160}, nil, "112–125, 112–125, 12, 15"},
		{"out already when it stopped", []float64{90, 125}, nil, "-–-, -–-, -, -"},
		{"not one of the next stop's", []float64{212, 225}, func(b *table) cycle {
			c := b.cycle("api-1", 100, 110, 115)
			c.until = b.at(200)
			return *c
		}, "-–-, -–-, -, -"},
		{"it never stopped", []float64{112, 125}, func(*table) cycle { return cycle{} }, "112–125, 112–125, -, -"},
		{"it never stopped, and was out before the window", []float64{-10, 25}, func(*table) cycle { return cycle{} }, "-–-, -–-, -, -"},
	} {
		b := newTable()
		stop := func(b *table) cycle { return *b.cycle("api-1", 100, 110, 115) }
		if c.lay != nil {
			stop = c.lay
		}
		l := b.life("api-1")
		l.checked = &checked{source: "checks", nodes: []nodeChecks{{node: "n1"}}}
		for i := 0; i < len(c.spans); i += 2 {
			from, to := b.at(c.spans[i]), b.at(c.spans[i+1])
			l.checked.changes = append(l.checked.changes, checkedChange{at: from}, checkedChange{in: true, at: to})
			l.checked.nodes[0].spans = append(l.checked.nodes[0].spans, checkedSpan{from, to})
		}
		r := b.checksReport(l, stop(b))
		took := func(v *Bounded) string {
			if v == nil {
				return "-"
			}
			return fmt.Sprint(v.Value)
		}
		got := fmt.Sprintf("%s–%s, %s–%s, %s, %s", b.word(r.EjectedAt), b.word(r.ReturnedAt), b.word(r.Nodes[0].EjectedAt), b.word(r.Nodes[0].ReturnedAt), took(r.Eject), took(r.Return))
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Checks before the window tell how a target stood when it began; what happened then is
// no step of the window.
func TestStepsOfChecksBeforeTheWindow(t *testing.T) {
	s := newScene(t)
	s.checkEvery("n1", "api-1", -50, "PPFFPPPP") // out at −19.9, in at 0.1
	var got []string
	for _, step := range s.judge().Steps {
		if step.Source == "alb-health" {
			got = append(got, fmt.Sprintf("%s %g", step.Kind, step.At.Sub(s.zero).Seconds()))
		}
	}
	if got := strings.Join(got, ", "); got != "target.healthy 0.1" {
		t.Errorf("steps %s", got)
	}
}

// Polling saw api-1 change between 100 and 110. Checks every 10 s with a timeout of 2 s
// eject after 3 failures, within 32 s, and take in after 2 passes, within 22 s.
func TestWhichPolledChangeChecksTell(t *testing.T) {
	for _, c := range []struct {
		polledIn, checkedIn bool
		at                  float64
		want                bool
	}{
		{false, false, 68, false},
		{false, false, 68.1, true},
		{false, false, 141.9, true},
		{false, false, 142, false},
		{false, true, 105, false},
		{true, true, 78, false},
		{true, true, 78.1, true},
		{true, true, 131.9, true},
		{true, true, 132, false},
		{true, false, 105, false},
	} {
		b := newTable()
		b.obs.Service.LoadBalancers[0].TargetGroups[0].Health = HealthCheck{Interval: 10 * time.Second, Timeout: 2 * time.Second, Unhealthy: 3, Healthy: 2}
		l := b.life("api-1")
		l.checked = &checked{source: "checks", changes: []checkedChange{{in: c.checkedIn, at: b.at(c.at)}}}
		if got := b.corrected(l, change{in: c.polledIn, before: b.at(100), seen: b.at(110)}); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}
