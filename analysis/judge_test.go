package analysis

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"
)

// The scene that most tests of the judge start from: two targets behind one load
// balancer, a request of a user every 50 ms and a probe every 200 ms, given in turn
// to the targets in rotation. Checks are started every 10 s, two decide.
//
//	0 s     60 s            80 s      160 s           180 s     240 s   300 s
//	base    started         api-1 stops   …          api-2 stops       reported   end
func TestNaiveRollingDeployIsDisproved(t *testing.T) {
	s := newScene(t)
	s.stop("api-1", 80, 95, false)
	s.stop("api-2", 160, 175, false)
	r := s.judge()

	if r.Verdict.State != Disproved || r.Verdict.Claim != ClaimNoUserFailureCaused {
		t.Errorf("verdict %s of %s", r.Verdict.State, r.Verdict.Claim)
	}
	users, probes := r.Totals[ClassUser], r.Totals[ClassProbe]
	if users.Failures != s.failed[ClassUser] || users.Requests != s.sent[ClassUser] {
		t.Errorf("users %d of %d failed, want %d of %d", users.Failures, users.Requests, s.failed[ClassUser], s.sent[ClassUser])
	}
	if probes.Failures != s.failed[ClassProbe] || probes.Requests != s.sent[ClassProbe] {
		t.Errorf("probes %d of %d failed, want %d of %d", probes.Failures, probes.Requests, s.failed[ClassProbe], s.sent[ClassProbe])
	}
	if users.Failures == 0 || users.Causes[CauseDeploy] != users.Failures {
		t.Errorf("causes %v, want all by the deploy", users.Causes)
	}
	s.phases(r, "baseline", "build", "api-1 restart", "api-1 back", "api-2 restart", "api-2 back", "tail")
	s.fired(r, "restart-before-eject", "restart-before-eject", "single-target", "single-target")
	s.claim(r, ClaimNoUserFailure, Disproved, ReasonFailureInScope)
	s.claim(r, ClaimAlwaysOneTarget, Supported, ReasonNoFailure)
	s.claim(r, ClaimEjectedBeforeStop, Disproved, ReasonStoppedInUse)
	for _, target := range r.Targets {
		if target.Ejected != "no" || target.EjectedBasis[0] != "served-right-after-ready" {
			t.Errorf("%s ejected %s by %v", target.Target, target.Ejected, target.EjectedBasis)
		}
		if len(target.FailureWindows) != 3 {
			t.Fatalf("%s has failure windows %+v", target.Target, target.FailureWindows)
		}
		for _, w := range target.FailureWindows {
			if w.Seconds < 10 || w.Seconds > 15 || w.Upper == nil || *w.Upper < w.Seconds {
				t.Errorf("%s %s: window of %g s, upper %v", target.Target, w.Traffic, w.Seconds, w.Upper)
			}
			if third := w.Requests / 3; w.Failed < third || w.Failed > 2*third+2 || w.Failed+w.ServedByOthers+w.Boundary != w.Requests {
				t.Errorf("%s %s: %+v, want about half failed, the rest served", target.Target, w.Traffic, w)
			}
		}
	}
}

func TestDrainedRollingDeployIsSupported(t *testing.T) {
	s := newScene(t)
	s.stop("api-1", 100, 115, true)
	s.stop("api-2", 170, 185, true)
	r := s.judge()

	if r.Verdict.State != Supported {
		t.Errorf("verdict %s: %+v", r.Verdict.State, r.Claims[0])
	}
	s.phases(r, "baseline", "build", "api-1 drain", "api-1 restart", "api-1 back", "api-2 drain", "api-2 restart", "api-2 back", "tail")
	s.fired(r, "single-target", "single-target")
	for _, id := range []string{ClaimNoUserFailureCaused, ClaimNoUserFailure, ClaimNoProbeFailureCaused, ClaimNoProbeFailure, ClaimAlwaysOneTarget, ClaimEjectedBeforeStop} {
		s.claim(r, id, Supported, ReasonNoFailure)
	}
	for _, target := range r.Targets {
		// The mark was 25 s before the stop, the balancer let go 15 s before it.
		if target.Eject == nil || target.Eject.Bound != Lower || target.Eject.Value < 9 || target.Eject.Value > 10.1 {
			t.Errorf("%s eject %+v, want a lower bound of about 10 s", target.Target, target.Eject)
		}
		if target.Ejected != "yes" || target.LastServedToRestart.Value < 14.9 || target.LastServedToRestart.Value > 15.2 {
			t.Errorf("%s: ejected %s, last served %+v before the stop", target.Target, target.Ejected, target.LastServedToRestart)
		}
		if p := target.Predicted; p == nil || p.Eject != (Interval{10, 22}) || p.Return != (Interval{10, 22}) {
			t.Errorf("%s predicted %+v", target.Target, target.Predicted)
		}
		if *target.RecommendedDrainWait != 44 {
			t.Errorf("recommended wait %g s", *target.RecommendedDrainWait)
		}
	}
	for _, a := range r.Attribution {
		if a.Attributed != a.Sent || a.Duplicates+*a.SuccessWithoutRecord+*a.FailedWithoutRecord != 0 || a.ReceivedWithoutResponse != nil {
			t.Errorf("attribution %+v", a)
		}
	}
	for _, c := range r.Completeness {
		if c.Matched != "one_by_one" || c.Found != c.Known {
			t.Errorf("completeness %+v", c)
		}
	}
}

func TestKilledTargetReturnsBeforeEjection(t *testing.T) {
	s := newScene(t)
	s.obs.Deploy.Kind = KindFault
	s.kill("api-1", 80, 88)
	s.kill("api-2", 160, 168)
	r := s.judge()

	s.phases(r, "baseline", "fault", "api-1 down", "api-1 back", "api-2 down", "api-2 back", "tail")
	s.fired(r, "returned-before-eject", "returned-before-eject", "single-target", "single-target")
	f := r.Findings[0]
	if f.Values["down_s"] != 8.0 || f.Values["needed_s"] != 10.0 || f.Values["failed"].(perClass)[ClassUser] == 0 {
		t.Errorf("values %v", f.Values)
	}
	for _, target := range r.Targets {
		want := []string{"served-right-after-ready", "failures-shared-to-the-end", "window-shorter-than-checks", "state-never-changed"}
		if target.Ejected != "no" || !slices.Equal(target.EjectedBasis, want) {
			t.Errorf("%s ejected %s by %v", target.Target, target.Ejected, target.EjectedBasis)
		}
	}
	s.claim(r, ClaimEjectedBeforeStop, Untested, ReasonNotApplicable)
}

func TestJudgeDoesNotDependOnOrder(t *testing.T) {
	s := newScene(t)
	s.stop("api-1", 80, 95, false)
	s.stop("api-2", 170, 185, true)
	want, _ := json.Marshal(s.judge())
	random := rand.New(rand.NewPCG(3, 4))
	for range 5 {
		o := &s.obs
		shuffle(random, o.Steps)
		shuffle(random, o.Cells)
		shuffle(random, o.Requests)
		shuffle(random, o.Probes)
		shuffle(random, o.Handled)
		shuffle(random, o.States)
		if got, _ := json.Marshal(Judge(*o)); string(got) != string(want) {
			t.Fatalf("another order, another report:\n%s\n%s", got, want)
		}
	}
}

func TestPhaseCountsAddUpToTotals(t *testing.T) {
	s := newScene(t)
	s.stop("api-1", 80, 95, false)
	s.stop("api-2", 170, 185, true)
	r := s.judge()
	for i := 1; i < len(r.Phases); i++ {
		if r.Phases[i].From != r.Phases[i-1].To {
			t.Errorf("phase %s begins at %v, the one before ends at %v", r.Phases[i].Name, r.Phases[i].From, r.Phases[i-1].To)
		}
	}
	for class, total := range r.Totals {
		if total == nil {
			continue
		}
		sum := Counts{Outcomes: map[Outcome]int{}, ByTarget: map[string]int{}}
		for _, phase := range r.Phases {
			c := phase.Traffic[class]
			sum.Requests += c.Requests
			sum.Failures += c.Failures
			for k, n := range c.Outcomes {
				sum.Outcomes[k] += n
			}
			for k, n := range c.ByTarget {
				sum.ByTarget[k] += n
			}
		}
		if sum.Requests != total.Requests || sum.Failures != total.Failures || !reflect.DeepEqual(sum.Outcomes, total.Outcomes) || !reflect.DeepEqual(sum.ByTarget, total.ByTarget) {
			t.Errorf("%s: phases give %+v, total is %+v", class, sum, total)
		}
	}
}

func TestNoDataIsNotGoodNews(t *testing.T) {
	t.Run("users were not measured", func(t *testing.T) {
		s := newScene(t)
		s.stop("api-1", 100, 115, true)
		s.prepare()
		s.obs.Service.LoadBalancers[0].AccessLogs = nil
		s.obs.Cells, s.obs.Requests, s.obs.Objects, s.obs.Known = nil, nil, nil, nil
		r := Judge(s.obs)
		s.claim(r, ClaimNoUserFailureCaused, Untested, ReasonNotMeasured)
		if r.Totals[ClassUser] != nil || r.Verdict.State != Untested {
			t.Errorf("users %+v, verdict %s", r.Totals[ClassUser], r.Verdict.State)
		}
		s.condition(r, "users-not-measured")
	})
	t.Run("the log could not be listed", func(t *testing.T) {
		s := newScene(t)
		s.prepare()
		s.obs.Cells, s.obs.Requests, s.obs.Objects, s.obs.Known = nil, nil, nil, nil
		for i := range s.obs.Runs {
			if s.obs.Runs[i].Source == "alb" {
				s.obs.Runs[i].Code, s.obs.Runs[i].Error = "forbidden", "AccessDenied"
			}
		}
		r := Judge(s.obs)
		s.claim(r, ClaimNoUserFailureCaused, Inconclusive, ReasonSourceBlind)
		s.fired(r, "blind-spot", "query-failed")
		if r.Totals[ClassUser] != nil {
			t.Errorf("users counted: %+v", r.Totals[ClassUser])
		}
	})
	t.Run("the log folder is empty though probes passed the balancer", func(t *testing.T) {
		s := newScene(t)
		s.prepare()
		s.obs.Cells, s.obs.Requests, s.obs.Objects, s.obs.Known = nil, nil, nil, nil
		r := Judge(s.obs)
		s.claim(r, ClaimNoUserFailureCaused, Inconclusive, ReasonIncomplete)
		if r.Totals[ClassUser] != nil {
			t.Errorf("users counted: %+v", r.Totals[ClassUser])
		}
		s.obs.Probes = nil // a quiet night: no request, no object
		r = Judge(s.obs)
		s.claim(r, ClaimNoUserFailureCaused, Untested, ReasonNobodyThere)
	})
	t.Run("a failed listing that a later one made good", func(t *testing.T) {
		s := newScene(t)
		s.prepare()
		s.obs.Runs = append(s.obs.Runs, Run{Source: "alb", From: s.at(50), To: s.at(90), At: s.at(90), Code: "throttled", Error: "slow down"})
		r := Judge(s.obs)
		s.claim(r, ClaimNoUserFailureCaused, Supported, ReasonNoFailure)
		s.fired(r, "query-failed")
	})
	t.Run("an object was cut short", func(t *testing.T) {
		s := newScene(t)
		s.prepare()
		s.obs.Objects[3].Partial = true
		r := Judge(s.obs)
		s.claim(r, ClaimNoUserFailureCaused, Inconclusive, ReasonSourceBlind)
		s.fired(r, "blind-spot")
	})
	t.Run("a known request is missing from the log", func(t *testing.T) {
		s := newScene(t)
		s.prepare()
		k := &s.obs.Known[0]
		k.Seqs = slices.DeleteFunc(slices.Clone(k.Seqs), func(seq uint32) bool { return seq == 700 })
		r := Judge(s.obs)
		s.claim(r, ClaimNoUserFailureCaused, Inconclusive, ReasonIncomplete)
		s.condition(r, "log-incomplete")
	})
	t.Run("the horizon has not passed", func(t *testing.T) {
		s := newScene(t)
		s.prepare()
		s.obs.At = s.at(301)
		r := Judge(s.obs)
		s.claim(r, ClaimNoUserFailureCaused, Inconclusive, ReasonHorizon)
		s.claim(r, ClaimNoProbeFailureCaused, Supported, ReasonNoFailure)
	})
	t.Run("an object that is named for a time to come proves nothing", func(t *testing.T) {
		s := newScene(t)
		s.prepare()
		s.obs.At = s.at(301)
		s.obs.Objects[4].To = s.at(360)
		s.claim(Judge(s.obs), ClaimNoUserFailureCaused, Inconclusive, ReasonHorizon)
		s.obs.At = s.at(320) // the settle time is not over
		s.obs.Objects[4].To = s.at(310)
		s.claim(Judge(s.obs), ClaimNoUserFailureCaused, Supported, ReasonNoFailure)
	})
	t.Run("the prober was away for 5 s", func(t *testing.T) {
		s := newScene(t)
		s.prepare()
		s.obs.Probes = slices.DeleteFunc(s.obs.Probes, func(p ProbeRequest) bool {
			return p.Class == ClassProbe && p.Sent.After(s.at(100)) && p.Sent.Before(s.at(105))
		})
		r := Judge(s.obs)
		s.claim(r, ClaimNoProbeFailureCaused, Inconclusive, ReasonSourceBlind)
		s.fired(r, "blind-spot")
	})
	t.Run("polls failed for a while", func(t *testing.T) {
		s := newScene(t)
		s.prepare()
		s.obs.States = slices.DeleteFunc(s.obs.States, func(x StateSample) bool { return x.At.After(s.at(100)) && x.At.Before(s.at(120)) })
		s.obs.Runs = append(s.obs.Runs, Run{Source: "states", From: s.at(100), To: s.at(105), At: s.at(105), Code: "throttled", Error: "Rate exceeded"})
		r := Judge(s.obs)
		s.fired(r, "blind-spot", "query-failed")
		blind := coverageOf(r, "states").Blind
		if len(blind) != 1 || blind[0].Reason != blindQueryFailed || seconds(blind[0].To.Sub(blind[0].From.Time)) != 20 {
			t.Errorf("blind %+v", blind)
		}
		s.claim(r, ClaimNoUserFailureCaused, Supported, ReasonNoFailure)
	})
	t.Run("a live window whose logs were read a moment ago", func(t *testing.T) {
		s := newScene(t)
		s.prepare()
		s.obs.At = s.at(200)
		s.obs.Runs = nil
		for at := 1.0; at < 199; at++ {
			for _, source := range []string{"alb", "api-1.log", "api-2.log"} {
				s.obs.Runs = append(s.obs.Runs, Run{Source: source, From: s.at(at - 2), To: s.at(at), At: s.at(at)})
			}
		}
		s.fired(Judge(s.obs)) // two seconds behind, read every second
		s.obs.At = s.at(202)
		s.fired(Judge(s.obs), "blind-spot", "blind-spot", "blind-spot") // four are too many
	})
	t.Run("nobody was there in the risky phases", func(t *testing.T) {
		s := newScene(t)
		s.stop("api-1", 100, 115, true)
		s.prepare()
		s.obs.Cells = slices.DeleteFunc(s.obs.Cells, func(c Cell) bool { return c.Class == ClassUser })
		s.claim(Judge(s.obs), ClaimNoUserFailureCaused, Untested, ReasonNobodyThere)
	})
}

func TestReportUsesNullForWhatWasNotMeasured(t *testing.T) {
	r := Judge(Observations{Service: Service{Name: "x"}, From: time.Unix(0, 0), To: time.Unix(60, 0), At: time.Unix(1000, 0)})
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"attribution", "completeness", "clocks", "controls", "detection"} {
		if m[key] != nil {
			t.Errorf("%s is %v, want null", key, m[key])
		}
	}
	if r.Phases[0].Name != "whole" || len(r.Phases) != 1 || r.Verdict.State != Untested {
		t.Errorf("phases %+v, verdict %s", r.Phases, r.Verdict.State)
	}
}

func shuffle[T any](random *rand.Rand, list []T) {
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

func coverageOf(r Report, source string) Coverage {
	for _, c := range r.Coverage {
		if c.Source == source {
			return c
		}
	}
	return Coverage{}
}

// A request that crosses the window's edge counts once: a failure by its end, any
// other by its start; and its record is looked for beyond the edge.
func TestRequestsAcrossTheEdges(t *testing.T) {
	s := newScene(t)
	s.prepare()
	before := Judge(s.obs)
	probe := func(seq int, from, to float64, outcome Outcome) {
		s.obs.Probes = append(s.obs.Probes, ProbeRequest{Source: "store", Probe: "store", Class: ClassProbe, Run: "edge", Seq: seq, Sent: s.at(from), Done: s.at(to), Status: 200, Outcome: outcome})
		s.obs.Handled = append(s.obs.Handled, HandledRequest{Source: "api-1.log", Target: "api-1", Run: "edge", Seq: seq, At: s.at(to), Status: 200})
	}
	probe(1, -2, 3, OutcomeTimeout)    // in: it failed inside
	probe(2, -2, 3, OutcomeOK)         // out
	probe(3, 298, 303, OutcomeTimeout) // out
	probe(4, 298, 303, OutcomeOK)      // in, and attributed
	r := Judge(s.obs)
	got, was := r.Totals[ClassProbe], before.Totals[ClassProbe]
	if got.Requests-was.Requests != 2 || got.Failures-was.Failures != 1 {
		t.Errorf("%d requests and %d failures more, want 2 and 1", got.Requests-was.Requests, got.Failures-was.Failures)
	}
	for _, a := range r.Attribution {
		if a.Probe == "store" && *a.SuccessWithoutRecord != 0 {
			t.Errorf("attribution %+v", a)
		}
	}
}

// What lies beyond the edges is there to complete what crosses them; it must not
// change a figure about the window.
func TestEvidenceBeyondTheEdgesChangesNothing(t *testing.T) {
	s := newScene(t)
	s.stop("api-1", 80, 95, false)
	s.prepare()
	want, _ := json.Marshal(Judge(s.obs))
	for i := range 200 {
		at := -50 + float64(i)/5
		if i >= 100 {
			at = 300.5 + float64(i-100)/5
		}
		s.obs.Probes = append(s.obs.Probes, ProbeRequest{Source: "store", Probe: "store", Class: ClassProbe, Run: "beyond", Seq: i, Sent: s.at(at), Done: s.at(at + .001), Status: 200, Outcome: OutcomeOK})
		s.obs.Handled = append(s.obs.Handled, HandledRequest{Source: "api-1.log", Target: "api-1", Run: "beyond", Seq: i, At: s.at(at + .0005), Status: 200})
	}
	if got, _ := json.Marshal(Judge(s.obs)); string(got) != string(want) {
		t.Errorf("the report changed:\n%s\n%s", got, want)
	}
}
