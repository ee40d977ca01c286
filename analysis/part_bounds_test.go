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

// What a deploy told of its targets, and what not, is said of a part as of the whole: the
// ways of the targets give it its meaning, though nothing was stopped in it.
func TestAPartSaysWhatWasTold(t *testing.T) {
	codes := []string{"steps-inferred", "stops-unknown", "targets-untold"}
	said := func(r Report) string {
		var words []string
		for _, c := range r.Verdict.Conditions {
			if slices.Contains(codes, c.Code) {
				words = append(words, fmt.Sprint(c.Code, c.Values["targets"]))
			}
		}
		return strings.Join(words, ", ")
	}
	for _, c := range []struct {
		name string
		lay  func(*shape)
		want string
	}{
		{"all of it", func(s *shape) { s.restart("a", 100, 110); s.restart("b", 150, 160) }, ""},
		{"of one target", func(s *shape) { s.restart("a", 100, 110) }, "targets-untold[b]"},
		{"of one stop", func(s *shape) { s.restart("a", 100, 110); s.step(StepAppReady, "b", 160) }, "stops-unknown[b]"},
		{"nothing that happened", func(*shape) {}, "steps-inferred[a b]"},
	} {
		s := newShape(t, "a", "b")
		c.lay(s)
		s.serve("alb", "api", "a", 10, 0, 100, false)
		s.serve("alb", "api", "a", 20, 100, 112, true)
		s.serve("alb", "api", "a", 10, 112, 300, false)
		s.serve("alb", "api", "b", 10, 0, 150, false)
		s.serve("alb", "api", "b", 10, 160, 300, false)
		s.serve("alb", "api", "a", 10, 150, 160, false)
		for _, part := range []Part{{}, {s.at(50), s.at(70)}, {s.at(95), s.at(120)}, {s.at(200), s.at(230)}} {
			s.obs.Part = part
			if got := said(Judge(s.obs)); got != c.want {
				t.Errorf("%s, part %v: %q, want %q", c.name, part, got, c.want)
			}
		}
	}
}

// A stop that nobody told is one of the part in which its target was gone.
func TestAnUntoldStopIsJudgedInItsPart(t *testing.T) {
	for _, c := range []struct {
		from, to float64
		want     string
	}{
		{0, 300, "inconclusive stop_unknown"}, {90, 200, "inconclusive stop_unknown"}, {90, 150, "inconclusive stop_unknown"},
		{90, 140, "supported no_failure"}, {155, 200, "inconclusive stop_unknown"},
	} {
		s := newShape(t, "a", "b")
		s.step(StepDrainMarked, "a", 85)
		s.restart("a", 100, 105)
		s.up("a", 0, 95, 120, 300)
		s.step(StepAppReady, "b", 160)
		s.up("b", 0, 150, 161, 300)
		s.serve("alb", "api", "b", 9, 95, 120, false)
		s.obs.Part = Part{s.at(c.from), s.at(c.to)}
		for _, claim := range Judge(s.obs).Claims {
			if got := string(claim.State) + " " + claim.Reason; claim.ID == ClaimEjectedBeforeStop && got != c.want {
				t.Errorf("%g–%g: %s, want %s", c.from, c.to, got, c.want)
			}
		}
	}
}
