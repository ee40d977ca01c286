package analysis

import (
	"slices"
	"testing"
)

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

// api-1, behind "public", is stopped in rotation from 110 to 115. Behind "edge", a balancer
// with a log that names no groups, are web-1 and web-2; it answers one request with a 502
// of its own at 112. Where only group web is known of edge, that has nothing to do with
// api-1; where no group of it is, or api too, or its log names api, it may have.
func TestAnotherBalancersOwnAnswer(t *testing.T) {
	for _, c := range []struct {
		name, log string
		groups    []TargetGroup
		names     string // the group that edge's log names once
		cause     Cause
	}{
		{"of web", "nginx", []TargetGroup{{Name: "web"}}, "", CauseUnexplained},
		{"of web, by public", "alb", []TargetGroup{{Name: "web"}}, "", CauseDeploy},
		{"of an unknown group", "nginx", nil, "", CauseDeploy},
		{"of api or web", "nginx", []TargetGroup{{Name: "web"}, {Name: "api"}}, "", CauseDeploy},
		{"of api by its log", "nginx", []TargetGroup{{Name: "web"}}, "api", CauseDeploy},
		{"of a group without a target", "nginx", []TargetGroup{{Name: "files"}, {Name: "mail"}}, "", CauseDeploy},
	} {
		s := newShape(t, "api-1", "api-2", "web-1", "web-2")
		s.obs.Service.LoadBalancers = append(s.obs.Service.LoadBalancers, LoadBalancer{Name: "edge", AccessLogs: []AccessLog{{Name: "nginx", Kind: "nginx", Counts: true}}, TargetGroups: c.groups})
		s.log("nginx")
		s.serve("alb", "api", "api-2", 10, 0, 300, false)
		s.serve("alb", "api", "api-1", 10, 0, 110, false)
		s.serve("alb", "api", "api-1", 10, 116, 300, false)
		s.serve("nginx", "", "web-1", 10, 0, 300, false)
		s.serve("nginx", "", "web-2", 10, 0, 300, false)
		if c.names != "" {
			s.serve("nginx", c.names, "web-2", 1, 0, 1, false)
		}
		s.serve(c.log, "", "", 1, 112, 113, true)
		s.restart("api-1", 110, 115)
		r := Judge(s.obs)
		if causes := r.Totals[ClassUser].Causes; causes[c.cause] != 1 || len(causes) != 1 {
			t.Errorf("%s: causes %v, want 1 by %s", c.name, causes, c.cause)
		}
		blamed := slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Code == "restart-before-eject" })
		if blamed != (c.cause == CauseDeploy) {
			t.Errorf("%s: restart-before-eject %t", c.name, blamed)
		}
	}
}

// Rows that name no group are of the only one of their balancer: web-1 and web-2 are both
// down from 100 to 110, which leaves nobody in web, and api-1 and api-2 alone are not asked.
// Of a balancer with two groups they may be of either; then the first one's targets go on.
func TestRowsOfTheOnlyGroup(t *testing.T) {
	for _, c := range []struct {
		groups []TargetGroup
		zero   string
	}{{[]TargetGroup{{Name: "web"}}, "web"}, {[]TargetGroup{{Name: "web"}, {Name: "mail"}}, ""}} {
		s := newShape(t, "api-1", "api-2", "web-1", "web-2")
		s.obs.Service.LoadBalancers = append(s.obs.Service.LoadBalancers, LoadBalancer{Name: "edge", AccessLogs: []AccessLog{{Name: "nginx", Kind: "nginx", Counts: true}}, TargetGroups: c.groups})
		s.log("nginx")
		for _, target := range []string{"api-1", "api-2"} {
			s.serve("alb", "api", target, 10, 0, 300, false)
		}
		for _, target := range []string{"web-1", "web-2"} {
			s.serve("nginx", "", target, 10, 0, 100, false)
			s.serve("nginx", "", target, 10, 110, 300, false)
			s.restart(target, 100, 110)
		}
		zero := ""
		for _, z := range Judge(s.obs).ZeroTargets {
			zero += z.TargetGroup
		}
		if zero != c.zero {
			t.Errorf("%d groups of edge: nobody in %q, want %q", len(c.groups), zero, c.zero)
		}
	}
}

// Both targets of api restart within a second at 100, and nobody asks for anything until
// 110. What edge refuses from 104 to 106 was not meant for them, and does not show that they
// were out; the same by public does, and by an edge of which no group is known.
func TestRefusalsOfAnotherBalancer(t *testing.T) {
	for _, c := range []struct {
		log     string
		groups  []TargetGroup
		seconds float64
	}{{"nginx", []TargetGroup{{Name: "web"}}, 1}, {"alb", []TargetGroup{{Name: "web"}}, 3}, {"nginx", nil, 3}} {
		s := newShape(t, "api-1", "api-2", "web-1")
		s.obs.Service.LoadBalancers = append(s.obs.Service.LoadBalancers, LoadBalancer{Name: "edge", AccessLogs: []AccessLog{{Name: "nginx", Kind: "nginx", Counts: true}}, TargetGroups: c.groups})
		s.log("nginx")
		for _, target := range []string{"api-1", "api-2"} {
			s.serve("alb", "api", target, 10, 0, 100, false)
			s.serve("alb", "api", target, 10, 110, 300, false)
			s.restart(target, 100, 101)
		}
		s.serve("nginx", "web", "web-1", 10, 0, 300, false)
		s.serve(c.log, "", "", 5, 104, 106, true)
		zero := 0.0
		for _, z := range Judge(s.obs).ZeroTargets {
			zero += z.Seconds
		}
		if zero < c.seconds-.3 || zero > c.seconds {
			t.Errorf("%s, edge %v: nobody in rotation for %g s, want some %g", c.log, c.groups, zero, c.seconds)
		}
	}
}

// A target that is seen in several groups is judged by one of them, whatever came first.
func TestWhichOfItsGroupsATargetIsJudgedBy(t *testing.T) {
	for _, c := range []struct {
		configured, seen []string
		group            string
		several          int
	}{
		{[]string{"public", "internal"}, []string{"internal", "public"}, "public", 2},
		{[]string{"public", "internal"}, []string{"public", "internal"}, "public", 2},
		{[]string{"internal", "public"}, []string{"public", "internal"}, "internal", 2},
		{[]string{"public", "internal"}, []string{"internal"}, "internal", 0},
		{[]string{"public", "internal"}, []string{"a", "internal"}, "internal", 0},
		{[]string{"public", "internal"}, []string{"b", "a"}, "a", 0},
		{[]string{"public", "internal"}, nil, "public", 0},
		{nil, []string{"b", "a"}, "a", 0},
		{nil, nil, "", 0},
	} {
		s := newShape(t, "api-1")
		s.obs.Service.LoadBalancers[0].TargetGroups = nil
		for _, name := range c.configured {
			s.obs.Service.LoadBalancers[0].TargetGroups = append(s.obs.Service.LoadBalancers[0].TargetGroups, TargetGroup{Name: name})
		}
		for i, group := range c.seen {
			s.serve("alb", group, "api-1", 1, float64(i), float64(i+1), false)
		}
		r := Judge(s.obs)
		if r.Targets[0].TargetGroup != c.group {
			t.Errorf("configured %v, seen %v: judged by %q, want %q", c.configured, c.seen, r.Targets[0].TargetGroup, c.group)
		}
		i := slices.IndexFunc(r.Verdict.Conditions, func(x Condition) bool { return x.Code == "several-target-groups" })
		if (i >= 0) != (c.several > 0) {
			t.Errorf("configured %v, seen %v: conditions %+v", c.configured, c.seen, r.Verdict.Conditions)
		}
		if i >= 0 {
			v := r.Verdict.Conditions[i].Values
			if v["target"] != "api-1" || v["target_group"] != c.group || !slices.Equal(v["target_groups"].([]string), c.configured) {
				t.Errorf("configured %v: %v", c.configured, v)
			}
		}
	}
}

// Behind public its check takes 2 s for an answer, behind internal 5 s: with the groups in
// the other order the slack around its stop is the other one's, whichever was polled first.
func TestSettingsOfATargetOfTwoGroups(t *testing.T) {
	for _, first := range []string{"public", "internal"} {
		for _, polled := range []string{"public", "internal"} {
			s := newShape(t, "api-1", "api-2")
			groups := []TargetGroup{
				{Name: "public", Health: HealthCheck{Interval: 10e9, Timeout: 2e9, Unhealthy: 2, Healthy: 2}},
				{Name: "internal", Health: HealthCheck{Interval: 30e9, Timeout: 5e9, Unhealthy: 2, Healthy: 2}},
			}
			want := 22.0
			if first == "internal" {
				slices.Reverse(groups)
				want = 65
			}
			s.obs.Service.LoadBalancers[0].TargetGroups = groups
			s.obs.States = append(s.obs.States, StateSample{Source: "states", TargetGroup: polled, Target: "api-1", At: s.at(1), State: StateHealthy})
			for i := range groups { // in both, in the order of the poll
				s.serve("alb", groups[i].Name, "api-1", 5, 0, 300, false)
			}
			s.restart("api-1", 100, 101)
			r := Judge(s.obs)
			if p := r.Targets[0].Predicted; p == nil || p.Eject.To != want {
				t.Errorf("first %s, polled %s: %+v, want ejection within %g s", first, polled, p, want)
			}
		}
	}
}

// What is known of a failure's target, log and balancer says which group it was meant for.
func TestWhichGroupAFailureWasMeantFor(t *testing.T) {
	for _, c := range []struct {
		group, target, source string
		api, web              bool
	}{
		{"", "api-1", "alb", true, false},
		{"web", "api-1", "alb", false, true},
		{"", "api-2", "alb", true, true}, // of both
		{"", "", "alb", true, false},     // of a balancer that has only api
		{"web", "", "alb", false, true},
		{"", "", "store", true, true}, // a probe's
	} {
		b := newTable()
		b.life("api-2").groups["web"] = true
		f := b.lost(c.target, 105, 106)
		f.group, f.source = c.group, c.source
		if api, web := b.meantFor(f, "api"), b.meantFor(f, "web"); api != c.api || web != c.web {
			t.Errorf("%+v: api %t, web %t", c, api, web)
		}
	}
}
