package analysis

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// halfTold has an application log of api-1 alone, which is down from 110 s to 115 s and
// out from 95 s to 135 s. Of 1,500 probes it tells of 660; the other 840 reached api-2.
func halfTold(t *testing.T) *scene {
	s := newScene(t)
	s.stop("api-1", 110, 115, true)
	s.prepare()
	s.obs.Service.AppLogs = s.obs.Service.AppLogs[:1]
	s.obs.Handled = slices.DeleteFunc(s.obs.Handled, func(h HandledRequest) bool { return h.Target == "api-2" })
	s.obs.Runs = slices.DeleteFunc(s.obs.Runs, func(r Run) bool { return r.Source == "api-2.log" })
	return s
}

func (s *scene) withoutAccessLog() {
	s.obs.Service.LoadBalancers[0].AccessLogs = nil
	s.obs.Cells, s.obs.Known, s.obs.Latencies, s.obs.Objects = nil, nil, nil, nil
}

// What reached a target that no log could tell of is not none, though another one's log
// tells: each request counts by its share, which is 0.5 for 260 s and all for 40 s by the
// access log, and 0.567 in the mean. Nor is what no log holds without a record.
func TestATargetWithoutALogBesideOneThatHasOne(t *testing.T) {
	whole := func(r Report, target string) Detection {
		i := slices.IndexFunc(r.Detection, func(d Detection) bool { return d.Phase == "" && d.Target == target })
		return r.Detection[i]
	}
	r := halfTold(t).judge()
	if d := whole(r, "api-1"); d.Requests != 660 || d.Share != nil {
		t.Errorf("api-1 %+v", d)
	}
	if d := whole(r, "api-2"); d.Requests != 1500 || d.Share == nil || math.Abs(*d.Share-.567) > .02 || *d.LongestMissed > 1000 {
		t.Errorf("api-2 %+v", d)
	}
	for _, a := range r.Attribution {
		if a.SuccessWithoutRecord != nil || a.FailedWithoutRecord != nil {
			t.Errorf("%+v", a)
		}
	}
	s := halfTold(t)
	for i := range s.obs.Probes[:100] { // answers name whoever gave them: none was api-2's
		s.obs.Probes[i].Target = "api-1"
	}
	if d := whole(s.judge(), "api-2"); d.Requests != 0 || d.Share != nil {
		t.Errorf("api-2, that no answer names: %+v", d)
	}
	s = halfTold(t)
	s.obs.Service.AppLogs[0].Target = "" // one log of both
	r = s.judge()
	if d := whole(r, "api-2"); d.Requests != 0 || d.Share != nil {
		t.Errorf("api-2, that the log of both does not name: %+v", d)
	}
	if i := slices.IndexFunc(r.Attribution, func(a Attribution) bool { return a.Probe == "store" }); *r.Attribution[i].SuccessWithoutRecord != 840 || *r.Attribution[i].FailedWithoutRecord != 0 {
		t.Errorf("%+v", r.Attribution[i])
	}
}

// Without an access log nothing tells when api-2 served, so while api-1 is away nobody
// knows whether any target did, nor whether api-1 was ever alone. Only that both were
// down at once shows that none served.
func TestWhoWasAloneBesideATargetThatNothingTellsOf(t *testing.T) {
	for _, c := range []struct {
		name         string
		bend         func(*scene)
		always       VerdictState
		single, zero string
		rule         string
	}{
		{"an access log tells", func(*scene) {}, Supported, "api-2 40", "", RuleFired},
		{"none does", func(s *scene) { s.withoutAccessLog() }, Inconclusive, "", "", RuleNotEvaluable},
		{"it is down too, for 3 s of them", func(s *scene) {
			s.withoutAccessLog()
			s.step(StepRestartBegan, "api-2", 112)
			s.step(StepAppReady, "api-2", 118)
		}, Disproved, "", "api 3", RuleNotEvaluable},
		{"its log is there and holds nothing", func(s *scene) {
			s.withoutAccessLog()
			s.obs.Service.AppLogs = append(s.obs.Service.AppLogs, AppLog{Name: "api-2.log", Target: "api-2"})
			s.obs.Runs = append(s.obs.Runs, Run{Source: "api-2.log", From: s.at(-1), To: s.at(301), At: s.at(302)})
		}, Disproved, "api-1 95 api-1 165", "api 5", RuleFired},
	} {
		s := halfTold(t)
		c.bend(s)
		r := s.judge()
		single, zero := "", ""
		for i, x := range r.SingleTarget {
			if i > 0 {
				single += " "
			}
			single += fmt.Sprintf("%s %.0f", x.Target, x.Seconds)
		}
		for _, x := range r.ZeroTargets {
			zero += fmt.Sprintf("%s %.0f", x.TargetGroup, x.Seconds)
		}
		i := slices.IndexFunc(r.Claims, func(x Claim) bool { return x.ID == ClaimAlwaysOneTarget })
		if r.Claims[i].State != c.always || single != c.single || zero != c.zero || ruleOf(r, "single-target").State != c.rule {
			t.Errorf("%s: %s, alone %q, none %q, single-target %s", c.name, r.Claims[i].State, single, zero, ruleOf(r, "single-target").State)
		}
	}
}
