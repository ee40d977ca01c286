package analysis

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// The load balancer's word counts; an API that tells whole seconds only agrees with a
// configuration that is finer.
func TestHealthCheckOfAGroup(t *testing.T) {
	configured := HealthCheck{Interval: 10 * time.Second, Timeout: 1500 * time.Millisecond, Unhealthy: 2, Healthy: 3}
	told := HealthCheck{Interval: 10 * time.Second, Timeout: 2 * time.Second, Unhealthy: 2, Healthy: 3} // 1.5 s rounded up
	but := func(bend func(*HealthCheck)) HealthCheck {
		h := told
		bend(&h)
		return h
	}
	tells := func(h HealthCheck) func(*table) {
		return func(b *table) { b.obs.Groups = append(b.obs.Groups, GroupSettings{TargetGroup: "api", Health: h}) }
	}
	slower := but(func(h *HealthCheck) { h.Interval = 11 * time.Second })
	for _, c := range []struct {
		name string
		lay  func(*table)
		want HealthCheck
	}{
		{"nothing told", func(*table) {}, configured},
		{"told the same in whole seconds", tells(told), configured},
		{"another interval", tells(slower), slower},
		{"an interval a second shorter", tells(but(func(h *HealthCheck) { h.Interval = 9 * time.Second })), but(func(h *HealthCheck) { h.Interval = 9 * time.Second })},
		{"another timeout", tells(but(func(h *HealthCheck) { h.Timeout = time.Second })), but(func(h *HealthCheck) { h.Timeout = time.Second })},
		{"another number of failures", tells(but(func(h *HealthCheck) { h.Unhealthy = 3 })), but(func(h *HealthCheck) { h.Unhealthy = 3 })},
		{"another number of passes", tells(but(func(h *HealthCheck) { h.Healthy = 2 })), but(func(h *HealthCheck) { h.Healthy = 2 })},
		{"the newest of what was told", func(b *table) { tells(told)(b); tells(slower)(b) }, slower},
		{"an answer without settings takes nothing back", func(b *table) { tells(slower)(b); tells(HealthCheck{})(b) }, slower},
		{"told of another group", func(b *table) {
			b.obs.Groups = []GroupSettings{{TargetGroup: "web", Health: slower}}
		}, configured},
		{"configured for another group too", func(b *table) {
			b.obs.Service.LoadBalancers = append(b.obs.Service.LoadBalancers, LoadBalancer{TargetGroups: []TargetGroup{{Name: "web", Health: slower}}})
		}, configured},
		{"configured at one of its two load balancers", func(b *table) {
			b.obs.Service.LoadBalancers = append(b.obs.Service.LoadBalancers, LoadBalancer{TargetGroups: []TargetGroup{{Name: "api"}}})
		}, configured},
	} {
		b := newTable()
		b.obs.Service.LoadBalancers[0].TargetGroups[0].Health = configured
		c.lay(b)
		if got := b.health("api"); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	b := newTable()
	if got := b.slack("api"); got != 2*time.Second {
		t.Errorf("slack %s, want the timeout", got)
	}
	if got := b.slack("another"); got != time.Second {
		t.Errorf("slack %s where no check is known, want a second", got)
	}
}

// A class of which our own prober sent requests in the window is counted by the prober,
// any other by the log's rows. Here the log has one failed row of a probe at 100 s.
func TestWhoCountsAProbe(t *testing.T) {
	for _, c := range []struct {
		name               string
		from, to           float64
		requests, failures int
	}{
		{"sent and ended before the window", -3, -2, 1, 1},
		{"sent before it, ended in it", -3, 1, 1, 1},
		{"sent and ended in it", 100, 101, 1, 1},
		{"sent in it, ended after it", 298, 302, 0, 0}, // a failure counts by its end
		{"sent and ended after it", 301, 302, 1, 1},
	} {
		s := newShape(t, "api-1")
		key := CellKey{Second: s.at(100).Unix(), Source: "alb", TargetGroup: "api", Target: "api-1", Class: ClassProbe, Outcome: OutcomeLB5xx, Status: 504}
		s.obs.Cells = []Cell{{CellKey: key, Count: 1, First: s.at(100), Last: s.at(101)}}
		s.obs.Requests = []Request{{CellKey: key, Start: s.at(100), End: s.at(101)}}
		s.obs.Probes = []ProbeRequest{{Source: "store", Probe: "store", Class: ClassProbe, Run: "r", Seq: 1, Sent: s.at(c.from), Done: s.at(c.to), Outcome: OutcomeTimeout}}
		got := Judge(s.obs).Totals[ClassProbe]
		if got.Requests != c.requests || got.Failures != c.failures {
			t.Errorf("%s: %d failures of %d, want %d of %d", c.name, got.Failures, got.Requests, c.failures, c.requests)
		}
	}
}

// A log that does not count users may name the load balancer where the one that counts
// names the target.
func TestTheLogThatCountsTellsWhoServed(t *testing.T) {
	s := newShape(t, "api-1")
	s.obs.Service.LoadBalancers[0].AccessLogs = append(s.obs.Service.LoadBalancers[0].AccessLogs, AccessLog{Name: "edge", Kind: "nginx"})
	s.obs.Probes = []ProbeRequest{{Source: "store", Probe: "store", Class: ClassProbe, Run: "r", Seq: 1, Sent: s.at(100), Done: s.at(101), Status: 200, Outcome: OutcomeOK}}
	s.obs.Known = []KnownRequests{{Source: "alb", Run: "r", Seqs: []uint32{1}}}
	for _, row := range []struct{ source, target string }{{"alb", "api-1"}, {"edge", "balancer"}} {
		key := CellKey{Second: s.at(100).Unix(), Source: row.source, Target: row.target, Class: ClassProbe, Outcome: OutcomeOK, Status: 200, TargetStatus: 200}
		s.obs.Cells = append(s.obs.Cells, Cell{CellKey: key, Count: 1, First: s.at(100), Last: s.at(101)})
		s.obs.Requests = append(s.obs.Requests, Request{CellKey: key, Start: s.at(100), End: s.at(101), ProbeRun: "r", ProbeSeq: 1})
	}
	r := Judge(s.obs)
	if got := r.Totals[ClassProbe].ByTarget; len(got) != 1 || got["api-1"] != 1 {
		t.Errorf("served by %v", got)
	}
	if got := targetsOf(r); got != "api-1" {
		t.Errorf("targets %s: the other log's is none", got)
	}
}

// Besides the configured targets, those that this deploy's steps name are listed, and
// not those of another's.
func TestTargetsThatStepsName(t *testing.T) {
	s := newShape(t, "api-1")
	s.restart("api-0", 100, 110)
	s.obs.Steps = append(s.obs.Steps, Step{Deploy: "d0", Kind: StepRestartBegan, Target: "old", At: s.at(90), Source: "ci"})
	if got := targetsOf(Judge(s.obs)); got != "api-1 api-0" {
		t.Errorf("targets %s", got)
	}
}

func targetsOf(r Report) string {
	var names []string
	for _, target := range r.Targets {
		names = append(names, target.Target)
	}
	return strings.Join(names, " ")
}

// A hole has the reason of the run that failed last, in whichever order the two that
// meet it arrived.
func TestTheLastFailureSpeaksInAnyOrder(t *testing.T) {
	s := newScene(t)
	s.prepare()
	s.obs.States = slices.DeleteFunc(s.obs.States, func(x StateSample) bool { return x.At.After(s.at(100)) && x.At.Before(s.at(120)) })
	first := Run{Source: "states", From: s.at(100), To: s.at(105), At: s.at(105), Code: "throttled", Error: "Rate exceeded"}
	last := Run{Source: "states", From: s.at(110), To: s.at(115), At: s.at(115), Code: "forbidden", Error: "token expired"}
	runs := s.obs.Runs
	for _, failed := range [][]Run{{first, last}, {last, first}} {
		s.obs.Runs = slices.Concat(runs, failed)
		blind := coverageOf(Judge(s.obs), "states").Blind
		if len(blind) != 1 || blind[0].Detail != "forbidden: token expired" {
			t.Errorf("%+v", blind)
		}
	}
}
