package analysis

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Nobody told any step of a target, and both are out of rotation from 150 to 160: of the
// requests every 50 ms, 200 of users and 50 probes find nobody. Each is answered within
// 7 ms.
func TestAnOutageThatNoStepTells(t *testing.T) {
	for _, c := range []struct {
		name   string
		lay    func(*scene)
		single string
	}{
		{"no step of any target", func(*scene) {}, ""},
		{"one target is drained, and the other drops out", func(s *scene) { s.stop("api-1", 140, 150, true) }, "api-2 124.9–150 api-2 160–170"},
	} {
		s := newScene(t)
		c.lay(s)
		for _, target := range []string{"api-1", "api-2"} {
			s.out[target] = append(s.out[target], span{s.at(150), s.at(160)})
		}
		r := s.judge()
		s.claim(r, ClaimAlwaysOneTarget, Disproved, ReasonZeroTargets)
		s.claim(r, ClaimNoUserFailureCaused, Disproved, ReasonCausedByDeploy)
		s.claim(r, ClaimNoProbeFailureCaused, Disproved, ReasonCausedByDeploy)
		if got := fmt.Sprint(r.Totals[ClassUser].Causes, r.Totals[ClassProbe].Causes); got != "map[deploy:200] map[deploy:50]" {
			t.Errorf("%s: causes %s", c.name, got)
		}
		if len(r.ZeroTargets) != 1 || r.ZeroTargets[0].TargetGroup != "api" || r.ZeroTargets[0].From.Time != s.at(150) || r.ZeroTargets[0].To.Time != s.at(159.957) {
			t.Errorf("%s: zero %+v", c.name, r.ZeroTargets)
		}
		found := ""
		for _, f := range r.Findings {
			if f.Code == "zero-targets" {
				found += fmt.Sprint(f.Values)
			}
			if f.Code == "restart-before-eject" {
				t.Errorf("%s: api-1 is blamed: %+v", c.name, f)
			}
		}
		if found != "map[failed_user:200 seconds:9.957]" {
			t.Errorf("%s: found %q", c.name, found)
		}
		if windows := r.Targets[0].FailureWindows; len(windows) > 0 {
			t.Errorf("%s: windows of api-1 %+v", c.name, windows)
		}
		var single []string
		for _, x := range r.SingleTarget {
			single = append(single, fmt.Sprintf("%s %.4g–%.4g", x.Target, x.From.Sub(s.zero).Seconds(), x.To.Sub(s.zero).Seconds()))
		}
		if got := strings.Join(single, " "); got != c.single {
			t.Errorf("%s: single %q, want %q", c.name, got, c.single)
		}
	}
}

// The targets of group api serve all the time. To group web's only target nothing is ever
// sent; the deploy starts at 60.
func TestAGroupThatNeverServed(t *testing.T) {
	refused := func(s *shape, group string, n int, from, to float64) { s.serve("alb", group, "", n, from, to, true) }
	const fine, perhaps = "supported no_failure", "inconclusive served_unknown"
	for _, c := range []struct {
		name string
		lay  func(*shape)
		want string
	}{
		{"nobody asks for it", func(*shape) {}, fine},
		{"everybody is refused", func(s *shape) { refused(s, "web", 10, 100, 110) }, "nobody 100–109.901; disproved zero_targets"},
		{"only counted", func(s *shape) { refused(s, "web", 10, 100, 110); s.obs.Requests = nil }, "nobody 100–109.901; disproved zero_targets"},
		{"twice", func(s *shape) { refused(s, "web", 1, 200, 201); refused(s, "web", 1, 100, 101) }, "nobody 100–200.001; disproved zero_targets"},
		{"once", func(s *shape) { refused(s, "web", 1, 100, 101) }, "nobody 100–100.001; disproved zero_targets"},
		{"once, in a moment", func(s *shape) {
			refused(s, "web", 1, 100, 101)
			s.obs.Requests[0].End = s.obs.Requests[0].Start
		}, perhaps},
		{"as the deploy starts", func(s *shape) { refused(s, "web", 1, 60, 61) }, "nobody 60–60.001; disproved zero_targets"},
		{"before it too", func(s *shape) { refused(s, "web", 10, 59, 110) }, perhaps},
		{"by a rule that names no group", func(s *shape) { refused(s, "", 10, 100, 110) }, fine},
		{"by such a rule, and by name", func(s *shape) { refused(s, "", 10, 100, 120); refused(s, "web", 10, 105, 110) }, "nobody 105–109.901; disproved zero_targets"},
		{"a group of somebody else's", func(s *shape) { refused(s, "shop", 10, 100, 110) }, fine},
	} {
		s := newShape(t, "api-1", "api-2", "web-1")
		lb := &s.obs.Service.LoadBalancers[0]
		lb.TargetGroups = append(lb.TargetGroups, TargetGroup{Name: "web"})
		s.serve("alb", "api", "api-1", 10, 0, 300, false)
		s.serve("alb", "api", "api-2", 10, 0, 300, false)
		c.lay(s)
		if got := s.dips(); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}

// Traffic is switched at 100 to a group none of whose targets is in rotation yet, and back
// at 130. What it was refused is the deploy's doing.
func TestSwitchedToAGroupWithoutTargets(t *testing.T) {
	s := newShape(t, "blue", "green")
	s.obs.Deploy.Kind = KindBlueGreen
	lb := &s.obs.Service.LoadBalancers[0]
	lb.TargetGroups = append(lb.TargetGroups, TargetGroup{Name: "green"})
	s.serve("alb", "api", "blue", 10, 0, 100, false)
	s.serve("alb", "green", "", 10, 100, 130, true)
	s.serve("alb", "api", "blue", 10, 130, 300, false)
	s.step(StepAppReady, "green", 90)
	s.step(StepTrafficSwitched, "", 100)
	s.step(StepTrafficSwitched, "", 130)
	r := Judge(s.obs)
	s.claim(r, ClaimNoUserFailureCaused, Disproved, ReasonCausedByDeploy)
	s.claim(r, ClaimAlwaysOneTarget, Disproved, ReasonZeroTargets)
	if got := r.Totals[ClassUser].Causes[CauseDeploy]; got != 300 {
		t.Errorf("%d put down to the deploy, want 300: %v", got, r.Totals[ClassUser].Causes)
	}
}

// Both targets of a group serve ten requests a second, each 1 ms long, in the first .901
// of every second, and none from 100 to 110.
func TestWhenAGroupIsEmpty(t *testing.T) {
	// refuse lets n requests a second find nobody.
	refuse := func(s *shape, group string, n int, from, to float64, status int) {
		cells, requests := len(s.obs.Cells), len(s.obs.Requests)
		s.serve("alb", group, "", n, from, to, true)
		for i := range s.obs.Cells[cells:] {
			s.obs.Cells[cells+i].Status = status
		}
		for i := range s.obs.Requests[requests:] {
			s.obs.Requests[requests+i].Status = status
		}
	}
	kind := func(s *shape, kind string) { s.obs.Service.LoadBalancers[0].AccessLogs[0].Kind = kind }
	const fine, perhaps = "supported no_failure", "inconclusive served_unknown"
	for _, c := range []struct {
		name string
		lay  func(*shape)
		want string
	}{
		{"nobody is refused", func(*shape) {}, perhaps},
		{"everybody is refused", func(s *shape) { refuse(s, "api", 10, 100, 110, 503) }, "nobody 100–109.901; disproved zero_targets"},
		{"with a 502, which does not say that", func(s *shape) { refuse(s, "api", 10, 100, 110, 502) }, perhaps},
		{"by nginx, with a 502", func(s *shape) { kind(s, "nginx"); refuse(s, "api", 10, 100, 110, 502) }, "nobody 100–109.901; disproved zero_targets"},
		{"by nginx of whatever format, with a 502", func(s *shape) { kind(s, "nginx-json"); refuse(s, "api", 10, 100, 110, 502) }, "nobody 100–109.901; disproved zero_targets"},
		{"by a limit of nginx, with a 503", func(s *shape) { kind(s, "nginx"); refuse(s, "api", 10, 100, 110, 503) }, perhaps},
		{"by one that names no group", func(s *shape) { refuse(s, "", 10, 100, 110, 503) }, "nobody 100–109.901; disproved zero_targets"},
		{"a gateway's timeout is no refusal", func(s *shape) { refuse(s, "api", 10, 100, 110, 504) }, perhaps},
		{"an answer by the target itself is none", func(s *shape) {
			refuse(s, "api", 10, 100, 110, 503)
			for i := range s.obs.Cells {
				if c := &s.obs.Cells[i]; c.Status == 503 {
					c.Outcome = OutcomeUnknown
				}
			}
			for i := range s.obs.Requests {
				s.obs.Requests[i].Outcome = OutcomeUnknown
			}
		}, perhaps},
		{"in a log that does not count", func(s *shape) {
			refuse(s, "api", 10, 100, 110, 503)
			for i := range s.obs.Cells {
				if c := &s.obs.Cells[i]; c.Status == 503 {
					c.Source = "edge"
				}
			}
			for i := range s.obs.Requests {
				s.obs.Requests[i].Source = "edge"
			}
		}, perhaps},
		{"only counted", func(s *shape) { refuse(s, "api", 10, 100, 110, 503); s.obs.Requests = nil }, "nobody 100–109.901; disproved zero_targets"},
		{"another group is refused", func(s *shape) { refuse(s, "web", 10, 100, 110, 503) }, perhaps},
		// One in 10 s could be chance where as much comes in 290 s: 2 of 2 within 1/30 is not.
		{"one refusal", func(s *shape) { refuse(s, "api", 1, 105, 106, 503) }, perhaps},
		{"two", func(s *shape) { refuse(s, "api", 1, 105, 107, 503) }, "nobody 105–106.001; disproved zero_targets"},
		{"as often as ever: a rule's own answer", func(s *shape) { refuse(s, "", 1, 0, 300, 503) }, perhaps},
		{"some that were on their way end in it", func(s *shape) {
			refuse(s, "api", 10, 100, 110, 503)
			s.obs.Cells = append(s.obs.Cells, Cell{CellKey: CellKey{Second: s.at(99).Unix(), Source: "alb", TargetGroup: "api", Target: "api-1", Class: ClassUser, Outcome: OutcomeOK, Route: OtherRoute, Status: 200, TargetStatus: 200}, Count: 1, First: s.at(99.5), Last: s.at(104.55)})
		}, "nobody 100–104.501; nobody 104.6–109.901; disproved zero_targets"},
		{"all are sent to one that does not answer", func(s *shape) { s.serve("alb", "api", "api-1", 10, 100, 110, true) }, perhaps},
	} {
		s := newShape(t, "api-1", "api-2")
		for _, target := range []string{"api-1", "api-2"} {
			s.serve("alb", "api", target, 10, 0, 100, false)
			s.serve("alb", "api", target, 10, 110, 300, false)
		}
		c.lay(s)
		if got := s.dips(); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}

// A load balancer's answers are no news of a group that another one has, and what a
// group serves does not hide that another one, of the same targets, serves nobody.
func TestEmptyGroupBesideAnother(t *testing.T) {
	for _, c := range []struct {
		name, source, group string
		want                string
	}{
		{"its own log names it", "alb", "api", "nobody 100–109.901; disproved zero_targets"},
		{"its own log names none", "alb", "", "nobody 100–109.901; disproved zero_targets"},
		{"another's log names none", "alb2", "", "inconclusive served_unknown"},
	} {
		s := newShape(t, "api-1", "api-2")
		s.obs.Service.LoadBalancers = append(s.obs.Service.LoadBalancers, LoadBalancer{
			Name: "internal", AccessLogs: []AccessLog{{Name: "alb2", Kind: "alb", Counts: true}}, TargetGroups: []TargetGroup{{Name: "int"}},
		})
		s.log("alb2")
		for _, target := range []string{"api-1", "api-2"} {
			s.serve("alb", "api", target, 10, 0, 100, false)
			s.serve("alb", "api", target, 10, 110, 300, false)
			s.serve("alb2", "int", target, 10, 0, 300, false)
		}
		s.serve(c.source, c.group, "", 10, 100, 110, true)
		if got := s.dips(); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}

// Where nobody could see, silence is the log's own, and no absence of targets.
func TestSilenceOfABlindLog(t *testing.T) {
	s := newShape(t, "api-1", "api-2")
	for _, target := range []string{"api-1", "api-2"} {
		s.serve("alb", "api", target, 10, 0, 100, false)
		s.serve("alb", "api", target, 10, 110, 300, false)
	}
	s.obs.Objects = append(s.obs.Objects, Object{Source: "alb", Key: "torn", From: s.at(100), To: s.at(110), Error: "permission denied"})
	if got := s.dips(); got != "inconclusive source_blind" {
		t.Error(got)
	}
}

// Of short pauses, the longest is not long for itself; one that is over three times as
// long as the others is, and so is one in which somebody was refused.
func TestLongHoles(t *testing.T) {
	zero := time.Unix(0, 0)
	for _, c := range []struct {
		lengths []int // negative: somebody was refused
		want    string
	}{
		{[]int{10}, "true"},
		{[]int{-10}, "true"},
		{[]int{1, 3}, "false false"},
		{[]int{1, 4}, "false true"},
		{[]int{1, 4, 5}, "false false false"},
		{[]int{1, -4, 5}, "false false true"},
		{[]int{1, -4, -3}, "true true false"},
	} {
		var gaps []span
		refused := make([][]refusal, len(c.lengths))
		for i, n := range c.lengths {
			if n < 0 {
				n, refused[i] = -n, []refusal{{n: 1}}
			}
			gaps = append(gaps, span{zero, zero.Add(time.Duration(n))})
		}
		if got := strings.Trim(fmt.Sprint(longHoles(gaps, refused)), "[]"); got != c.want {
			t.Errorf("%v: %s, want %s", c.lengths, got, c.want)
		}
	}
}
