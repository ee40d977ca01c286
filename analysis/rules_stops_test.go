package analysis

import "testing"

func drainedScene(s *scene) {
	s.stop("api-1", 100, 115, true)
	s.stop("api-2", 170, 185, true)
}

// stopCases are about how processes end.
func stopCases() []ruleCase {
	return []ruleCase{
		{
			name: "killed 10 s into its graceful shutdown", fires: "stop-timeout-too-short", build: drainedScene,
			bend: func(s *scene) {
				s.signal("api-1", 100.1, EventShutdownBegan, "", "")
				s.signal("api-2", 170.1, EventShutdownBegan, "", "")
				s.signal("api-2", 171, EventShutdownEnded, "", "")
				s.values(s.signal("api-1", 110, EventProcessExited, "", ""), "code", "killed", "status", "9/KILL")
			},
			check: func(t *testing.T, f Finding) {
				if *f.Target != "api-1" || f.Values["after_s"] != 10.0 || f.Values["by"] != "kill" || len(f.Evidence) == 0 || f.Evidence[0].Count != 2 {
					t.Errorf("%+v", f)
				}
			},
		},
		{
			name: "gave up waiting for its requests", fires: "stop-timeout-too-short", build: drainedScene,
			bend: func(s *scene) {
				s.signal("api-1", 100.1, EventShutdownBegan, "", "")
				s.signal("api-1", 103.1, EventShutdownAborted, "", "")
			},
			check: func(t *testing.T, f Finding) {
				if f.Values["by"] != "application" {
					t.Errorf("%+v", f.Values)
				}
			},
		},
		{
			name: "one of two stops without a word", fires: "stop-signal-ignored", build: drainedScene,
			bend: func(s *scene) {
				s.springBoot()
				s.signal("api-2", 170.1, EventShutdownBegan, "", "")
			},
			check: func(t *testing.T, f Finding) {
				if *f.Target != "api-1" || f.Values["after_s"] != 15.0 || f.Values["killed"] != false {
					t.Errorf("%+v", f)
				}
			},
		},
		{
			name: "killed when its service manager's patience was over", fires: "stop-signal-ignored", build: drainedScene,
			bend: func(s *scene) {
				s.springBoot()
				s.signal("api-2", 170.1, EventShutdownBegan, "", "")
				s.signal("api-1", 110, EventShutdownAborted, "", "").Rule = "systemd/stop-timed-out"
			},
			check: func(t *testing.T, f Finding) {
				if *f.Target != "api-1" || f.Values["after_s"] != 10.0 || f.Values["killed"] != true {
					t.Errorf("%+v", f)
				}
			},
		},
		{
			name: "work that nobody ended", fires: "torn-write", build: drainedScene,
			bend: func(s *scene) {
				s.work("api-1", 95, 96, "o-1")
				s.work("api-1", 99.5, 0, "o-2")
				s.work("api-1", 99.9, 0, "o-3")
				s.work("api-2", 99.9, 0, "o-4") // it may go on
				s.signal("api-1", 100.5, EventProcessExited, "", "")
			},
			check: func(t *testing.T, f Finding) {
				if *f.Target != "api-1" || f.Values["works"] != 2 || len(f.Values["keys"].([]string)) != 2 || !f.To.Equal(f.Values["over_at"].(Time).Time) {
					t.Errorf("%+v", f)
				}
			},
		},
		{
			name: "received and not answered", fires: "torn-write", build: drainedScene,
			bend: func(s *scene) {
				for i := range s.obs.Handled[:400] { // the log tells both
					h := s.obs.Handled[i]
					h.Begun, h.Status = true, 0
					s.obs.Handled = append(s.obs.Handled, h)
				}
				s.obs.Handled = append(s.obs.Handled, HandledRequest{Source: "api-1.log", Target: "api-1", Run: "run", Seq: 9999, At: s.at(99.9), Begun: true})
			},
			check: func(t *testing.T, f Finding) {
				if *f.Target != "api-1" || f.Values["received"] != 1 || f.Values["works"] != 0 {
					t.Errorf("%+v", f)
				}
			},
		},
	}
}

// Each of these is one step away from a finding, and none of them is one.
func TestStopsThatAreNoFinding(t *testing.T) {
	for _, c := range []struct {
		name, code, state, why string
		bend                   func(*scene)
	}{
		{"it ended before the kill", "stop-timeout-too-short", RuleClear, "", func(s *scene) {
			s.signal("api-1", 100.1, EventShutdownBegan, "", "")
			s.signal("api-1", 105, EventShutdownEnded, "", "")
			s.values(s.signal("api-1", 110, EventProcessExited, "", ""), "code", "killed", "status", "9/KILL")
		}},
		{"it ended by itself", "stop-timeout-too-short", RuleClear, "", func(s *scene) {
			s.signal("api-1", 100.1, EventShutdownBegan, "", "")
			s.values(s.signal("api-1", 110, EventProcessExited, "", ""), "code", "exited", "status", "143/n/a")
		}},
		{"the log was blind when it would have ended", "stop-timeout-too-short", RuleNotEvaluable, whyAppLogBlind, func(s *scene) {
			s.signal("api-1", 100.1, EventShutdownBegan, "", "")
			s.values(s.signal("api-1", 110, EventProcessExited, "", ""), "code", "killed", "status", "9/KILL")
			s.blind("api-1.log", 105, 120)
		}},
		{"both said that they stop", "stop-signal-ignored", RuleClear, "", func(s *scene) {
			s.linesOf("spring-boot/graceful-shutdown", 2)
			s.signal("api-1", 100.1, EventShutdownBegan, "", "")
			s.signal("api-2", 170.1, EventShutdownBegan, "", "")
		}},
		{"a log without a line", "stop-signal-ignored", RuleNotEvaluable, whyNoLines, func(s *scene) {
			s.noSteps(StepRestartBegan)
			s.signal("api-2", 170.1, EventShutdownBegan, "", "")
		}},
		{"a rule that fits no line", "stop-signal-ignored", RuleNotEvaluable, whyNeverMatched, func(s *scene) {
			s.noSteps("restart.began")
			s.obs.Service.LogRules = []LogRule{{Name: "own", Event: EventShutdownBegan}}
			s.linesOf("own", 0)
		}},
		{"no rule at all", "stop-signal-ignored", RuleNotEvaluable, whySignals, func(s *scene) {
			s.noSteps("restart.began")
			s.linesOf("other", 5)
		}},
		{"blind while it stopped", "stop-signal-ignored", RuleNotEvaluable, whyAppLogBlind, func(s *scene) {
			s.springBoot()
			s.signal("api-2", 170.1, EventShutdownBegan, "", "")
			s.blind("api-1.log", 99, 101)
		}},
		{"ends are told of no work", "torn-write", RuleNotEvaluable, whyNeverMatched, func(s *scene) {
			s.obs.Service.LogRules = []LogRule{{Name: "ended", Event: EventWorkEnded}}
			s.linesOf("ended", 0)
			s.work("api-1", 99.5, 0, "o-2")
		}},
		{"only another target's rule is known to fit", "stop-signal-ignored", RuleNotEvaluable, whyNeverMatched, func(s *scene) {
			s.springBoot()
			s.obs.Service.LogRules = nil
			s.signal("api-2", 170.1, EventShutdownBegan, "", "")
		}},
		{"a line about its shutdown that gives but a step", "stop-signal-ignored", RuleClear, "", func(s *scene) {
			s.linesOf("spring-boot/started", 1)
			s.signal("api-2", 170.1, EventShutdownBegan, "", "")
		}},
		{"every work ended, some on another target", "torn-write", RuleClear, "", func(s *scene) {
			s.work("api-2", 150, 151, "o-3")
			s.work("api-1", 95, 96, "o-1")
			s.work("api-1", 99.5, 0, "o-2")
			s.signal("api-2", 130, EventWorkEnded, "", "o-2")
		}},
		{"the log was blind when the work would have ended", "torn-write", RuleNotEvaluable, whyAppLogBlind, func(s *scene) {
			s.work("api-1", 95, 96, "o-1")
			s.work("api-1", 99.5, 0, "o-2")
			s.work("api-2", 150, 151, "o-3")
			s.blind("api-1.log", 99.7, 105)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t)
			drainedScene(s)
			s.prepare()
			c.bend(s)
			if got := ruleOf(Judge(s.obs), c.code); got.State != c.state || got.Why != c.why {
				t.Errorf("%s is %s for %q, want %s for %q", c.code, got.State, got.Why, c.state, c.why)
			}
		})
	}
}

// A request whose answer is a line that clocks make ambiguous is neither torn nor in
// flight: nobody knows.
func TestAmbiguousAnswerIsNoTornWrite(t *testing.T) {
	for name, c := range map[string]struct {
		bend func(*table)
		torn int
	}{
		"not answered":            {func(*table) {}, 1},
		"its join is ambiguous":   {func(b *table) { b.ambiguous[probeID{"r", 1}] = true }, 0},
		"the line is not of then": {func(b *table) { b.doubtfulLines[0] = true }, 0},
		"it answered no other":    {func(b *table) { delete(b.handled, probeID{"r", 2}) }, 0},
	} {
		b := newTable()
		b.prober[ClassProbe] = true
		b.obs.Handled = []HandledRequest{{Source: "api-1.log", Target: "api-1", Run: "r", Seq: 1, At: b.at(99), Begun: true}, {Source: "api-1.log", Target: "api-1", Run: "r", Seq: 2, At: b.at(91), Begun: true}}
		b.handled[probeID{"r", 2}] = []HandledRequest{{Target: "api-1", Run: "r", Seq: 2, At: b.at(92)}}
		b.sent[probeID{"r", 1}] = &ProbeRequest{Class: ClassProbe, Run: "r", Seq: 1}
		b.obs.Service.AppLogs = []AppLog{{Name: "api-1.log", Target: "api-1"}}
		c.bend(b)
		if got, _ := unanswered(inside(b.received()["api-1"], requestReceived.at, b.at(90), b.at(110))); len(got) != c.torn {
			t.Errorf("%s: %d torn, want %d", name, len(got), c.torn)
		}
		if n, _ := b.inFlightAtStop(b.life("api-1"), cycle{stop: b.at(100)}); n == nil || *n != c.torn {
			t.Errorf("%s: %v in flight, want %d", name, n, c.torn)
		}
	}
}

// With a rule set that is known to fit, the silence of its rule for shutdowns counts:
// where no target ever says that it stops, none of them hears it.
func TestStopSignalIgnoredByAll(t *testing.T) {
	s := newScene(t)
	drainedScene(s)
	s.prepare()
	s.springBoot()
	r := Judge(s.obs)
	n := 0
	for _, f := range r.Findings {
		if f.Code == "stop-signal-ignored" {
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d targets, want both: %+v", n, ruleOf(r, "stop-signal-ignored"))
	}
}

// A process that died unasked was not asked to stop, and is brought up by somebody.
func TestKillIsNoIgnoredStop(t *testing.T) {
	s := newScene(t)
	s.kill("api-1", 100, 115)
	s.step(StepRestartBegan, "api-1", 101)
	s.prepare()
	s.linesOf("spring-boot/graceful-shutdown", 1)
	s.signal("api-2", 20, EventShutdownBegan, "", "") // in the baseline: the rule fits
	for _, code := range []string{"stop-signal-ignored", "stop-timeout-too-short"} {
		if got := ruleOf(Judge(s.obs), code); got.State == RuleFired {
			t.Errorf("%s fired", code)
		}
	}
}

// Helpers.

// signal adds what a line of a target's log told.
func (s *scene) signal(target string, at float64, event Event, name, key string) *Signal {
	s.obs.Signals = append(s.obs.Signals, Signal{Source: target + ".log", Rule: "own", Target: target, At: s.at(at), Event: event, Name: name, Key: key})
	return &s.obs.Signals[len(s.obs.Signals)-1]
}

func (s *scene) values(of *Signal, pairs ...string) {
	of.Values = map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		of.Values[pairs[i]] = pairs[i+1]
	}
}

// work adds lines about one piece of work; ended 0: none.
func (s *scene) work(target string, began, ended float64, key string) {
	s.signal(target, began, EventWorkBegan, "", key)
	if ended > 0 {
		s.signal(target, ended, EventWorkEnded, "", key)
	}
}

// springBoot lets both logs be read by a set that fits them, and takes the steps out
// that its rule for shutdowns would give.
func (s *scene) springBoot() {
	s.noSteps(StepRestartBegan)
	s.obs.Service.LogRules = []LogRule{{Name: "spring-boot/graceful-shutdown", Event: EventShutdownBegan}}
	s.linesOf("spring-boot/started", 1)
}

// linesOf lets both logs have ten lines a second, of which a rule matched some in the
// first.
func (s *scene) linesOf(rule string, matched int) {
	for _, source := range []string{"api-1.log", "api-2.log"} {
		for at := 0.0; at < 300; at++ {
			c := RuleCount{Source: source, Rule: rule, Second: s.at(at), Lines: 10}
			if at == 0 {
				c.Matched = matched
			}
			s.obs.Counts = append(s.obs.Counts, c)
		}
	}
}

// blind takes a stretch out of what an application log's runs cover.
func (s *scene) blind(source string, from, to float64) {
	s.obs.Runs = append(s.obs.Runs, Run{Source: source, From: s.at(from), To: s.at(to), At: s.at(400), Code: "unreachable", Error: "no answer"})
}

// noSteps takes the steps out that lines of application logs gave.
func (s *scene) noSteps(kind StepKind) {
	var kept []Step
	for _, step := range s.obs.Steps {
		if !step.Inferred || step.Kind != kind {
			kept = append(kept, step)
		}
	}
	s.obs.Steps = kept
}
