package analysis

import (
	"strings"
	"testing"
)

// A rule claims a request when all of its keys agree; of several rules the first in the
// order probe, health, tool does, and what none claims is a user's.
func TestClassOfALoggedRequest(t *testing.T) {
	rules, err := NewClassifier(Service{Traffic: TrafficRules{
		Probe:  []TrafficRule{{UserAgentPrefix: "gapless-probe/"}},
		Health: []TrafficRule{{UserAgentPrefix: "ELB-HealthChecker/", Path: "/health"}, {Path: "/up", Client: "10.0.0.0/8"}},
		Tool:   []TrafficRule{{Client: "192.0.2.7"}, {Client: "2001:db8::/32"}, {Path: "/metrics"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, agent, path, client string
		want                      Class
	}{
		{"its agent", "gapless-probe/1 run-7", "/v1/orders", "203.0.113.9", ClassProbe},
		{"two rules claim it", "gapless-probe/1 run-7", "/metrics", "192.0.2.7", ClassProbe},
		{"agent and path", "ELB-HealthChecker/2.0", "/health", "10.0.0.9", ClassHealth},
		{"the query is ignored", "ELB-HealthChecker/2.0", "/health?deep=1", "10.0.0.9", ClassHealth},
		{"the agent alone", "ELB-HealthChecker/2.0", "/v1/orders", "10.0.0.9", ClassUser},
		{"the path alone", "curl/8", "/health", "10.0.0.9", ClassUser},
		{"path and network", "curl/8", "/up", "10.9.9.9", ClassHealth},
		{"an address of it that is written as one of IPv6", "curl/8", "/up", "::ffff:10.9.9.9", ClassHealth},
		{"another network", "curl/8", "/up", "203.0.113.9", ClassUser},
		{"no address", "curl/8", "/up", "unix:", ClassUser},
		{"the path, of any client", "curl/8", "/metrics", "203.0.113.9", ClassTool},
		{"below the path", "curl/8", "/metrics/x", "203.0.113.9", ClassUser},
		{"one address", "curl/8", "/v1/orders", "192.0.2.7", ClassTool},
		{"the next one", "curl/8", "/v1/orders", "192.0.2.8", ClassUser},
		{"a network of IPv6", "curl/8", "/v1/orders", "2001:db8:1::1", ClassTool},
		{"a user", "Mozilla/5.0", "/v1/orders", "203.0.113.9", ClassUser},
	} {
		if got := rules.Class(c.agent, c.path, c.client); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestTrafficRulesThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		rule TrafficRule
		want string
	}{
		{"without keys", TrafficRule{}, "traffic tool: a rule without keys"},
		{"no address", TrafficRule{Client: "somewhere"}, `traffic tool: client "somewhere"`},
		{"no network", TrafficRule{Client: "10.0.0.0/99"}, `traffic tool: client "10.0.0.0/99"`},
	} {
		if _, err := NewClassifier(Service{Traffic: TrafficRules{Tool: []TrafficRule{c.rule}}}); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestTargetAtAnAddress(t *testing.T) {
	rules, err := NewClassifier(Service{Targets: []TargetName{
		{Name: "api-1", Address: "10.0.1.11:8080", Aliases: []string{"i-0abc:9090", "ip-10-0-1-11", "host"}},
		{Name: "api-2", Address: "10.0.1.11:8081", Aliases: []string{"host"}},
		{Name: "api-3", Address: ":8082", Aliases: []string{"host"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, address, want string }{
		{"its address", "10.0.1.11:8080", "api-1"},
		{"another port", "10.0.1.11:8081", "api-2"},
		{"a port that nobody has", "10.0.1.11:9999", "10.0.1.11:9999"},
		{"an alias with its port", "i-0abc:9090", "api-1"},
		{"such an alias without it", "i-0abc", "i-0abc"},
		{"a bare alias", "ip-10-0-1-11", "api-1"},
		{"with the target's port", "ip-10-0-1-11:8080", "api-1"},
		{"with any port, since no other target has it", "ip-10-0-1-11:1", "api-1"},
		{"an alias of several with the first one's port", "host:8080", "api-1"},
		{"with the second one's", "host:8081", "api-2"},
		{"with that of a target at every address of its host", "host:8082", "api-3"},
		{"with none of theirs", "host:1", "host:1"},
		{"alone it says nothing", "host", "host"},
		{"empty", "", ""},
	} {
		if got := rules.Target(c.address); got != c.want {
			t.Errorf("%s: %q is %q, want %q", c.name, c.address, got, c.want)
		}
	}
}

func TestIDsOfOurOwnRequests(t *testing.T) {
	for _, c := range []struct {
		id, run string
		seq     int
		ok      bool
	}{
		{"20261014-a1-000042", "20261014-a1", 42, true},
		{"r-0", "r", 0, true},
		{"r-4294967295", "r", 4294967295, true},
		{"r-4294967296", "", 0, false},
		{"-7", "", 0, false},
		{"r-", "", 0, false},
		{"r", "", 0, false},
		{"r-x", "", 0, false},
		{"", "", 0, false},
	} {
		if run, seq, ok := ProbeID(c.id); run != c.run || seq != c.seq || ok != c.ok {
			t.Errorf("%q: %q, %d, %t", c.id, run, seq, ok)
		}
		agent := "gapless-probe/1.2 " + c.id
		if run, seq, ok := ProbeUserAgent(agent); run != c.run || seq != c.seq || ok != c.ok {
			t.Errorf("%q: %q, %d, %t", agent, run, seq, ok)
		}
		if run, _, ok := ProbeUserAgent("curl/8 " + c.id); run != "" || ok {
			t.Errorf("another's agent with %q: %q, %t", c.id, run, ok)
		}
	}
}
