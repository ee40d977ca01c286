package analysis

import (
	"encoding/json"
	"slices"
	"testing"
	"time"
)

// Each case is evidence that once gave a verdict it does not bear.
func TestWhatMustNotPassForGoodNews(t *testing.T) {
	failAt := func(s *scene, target string, at ...float64) {
		for _, a := range at {
			r := Request{Start: s.at(a), End: s.at(a + .005)}
			r.CellKey = CellKey{Second: r.Start.Unix(), Source: "alb", Node: "10.0.0.9", TargetGroup: "api", Target: target, Class: ClassUser, Outcome: OutcomeLB5xx, Route: OtherRoute, Status: 502}
			s.obs.Requests = append(s.obs.Requests, r)
			s.obs.Cells = append(s.obs.Cells, Cell{CellKey: r.CellKey, Count: 1, First: r.Start, Last: r.End})
		}
	}
	dropRows := func(s *scene, from, to float64) {
		s.obs.Cells = slices.DeleteFunc(s.obs.Cells, func(c Cell) bool { return c.Second >= s.at(from).Unix() && c.Second < s.at(to).Unix() })
	}
	// refuse answers n requests a second on a route of its own with 404.
	refuse := func(s *scene, route string, from, to float64, n int) {
		for at := from; at < to; at++ {
			k := CellKey{Second: s.at(at).Unix(), Source: "alb", Node: "10.0.0.9", TargetGroup: "api", Target: "api-2", Class: ClassUser, Outcome: OutcomeClientError, Route: route, Status: 404, TargetStatus: 404}
			s.obs.Cells = append(s.obs.Cells, Cell{CellKey: k, Count: n, First: s.at(at + .1), Last: s.at(at + .9)})
		}
	}
	// abort lets clients of n of the requests of each second go away, which api-2 had.
	abort := func(s *scene, from, to float64, n int) {
		for i := range s.obs.Cells {
			if c := &s.obs.Cells[i]; c.Class == ClassUser && c.Target == "api-2" && c.Outcome == OutcomeOK && within(time.Unix(c.Second, 0), s.at(from), s.at(to)) {
				k := c.CellKey
				k.Outcome, k.Status, k.TargetStatus = OutcomeClientAbort, 460, 0
				s.obs.Cells = append(s.obs.Cells, Cell{CellKey: k, Count: n, First: c.First, Last: c.Last})
			}
		}
	}
	cases := []struct {
		name   string
		build  func(*scene)
		bend   func(*scene)
		state  VerdictState
		reason string
	}{
		{"lines that were not understood", nil, func(s *scene) { s.obs.Objects[2].SetAside = 40 }, Inconclusive, ReasonIncomplete},
		{"such lines before the deploy", nil, func(s *scene) { s.obs.Objects[0].SetAside = 40 }, Supported, ReasonNoFailure},
		{"a log that falls silent, without probes to tell", nil, func(s *scene) { s.obs.Probes, s.obs.Known = nil, nil; dropRows(s, 100, 110) }, Inconclusive, ReasonIncomplete},
		{"the deploy has not reported", nil, func(s *scene) { s.obs.Deploy.ReportedAt = time.Time{} }, Inconclusive, ReasonNotOver},
		{"it reports before it starts", nil, func(s *scene) { s.obs.Deploy.ReportedAt = s.at(50) }, Inconclusive, ReasonNotOver},
		{"a step of its own lies beyond the window", nil, func(s *scene) { s.step(StepRestartBegan, "api-1", 310) }, Inconclusive, ReasonNotOver},
		{"its start is told after its own stops", func(s *scene) { s.stop("api-1", 80, 95, false) }, func(s *scene) {
			s.obs.Deploy.StartedAt = s.at(120)
			s.obs.Steps[0].At = s.at(120)
		}, Disproved, ReasonCausedByDeploy},
		{"steps by a clock 40 s ahead of the application's", func(s *scene) { s.kill("api-1", 70, 75) }, func(s *scene) {
			s.step(StepRestartBegan, "api-1", 110)
			s.obs.Deploy.StartedAt = s.at(100)
			s.obs.Steps[0].At = s.at(100)
		}, Disproved, ReasonCausedByDeploy},
		{"failures that come together, with one in the baseline", nil, func(s *scene) { failAt(s, "api-2", 20, 150, 150.5, 151) }, Inconclusive, ReasonUnexplained},
		{"a kind that the baseline has, in the target's own drain", func(s *scene) { s.stop("api-1", 130, 145, true) }, func(s *scene) { failAt(s, "api-1", 20); failAt(s, "api-1", 118) }, Disproved, ReasonCausedByDeploy},
		{"baseline failures of the deploy before", nil, func(s *scene) {
			s.obs.Steps = append(s.obs.Steps, Step{Deploy: "d0", Kind: StepRestartBegan, Target: "api-2", At: s.at(10)}, Step{Deploy: "d0", Kind: StepAppReady, Target: "api-2", At: s.at(40)})
			s.obs.Neighbors = []Deploy{{ID: "d0", StartedAt: s.at(5), ReportedAt: s.at(45)}}
			for i := range 90 {
				failAt(s, "api-2", 12+float64(i)/4)
			}
			failAt(s, "api-2", 150, 170, 190, 210, 230)
		}, Inconclusive, ReasonUnexplained},
		{"refusals with no baseline to compare", nil, func(s *scene) {
			dropRows(s, 0, 60)
			s.obs.Probes = slices.DeleteFunc(s.obs.Probes, func(p ProbeRequest) bool { return p.Sent.Before(s.at(60)) })
			s.turn(ClassUser, 60, 300, OutcomeClientError, 404)
		}, Inconclusive, ReasonSurge},
		{"a route that nobody asked for before, and that answers all with 404", nil, func(s *scene) { refuse(s, "order", 120, 180, 5) }, Inconclusive, ReasonSurge},
		{"a single 404 on such a route", nil, func(s *scene) { refuse(s, "order", 120, 121, 1) }, Supported, ReasonNoFailure},
		{"aborts within 4 s of a stop: no more than the baseline's 60 s allow", func(s *scene) { s.stop("api-1", 110, 115, true) }, func(s *scene) { abort(s, 111, 115, 5) }, Inconclusive, ReasonSurge},
		{"as many, spread over the window", func(s *scene) { s.stop("api-1", 110, 115, true) }, func(s *scene) {
			for at := 5.0; at < 300; at += 15 {
				abort(s, at, at+1, 1)
			}
		}, Supported, ReasonNoFailure},
		{"a page that its reader left", nil, func(s *scene) { abort(s, 111, 112, 6) }, Supported, ReasonNoFailure},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t)
			if c.build != nil {
				c.build(s)
			}
			s.prepare()
			c.bend(s)
			r := Judge(s.obs)
			s.claim(r, ClaimNoUserFailureCaused, c.state, c.reason)
			for _, condition := range r.Verdict.Conditions {
				if condition.Code == "census" && c.state == Inconclusive && c.reason == ReasonIncomplete {
					t.Error("the log is called a census")
				}
			}
		})
	}
}

func TestPauseInTrafficIsNoAbsenceOfTargets(t *testing.T) {
	s := newShape(t, "api-1", "api-2")
	for _, target := range []string{"api-1", "api-2"} {
		s.serve("alb", "api", target, 10, 0, 100, false)
		s.serve("alb", "api", target, 10, 163, 300, false)
	}
	s.restart("api-1", 105, 108)
	s.restart("api-2", 155, 158)
	r := Judge(s.obs)
	if len(r.ZeroTargets) != 0 {
		t.Errorf("zero targets %+v", r.ZeroTargets)
	}
	s.claim(r, ClaimAlwaysOneTarget, Inconclusive, ReasonServedUnknown)
}

func TestEjectionIsJudgedByItsOwnStop(t *testing.T) {
	s := newScene(t)
	s.stop("api-1", 130, 145, true)
	s.prepare()
	r := Request{Start: s.at(30), End: s.at(30.1)}
	r.CellKey = CellKey{Second: r.Start.Unix(), Source: "alb", Target: "api-1", Class: ClassUser, Outcome: OutcomeTarget5xx, Route: OtherRoute, Status: 500, TargetStatus: 500}
	s.obs.Requests = append(s.obs.Requests, r)
	s.obs.Cells = append(s.obs.Cells, Cell{CellKey: r.CellKey, Count: 1, First: r.Start, Last: r.End})
	if got := Judge(s.obs).Targets[0]; got.Ejected != "yes" {
		t.Errorf("an old failure makes it %s by %v", got.Ejected, got.EjectedBasis)
	}
}

func TestTargetWithoutARequestHasARow(t *testing.T) {
	s := newScene(t)
	s.prepare()
	handled := []HandledRequest{}
	for _, h := range s.obs.Handled {
		if h.Target == "api-1" {
			handled = append(handled, h)
		}
	}
	s.obs.Handled = handled
	for _, d := range Judge(s.obs).Detection {
		if d.Target == "api-2" && d.Phase == "" {
			if d.Requests != 0 || d.Miss[0].Probability != 1 {
				t.Errorf("%+v", d)
			}
			return
		}
	}
	t.Error("api-2 has no row")
}

func TestSomebodyElsesRowsDoNotFillTheLog(t *testing.T) {
	s := newScene(t)
	s.prepare()
	s.obs.Known = nil // the log has no ids
	s.obs.Cells = slices.DeleteFunc(s.obs.Cells, func(c Cell) bool { return c.Class == ClassProbe })
	for i := range s.obs.Cells { // a lot of health checks of others
		if c := &s.obs.Cells[i]; c.Class == ClassHealth {
			c.Count *= 20
		}
	}
	r := Judge(s.obs)
	s.claim(r, ClaimNoUserFailure, Inconclusive, ReasonIncomplete)
	for _, row := range r.Completeness {
		if row.Found > row.Known {
			t.Errorf("%+v", row)
		}
	}
}

func TestNodeThatNoProbeTouchedIsUnknown(t *testing.T) {
	s := newScene(t)
	s.prepare()
	s.obs.Objects = append(s.obs.Objects, Object{Source: "alb", Node: "10.0.0.7", Key: "other", From: s.at(100), To: s.at(400), Lines: 5, Understood: 5})
	r := Judge(s.obs)
	i := slices.IndexFunc(r.Completeness, func(c Completeness) bool { return c.Node == "10.0.0.7" })
	if i < 0 || r.Completeness[i].Share != nil {
		t.Errorf("completeness %+v", r.Completeness)
	}
	s.condition(r, "log-unchecked")
	for _, c := range r.Verdict.Conditions {
		if c.Code == "census" {
			t.Error("the log is called a census")
		}
	}
}

// A second load-balancer node wrote a row a second until the deploy started, and none
// after: whether nobody was sent through it, or what it wrote is lost, is not known. Of one
// that wrote less than a row in ten seconds, nothing is missed; the log is no census then.
func TestALoadBalancerNodeWhoseRowsEnd(t *testing.T) {
	for every, want := range map[int]VerdictState{1: Inconclusive, 11: Supported} {
		s := newScene(t)
		s.stop("api-1", 100, 120, true)
		s.prepare()
		s.obs.Objects = append(s.obs.Objects, Object{Source: "alb", Node: "10.0.0.7", Key: "other", From: s.at(0), To: s.at(60), Lines: 60 / every, Understood: 60 / every})
		s.obs.Known = append(s.obs.Known, KnownRequests{Source: "alb", Node: "10.0.0.7", Run: "run", Seqs: s.obs.Known[0].Seqs[:5]})
		for at := 0; at < 60; at += every {
			k := CellKey{Second: s.at(float64(at)).Unix(), Source: "alb", Node: "10.0.0.7", TargetGroup: "api", Target: "api-2", Class: ClassUser, Outcome: OutcomeOK, Route: OtherRoute, Status: 200, TargetStatus: 200}
			s.obs.Cells = append(s.obs.Cells, Cell{CellKey: k, Count: 1, First: s.at(float64(at)), Last: s.at(float64(at) + .01)})
		}
		r := Judge(s.obs)
		reason := ReasonNoFailure
		if want == Inconclusive {
			reason = ReasonIncomplete
		}
		s.claim(r, ClaimNoUserFailure, want, reason)
		s.condition(r, "log-unchecked")
		if slices.ContainsFunc(r.Verdict.Conditions, func(c Condition) bool { return c.Code == "census" }) {
			t.Error("the log is called a census")
		}
	}
}

func TestKeptRequestWithoutItsCellIsCounted(t *testing.T) {
	s := newScene(t)
	s.prepare()
	s.obs.Probes, s.obs.Handled = nil, nil
	r := Request{Start: s.at(-3), End: s.at(2)}
	r.CellKey = CellKey{Second: r.Start.Unix(), Source: "alb", Class: ClassTool, Outcome: OutcomeLB5xx, Route: OtherRoute, Status: 504}
	s.obs.Requests = append(s.obs.Requests, r)
	if tool := Judge(s.obs).Totals[ClassTool]; tool == nil || tool.Failures != 1 {
		t.Errorf("tool %+v", tool)
	}
}

func TestNotMeasuredIsNull(t *testing.T) {
	r := Judge(Observations{Service: Service{Name: "x", Targets: []TargetName{{Name: "a"}}}, From: time.Unix(0, 0), To: time.Unix(60, 0), At: time.Unix(1000, 0)})
	b, _ := json.Marshal(r)
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"single_target", "zero_targets", "baseline"} {
		if m[key] != nil {
			t.Errorf("%s is %v, want null", key, m[key])
		}
	}
	if windows := m["targets"].([]any)[0].(map[string]any)["failure_windows"]; windows != nil {
		t.Errorf("failure_windows is %v, want null", windows)
	}
}

func TestDuplicateRecordsDoNotDependOnOrder(t *testing.T) {
	s := newScene(t)
	s.prepare()
	again := s.obs.Handled[10]
	again.Target = map[string]string{"api-1": "api-2", "api-2": "api-1"}[again.Target]
	s.obs.Handled = append(s.obs.Handled, again)
	want, _ := json.Marshal(Judge(s.obs))
	slices.Reverse(s.obs.Handled)
	if got, _ := json.Marshal(Judge(s.obs)); string(got) != string(want) {
		t.Error("the order of records changes the report")
	}
}
