package analysis

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// travel adds the steps of one journey as "name[:outcome]", half a second apart; lines
// of an application log name its target.
func (s *scene) travel(source, key string, at float64, steps ...string) {
	target, _ := strings.CutSuffix(source, ".log")
	if target == source {
		target = ""
	}
	for i, step := range steps {
		outcome := OutcomeOK
		if name, ending, ok := cutStep(step); ok {
			step, outcome = name, Outcome(ending)
		}
		s.obs.Journeys = append(s.obs.Journeys, JourneyStep{Source: source, Journey: "order", Key: key, Step: step, At: s.at(at + .5*float64(i)), Outcome: outcome, Target: target})
	}
}

func cutStep(s string) (name, outcome string, ok bool) {
	for i := range s {
		if s[i] == ':' {
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

func (s *scene) journeys(sources ...string) {
	s.obs.Service.Journeys = []Journey{{Name: "order", Steps: []string{"create", "detail", "ack"}, Within: 10 * time.Second, Sources: sources}}
	for _, source := range sources {
		if source == "client" {
			s.obs.Runs = append(s.obs.Runs, Run{Source: "client", From: s.at(-60), To: s.at(360), At: s.at(361)})
		}
	}
}

func journeyCases() []ruleCase {
	return []ruleCase{{
		name: "acknowledged and never read", fires: "step-order", build: drainedScene,
		bend: func(s *scene) {
			s.journeys("client")
			s.travel("client", "o-1", 100, "create", "detail", "ack")
			s.travel("client", "o-2", 101, "create", "detail:connection_error", "ack")
			s.travel("client", "o-3", 102, "create", "ack")
		},
		check: func(t *testing.T, f Finding) {
			if f.Values["count"] != 2 || f.Values["later"] != "ack" || f.Values["missing"] != "detail" || !reflect.DeepEqual(f.Values["keys"], []string{"o-2", "o-3"}) ||
				f.Values["started"] != 3 || f.Values["late"] != 0 || !f.From.Equal(f.Evidence[0].From.Time) {
				t.Errorf("%+v", f)
			}
		},
	}}
}

func TestJourneysAreCounted(t *testing.T) {
	s := newScene(t)
	drainedScene(s)
	s.prepare()
	s.journeys("client", "api-1.log", "api-2.log")
	s.travel("client", "before", -3, "create", "detail", "ack") // began before the window
	s.travel("client", "whole", 10, "create", "detail", "ack")
	s.travel("client", "again", 100, "create", "detail:lb_5xx", "detail", "ack")
	s.travel("client", "skipped", 110, "create", "ack")
	s.travel("client", "left", 111, "create", "detail")
	s.travel("client", "late", 299, "create") // its time was up after the window
	s.travel("client", "done-late", 299.5, "create", "detail", "ack")
	s.travel("api-1.log", "whole", 10, "create")
	s.travel("api-2.log", "whole", 10.5, "detail")
	s.travel("api-2.log", "only-there", 120, "create")
	s.travel("api-1.log", "again", 100, "create:target_5xx")
	s.travel("api-1.log", "before", 200, "ack") // so that its log is known to tell steps after its restart too
	s.travel("api-2.log", "before", 201, "ack")
	r := Judge(s.obs)
	if len(r.Journeys) != 1 {
		t.Fatalf("%+v", r.Journeys)
	}
	j := r.Journeys[0]
	if want := (JourneyCounts{Started: 6, Completed: 2, AfterRetries: 1, WithoutEarlier: 1, NeverFinished: 2}); j.JourneyCounts != want {
		t.Errorf("%+v\nwant %+v", j.JourneyCounts, want)
	}
	sum := JourneyCounts{}
	for _, counts := range j.ByPhase {
		sum.add(counts)
	}
	if sum != j.JourneyCounts || j.ByPhase["baseline"] != (JourneyCounts{Started: 1, Completed: 1}) {
		t.Errorf("by phase %+v", j.ByPhase)
	}
	create := j.Reconciled[0]
	if len(j.Reconciled) != 3 || create.A != "client" || create.B != AppLogWitness || create.Both != 1 || create.OnlyA != 5 || create.OnlyB != 1 || create.ExamplesB[0] != "only-there" {
		t.Errorf("%+v", j.Reconciled)
	}

	// While the evidence goes no further, nobody knows how the last ones end.
	s.obs.At = s.at(300)
	if late := Judge(s.obs).Journeys[0]; late.Undecided != 1 || late.NeverFinished != 1 {
		t.Errorf("at the window's end: %+v", late.JourneyCounts)
	}
	s.obs.At = s.at(1000)
	// Nor while the records were not read.
	s.obs.Runs = append(s.obs.Runs, Run{Source: "client", From: s.at(112), To: s.at(114), At: s.at(400), Code: "bad_reply", Error: "line 3"})
	r = Judge(s.obs)
	if j := r.Journeys[0]; j.Undecided != 2 || j.WithoutEarlier != 0 || j.NeverFinished != 1 {
		t.Errorf("blind: %+v", j.JourneyCounts)
	}
	if got := ruleOf(r, "step-order"); got.State != RuleClear {
		t.Errorf("%+v", got)
	}
}

func TestStepOrderWithoutEvidence(t *testing.T) {
	for _, c := range []struct {
		why  string
		bend func(*scene)
	}{
		{whyNoJourneys, func(*scene) {}},
		{whyNoJourneySteps, func(s *scene) { s.journeys("client") }},
		{whyAppLogBlind, func(s *scene) { s.journeys("another") }},
		{whyNeverMatched, func(s *scene) {
			s.journeys("api-1.log")
			s.obs.Service.LogRules = []LogRule{{Name: "steps", Event: EventJourneyStep}}
			s.linesOf("steps", 0)
		}},
		{whyUndecided, func(s *scene) {
			s.journeys("client")
			s.travel("client", "o", 295, "create")
			s.obs.At = s.at(300)
		}},
	} {
		s := newScene(t)
		drainedScene(s)
		s.prepare()
		c.bend(s)
		if got := ruleOf(Judge(s.obs), "step-order"); got.State != RuleNotEvaluable || got.Why != c.why {
			t.Errorf("%+v, want %s", got, c.why)
		}
	}
}

// A step is missing only where its witness saw all of the time in which it was due, and
// one that was seen last may have come first.
func TestStepsInWrongOrder(t *testing.T) {
	for _, c := range []struct {
		name string
		lay  func(*scene)
		want JourneyCounts
	}{
		{"the first step lies where the log was blind", func(s *scene) {
			s.travel("client", "o", 100, "detail", "ack")
			s.blindRecords(98, 99.9)
		}, JourneyCounts{Started: 1, Undecided: 1}},
		{"blind longer before than it may take", func(s *scene) {
			s.travel("client", "o", 100, "detail", "ack")
			s.blindRecords(85, 90)
		}, JourneyCounts{Started: 1, WithoutEarlier: 1}},
		{"blind before, and it began with its first step", func(s *scene) {
			s.travel("client", "o", 100, "create", "ack")
			s.blindRecords(98, 99.9)
		}, JourneyCounts{Started: 1, WithoutEarlier: 1}},
		{"the first step lies before what was read", func(s *scene) {
			s.travel("client", "o", 2, "detail", "ack")
			s.obs.Runs[len(s.obs.Runs)-1].From = s.at(-1)
		}, JourneyCounts{Started: 1, Undecided: 1}},
		{"a run that reaches further back vouches", func(s *scene) {
			s.travel("client", "o", 2, "detail", "ack")
		}, JourneyCounts{Started: 1, WithoutEarlier: 1}},
		{"it had failed, and succeeded only afterwards", func(s *scene) {
			s.travel("client", "o", 100, "create", "detail:lb_5xx", "ack", "detail")
		}, JourneyCounts{Started: 1, WithoutEarlier: 1}},
		{"blind before the later step succeeded", func(s *scene) {
			s.travel("client", "o", 100, "create", "detail:lb_5xx", "ack", "detail")
			s.blindRecords(100.6, 100.9)
		}, JourneyCounts{Started: 1, Undecided: 1}},
		{"blind after it", func(s *scene) {
			s.travel("client", "o", 100, "create", "detail:lb_5xx", "ack", "detail")
			s.blindRecords(101.2, 101.4)
		}, JourneyCounts{Started: 1, WithoutEarlier: 1}},
		{"it had not failed: it may only have been told late", func(s *scene) {
			s.travel("client", "o", 100, "create", "ack", "detail")
		}, JourneyCounts{Started: 1, Completed: 1}},
		{"it failed after the later step", func(s *scene) {
			s.travel("client", "o", 100, "create", "ack", "detail:lb_5xx", "detail")
		}, JourneyCounts{Started: 1, AfterRetries: 1}},
		{"one never succeeded, another only afterwards", func(s *scene) {
			s.travel("client", "o", 100, "create:lb_5xx", "ack", "create")
		}, JourneyCounts{Started: 1, WithoutEarlier: 1}},
	} {
		s := newScene(t)
		drainedScene(s)
		s.prepare()
		s.journeys("client")
		c.lay(s)
		r := Judge(s.obs)
		if got := r.Journeys[0].JourneyCounts; got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
		if fired := ruleOf(r, "step-order").State == RuleFired; fired != (c.want.WithoutEarlier > 0) {
			t.Errorf("%s: fired %v", c.name, fired)
		}
	}
}

// Two logs have two clocks: an order of less than their doubt is none.
func TestStepsOfTwoClocks(t *testing.T) {
	b := newTable()
	j := Journey{Steps: []string{"create", "ack"}}
	for doubt, want := range map[time.Duration]bool{0: true, 499 * time.Millisecond: true, 500 * time.Millisecond: false} {
		b.doubt = doubt
		tr := &trip{attempts: map[string][]JourneyStep{
			"create": {{Source: "a", At: b.at(1), Outcome: OutcomeLB5xx}, {Source: "a", At: b.at(3), Outcome: OutcomeOK}},
			"ack":    {{Source: "b", At: b.at(2.5), Outcome: OutcomeOK}},
		}}
		if got := b.wrongOrder(j, tr); (got != nil) != want || want && !got.late {
			t.Errorf("with a doubt of %s: %+v", doubt, got)
		}
	}
}

// blindRecords takes a stretch out of what was read of the client's records.
func (s *scene) blindRecords(from, to float64) {
	s.obs.Runs = append(s.obs.Runs, Run{Source: "client", From: s.at(from), To: s.at(to), At: s.at(400), Code: "bad_reply", Error: "line 3"})
}
