package analysis

import (
	"fmt"
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

// sketch is a report of a deploy that began at 60, with the given steps: times of
// drain marks and of stops of its only target.
func sketch(drains, stops []float64) Report {
	at := newTable().at
	r := Report{Deploy: DeployReport{StartedAt: Time{at(60)}}}
	for _, s := range drains {
		r.Steps = append(r.Steps, StepReport{Kind: StepDrainMarked, At: Time{at(s)}})
	}
	for _, s := range stops {
		r.Steps = append(r.Steps, StepReport{Kind: StepProcessKilled, At: Time{at(s)}})
	}
	return r
}

// Two reports are aligned at what both have, whichever of them lacks the rest, and at
// no step that is ignored or that came before the deploy.
func TestWhatTwoReportsAreAlignedAt(t *testing.T) {
	at := newTable().at
	ignored := sketch([]float64{70, 80}, nil)
	ignored.Steps[0].Ignored = true
	asked := sketch(nil, []float64{75})
	asked.Steps[0].Kind = StepRestartBegan
	both := sketch(nil, []float64{80, 80})
	both.Steps[1].Kind = StepRestartBegan
	for _, c := range []struct {
		name         string
		a, b         Report
		by           StepKind
		zeroA, zeroB float64
	}{
		{"both drained", sketch([]float64{70}, []float64{90}), sketch([]float64{75, 72}, nil), StepDrainMarked, 70, 72},
		{"only the first drained", sketch([]float64{70}, []float64{90}), sketch(nil, []float64{80}), StepProcessKilled, 90, 80},
		{"only the second drained", sketch(nil, []float64{80}), sketch([]float64{70}, []float64{90}), StepProcessKilled, 80, 90},
		{"killed, and told so in the same moment", both, sketch(nil, []float64{90}), StepProcessKilled, 80, 90},
		{"one asked to stop, and one killed", asked, sketch(nil, []float64{90, 80}), StepRestartBegan, 75, 80},
		{"the second was not stopped", sketch(nil, []float64{80}), sketch(nil, nil), StepDeployStarted, 60, 60},
		{"the first was not stopped", sketch(nil, nil), sketch(nil, []float64{80}), StepDeployStarted, 60, 60},
		{"a mark that is ignored", ignored, sketch([]float64{75}, nil), StepDrainMarked, 80, 75},
		{"a mark before the start, and one at it", sketch([]float64{59.9, 70}, nil), sketch([]float64{60, 70}, nil), StepDrainMarked, 70, 60},
	} {
		x := Compare(&c.a, &c.b)
		if x.AlignedBy != c.by || !x.ZeroA.Equal(at(c.zeroA)) || !x.ZeroB.Equal(at(c.zeroB)) {
			t.Errorf("%s: by %s at %v and %v", c.name, x.AlignedBy, x.ZeroA, x.ZeroB)
		}
	}
}

// A target that went down twice is compared time by time.
func TestTheWaysOfATargetInTwoReports(t *testing.T) {
	way := func(target string, boot float64) TargetReport {
		return TargetReport{Target: target, TargetGroup: "api", Boot: &Bounded{boot, Exact}}
	}
	a := Report{Targets: []TargetReport{way("api-1", 1), way("api-1", 2), way("api-2", 3)}}
	b := Report{Targets: []TargetReport{way("api-1", 4), way("api-2", 5), way("api-2", 6)}}
	boot := func(r *TargetReport) float64 {
		if r == nil {
			return 0
		}
		return r.Boot.Value
	}
	got := ""
	for _, p := range Compare(&a, &b).Targets {
		got += fmt.Sprintf("%s %g %g;", p.Target, boot(p.A), boot(p.B))
	}
	if want := "api-1 1 4;api-1 2 0;api-2 3 5;api-2 0 6;"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Phases that only the second deploy has stand where they stand in it, in their order.
func TestPhasesOfOneSide(t *testing.T) {
	phases := func(names ...string) Report {
		r := sketch(nil, nil)
		for _, name := range names {
			r.Phases = append(r.Phases, Phase{Name: name, From: r.Deploy.StartedAt, To: r.Deploy.StartedAt, Traffic: map[Class]*Counts{ClassUser: {Requests: 7}}})
		}
		return r
	}
	a, b := phases("build", "x", "tail"), phases("before", "first", "build", "drain", "restart", "tail", "after")
	c := Compare(&a, &b)
	want := []string{"before", "first", "build", "drain", "restart", "x", "tail", "after"}
	for i, p := range c.Phases {
		if i >= len(want) || p.Name != want[i] {
			t.Fatalf("phase %d is %s, want %q", i, p.Name, want)
		}
		if (p.A == nil) != (p.StartA == nil) || (p.B == nil) != (p.StartB == nil) {
			t.Errorf("%s starts at %v and %v", p.Name, p.StartA, p.StartB)
		}
	}
	x := c.Phases[5].Traffic[ClassUser] // only the first has it
	if x.RequestsA == nil || *x.RequestsA != 7 || x.RequestsB != nil || x.Failures != nil {
		t.Errorf("x: %+v", x)
	}
}

// A figure that one side has is listed, whichever side it is, without a difference.
func TestFiguresOfOneSide(t *testing.T) {
	has := &TargetReport{Boot: &Bounded{Value: 8, Bound: Exact}, StateLagUp: &Interval{1, 3}}
	without := &TargetReport{}
	for _, c := range []struct {
		name string
		pair TargetPair
	}{
		{"the first", TargetPair{A: has, B: without}},
		{"the second", TargetPair{A: without, B: has}},
		{"the first, which alone has the target", TargetPair{A: has}},
		{"the second, which alone has the target", TargetPair{B: has}},
	} {
		c.pair.measure()
		if len(c.pair.Measures) != 2 || c.pair.Measures[0].Name != "boot_s" || c.pair.Measures[1].Name != "state_lag_up_s" {
			t.Errorf("%s: %+v", c.name, c.pair.Measures)
			continue
		}
		boot, lag := c.pair.Measures[0].Value, c.pair.Measures[1]
		first := c.pair.A == has
		if (boot.A != nil) != first || (boot.B != nil) == first || boot.Difference != nil {
			t.Errorf("%s: boot %+v", c.name, boot)
		}
		if (lag.IntervalA != nil) != first || (lag.IntervalB != nil) == first || lag.IntervalDifference != nil {
			t.Errorf("%s: lag %+v", c.name, lag)
		}
	}
	both := TargetPair{A: without, B: without}
	if both.measure(); len(both.Measures) > 0 {
		t.Errorf("figures that nobody has: %+v", both.Measures)
	}
}
