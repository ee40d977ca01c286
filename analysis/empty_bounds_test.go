package analysis

import "testing"

const (
	neverEmpty   = "supported no_failure"
	perhapsEmpty = "inconclusive served_unknown"
	wasEmpty     = "; disproved zero_targets"
)

// refuse lets one request find nobody.
func (s *shape) refuse(from, to float64) *Request {
	key := CellKey{Second: s.at(from).Unix(), Source: "alb", TargetGroup: "api", Class: ClassUser, Outcome: OutcomeLB5xx, Route: OtherRoute, Status: 503}
	s.obs.Cells = append(s.obs.Cells, Cell{CellKey: key, Count: 1, First: s.at(from), Last: s.at(to)})
	s.obs.Requests = append(s.obs.Requests, Request{CellKey: key, Start: s.at(from), End: s.at(to)})
	return &s.obs.Requests[len(s.obs.Requests)-1]
}

// send sends one request to api-1, which answers it or not.
func (s *shape) send(from, to float64, answered bool) {
	s.serve("alb", "api", "api-1", 1, from, from+1, !answered)
	c := &s.obs.Cells[len(s.obs.Cells)-1]
	if c.Last = s.at(to); !answered {
		s.obs.Requests[len(s.obs.Requests)-1].End = s.at(to)
	}
}

func (s *shape) both(perSecond int, from, to float64) {
	for _, target := range []string{"api-1", "api-2"} {
		s.serve("alb", "api", target, perSecond, from, to, false)
	}
}

type emptyCase struct {
	name string
	lay  func(*shape)
	want string
}

func tryEmpty(t *testing.T, lay func(*shape), cases []emptyCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newShape(t, "api-1", "api-2")
			lay(s)
			c.lay(s)
			if got := s.dips(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// A group serves in the first .901 s of every second. A refusal in the .099 s after may
// mean that nobody was there, unless the load balancer refuses while the group serves
// too: it does so by a rule of its own.
func TestRefusalsInUsualPauses(t *testing.T) {
	tryEmpty(t, func(s *shape) { s.both(10, 0, 300) }, []emptyCase{
		{"one", func(s *shape) { s.refuse(150.95, 150.951) }, perhapsEmpty},
		{"one while it serves", func(s *shape) { s.refuse(60.45, 60.451) }, neverEmpty},
		{"one in a pause, and one while it serves", func(s *shape) { s.refuse(150.95, 150.951); s.refuse(60.45, 60.451) }, neverEmpty},
		{"one in a pause, and one that began while it served", func(s *shape) { s.refuse(150.95, 150.951); s.refuse(60.85, 60.95) }, neverEmpty},
		{"one in a pause, and one that ended when it served again", func(s *shape) { s.refuse(150.95, 150.951); s.refuse(160.95, 161.05) }, neverEmpty},
		{"one in a pause, and one beyond the window", func(s *shape) { s.refuse(150.95, 150.951); s.refuse(310.95, 310.951) }, perhapsEmpty},
		{"the same, only counted", func(s *shape) {
			s.refuse(150.95, 150.951)
			s.refuse(310.95, 310.951)
			s.obs.Requests = nil
		}, perhapsEmpty},
		{"one in a pause, and one that a target failed", func(s *shape) { s.refuse(150.95, 150.951); s.send(60.45, 60.451, false) }, perhapsEmpty},
	})
}

// A hole is where nobody was if more was refused in it than chance would put there, out
// of all that was refused in 300 s (1 %).
func TestRefusalsInALongHole(t *testing.T) {
	// hole lets nobody be sent anything after a moment until the second 103.
	hole := func(s *shape, from float64) {
		s.both(10, 0, 100)
		s.send(99.05, from, true)
		s.both(10, 103, 300)
	}
	tryEmpty(t, func(*shape) {}, []emptyCase{
		{"one in 2.95 s: 0.98 %", func(s *shape) { hole(s, 100.05); s.refuse(101, 101.001) }, "nobody 101–101.001" + wasEmpty},
		{"one in 3.05 s: 1.02 %", func(s *shape) { hole(s, 99.95); s.refuse(101, 101.001) }, perhapsEmpty},
		{"two of five in 10.1 s: 1.1 %", func(s *shape) {
			s.both(10, 0, 100)
			s.both(10, 110, 300)
			for _, at := range []float64{50.95, 51.95, 52.95, 105, 106} {
				s.refuse(at, at+.001)
			}
		}, perhapsEmpty},
		{"two of four: 0.6 %", func(s *shape) {
			s.both(10, 0, 100)
			s.both(10, 110, 300)
			for _, at := range []float64{50.95, 51.95, 105, 106} {
				s.refuse(at, at+.001)
			}
		}, "nobody 105–106.001" + wasEmpty},
	})
}

// Of a hole in which nothing was refused nobody can say, if it is unusually long and
// lasts over a second.
func TestHolesWithoutRefusals(t *testing.T) {
	tryEmpty(t, func(*shape) {}, []emptyCase{
		{"a second", func(s *shape) { s.both(10, 0, 100); s.send(99.05, 99.999999, true); s.both(10, 101, 300) }, neverEmpty},
		{"a little more", func(s *shape) { s.both(10, 0, 100); s.send(99.05, 99.999998, true); s.both(10, 101, 300) }, perhapsEmpty},
		{"two seconds, as usual", func(s *shape) {
			for at := 0.0; at < 300; at += 2 {
				s.both(1, at, at+1)
			}
		}, neverEmpty},
	})
}

// A group is sent nothing from 100 to 110, when ten requests a second are refused, but
// for what interrupts them.
func TestWhatInterruptsAnEmptyGroup(t *testing.T) {
	// handled is the application's word that it answered a probe's request; group is
	// what the access log says of it.
	handled := func(s *shape, group string) {
		s.obs.Handled = append(s.obs.Handled, HandledRequest{Source: "api-1.log", Target: "api-1", Run: "run", Seq: 1, At: s.at(105.05), Status: 200})
		key := CellKey{Second: s.at(105).Unix(), Source: "alb", TargetGroup: group, Class: ClassProbe, Outcome: OutcomeOK, Route: OtherRoute, Status: 200}
		s.obs.Requests = append(s.obs.Requests, Request{CellKey: key, ProbeRun: "run", ProbeSeq: 1, Start: s.at(105.049), End: s.at(105.051)})
	}
	tryEmpty(t, func(s *shape) {
		s.both(10, 0, 100)
		s.both(10, 110, 300)
		s.serve("alb", "api", "", 10, 100, 110, true)
	}, []emptyCase{
		{"nothing", func(*shape) {}, "nobody 100–109.901" + wasEmpty},
		{"one is sent, and answered late", func(s *shape) { s.send(105.05, 108.55, true) }, "nobody 100–105.001; nobody 105.1–108.501; nobody 108.6–109.901" + wasEmpty},
		{"one is sent, and never answered", func(s *shape) { s.send(105.05, 108.55, false) }, "nobody 100–105.001; nobody 105.1–109.901" + wasEmpty},
		{"a target's own word", func(s *shape) { handled(s, "api") }, "nobody 100–105.001; nobody 105.1–109.901" + wasEmpty},
		{"a target's own word, of no group", func(s *shape) { handled(s, "") }, "nobody 100–105.001; nobody 105.1–109.901" + wasEmpty},
		{"a target's own word, of another group", func(s *shape) { handled(s, "web") }, "nobody 100–109.901" + wasEmpty},
	})
}

// A load balancer of which no groups are known may have meant any.
func TestRefusalsOfALoadBalancerWithoutGroups(t *testing.T) {
	tryEmpty(t, func(s *shape) {
		s.obs.Service.LoadBalancers[0].TargetGroups = nil
		s.both(10, 0, 100)
		s.both(10, 110, 300)
	}, []emptyCase{
		{"which its log does not name", func(s *shape) { s.serve("alb", "", "", 10, 100, 110, true) }, "nobody 100–109.901" + wasEmpty},
		{"a gateway's timeouts, only counted", func(s *shape) {
			n := len(s.obs.Cells)
			s.serve("alb", "", "", 10, 100, 110, true)
			for i := range s.obs.Cells[n:] {
				s.obs.Cells[n+i].Status = 504
			}
			s.obs.Requests = nil
		}, perhapsEmpty},
	})
}

// A log has whole seconds: what ended in second 100 did so before 101.
func TestEmptyGroupInWholeSeconds(t *testing.T) {
	whole := func(s *shape, from, to float64) {
		for second := from; second < to; second++ {
			s.both(1, second, second+1)
			for i := range 2 {
				s.obs.Cells[len(s.obs.Cells)-1-i].Last = s.at(second)
			}
		}
	}
	tryEmpty(t, func(s *shape) { whole(s, 0, 100); whole(s, 110, 300) }, []emptyCase{
		{"refused from 100 to 110", func(s *shape) {
			for second := 100.0; second < 110; second++ {
				s.refuse(second, second)
			}
		}, "nobody 101–109" + wasEmpty},
	})
	// It serves in even seconds only. In an odd one something is refused, which may mean
	// that nobody was there, unless something surely was refused while it served.
	tryEmpty(t, func(s *shape) {
		for second := 0.0; second < 300; second += 2 {
			whole(s, second, second+1)
		}
		s.refuse(201, 201)
	}, []emptyCase{
		{"nothing else", func(*shape) {}, perhapsEmpty},
		{"in an even second", func(s *shape) { s.refuse(50, 50) }, neverEmpty},
		{"ended in an odd second, and may have begun in the one before", func(s *shape) { s.refuse(50.7, 51) }, perhapsEmpty},
		{"ended in an even second, and may have begun in the one before", func(s *shape) { s.refuse(51.7, 52) }, perhapsEmpty},
		{"in the last second, in which it served as well", func(s *shape) { whole(s, 299, 300); s.refuse(299, 299) }, neverEmpty},
	})
}

// A failure is meant for the group that its log names, or for its target's, or nobody
// knows for which.
func TestForWhichGroupAFailureWasMeant(t *testing.T) {
	b := newTable()
	for _, c := range []struct {
		group, target, asked string
		want                 bool
	}{
		{"api", "api-1", "api", true},
		{"web", "api-1", "web", true},
		{"web", "api-1", "api", false},
		{"", "api-1", "api", true},
		{"", "api-1", "web", false},
		{"", "", "api", true},
		{"web", "", "api", false},
		{"", "another", "api", true},
	} {
		if got := b.meantFor(&failure{group: c.group, target: c.target}, c.asked); got != c.want {
			t.Errorf("of group %q and target %q, for %s: %v", c.group, c.target, c.asked, got)
		}
	}
}
