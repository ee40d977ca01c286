package analysis

import "testing"

func TestRoutes(t *testing.T) {
	for _, c := range []struct {
		match, path string
		want, plain bool
	}{
		{"^/v1/orders", "/v1/orders/7", true, true},
		{"^/v1/orders", "/v1/orders?x=/v2", true, true},
		{"^/v1/orders", "/v2/v1/orders", false, true},
		{`^/v1\.0/a`, "/v1.0/a", true, true},
		{`^/v1.0/a`, "/v1x0/a", true, false},
		{"(?i)^/v1/orders", "/V1/Orders", true, false},
		{"/orders", "/v1/orders", true, false},
		{"^/v1/orders$", "/v1/orders/7", false, false},
		{"^/v1/(orders|carts)", "/v1/carts", true, false},
		{"(?m)^/v1", "/x\n/v1", true, false},
		{"^", "/x", true, false},
		{"^|/v1", "/x", true, false},
		{"^[/x]", "/v1", true, false},
	} {
		rules, err := NewClassifier(Service{Routes: []Route{{Name: "r", Match: c.match}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := rules.Route(c.path) == "r"; got != c.want || rules.PrefixRoutes() != c.plain {
			t.Errorf("%s on %s: %v, plain %v", c.match, c.path, got, rules.PrefixRoutes())
		}
	}
}
