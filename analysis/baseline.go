package analysis

import (
	"math"
	"slices"
	"time"
)

// clusterSpans are the lengths in which failures are looked at for coming together.
var clusterSpans = []time.Duration{5 * time.Second, 30 * time.Second}

// baselineTests compare, per kind of failure that the baseline has too, the window
// after the start with the baseline: given all failures of the kind, the window's
// number is binomial with the window's share of the requests.
func (b *bench) baselineTests() []BaselineTest {
	type pair struct{ baseline, window int }
	kinds := map[string]pair{}
	classes := map[string]Class{}
	for _, f := range b.failures {
		p := kinds[f.kind()]
		if b.meetsNeighbor(&f) {
			continue // another deploy's, not the service's background
		}
		if f.ended().before(b.started) {
			p.baseline += f.n
		} else {
			p.window += f.n
		}
		kinds[f.kind()] = p
		classes[f.kind()] = f.class
	}
	var tests []BaselineTest
	if b.measured(ClassUser) || b.measured(ClassProbe) {
		tests = []BaselineTest{}
	}
	days := b.background()
	for _, kind := range sortedKeys(kinds) {
		p, d := kinds[kind], days.kinds[kind]
		if p.baseline == 0 && d.Count == 0 {
			continue
		}
		t := BaselineTest{Kind: kind, BaselineFailures: p.baseline, WindowFailures: p.window}
		t.BaselineRequests, t.WindowRequests = b.exposure(classes[kind])
		// An outage in the days before counts as one stretch like any other.
		usual := min(d.Count, d.Spans*d.Typical)
		t.BackgroundFailures, t.BackgroundSpans = d.Count, d.Spans
		if d.Count > 0 {
			t.BackgroundRequests = days.requests[classes[kind]]
		}
		t.P = binomialAtLeast(p.window, p.baseline+usual+p.window, share(t.WindowRequests, t.BaselineRequests+t.BackgroundRequests))
		t.P = min(t.P, b.clusterChance(kind))
		if p.baseline == 0 {
			t.P = min(t.P, b.meetingChance(d))
		}
		t.Significant = t.P < significance
		tests = append(tests, t)
	}
	return tests
}

// background is what the service's last days outside of windows had, of those sources
// that count each class in this window.
type background struct {
	kinds    map[string]BackgroundCount
	requests map[Class]int
}

func (b *bench) background() background {
	days := background{map[string]BackgroundCount{}, map[Class]int{}}
	for _, c := range b.obs.Background {
		if counts := b.counting[c.Source]; b.byProber(c.Class) && b.isAccessLog(c.Source) || !b.byProber(c.Class) && !counts {
			continue // another witness counts this class
		}
		if c.Outcome == "" {
			days.requests[c.Class] += c.Count
		} else {
			kind := failure{class: c.Class, outcome: c.Outcome, status: c.Status, route: c.Route}.kind()
			sum := days.kinds[kind]
			// Two logs that have the kind do not have it in the same stretches of necessity.
			sum.Count, sum.Spans, sum.Of, sum.Typical = sum.Count+c.Count, sum.Spans+c.Spans, sum.Of+c.Of, max(sum.Typical, c.Typical)
			days.kinds[kind] = sum
		}
	}
	return days
}

// isAccessLog reports whether a source is an access log, whether it counts users or not.
func (b *bench) isAccessLog(source string) bool {
	return slices.ContainsFunc(b.obs.Service.LoadBalancers, func(l LoadBalancer) bool {
		return slices.ContainsFunc(l.AccessLogs, func(log AccessLog) bool { return log.Name == source })
	})
}

// meetingChance is the chance that a time as long as the one after the deploy's start
// has a kind at all, by the share of the stretches in the days before that had it. A
// kind that came all at once, in an outage, is no background of this window, however
// often it came then.
func (b *bench) meetingChance(d BackgroundCount) float64 {
	if d.Of == 0 {
		return 0
	}
	stretches := max(seconds(b.seenTo.Sub(b.started))/BackgroundSpan.Seconds(), 1)
	return 1 - math.Pow(1-float64(min(d.Spans, d.Of))/float64(d.Of), stretches)
}

// clusterChance is an upper bound on the chance that failures of a kind, scattered
// over the window at their own rate, come together anywhere after the deploy's start
// as closely as they did (Poisson, Bonferroni over the places a span can have): a
// total that is no larger than the baseline's may still lie in one hole.
func (b *bench) clusterChance(kind string) float64 {
	type moment struct {
		at time.Time
		n  int
	}
	var at []moment
	all := 0
	for _, f := range b.failures {
		if f.kind() != kind || b.meetsNeighbor(&f) {
			continue
		}
		all += f.n
		if !f.ended().before(b.started) {
			at = append(at, moment{f.end, f.n})
		}
	}
	length := seconds(b.seenTo.Sub(b.from))
	chance := 1.0
	for _, span := range clusterSpans {
		most, within := 0, 0
		for i, j := 0, 0; i < len(at); i++ {
			within += at[i].n
			for ; at[i].at.Sub(at[j].at) > span; j++ {
				within -= at[j].n
			}
			most = max(most, within)
		}
		if most < 3 || length <= seconds(span) {
			continue
		}
		places := length / seconds(span)
		chance = min(chance, places*poissonAtLeast(most, float64(all)*seconds(span)/length))
	}
	return chance
}

// exposure is how many requests of a class the baseline and the time after had.
func (b *bench) exposure(class Class) (baseline, window int) {
	for _, phase := range b.report.Phases {
		counts := phase.Traffic[class]
		switch {
		case counts == nil:
		case phase.Kind == "baseline":
			baseline += counts.Requests
		default:
			window += counts.Requests
		}
	}
	return baseline, window
}
