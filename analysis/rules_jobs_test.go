package analysis

import (
	"testing"
	"time"
)

func (s *scene) job(target, name string, at ...float64) {
	for _, t := range at {
		s.signal(target, t, EventJobBegan, name, "")
	}
}

func (s *scene) jobs(seconds int) {
	s.obs.Service.Jobs = []Job{{Name: "invoice", Every: time.Duration(seconds) * time.Second}}
}

// jobCases are about scheduled jobs.
func jobCases() []ruleCase {
	return []ruleCase{
		{
			name: "both versions ran the job", fires: "overlap-double-run", build: drainedScene,
			bend: func(s *scene) {
				s.jobs(20)
				s.job("api-1", "invoice", 10, 30, 50, 70)
				s.job("api-2", "invoice", 75, 95, 116, 136, 156, 200, 220, 240, 260, 280)
			},
			check: func(t *testing.T, f Finding) {
				if f.Values["job"] != "invoice" || f.Values["pairs"] != 1 || f.Values["nearest_s"] != 5.0 || f.Values["pairs_before"] != 0 || f.Evidence[0].Count+f.Evidence[1].Count != 2 {
					t.Errorf("%+v", f)
				}
			},
		},
		{
			name: "a job that nobody declared ran on both", fires: "overlap-double-run", build: drainedScene,
			bend: func(s *scene) {
				s.job("api-1", "invoice", -40, -20, 0, 20, 40, 60, 80)
				s.job("api-2", "invoice", 83, 120, 140)
			},
		},
		{
			name: "nobody runs the job any more", fires: "job-stopped", build: drainedScene,
			bend: func(s *scene) {
				s.jobs(20)
				s.linesOf("jobs", 1)
				s.job("api-1", "invoice", 10, 30, 50, 70, 90)
				s.signal("api-2", 200, EventJobSkipped, "invoice", "")
			},
			check: func(t *testing.T, f Finding) {
				if f.Values["job"] != "invoice" || f.Values["quiet_s"] != 210.0 || f.Values["skipped"] != 1 || f.Values["last_on"] != "api-1" {
					t.Errorf("%+v", f)
				}
			},
		},
		{
			name: "a job that ran regularly before", fires: "job-stopped", build: drainedScene,
			bend: func(s *scene) {
				s.linesOf("jobs", 1)
				s.job("api-1", "cleanup", -60, -40, -20, 0, 20, 40)
			},
			check: func(t *testing.T, f Finding) {
				if f.Values["declared"] != false || f.Values["every_s"] != 20.0 {
					t.Errorf("%+v", f)
				}
			},
		},
	}
}

func TestJobsThatAreNoFinding(t *testing.T) {
	for _, c := range []struct {
		name, code, state, why string
		bend                   func(*scene)
	}{
		{"the job moved on with the deploy", "overlap-double-run", RuleClear, "", func(s *scene) {
			s.jobs(20)
			s.job("api-1", "invoice", 10, 30, 50, 70, 90)
			s.job("api-2", "invoice", 102, 122, 142) // api-1 was gone at 100 s
		}},
		{"one target after the other, a period apart", "overlap-double-run", RuleClear, "", func(s *scene) {
			s.jobs(20)
			s.job("api-1", "invoice", 10, 50)
			s.job("api-2", "invoice", 30, 70.1)
		}},
		{"only before the deploy", "overlap-double-run", RuleClear, "", func(s *scene) {
			s.jobs(20)
			s.job("api-1", "invoice", 10, 30)
			s.job("api-2", "invoice", 12, 120)
		}},
		{"not declared, and on both all along", "overlap-double-run", RuleNotEvaluable, whyNoPeriod, func(s *scene) {
			s.job("api-1", "refresh", 0, 20, 40, 60, 80)
			s.job("api-2", "refresh", 3, 23, 43, 63, 83)
		}},
		{"another run may stand where nobody read", "overlap-double-run", RuleNotEvaluable, whyAppLogBlind, func(s *scene) {
			s.jobs(20)
			s.job("api-1", "invoice", 10, 30, 50, 70)
			s.blind("api-2.log", 200, 201)
		}},
		{"a run that the other's lock kept from running", "overlap-double-run", RuleClear, "", func(s *scene) {
			s.jobs(20)
			s.job("api-1", "invoice", 10, 30, 50, 70)
			s.job("api-2", "invoice", 75, 95)
			s.signal("api-2", 75.01, EventJobSkipped, "invoice", "")
			s.signal("api-2", 95, EventJobSkipped, "invoice", "")
		}},
		{"each skipped run is one by its identifier", "overlap-double-run", RuleClear, "", func(s *scene) {
			s.jobs(20)
			s.job("api-1", "invoice", 70)
			s.signal("api-2", 75, EventJobBegan, "invoice", "r1")
			s.signal("api-2", 80, EventJobSkipped, "invoice", "r1")
		}},
		{"nothing but skipped runs", "job-stopped", RuleFired, "", func(s *scene) {
			s.jobs(20)
			s.linesOf("jobs", 1)
			s.job("api-1", "invoice", 10, 30, 50, 70, 90)
			for at := 130.0; at < 300; at += 20 {
				s.job("api-1", "invoice", at)
				s.signal("api-1", at+.01, EventJobSkipped, "invoice", "")
			}
		}},
		{"another run was skipped", "overlap-double-run", RuleFired, "", func(s *scene) {
			s.jobs(20)
			s.job("api-1", "invoice", 70)
			s.signal("api-2", 75, EventJobBegan, "invoice", "r1")
			s.signal("api-2", 80, EventJobSkipped, "invoice", "r2")
		}},
		{"it had ended, and the next was skipped", "overlap-double-run", RuleFired, "", func(s *scene) {
			s.jobs(20)
			s.job("api-1", "invoice", 70)
			s.job("api-2", "invoice", 75)
			s.signal("api-2", 76, EventJobEnded, "invoice", "")
			s.signal("api-2", 77, EventJobSkipped, "invoice", "")
		}},
		{"the next one, a period later, was skipped", "overlap-double-run", RuleFired, "", func(s *scene) {
			s.jobs(20)
			s.job("api-1", "invoice", 70)
			s.job("api-2", "invoice", 75)
			s.signal("api-2", 95, EventJobSkipped, "invoice", "")
		}},
		{"the other target skipped its own", "overlap-double-run", RuleFired, "", func(s *scene) {
			s.jobs(20)
			s.job("api-1", "invoice", 70)
			s.job("api-2", "invoice", 75)
			s.signal("api-1", 76, EventJobSkipped, "refresh", "")
		}},
		{"skipped before it ran", "overlap-double-run", RuleFired, "", func(s *scene) {
			s.jobs(20)
			s.job("api-1", "invoice", 70)
			s.signal("api-2", 74, EventJobSkipped, "invoice", "")
			s.job("api-2", "invoice", 75)
		}},
		{"nothing tells of jobs", "overlap-double-run", RuleNotEvaluable, whySignals, func(s *scene) { s.jobs(20) }},
		{"it runs on", "job-stopped", RuleClear, "", func(s *scene) {
			s.jobs(20)
			s.linesOf("jobs", 1)
			s.job("api-1", "invoice", 10, 30, 50, 70, 90, 130, 150, 170, 190, 210, 230, 257)
		}},
		{"a day's job in a window of minutes", "job-stopped", RuleNotEvaluable, whyWindowShort, func(s *scene) {
			s.jobs(86400)
			s.linesOf("jobs", 1)
			s.job("api-1", "invoice", 10)
		}},
		{"its log was not read", "job-stopped", RuleNotEvaluable, whyAppLogBlind, func(s *scene) {
			s.jobs(20)
			s.linesOf("jobs", 1)
			s.job("api-1", "invoice", 10, 30, 50, 70, 90)
			s.blind("api-2.log", 120, 300)
		}},
		{"its log had no line", "job-stopped", RuleNotEvaluable, whyNoLines, func(s *scene) {
			s.jobs(20)
			s.job("api-1", "invoice", 10, 30, 50, 70, 90)
		}},
		{"the rule fits no line", "job-stopped", RuleNotEvaluable, whyNeverMatched, func(s *scene) {
			s.jobs(20)
			s.obs.Service.LogRules = []LogRule{{Name: "jobs", Event: EventJobBegan}}
			s.linesOf("jobs", 0)
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
