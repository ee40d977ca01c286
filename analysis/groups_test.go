package analysis

import "testing"

// Group web has a 502 of the balancer without a target every 15 s, before the deploy too;
// api-1, of group api, is drained at 80, served until 95, stopped at 110 and served again
// from 125. No target of web was touched, so that none of them is put down to a stop.
func TestFailuresOfAnotherGroup(t *testing.T) {
	lay := func(group string, drained bool) *shape {
		s := newShape(t, "api-1", "api-2", "web-1", "web-2")
		s.obs.Service.LoadBalancers[0].TargetGroups = append(s.obs.Service.LoadBalancers[0].TargetGroups, TargetGroup{Name: "web"})
		s.serve("alb", "api", "api-2", 10, 0, 300, false)
		if drained {
			s.serve("alb", "api", "api-1", 10, 0, 95, false)
		} else {
			s.serve("alb", "api", "api-1", 10, 0, 110, false)
		}
		s.serve("alb", "api", "api-1", 10, 125, 300, false)
		s.serve("alb", "web", "web-1", 10, 0, 300, false)
		s.serve("alb", "web", "web-2", 10, 0, 300, false)
		for at := 5.0; at < 300; at += 15 {
			s.serve("alb", group, "", 1, at, at+1, true)
		}
		s.step(StepDrainMarked, "api-1", 80)
		s.restart("api-1", 110, 115)
		return s
	}
	for _, drained := range []bool{true, false} {
		s := lay("web", drained)
		r := Judge(s.obs)
		if causes := r.Totals[ClassUser].Causes; causes[CauseDeploy] != 0 || causes[CauseBackground]+causes[CauseUnexplained] != 20 {
			t.Errorf("drained %t: causes %v, want none of 20 by the deploy", drained, causes)
		}
		s.fired(r, "blind-spot", "single-target")
	}
	// The same rows of group api, or of a log that names no group, where api-1 was in
	// rotation until it stopped: those of 110, 125 and so on met its stop and its return.
	for _, group := range []string{"api", ""} {
		s := lay(group, false)
		r := Judge(s.obs)
		if causes := r.Totals[ClassUser].Causes; causes[CauseDeploy] != 2 {
			t.Errorf("group %q: causes %v, want 2 by the deploy", group, causes)
		}
		s.claim(r, ClaimNoUserFailureCaused, Disproved, ReasonCausedByDeploy)
	}
}

// Nobody of group api is in rotation from 100 to 110. What group web failed then without a
// target has another cause.
func TestNobodyInAnotherGroup(t *testing.T) {
	for _, c := range []struct {
		group string
		cause Cause
	}{{"api", CauseDeploy}, {"", CauseDeploy}, {"web", CauseUnexplained}} {
		s := newShape(t, "api-1", "api-2", "web-1")
		for _, target := range []string{"api-1", "api-2"} {
			s.serve("alb", "api", target, 10, 0, 100, false)
			s.serve("alb", "api", target, 10, 110, 300, false)
			s.restart(target, 100, 109)
		}
		s.serve("alb", "web", "web-1", 10, 0, 300, false)
		s.serve("alb", c.group, "", 5, 104, 105, true)
		if causes := Judge(s.obs).Totals[ClassUser].Causes; causes[c.cause] != 5 || len(causes) != 1 {
			t.Errorf("group %q: causes %v, want 5 by %s", c.group, causes, c.cause)
		}
	}
}

// The deploy before stops api-1 of group api at 150: that is no cause for group web's failures.
func TestAnotherDeploysStopInAnotherGroup(t *testing.T) {
	for _, c := range []struct {
		group string
		cause Cause
	}{{"api", CauseShared}, {"", CauseShared}, {"web", CauseUnexplained}} {
		s := newShape(t, "api-1", "api-2", "web-1")
		for _, target := range []string{"api-1", "api-2"} {
			s.serve("alb", "api", target, 10, 0, 300, false)
		}
		s.serve("alb", "web", "web-1", 10, 0, 300, false)
		s.obs.Neighbors = []Deploy{{ID: "d0", StartedAt: s.at(-100), ReportedAt: s.at(160)}}
		s.obs.Steps = append(s.obs.Steps, Step{Deploy: "d0", Kind: StepRestartBegan, Target: "api-1", At: s.at(150)}, Step{Deploy: "d0", Kind: StepAppReady, Target: "api-1", At: s.at(155)})
		s.serve("alb", c.group, "", 5, 152, 153, true)
		if causes := Judge(s.obs).Totals[ClassUser].Causes; causes[c.cause] != 5 || len(causes) != 1 {
			t.Errorf("group %q: causes %v, want 5 by %s", c.group, causes, c.cause)
		}
	}
}

// A failure of group web was not sent to api-1, which is of group api only, though no
// other target was down.
func TestWhoFailedInAGroup(t *testing.T) {
	for group, want := range map[string]string{"": "api-1", "api": "api-1", "web": "", "nobody's": "api-1"} {
		b := newTable()
		b.cut("api-1")
		b.life("api-2").groups["web"] = true
		f := b.lost("", 105, 106)
		f.group = group
		if got := b.failedTarget(*f); got != want {
			t.Errorf("group %q: %q, want %q", group, got, want)
		}
	}
}

// api-1 serves two groups, and is stopped while in rotation: what web's requests met then
// without a target named is put down to it as api's is.
func TestATargetOfTwoGroups(t *testing.T) {
	for _, group := range []string{"api", "web"} {
		s := newShape(t, "api-1", "api-2", "web-1")
		for _, of := range []string{"api", "web"} {
			s.serve("alb", of, "api-1", 10, 0, 100, false)
			s.serve("alb", of, "api-1", 10, 110, 300, false)
		}
		s.serve("alb", "api", "api-2", 10, 0, 300, false)
		s.serve("alb", "web", "web-1", 10, 0, 300, false)
		s.restart("api-1", 100, 109)
		s.serve("alb", group, "", 3, 105, 106, true)
		if causes := Judge(s.obs).Totals[ClassUser].Causes; causes[CauseDeploy] != 3 || len(causes) != 1 {
			t.Errorf("group %s: causes %v, want 3 by the deploy", group, causes)
		}
	}
}
