package analysis

import (
	"strings"
	"testing"
	"time"
)

func TestWhatATypedClaimMustSay(t *testing.T) {
	from, to := time.Unix(100, 0), time.Unix(200, 0)
	for _, c := range []struct {
		name string
		bend func(*TypedClaim)
		want string // part of the error; empty: valid
	}{
		{"as it should be", func(*TypedClaim) {}, ""},
		{"no service", func(c *TypedClaim) { c.Service = "" }, "needs its service"},
		{"about tools", func(c *TypedClaim) { c.About = ClassTool }, "none of user, probe, health"},
		{"about probes", func(c *TypedClaim) { c.About = ClassProbe }, ""},
		{"about health", func(c *TypedClaim) { c.About = ClassHealth }, ""},
		{"goes by health samples", func(c *TypedClaim) { c.Basis = ClassHealth }, ""},
		{"goes by users", func(c *TypedClaim) { c.Basis = ClassUser }, "neither empty nor health"},
		{"of a span", func(c *TypedClaim) { c.Deploy, c.From, c.To = "", from, to }, ""},
		{"of a span without a beginning", func(c *TypedClaim) { c.Deploy, c.To = "", to }, "needs from and to"},
		{"of a span without an end", func(c *TypedClaim) { c.Deploy, c.From = "", from }, "needs from and to"},
		{"of a deploy from a moment on", func(c *TypedClaim) { c.From = from }, ""},
		{"of a deploy up to a moment", func(c *TypedClaim) { c.To = to }, ""},
		{"of a part of a deploy", func(c *TypedClaim) { c.From, c.To = from, to }, ""},
		{"of a moment", func(c *TypedClaim) { c.From, c.To = from, from }, "to must be after from"},
		{"500 characters", func(c *TypedClaim) { c.Text = strings.Repeat("é", 500) }, ""},
		{"501 characters", func(c *TypedClaim) { c.Text = strings.Repeat("é", 501) }, "longer than 500"},
		{"a name of 100 characters", func(c *TypedClaim) { c.By = strings.Repeat("é", 100) }, ""},
		{"a name of 101 characters", func(c *TypedClaim) { c.By = strings.Repeat("é", 101) }, "longer than 100"},
		{"lines and tabs", func(c *TypedClaim) { c.Text = "a\tb\r\nc" }, ""},
		{"a bell in the text", func(c *TypedClaim) { c.Text = "a\ab" }, "control characters"},
		{"a bell in the name", func(c *TypedClaim) { c.By = "a\ab" }, "control characters"},
		{"no UTF-8", func(c *TypedClaim) { c.Text = "a\xffb" }, "control characters"},
	} {
		claim := TypedClaim{Service: "orders-api", Deploy: "d1", About: ClassUser, Text: "nobody noticed", By: "kim"}
		c.bend(&claim)
		err := claim.Validate()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestKeyTellsScopesApart(t *testing.T) {
	claim := TypedClaim{Service: "orders-api", Deploy: "d1", About: ClassUser, Text: "nobody noticed"}
	bounded := claim
	bounded.From = time.Unix(100, 0)
	later := claim
	later.From = time.Unix(101, 0)
	// sha256 of the fields with zero bytes between, the scope's ends empty.
	if got := claim.Key(); got != "typed-c035c74c294d" {
		t.Errorf("key %s", got)
	}
	if bounded.Key() == claim.Key() || bounded.Key() == later.Key() {
		t.Error("the scope is not in the key")
	}
}

func TestScopeOfTypedClaims(t *testing.T) {
	for _, c := range []struct {
		name     string
		from, to float64 // of the claim; 0: not told
		want     string
	}{
		{"the deploy's", 0, 0, "60–300"},
		{"from a moment on", 100, 0, "100–300"},
		{"up to a moment", 0, 100, "60–100"},
		{"wider than the window", -10, 400, "0–300"},
		{"up to the deploy's start", 0, 60, ""},
		{"from the window's end", 300, 0, ""},
		{"of another day", 400, 500, ""},
	} {
		b := newTable()
		claim := TypedClaim{ID: "c1", About: ClassUser}
		if c.from != 0 {
			claim.From = b.at(c.from)
		}
		if c.to != 0 {
			claim.To = b.at(c.to)
		}
		b.obs.Claims = []TypedClaim{claim}
		got := ""
		for _, claim := range b.typedClaims() {
			got = b.seconds(claim.Scope.From.Time) + "–" + b.seconds(claim.Scope.To.Time)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	b := newTable()
	b.started = b.at(300) // a window that holds nothing of its deploy still answers for it
	b.obs.Claims = []TypedClaim{{ID: "c1", About: ClassUser}}
	if claims := b.typedClaims(); len(claims) != 1 {
		t.Errorf("%+v", claims)
	}
}

func TestWhenAClaimRestsOnHealthSamples(t *testing.T) {
	health, user := ClassHealth, ClassUser
	for _, c := range []struct {
		name     string
		measured []Class
		claim    Claim
		want     bool
	}{
		{"told", []Class{ClassUser, ClassProbe, ClassHealth}, Claim{Scope: Scope{Traffic: ClassUser}, Typed: &Typed{Basis: &health}}, true},
		{"told otherwise", []Class{ClassUser}, Claim{Scope: Scope{Traffic: ClassUser}, Typed: &Typed{Basis: &user}}, false},
		{"nothing else", []Class{ClassHealth}, Claim{Scope: Scope{Traffic: ClassUser}, Typed: &Typed{}}, true},
		{"nothing at all", nil, Claim{Scope: Scope{Traffic: ClassUser}, Typed: &Typed{}}, false},
		{"users too", []Class{ClassUser, ClassHealth}, Claim{Scope: Scope{Traffic: ClassUser}, Typed: &Typed{}}, false},
		{"probes too", []Class{ClassProbe, ClassHealth}, Claim{Scope: Scope{Traffic: ClassUser}, Typed: &Typed{}}, false},
		{"about probes", []Class{ClassHealth}, Claim{Scope: Scope{Traffic: ClassProbe}, Typed: &Typed{Basis: &health}}, false},
		{"built in", []Class{ClassHealth}, Claim{Scope: Scope{Traffic: ClassUser}}, false},
	} {
		b := newTable()
		for _, class := range c.measured {
			if class == ClassUser {
				b.cell("alb", "api-1", 1, 2, 1)
			} else {
				b.prober[class] = true
			}
		}
		if got := b.restsOnHealth(&c.claim); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

func TestRequestsOfAScope(t *testing.T) {
	b := newTable()
	b.cell("alb", "api-1", 99, 100, 7)
	b.cell("alb", "api-1", 100, 101, 2)
	b.cell("alb", "api-1", 109, 111, 3)
	b.cell("alb", "api-1", 110, 111, 7)
	b.cell("edge", "api-1", 105, 106, 7)
	b.cell("alb", "api-1", 105, 106, 4).Class = ClassProbe
	scope := []span{{b.at(100), b.at(110)}}
	if got := b.requestsIn(ClassUser, scope); got != 5 {
		t.Errorf("%d users, want 5", got)
	}
	if got := b.requestsIn(ClassProbe, scope); got != 4 {
		t.Errorf("%d probes in the log, want 4", got)
	}
	b.prober[ClassProbe] = true
	for _, sent := range []float64{99, 100, 109, 110} {
		b.obs.Probes = append(b.obs.Probes, ProbeRequest{Class: ClassProbe, Sent: b.at(sent)}, ProbeRequest{Class: ClassHealth, Sent: b.at(sent)})
	}
	if got := b.requestsIn(ClassProbe, scope); got != 2 {
		t.Errorf("%d probes by their own records, want 2", got)
	}

	for _, c := range []struct {
		name         string
		from, to     float64
		first, until float64 // of the only phase at risk; 0: none
		want         bool
	}{
		{"some at risk", 90, 120, 100, 110, false},
		{"none at risk, some beside", 90, 120, 112, 118, true},
		{"the phase begins as the scope ends", 90, 112, 112, 118, false},
		{"the phase ends as the scope begins", 111, 112, 105, 111, true},
		{"the phase ends as the scope with requests begins", 100, 112, 60, 100, false},
		{"nothing at risk", 90, 120, 0, 0, false},
		{"nothing at risk and nobody", 112, 120, 0, 0, true},
		{"the whole deploy", 60, 300, 112, 118, true},
	} {
		b.report.Phases = nil
		b.phase("baseline", 0, 60)
		b.phase("build", 60, 112)
		if c.until != 0 {
			b.phase("drain", c.first, c.until)
			if c.first == 100 { // and one after it in which nobody was
				b.phase("back", c.until+1, c.until+2)
			}
		}
		if got := b.nobodyIn(Scope{ClassUser, Time{b.at(c.from)}, Time{b.at(c.to)}}); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}
