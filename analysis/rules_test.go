package analysis

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestHealthCheckThatShowsADeathIsNotBlind(t *testing.T) {
	s := newScene(t)
	s.stop("api-1", 100, 140, true)
	s.prepare()
	if rule := ruleOf(Judge(s.obs), "health-check-blind"); rule.State != RuleClear {
		t.Errorf("rule state %+v", rule)
	}
}

// ruleCase makes one rule fire.
type ruleCase struct {
	name  string
	build func(*scene) // before traffic
	bend  func(*scene) // after traffic
	fires string
	check func(*testing.T, Finding)
}

// Each case bends one scene so that one rule fires; the scene without the bend is in
// TestDrainedRollingDeployIsSupported and fires single-target alone.
func TestRules(t *testing.T) {
	drained := func(s *scene) {
		s.stop("api-1", 100, 115, true)
		s.stop("api-2", 170, 185, true)
	}
	cases := []ruleCase{
		{
			name: "reported while the last target was away", fires: "reported-before-return",
			build: func(s *scene) { drained(s); s.reported(190) },
			check: func(t *testing.T, f Finding) {
				if late := f.Values["late_s"].(float64); late < 14.9 || late > 16 || *f.Target != "api-2" {
					t.Errorf("%+v", f)
				}
			},
		},
		{
			name: "claimed by health samples", fires: "health-sample-claim", build: drained,
			bend: func(s *scene) {
				s.obs.Claims = []TypedClaim{{ID: "c1", About: ClassUser, Basis: ClassHealth, Text: "nobody noticed"}}
			},
			check: func(t *testing.T, f Finding) {
				if f.Values["told"] != true || f.Values["health_failures"] != 0 || f.Values["text"] != "nobody noticed" {
					t.Errorf("%+v", f.Values)
				}
			},
		},
		{
			name: "began before the one before was over", fires: "back-to-back-deploy", build: drained,
			bend: func(s *scene) {
				s.obs.Neighbors = []Deploy{{ID: "d0", StartedAt: s.at(-100), ReportedAt: s.at(61)}}
			},
			check: func(t *testing.T, f Finding) {
				if f.Values["previous"] != "d0" || f.Values["gap_s"] != -1.0 {
					t.Errorf("%+v", f.Values)
				}
			},
		},
		{
			name: "began while a target of the one before was away", fires: "back-to-back-deploy",
			build: func(s *scene) {
				s.out["api-2"] = append(s.out["api-2"], span{s.at(30), s.at(80)})
				s.obs.Steps = append(s.obs.Steps, Step{Deploy: "d0", Kind: StepRestartBegan, At: s.at(31), Target: "api-2"})
				s.obs.Neighbors = []Deploy{{ID: "d0", StartedAt: s.at(-100), ReportedAt: s.at(50)}}
			},
			check: func(t *testing.T, f Finding) {
				if away := f.Values["not_serving"].([]string); !slices.Equal(away, []string{"api-2"}) || f.Values["gap_s"] != 10.0 {
					t.Errorf("%+v", f.Values)
				}
			},
		},
		{
			name: "all unhealthy and still routed", fires: "fail-open", build: drained,
			bend: func(s *scene) {
				for i := range s.obs.States {
					if x := &s.obs.States[i]; !x.At.Before(s.at(210)) && x.At.Before(s.at(220)) {
						x.State = StateUnhealthy
					}
				}
			},
			check: func(t *testing.T, f Finding) {
				if f.Values["seconds"] != 9.0 || f.Values["requests"].(perClass)[ClassUser] < 150 {
					t.Errorf("%+v", f.Values)
				}
			},
		},
		{
			name: "an API that answers with an error", fires: "query-failed", build: drained,
			bend: func(s *scene) {
				for at := 100.0; at < 103; at++ {
					s.obs.Runs = append(s.obs.Runs, Run{Source: "states", From: s.at(at), To: s.at(at + 1), At: s.at(at + 1), Code: "throttled", Error: "Rate exceeded"})
				}
			},
			check: func(t *testing.T, f Finding) {
				if f.Values["count"] != 3 || f.Values["code"] != "throttled" || !f.From.Equal(f.Evidence[0].From.Time) {
					t.Errorf("%+v", f)
				}
			},
		},
		{
			name: "both out of rotation at once", fires: "zero-targets",
			build: func(s *scene) { s.stop("api-1", 100, 115, true); s.stop("api-2", 110, 125, true) },
		},
		{
			name: "stopped before the balancer let go", fires: "drain-wait-too-short",
			build: func(s *scene) { s.step(StepDrainMarked, "api-1", 95); s.stop("api-1", 100, 115, false) },
			check: func(t *testing.T, f Finding) {
				if f.Values["wait_s"] != 5.0 || f.Values["predicted_from_s"] != 10.0 {
					t.Errorf("%+v", f.Values)
				}
			},
		},
		{
			name: "marked, and nothing drained", fires: "drain-never-seen",
			build: func(s *scene) { s.step(StepDrainMarked, "api-1", 75); s.stop("api-1", 100, 115, false) },
		},
		{
			name: "the mark lapsed before the stop", fires: "drain-marker-expired",
			build: func(s *scene) {
				s.step(StepDrainMarked, "api-1", 70)
				s.out["api-1"] = append(s.out["api-1"], span{s.at(72), s.at(90)})
				s.stop("api-1", 100, 115, false)
			},
		},
		{
			name: "went bad after its return", fires: "returned-then-failed",
			build: func(s *scene) {
				drained(s)
				s.down["api-1"] = append(s.down["api-1"], span{s.at(215), s.at(220)})
			},
		},
		{
			name: "never healthy after it was ready", fires: "health-check-never-passes",
			build: drained,
			bend: func(s *scene) {
				for i := range s.obs.States {
					if x := &s.obs.States[i]; x.Target == "api-1" && x.At.After(s.at(115)) {
						x.State = StateUnhealthy
					}
				}
			},
		},
		{
			name: "in rotation and without a request", fires: "idle-target",
			build: func(s *scene) {
				s.out["api-2"] = []span{{s.at(-1), s.at(400)}}
			},
			bend: func(s *scene) {
				for i := range s.obs.States {
					s.obs.States[i].State = StateHealthy
				}
			},
			check: func(t *testing.T, f Finding) {
				// In the minute before the deploy 1,200 users, 300 probes and 60 health samples went to two targets.
				if got := fmt.Sprint(f.Values); got != "map[due:map[health:30 probe:150 user:600]]" {
					t.Errorf("%s", got)
				}
			},
		},
		{
			name: "deregistered and still served", fires: "draining-target-served",
			build: func(s *scene) { s.step(StepTargetDeregistered, "api-1", 80); s.stop("api-1", 100, 115, true) },
		},
		{
			name: "the display trails", fires: "state-lag", build: drained,
			bend: func(s *scene) {
				for i := range s.obs.States {
					s.obs.States[i].State = StateHealthy
					if x := &s.obs.States[i]; x.Target == "api-1" && !x.At.Before(s.at(105)) && x.At.Before(s.at(160)) {
						x.State = StateUnhealthy
					}
				}
			},
			check: func(t *testing.T, f Finding) {
				// It last served just before 85 s; the poll at 105 s was the first to say so.
				if from, to := f.Values["down_from_s"].(float64), f.Values["down_to_s"].(float64); from < 18.9 || to > 20.5 || to-from < 1 || to-from > 1.02 { // the clocks are known to 6 ms
					t.Errorf("%+v", f.Values)
				}
			},
		},
		{
			name: "a proxy asked another target", fires: "retry-masked",
			build: func(s *scene) {
				drained(s)
				s.obs.Service.LoadBalancers[0].AccessLogs[0].Kind = "nginx"
			},
			bend: func(s *scene) { s.mask(ClassUser, 100, 103, "api-1"); s.mask(ClassUser, 20, 21, "api-2") },
			check: func(t *testing.T, f Finding) {
				if *f.Target != "api-1" || f.Values["masked"] != 60 || f.Values["failed_attempts"] != 60 || f.Values["baseline"] != 20 || f.Values["traffic"] != ClassUser {
					t.Errorf("%s %+v", *f.Target, f.Values)
				}
				if f.From.Before(time.Date(2026, 10, 14, 6, 26, 40, 0, time.UTC)) || f.To.After(time.Date(2026, 10, 14, 6, 26, 44, 0, time.UTC)) {
					t.Errorf("from %s to %s", f.From, f.To)
				}
			},
		},
		{
			name: "many more 4xx than before", fires: "client-error-surge", build: drained,
			bend: func(s *scene) { s.turn(ClassUser, 150, 200, OutcomeClientError, 404) },
			check: func(t *testing.T, f Finding) {
				if f.Values["baseline"] != 0 || f.Values["window"].(int) < 800 || f.Values["traffic"] != ClassUser {
					t.Errorf("%+v", f.Values)
				}
			},
		},
		{
			name: "many more refusals than before", fires: "rejection-surge", build: drained,
			bend: func(s *scene) { s.turn(ClassUser, 150, 160, OutcomeRejected, 429) },
		},
		{
			name: "many more aborts than before", fires: "abort-surge", build: drained,
			bend: func(s *scene) { s.turn(ClassUser, 150, 160, OutcomeClientAbort, 460) },
		},
		{
			name: "the new version fails", fires: "version-worse",
			build: func(s *scene) { drained(s); s.obs.Deploy.VersionBefore, s.obs.Deploy.VersionAfter = "1", "2" },
			bend:  func(s *scene) { s.turn(ClassUser, 230, 260, OutcomeTarget5xx, 500) },
			check: func(t *testing.T, f Finding) {
				if f.Values["old_failed"] != 0 || f.Values["new_failed"].(int) < 500 {
					t.Errorf("%+v", f.Values)
				}
			},
		},
		{
			name: "a known request is not in the log", fires: "log-incomplete", build: drained,
			bend: func(s *scene) { s.obs.Known[0].Seqs = s.obs.Known[0].Seqs[:1000] },
		},
		{
			name: "an object came after the settle time", fires: "log-late", build: drained,
			bend: func(s *scene) {
				for i := range s.obs.Objects {
					s.obs.Objects[i].Arrived = s.obs.Objects[i].To.Add(20 * time.Second) // 30 s are waited for
				}
				s.obs.Objects[2].Arrived = s.obs.Objects[2].To.Add(31 * time.Second)
			},
		},
		{
			name: "nobody before", fires: "no-baseline", build: drained,
			bend: func(s *scene) {
				s.obs.Cells = slices.DeleteFunc(s.obs.Cells, func(c Cell) bool { return c.Class == ClassUser && c.Second < s.at(60).Unix() })
			},
		},
		{
			name: "hardly anybody at risk", fires: "low-traffic", build: func(s *scene) { drained(s); s.userEvery = 10 * time.Second },
		},
		{
			name: "ready before it stopped", fires: "clock-skew",
			build: func(s *scene) {
				s.appStep(StepAppReady, "api-1", 99)
				s.step(StepRestartBegan, "api-1", 100)
				s.out["api-1"] = append(s.out["api-1"], span{s.at(85), s.at(135)})
			},
		},
		{
			name: "an application's clock is 2 s ahead", fires: "clock-skew", build: drained,
			bend: func(s *scene) {
				for i := range s.obs.Handled {
					if h := &s.obs.Handled[i]; h.Target == "api-2" {
						h.At = h.At.Add(2 * time.Second)
					}
				}
			},
			check: func(t *testing.T, f Finding) {
				if f.Values["from_ms"].(float64) < 1990 || f.Values["to_ms"].(float64) > 2010 || f.Values["b"] != "api-2.log" {
					t.Errorf("%+v", f.Values)
				}
			},
		},
		{
			name: "a probe stood for 5.3 s, the balancer was quick", fires: "probe-stall", build: drained,
			bend: func(s *scene) { s.stall(500, 5255*time.Millisecond, 0) },
			check: func(t *testing.T, f Finding) {
				if f.Values["cause"] != stallUndetermined || f.Values["took_s"] != 5.255 || f.Values["balancer_s"] != nil {
					t.Errorf("%+v", f.Values)
				}
			},
		},
		{
			name: "a probe waited to be sent to the server, which was quick", fires: "probe-stall", build: drained,
			bend: func(s *scene) {
				s.stall(500, 5255*time.Millisecond, 5210*time.Millisecond)
				for i := range s.obs.Requests {
					if r := &s.obs.Requests[i]; r.ProbeSeq == 500 {
						r.Before, r.TargetTook = new(5200*time.Millisecond), new(10*time.Millisecond)
					}
				}
			},
			check: func(t *testing.T, f Finding) {
				if f.Values["cause"] != stallBalancer || f.Values["before_target_s"] != 5.2 || f.Values["target_s"] != .01 {
					t.Errorf("%v", f.Values)
				}
			},
		},
		{
			name: "a probe stood because the server did", fires: "probe-stall", build: drained,
			bend: func(s *scene) { s.stall(500, 5255*time.Millisecond, 5200*time.Millisecond) },
			check: func(t *testing.T, f Finding) {
				if f.Values["cause"] != stallServer || f.Values["balancer_s"] != 5.2 {
					t.Errorf("%+v", f.Values)
				}
			},
		},
		{
			name: "answered 5xx while it stopped", fires: "shutdown-5xx", build: drained,
			bend: func(s *scene) {
				r := Request{Start: s.at(100.1), End: s.at(100.2)}
				r.CellKey = CellKey{Second: r.Start.Unix(), Source: "alb", Target: "api-1", Class: ClassUser, Outcome: OutcomeTarget5xx, Route: OtherRoute, Status: 500, TargetStatus: 500}
				s.obs.Requests = append(s.obs.Requests, r)
				s.obs.Cells = append(s.obs.Cells, Cell{CellKey: r.CellKey, Count: 1, First: r.Start, Last: r.End})
			},
		},
		{
			// Between the workflow's clock and the application's, which is known to 6 ms.
			name: "dead for 40 s and shown healthy", fires: "health-check-blind",
			build: func(s *scene) { s.stop("api-1", 100, 140, false) },
			check: func(t *testing.T, f Finding) {
				if f.Values["down_s"] != 39.994 || f.Values["eject_within_s"] != 22.0 || f.Values["polls"].(int) < 38 {
					t.Errorf("%+v", f.Values)
				}
			},
		},
		{
			name: "unhealthy while it served and while it was dead", fires: "health-check-blind",
			build: func(s *scene) { s.stop("api-1", 100, 140, false) },
			bend: func(s *scene) {
				for i := range s.obs.States {
					if x := &s.obs.States[i]; x.Target == "api-1" {
						x.State, x.Reason = StateUnhealthy, "Target.ResponseCodeMismatch"
					}
				}
			},
		},
		{
			name: "checks are disabled", fires: "health-check-blind", build: drained,
			bend: func(s *scene) {
				s.obs.States[5].State, s.obs.States[5].Reason = StateUnavailable, "Target.HealthCheckDisabled"
			},
		},
		{
			name: "put back by somebody else", fires: "reregistered",
			build: func(s *scene) { s.step(StepTargetDeregistered, "api-1", 80); s.stop("api-1", 100, 115, true) },
			bend: func(s *scene) {
				for i := range s.obs.States {
					if x := &s.obs.States[i]; x.Target == "api-1" && x.At.After(s.at(80)) && x.At.Before(s.at(115)) {
						x.State = StateDraining
						if x.At.After(s.at(90)) {
							x.State = StateInitial
						}
					}
				}
			},
			check: func(t *testing.T, f Finding) {
				if f.Values["after_s"] != 11.0 || f.Values["state"] != StateInitial {
					t.Errorf("%+v", f.Values)
				}
			},
		},
		{
			name: "the old version came back", fires: "version-mismatch", build: drained,
			bend: func(s *scene) {
				s.obs.Deploy.VersionBefore, s.obs.Deploy.VersionAfter = "1.4.1", "1.4.2"
				told := func(target string, at float64, version string) {
					s.obs.Signals = append(s.obs.Signals, Signal{Source: target + ".log", Target: target, At: s.at(at), Event: EventVersion, Values: map[string]string{"version": version}})
				}
				told("api-1", 50, "1.4.1") // before its stop it may
				told("api-1", 110, "v1.4.2")
				told("api-2", 180, "1.4.1")
			},
			check: func(t *testing.T, f Finding) {
				if *f.Target != "api-2" || f.Values["version"] != "1.4.1" || f.Values["deployed"] != "1.4.2" {
					t.Errorf("%+v", f)
				}
			},
		},
		{
			name: "users turned into tools", fires: "classification-suspect", build: drained,
			bend: func(s *scene) {
				for i := range s.obs.Cells {
					if c := &s.obs.Cells[i]; c.Class == ClassUser && c.Second >= s.at(60).Unix() && c.Second%2 == 0 {
						c.Class = ClassTool
					}
				}
			},
		},
	}
	cases = append(cases, stopCases()...)
	cases = append(cases, jobCases()...)
	cases = append(cases, callCases()...)
	cases = append(cases, journeyCases()...)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t)
			c.build(s)
			s.prepare()
			if c.bend != nil {
				c.bend(s)
			}
			r := Judge(s.obs)
			i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Code == c.fires })
			if i < 0 {
				t.Fatalf("%s did not fire: %+v", c.fires, ruleOf(r, c.fires))
			}
			if ruleOf(r, c.fires).State != RuleFired {
				t.Errorf("rule state %+v", ruleOf(r, c.fires))
			}
			if c.check != nil {
				c.check(t, r.Findings[i])
			}
		})
	}
	fires := map[string]bool{"restart-before-eject": true, "returned-before-eject": true, "single-target": true, "blind-spot": true} // judge_test.go
	for _, c := range cases {
		fires[c.fires] = true
	}
	for _, r := range rules {
		if !fires[r.code] {
			t.Errorf("no case makes %s fire", r.code)
		}
	}
}

// A failure that a retry hid is told, and is no failure: nobody lost a request.
func TestMaskedFailureIsNotLost(t *testing.T) {
	s := newScene(t)
	s.stop("api-1", 100, 115, true)
	s.stop("api-2", 170, 185, true)
	s.obs.Service.LoadBalancers[0].AccessLogs[0].Kind = "haproxy"
	s.prepare()
	before := Judge(s.obs)
	if state := ruleOf(before, "retry-masked"); state.State != RuleClear {
		t.Errorf("without one: %+v", state)
	}
	s.mask(ClassUser, 100, 103, "")
	r := Judge(s.obs)
	s.claim(r, "no-user-failure", Supported, "no_failure")
	if r.Totals[ClassUser].Failures != 0 || r.Totals[ClassUser].Requests != before.Totals[ClassUser].Requests {
		t.Errorf("%+v", r.Totals[ClassUser])
	}
	if f := r.Findings[slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Code == "retry-masked" })]; f.Target != nil {
		t.Errorf("the log did not say on which target, the finding says %s", *f.Target)
	}
	s.obs.Service.LoadBalancers[0].AccessLogs[0].Kind = "alb"
	if state := ruleOf(Judge(s.obs), "retry-masked"); state.State != RuleNotEvaluable || state.Why != "no_attempts_in_log" {
		t.Errorf("behind an ALB: %+v", state)
	}
}

func TestEveryFindingCodeHasAState(t *testing.T) {
	s := newScene(t)
	r := s.judge()
	seen := map[string]int{}
	for _, state := range r.Rules {
		seen[state.Code]++
		if state.State == RuleNotEvaluable && state.Why == "" {
			t.Errorf("%s is not evaluable and does not say why", state.Code)
		}
	}
	if len(seen) != 44 { // the codes of CONTRACT.md
		t.Errorf("%d codes, want 44", len(seen))
	}
	for code, n := range seen {
		if n != 1 {
			t.Errorf("%s has %d states", code, n)
		}
	}
}

func ruleOf(r Report, code string) RuleState {
	for _, state := range r.Rules {
		if state.Code == code {
			return state
		}
	}
	return RuleState{}
}

// reported moves the moment at which the deploy was reported.
func (s *scene) reported(at float64) {
	s.obs.Deploy.ReportedAt = s.at(at)
	s.obs.Steps[1].At = s.at(at)
}

// turn gives every answered request of a class in a span another ending.
func (s *scene) turn(class Class, from, to float64, outcome Outcome, status int) {
	for i := range s.obs.Cells {
		if c := &s.obs.Cells[i]; c.Class == class && c.TargetStatus > 0 && c.Second >= s.at(from).Unix() && c.Second < s.at(to).Unix() {
			c.Outcome, c.Status, c.TargetStatus = outcome, status, status
		}
	}
}

// stall makes a probe request take long; in the access log it took as long as given,
// or, for 0, was quick and so is not kept one by one.
func (s *scene) stall(seq int, took, logged time.Duration) {
	for i := range s.obs.Probes {
		p := &s.obs.Probes[i]
		if p.Seq != seq || p.Class != ClassProbe {
			continue
		}
		p.Done = p.Sent.Add(took)
		if logged > 0 {
			r := Request{Start: p.Sent, End: p.Sent.Add(logged), Duration: logged, Connected: true, Before: new(time.Millisecond), TargetTook: new(logged - 2*time.Millisecond), ProbeRun: p.Run, ProbeSeq: seq}
			r.CellKey = CellKey{Second: p.Sent.Unix(), Source: "alb", Target: "api-1", Class: ClassProbe, Outcome: OutcomeOK, Status: 200, TargetStatus: 200}
			s.obs.Requests = append(s.obs.Requests, r)
		}
	}
}
