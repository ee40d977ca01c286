package analysis

import (
	"reflect"
	"strings"
	"testing"
)

// One stop without a drain, from 90 to 100 s: requests fail there and nowhere else.
func TestTypedClaimsAreJudgedOverTheirScope(t *testing.T) {
	for _, test := range []struct {
		name     string
		claim    TypedClaim
		from, to float64 // seconds; 0: not given
		state    VerdictState
		reason   string
	}{
		{"users, literal", TypedClaim{About: ClassUser}, 0, 0, Disproved, ReasonFailureInScope},
		{"users, caused", TypedClaim{About: ClassUser, Caused: true}, 0, 0, Disproved, ReasonCausedByDeploy},
		{"users, after the stop", TypedClaim{About: ClassUser}, 150, 200, Supported, ReasonNoFailure},
		{"users, around the stop", TypedClaim{About: ClassUser}, 85, 105, Disproved, ReasonFailureInScope},
		{"users, up to the stop", TypedClaim{About: ClassUser}, 70, 89, Supported, ReasonNoFailure},
		{"probes, literal", TypedClaim{About: ClassProbe}, 0, 0, Disproved, ReasonFailureInScope},
		{"probes, after the stop", TypedClaim{About: ClassProbe, Caused: true}, 150, 0, Supported, ReasonNoFailure},
		{"health samples", TypedClaim{About: ClassHealth}, 150, 0, Supported, ReasonNoFailure},
		{"a time before any deploy", TypedClaim{About: ClassUser}, 5, 50, Supported, ReasonNoFailure},
		{"a span that begins before the window", TypedClaim{About: ClassUser}, -1000, 50, Supported, ReasonNoFailure},
	} {
		s := newScene(t)
		s.stop("api-1", 90, 100, false)
		r := s.judgeClaim(test.claim, test.from, test.to)
		c := r.Claims[len(r.Claims)-1]
		if c.Typed == nil || c.State != test.state || c.Reason != test.reason {
			t.Errorf("%s: %s because %s, want %s because %s", test.name, c.State, c.Reason, test.state, test.reason)
		}
		if c.Scope.From.Before(s.obs.From) || c.Scope.To.After(s.obs.To) {
			t.Errorf("%s: the scope %v – %v reaches beyond the window", test.name, c.Scope.From, c.Scope.To)
		}
		s.obs.Claims = nil
		if !reflect.DeepEqual(Judge(s.obs).Verdict, r.Verdict) {
			t.Errorf("%s: what a person claims changed the verdict", test.name)
		}
	}
}

func TestTypedClaimOutsideTheWindowIsNotListed(t *testing.T) {
	s := newScene(t)
	if r := s.judgeClaim(TypedClaim{About: ClassUser}, 400, 500); len(r.Claims) != 6 {
		t.Errorf("%d claims, want the built-in six", len(r.Claims))
	}
}

// A claim over a time in which the log that counts was blind cannot be supported; one
// over another time can.
func TestTypedClaimNeedsItsSourceInItsScopeOnly(t *testing.T) {
	for _, test := range []struct {
		from, to float64
		state    VerdictState
	}{{100, 140, Inconclusive}, {150, 200, Supported}, {119.5, 121, Inconclusive}} {
		s := newScene(t)
		s.stop("api-1", 80, 90, true)
		s.prepare()
		s.obs.Runs = []Run{{Source: "alb", From: s.at(-1), To: s.at(110), At: s.at(302)}, {Source: "alb", From: s.at(130), To: s.at(301), At: s.at(302)},
			{Source: "alb", From: s.at(110), To: s.at(130), At: s.at(302), Code: "forbidden", Error: "no"}}
		r := s.judgeClaim(TypedClaim{About: ClassUser}, test.from, test.to)
		if c := r.Claims[len(r.Claims)-1]; c.State != test.state {
			t.Errorf("%g–%g s: %s because %s, want %s", test.from, test.to, c.State, c.Reason, test.state)
		}
	}
}

func TestClaimAboutUsersThatRestsOnHealthSamples(t *testing.T) {
	byHealth := TypedClaim{About: ClassUser, Basis: ClassHealth, Text: "no customer noticed"}
	for _, test := range []struct {
		name     string
		claim    TypedClaim
		change   func(*scene)
		state    VerdictState
		reason   string
		fired    bool
		severity Severity
		needs    []string
	}{
		{"users were measured, and failed", byHealth, func(s *scene) { s.stop("api-1", 90, 100, false) }, Disproved, ReasonFailureInScope, true, SeverityHigh, []string{}},
		{"users were measured, and none failed", byHealth, func(s *scene) { s.stop("api-1", 90, 100, true) }, Supported, ReasonNoFailure, true, SeverityInfo, []string{}},
		{"no log of users", byHealth, func(s *scene) { s.withoutLog() }, Untested, ReasonHealthSamples, true, SeverityMedium, []string{"access_log"}},
		{"health samples and nothing else, though it does not say so", TypedClaim{About: ClassUser}, func(s *scene) { s.withoutLog(); s.withoutProbes() },
			Untested, ReasonHealthSamples, true, SeverityMedium, []string{"access_log", "probes"}},
		{"probes instead of users", TypedClaim{About: ClassUser}, func(s *scene) { s.withoutLog() }, Untested, ReasonNotMeasured, false, "", nil},
		{"about health samples", TypedClaim{About: ClassHealth, Basis: ClassHealth}, func(s *scene) { s.stop("api-1", 90, 100, true) }, Supported, ReasonNoFailure, false, "", nil},
	} {
		s := newScene(t)
		s.prepared = false
		test.change(s)
		r := s.judgeClaim(test.claim, 0, 0)
		c := r.Claims[len(r.Claims)-1]
		if c.State != test.state || c.Reason != test.reason {
			t.Errorf("%s: %s because %s, want %s because %s", test.name, c.State, c.Reason, test.state, test.reason)
		}
		var found *Finding
		for i := range r.Findings {
			if r.Findings[i].Code == claimRule {
				found = &r.Findings[i]
			}
		}
		if (found != nil) != test.fired {
			t.Errorf("%s: fired %v, want %v", test.name, found != nil, test.fired)
			continue
		}
		if found != nil && (found.Severity != test.severity || !reflect.DeepEqual(found.Values["needs"], test.needs) || found.Values["health_requests"].(int) == 0) {
			t.Errorf("%s: %s, %v, want %s and needs %v", test.name, found.Severity, found.Values, test.severity, test.needs)
		}
	}
}

func TestTypedClaimOfAPart(t *testing.T) {
	s := newScene(t)
	s.stop("api-1", 90, 100, false)
	s.prepare()
	s.obs.Part = Part{s.at(150), s.at(200)}
	r := s.judgeClaim(TypedClaim{About: ClassUser, Basis: ClassHealth}, 0, 0)
	c := r.Claims[len(r.Claims)-1]
	if c.State != Supported || !c.Scope.From.Equal(s.at(150)) || !c.Scope.To.Equal(s.at(200)) {
		t.Errorf("%s over %v – %v", c.State, c.Scope.From, c.Scope.To)
	}
	n := 0
	for _, f := range r.Findings {
		if f.Code == claimRule {
			n++
			if f.Values["state"] != Supported || f.Values["user_failures"] != 0 {
				t.Errorf("the finding says %v", f.Values)
			}
		}
	}
	if n != 1 {
		t.Errorf("%d findings about the claim, want 1", n)
	}
}

func TestClaimsThatCannotBeTyped(t *testing.T) {
	s := newScene(t)
	good := TypedClaim{Service: "orders-api", Deploy: "d1", About: ClassUser}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*TypedClaim){
		"its service":        func(c *TypedClaim) { c.Service = "" },
		"none of user":       func(c *TypedClaim) { c.About = "tool" },
		"neither empty":      func(c *TypedClaim) { c.Basis = "gut feeling" },
		"from and to":        func(c *TypedClaim) { c.Deploy = "" },
		"after from":         func(c *TypedClaim) { c.From, c.To = s.at(10), s.at(10) },
		"longer than 500":    func(c *TypedClaim) { c.Text = strings.Repeat("ä", 501) },
		"longer than 100":    func(c *TypedClaim) { c.By = strings.Repeat("ä", 101) },
		"control characters": func(c *TypedClaim) { c.Text = "a\x00b" },
	} {
		c := good
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", c, err, want)
		}
	}
}

func TestTheSameClaimHasOneKey(t *testing.T) {
	s := newScene(t)
	c := TypedClaim{Service: "orders-api", Deploy: "d1", About: ClassUser, Text: "nobody noticed"}
	again := c
	again.RegisteredAt, again.By = s.at(5), "somebody else"
	if c.Key() != again.Key() {
		t.Error("who said it and when makes it another claim")
	}
	other := c
	other.Caused = true
	if c.Key() == other.Key() {
		t.Error("two claims have one key")
	}
}

// judgeClaim judges the scene with a claim over a scope in seconds; 0 is not given.
func (s *scene) judgeClaim(c TypedClaim, from, to float64) Report {
	s.t.Helper()
	c.ID, c.Service, c.RegisteredAt = "typed-1", "orders-api", s.at(500)
	if from != 0 {
		c.From = s.at(from)
	}
	if to != 0 {
		c.To = s.at(to)
	}
	s.obs.Claims = []TypedClaim{c}
	return s.judge()
}

// withoutLog takes the access log away, as if none had been configured.
func (s *scene) withoutLog() {
	s.prepare()
	s.obs.Service.LoadBalancers[0].AccessLogs = nil
	s.obs.Cells, s.obs.Requests, s.obs.Known, s.obs.Objects = nil, nil, nil, nil
}

// withoutProbes leaves of the prober's records the health samples.
func (s *scene) withoutProbes() {
	s.prepare()
	s.obs.Service.Probes = s.obs.Service.Probes[1:]
	var kept []ProbeRequest
	for _, p := range s.obs.Probes {
		if p.Class == ClassHealth {
			kept = append(kept, p)
		}
	}
	s.obs.Probes = kept
}
