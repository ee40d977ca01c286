package analysis

import (
	"slices"
	"testing"
	"time"
)

// elsewhere sends the scene's probe from another place too, as often over a
// span, with a clock that is ahead; a request takes as long as took says.
func (s *scene) elsewhere(from, to float64, ahead time.Duration, took func(at float64) time.Duration) {
	s.prepare()
	for seq := range int((to - from) * 5) {
		at := from + float64(seq)/5
		sent := s.at(at).Add(ahead)
		s.obs.Probes = append(s.obs.Probes, ProbeRequest{
			Source: "store@office", Probe: "store", Class: ClassProbe, Run: "off", Seq: seq, Sent: sent, Done: sent.Add(took(at)), Status: 200, Outcome: OutcomeOK,
		})
		s.obs.Handled = append(s.obs.Handled, HandledRequest{Source: "api-2.log", Target: "api-2", Run: "off", Seq: seq, At: s.at(at).Add(5 * time.Millisecond), Status: 200})
	}
}

// What was sent from another place at the time tells the prober from the network.
func TestStallSeenFromElsewhere(t *testing.T) {
	quick := func(float64) time.Duration { return 9 * time.Millisecond }
	for _, test := range []struct {
		name  string
		build func(*scene)
		cause string
	}{
		{"nobody else probed", func(*scene) {}, stallUndetermined},
		{"somebody else probed at another time", func(s *scene) { s.elsewhere(10, 190, 0, quick) }, stallUndetermined},
		{"its row is in the log and was not slow", func(s *scene) {
			s.obs.Requests = slices.DeleteFunc(s.obs.Requests, func(r Request) bool { return r.ProbeSeq == 1000 })
			s.elsewhere(10, 290, 0, quick)
		}, stallProber},
		{"its row is not in the log", func(s *scene) {
			s.obs.Requests = slices.DeleteFunc(s.obs.Requests, func(r Request) bool { return r.ProbeSeq == 1000 })
			s.obs.Known[0].Seqs = slices.DeleteFunc(s.obs.Known[0].Seqs, func(seq uint32) bool { return seq == 1000 })
			s.elsewhere(10, 290, 0, quick)
		}, stallUndetermined},
		{"quick from elsewhere", func(s *scene) { s.elsewhere(10, 290, 0, quick) }, stallProber},
		{"as slow from elsewhere", func(s *scene) {
			s.elsewhere(10, 290, 0, func(at float64) time.Duration {
				if at > 201.9 && at < 202.1 {
					return 4 * time.Second
				}
				return 9 * time.Millisecond
			})
		}, stallNetwork},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newScene(t)
			s.prepare()
			s.stall(1000, 5*time.Second, 7*time.Millisecond)
			test.build(s)
			r := s.judge()
			i := slices.IndexFunc(r.Findings, func(f Finding) bool {
				return f.Code == "probe-stall" && !f.From.Before(s.at(199)) && f.From.Before(s.at(201))
			})
			if i < 0 {
				t.Fatalf("no probe-stall among %+v", r.Findings)
			}
			if got := r.Findings[i].Values["cause"]; got != test.cause {
				t.Errorf("cause %v, want %s", got, test.cause)
			}
		})
	}
}

// Two probers have two clocks: one that is 20 s ahead says nothing of the other, and
// contradicts no log.
func TestProbersHaveClocksOfTheirOwn(t *testing.T) {
	s := newScene(t)
	s.elsewhere(10, 270, 20*time.Second, func(float64) time.Duration { return 9 * time.Millisecond })
	r := s.judge()
	var pairs []string
	for _, c := range r.Clocks {
		pairs = append(pairs, c.A+" "+c.B)
		want := Interval{-4, 5} // at 5 ms of 9: from at − done to at − sent
		if c.A == "prober@office" {
			want = Interval{-20_004, -19_995}
		}
		if c.B == "api-2.log" && c.Offset != want {
			t.Errorf("%s against %s: %+v, want %+v", c.B, c.A, c.Offset, want)
		}
	}
	if want := []string{"prober api-1.log", "prober api-2.log", "prober@office api-2.log"}; !slices.Equal(pairs, want) {
		t.Errorf("pairs %q, want %q", pairs, want)
	}
}

// A place covers only itself: what it did not send is its own gap, and what the
// console did not send is not made up for by it.
func TestCoverageOfEachPlace(t *testing.T) {
	s := newScene(t)
	s.elsewhere(100, 200, 0, func(float64) time.Duration { return 9 * time.Millisecond })
	s.obs.Probes = slices.DeleteFunc(s.obs.Probes, func(p ProbeRequest) bool {
		return p.Source == "store" && !p.Sent.Before(s.at(120)) && p.Sent.Before(s.at(140))
	})
	r := s.judge()
	blind := func(source string) float64 {
		for _, c := range r.Coverage {
			if c.Source == source {
				return seconds(c.To.Sub(c.From.Time)) - c.Seen
			}
		}
		t.Errorf("no coverage of %s", source)
		return -1
	}
	if got := blind("store"); got < 20 || got > 20.5 {
		t.Errorf("the console's prober was blind for %v s, want the 20 s in which it sent nothing", got)
	}
	if got := blind("store@office"); got < 200 || got > 202 {
		t.Errorf("the office's was blind for %v s, want the 200 s in which it did not probe", got)
	}
	if slices.ContainsFunc(r.Verdict.Conditions, func(c Condition) bool { return c.Code == "one-vantage-point" }) {
		t.Error("one-vantage-point, though there were two")
	}
}

// Slow requests that overlap and have one cause are one finding, which says how many
// they were and how long the slowest took; the next one after a pause is another.
func TestStallsThatOverlapAreOne(t *testing.T) {
	s := newScene(t)
	s.prepare()
	for i, seq := range []int{1000, 1003, 1010, 1100} { // sent at 200, 200.6, 202 and 220 s
		s.stall(seq, time.Duration(2+i)*time.Second, 0)
		s.obs.Known[0].Seqs = slices.DeleteFunc(s.obs.Known[0].Seqs, func(known uint32) bool { return int(known) == seq })
	}
	type found struct{ from, to, requests, took float64 }
	var got []found
	for _, f := range s.judge().Findings {
		if f.Code == "probe-stall" {
			got = append(got, found{seconds(f.From.Sub(s.at(0.013))), seconds(f.To.Sub(s.at(0.013))), float64(f.Values["requests"].(int)), f.Values["took_s"].(float64)})
			if n := f.Evidence[0].Count; n != f.Values["requests"] {
				t.Errorf("evidence of %d requests, %v said", n, f.Values["requests"])
			}
		}
	}
	if want := []found{{200, 206, 3, 4}, {220, 225, 1, 5}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
