package views

import (
	"slices"
	"testing"
	"time"

	"gapless/analysis"
)

// To claim something is no evidence, and a claim is known by its text.
func TestTypedClaimsAreNoLateEvidence(t *testing.T) {
	obs, r := firstReport(t)
	r.Claims = append(r.Claims, analysis.Claim{ID: "typed-3f68", Text: "Nobody noticed.", State: analysis.Untested, Typed: &analysis.Typed{}})
	changes := []string{"claim typed-3f68: new, untested", "user failures: 0 → 1", "claim typed-3f68: untested → supported", "claim typed-0000: gone", "claim no-user-failure: new, supported"}
	r.Provenance.Changes = changes
	obs.Revisions = []analysis.RevisionNote{{Number: 1}, {Number: 2, Changes: changes}}
	page := NewDeployPage(obs, r, time.UTC)
	facts := map[string]string{}
	for _, fact := range page.Facts {
		facts[fact.Label] = fact.Text + "|" + fact.Note
	}
	if got, want := facts["Claimed since the revision before"], "“Nobody noticed”, untested|"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := facts["Late evidence changed"], "user failures: 0 → 1, claim “Nobody noticed”: untested → supported and a typed claim: gone|and 1 more"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	late, typed := changesOf([]string{"claim typed-3f68: new, untested", "finding health-sample-claim: new", "finding log-late: new"}, r.Claims)
	if !slices.Equal(late, []string{"finding log-late: new"}) || !slices.Equal(typed, []string{"“Nobody noticed”, untested", "which makes the finding health-sample-claim"}) {
		t.Errorf("a claim that rests on health samples: late %q, claimed %q", late, typed)
	}
	if late, typed := changesOf([]string{"finding health-sample-claim: new"}, nil); len(late) != 1 || len(typed) != 0 {
		t.Errorf("without a new claim: late %q, claimed %q", late, typed)
	}
	var spans []string
	for _, span := range page.Revisions.Rows[0].Cells[3].Spans {
		spans = append(spans, span.Text)
	}
	if want := "claimed: “Nobody noticed”, untested"; !slices.Contains(spans, want) || len(spans) != len(changes) {
		t.Errorf("the table of revisions says %q", spans)
	}
}
