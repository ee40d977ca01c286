package analysis

// What would have to be measured for a claim about users.
const (
	needAccessLog = "access_log"       // none that counts users is read
	needWholeLog  = "whole_access_log" // it is read, and not whole over the claim's scope
	needProbes    = "probes"           // no business probe was there either
)

// healthSampleClaim fires for every claim about users that rests on health samples: a
// sample of one path by one client is not a statement about users, whatever it says.
// The claim itself is judged by what was measured of users; the finding says how far
// that goes, and what would have to be measured.
func healthSampleClaim(b *bench) ([]Finding, string) {
	var found []Finding
	for _, c := range b.typedClaims() {
		if !b.restsOnHealth(&c) {
			continue
		}
		from, to := c.Scope.From.Time, c.Scope.To.Time
		values := map[string]any{
			"claim": c.ID, "text": c.Text, "state": c.State, "told": c.Typed.Basis != nil, "needs": b.needsFor(&c),
			"health_requests": nil, "health_failures": nil, "user_requests": nil, "user_failures": nil,
		}
		for _, class := range []Class{ClassHealth, ClassUser} {
			if !b.measured(class) {
				continue
			}
			failures := 0
			for _, n := range b.causesIn(Scope{class, c.Scope.From, c.Scope.To}) {
				failures += n
			}
			values[string(class)+"_requests"], values[string(class)+"_failures"] = b.requestsIn(class, []span{{from, to}}), failures
		}
		severity := map[VerdictState]Severity{Disproved: SeverityHigh, Supported: SeverityInfo}[c.State]
		if severity == "" {
			severity = SeverityMedium
		}
		evidence := []Evidence{}
		if n, ok := values["health_requests"].(int); ok {
			evidence = append(evidence, Evidence{Kind: "probes", Source: "health", Traffic: ClassHealth, From: c.Scope.From, To: c.Scope.To, Count: n})
		}
		found = append(found, Finding{Severity: severity, From: c.Scope.From, To: c.Scope.To, Values: values, Evidence: evidence})
	}
	return found, ""
}

// needsFor lists what would have to be measured for a claim about users.
func (b *bench) needsFor(c *Claim) []string {
	needs := []string{}
	switch {
	case !b.measured(ClassUser):
		needs = append(needs, needAccessLog)
	case !whole(c.Required):
		needs = append(needs, needWholeLog)
	}
	if !b.measured(ClassProbe) {
		needs = append(needs, needProbes)
	}
	return needs
}
