package analysis

import (
	"math"
	"slices"
	"time"
)

// Comparison sets two reports side by side. Its figures are the reports' own; what it
// adds is which belong together, and their differences, second less first.
type Comparison struct {
	AlignedBy StepKind // the kind of the steps that both are aligned at; of two kinds the first of its sort
	ZeroA     time.Time
	ZeroB     time.Time
	Phases    []PhasePair
	Targets   []TargetPair
	Totals    map[Class]CountPair
}

// PhasePair is a phase of both deploys by its name; nil where one has none.
type PhasePair struct {
	Name           string
	A, B           *Phase
	StartA, StartB *float64 // seconds after the moment of alignment
	Length         Pair     // seconds
	Traffic        map[Class]CountPair
}

// CountPair are the requests of one class on both sides; nil where not measured.
type CountPair struct {
	RequestsA, RequestsB, FailuresA, FailuresB *int
	Failures                                   *int // the difference; nil where one side was not measured
	P99                                        Pair // milliseconds
}

// TargetPair is one way of a target, down and back, in both deploys: the first of each by
// its name and group, the second, and so on; nil where one has none.
type TargetPair struct {
	Target, TargetGroup string
	A, B                *TargetReport
	Measures            []Measure // those that at least one side has
}

// Measure is one figure of a target on both sides. Name is its field in the report.
type Measure struct {
	Name               string
	Value              Pair
	IntervalA          *Interval // instead of Value, for figures that are intervals
	IntervalB          *Interval
	IntervalDifference *Interval
}

// Pair is a figure on both sides, nil where one has none, and its difference with the
// side on which the true difference lies; nil where the bounds leave both sides open.
type Pair struct{ A, B, Difference *Bounded }

// Compare aligns two reports at the first drain mark of each; where not both have one,
// at the first stop, else at the deploys' starts. Phases and targets belong together
// by their names.
func Compare(a, b *Report) Comparison {
	c := Comparison{Totals: map[Class]CountPair{}}
	c.align(a, b)
	c.pairPhases(a, b)
	c.pairTargets(a, b)
	for _, class := range Classes {
		c.Totals[class] = pairTotals(a.Totals[class], b.Totals[class])
	}
	return c
}

func (c *Comparison) align(a, b *Report) {
	for _, kinds := range [][]StepKind{{StepDrainMarked, StepTargetDeregistered}, {StepRestartBegan, StepProcessKilled}} {
		stepA, stepB := firstStep(a, kinds), firstStep(b, kinds)
		if stepA == nil || stepB == nil {
			continue
		}
		c.AlignedBy, c.ZeroA, c.ZeroB = kinds[0], stepA.At.Time, stepB.At.Time
		if stepA.Kind == stepB.Kind {
			c.AlignedBy = stepA.Kind
		}
		return
	}
	c.AlignedBy, c.ZeroA, c.ZeroB = StepDeployStarted, begin(a), begin(b)
}

func firstStep(r *Report, kinds []StepKind) (first *StepReport) {
	for i := range r.Steps {
		s := &r.Steps[i]
		if !s.Ignored && slices.Contains(kinds, s.Kind) && !s.At.Before(r.Deploy.StartedAt.Time) && (first == nil || s.At.Before(first.At.Time)) {
			first = s
		}
	}
	return first
}

func begin(r *Report) time.Time {
	if r.Deploy.StartedAt.IsZero() {
		return r.Window.From.Time
	}
	return r.Deploy.StartedAt.Time
}

// pairPhases lists the phases of a in their order; those that only b has come after
// the one that they follow there.
func (c *Comparison) pairPhases(a, b *Report) {
	find := func(r *Report, name string) *Phase {
		i := slices.IndexFunc(r.Phases, func(p Phase) bool { return p.Name == name })
		if i < 0 {
			return nil
		}
		return &r.Phases[i]
	}
	names := []string{}
	for _, p := range a.Phases {
		names = append(names, p.Name)
	}
	after := 0
	for _, p := range b.Phases {
		if i := slices.Index(names, p.Name); i >= 0 {
			after = i + 1
			continue
		}
		names = slices.Insert(names, after, p.Name)
		after++
	}
	for _, name := range names {
		pair := PhasePair{Name: name, A: find(a, name), B: find(b, name), Traffic: map[Class]CountPair{}}
		var lengthA, lengthB *Bounded
		if pair.A != nil {
			pair.StartA = new(seconds(pair.A.From.Sub(c.ZeroA)))
			lengthA = &Bounded{seconds(pair.A.To.Sub(pair.A.From.Time)), Exact}
		}
		if pair.B != nil {
			pair.StartB = new(seconds(pair.B.From.Sub(c.ZeroB)))
			lengthB = &Bounded{seconds(pair.B.To.Sub(pair.B.From.Time)), Exact}
		}
		pair.Length = pairOf(lengthA, lengthB)
		for _, class := range Classes {
			pair.Traffic[class] = pairCounts(trafficOf(pair.A, class), trafficOf(pair.B, class))
		}
		c.Phases = append(c.Phases, pair)
	}
}

func trafficOf(p *Phase, class Class) *Counts {
	if p == nil {
		return nil
	}
	return p.Traffic[class]
}

func pairTotals(a, b *Total) CountPair {
	counts := func(t *Total) *Counts {
		if t == nil {
			return nil
		}
		return &Counts{Requests: t.Requests, Failures: t.Failures, P99: t.P99}
	}
	return pairCounts(counts(a), counts(b))
}

func pairCounts(a, b *Counts) CountPair {
	var p CountPair
	exact := func(v *float64) *Bounded {
		if v == nil {
			return nil
		}
		return &Bounded{*v, Exact}
	}
	var p99a, p99b *Bounded
	if a != nil {
		p.RequestsA, p.FailuresA, p99a = &a.Requests, &a.Failures, exact(a.P99)
	}
	if b != nil {
		p.RequestsB, p.FailuresB, p99b = &b.Requests, &b.Failures, exact(b.P99)
	}
	if a != nil && b != nil {
		p.Failures = new(b.Failures - a.Failures)
	}
	p.P99 = pairOf(p99a, p99b)
	return p
}

func (c *Comparison) pairTargets(a, b *Report) {
	type key struct {
		target, group string
		nth           int
	}
	order, pairs := []key{}, map[key]*TargetPair{}
	add := func(t *TargetReport, side func(*TargetPair) **TargetReport) {
		k := key{target: t.Target, group: t.TargetGroup}
		for pairs[k] != nil && *side(pairs[k]) != nil {
			k.nth++
		}
		if pairs[k] == nil {
			order = append(order, k)
			pairs[k] = &TargetPair{Target: t.Target, TargetGroup: t.TargetGroup}
		}
		*side(pairs[k]) = t
	}
	for i := range a.Targets {
		add(&a.Targets[i], func(p *TargetPair) **TargetReport { return &p.A })
	}
	for i := range b.Targets {
		add(&b.Targets[i], func(p *TargetPair) **TargetReport { return &p.B })
	}
	for _, k := range order {
		pair := pairs[k]
		pair.measure()
		c.Targets = append(c.Targets, *pair)
	}
}

// measures are the figures of a target that have a bound, by their field in the report.
var measures = []struct {
	name string
	of   func(*TargetReport) *Bounded
}{
	{"eject_s", func(t *TargetReport) *Bounded { return t.Eject }},
	{"last_served_to_restart_s", func(t *TargetReport) *Bounded { return t.LastServedToRestart }},
	{"kill_to_restart_s", func(t *TargetReport) *Bounded { return t.KillToRestart }},
	{"boot_s", func(t *TargetReport) *Bounded { return t.Boot }},
	{"restart_to_first_request_s", func(t *TargetReport) *Bounded { return t.RestartToFirstRequest }},
	{"ready_to_first_request_s", func(t *TargetReport) *Bounded { return t.ReadyToFirstRequest }},
	{"reported_to_first_served_s", func(t *TargetReport) *Bounded { return t.ReportedToFirstServed }},
	{"return_to_next_drain_s", func(t *TargetReport) *Bounded { return t.ReturnToNextDrain }},
}

// intervals are the figures of a target that are intervals.
var intervals = []struct {
	name string
	of   func(*TargetReport) *Interval
}{
	{"state_lag_down_s", func(t *TargetReport) *Interval { return t.StateLagDown }},
	{"state_lag_up_s", func(t *TargetReport) *Interval { return t.StateLagUp }},
}

func (p *TargetPair) measure() {
	for _, m := range measures {
		var a, b *Bounded
		if p.A != nil {
			a = m.of(p.A)
		}
		if p.B != nil {
			b = m.of(p.B)
		}
		if a != nil || b != nil {
			p.Measures = append(p.Measures, Measure{Name: m.name, Value: pairOf(a, b)})
		}
	}
	for _, m := range intervals {
		one := Measure{Name: m.name}
		if p.A != nil {
			one.IntervalA = m.of(p.A)
		}
		if p.B != nil {
			one.IntervalB = m.of(p.B)
		}
		if a, b := one.IntervalA, one.IntervalB; a != nil && b != nil {
			one.IntervalDifference = &Interval{round6(b.From - a.To), round6(b.To - a.From)}
		}
		if one.IntervalA != nil || one.IntervalB != nil {
			p.Measures = append(p.Measures, one)
		}
	}
}

// pairOf sets two figures beside each other with their difference, b less a: exact
// where both are, a bound where the bounds of the two pull to the same side.
func pairOf(a, b *Bounded) Pair {
	p := Pair{A: a, B: b}
	if a == nil || b == nil {
		return p
	}
	opposite := map[Bound]Bound{Exact: Exact, Lower: Upper, Upper: Lower}[a.Bound]
	d := Bounded{Value: round6(b.Value - a.Value)}
	switch {
	case opposite == b.Bound, opposite == Exact:
		d.Bound = b.Bound
	case b.Bound == Exact:
		d.Bound = opposite
	default:
		return p
	}
	p.Difference = &d
	return p
}

// round6 cuts a difference to the microsecond that its figures have.
func round6(v float64) float64 { return math.Round(v*1e6) / 1e6 }
