package views

import (
	"strings"
	"testing"
	"time"

	"gapless/analysis"
)

// The first report's deploy against itself with a loss, a day later and without the
// drain of api-1.
func comparison(t *testing.T) ComparePage {
	_, a := firstReport(t)
	_, b := lossy(t)
	b.Deploy.ID = "813"
	for i := range b.Steps {
		b.Steps[i].At.Time = b.Steps[i].At.Add(24 * time.Hour)
	}
	for i := range b.Phases {
		b.Phases[i].From.Time, b.Phases[i].To.Time = b.Phases[i].From.Add(24*time.Hour), b.Phases[i].To.Add(24*time.Hour)
	}
	b.Window.From.Time, b.Window.To.Time = b.Window.From.Add(24*time.Hour), b.Window.To.Add(24*time.Hour)
	b.Deploy.StartedAt.Time = b.Deploy.StartedAt.Add(24 * time.Hour)
	b.Targets[0].Boot = &analysis.Bounded{Value: 30, Bound: analysis.Lower}
	return NewComparePage(a, b, seoul)
}

func TestComparePage(t *testing.T) {
	page := comparison(t)
	if page.Aligned != "aligned at the first drain mark of each" || page.Warning != "" {
		t.Errorf("%q, %q", page.Aligned, page.Warning)
	}
	if got := strings.Join(texts(row(t, page.Phases, "api-1 restart")), "|"); got != "api-1 restart|+124 s|+124 s|18 s|18 s|0 s|0 of 290|3 of 290|+3|0 of 89|2 of 89|+2" {
		t.Errorf("restart of api-1: %s", got)
	}
	if got := strings.Join(texts(row(t, page.Totals, "users")), "|"); !strings.HasPrefix(got, "users|0 of 25,212|3 of 25,212|+3|") {
		t.Errorf("users: %s", got)
	}
	boot := ""
	for _, row := range page.Targets.Rows {
		if cells := texts(row); cells[1] == "stop → ready" && boot == "" {
			boot = strings.Join(cells, "|")
		}
	}
	if boot != "|stop → ready|17.8 s|≥ 30 s|≥ +12.2 s" {
		t.Errorf("boot: %s", boot)
	}
	if got := strings.Join(texts(row(t, page.Findings, "restart-before-eject")), "|"); got != "restart-before-eject|clear|1 ×" {
		t.Errorf("finding: %s", got)
	}
	// Both strips are on one scale: the same phases a day apart lie at the same place.
	for i := range page.Strips.A {
		if page.Strips.A[i].X != page.Strips.B[i].X || page.Strips.A[i].W != page.Strips.B[i].W {
			t.Errorf("phase %d: %+v and %+v", i, page.Strips.A[i], page.Strips.B[i])
		}
	}
	zero := false
	for _, tick := range page.Strips.Ticks {
		zero = zero || tick.Label == "0" && tick.X == page.Strips.Zero
	}
	if !zero {
		t.Errorf("no tick at the alignment: %+v", page.Strips)
	}
	_, body, _ := strings.Cut(render(t, Compare(page)), `<main id="main">`)
	body, _, _ = strings.Cut(body, "</main>")
	golden(t, "testdata/compare.html", body)
}

func TestComparisonWarns(t *testing.T) {
	_, a := firstReport(t)
	b := a
	if page := NewComparePage(a, b, seoul); page.Warning != "Both sides are the same deploy." {
		t.Errorf("%q", page.Warning)
	}
	b.Deploy.ID, b.Deploy.Kind = "813", analysis.KindBlueGreen
	if page := NewComparePage(a, b, seoul); page.Warning != "One is a rolling deploy, the other a blue/green deploy." {
		t.Errorf("%q", page.Warning)
	}
	b.Deploy.Service = "other"
	if page := NewComparePage(a, b, seoul); !strings.Contains(page.Warning, "different services") {
		t.Errorf("%q", page.Warning)
	}
	if html := render(t, Compare(NewComparePage(analysis.Report{}, analysis.Report{}, seoul))); !strings.Contains(html, "Neither has a phase") {
		t.Error("two empty reports do not say that they are empty")
	}
}

func TestComparisonEscapes(t *testing.T) {
	_, a := lossy(t)
	evil := `"><script>alert(1)</script>`
	a.Deploy.ID, a.Deploy.Service, a.Deploy.VersionAfter = evil, evil, &evil
	a.Phases[0].Name, a.Targets[0].Target, a.Findings[0].Code = evil, evil, evil
	if html := render(t, Compare(NewComparePage(a, a, seoul))); strings.Contains(html, "<script>alert") {
		t.Error("hostile text reached the page unescaped")
	}
}
