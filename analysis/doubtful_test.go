package analysis

import (
	"slices"
	"testing"
	"time"
)

// One record of 1,500 has the id of a request that was over an hour before: the other
// joins of that minute agree on an offset, it does not.
func TestAmbiguousJoins(t *testing.T) {
	s := newScene(t)
	s.stop("api-1", 100, 115, true)
	s.prepare()
	undisturbed := Judge(s.obs)
	if undisturbed.Attribution[0].Ambiguous != 0 {
		t.Fatalf("%+v", undisturbed.Attribution)
	}
	i := slices.IndexFunc(s.obs.Handled, func(h HandledRequest) bool { return h.Target == "api-2" && h.At.After(s.at(200)) && h.Seq < 100_000 })
	h := &s.obs.Handled[i]
	h.At = h.At.Add(3 * time.Second)
	r := Judge(s.obs)
	got, want := r.Attribution, undisturbed.Attribution
	j := slices.IndexFunc(got, func(a Attribution) bool { return a.Probe == "store" })
	if got[j].Ambiguous != 1 || got[j].Attributed != want[j].Attributed-1 || got[j].ByTarget["api-2"] != want[j].ByTarget["api-2"]-1 || *got[j].SuccessWithoutRecord != *want[j].SuccessWithoutRecord {
		t.Errorf("got %+v, undisturbed %+v", got[j], want[j])
	}
	s.condition(r, "ambiguous-joins")
	if !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Code == "clock-skew" }) {
		t.Error("the contradiction is not told")
	}
}

// A record far off does not prove that its target served then: here it would say so in
// the middle of the target's stop.
func TestAmbiguousJoinsDateNothing(t *testing.T) {
	s := newScene(t)
	s.stop("api-1", 100, 115, true)
	s.prepare()
	for i := range s.obs.Handled {
		if h := &s.obs.Handled[i]; h.Target == "api-1" && h.At.Before(s.at(70)) && h.At.After(s.at(65)) {
			h.At = s.at(107)
			break
		}
	}
	r := Judge(s.obs)
	if api := r.Targets[0]; api.LastServedAt.After(s.at(86)) {
		t.Errorf("it served last at %s by a record that the clocks contradict", api.LastServedAt.Sub(s.zero))
	}
}

// Of requests that span the stop of api-1 at 100 s, those that are known one by one:
// a slow user's, a probe that got its answer late, and one that its log received and
// never answered. One that ended before, and one at the other target, are none.
func TestInFlightAtStop(t *testing.T) {
	s := newScene(t)
	s.stop("api-1", 100, 115, true)
	s.prepare()
	if got := Judge(s.obs).Targets[0]; got.InFlightAtStop == nil || *got.InFlightAtStop != 0 || len(got.InFlightOf) != 0 {
		t.Fatalf("nothing was in flight: %v of %v", got.InFlightAtStop, got.InFlightOf)
	}
	slow := func(target string, from, to float64) {
		key := CellKey{Second: s.at(from).Unix(), Source: "alb", TargetGroup: "api", Target: target, Class: ClassUser, Outcome: OutcomeOK, Route: OtherRoute, Status: 200, TargetStatus: 200}
		s.obs.Requests = append(s.obs.Requests, Request{CellKey: key, Start: s.at(from), End: s.at(to), Connected: true})
	}
	slow("api-1", 99, 101)
	slow("api-1", 97, 99.5)
	slow("api-2", 99, 101)
	own := func(seq int, from, to float64) {
		s.obs.Probes = append(s.obs.Probes, ProbeRequest{Source: "store", Probe: "store", Class: ClassProbe, Run: "late", Seq: seq, Sent: s.at(from), Done: s.at(to), Status: 200, Outcome: OutcomeOK, Target: "api-1"})
	}
	own(1, 99.9, 100.3)
	own(2, 99, 99.1)
	// Received, and the answer never came back: by the target's own log alone.
	s.obs.Probes = append(s.obs.Probes, ProbeRequest{Source: "store", Probe: "store", Class: ClassProbe, Run: "late", Seq: 3, Sent: s.at(99.95), Done: s.at(99.99), Outcome: OutcomeConnectionError})
	s.obs.Handled = append(s.obs.Handled, HandledRequest{Source: "api-1.log", Target: "api-1", Run: "late", Seq: 3, At: s.at(99.97), Begun: true})
	// Received and answered before the stop.
	s.obs.Probes = append(s.obs.Probes, ProbeRequest{Source: "store", Probe: "store", Class: ClassProbe, Run: "late", Seq: 4, Sent: s.at(99.8), Done: s.at(99.99), Status: 200, Outcome: OutcomeOK})
	for _, begun := range []bool{true, false} {
		s.obs.Handled = append(s.obs.Handled, HandledRequest{Source: "api-1.log", Target: "api-1", Run: "late", Seq: 4, At: s.at(99.9), Begun: begun})
	}
	// The balancer tried to connect before the stop and gave up after it: it never was there.
	key := CellKey{Second: s.at(99).Unix(), Source: "alb", TargetGroup: "api", Target: "api-1", Class: ClassUser, Outcome: OutcomeLB5xx, Route: OtherRoute, Status: 502}
	s.obs.Requests = append(s.obs.Requests, Request{CellKey: key, Start: s.at(99), End: s.at(101)})
	got := Judge(s.obs).Targets[0]
	if *got.InFlightAtStop != 3 || got.InFlightOf[ClassUser] != 1 || got.InFlightOf[ClassProbe] != 2 {
		t.Errorf("%d of %v, want 1 user and 2 probe requests", *got.InFlightAtStop, got.InFlightOf)
	}
	if other := Judge(s.obs).Targets[1]; other.InFlightAtStop != nil {
		t.Errorf("api-2 was never stopped: %d", *other.InFlightAtStop)
	}
}

// A proxy that hid failed attempts at a stopped target still sent to it: the claim that
// it was out before its stop is false, though no client saw a failure. Where the log
// does not say whom it asked, nothing can be said.
func TestMaskedAttemptsAtAStoppedTarget(t *testing.T) {
	for _, c := range []struct {
		on     string
		state  VerdictState
		reason string
	}{{"api-1", Disproved, ReasonStoppedInUse}, {"", Inconclusive, ReasonServedUnknown}, {"api-2", Supported, ReasonNoFailure}} {
		s := newScene(t)
		s.stop("api-1", 100, 115, true)
		s.obs.Service.LoadBalancers[0].AccessLogs[0].Kind = "nginx"
		s.prepare()
		s.mask(ClassUser, 103, 105, c.on)
		r := Judge(s.obs)
		s.claim(r, ClaimEjectedBeforeStop, c.state, c.reason)
		s.claim(r, ClaimNoUserFailure, Supported, ReasonNoFailure)
		if r.Totals[ClassUser].Failures != 0 {
			t.Errorf("masked on %q: %d failures", c.on, r.Totals[ClassUser].Failures)
		}
		if fired := slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Code == "restart-before-eject" }); fired != (c.on == "api-1") {
			t.Errorf("masked on %q: restart-before-eject fired: %v", c.on, fired)
		}
	}
}

// A probe request that was sent in the window and timed out after its end counts
// outside of it. Whoever claims that no probe failed is told.
func TestProbeThatFailsAfterTheWindow(t *testing.T) {
	s := newScene(t)
	s.stop("api-1", 100, 115, true)
	s.prepare()
	s.claim(Judge(s.obs), ClaimNoProbeFailure, Supported, ReasonNoFailure)
	s.obs.Probes = append(s.obs.Probes, ProbeRequest{Source: "store", Probe: "store", Class: ClassProbe, Run: "late", Seq: 1, Sent: s.at(298), Done: s.at(303), Outcome: OutcomeTimeout})
	r := Judge(s.obs)
	if r.Totals[ClassProbe].Failures != 0 {
		t.Errorf("%d failures in the window", r.Totals[ClassProbe].Failures)
	}
	s.claim(r, ClaimNoProbeFailure, Inconclusive, ReasonEndedAfter)
	s.claim(r, ClaimNoProbeFailureCaused, Inconclusive, ReasonEndedAfter)
	s.claim(r, ClaimNoUserFailure, Supported, ReasonNoFailure)
	s.condition(r, "ended-after-window")
	for _, c := range r.Claims {
		if c.ID == ClaimNoProbeFailure && !slices.ContainsFunc(c.Evidence, func(e Evidence) bool { return e.Count == 1 && e.From.Equal(s.at(298)) && e.To.Equal(s.at(303)) }) {
			t.Errorf("evidence %+v", c.Evidence)
		}
	}
}

// Likewise a user's request that began in the window and failed after its end, however
// long after: the verdict does not say that nobody lost anything. From a minute after the
// end on, single requests are not looked at, and it is only counted.
func TestUserRequestThatFailsAfterTheWindow(t *testing.T) {
	for _, ended := range []float64{329.2, 360, 370} {
		s := newScene(t)
		s.stop("api-1", 120, 130, true)
		s.prepare()
		s.claim(Judge(s.obs), ClaimNoUserFailure, Supported, ReasonNoFailure)
		key := CellKey{Second: s.at(299).Unix(), Source: "alb", Node: "10.0.0.9", TargetGroup: "api", Target: "api-1", Class: ClassUser, Outcome: OutcomeLB5xx, Route: OtherRoute, Status: 504}
		s.obs.Cells = append(s.obs.Cells, Cell{CellKey: key, Count: 2, First: s.at(299.2), Last: s.at(ended)})
		if ended < 360 {
			s.obs.Requests = append(s.obs.Requests, Request{CellKey: key, Start: s.at(299.2), End: s.at(ended)}, Request{CellKey: key, Start: s.at(299.3), End: s.at(ended)})
		}
		other := key
		other.Class = ClassTool // nor does another class, or a log that does not count, say anything of users
		edge := key
		edge.Source = "edge"
		s.obs.Cells = append(s.obs.Cells, Cell{CellKey: other, Count: 3, First: s.at(299), Last: s.at(370)}, Cell{CellKey: edge, Count: 3, First: s.at(299), Last: s.at(370)})
		r := Judge(s.obs)
		if r.Totals[ClassUser].Failures != 0 {
			t.Errorf("ended at %g: %d failures in the window", ended, r.Totals[ClassUser].Failures)
		}
		s.claim(r, ClaimNoUserFailure, Inconclusive, ReasonEndedAfter)
		s.claim(r, ClaimNoUserFailureCaused, Inconclusive, ReasonEndedAfter)
		s.condition(r, "ended-after-window")
		if e := r.Claims[0].Evidence; len(e) != 1 || e[0].Count != 2 || !e[0].From.Equal(s.at(299.2)) || !e[0].To.Equal(s.at(ended)) {
			t.Errorf("ended at %g: evidence %+v", ended, e)
		}
	}
}

// Only counted, and ended within the minute after the window in which single requests are
// looked at: they are some of many of which a sample is kept, and count as they began.
func TestOnlyCountedAtTheWindowsEnd(t *testing.T) {
	s := newScene(t)
	s.stop("api-1", 120, 130, true)
	s.prepare()
	key := CellKey{Second: s.at(299).Unix(), Source: "alb", Node: "10.0.0.9", TargetGroup: "api", Target: "api-1", Class: ClassUser, Outcome: OutcomeLB5xx, Route: OtherRoute, Status: 504}
	s.obs.Cells = append(s.obs.Cells, Cell{CellKey: key, Count: 2, First: s.at(299.2), Last: s.at(359.9)})
	r := Judge(s.obs)
	s.claim(r, ClaimNoUserFailure, Disproved, ReasonFailureInScope)
	if len(r.Claims[0].Evidence) != 1 || r.Claims[0].Evidence[0].Count != 2 {
		t.Errorf("evidence %+v", r.Claims[0].Evidence)
	}
}

// Built-in claims are held against a deploy from its start on.
func TestBuiltInClaimsAreRegisteredWithTheDeploy(t *testing.T) {
	s := newScene(t)
	for _, c := range s.judge().Claims {
		if !c.RegisteredAt.Equal(s.at(60)) {
			t.Errorf("%s: %v", c.ID, c.RegisteredAt)
		}
	}
}

// Only what a target tells after its return says which version it runs.
func TestVersionsThatAgree(t *testing.T) {
	s := newScene(t)
	s.stop("api-1", 100, 115, true)
	s.obs.Deploy.VersionAfter = "0a1b2c3d4e5f"
	s.prepare()
	if state := ruleOf(Judge(s.obs), "version-mismatch"); state.State != RuleNotEvaluable || state.Why != whyVersions {
		t.Errorf("nobody told: %+v", state)
	}
	s.obs.Signals = []Signal{{Source: "api-1.log", Target: "api-1", At: s.at(90), Event: EventVersion, Values: map[string]string{"version": "ffffffff"}}}
	if state := ruleOf(Judge(s.obs), "version-mismatch"); state.State != RuleNotEvaluable || state.Why != whyVersions {
		t.Errorf("told before the stop only: %+v", state)
	}
	s.obs.Signals = []Signal{
		{Source: "api-1.log", Target: "api-1", At: s.at(90), Event: EventVersion, Values: map[string]string{"version": "ffffffff"}},
		{Source: "api-1.log", Target: "api-1", At: s.at(101), Event: EventProcessStarting, Values: map[string]string{"version": "0a1b2c3"}},
	}
	if state := ruleOf(Judge(s.obs), "version-mismatch"); state.State != RuleClear {
		t.Errorf("the abbreviated hash: %+v", state)
	}
	s.obs.Deploy.VersionAfter = ""
	if state := ruleOf(Judge(s.obs), "version-mismatch"); state.State != RuleNotEvaluable || state.Why != whyVersions {
		t.Errorf("without the deploy's version: %+v", state)
	}
}
