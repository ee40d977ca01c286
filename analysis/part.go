package analysis

import (
	"slices"
	"time"
)

// Part is a stretch of a window that a report is to be about. The zero value is the
// whole window.
type Part struct{ From, To time.Time }

// IsZero reports whether the report is about the whole window.
func (p Part) IsZero() bool { return p.From.IsZero() && p.To.IsZero() }

// narrow makes the report one about a part of its window. What a step, a stop or a
// failure is was settled with the evidence of the whole window, so that a part never
// says something else of the same failure; phases, counts, coverage, chances,
// failures and findings are then taken for the part alone. The ways of the targets
// and the steps stay whole, since they give the part its meaning.
func (b *bench) narrow(part Part) {
	r := &b.report
	r.Window.PartOf = &Span{Time{b.from}, Time{b.to}, seconds(b.to.Sub(b.from))}
	b.from, b.to = latest(part.From, b.from), earliest(part.To, b.to)
	b.seenTo = earliest(b.seenTo, b.to)
	b.started = earliest(latest(b.started, b.from), b.to)
	r.Window.From, r.Window.To = Time{b.from}, Time{b.to}

	b.narrowPhases()
	b.failures = slices.DeleteFunc(b.failures, func(f failure) bool { return !b.inWindow(f.counted()) })
	r.Failures = b.failedRequests()
	b.countTraffic()
	for _, f := range b.failures {
		if total := r.Totals[f.class]; total != nil {
			total.Causes[f.cause] += f.n
		}
	}
	clear(b.coverage)
	b.cover()
	b.attribute()
	r.Detection = b.detect()
	r.Completeness = b.complete()
	b.followSignals()
	b.narrowSpans()
	b.narrowFindings()
}

// narrowPhases cuts the phases to the part. Findings point at the names of the
// phases before, so those stay as they are.
func (b *bench) narrowPhases() {
	phases := []Phase{}
	for _, p := range b.report.Phases {
		p.From, p.To = Time{latest(p.From.Time, b.from)}, Time{earliest(p.To.Time, b.to)}
		if p.From.Before(p.To.Time) {
			phases = append(phases, p)
		}
	}
	b.report.Phases = phases
}

// meets reports whether [from, to], or the moment from, touches the part.
func (b *bench) meets(from, to time.Time) bool {
	return from.Before(b.to) && (to.After(b.from) || !from.Before(b.from))
}

func (b *bench) narrowSpans() {
	r := &b.report
	clip := func(s *Span) {
		s.From, s.To = Time{latest(s.From.Time, b.from)}, Time{earliest(s.To.Time, b.to)}
		s.Seconds = seconds(s.To.Sub(s.From.Time))
	}
	b.single = slices.DeleteFunc(b.single, func(s TargetSpan) bool { return !b.meets(s.From.Time, s.To.Time) })
	for i := range b.single {
		clip(&b.single[i].Span)
	}
	b.zero = slices.DeleteFunc(b.zero, func(s TargetGroupSpan) bool { return !b.meets(s.From.Time, s.To.Time) })
	for i := range b.zero {
		clip(&b.zero[i].Span)
	}
	r.SingleTarget, r.ZeroTargets = b.single, b.zero
	for i := range r.Targets {
		t := &r.Targets[i]
		t.FailureWindows = slices.DeleteFunc(t.FailureWindows, func(w FailureWindow) bool { return !b.meets(w.From.Time, w.To.Time) })
	}
}

// claimRule is about claims, which are judged anew for a part.
const claimRule = "health-sample-claim"

// narrowFindings keeps the findings whose time meets the part. A rule that fired
// elsewhere only is clear here.
func (b *bench) narrowFindings() {
	r := &b.report
	r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool { return f.Code == claimRule || !b.meets(f.From.Time, f.To.Time) })
	for _, rule := range rules {
		if rule.code == claimRule {
			b.run(rule)
		}
	}
	slices.SortStableFunc(r.Findings, byTime)
	for i := range r.Rules {
		rule := &r.Rules[i]
		if rule.State == RuleFired && !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Code == rule.Code }) {
			rule.State = RuleClear
		}
	}
}
