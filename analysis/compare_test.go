package analysis

import (
	"slices"
	"testing"
	"time"
)

func TestComparisonOfTwoDeploys(t *testing.T) {
	first, second := newScene(t), newScene(t)
	first.stop("api-1", 100, 115, false)
	second.zero = second.zero.Add(24 * time.Hour)
	second.obs.From, second.obs.To, second.obs.At = second.at(0), second.at(300), second.at(1000)
	second.obs.Deploy.StartedAt, second.obs.Deploy.ReportedAt = second.at(60), second.at(240)
	second.obs.Steps = nil
	second.step(StepDeployStarted, "", 60)
	second.step(StepDeployReported, "", 240)
	second.stop("api-1", 120, 130, true)
	a, b := first.judge(), second.judge()
	c := Compare(&a, &b)
	if c.AlignedBy != StepRestartBegan || !c.ZeroA.Equal(first.at(100)) || !c.ZeroB.Equal(second.at(120)) {
		t.Errorf("aligned by %s at %v and %v, want the stops: only one has a drain mark", c.AlignedBy, c.ZeroA, c.ZeroB)
	}
	names := []string{}
	for _, p := range c.Phases {
		names = append(names, p.Name)
	}
	if !slices.Equal(names, []string{"baseline", "build", "api-1 drain", "api-1 restart", "api-1 back", "tail"}) {
		t.Errorf("phases %q", names)
	}
	drain, restart := c.Phases[2], c.Phases[3]
	if drain.A != nil || drain.StartA != nil || *drain.StartB != -25 || drain.Length.Difference != nil || drain.Traffic[ClassUser].RequestsA != nil {
		t.Errorf("a phase of one side: %+v", drain)
	}
	if *restart.StartA != 0 || *restart.StartB != 0 || *restart.Length.Difference != (Bounded{-5, Exact}) {
		t.Errorf("restart: %+v", restart)
	}
	if users := restart.Traffic[ClassUser]; *users.FailuresA == 0 || *users.FailuresB != 0 || *users.Failures != -*users.FailuresA {
		t.Errorf("users in the restart: %+v", users)
	}
	if total := c.Totals[ClassUser]; *total.RequestsA != a.Totals[ClassUser].Requests || *total.FailuresB != 0 {
		t.Errorf("totals: %+v", total)
	}
	if c.Totals[ClassTool].Failures == nil {
		t.Error("a class that was measured and had no requests has no difference")
	}
	if len(c.Targets) != 2 || c.Targets[0].A == nil || c.Targets[0].B == nil {
		t.Fatalf("targets: %+v", c.Targets)
	}
	for _, m := range c.Targets[0].Measures {
		if m.Name == "boot_s" && (m.Value.Difference == nil || m.Value.Difference.Value > -4 || m.Value.Difference.Value < -6) {
			t.Errorf("boot: %+v", m.Value)
		}
	}
}

func TestComparisonAlignsAtDrainMarks(t *testing.T) {
	s := newScene(t)
	s.stop("api-1", 100, 115, true)
	r := s.judge()
	c := Compare(&r, &r)
	if c.AlignedBy != StepDrainMarked || !c.ZeroA.Equal(s.at(75)) {
		t.Errorf("aligned by %s at %v", c.AlignedBy, c.ZeroA)
	}
	for _, p := range c.Phases {
		if p.Length.Difference.Value != 0 || *p.StartA != *p.StartB {
			t.Errorf("a deploy differs from itself: %+v", p)
		}
	}
	empty := Report{Window: WindowReport{From: Time{s.at(3)}}}
	if c := Compare(&empty, &empty); c.AlignedBy != StepDeployStarted || !c.ZeroB.Equal(s.at(3)) {
		t.Errorf("nothing to align at: %+v", c)
	}
}

func TestDifferencesKeepTheirBounds(t *testing.T) {
	for _, test := range []struct{ a, b, want Bound }{
		{Exact, Exact, Exact}, {Exact, Lower, Lower}, {Exact, Upper, Upper}, {Lower, Exact, Upper}, {Upper, Exact, Lower},
		{Lower, Upper, Upper}, {Upper, Lower, Lower}, {Lower, Lower, ""}, {Upper, Upper, ""},
	} {
		d := pairOf(&Bounded{2, test.a}, &Bounded{5, test.b}).Difference
		switch {
		case test.want == "" && d != nil:
			t.Errorf("%s and %s: %+v, want none", test.a, test.b, d)
		case test.want != "" && (d == nil || d.Bound != test.want || d.Value != 3):
			t.Errorf("%s and %s: %+v, want 3 %s", test.a, test.b, d, test.want)
		}
	}
	if p := pairOf(nil, &Bounded{5, Exact}); p.Difference != nil {
		t.Errorf("%+v", p)
	}
	one := TargetPair{A: &TargetReport{StateLagUp: &Interval{1, 3}}, B: &TargetReport{StateLagUp: &Interval{10, 11}}}
	one.measure()
	if d := one.Measures[0].IntervalDifference; d == nil || *d != (Interval{7, 10}) {
		t.Errorf("intervals differ by %+v, want 7 … 10", d)
	}
}
