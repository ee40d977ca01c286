package analysis

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// dips judges and prints when one target was alone, when nobody was there, and what
// became of the claim that somebody always was.
func (s *shape) dips() string {
	r := Judge(s.obs)
	at := func(x Span) string {
		return fmt.Sprintf(" %g–%g", x.From.Sub(s.zero).Seconds(), x.To.Sub(s.zero).Seconds())
	}
	var list []string
	for _, x := range r.SingleTarget {
		list = append(list, x.Target+" alone"+at(x.Span))
	}
	for _, x := range r.ZeroTargets {
		list = append(list, "nobody"+at(x.Span))
	}
	for _, c := range r.Claims {
		if c.ID == ClaimAlwaysOneTarget {
			list = append(list, string(c.State)+" "+c.Reason)
		}
	}
	return strings.Join(list, "; ")
}

// Everybody serves once a second, for a millisecond; so a target that serves nothing
// for up to 3 s is as usual.
func TestWhenATargetIsAlone(t *testing.T) {
	both := func(s *shape, from, to float64) {
		s.serve("alb", "api", "api-1", 1, from, to, false)
		s.serve("alb", "api", "api-2", 1, from, to, false)
	}
	const fine = "supported no_failure"
	for _, c := range []struct {
		name    string
		targets []string
		lay     func(*shape)
		want    string
	}{
		{"nothing happens", []string{"api-1", "api-2"}, func(s *shape) { both(s, 0, 300) }, fine},
		{"a restart: from its last request to its first one", []string{"api-1", "api-2"}, func(s *shape) {
			both(s, 0, 100)
			s.serve("alb", "api", "api-2", 1, 100, 110, false)
			both(s, 110, 300)
			s.restart("api-1", 100.5, 109.5)
		}, "api-2 alone 99–110; " + fine},
		{"a third one that never served does not stand by", []string{"api-1", "api-2", "api-3"}, func(s *shape) {
			both(s, 0, 100)
			s.serve("alb", "api", "api-2", 1, 100, 110, false)
			both(s, 110, 300)
			s.restart("api-1", 100.5, 109.5)
		}, "api-2 alone 99–110; " + fine},
		{"one after the other", []string{"api-1", "api-2"}, func(s *shape) {
			both(s, 0, 100)
			s.serve("alb", "api", "api-2", 1, 100, 110, false)
			both(s, 110, 120)
			s.serve("alb", "api", "api-1", 1, 120, 130, false)
			both(s, 130, 300)
			s.restart("api-1", 100.5, 109.5)
			s.restart("api-2", 120.5, 129.5)
		}, "api-2 alone 99–110; api-1 alone 119–130; " + fine},
		{"marked and never stopped", []string{"api-1", "api-2"}, func(s *shape) { both(s, 0, 300); s.step(StepDrainMarked, "api-1", 100) }, fine},
		{"it began to serve as late as is usual", []string{"api-1", "api-2"}, func(s *shape) {
			s.serve("alb", "api", "api-1", 1, 0, 3, false)
			both(s, 3, 300)
		}, fine},
		{"later: it joined then", []string{"api-1", "api-2"}, func(s *shape) {
			s.serve("alb", "api", "api-1", 1, 0, 4, false)
			both(s, 4, 300)
		}, "api-1 alone 0–4; " + fine},
		{"it served last as early as is usual", []string{"api-1", "api-2"}, func(s *shape) {
			both(s, 0, 297)
			s.serve("alb", "api", "api-1", 1, 297, 300, false)
		}, fine},
		{"earlier: it left then", []string{"api-1", "api-2"}, func(s *shape) {
			both(s, 0, 296)
			s.serve("alb", "api", "api-1", 1, 296, 300, false)
		}, "api-1 alone 295–300; " + fine},
		{"two make room for a new one, and nobody tells when they stop", []string{"api-1", "api-2", "new"}, func(s *shape) {
			s.obs.Deploy.Kind = KindBlueGreen
			both(s, 0, 298)
			s.serve("alb", "api", "new", 1, 150, 300, false)
			s.step(StepTargetRegistered, "new", 149)
			s.step(StepTargetDeregistered, "api-1", 200)
			s.step(StepTargetDeregistered, "api-2", 200)
		}, "new alone 297–300; " + fine},
	} {
		s := newShape(t, c.targets...)
		c.lay(s)
		if got := s.dips(); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}

// Both targets restart, api-1 from 100.5 and api-2 from 105, each for half a second, and
// neither serves from 99 to 110: perhaps there was nobody. A refusal by the load
// balancer shows it.
func TestWhatShowsThatNobodyWasThere(t *testing.T) {
	// refused lays down a failure that no target answered, one by one; counted one that
	// was only counted.
	refused := func(s *shape, from, to float64) *Request {
		s.obs.Requests = append(s.obs.Requests, Request{
			CellKey: CellKey{Second: s.at(from).Unix(), Source: "alb", TargetGroup: "api", Class: ClassUser, Outcome: OutcomeLB5xx, Route: OtherRoute, Status: 503},
			Start:   s.at(from), End: s.at(to),
		})
		return &s.obs.Requests[len(s.obs.Requests)-1]
	}
	counted := func(s *shape, from, to float64) *Cell {
		s.obs.Cells = append(s.obs.Cells, Cell{
			CellKey: CellKey{Second: s.at(from).Unix(), Source: "alb", TargetGroup: "api", Class: ClassUser, Outcome: OutcomeLB5xx, Route: OtherRoute, Status: 503},
			Count:   1, First: s.at(from), Last: s.at(to),
		})
		return &s.obs.Cells[len(s.obs.Cells)-1]
	}
	const perhaps, surely = "inconclusive served_unknown", "nobody 102–106; disproved zero_targets"
	for _, c := range []struct {
		name string
		lay  func(*shape)
		want string
	}{
		{"nothing", func(*shape) {}, perhaps},
		{"two refusals, and what lies between", func(s *shape) { refused(s, 102, 103); refused(s, 105, 106) }, surely},
		{"before any group was chosen", func(s *shape) { refused(s, 102, 106).TargetGroup = "" }, surely},
		{"in another group", func(s *shape) { refused(s, 102, 106).TargetGroup = "web" }, perhaps},
		{"in a log that does not count", func(s *shape) { refused(s, 102, 106).Source = "edge" }, perhaps},
		{"one whose outcome nobody knows is no refusal", func(s *shape) { refused(s, 102, 106).Outcome = OutcomeUnknown }, perhaps},
		{"one that came while they still served", func(s *shape) { refused(s, 98, 103) }, "nobody 99–103; disproved zero_targets"},
		{"one that ended while they still served", func(s *shape) { refused(s, 97, 98) }, perhaps},
		{"one that ended when they served again", func(s *shape) { refused(s, 102, 110) }, perhaps},
		{"only counted", func(s *shape) { counted(s, 102, 106) }, surely},
		{"counted, before any group was chosen", func(s *shape) { counted(s, 102, 106).TargetGroup = "" }, surely},
		{"counted in another group", func(s *shape) { counted(s, 102, 106).TargetGroup = "web" }, perhaps},
		{"counted in a log that does not count", func(s *shape) { counted(s, 102, 106).Source = "edge" }, perhaps},
		{"counted, and no refusal", func(s *shape) { counted(s, 102, 106).Outcome = OutcomeUnknown }, perhaps},
		{"counted, and the last one ended while they still served", func(s *shape) { counted(s, 97, 98) }, perhaps},
		{"counted, and the last one ended when they served again", func(s *shape) { counted(s, 102, 110) }, perhaps},
		{"both are stopped at one time: from the later stop to the earlier readiness", func(s *shape) {
			for i := range s.obs.Steps {
				if x := &s.obs.Steps[i]; x.Target == "api-1" && x.Kind == StepAppReady {
					x.At = s.at(105.25)
				}
			}
		}, "nobody 105–105.25; disproved zero_targets"},
		{"a refusal before the deploy, and nobody seen when it began", func(s *shape) {
			s.obs.Deploy.StartedAt = s.at(100.5)
			s.obs.Steps[0].At = s.at(100.5)
			refused(s, 99.5, 100)
		}, "nobody 99.5–100; " + perhaps},
	} {
		s := newShape(t, "api-1", "api-2")
		for _, target := range []string{"api-1", "api-2"} {
			s.serve("alb", "api", target, 1, 0, 100, false)
			s.serve("alb", "api", target, 1, 110, 300, false)
		}
		s.restart("api-1", 100.5, 101)
		s.restart("api-2", 105, 105.5)
		c.lay(s)
		if got := s.dips(); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}

// A window that has not begun holds no time in which a target could be missed.
func TestRotationOfNoTime(t *testing.T) {
	b := newTable()
	for _, to := range []time.Time{b.at(100), b.at(99)} {
		if in := b.inRotation(b.life("api-1"), b.at(100), to); len(in) != 0 {
			t.Errorf("until %s: %v", b.seconds(to), in)
		}
	}
}
