package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// checkEvery adds checks of a target by a node from a moment on, one every ten
// seconds: P passes after 0.1 s, F fails after 0.1 s, T after the timeout of 2 s, and
// a dot is a check that was not made.
func (s *scene) checkEvery(node, target string, from float64, pattern string) {
	for i, c := range pattern {
		check := HealthCheckResult{Source: "alb-health", Node: node, TargetGroup: "api", Target: target, At: s.at(from + 10*float64(i)),
			Latency: 100 * time.Millisecond, Pass: c == 'P', Status: 200}
		switch c {
		case '.':
			continue
		case 'F':
			check.Status, check.Reason = 503, "TargetError"
		case 'T':
			check.Status, check.Reason, check.Latency = 0, "TimedOut", 2*time.Second
		}
		s.obs.Checks = append(s.obs.Checks, check)
	}
}

// checksOf follows the checks alone and says what was found of api-1: what all nodes
// did, then each node's spans.
func (s *scene) checksOf() string {
	b := newBench(s.obs)
	b.readChecks()
	c := b.byName["api-1"].checked
	if c == nil {
		return "nothing"
	}
	since := func(t time.Time) string {
		if t.IsZero() {
			return "?"
		}
		return fmt.Sprintf("%g", t.Sub(s.zero).Seconds())
	}
	var out []string
	for _, change := range c.changes {
		out = append(out, map[bool]string{false: "out ", true: "in "}[change.in]+since(change.at))
	}
	for _, n := range c.nodes {
		for _, each := range n.spans {
			out = append(out, n.node+" "+since(each.from)+"-"+since(each.to))
		}
	}
	return strings.Join(out, ", ")
}

func TestEjectionAndReturnByTheChecks(t *testing.T) {
	for _, c := range []struct {
		name, want string
		checks     func(s *scene)
	}{
		{"no checks", "nothing", func(*scene) {}},
		{"the U-th failure ejects, the H-th pass returns, each when the node knows of it", "out 40.1, in 70.1, n1 40.1-70.1",
			func(s *scene) { s.checkEvery("n1", "api-1", 0, "PPPFFFPPP") }},
		{"a failure that takes the timeout ejects when it is given up", "out 42, in 70.1, n1 42-70.1",
			func(s *scene) { s.checkEvery("n1", "api-1", 0, "PPPTTTPPP") }},
		{"one failure is too few, and a pass between two starts anew", "", func(s *scene) { s.checkEvery("n1", "api-1", 0, "PPFPFPPP") }},
		{"one pass is too few to return", "out 40.1, in 90.1, n1 40.1-90.1", func(s *scene) { s.checkEvery("n1", "api-1", 0, "PPPFFPFFPPP") }},
		{"two nodes eject at different moments: it is out at the last and back at the last", "out 46.1, in 77.1, n1 40.1-70.1, n2 46.1-77.1",
			func(s *scene) {
				s.checkEvery("n1", "api-1", 0, "PPPFFFPPP")
				s.checkEvery("n2", "api-1", 6, "PPPFFF")
				s.checkEvery("n2", "api-1", 67, "PPP")
			}},
		{"one node of two is not the load balancer", "n1 40.1-70.1", func(s *scene) {
			s.checkEvery("n1", "api-1", 0, "PPPFFFPPP")
			s.checkEvery("n2", "api-1", 6, "PPPFPPPPP")
		}},
		{"one node back and out again while the other is out: in only when both are", "out 46.1, in 116.1, n1 40.1-70.1, n1 90.1-110.1, n2 46.1-116.1",
			func(s *scene) {
				s.checkEvery("n1", "api-1", 0, "PPPFFFPPFFPP")
				s.checkEvery("n2", "api-1", 6, "PPPFFFFFFFPP")
			}},
		{"a new target is in after its first pass", "out 80.1, n1 80.1-?", func(s *scene) {
			s.checkEvery("n1", "api-2", 0, "PPPPPPPPP")
			s.checkEvery("n1", "api-1", 60, "PFF")
		}},
		{"at the log's start one pass says nothing yet: out it may have been before", "out 20.1, n1 20.1-?", func(s *scene) {
			s.checkEvery("n1", "api-1", 0, "PFF")
		}},
		{"registered again: one pass takes it in; a deregistered target is not ejected by checks", "out 110.1, n1 110.1-?", func(s *scene) {
			s.checkEvery("n1", "api-2", 0, "PPPPPPPPPPPP")
			s.checkEvery("n1", "api-1", 0, "PPF.....FPFF") // the failure before it left does not count
		}},
		{"a hole in the log: its state is not known until the thresholds are met", "out 110.1, n1 110.1-?", func(s *scene) {
			s.checkEvery("n1", "api-1", 0, "PPF.....P.FF")
		}},
		{"such a target that fails from then on: it may have been in until then", "out 90.1, n1 90.1-?", func(s *scene) {
			s.checkEvery("n1", "api-1", 0, "PPF.....FF")
		}},
		{"two checks that are missing are no hole", "out 60.1, n1 60.1-?", func(s *scene) { s.checkEvery("n1", "api-1", 0, "PPPF..F") }},
		{"nor is a time of three intervals and a timeout", "out 62.1, n1 62.1-?", func(s *scene) {
			s.checkEvery("n1", "api-1", 0, "PPPF")
			s.checkEvery("n1", "api-1", 62, "F")
		}},
		{"a longer one is", "", func(s *scene) {
			s.checkEvery("n1", "api-1", 0, "PPPF")
			s.checkEvery("n1", "api-1", 62.5, "F")
		}},
		{"a hole while it was out does not tell that it returned", "out 40.1, out 110.1, n1 40.1-?, n1 110.1-?", func(s *scene) {
			s.checkEvery("n1", "api-1", 0, "PPPFF.....FF")
		}},
		{"a new target that never passed was never in", "", func(s *scene) {
			s.checkEvery("n1", "api-2", 0, "PPPPPPPPPP")
			s.checkEvery("n1", "api-1", 60, "FFFF")
		}},
		{"others that were checked an interval after it, and an interval before it again, do not fill the hole", "out 90.1, n1 90.1-?", func(s *scene) {
			s.checkEvery("n1", "api-2", 20, "P....P")
			s.checkEvery("n1", "api-1", 0, "PP......FF")
		}},
		{"one of them later does: it was registered again", "", func(s *scene) {
			s.checkEvery("n1", "api-2", 20.5, "P")
			s.checkEvery("n1", "api-1", 0, "PP......FF")
		}},
		{"it stays out", "out 40.1, n1 40.1-?", func(s *scene) { s.checkEvery("n1", "api-1", 0, "PPPFFF") }},
		{"out twice", "out 40.1, in 60.1, out 80.1, in 100.1, n1 40.1-60.1, n1 80.1-100.1", func(s *scene) {
			s.checkEvery("n1", "api-1", 0, "PPPFFPPFFPP")
		}},
		{"a group that only the load balancer tells of", "out 40.1, n1 40.1-?", func(s *scene) {
			balancer := &s.obs.Service.LoadBalancers[0]
			s.obs.Groups = []GroupSettings{{TargetGroup: "api", Health: balancer.TargetGroups[0].Health}}
			balancer.TargetGroups = nil
			s.checkEvery("n1", "api-1", 0, "PPPFF")
		}},
		{"a node that joins later counts from when it knows", "out 40.1, in 70.1, n1 40.1-70.1, n2 46.1-?", func(s *scene) {
			s.checkEvery("n1", "api-1", 0, "PPPFFFPPP")
			s.checkEvery("n2", "api-1", 36, "FF") // and leaves, without having seen it return
		}},
		{"two logs of the same checks count once", "out 40.1, in 70.1, n1 40.1-70.1", func(s *scene) {
			s.checkEvery("n1", "api-1", 0, "PPPFFFPPP")
			for _, c := range slices.Clone(s.obs.Checks) {
				c.Source = "another"
				c.At = c.At.Add(time.Second)
				s.obs.Checks = append(s.obs.Checks, c)
			}
		}},
		{"another group's checks are not this one's", "", func(s *scene) {
			s.checkEvery("n1", "api-1", 0, "PPPPPP")
			groups := &s.obs.Service.LoadBalancers[0].TargetGroups
			*groups = append(*groups, TargetGroup{Name: "other", Health: (*groups)[0].Health})
			for _, c := range slices.Clone(s.obs.Checks) {
				c.TargetGroup, c.Pass = "other", false
				s.obs.Checks = append(s.obs.Checks, c)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t)
			c.checks(s)
			if got := s.checksOf(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			slices.Reverse(s.obs.Checks) // whatever the order in which they arrived
			if got := s.checksOf(); got != c.want {
				t.Errorf("in reverse: got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// api-1 is marked at 75, ejected by its last node at 96.1, stopped at 100, ready at
// 110 and back at the last node at 127.1. Settings: I 10, T 2, U 2, H 2.
func drainedWithChecks(t *testing.T) *scene {
	s := newScene(t)
	s.stop("api-1", 100, 110, true)
	s.checkEvery("n1", "api-1", 0, "PPPPPPPPFFFPPPPPPPPP")
	s.checkEvery("n2", "api-1", 6, "PPPPPPPPFF")
	s.checkEvery("n2", "api-1", 107, "FPPPPPPPPP")
	for _, node := range []string{"n1", "n2"} {
		s.checkEvery(node, "api-2", 3, strings.Repeat("P", 30))
	}
	return s
}

func TestChecksMeasureWhatTheSettingsPredict(t *testing.T) {
	s := drainedWithChecks(t)
	r := s.judge()
	api := r.Targets[0]
	if api.Checks == nil {
		t.Fatal("no checks")
	}
	if c := api.Checks; !c.EjectedAt.Equal(s.at(96.1)) || !c.ReturnedAt.Equal(s.at(127.1)) ||
		c.Eject == nil || *c.Eject != (Bounded{21.106, Upper}) || c.Return == nil || *c.Return != (Bounded{17.106, Upper}) || c.Source != "alb-health" {
		t.Errorf("checks %+v, %+v, %+v", c, c.Eject, c.Return)
	}
	if p := api.Predicted; p.Eject != (Interval{10, 22}) || p.Return != (Interval{10, 22}) {
		t.Errorf("predicted %+v", p)
	}
	if len(api.Checks.Nodes) != 2 || !api.Checks.Nodes[0].EjectedAt.Equal(s.at(90.1)) || !api.Checks.Nodes[1].ReturnedAt.Equal(s.at(127.1)) {
		t.Errorf("nodes %+v", api.Checks.Nodes)
	}
	if api.Ejected != "yes" || api.EjectedBasis[0] != BasisHealthCheckLog {
		t.Errorf("ejected %s by %v", api.Ejected, api.EjectedBasis)
	}
	s.claim(r, ClaimEjectedBeforeStop, Supported, ReasonNoFailure)
	if other := r.Targets[1].Checks; other == nil || !other.EjectedAt.IsZero() || other.Eject != nil {
		t.Errorf("api-2, which was never out: %+v", other)
	}
}

// What polling saw of the same change is not told twice; what only polling saw stays.
func TestStepsComeFromTheChecksRatherThanFromPolling(t *testing.T) {
	s := drainedWithChecks(t)
	steps := func(r Report, target string) (list []string) {
		for _, step := range r.Steps {
			if (step.Kind == StepTargetEjected || step.Kind == StepTargetHealthy) && *step.Target == target {
				list = append(list, fmt.Sprintf("%s %g %s %v", step.Kind, step.At.Sub(s.zero).Seconds(), step.Source, step.Inferred))
			}
		}
		return list
	}
	if got, want := steps(s.judge(), "api-1"), []string{"target.ejected 96.1 alb-health true", "target.healthy 127.1 alb-health true"}; !slices.Equal(got, want) {
		t.Errorf("with checks %q, want %q", got, want)
	}
	s.obs.Checks = nil
	if got, want := steps(s.judge(), "api-1"), []string{"target.ejected 85 states true", "target.healthy 130 states true"}; !slices.Equal(got, want) {
		t.Errorf("by polling alone %q, want %q", got, want)
	}
	// The state went to draining because it was deregistered: no check says that.
	s.checkEvery("n1", "api-1", 0, strings.Repeat("P", 30))
	if got, want := steps(s.judge(), "api-1"), []string{"target.ejected 85 states true", "target.healthy 130 states true"}; !slices.Equal(got, want) {
		t.Errorf("where the checks say nothing of it %q, want %q", got, want)
	}
}

// A target that was stopped while every node's checks still passed was in rotation,
// even where nobody happened to ask for it.
func TestStoppedWhileInByTheChecks(t *testing.T) {
	s := newScene(t)
	s.stop("api-1", 100, 104, true) // traffic says: drained
	s.checkEvery("n1", "api-1", 0, strings.Repeat("P", 30))
	r := s.judge()
	if api := r.Targets[0]; api.Ejected != "no" || api.EjectedBasis[0] != BasisHealthCheckLog {
		t.Errorf("ejected %s by %v", api.Ejected, api.EjectedBasis)
	}
	s.claim(r, ClaimEjectedBeforeStop, Disproved, ReasonStoppedInUse)
}

// Two nodes, and only one of them had ejected the target when it was stopped.
func TestOneNodeThatStillSendsIsEnough(t *testing.T) {
	s := newScene(t)
	s.stop("api-1", 100, 110, true)
	s.checkEvery("n1", "api-1", 0, "PPPPPPPPFFFPPPPPPPPP")
	s.checkEvery("n2", "api-1", 4, "PPPPPPPPPPFPPPPPPPPP")
	r := s.judge()
	if api := r.Targets[0]; api.Ejected != "no" || !api.Checks.EjectedAt.IsZero() || api.Checks.Nodes[0].EjectedAt.IsZero() {
		t.Errorf("ejected %s, %+v", api.Ejected, api.Checks)
	}
	s.claim(r, ClaimEjectedBeforeStop, Disproved, ReasonStoppedInUse)
}

// Without the settings nobody can say how many failures it takes.
func TestChecksNeedTheSettings(t *testing.T) {
	s := drainedWithChecks(t)
	s.obs.Service.LoadBalancers[0].TargetGroups[0].Health = HealthCheck{}
	r := s.judge()
	if r.Targets[0].Checks != nil {
		t.Errorf("checks without settings: %+v", r.Targets[0].Checks)
	}
	s.obs.Groups = []GroupSettings{{TargetGroup: "api", Health: HealthCheck{Interval: 10 * time.Second, Timeout: 2 * time.Second, Unhealthy: 2, Healthy: 2}}}
	if r = s.judge(); r.Targets[0].Checks == nil || !r.Targets[0].Checks.EjectedAt.Equal(s.at(96.1)) {
		t.Errorf("with the load balancer's own settings: %+v", r.Targets[0].Checks)
	}
}
