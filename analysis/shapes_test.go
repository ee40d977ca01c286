package analysis

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// The tests here have shapes of service and deploy that the scene does not: several
// load balancers and groups, unequal weights, targets that come and go, deploys that
// overlap, targets that restart in parallel. Each answer was worked out by hand.

// shape makes observations of steady traffic: n requests a second to each target,
// evenly spread, less what the spans say.
type shape struct{ scene }

func newShape(t *testing.T, targets ...string) *shape {
	s := &shape{scene: *newScene(t)}
	s.prepared = true
	s.obs.Service.Targets, s.obs.Service.AppLogs, s.obs.Service.Probes = nil, nil, nil
	for _, name := range targets {
		s.obs.Service.Targets = append(s.obs.Service.Targets, TargetName{Name: name})
	}
	s.log("alb")
	return s
}

func (s *shape) log(source string) {
	s.obs.Runs = append(s.obs.Runs, Run{Source: source, From: s.at(-1), To: s.at(400), At: s.at(400)})
	s.obs.Objects = append(s.obs.Objects, Object{Source: source, Key: source, From: s.at(0), To: s.at(400)})
}

// serve puts n requests a second on a target from one moment to another, each 1 ms
// long; failed ones get a 502 that the target did not answer, or a 503 where there is none.
func (s *shape) serve(source, group, target string, perSecond int, from, to float64, failed bool) {
	for second := from; second < to; second++ {
		key := CellKey{Second: s.at(second).Unix(), Source: source, TargetGroup: group, Target: target, Class: ClassUser, Outcome: OutcomeOK, Route: OtherRoute, Status: 200, TargetStatus: 200}
		if failed {
			key.Outcome, key.Status, key.TargetStatus = OutcomeLB5xx, 502, 0
			if target == "" {
				key.Status = 503
			}
		}
		step := 1 / float64(perSecond)
		c := Cell{CellKey: key, Count: perSecond, First: s.at(second), Last: s.at(second + float64(perSecond-1)*step + .001)}
		s.obs.Cells = append(s.obs.Cells, c)
		if failed {
			for i := range perSecond {
				at := second + float64(i)*step
				s.obs.Requests = append(s.obs.Requests, Request{CellKey: key, Start: s.at(at), End: s.at(at + .001)})
			}
		}
	}
}

func (s *shape) restart(target string, from, to float64) {
	s.step(StepRestartBegan, target, from)
	s.step(StepAppReady, target, to)
}

// Two load balancers with a log each: both count users, and one that is blind makes
// the claim inconclusive however clean the other is.
func TestSeveralLoadBalancers(t *testing.T) {
	s := newShape(t, "api-1", "api-2")
	s.obs.Service.LoadBalancers = append(s.obs.Service.LoadBalancers, LoadBalancer{Name: "internal", AccessLogs: []AccessLog{{Name: "alb2", Kind: "alb", Counts: true}}})
	for _, target := range []string{"api-1", "api-2"} {
		s.serve("alb", "api", target, 3, 0, 300, false)
		s.serve("alb2", "api", target, 2, 0, 300, false)
	}
	s.restart("api-1", 100, 101)
	r := Judge(s.obs)
	s.claim(r, ClaimNoUserFailure, Inconclusive, ReasonSourceBlind)
	s.log("alb2")
	r = Judge(s.obs)
	s.claim(r, ClaimNoUserFailure, Supported, ReasonNoFailure)
	if users := r.Totals[ClassUser]; users.Requests != 2*300*5 {
		t.Errorf("%d users, want 3,000 of both logs", users.Requests)
	}
}

// Of a load balancer without an access log that counts nobody knows what happened to its
// users: no claim about them is supported, however clean another one's are. Where none
// has such a log, users are not measured at all.
func TestALoadBalancerWithoutAnAccessLog(t *testing.T) {
	s := newShape(t, "api-1", "api-2")
	s.obs.Service.LoadBalancers = append(s.obs.Service.LoadBalancers, LoadBalancer{
		Name: "partners", AccessLogs: []AccessLog{{Name: "checks", Kind: "alb-health"}}, TargetGroups: []TargetGroup{{Name: "partner-api"}},
	})
	s.serve("alb", "api", "api-1", 10, 0, 90, false)
	s.serve("alb", "api", "api-1", 10, 130, 300, false)
	s.serve("alb", "api", "api-2", 10, 0, 300, false)
	s.restart("api-1", 110, 115)
	r := Judge(s.obs)
	for _, c := range r.Claims {
		if c.Scope.Traffic != ClassUser {
			continue
		}
		s.claim(r, c.ID, Inconclusive, ReasonNoLog)
		if got := fmt.Sprint(c.Required); got != "[{alb true } {partners false no_log}]" {
			t.Errorf("%s requires %s", c.ID, got)
		}
	}
	s.condition(r, "balancer-without-log")

	s.obs.Service.LoadBalancers[1].AccessLogs[0].Counts = true
	s.log("checks")
	s.claim(Judge(s.obs), ClaimNoUserFailure, Supported, ReasonNoFailure)

	for i := range s.obs.Service.LoadBalancers {
		s.obs.Service.LoadBalancers[i].AccessLogs[0].Counts = false
	}
	r = Judge(s.obs)
	s.claim(r, ClaimNoUserFailure, Untested, ReasonNotMeasured)
	if slices.ContainsFunc(r.Verdict.Conditions, func(c Condition) bool { return c.Code == "balancer-without-log" }) {
		t.Errorf("%+v", r.Verdict.Conditions)
	}
}

// The only two targets of one group are down together for 10 s; the other group goes
// on. That is a time with no target, and the other group's are not "single".
func TestTargetGroupsAreJudgedApart(t *testing.T) {
	s := newShape(t, "api-1", "api-2", "web-1", "web-2")
	for _, target := range []string{"api-1", "api-2"} {
		s.serve("alb", "api", target, 10, 0, 100, false)
		s.serve("alb", "api", target, 10, 110, 300, false)
		s.restart(target, 100, 110)
	}
	s.serve("alb", "web", "web-1", 10, 0, 300, false)
	s.serve("alb", "web", "web-2", 10, 0, 300, false)
	r := Judge(s.obs)
	s.claim(r, ClaimAlwaysOneTarget, Disproved, ReasonZeroTargets)
	if len(r.SingleTarget) != 0 || len(r.ZeroTargets) != 1 || r.ZeroTargets[0].Seconds < 10 || r.ZeroTargets[0].Seconds > 10.2 {
		t.Errorf("single %+v, zero %+v", r.SingleTarget, r.ZeroTargets)
	}
}

// A target with a tenth of the traffic was silent for the 20 requests from its last
// one to its return: .9^20 = 12 %, so chance explains it. At half the traffic it
// would be .5^20, which does not.
func TestUnequalWeights(t *testing.T) {
	for _, c := range []struct {
		light, heavy int
		state        VerdictState
	}{{1, 9, Inconclusive}, {9, 9, Supported}} {
		s := newShape(t, "light", "heavy")
		s.serve("alb", "api", "light", c.light, 0, 100, false)
		s.serve("alb", "api", "light", c.light, 102, 300, false)
		s.serve("alb", "api", "heavy", c.heavy, 0, 300, false)
		s.restart("light", 101, 101.9)
		for _, claim := range Judge(s.obs).Claims {
			if claim.ID == ClaimEjectedBeforeStop && claim.State != c.state {
				t.Errorf("light %d a second: %s for %s, want %s", c.light, claim.State, claim.Reason, c.state)
			}
		}
	}
}

// A third target joins in the middle and another leaves near the end: no deploy, no
// failure, and before it joined it was not in rotation, so the restart of api-1 left
// api-2 alone.
func TestScalingInsideTheWindow(t *testing.T) {
	s := newShape(t, "api-1", "api-2", "api-3", "api-4")
	s.serve("alb", "api", "api-1", 10, 0, 100, false)
	s.serve("alb", "api", "api-1", 10, 110, 300, false)
	s.serve("alb", "api", "api-2", 10, 0, 300, false)
	s.serve("alb", "api", "api-3", 10, 150, 300, false)
	s.serve("alb", "api", "api-4", 10, 0, 90, false)
	s.restart("api-1", 100, 110)
	r := Judge(s.obs)
	if len(r.SingleTarget) != 1 || r.SingleTarget[0].Target != "api-2" || r.SingleTarget[0].Seconds < 10 || r.SingleTarget[0].Seconds > 10.2 {
		t.Errorf("single %+v", r.SingleTarget)
	}
	s.phases(r, "baseline", "build", "api-1 restart", "api-1 back", "tail")
	s.claim(r, ClaimNoUserFailureCaused, Supported, ReasonNoFailure)
}

// A rollback begins while the deploy's window is still open and restarts api-1 again.
// Its failures are not this deploy's doing, and this deploy's phases do not follow
// its steps, though both are read from the same application log.
func TestOverlappingRollback(t *testing.T) {
	s := newShape(t, "api-1", "api-2")
	s.reported(200)
	s.serve("alb", "api", "api-1", 10, 0, 100, false)
	s.serve("alb", "api", "api-1", 10, 102, 250, false)
	s.serve("alb", "api", "api-1", 10, 250, 252, true)
	s.serve("alb", "api", "api-1", 10, 252, 300, false)
	s.serve("alb", "api", "api-2", 10, 0, 300, false)
	s.obs.Neighbors = []Deploy{{ID: "d2", StartedAt: s.at(240), ReportedAt: s.at(260), RollbackOf: "d1"}}
	s.restart("api-1", 100.5, 101.9)
	s.obs.Steps = append(s.obs.Steps, Step{Deploy: "d2", Kind: StepRestartBegan, Target: "api-1", At: s.at(250), Source: "ci"})
	s.appStep(StepRestartBegan, "api-1", 250.1)
	s.appStep(StepAppReady, "api-1", 251.9)
	r := Judge(s.obs)
	s.phases(r, "baseline", "build", "api-1 restart", "api-1 back", "tail")
	if causes := r.Totals[ClassUser].Causes; causes[CauseShared] != 20 || len(causes) != 1 {
		t.Errorf("causes %v, want 20 shared", causes)
	}
	s.claim(r, ClaimNoUserFailureCaused, Inconclusive, ReasonShared)

	// Seen from the rollback, the same failures are its own.
	s.obs.Deploy = Deploy{ID: "d2", Service: "orders-api", Kind: KindRolling, StartedAt: s.at(240), ReportedAt: s.at(260), Result: "succeeded"}
	s.obs.Neighbors = []Deploy{{ID: "d1", StartedAt: s.at(60), ReportedAt: s.at(200)}}
	s.obs.Steps = append(s.obs.Steps, Step{Deploy: "d2", Kind: StepDeployStarted, At: s.at(240)}, Step{Deploy: "d2", Kind: StepDeployReported, At: s.at(260)})
	r = Judge(s.obs)
	if causes := r.Totals[ClassUser].Causes; causes[CauseDeploy] != 20 {
		t.Errorf("causes %v, want 20 by the rollback", causes)
	}
	s.phases(r, "baseline", "build", "api-1 restart", "api-1 back", "tail")
}

// Four targets, two at a time: the phase is named by the latest opener, and both of a
// batch are listed under it.
func TestParallelBatches(t *testing.T) {
	s := newShape(t, "a", "b", "c", "d")
	for i, name := range []string{"a", "b", "c", "d"} {
		from := 100 + float64(i/2*50+i%2)
		s.serve("alb", "api", name, 5, 0, from-1, false)
		s.serve("alb", "api", name, 5, from+10, 300, false)
		s.restart(name, from, from+9)
	}
	r := Judge(s.obs)
	s.phases(r, "baseline", "build", "a restart", "b restart", "a back", "b back", "c restart", "d restart", "c back", "d back", "tail")
	if got := fmt.Sprint(r.Phases[3].Targets); got != "[b a]" {
		t.Errorf("under b's restart: %s", got)
	}
	if len(r.SingleTarget) != 0 || len(r.ZeroTargets) != 0 {
		t.Errorf("single %+v, zero %+v", r.SingleTarget, r.ZeroTargets)
	}
	if i := slices.IndexFunc(r.Targets, func(x TargetReport) bool { return x.Target == "a" }); r.Targets[i].LastServedToRestart.Value > 1.3 {
		t.Errorf("%+v", r.Targets[i].LastServedToRestart)
	}
}

// unpolled leaves nothing that displays the targets' states.
func (s *shape) unpolled() { s.obs.Service.LoadBalancers[0].TargetGroups[0].States = nil }

// fails lets every nth of a target's cells from one moment to another be a 500 of its own.
func (s *shape) fails(target string, from, to float64, nth int) {
	n := 0
	for i := range s.obs.Cells {
		c := &s.obs.Cells[i]
		if c.Target != target || !within(c.First, s.at(from), s.at(to)) {
			continue
		}
		if n++; n%nth == 0 {
			c.Outcome, c.Status, c.TargetStatus = OutcomeTarget5xx, 500, 500
			for j := range c.Count {
				at := c.First.Add(time.Duration(j) * 10 * time.Millisecond)
				s.obs.Requests = append(s.obs.Requests, Request{CellKey: c.CellKey, Start: at, End: at.Add(time.Millisecond)})
			}
		}
	}
}

// next is a deploy that stops api-1 from 205 to 210 s, in the tail of one that had it back
// at 110 s.
func (s *shape) next(version, rollbackOf string) {
	s.obs.Deploy.VersionBefore, s.obs.Deploy.VersionAfter = "1", "2"
	s.reported(160)
	s.serve("alb", "api", "api-2", 10, 0, 300, false)
	s.serve("alb", "api", "api-1", 10, 0, 95, false)
	s.serve("alb", "api", "api-1", 10, 110, 200, false)
	s.serve("alb", "api", "api-1", 10, 215, 300, false)
	s.restart("api-1", 100, 105)
	s.obs.Neighbors = []Deploy{{ID: "d2", VersionBefore: "2", VersionAfter: version, RollbackOf: rollbackOf, StartedAt: s.at(190), ReportedAt: s.at(230)}}
	s.obs.Steps = append(s.obs.Steps, Step{Deploy: "d2", Kind: StepRestartBegan, Target: "api-1", At: s.at(205), Source: "ci"},
		Step{Deploy: "d2", Kind: StepAppReady, Target: "api-1", At: s.at(210), Source: "ci"})
}

// What the next deploy's version fails is not put down to this one's.
func TestTheNextDeploysVersion(t *testing.T) {
	s := newShape(t, "api-1", "api-2")
	s.unpolled()
	s.next("3", "")
	s.fails("api-1", 215, 300, 1)
	r := Judge(s.obs)
	s.claim(r, ClaimNoUserFailureCaused, Inconclusive, ReasonUnexplained)
	s.fired(r, "single-target", "single-target")
}

// Version 2 fails 40 of 900, until a rollback: what version 1 does well afterwards, and
// there is ten times as much of it, does not excuse it.
func TestARollbackExcusesNothing(t *testing.T) {
	s := newShape(t, "api-1", "api-2")
	s.unpolled()
	s.next("1", "d1")
	s.fails("api-1", 115, 200, 20)
	for i := range s.obs.Cells {
		if c := &s.obs.Cells[i]; c.Target == "api-1" && !c.First.Before(s.at(215)) {
			c.Count *= 10
		}
	}
	r := Judge(s.obs)
	s.claim(r, ClaimNoUserFailureCaused, Disproved, ReasonCausedByVersion)
	for _, f := range r.Findings {
		if f.Code == "version-worse" && (f.Values["new_failed"] != 40 || f.Values["new_requests"] != 900 || f.Values["old_failed"] != 0) {
			t.Errorf("%+v", f.Values)
		}
	}
	s.fired(r, "returned-then-failed", "single-target", "single-target", "version-worse")
}

// Nobody tells that api-1 is ready: that it runs the new version is known once it serves
// again, of which every fifth second fails.
func TestAVersionOfWhichNobodyToldThatItWasReady(t *testing.T) {
	s := newShape(t, "api-1", "api-2")
	s.unpolled()
	s.obs.Deploy.VersionBefore, s.obs.Deploy.VersionAfter = "1", "2"
	s.serve("alb", "api", "api-2", 10, 0, 300, false)
	s.serve("alb", "api", "api-1", 10, 0, 95, false)
	s.serve("alb", "api", "api-1", 10, 120, 300, false)
	s.fails("api-1", 125, 300, 5)
	s.step(StepDrainMarked, "api-1", 80)
	s.step(StepRestartBegan, "api-1", 100)
	r := Judge(s.obs)
	s.claim(r, ClaimNoUserFailureCaused, Disproved, ReasonCausedByVersion)
	s.fired(r, "returned-then-failed", "single-target", "version-worse")
	if r.Targets[0].VersionAfter == nil || r.Targets[1].VersionAfter != nil {
		t.Errorf("versions %v and %v", r.Targets[0].VersionAfter, r.Targets[1].VersionAfter)
	}
}

// Well drained, a target fails what it had not ended as it was stopped, or its first
// second once it is back. The deploy lost them, and the load balancer sent nothing
// to a stopped target.
func TestLostAlthoughDrained(t *testing.T) {
	for _, late := range []bool{false, true} {
		s := newShape(t, "api-1", "api-2")
		s.unpolled()
		s.serve("alb", "api", "api-2", 10, 0, 300, false)
		s.serve("alb", "api", "api-1", 10, 0, 85, false)
		s.serve("alb", "api", "api-1", 10, 145, 300, false)
		s.step(StepDrainMarked, "api-1", 70)
		s.restart("api-1", 100, 125)
		if late {
			s.fails("api-1", 145, 146, 1)
		} else {
			key := CellKey{Second: s.at(82).Unix(), Source: "alb", TargetGroup: "api", Target: "api-1", Class: ClassUser, Outcome: OutcomeLB5xx, Route: "upload", Status: 502}
			s.obs.Cells = append(s.obs.Cells, Cell{CellKey: key, Count: 1, First: s.at(82.5), Last: s.at(100.2)})
			s.obs.Requests = append(s.obs.Requests, Request{CellKey: key, Start: s.at(82.5), End: s.at(100.2)})
		}
		r := Judge(s.obs)
		s.claim(r, ClaimNoUserFailureCaused, Disproved, ReasonCausedByDeploy)
		s.claim(r, ClaimEjectedBeforeStop, Supported, ReasonNoFailure)
		s.fired(r, "single-target")
	}
}

// All that was sent to a stopped target was left by its clients: no failure, and yet it
// had not been taken out.
func TestClientsLeftAStoppedTarget(t *testing.T) {
	s := newShape(t, "api-1", "api-2")
	s.unpolled()
	s.serve("alb", "api", "api-2", 4, 0, 300, false)
	s.serve("alb", "api", "api-1", 4, 0, 300, false)
	for i := range s.obs.Cells {
		if c := &s.obs.Cells[i]; c.Target == "api-1" && within(c.First, s.at(110), s.at(115)) {
			c.Outcome, c.Status, c.TargetStatus = OutcomeClientAbort, 460, 0
		}
	}
	s.restart("api-1", 109.9, 115)
	r := Judge(s.obs)
	s.claim(r, ClaimNoUserFailureCaused, Inconclusive, ReasonSurge)
	s.claim(r, ClaimEjectedBeforeStop, Disproved, ReasonStoppedInUse)
	s.fired(r, "abort-surge", "restart-before-eject", "single-target")
	for _, f := range r.Findings {
		if sent, ok := f.Values["sent_after_stop"].(perClass); ok && sent[ClassUser] != 20 {
			t.Errorf("%v sent after the stop, want 20", sent)
		}
	}
	if r.Targets[0].Ejected != "no" {
		t.Errorf("ejected %s, %v", r.Targets[0].Ejected, r.Targets[0].EjectedBasis)
	}
}
