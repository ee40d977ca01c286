package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// scrape lays down values that a target told of itself at some moments.
func (b *table) scrape(target string, at ...float64) {
	for _, s := range at {
		b.gauge(target, GaugeBusyThreads, s, 1)
	}
}

// every is the moments in [from, to], five seconds apart.
func every(from, to float64) []float64 {
	var at []float64
	for ; from <= to; from += 5 {
		at = append(at, from)
	}
	return at
}

func TestGaugeReports(t *testing.T) {
	// The deploy began at 60; the tail is from 240 to the window's end at 300.
	type sample struct{ at, value float64 }
	for _, c := range []struct {
		name    string
		samples []sample
		want    string
	}{
		{"before the deploy", []sample{{0, 2}, {59.9, 4}}, "before 3"},
		{"before the window", []sample{{-1, 9}, {0, 2}}, "before 2"},
		{"as the deploy began", []sample{{60, 7}}, "most 7 at 60"},
		{"higher before the deploy", []sample{{30, 9}, {70, 7}}, "before 9 most 7 at 70"},
		{"the first of the highest", []sample{{70, 5}, {80, 7}, {90, 7}, {100, 6}}, "most 7 at 80"},
		{"below zero", []sample{{70, -5}, {80, -7}}, "most -5 at 70"},
		{"as the tail began", []sample{{239.9, 1}, {240, 7}, {299.9, 5}}, "most 7 at 240 after 6"},
		{"after the window", []sample{{250, 1}, {300, 7}}, "most 1 at 250 after 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newTable()
			b.phase("baseline", 0, 60)
			b.phase("build", 60, 240)
			b.phase("tail", 240, 300)
			for _, s := range c.samples {
				b.gauge("api-1", GaugeBusyThreads, s.at, s.value)
			}
			b.readGauges()
			var words []string
			for _, r := range b.report.Gauges {
				if r.Before != nil {
					words = append(words, fmt.Sprint("before ", *r.Before))
				}
				if r.Max != nil {
					words = append(words, fmt.Sprint("most ", *r.Max, " at ", b.seconds(r.MaxAt.Time)))
				}
				if r.After != nil {
					words = append(words, fmt.Sprint("after ", *r.After))
				}
			}
			if got := strings.Join(words, " "); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// Each metric of each target by each source is told apart, and a report that was to have
// some says that there are none.
func TestGaugeReportsApart(t *testing.T) {
	b := newTable()
	b.readGauges()
	if b.report.Gauges != nil {
		t.Errorf("nothing configured: %+v", b.report.Gauges)
	}
	b.obs.Service.Metrics = []MetricsSource{{Name: "api-1-metrics", Target: "api-1"}}
	b.readGauges()
	if b.report.Gauges == nil || len(b.report.Gauges) != 0 {
		t.Errorf("nothing scraped: %+v", b.report.Gauges)
	}
	b.gauge("api-2", GaugePoolActive, 250, 1)
	b.gauge("api-2", GaugeBusyThreads, 250, 1)
	b.gauge("api-1", GaugeBusyThreads, 250, 1)
	b.readGauges()
	var got []string
	for _, r := range b.report.Gauges {
		got = append(got, r.Metric+" of "+r.Target)
		if r.After != nil {
			t.Errorf("there is no tail, and after it %v", *r.After)
		}
	}
	if want := []string{"busy_threads of api-1", "busy_threads of api-2", "pool_active of api-2"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestCoverMetricsBounds(t *testing.T) {
	// api-1 is asked every 5 s, so that a scrape vouches for the 15 s before it.
	scraped := func(at ...float64) func(*table) { return func(b *table) { b.scrape("api-1", at...) } }
	gap := func(from, to float64) func(*table) { // asked throughout, but for a gap
		return func(b *table) { b.scrape("api-1", slices.Concat(every(0, from), every(to, 300))...) }
	}
	down := func(target string, stop, ready float64) func(*table) {
		return func(b *table) { b.cycle(target, stop, ready, 0) }
	}
	run := func(source string, from, to float64, code string) func(*table) {
		return func(b *table) {
			b.obs.Runs = append(b.obs.Runs, Run{Source: source, From: b.at(from), To: b.at(to), At: b.at(to), Code: code, Error: "no answer"})
		}
	}
	const own, other = "api-1-metrics", "api-2-metrics"
	for _, c := range []struct {
		name string
		lay  []func(*table)
		want string
	}{
		{"asked throughout", []func(*table){scraped(every(0, 300)...)}, ""},
		{"never asked", nil, "0–300 no_data"},
		{"another one was asked", []func(*table){func(b *table) { b.scrape("api-2", every(0, 300)...) }}, "0–300 no_data"},
		{"three intervals apart", []func(*table){gap(100, 115)}, ""},
		{"more than three intervals apart", []func(*table){gap(100, 120)}, "100–120 gap"},
		{"it told nothing in between", []func(*table){gap(100, 120), run(own, 105, 110, "")}, ""},
		{"another told nothing in between", []func(*table){gap(100, 120), run(other, 105, 110, "")}, "100–120 gap"},
		{"one that told nothing takes away nothing that was told before it", []func(*table){gap(100, 135), scraped(110), run(own, 105, 120, "")}, ""},
		{"it did not answer in between", []func(*table){gap(100, 120), run(own, 105, 110, "unreachable")}, "100–120 query_failed"},

		{"one in between failed, and brought some values", []func(*table){gap(100, 120), scraped(110), run(own, 100, 110, "bad_reply")}, "100–120 query_failed"},
		{"the first one failed, and brought some values", []func(*table){gap(100, 120), scraped(110), run(own, 110, 110, "bad_reply")}, "100–120 query_failed"},
		{"one failed for long, and brought some values", []func(*table){gap(100, 120), scraped(107), run(own, 100, 110, "bad_reply")}, "100–120 query_failed"},
		{"another's failed", []func(*table){gap(100, 120), scraped(110), run(other, 100, 110, "bad_reply")}, ""},
		{"the one before a failed one did not", []func(*table){gap(100, 115), run(own, 100, 101, "bad_reply")}, ""},
		{"the one after a failed one did not", []func(*table){gap(100, 115), run(own, 113, 114, "bad_reply")}, ""},

		{"it was stopped", []func(*table){gap(100, 120), down("api-1", 100, 110)}, "100–110 target_down"},
		{"it was stopped for longer than nobody asked", []func(*table){gap(100, 120), down("api-1", 90, 130)}, "100–120 target_down"},
		{"it was stopped until nobody asked any more", []func(*table){gap(100, 120), down("api-1", 90, 100)}, "100–120 gap"},
		{"it was stopped as somebody asked again", []func(*table){gap(100, 120), down("api-1", 120, 130)}, "100–120 gap"},
		{"it never came back", []func(*table){scraped(every(0, 100)...), down("api-1", 100, 0)}, "100–300 target_down"},
		{"it was stopped twice", []func(*table){gap(100, 130), down("api-1", 100, 105), down("api-1", 110, 120)}, "100–105 target_down; 110–120 target_down"},
		{"another one was stopped", []func(*table){gap(100, 120), down("api-2", 100, 110)}, "100–120 gap"},
		{"it came, and had not been there", []func(*table){gap(100, 120), down("api-1", 0, 150)}, "100–120 gap"},
		{"asked three intervals after it was back", []func(*table){gap(100, 125), down("api-1", 100, 110)}, "100–110 target_down"},
		{"asked more than three intervals after it was back", []func(*table){gap(100, 130), down("api-1", 100, 110)}, "100–110 target_down; 110–130 gap"},
		{"not asked any more long before it was stopped", []func(*table){gap(80, 115), down("api-1", 100, 110)}, "80–100 gap; 100–110 target_down"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newTable()
			for _, lay := range c.lay {
				lay(b)
			}
			if got := b.blindSpots(MetricsSource{Name: own, Target: "api-1", Every: 5 * time.Second}); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
	b := newTable()
	if got := b.blindSpots(MetricsSource{Name: own, Target: "api-1", Every: 200 * time.Second}); got != "0–300 no_data" {
		t.Errorf("never asked, in a window shorter than three intervals: %s", got)
	}
	b.scrape("api-9", slices.Concat(every(0, 100), every(120, 300))...)
	if got := b.blindSpots(MetricsSource{Name: "api-9-metrics", Target: "api-9", Every: 5 * time.Second}); got != "100–120 gap" {
		t.Errorf("a target that nothing else tells of: %s", got)
	}
}

// blindSpots prints where and why a metrics source is blind.
func (b *table) blindSpots(m MetricsSource) string {
	spots := b.coverMetrics(m).Blind
	slices.SortFunc(spots, func(x, y Blind) int { return x.From.Compare(y.From.Time) })
	var all []string
	for _, s := range spots {
		all = append(all, b.seconds(s.From.Time)+"–"+b.seconds(s.To.Time)+" "+s.Reason)
	}
	return strings.Join(all, "; ")
}

// A scrape that failed because its target was stopped is no failed query. api-1 was
// stopped at 100 and ready at 110; two witnesses may be 2 s apart. A run is from the
// scrape before it to the moment at which it asked, and ends when it gave up.
func TestAskedWhileDown(t *testing.T) {
	for _, c := range []struct {
		name            string
		source          string
		from, to, ended float64
		want            bool
	}{
		{"asked while it was down", "api-1-metrics", 103, 108, 108.1, true},
		{"another source", "api-2-metrics", 103, 108, 108.1, false},
		{"asked 2 s after it was ready", "api-1-metrics", 107, 112, 112.1, true},
		{"asked later, after one that was asked while it was down", "api-1-metrics", 107.1, 112.1, 112.2, false},
		{"gave up 2 s before the stop", "api-1-metrics", 92, 97, 98, true},
		{"gave up earlier", "api-1-metrics", 92, 97, 97.9, false},
		{"asked before the stop, and was not answered", "api-1-metrics", 90, 95, 105, true},
		{"nobody says when it gave up", "api-1-metrics", 93, 98, 0, true},
		{"nobody says when it gave up, asked earlier", "api-1-metrics", 93, 97.9, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newTable()
			b.obs.Service.Metrics = []MetricsSource{{Name: "api-2-metrics", Target: "api-2"}, {Name: "api-1-metrics", Target: "api-1"}}
			b.cycle("api-1", 100, 110, 0)
			r := Run{Source: c.source, From: b.at(c.from), To: b.at(c.to), Code: "unreachable"}
			if c.ended > 0 {
				r.At = b.at(c.ended)
			}
			b.obs.Runs = []Run{r}
			if fired := b.try(queryFailed) != "clear"; fired == c.want {
				t.Errorf("query-failed fired: %v", fired)
			}
		})
	}
}
