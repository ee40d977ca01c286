package analysis

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// The first report's figures: per node, gaps of 0.2, 0.4, 0.6 and 0.8 s in shares
// .42, .33, .22 and .03, and three of 2.6 s, over the time in rotation only. It
// states about 16 % missed at 0.4 s and 0.3 to 0.4 % at 1 s.
func TestMissChanceOfTheFirstReport(t *testing.T) {
	const requests = 3900
	var gaps []time.Duration
	for _, g := range []struct {
		ms    int
		share float64
	}{{200, .42}, {400, .33}, {600, .22}, {800, .03}} {
		for range int(math.Round(g.share * requests)) {
			gaps = append(gaps, time.Duration(g.ms)*time.Millisecond)
		}
	}
	for range 3 {
		gaps = append(gaps, 2600*time.Millisecond)
	}
	short, _ := missChance(gaps, oneSpan(gaps), 400*time.Millisecond)
	second, _ := missChance(gaps, oneSpan(gaps), time.Second)
	if short < .15 || short > .165 { // by hand: (.22·.2 + .03·.4 + 3·2.2/n) ÷ (.372 + 3·2.6/n) = 15.4 %
		t.Errorf("0.4 s: %.4f, the report says about 16 %%", short)
	}
	if second < .003 || second > .004 {
		t.Errorf("1 s: %.4f, the report says 0.3 to 0.4 %%", second)
	}
	// Counting the 150 s out of rotation as one more gap would be wrong.
	wrong, _ := missChance(append(gaps, 150*time.Second), oneSpan(append(gaps, 150*time.Second)), time.Second)
	if wrong < .08 || wrong > .11 {
		t.Errorf("with the time out of rotation 1 s gives %.3f, want the 8 to 10 %% that the figure must not be", wrong)
	}
	if _, ok := missChance(gaps[:1], gaps[:1], time.Second); ok {
		t.Error("a window longer than the time has no chance")
	}
}

// Placing windows at random must agree with the formula.
func TestMissChanceAgreesWithPlacements(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	var at []time.Duration
	for now := time.Duration(0); now < time.Minute; {
		now += time.Duration(random.ExpFloat64() * float64(400*time.Millisecond))
		at = append(at, now)
	}
	length := at[len(at)-1] + 300*time.Millisecond
	gaps := []time.Duration{}
	before := time.Duration(0)
	for _, a := range append(at, length) {
		gaps = append(gaps, a-before)
		before = a
	}
	w := 500 * time.Millisecond
	want, _ := missChance(gaps, oneSpan(gaps), w)
	missed, tries := 0, 200_000
	for range tries {
		from := time.Duration(random.Int64N(int64(length - w)))
		hit := false
		for _, a := range at {
			hit = hit || a >= from && a < from+w
		}
		if !hit {
			missed++
		}
	}
	got := float64(missed) / float64(tries)
	if deviation := math.Abs(got - want); deviation > 3*math.Sqrt(want*(1-want)/float64(tries)) {
		t.Errorf("%.4f of the placements missed, the formula says %.4f", got, want)
	}
}

func TestMeanMissAgreesWithPlacements(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	zero := time.Unix(1000, 0)
	to := zero.Add(30 * time.Second)
	var sends []time.Time
	for now := zero; ; {
		now = now.Add(time.Duration(random.ExpFloat64() * float64(300*time.Millisecond)))
		if !now.Before(to) {
			break
		}
		sends = append(sends, now)
	}
	w := time.Second
	got := sendingsOf(zero, sends, func(time.Time) float64 { return .5 }).meanMiss(span{zero, to}, w)
	sum, steps := 0.0, 100_000
	for i := range steps {
		from := zero.Add(time.Duration(float64(to.Sub(zero)-w) * (float64(i) + .5) / float64(steps)))
		n := 0
		for _, s := range sends {
			if !s.Before(from) && s.Before(from.Add(w)) {
				n++
			}
		}
		sum += math.Pow(.5, float64(n))
	}
	if want := sum / float64(steps); math.Abs(got-want) > 1e-3 {
		t.Errorf("mean miss %.5f, by placements %.5f", got, want)
	}
}

func TestDetectionCountsRotationOnly(t *testing.T) {
	s := newScene(t)
	s.stop("api-1", 100, 115, true)
	r := s.judge()
	for _, d := range r.Detection {
		if d.Scope != "store" || d.Phase != "" || d.Target != "api-1" {
			continue
		}
		if *d.GapMax > 5000 {
			t.Errorf("longest gap %g ms: the 50 s out of rotation were counted", *d.GapMax)
		}
		if d.FailureRateBelow == nil || math.Abs(*d.FailureRateBelow-(1-math.Pow(.05, 1/float64(d.Requests)))) > 1e-12 {
			t.Errorf("rate below %v of %d", d.FailureRateBelow, d.Requests)
		}
		return
	}
	t.Error("no row for api-1 over the whole window")
}

// Values from R: pbinom(2, 10, .25, lower.tail=FALSE) and
// fisher.test(matrix(c(7, 93, 1, 99), 2), alternative="greater").
func TestStatisticsAgainstKnownValues(t *testing.T) {
	if p := binomialAtLeast(3, 10, .25); math.Abs(p-0.4744072) > 1e-6 {
		t.Errorf("binomial tail %.7f", p)
	}
	if p := fisherGreater(7, 100, 1, 100); math.Abs(p-0.0324) > 5e-4 {
		t.Errorf("Fisher %.5f", p)
	}
	for _, edge := range []struct{ got, want float64 }{
		{binomialAtLeast(0, 5, .1), 1}, {binomialAtLeast(1, 5, 0), 0}, {binomialAtLeast(5, 5, 1), 1}, {fisherGreater(0, 10, 3, 10), 1},
	} {
		if math.Abs(edge.got-edge.want) > 1e-9 {
			t.Errorf("got %g, want %g", edge.got, edge.want)
		}
	}
}

// An outage lies within one span of rotation: two spans of 10 s with a request in
// the middle of each, and w = 4 s, leave 2 × 6 s of placements; each span has two
// gaps of 5 s, of which 1 s each misses.
func TestMissChanceOverSeveralSpans(t *testing.T) {
	gaps := []time.Duration{5e9, 5e9, 5e9, 5e9}
	if p, ok := missChance(gaps, []time.Duration{10e9, 10e9}, 4*time.Second); !ok || math.Abs(p-4.0/12) > 1e-12 {
		t.Errorf("chance %.4f, want %.4f", p, 4.0/12)
	}
}

func oneSpan(gaps []time.Duration) []time.Duration {
	var length time.Duration
	for _, g := range gaps {
		length += g
	}
	return []time.Duration{length}
}

// One target, a request every second for 100 s, of which the one at 50 s is stuck until
// 55: nothing was sent meanwhile. With it, outages of 1 s hide in 4 of 99 s; without that
// time the requests leave no gap longer than theirs.
func TestDetectionWithAndWithoutStalls(t *testing.T) {
	s := newShape(t, "api-1")
	s.obs.To, s.obs.At = s.at(100), s.at(400)
	s.obs.Deploy = Deploy{}
	s.obs.Steps = nil
	s.obs.Service.Probes = []Probe{{Name: "store", Class: ClassProbe, Every: time.Second, Timeout: 10 * time.Second}}
	for i := range 101 {
		at, took := float64(i), .01
		if at > 50 && at < 55 || at == 100 {
			continue
		}
		if at == 50 {
			took = 5
		}
		s.obs.Probes = append(s.obs.Probes, ProbeRequest{Source: "store", Probe: "store", Class: ClassProbe, Run: "r", Seq: i, Sent: s.at(at), Done: s.at(at + took), Status: 200, Outcome: OutcomeOK, Target: "api-1"})
	}
	d := Judge(s.obs).Detection
	if len(d) != 1 {
		t.Fatalf("%+v", d)
	}
	for _, want := range []struct {
		window        float64
		with, without float64
	}{
		// 95 gaps of 1 s and one of 5: Σ max(0, g − w) over 100 − w; without the 5 s, over
		// the stretches [0, 50) and [55, 100).
		{400, (95*.6 + 4.6) / 99.6, (95 * .6) / (49.6 + 44.6)}, {1000, 4.0 / 99, 0},
	} {
		for _, m := range d[0].Miss {
			if m.WindowMS != want.window {
				continue
			}
			if math.Abs(m.Probability-want.with) > 1e-9 || m.WithoutStalls == nil || math.Abs(*m.WithoutStalls-want.without) > 1e-9 {
				t.Errorf("%v ms: %v, without stalls %v; want %v and %v", m.WindowMS, m.Probability, m.WithoutStalls, want.with, want.without)
			}
		}
	}
	// 20·(95·(1 − w) + 5 − w) = 100 − w, and without the 5 s 20·95·(1 − w) = 95 − 2·w.
	with, without := d[0].LongestMissed, d[0].LongestMissedWithoutStalls
	if with == nil || math.Abs(*with-1000*1900./1919) > .001 || without == nil || math.Abs(*without-1000*1805./1898) > .001 {
		t.Errorf("outages that could well have been missed: of %v ms, without stalls %v", with, without)
	}
	// A prober that does not wait goes on sending: nothing is blind.
	for i := range 4 {
		at := s.at(51 + float64(i))
		s.obs.Probes = append(s.obs.Probes, ProbeRequest{Source: "store", Probe: "store", Class: ClassProbe, Run: "r", Seq: 200 + i, Sent: at, Done: at.Add(10 * time.Millisecond), Status: 200, Outcome: OutcomeOK, Target: "api-1"})
	}
	d = Judge(s.obs).Detection
	if m := d[0].Miss[0]; m.WithoutStalls != nil || d[0].LongestMissedWithoutStalls != nil {
		t.Errorf("the others were sent all the while: %v", *m.WithoutStalls)
	}
	for i := range s.obs.Probes {
		s.obs.Probes[i].Done = s.obs.Probes[i].Sent.Add(10 * time.Millisecond)
	}
	if m := Judge(s.obs).Detection[0].Miss[0]; m.WithoutStalls != nil {
		t.Errorf("nothing was stuck: %v", *m.WithoutStalls)
	}
}

// The risky phases come first, the whole window last.
func TestDetectionOrder(t *testing.T) {
	s := newScene(t)
	s.stop("api-1", 100, 115, true)
	d := s.judge().Detection
	if d[0].Phase != "api-1 drain" || d[len(d)-1].Phase != "" {
		t.Errorf("from %q to %q", d[0].Phase, d[len(d)-1].Phase)
	}
}
