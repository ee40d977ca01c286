package analysis

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// probesEvery sends a request of the probe "store" at even intervals through the window;
// nothing tells where each went.
func (s *shape) probesEvery(interval float64) {
	s.obs.Service.Probes = []Probe{{Name: "store", Class: ClassProbe, Every: time.Duration(interval * float64(time.Second)), Timeout: 5 * time.Second}}
	for i := range int(300 / interval) {
		at := s.at(float64(i) * interval)
		s.obs.Probes = append(s.obs.Probes, ProbeRequest{Source: "store", Probe: "store", Class: ClassProbe, Run: "r", Seq: i, Sent: at, Done: at.Add(5 * time.Millisecond), Status: 200, Outcome: OutcomeOK})
	}
}

// chances are the chances to miss an outage of 1 s and of 5 s of each target over the whole
// window, in percent, with the target's share.
func chances(r Report) string {
	var all []string
	for _, d := range r.Detection {
		if d.Phase == "" {
			all = append(all, fmt.Sprintf("%s %.3f: %.1f %.2f", d.Target, *d.Share, 100*d.Miss[2].Probability, 100*d.Miss[3].Probability))
		}
	}
	return strings.Join(all, "; ")
}

// Two targets get 1 and 19 of 20 requests, and five probe requests a second come. An
// outage of 1 s has five in it, one of 5 s 25: the light target's is missed with 0.95^5 =
// 77.4 % and 0.95^25 = 27.7 %, the heavy one's with 0.05^5 and less.
func TestChancesByTheWeightsOfTargets(t *testing.T) {
	s := newShape(t, "light", "heavy")
	s.serve("alb", "api", "light", 1, 0, 300, false)
	s.serve("alb", "api", "heavy", 19, 0, 300, false)
	s.probesEvery(.2)
	r := Judge(s.obs)
	if got, want := chances(r), "light 0.050: 77.4 27.74; heavy 0.950: 0.0 0.00"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	for _, d := range r.Detection {
		// All 58 in it would miss it: 0.95^59 is 4.8 %, so one of 11.6 s, with 58 in it, may
		// be longer only while it has no more: less than a fifth of a second. Mean over the
		// places: 0.95^58 = 5.1 % and 0.95^59 = 4.85 %, 5 % where 40 % have the 59th.
		if d.Target == "light" && (*d.LongestMissed < 11_600 || *d.LongestMissed > 11_800) {
			t.Errorf("light: %v ms", *d.LongestMissed)
		}
		// Of n requests without a failure 1/20 went to it: its rate is below 20 times theirs.
		if want := min(1, (1-math.Pow(.05, 1./1500))/(*d.Share)); math.Abs(*d.FailureRateBelow-want) > 1e-9 {
			t.Errorf("%s: failure rate below %v, want %v", d.Target, *d.FailureRateBelow, want)
		}
	}
}

// An access log keeps requests one by one only where they failed or were slow: that it
// tells where those went attributes none of the others.
func TestOneLoggedRowAttributesNoOther(t *testing.T) {
	s := newShape(t, "light", "heavy")
	s.serve("alb", "api", "light", 1, 0, 300, false)
	s.serve("alb", "api", "heavy", 19, 0, 300, false)
	s.probesEvery(.2)
	key := CellKey{Second: s.at(10).Unix(), Source: "alb", TargetGroup: "api", Target: "heavy", Class: ClassProbe, Outcome: OutcomeOK, Route: OtherRoute, Status: 200, TargetStatus: 200}
	s.obs.Requests = append(s.obs.Requests, Request{CellKey: key, Start: s.at(10), End: s.at(13), Duration: 3 * time.Second, ProbeRun: "r", ProbeSeq: 50})
	want := "light 0.050: 77.4 27.74; heavy 0.950: 0.0 0.00"
	if got := chances(Judge(s.obs)); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	s.obs.Probes[7].Target = "heavy" // the answer itself names its target: so do all that were answered
	if d := Judge(s.obs).Detection[0]; d.Share != nil || d.Requests != 0 {
		t.Errorf("%+v", d)
	}
}

// Another group's targets, and one that left before, take nothing of a target's share.
func TestSharesAreOfThoseInRotationOfTheGroup(t *testing.T) {
	s := newShape(t, "a", "b", "gone", "web")
	s.serve("alb", "api", "a", 10, 0, 300, false)
	s.serve("alb", "api", "b", 10, 0, 300, false)
	s.serve("alb", "api", "gone", 10, 0, 30, false)
	s.serve("alb", "web", "web", 10, 0, 300, false)
	s.probesEvery(1)
	got := map[string]float64{}
	for _, d := range Judge(s.obs).Detection {
		got[d.Target] = *d.Share
	}
	// A third for 29.9 s, the last of which it served in, and then a half.
	want := map[string]float64{"a": (30./3 + 270./2) / 300, "b": (30./3 + 270./2) / 300, "gone": 1. / 3, "web": 1}
	for name, share := range want {
		if math.Abs(got[name]-share) > .002 {
			t.Errorf("%s: %.3f, want %.3f", name, got[name], share)
		}
	}
}

// While a target that fails is still sent its requests, the other one is not alone.
func TestATargetThatFailsStillTakesItsShare(t *testing.T) {
	s := newShape(t, "a", "b")
	s.serve("alb", "api", "a", 10, 0, 100, false)
	s.serve("alb", "api", "a", 10, 100, 120, true)
	s.serve("alb", "api", "a", 10, 140, 300, false)
	s.serve("alb", "api", "b", 10, 0, 300, false)
	s.serve("edge", "api", "a", 10, 120, 140, true) // by a log that does not count
	s.restart("a", 100, 130)
	s.probesEvery(1)
	for _, d := range Judge(s.obs).Detection {
		if d.Target != "b" || d.Phase != "" {
			continue
		}
		if want := (20. + 280./2) / 300; math.Abs(*d.Share-want) > .002 { // alone from 120 to 140
			t.Errorf("%.3f, want %.3f", *d.Share, want)
		}
	}
}

// Logs name targets of probes' requests in one group, and in it only: the other group's
// would have been missed surely.
func TestProbesThatWentToAnotherGroup(t *testing.T) {
	s := newShape(t, "a", "web")
	s.serve("alb", "api", "a", 10, 0, 300, false)
	s.serve("alb", "web", "web", 10, 0, 300, false)
	s.probesEvery(.2)
	refused := CellKey{Second: s.at(9).Unix(), Source: "alb", TargetGroup: "web", Class: ClassProbe, Outcome: OutcomeLB5xx, Route: OtherRoute, Status: 503} // sent to nobody
	s.obs.Cells = append(s.obs.Cells, Cell{CellKey: refused, Count: 1, First: s.at(9), Last: s.at(9.1)})
	key := CellKey{Second: s.at(10).Unix(), Source: "alb", TargetGroup: "api", Target: "a", Class: ClassProbe, Outcome: OutcomeOK, Route: OtherRoute, Status: 200, TargetStatus: 200}
	s.obs.Cells = append(s.obs.Cells, Cell{CellKey: key, Count: 1, First: s.at(10), Last: s.at(10.1)})
	if got, want := chances(Judge(s.obs)), "a 1.000: 0.0 0.00; web 0.000: 100.0 100.00"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	s.obs.Cells[len(s.obs.Cells)-1].Source = "edge" // a log that does not count
	if got, want := chances(Judge(s.obs)), "a 1.000: 0.0 0.00; web 1.000: 0.0 0.00"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestWeights(t *testing.T) {
	sent := func(b *table, second float64, counts ...int) {
		for i, n := range counts {
			if n > 0 {
				b.cell("alb", b.lives[i].name, second, second+.9, n)
			}
		}
	}
	// Each turn is ten seconds.
	turns := func(b *table, targets ...[]int) (list []turn) {
		for i, in := range targets {
			list = append(list, turn{span: span{b.at(float64(10 * i)), b.at(float64(10 * (i + 1)))}, targets: in})
		}
		return list
	}
	both := []int{0, 1}
	for _, c := range []struct {
		name  string
		lay   func(*table)
		turns [][]int
		want  string // of the first target's weight among all
	}{
		{"nothing counted", func(*table) {}, [][]int{both}, "0.500"},
		{"one to three", func(b *table) { sent(b, 2, 10, 30) }, [][]int{both}, "0.250"},
		{"just enough", func(b *table) { sent(b, 2, 10, 20) }, [][]int{both}, "0.333"},
		{"too few", func(b *table) { sent(b, 2, 10, 19) }, [][]int{both}, "0.500"},
		{"none of many", func(b *table) { sent(b, 2, 0, 40) }, [][]int{both}, "0.000"},
		{"by several turns", func(b *table) { sent(b, 2, 10, 30); sent(b, 12, 5, 15) }, [][]int{both, both}, "0.250"},
		// What one had alone says nothing of the other.
		{"alone meanwhile", func(b *table) { sent(b, 2, 10, 30); sent(b, 12, 900, 0) }, [][]int{both, {0}}, "0.250"},
		{"never together", func(b *table) { sent(b, 2, 100, 0); sent(b, 12, 0, 40) }, [][]int{{0}, {1}}, "0.500"},
		{"together too briefly", func(b *table) { sent(b, 2, 100, 0); sent(b, 12, 1, 9) }, [][]int{{0}, both}, "0.500"},
		{"at the turn's first second", func(b *table) { sent(b, 0, 10, 30) }, [][]int{both}, "0.250"},
		{"at its last", func(b *table) { sent(b, 9, 10, 30) }, [][]int{both}, "0.250"},
		{"a second of two turns", func(b *table) { sent(b, 9, 10, 30) }, nil, "0.500"},
		{"before all turns", func(b *table) { sent(b, -1, 10, 30) }, [][]int{both}, "0.500"},
		{"of one that is out", func(b *table) { sent(b, 2, 0, 40); sent(b, 3, 30, 0) }, [][]int{{1}}, "0.500"},
		{"of one that is out, which was in before", func(b *table) { sent(b, 2, 10, 30); sent(b, 12, 900, 10) }, [][]int{both, {1}}, "0.250"},
		{"none of many, and then alone with none", func(b *table) { sent(b, 2, 0, 40) }, [][]int{both, {0}}, "0.000"},
		{"by a log that does not count", func(b *table) { b.cell("edge", "api-1", 2, 3, 99) }, [][]int{both}, "0.500"},
		{"no target", func(b *table) { b.cell("alb", "", 2, 3, 99) }, [][]int{both}, "0.500"},
	} {
		b := newTable()
		c.lay(b)
		list := turns(b, c.turns...)
		if c.turns == nil {
			list = []turn{{span: span{b.at(0), b.at(9.5)}, targets: both}}
		}
		w := b.weights(b.lives, list)
		if got := fmt.Sprintf("%.3f", w[0]/(w[0]+w[1])); got != c.want {
			t.Errorf("%s: %s, want %s (%v)", c.name, got, c.want, w)
		}
	}
}

// Two targets were sent 10 and 20 of the 30 requests of a turn, which is just enough, and
// the first another 900 while alone. The third, sent five, weighs what both do on average.
func TestWeightOfATargetSeenTooBriefly(t *testing.T) {
	b := newTable()
	b.lives = append(b.lives, &life{name: "api-3", group: "api"})
	b.cell("alb", "api-1", 2, 2.9, 10)
	b.cell("alb", "api-2", 2, 2.9, 20)
	b.cell("alb", "api-1", 12, 12.9, 900)
	b.cell("alb", "api-3", 22, 22.9, 5)
	w := b.weights(b.lives, []turn{
		{span: span{b.at(0), b.at(10)}, targets: []int{0, 1}},
		{span: span{b.at(10), b.at(20)}, targets: []int{0}},
		{span: span{b.at(20), b.at(30)}, targets: []int{2}},
	})
	if ratio, average := w[1]/w[0], w[2]/((w[0]+w[1])/2); math.Abs(ratio-2) > 1e-6 || math.Abs(average-1) > 1e-9 {
		t.Errorf("the second weighs %v of the first, the third %v of their average", ratio, average)
	}
}
