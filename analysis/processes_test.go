package analysis

import (
	"strings"
	"testing"
)

// api-1 was restarted at 100 s, and its new version may word some lines so that no
// rule fits them any more. What those lines would have told is not known of the new
// version, however well the rule fits the old one, or the other target. One line that
// it fits, and the silence of the others counts.
func TestNewVersionWordsItsLinesOtherwise(t *testing.T) {
	for _, c := range []struct {
		name, code, state, why string
		lay                    func(*scene)
	}{
		{"no end of work", "torn-write", RuleNotEvaluable, whyNeverMatched, func(s *scene) { killedAtWork(s) }},
		{"one end of work", "torn-write", RuleFired, "", func(s *scene) { killedAtWork(s); s.work("api-1", 150, 151, "n-0") }},
		{"no work at all", "torn-write", RuleNotEvaluable, whyNeverMatched, func(s *scene) {
			s.work("api-1", 80, 81, "o-1")
			s.work("api-2", 80, 81, "o-2")
			s.signal("api-1", 250, EventProcessExited, "", "")
		}},
		{"no answer", "torn-write", RuleNotEvaluable, whyNeverMatched, func(s *scene) { killedWithRequests(s) }},
		{"one answer", "torn-write", RuleFired, "", func(s *scene) { killedWithRequests(s); s.received("api-1", 150, 150.01, 8) }},
		{"no work, and every request answered", "torn-write", RuleClear, "", func(s *scene) {
			s.received("api-1", 80, 80.01, 1)
			s.received("api-2", 80, 80.01, 2)
			s.received("api-1", 150, 150.01, 3)
			s.signal("api-1", 250, EventProcessExited, "", "")
		}},
		{"no end of calls", "unbounded-wait", RuleNotEvaluable, whyNeverMatched, func(s *scene) { s.openCalls() }},
		{"one end of a call", "unbounded-wait", RuleFired, "", func(s *scene) { s.openCalls(); s.call("api-1", "x", 150, .1, "ok") }},
		{"no end of calls that would hang", "unrelated-collapse", RuleNotEvaluable, whyNeverMatched, func(s *scene) { s.openCalls() }},
		{"one end of a call before others hang", "unrelated-collapse", RuleFired, "", func(s *scene) { s.openCalls(); s.call("api-1", "x", 150, .1, "ok") }},
		{"no step of a journey", "step-order", RuleNotEvaluable, whyUndecided, func(s *scene) { s.halfJourney() }},
		{"one step of a journey", "step-order", RuleFired, "", func(s *scene) { s.halfJourney(); s.travel("api-1.log", "other", 180, "create", "detail", "ack") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t)
			drainedScene(s)
			s.prepare()
			c.lay(s)
			if got := ruleOf(Judge(s.obs), c.code); got.State != c.state || got.Why != c.why {
				t.Errorf("%s is %s for %q, want %s for %q", c.code, got.State, got.Why, c.state, c.why)
			}
		})
	}
}

// killedAtWork lets the new process of api-1 die at 250 s with work begun. The old one,
// and api-2, ended all of theirs.
func killedAtWork(s *scene) {
	s.work("api-1", 80, 81, "o-1")
	s.work("api-2", 80, 81, "o-2")
	s.work("api-1", 200, 0, "n-1")
	s.signal("api-1", 250, EventProcessExited, "", "")
}

// killedWithRequests lets the new process of api-1 die at 250 s with a request that it
// has not answered.
func killedWithRequests(s *scene) {
	s.received("api-1", 80, 80.01, 1)
	s.received("api-2", 80, 80.01, 2)
	s.received("api-1", 200, 0, 3)
	s.signal("api-1", 250, EventProcessExited, "", "")
}

// received adds lines about a request of ours; answered 0: none.
func (s *scene) received(target string, at, answered float64, seq int) {
	h := HandledRequest{Source: target + ".log", Target: target, Run: "extra", Seq: seq, At: s.at(at), Begun: true}
	s.obs.Handled = append(s.obs.Handled, h)
	if answered > 0 {
		h.At, h.Begun, h.Status = s.at(answered), false, 200
		s.obs.Handled = append(s.obs.Handled, h)
	}
}

// openCalls lets the new process of api-1 send calls whose ends are not told, while
// users of another route fail. Those of the old one, and of api-2, ended.
func (s *scene) openCalls() {
	s.obs.Service.Dependencies = []Dependency{{Name: "gateway", Routes: []string{"pay"}}}
	s.callsEvery("api-1", 10, 50, 1, .05, "ok")
	s.callsEvery("api-2", 200, 240, 1, .05, "ok")
	s.callsEvery("api-1", 210, 215, .1, 0, "")
	s.turn(ClassUser, 215, 240, OutcomeLB5xx, 504)
}

// halfJourney is a journey whose last step api-2 told; the others may have been served
// by the new process of api-1. The old one told its steps.
func (s *scene) halfJourney() {
	s.journeys("api-1.log", "api-2.log")
	s.travel("api-1.log", "before", -30, "create", "detail", "ack")
	s.travel("api-2.log", "o", 240, "create", "ack")
}

// In which stretches the lines of processes tell no step of any journey.
func TestSilentLives(t *testing.T) {
	step := func(b *table, source, target string, at float64) {
		b.obs.Journeys = append(b.obs.Journeys, JourneyStep{Source: source, Target: target, Journey: "order", Step: "ack", At: b.at(at), Outcome: OutcomeOK})
	}
	// Both targets served from 10 to 290, less api-1 from 90 to 121, whose next process began at 120.
	served := func(b *table) {
		b.logs()
		b.life("api-1", 10, 90, 121, 290)
		b.life("api-2", 10, 290)
		b.stoppings = []stopping{{target: "api-1", began: b.at(100), next: b.at(120)}}
	}
	for _, c := range []struct {
		name string
		lay  func(*table)
		want string
	}{
		{"no process told one", func(b *table) { served(b) }, "10–90 121–290 10–290"},
		{"one process of one target told one", func(b *table) { served(b); step(b, "api-1.log", "api-1", 50) }, "121–290 10–290"},
		{"all told one", func(b *table) {
			served(b)
			step(b, "api-1.log", "api-1", 50)
			step(b, "api-1.log", "api-1", 250)
			step(b, "api-2.log", "api-2", 50)
		}, ""},
		{"another source told it", func(b *table) { served(b); step(b, "client", "api-2", 50) }, "10–90 121–290 10–290"},
		{"a line that names no target", func(b *table) { served(b); step(b, "api-2.log", "", 50) }, ""},
		{"a target whose log is none of those", func(b *table) { served(b); b.obs.Service.AppLogs[1].Name = "other.log" }, "10–90 121–290"},
		{"a target that served nothing", func(b *table) { served(b); b.life("api-2").points = nil }, "10–90 121–290"},
	} {
		b := newTable()
		c.lay(b)
		var got []string
		for _, s := range b.silentLives([]string{"api-1.log", "api-2.log"}) {
			got = append(got, b.seconds(s.from)+"–"+b.seconds(s.to))
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
