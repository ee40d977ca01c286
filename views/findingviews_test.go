package views

import (
	"slices"
	"testing"
	"time"

	"gapless/analysis"
)

// A link to evidence counts requests by whose they are, and where it counted none it
// names the records and says no number.
func TestEvidenceIsCountedByClass(t *testing.T) {
	r := &analysis.Report{Findings: []analysis.Finding{{Evidence: []analysis.Evidence{
		{Kind: "requests", Source: "traffic", Traffic: analysis.ClassUser, Count: 10},
		{Kind: "requests", Source: "traffic", Traffic: analysis.ClassHealth, Count: 2},
		{Kind: "probes", Source: "place", Traffic: analysis.ClassProbe, Count: 1},
		{Kind: "requests", Source: "traffic", Count: 18},
		{Kind: "requests", Source: "traffic", Traffic: analysis.ClassUser},
		{Kind: "states", Source: "elbv2", Count: 1},
		{Kind: "objects"},
	}}}}
	want := []string{"10 user requests in traffic", "2 health samples in traffic", "1 probe request in place", "requests in traffic", "requests in traffic", "1 state in elbv2", "objects"}
	if got := findingViews(r, time.UTC)[0].Evidence; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
