package analysis

import (
	"slices"
	"testing"
	"time"
)

func (r Report) rule(code string) RuleState {
	i := slices.IndexFunc(r.Rules, func(s RuleState) bool { return s.Code == code })
	return r.Rules[i]
}

func TestLateObjects(t *testing.T) {
	s := newScene(t)
	s.stop("api-1", 100, 110, true)
	s.prepare()
	if rule := s.judge().rule("log-late"); rule.State != RuleNotEvaluable || rule.Why != whyNoArrival {
		t.Errorf("without times of delivery: %+v", rule)
	}
	for i := range s.obs.Objects {
		s.obs.Objects[i].Arrived = s.obs.Objects[i].To.Add(30 * time.Second) // just what is waited for
	}
	// One long before the window, which tells nothing of it.
	s.obs.Objects = append(s.obs.Objects, Object{Source: "alb", Key: "old", From: s.at(-600), To: s.at(-300), Arrived: s.at(900)})
	if rule := s.judge().rule("log-late"); rule.State != RuleClear {
		t.Errorf("all in time: %+v", rule)
	}
	s.obs.Objects[1].Arrived = s.obs.Objects[1].To.Add(40 * time.Second)
	s.obs.Objects[3].Arrived = s.obs.Objects[3].To.Add(75 * time.Second)
	r := s.judge()
	i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Code == "log-late" })
	if i < 0 {
		t.Fatal("no finding")
	}
	f := r.Findings[i]
	if f.Values["objects"] != 2 || f.Values["late_s"] != 75.0 || f.Values["settle_s"] != 30.0 || f.Values["source"] != "alb" || f.Values["object"] != s.obs.Objects[1].Key ||
		!f.From.Equal(s.at(60)) || !f.To.Equal(s.at(240)) {
		t.Errorf("finding %+v", f)
	}
}

// While the horizon has not passed, the report says of which nodes objects are still
// expected, and from when on.
func TestWhatIsStillExpected(t *testing.T) {
	s := newScene(t)
	s.stop("api-1", 100, 110, true)
	s.prepare()
	s.obs.At = s.at(310) // the window is over; 30 s are waited for
	s.obs.Objects[4].To = s.at(301)
	s.obs.Objects = append(s.obs.Objects,
		Object{Source: "alb", Node: "10.0.0.7", Key: "x", From: s.at(120), To: s.at(180)},
		Object{Source: "alb", Node: "10.0.0.8", Key: "y", From: s.at(240), To: s.at(300)})
	r := s.judge()
	want := []Awaited{{"10.0.0.7", Time{s.at(180)}, Time{s.at(300)}}, {"10.0.0.8", Time{s.at(300)}, Time{s.at(300)}}}
	if c := r.Coverage[0]; *c.HorizonPassed || !slices.Equal(c.Awaited, want) {
		t.Errorf("coverage %+v, want %+v awaited", c, want)
	}
	awaited := r.Verdict.Conditions[0].Values["awaited"]
	if nodes, ok := awaited.(map[string][]string); !ok || !slices.Equal(nodes["alb"], []string{"10.0.0.7", "10.0.0.8"}) {
		t.Errorf("condition %+v", r.Verdict.Conditions[0])
	}
	s.obs.At = s.at(330) // now nothing is expected any more
	if c := s.judge().Coverage[0]; !*c.HorizonPassed || c.Awaited != nil {
		t.Errorf("after the settle time: %+v", c)
	}
	s.obs.At, s.obs.Objects = s.at(310), nil
	if c := s.judge().Coverage[0]; !slices.Equal(c.Awaited, []Awaited{{"", Time{s.at(0)}, Time{s.at(300)}}}) {
		t.Errorf("before the first object: %+v", c.Awaited)
	}
}
