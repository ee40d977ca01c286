package analysis

import (
	"reflect"
	"testing"
)

// A deploy that stops both targets without a drain: the parts of its window, judged
// one by one, must say of every failure what the whole says, and add up to it.
func TestPartsAddUpToTheWhole(t *testing.T) {
	s := newScene(t)
	s.stop("api-1", 90, 100, false)
	s.stop("api-2", 150, 160, false)
	whole := s.judge()
	sums := map[Class][3]int{}
	listed := []FailedRequest{}
	for _, p := range whole.Phases {
		s.obs.Part = Part{p.From.Time, p.To.Time}
		part := Judge(s.obs)
		if len(part.Phases) != 1 || part.Phases[0].Name != p.Name {
			t.Fatalf("the part %s has the phases %v", p.Name, part.Phases)
		}
		if !reflect.DeepEqual(part.Phases[0].Traffic, p.Traffic) {
			t.Errorf("%s: counts differ from the whole's", p.Name)
		}
		for class, total := range part.Totals {
			sum := sums[class]
			if total != nil {
				sums[class] = [3]int{sum[0] + total.Requests, sum[1] + total.Failures, sum[2] + total.Causes[CauseDeploy]}
			}
		}
		if w := part.Window; w.PartOf == nil || !w.PartOf.From.Equal(s.obs.From) || !w.PartOf.To.Equal(s.obs.To) || !w.From.Equal(p.From.Time) || !w.To.Equal(p.To.Time) {
			t.Errorf("%s: the window is %+v", p.Name, w)
		}
		for _, c := range part.Coverage {
			if c.From.Before(p.From.Time) || c.To.After(p.To.Time) {
				t.Errorf("%s: %s covers %v – %v", p.Name, c.Source, c.From, c.To)
			}
		}
		listed = append(listed, part.Failures...)
	}
	for class, total := range whole.Totals {
		if total != nil && sums[class] != [3]int{total.Requests, total.Failures, total.Causes[CauseDeploy]} {
			t.Errorf("%s: the parts sum up to %v, the whole is %d, %d, %d", class, sums[class], total.Requests, total.Failures, total.Causes[CauseDeploy])
		}
	}
	if !reflect.DeepEqual(listed, whole.Failures) {
		t.Errorf("the parts list %d failures, the whole %d, or they differ", len(listed), len(whole.Failures))
	}
}

func TestPartIsJudgedByItself(t *testing.T) {
	s := newScene(t)
	s.stop("api-1", 90, 100, false)
	s.prepare()
	for _, test := range []struct {
		name     string
		from, to float64
		state    VerdictState
		fired    string
		isFired  bool
	}{
		{"around the stop", 80, 110, Disproved, "restart-before-eject", true},
		{"the stop's second half", 95, 110, Disproved, "restart-before-eject", true},
		{"after it", 200, 240, Supported, "restart-before-eject", false},
		{"the baseline", 0, 60, Untested, "restart-before-eject", false},
	} {
		s.obs.Part = Part{s.at(test.from), s.at(test.to)}
		r := Judge(s.obs)
		if r.Verdict.State != test.state {
			t.Errorf("%s: %s (%s), want %s", test.name, r.Verdict.State, r.Claims[0].Reason, test.state)
		}
		for _, rule := range r.Rules {
			if rule.Code == test.fired && (rule.State == RuleFired) != test.isFired {
				t.Errorf("%s: %s is %s", test.name, rule.Code, rule.State)
			}
		}
		for _, f := range r.Findings {
			if !f.From.Before(s.at(test.to)) || f.To.Before(s.at(test.from)) {
				t.Errorf("%s: %s is about %v – %v", test.name, f.Code, f.From, f.To)
			}
			if f.Code == test.fired && (f.Phase == nil || *f.Phase != "api-1 restart") {
				t.Errorf("%s: %s lies in phase %v", test.name, f.Code, f.Phase)
			}
		}
	}
	s.obs.Part = Part{s.at(-100), s.at(1000)}
	if w := Judge(s.obs).Window; !w.From.Equal(s.obs.From) || !w.To.Equal(s.obs.To) {
		t.Errorf("a part beyond the window is judged over %v – %v", w.From, w.To)
	}
}
