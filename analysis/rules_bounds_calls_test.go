package analysis

import (
	"slices"
	"strconv"
	"testing"
)

// calls lays down calls of api-1 to a dependency, in the order of their times: each for
// an identifier of its own but as many as are named as again, which are for the first.
func (b *table) calls(dependency string, again int, at ...float64) {
	for i, s := range at {
		key := strconv.Itoa(max(i-again, 0))
		b.tell("api-1", s, EventCallSent, dependency).Key = key
		b.called = append(b.called, call{dependency: dependency, target: "api-1", key: key, sent: b.at(s)})
	}
	if !slices.ContainsFunc(b.report.Dependencies, func(d DependencyUse) bool { return d.Dependency == dependency }) {
		b.report.Dependencies = append(b.report.Dependencies, DependencyUse{Dependency: dependency, Amplification: new(1.0)})
	}
}

// pace is n moments, a second apart.
func pace(from float64, n int) []float64 {
	var at []float64
	for i := range n {
		at = append(at, from+float64(i))
	}
	return at
}

func TestRetryAmplificationBounds(t *testing.T) {
	// The deploy began at 60. Of 20 calls from 100 on, 10 are again for the first
	// identifier: 20 calls for 10 identifiers.
	const twice = "100–119 dependency=gateway factor=2 factor_before=- results=map[] sent=20 (20)"
	tryRule(t, retryAmplification, []tableCase{
		{"no rule tells of calls", func(*table) {}, whySignals},
		{"calls were told, none in the window", func(b *table) { b.tell("api-1", 20, EventCallSent, "gateway") }, whyNoCalls},
		{"lines name no identifiers", func(b *table) { b.calls("gateway", 10, pace(100, 20)...); b.report.Dependencies[0].Amplification = nil }, whyNoKeys},
		{"each call sent twice", func(b *table) { b.calls("gateway", 10, pace(100, 20)...) }, twice},
		{"each call sent twice, and a log was blind", func(b *table) { b.calls("gateway", 10, pace(100, 20)...); b.logs(); b.blind("api-2.log", 200, 201) }, twice},
		{"19 calls, and a log was blind", func(b *table) { b.calls("gateway", 10, pace(100, 19)...); b.logs(); b.blind("api-2.log", 200, 201) }, whyAppLogBlind},
		{"19 calls may be chance", func(b *table) { b.calls("gateway", 10, pace(100, 19)...) }, "clear"},
		{"half as many again", func(b *table) { b.calls("gateway", 10, pace(100, 30)...) }, "clear"},
		{"a little more", func(b *table) { b.calls("gateway", 11, pace(100, 30)...) },
			"100–129 dependency=gateway factor=1.57895 factor_before=- results=map[] sent=30 (30)"},
		{"the first as the deploy began", func(b *table) { b.calls("gateway", 10, pace(60, 20)...) },
			"60–79 dependency=gateway factor=2 factor_before=- results=map[] sent=20 (20)"},
		{"the first before the deploy began", func(b *table) { b.calls("gateway", 10, pace(59.9, 20)...) }, "clear"},
		{"as much before the deploy", func(b *table) { b.calls("gateway", 5, pace(10, 10)...); b.calls("gateway", 10, pace(100, 20)...) },
			"100–119 dependency=gateway factor=2 factor_before=2 results=map[] sent=20 (20)"},
		{"before the window", func(b *table) { b.calls("gateway", 5, pace(-10, 10)...); b.calls("gateway", 10, pace(100, 20)...) }, twice},
		{"after the window", func(b *table) { b.calls("gateway", 10, pace(100, 20)...); b.calls("gateway", 5, pace(300, 10)...) }, twice},
		{"calls of another dependency", func(b *table) {
			b.calls("mail", 0, pace(80, 10)...)
			b.calls("gateway", 10, pace(100, 20)...)
			b.calls("mail", 0, pace(180, 5)...)
		}, twice},
	})
}

func TestBurstOverLimitBounds(t *testing.T) {
	// Two calls a second are allowed. A second is taken for 0.95 s.
	limit := func(b *table, perSecond int) {
		b.obs.Service.Dependencies = []Dependency{{Name: "gateway", PerSecond: perSecond}}
	}
	const over = "100–101 average=3 dependency=gateway limit=2 most=3 surely=3 (3)"
	tryRule(t, burstOverLimit, []tableCase{
		{"no rule tells of calls", func(b *table) { limit(b, 2) }, whySignals},
		{"no limit is stated", func(b *table) { b.calls("gateway", 0, 100) }, whyNoLimit},
		{"a limit of another kind", func(b *table) { limit(b, 0); b.calls("gateway", 0, 100) }, whyNoLimit},
		{"the limit of a dependency that nobody called", func(b *table) { limit(b, 2); b.calls("mail", 0, 100, 100, 100) }, whyNoLimit},
		{"its calls lie outside of the window", func(b *table) { limit(b, 2); b.calls("gateway", 0, 300, 300, 300) }, whyNoLimit},
		{"as many as are allowed", func(b *table) { limit(b, 2); b.calls("gateway", 0, 100, 100.5, 200) }, "clear"},
		{"one more", func(b *table) { limit(b, 2); b.calls("gateway", 0, 100, 100.5, 100.9) }, over},
		{"one more, and a log was blind", func(b *table) {
			limit(b, 2)
			b.calls("gateway", 0, 100, 100.5, 100.9)
			b.logs()
			b.blind("api-2.log", 200, 201)
		}, over},
		{"as many as are allowed, and a log was blind", func(b *table) {
			limit(b, 2)
			b.calls("gateway", 0, 100, 100.5)
			b.logs()
			b.blind("api-2.log", 200, 201)
		}, whyAppLogBlind},
		{"one more, too late to be sure", func(b *table) { limit(b, 2); b.calls("gateway", 0, 100, 100.5, 100.95) }, "clear"},
		{"the third is another's", func(b *table) { limit(b, 2); b.calls("gateway", 0, 100, 100.5); b.calls("mail", 0, 100.6) }, "clear"},
		{"the third is after the window", func(b *table) { limit(b, 2); b.calls("gateway", 0, 299.8, 299.9, 300) }, "clear"},
		{"the average is of all of them", func(b *table) { limit(b, 2); b.calls("gateway", 0, 100, 100.5, 100.9, 104) },
			"100–101 average=1 dependency=gateway limit=2 most=3 surely=3 (3)"},
		{"one second has more that are sure, another more at all", func(b *table) {
			limit(b, 2)
			b.calls("gateway", 0, 100, 100.1, 100.2, 110, 110.5, 110.6, 110.97, 120)
		}, "110–111 average=0.4 dependency=gateway limit=2 most=4 surely=3 (4)"},
	})
}
