package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The part is from 100 to 200, half-open. A stretch meets it that has a moment of it,
// and so does a moment.
func TestWhatOfAReportMeetsAPart(t *testing.T) {
	type stretch struct{ from, to float64 }
	spans := []stretch{{90, 100}, {90, 110}, {120, 130}, {190, 210}, {200, 210}}
	b := newTable()
	clock := newTable() // which goes on from the window's beginning, not the part's
	b.report.Targets = []TargetReport{{}}
	for _, s := range spans {
		b.single = append(b.single, TargetSpan{"api-2", b.span(s.from, s.to)})
		b.zero = append(b.zero, TargetGroupSpan{"api", b.span(s.from, s.to)})
		b.report.Targets[0].FailureWindows = append(b.report.Targets[0].FailureWindows, FailureWindow{From: Time{b.at(s.from)}, To: Time{b.at(s.to)}})
	}
	find := func(code string, from, to float64) {
		b.report.Findings = append(b.report.Findings, Finding{Code: code, From: Time{b.at(from)}, To: Time{b.at(to)}})
	}
	for _, s := range append(spans, stretch{100, 100}, stretch{99, 99}, stretch{150, 0}, stretch{50, 0}) {
		find("here", s.from, s.to)
	}
	find("elsewhere", 50, 60)
	b.report.Rules = []RuleState{{"here", RuleFired, ""}, {"elsewhere", RuleFired, ""}, {"never", RuleClear, ""}, {"unknown", RuleNotEvaluable, "why"}}

	b.narrow(Part{b.at(100), b.at(200)})

	var single, zero, windows, findings, rules []string
	at := func(from, to Time) string { return clock.word(from) + "–" + clock.word(to) }
	for _, s := range b.report.SingleTarget {
		single = append(single, fmt.Sprintf("%s %gs", at(s.From, s.To), s.Seconds))
	}
	for _, s := range b.report.ZeroTargets {
		zero = append(zero, fmt.Sprintf("%s %gs", at(s.From, s.To), s.Seconds))
	}
	for _, w := range b.report.Targets[0].FailureWindows {
		windows = append(windows, at(w.From, w.To))
	}
	for _, f := range b.report.Findings {
		findings = append(findings, at(f.From, f.To))
	}
	slices.Sort(findings)
	for _, r := range b.report.Rules {
		rules = append(rules, r.Code+" "+r.State)
	}
	for _, c := range []struct {
		name string
		got  []string
		want string
	}{
		{"one target alone", single, "100–110 10s, 120–130 10s, 190–200 10s"},
		{"no target", zero, "100–110 10s, 120–130 10s, 190–200 10s"},
		{"failure windows, which stay whole", windows, "90–110, 120–130, 190–210"},
		{"findings, which stay whole", findings, "100–100, 120–130, 150–0, 190–210, 90–110"},
		{"rules", rules, "here fired, elsewhere clear, never clear, unknown not_evaluable"},
	} {
		if got := strings.Join(c.got, ", "); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A part may be open at one end; a stop is judged where it was.
func TestStopsAreJudgedInTheirPart(t *testing.T) {
	s := newScene(t)
	s.stop("api-1", 90, 100, false)
	s.prepare()
	const judged, not = "disproved stopped_in_rotation", "inconclusive stop_unknown"
	for _, c := range []struct {
		name     string
		part     Part
		from, to float64
		want     string
	}{
		{"the whole window", Part{}, 0, 300, judged},
		{"around the stop", Part{s.at(80), s.at(110)}, 80, 110, judged},
		{"from the stop on", Part{From: s.at(90)}, 90, 300, judged},
		{"until the stop", Part{To: s.at(90)}, 0, 90, not},
		{"after it", Part{s.at(200), s.at(240)}, 200, 240, not},
	} {
		s.obs.Part = c.part
		r := Judge(s.obs)
		if w := r.Window; !w.From.Equal(s.at(c.from)) || !w.To.Equal(s.at(c.to)) || (w.PartOf == nil) != (c.part == Part{}) || w.PartOf != nil && w.PartOf.Seconds != 300 {
			t.Errorf("%s: %+v of %+v", c.name, w, w.PartOf)
		}
		for _, claim := range r.Claims {
			if got := string(claim.State) + " " + claim.Reason; claim.ID == ClaimEjectedBeforeStop && got != c.want {
				t.Errorf("%s: %s, want %s", c.name, got, c.want)
			}
		}
	}
}
