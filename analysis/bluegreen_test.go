package analysis

import (
	"slices"
	"testing"
	"time"
)

// newBlueGreen makes a blue/green deploy of one target each, told at 60 s.
func newBlueGreen(t *testing.T) *shape {
	s := newShape(t, "blue", "green")
	s.obs.Service.LoadBalancers[0].TargetGroups[0].States = nil
	s.obs.Deploy.Kind, s.obs.Deploy.VersionBefore, s.obs.Deploy.VersionAfter = KindBlueGreen, "1.0", "1.1"
	return s
}

func (s *shape) spans(r Report) []string {
	out := []string{}
	for _, p := range r.Phases {
		out = append(out, p.Name+" "+p.From.Sub(s.zero).String()+" "+p.To.Sub(s.zero).String())
	}
	return out
}

func (s *shape) wantSpans(r Report, want ...string) {
	s.t.Helper()
	if got := s.spans(r); !slices.Equal(got, want) {
		s.t.Errorf("phases\n%q, want\n%q", got, want)
	}
}

// The timeline of the fourth report, 60 s later: green starts at 0, is ready at 15 and
// takes over; blue is stopped after 30 s and gone at 46. At ten requests a second blue
// serves the last one before the switch and green the first one after it.
func (s *shape) fourthReport() {
	s.reported(106)
	s.step(StepRestartBegan, "green", 60)
	s.step(StepAppReady, "green", 74.8)
	s.step(StepTrafficSwitched, "", 74.95)
	s.step(StepRestartBegan, "blue", 105)
	s.step(StepProcessKilled, "blue", 105.9)
	s.serve("alb", "api", "blue", 10, 0, 75, false)
	s.serve("alb", "api", "green", 10, 75, 300, false)
}

func TestBlueGreen(t *testing.T) {
	s := newBlueGreen(t)
	s.fourthReport()
	// Blue says that it stops; green, which is started, has nothing of that kind to say.
	for _, target := range []string{"blue", "green"} {
		source := target + ".log"
		s.obs.Service.AppLogs = append(s.obs.Service.AppLogs, AppLog{Name: source, Target: target})
		s.obs.Runs = append(s.obs.Runs, Run{Source: source, From: s.at(-1), To: s.at(301), At: s.at(302)})
		for at := range 300 {
			s.obs.Counts = append(s.obs.Counts, RuleCount{Source: source, Rule: "own", Second: s.at(float64(at)), Lines: 1})
		}
	}
	s.signal("blue", 105.1, EventShutdownBegan, "", "")
	s.signal("blue", 105.8, EventShutdownEnded, "", "")
	r := Judge(s.obs)
	if got := ruleOf(r, "stop-signal-ignored"); got.State != RuleClear {
		t.Errorf("%+v", got)
	}
	s.wantSpans(r, "baseline 0s 1m0s", "green boot 1m0s 1m14.95s", "switch 1m14.95s 1m15s", "overlap 1m15s 1m45s", "blue stop 1m45s 1m46s", "tail 1m46s 5m0s")
	if got := r.Phases[3].Targets; !slices.Equal(got, []string{"green", "blue"}) || !r.Phases[3].Inferred || r.Phases[1].Inferred {
		t.Errorf("overlap of %q", got)
	}
	if got := r.Phases[5].Targets; len(got) != 0 {
		t.Errorf("in the tail %q are still under way", got)
	}
	s.fired(r)
	s.claim(r, ClaimNoUserFailureCaused, Supported, ReasonNoFailure)
	s.claim(r, ClaimAlwaysOneTarget, Supported, ReasonNoFailure)
	s.claim(r, ClaimEjectedBeforeStop, Supported, ReasonNoFailure)
	if len(r.SingleTarget) != 0 || len(r.ZeroTargets) != 0 {
		t.Errorf("single %+v, zero %+v: it never had another at once", r.SingleTarget, r.ZeroTargets)
	}
	blue, green := r.Targets[0], r.Targets[1]
	if green.Boot == nil || green.Boot.Value != 14.8 || !green.LastServedAt.IsZero() || !green.FirstServedAt.Equal(s.at(75)) ||
		green.VersionBefore != nil || *green.VersionAfter != "1.1" || green.RecommendedDrainWait != nil || green.Ejected != "unknown" {
		t.Errorf("green %+v", green)
	}
	if !blue.RestartAt.Equal(s.at(105)) || !blue.FirstServedAt.IsZero() || blue.VersionAfter != nil || *blue.VersionBefore != "1.0" || blue.Ejected != "yes" || blue.LastServedToRestart.Value != 30.099 {
		t.Errorf("blue %+v", blue)
	}
}

// The order of the fifth report: green is registered, serves beside blue, blue is
// deregistered, drained and stopped. The start is told by the new process alone.
func TestBlueGreenByRegistration(t *testing.T) {
	s := newBlueGreen(t)
	s.reported(111)
	s.obs.Signals = []Signal{{Source: "green.log", Target: "green", At: s.at(62), Event: EventProcessStarting}}
	s.appStep(StepAppReady, "green", 78)
	s.step(StepTargetRegistered, "green", 80)
	s.step(StepTargetDeregistered, "blue", 90)
	s.step(StepRestartBegan, "blue", 110)
	s.serve("alb", "api", "blue", 5, 0, 90, false)
	s.serve("alb", "api", "green", 5, 82, 300, false)
	r := Judge(s.obs)
	s.wantSpans(r, "baseline 0s 1m0s", "build 1m0s 1m2s", "green boot 1m2s 1m20s", "green register 1m20s 1m22s", "overlap 1m22s 1m30s",
		"blue drain 1m30s 1m50s", "blue stop 1m50s 1m51s", "tail 1m51s 5m0s")
	s.fired(r)
	s.claim(r, ClaimAlwaysOneTarget, Supported, ReasonNoFailure)
	if ready := r.Targets[1].ReadyToFirstRequest; ready == nil || ready.Value != 4 || r.Targets[1].Predicted.Return != (Interval{0, 12}) {
		t.Errorf("green %+v", r.Targets[1])
	}
}

// Green never comes up, the deploy says so, and blue goes on: nobody missed green.
func TestBlueGreenThatFails(t *testing.T) {
	s := newBlueGreen(t)
	s.reported(150)
	s.obs.Deploy.Result = "failed"
	s.step(StepRestartBegan, "green", 60)
	s.appStep(StepAppReady, "green", 80)
	s.serve("alb", "api", "blue", 10, 0, 300, false)
	r := Judge(s.obs)
	s.wantSpans(r, "baseline 0s 1m0s", "green boot 1m0s 2m30s", "tail 2m30s 5m0s")
	s.fired(r)
	s.claim(r, ClaimAlwaysOneTarget, Supported, ReasonNoFailure)
	s.claim(r, ClaimNoUserFailureCaused, Supported, ReasonNoFailure)
	s.claim(r, ClaimEjectedBeforeStop, Inconclusive, ReasonStopUnknown) // nothing was stopped
	for _, f := range r.Rules {
		if f.Code == "returned-then-failed" && f.State != RuleNotEvaluable {
			t.Errorf("%s is %s, and nothing returned", f.Code, f.State)
		}
	}
}

// Success is reported 20 s before green serves: that is the report's mistake, and the
// tail waits for green. That blue never serves again is nobody's.
func TestBlueGreenReportedEarly(t *testing.T) {
	s := newBlueGreen(t)
	s.fourthReport()
	s.obs.Cells = nil
	s.serve("alb", "api", "blue", 10, 0, 105, false)
	s.serve("alb", "api", "green", 10, 126, 300, false)
	r := Judge(s.obs)
	i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Code == "reported-before-return" })
	if i < 0 || *r.Findings[i].Target != "green" || r.Findings[i].Values["late_s"] != 20.0 {
		t.Fatalf("%+v", r.Findings)
	}
	if tail := r.Phases[len(r.Phases)-1]; tail.Kind != "tail" || !tail.From.Equal(s.at(126)) {
		t.Errorf("%+v", tail)
	}
	// From blue's last request to green's first nobody served, and blue was gone.
	s.claim(r, ClaimAlwaysOneTarget, Inconclusive, ReasonServedUnknown)
}

// A failure that names no target, after blue left rotation, is not its stop's doing, not
// even at that moment; one that was sent to blue, or to green before it could serve, or
// that failed while the one took over from the other, is the deploy's.
func TestBlueGreenCauses(t *testing.T) {
	for _, c := range []struct {
		target string
		at     float64
		cause  Cause
	}{
		{"", 200, CauseUnexplained}, {"blue", 200, CauseDeploy}, {"green", 74.9, CauseDeploy}, {"", 76, CauseDeploy}, {"", 106, CauseUnexplained},
		{"", 70, CauseUnexplained}, {"green", 200, CauseUnexplained},
	} {
		s := newBlueGreen(t)
		s.fourthReport()
		key := CellKey{Second: s.at(c.at).Unix(), Source: "alb", TargetGroup: "api", Target: c.target, Class: ClassUser, Outcome: OutcomeLB5xx, Route: OtherRoute, Status: 502}
		s.obs.Requests = append(s.obs.Requests, Request{CellKey: key, Start: s.at(c.at), End: s.at(c.at + .001)})
		s.obs.Cells = append(s.obs.Cells, Cell{CellKey: key, Count: 1, First: s.at(c.at), Last: s.at(c.at + .001)})
		if causes := Judge(s.obs).Totals[ClassUser].Causes; causes[c.cause] != 1 || len(causes) != 1 {
			t.Errorf("sent to %q at %v: %v, want %s", c.target, c.at, causes, c.cause)
		}
	}
}

// The deploy after a blue/green one is not back to back with it because blue is gone.
func TestAfterBlueGreen(t *testing.T) {
	s := newShape(t, "blue", "green")
	s.serve("alb", "api", "blue", 10, 0, 20, false)
	s.serve("alb", "api", "green", 10, 20, 300, false)
	s.obs.Neighbors = []Deploy{{ID: "d0", Kind: KindBlueGreen, StartedAt: s.at(2), ReportedAt: s.at(50)}}
	s.obs.Steps = append(s.obs.Steps, Step{Deploy: "d0", Kind: StepRestartBegan, At: s.at(40), Target: "blue"})
	// 100 s later a request that no target was chosen for fails: blue's end is not shared.
	key := CellKey{Second: s.at(140).Unix(), Source: "alb", Class: ClassUser, Outcome: OutcomeLB5xx, Route: OtherRoute, Status: 503}
	s.obs.Requests = append(s.obs.Requests, Request{CellKey: key, Start: s.at(140), End: s.at(140.001)})
	s.obs.Cells = append(s.obs.Cells, Cell{CellKey: key, Count: 1, First: s.at(140), Last: s.at(140.001)})
	r := Judge(s.obs)
	if slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Code == "back-to-back-deploy" }) {
		t.Errorf("%+v", r.Findings)
	}
	if causes := r.Totals[ClassUser].Causes; causes[CauseUnexplained] != 1 {
		t.Errorf("causes %v", causes)
	}
}

// In a rolling deploy a target that is registered anew opens a phase, one that comes
// back after its own drain does not.
func TestRegisterOfANewTarget(t *testing.T) {
	s := newShape(t, "api-1", "api-2", "api-3")
	s.serve("alb", "api", "api-1", 10, 0, 90, false)
	s.serve("alb", "api", "api-1", 10, 120, 300, false)
	s.serve("alb", "api", "api-2", 10, 0, 300, false)
	s.serve("alb", "api", "api-3", 10, 75, 300, false)
	s.step(StepTargetRegistered, "api-3", 70)
	s.step(StepTargetDeregistered, "api-1", 90)
	s.restart("api-1", 100, 110)
	s.step(StepTargetRegistered, "api-1", 115)
	r := Judge(s.obs)
	s.phases(r, "baseline", "build", "api-3 register", "api-1 drain", "api-1 restart", "api-1 back", "tail")
	if d := r.Detection; d != nil {
		t.Errorf("%+v", d)
	}
	l := r.Targets[2]
	if !l.FirstServedAt.Equal(s.at(75)) || l.RestartAt != (Time{}) || l.Boot != nil {
		t.Errorf("api-3 %+v", l)
	}
}

// What green's probes could have missed is counted from its first request on, and not
// over the time before.
func TestDetectionOfNewTargets(t *testing.T) {
	s := newBlueGreen(t)
	s.fourthReport()
	s.obs.Service.Probes = []Probe{{Name: "store", Class: ClassProbe, Every: time.Second}}
	for i := range 300 {
		at := float64(i) + .5
		target := "blue"
		if at > 75 {
			target = "green"
		}
		s.obs.Probes = append(s.obs.Probes, ProbeRequest{Source: "store", Probe: "store", Class: ClassProbe, Run: "r", Seq: i, Sent: s.at(at), Done: s.at(at + .01), Status: 200, Outcome: OutcomeOK, Target: target})
	}
	for _, d := range Judge(s.obs).Detection {
		if d.Phase != "" {
			continue
		}
		// One request a second leaves 0.9 s of each for an outage of 100 ms to hide in.
		if m := d.Miss[0].Probability; m < .899 || m > .902 || *d.GapMax > 1000 {
			t.Errorf("%s: %v, longest gap %v ms", d.Target, m, *d.GapMax)
		}
	}
}

// The fourth report's deploy over two target groups, blue's and green's: only the traffic
// was switched from one to the other. It is judged as it is in one group: there always was
// a target, and a 502 without a target, long after all was over, is not the deploy's. It is
// the same where blue is kept, and stopped by nobody.
func TestBlueGreenOverTwoGroups(t *testing.T) {
	for _, c := range []struct {
		blue, green  string
		kept, failed bool
	}{
		{"api", "api", false, true},
		{"tg-blue", "tg-green", false, false}, {"tg-blue", "tg-green", false, true}, {"tg-blue", "tg-green", true, true},
	} {
		s := newBlueGreen(t)
		s.obs.Service.LoadBalancers[0].TargetGroups = []TargetGroup{{Name: c.blue}, {Name: c.green}}
		s.reported(106)
		s.step(StepRestartBegan, "green", 60)
		s.step(StepAppReady, "green", 74.8)
		s.step(StepTrafficSwitched, "", 74.95)
		if !c.kept {
			s.step(StepRestartBegan, "blue", 105)
			s.step(StepProcessKilled, "blue", 105.9)
		}
		s.serve("alb", c.blue, "blue", 10, 0, 75, false)
		s.serve("alb", c.green, "green", 10, 75, 300, false)
		if c.failed {
			s.serve("alb", "", "", 1, 200, 201, true)
		}
		r := Judge(s.obs)
		s.claim(r, ClaimAlwaysOneTarget, Supported, ReasonNoFailure)
		if len(r.SingleTarget) != 0 || len(r.ZeroTargets) != 0 {
			t.Errorf("%+v: single %+v, zero %+v", c, r.SingleTarget, r.ZeroTargets)
		}
		if !c.kept {
			s.claim(r, ClaimEjectedBeforeStop, Supported, ReasonNoFailure)
		}
		causes := r.Totals[ClassUser].Causes
		if causes[CauseDeploy] != 0 || (causes[CauseUnexplained] == 1) != c.failed {
			t.Errorf("%+v: causes %v", c, causes)
		}
	}
}

// Between blue's last and green's first request nobody was in rotation for 5 s, and what
// came was refused, by whichever group's name: that is the deploy's.
func TestNobodyAtTheSwitch(t *testing.T) {
	for _, named := range []string{"", "tg-blue", "tg-green"} {
		s := newBlueGreen(t)
		s.obs.Service.LoadBalancers[0].TargetGroups = []TargetGroup{{Name: "tg-blue"}, {Name: "tg-green"}}
		s.reported(106)
		s.step(StepRestartBegan, "green", 60)
		s.step(StepAppReady, "green", 79)
		s.step(StepTrafficSwitched, "", 74.95)
		s.serve("alb", "tg-blue", "blue", 10, 0, 75, false)
		s.serve("alb", "tg-green", "green", 10, 80, 300, false)
		s.serve("alb", named, "", 10, 75, 80, true)
		r := Judge(s.obs)
		s.claim(r, ClaimAlwaysOneTarget, Disproved, ReasonZeroTargets)
		if causes := r.Totals[ClassUser].Causes; causes[CauseDeploy] != 50 || len(causes) != 1 {
			t.Errorf("%q: causes %v, want 50 by the deploy", named, causes)
		}
	}
}

// Two groups are asked about as one only in a blue/green deploy, and only where it is clear
// which two: one that got new targets only, and one that ceased.
func TestWhichGroupsWereSwitched(t *testing.T) {
	for _, c := range []struct {
		name string
		lay  func(*shape)
		zero int // groups that had nobody at some time
	}{
		{"one and one", func(*shape) {}, 0},
		{"and one that goes on", func(s *shape) { s.serve("alb", "web", "web", 10, 0, 300, false) }, 0},
		{"and one more that ceases", func(s *shape) { s.serve("alb", "web", "web", 10, 0, 75, false); s.step(StepRestartBegan, "web", 106) }, 2},
		{"a rolling one", func(s *shape) { s.obs.Deploy.Kind = KindRolling }, 2},
	} {
		s := newBlueGreen(t)
		s.obs.Service.LoadBalancers[0].TargetGroups = []TargetGroup{{Name: "tg-blue"}, {Name: "tg-green"}, {Name: "web"}}
		s.reported(107)
		s.step(StepRestartBegan, "green", 60)
		s.step(StepAppReady, "green", 74.8)
		s.step(StepRestartBegan, "blue", 105)
		s.serve("alb", "tg-blue", "blue", 10, 0, 75, false)
		s.serve("alb", "tg-green", "green", 10, 75, 300, false)
		c.lay(s)
		zero := map[string]bool{}
		for _, z := range Judge(s.obs).ZeroTargets {
			zero[z.TargetGroup] = true
		}
		if len(zero) != c.zero {
			t.Errorf("%s: nobody in %v, want it of %d groups", c.name, zero, c.zero)
		}
	}
}

// Green is tried beside blue, which goes on. That another group falls silent meanwhile, of
// which no step tells, is no switch: whether anybody was in rotation there is not known.
func TestAGroupThatFallsSilentWasNotSwitchedFrom(t *testing.T) {
	s := newBlueGreen(t)
	s.obs.Service.LoadBalancers[0].TargetGroups = []TargetGroup{{Name: "tg-blue"}, {Name: "tg-green"}, {Name: "web"}}
	s.reported(140)
	s.step(StepRestartBegan, "green", 100)
	s.step(StepAppReady, "green", 118)
	s.serve("alb", "tg-blue", "blue", 10, 0, 300, false)
	s.serve("alb", "tg-green", "green", 10, 120, 300, false)
	s.serve("alb", "web", "web", 10, 0, 150, false)
	r := Judge(s.obs)
	s.claim(r, ClaimAlwaysOneTarget, Inconclusive, ReasonServedUnknown)
}
