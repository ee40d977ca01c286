package analysis

import (
	"slices"
	"testing"
	"time"
)

func TestCauses(t *testing.T) {
	failAt := func(s *scene, target string, status, targetStatus int, at ...float64) {
		for _, a := range at {
			r := Request{Start: s.at(a), End: s.at(a + .005)}
			r.CellKey = CellKey{Second: r.Start.Unix(), Source: "alb", Node: "10.0.0.9", TargetGroup: "api", Target: target, Class: ClassUser, Outcome: LogOutcome(status, targetStatus), Route: OtherRoute, Status: status, TargetStatus: targetStatus}
			s.obs.Requests = append(s.obs.Requests, r)
			s.obs.Cells = append(s.obs.Cells, Cell{CellKey: r.CellKey, Count: 1, First: r.Start, Last: r.End})
		}
	}
	cases := []struct {
		name   string
		bend   func(*scene)
		cause  Cause
		n      int
		state  VerdictState
		reason string
	}{
		{"a failure far from any stop, of a new kind", func(s *scene) { failAt(s, "api-2", 504, 0, 150) }, CauseUnexplained, 1, Inconclusive, ReasonUnexplained},
		{"the same kind happened before, as often", func(s *scene) { failAt(s, "api-2", 502, 0, 20, 40, 150) }, CauseBackground, 3, Supported, ReasonNoFailure},
		{"the same kind, but far more often", func(s *scene) {
			failAt(s, "api-2", 502, 0, 20)
			for i := range 40 {
				failAt(s, "api-2", 502, 0, 135+float64(i)/10)
			}
		}, CauseUnexplained, 40, Inconclusive, ReasonUnexplained},
		{"at the stopped target", func(s *scene) { failAt(s, "api-1", 502, 0, 105) }, CauseDeploy, 1, Disproved, ReasonCausedByDeploy},
		{"within the check's timeout after the return", func(s *scene) { failAt(s, "api-1", 502, 0, 135.5) }, CauseDeploy, 1, Disproved, ReasonCausedByDeploy},
		{"at the other target meanwhile", func(s *scene) { failAt(s, "api-2", 502, 0, 105) }, CauseUnexplained, 1, Inconclusive, ReasonUnexplained},
		{"no target named, one was down, and out of rotation before", func(s *scene) { failAt(s, "", 503, 0, 105) }, CauseUnexplained, 1, Inconclusive, ReasonUnexplained},
		{"no target named, one had just left rotation", func(s *scene) { failAt(s, "", 503, 0, 86.5) }, CauseDeploy, 1, Disproved, ReasonCausedByDeploy},
		{"no target named, one was down, and the other did not serve", func(s *scene) {
			s.obs.Cells = slices.DeleteFunc(s.obs.Cells, func(c Cell) bool {
				return c.Target == "api-2" && c.Second >= s.at(102).Unix() && c.Second < s.at(109).Unix()
			})
			s.obs.Handled = slices.DeleteFunc(s.obs.Handled, func(h HandledRequest) bool { return h.Target == "api-2" && within(h.At, s.at(102), s.at(109)) })
			failAt(s, "", 503, 0, 105)
		}, CauseDeploy, 1, Disproved, ReasonCausedByDeploy},
		{"refused for what the client sent", func(s *scene) { failAt(s, "", 501, 0, 150) }, CauseClient, 1, Supported, ReasonNoFailure},
		{"refused so, while a target was out of rotation", func(s *scene) { failAt(s, "", 501, 0, 105) }, CauseClient, 1, Supported, ReasonNoFailure},
		{"refused so, as a target left rotation", func(s *scene) { failAt(s, "", 501, 0, 86.5) }, CauseDeploy, 1, Disproved, ReasonCausedByDeploy},
		{"refused so after a target was asked", func(s *scene) { failAt(s, "api-2", 501, 0, 150) }, CauseUnexplained, 1, Inconclusive, ReasonUnexplained},
		{"a target answered so", func(s *scene) { failAt(s, "api-2", 501, 501, 150) }, CauseUnexplained, 1, Inconclusive, ReasonUnexplained},
		{"joins another deploy's restart", func(s *scene) {
			failAt(s, "api-1", 502, 0, 105)
			s.obs.Steps = append(s.obs.Steps, Step{Deploy: "d0", Kind: StepRestartBegan, Target: "api-1", At: s.at(104)})
		}, CauseDeploy, 1, Disproved, ReasonCausedByDeploy},
		{"met another deploy's restart only", func(s *scene) {
			failAt(s, "api-2", 502, 0, 155)
			s.obs.Steps = append(s.obs.Steps, Step{Deploy: "d0", Kind: StepRestartBegan, Target: "api-2", At: s.at(154)}, Step{Deploy: "d0", Kind: StepAppReady, Target: "api-2", At: s.at(156)})
		}, CauseShared, 1, Inconclusive, ReasonShared},
		{"by the new version", func(s *scene) {
			s.obs.Deploy.VersionBefore, s.obs.Deploy.VersionAfter = "1", "2"
			for i := range 30 {
				failAt(s, "api-1", 500, 500, 200+float64(i))
			}
		}, CauseVersion, 30, Disproved, ReasonCausedByVersion},
		{"by the bodies of the new version", func(s *scene) {
			s.obs.Deploy.VersionBefore, s.obs.Deploy.VersionAfter = "1", "2"
			for i := range 30 {
				failAt(s, "api-1", 200, 200, 200+float64(i))
				s.obs.Requests[len(s.obs.Requests)-1].Outcome = OutcomeBadBody
				s.obs.Cells[len(s.obs.Cells)-1].Outcome = OutcomeBadBody
			}
		}, CauseVersion, 30, Disproved, ReasonCausedByVersion},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t)
			s.stop("api-1", 100, 115, true)
			s.prepare()
			c.bend(s)
			r := Judge(s.obs)
			listed := 0
			for _, f := range r.Failures {
				if f.Traffic == ClassUser && f.Cause == c.cause && f.Phase != nil {
					listed += f.Count
				}
			}
			if listed != c.n {
				t.Errorf("%d listed as %s, want %d", listed, c.cause, c.n)
			}
			if got := r.Totals[ClassUser].Causes[c.cause]; got != c.n {
				t.Errorf("%d by %s, want %d: %v", got, c.cause, c.n, r.Totals[ClassUser].Causes)
			}
			s.claim(r, ClaimNoUserFailureCaused, c.state, c.reason)
			s.claim(r, ClaimNoUserFailure, Disproved, ReasonFailureInScope)
		})
	}
}

// A failure belongs to the phase in which it ended, another logged request to that
// of its second.
func TestFailureBelongsToThePhaseOfItsEnd(t *testing.T) {
	s := newScene(t)
	s.stop("api-1", 100, 115, true)
	s.prepare()
	before := Judge(s.obs)
	r := Request{Start: s.at(99.2), End: s.at(104)}
	r.CellKey = CellKey{Second: r.Start.Unix(), Source: "alb", Target: "api-2", Class: ClassUser, Outcome: OutcomeLB5xx, Route: OtherRoute, Status: 504}
	s.obs.Requests = append(s.obs.Requests, r)
	s.obs.Cells = append(s.obs.Cells, Cell{CellKey: r.CellKey, Count: 1, First: r.Start, Last: r.End})
	after := Judge(s.obs)
	for i, phase := range after.Phases {
		grown := phase.Traffic[ClassUser].Requests - before.Phases[i].Traffic[ClassUser].Requests
		if want := map[string]int{"api-1 restart": 1}[phase.Name]; grown != want {
			t.Errorf("%s grew by %d, want %d", phase.Name, grown, want)
		}
	}
}

func TestFailuresThatWereOnlyCountedAreNotLost(t *testing.T) {
	s := newScene(t)
	s.prepare()
	key := CellKey{Second: s.at(100).Unix(), Source: "alb", Target: "api-2", Class: ClassUser, Outcome: OutcomeLB5xx, Route: OtherRoute, Status: 502}
	s.obs.Cells = append(s.obs.Cells, Cell{CellKey: key, Count: 5000, First: s.at(100), Last: s.at(100.9)})
	s.obs.Requests = append(s.obs.Requests, Request{CellKey: key, Start: s.at(100.1), End: s.at(100.2)})
	r := Judge(s.obs)
	if got := r.Totals[ClassUser].Failures; got != 5000 {
		t.Errorf("%d failures, want 5000 (one of them recorded, 4,999 counted)", got)
	}
}

func TestDrainAnswerCountsOnlyInsideADrain(t *testing.T) {
	s := newScene(t)
	s.stop("api-1", 100, 115, true) // marked at 75 s
	s.prepare()
	for i := range s.obs.Probes {
		p := &s.obs.Probes[i]
		if p.Class == ClassHealth && (p.Sent.After(s.at(80)) && p.Sent.Before(s.at(84)) || p.Sent.After(s.at(30)) && p.Sent.Before(s.at(32))) {
			p.Status, p.Outcome, p.OutOfService, p.Target = 503, OutcomeDrain503, true, "api-1"
		}
	}
	handled := s.obs.Handled[:0]
	for _, h := range s.obs.Handled {
		if h.Seq < 100_000 {
			handled = append(handled, h)
		}
	}
	s.obs.Handled = handled
	health := Judge(s.obs).Totals[ClassHealth]
	if health.Outcomes[OutcomeDrain503] != 4 || health.Outcomes[OutcomeTarget5xx] != 2 || health.Failures != 2 {
		t.Errorf("outcomes %v, failures %d", health.Outcomes, health.Failures)
	}
}

func TestClockBounds(t *testing.T) {
	s := newScene(t)
	r := s.judge()
	for _, o := range r.Clocks {
		// Sent, handled 5 ms later, answered after 9 ms: the offset lies in [−4, +5] ms,
		// and one more, since no time has anything finer than a millisecond.
		if o.B != "alb" && (o.Offset != Interval{-4, 6}) {
			t.Errorf("%+v", o)
		}
	}
	if len(r.Clocks) < 2 {
		t.Errorf("clocks %+v", r.Clocks)
	}
}

// A log that cuts its times to milliseconds seems to handle a quick request before
// it was sent. That is no skew.
func TestTimesCutToMillisecondsAreNoSkew(t *testing.T) {
	s := newScene(t)
	s.prepare()
	at := map[probeID]time.Time{}
	for i := range s.obs.Probes {
		p := &s.obs.Probes[i]
		p.Sent = p.Sent.Add(time.Duration(i%10) * 100 * time.Microsecond)
		p.Done = p.Sent.Add(300 * time.Microsecond)
		at[probeID{p.Run, p.Seq}] = p.Sent.Add(200 * time.Microsecond).Truncate(time.Millisecond)
	}
	for i := range s.obs.Handled {
		h := &s.obs.Handled[i]
		h.At = at[probeID{h.Run, h.Seq}]
	}
	s.obs.Requests, s.obs.Known = nil, nil
	r := Judge(s.obs)
	for _, o := range r.Clocks {
		if o.B != "alb" && (o.Offset.From > 0 || o.Offset.To < 0 || o.Offset.From > o.Offset.To) {
			t.Errorf("%+v; want bounds around 0", o)
		}
	}
	for _, f := range r.Findings {
		if f.Code == "clock-skew" {
			t.Errorf("clock-skew fired: %v", f.Values)
		}
	}
}
