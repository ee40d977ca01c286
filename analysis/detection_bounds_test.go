package analysis

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// probed lays down a request of the probe "store" that was answered after 10 ms, by a
// target where one is named.
func (b *table) probed(target string, at float64) *ProbeRequest {
	b.obs.Probes = append(b.obs.Probes, ProbeRequest{
		Source: "store", Probe: "store", Class: ClassProbe, Run: "r", Seq: len(b.obs.Probes),
		Sent: b.at(at), Done: b.at(at + .01), Status: 200, Outcome: OutcomeOK, Target: target,
	})
	return &b.obs.Probes[len(b.obs.Probes)-1]
}

// handledBy lets an application's log say that it answered a request.
func (b *table) handledBy(p *ProbeRequest, target string) {
	b.obs.Service.AppLogs = []AppLog{{Name: "app"}} // every target's
	h := HandledRequest{Source: "app", At: p.Done, Target: target, Run: p.Run, Seq: p.Seq, Status: 200}
	b.obs.Handled = append(b.obs.Handled, h)
	b.handled[probeID{p.Run, p.Seq}] = append(b.handled[probeID{p.Run, p.Seq}], h)
}

// loggedTo gives a request a row of its own in the access log.
func (b *table) loggedTo(p *ProbeRequest, target string) {
	b.logged[probeID{p.Run, p.Seq}] = &Request{CellKey: CellKey{Source: "alb", Target: target, TargetStatus: 200}, End: p.Done, ProbeRun: p.Run, ProbeSeq: p.Seq}
}

func newProbedTable() *table {
	b := newTable()
	b.obs.Service.Probes = []Probe{{Name: "store", Class: ClassProbe, Every: time.Second}, {Name: "health", Class: ClassHealth, Every: time.Second}}
	return b
}

// detected prints each row: phase, target, requests, and whether failures were seen.
func (b *table) detected() string {
	var all []string
	for _, d := range b.detect() {
		row := strings.TrimSpace(d.Phase+" "+d.Target) + fmt.Sprintf(" %d", d.Requests)
		if d.Share != nil {
			row += fmt.Sprintf("×%.2g", *d.Share)
		}
		if d.Requests > 0 && d.FailureRateBelow == nil {
			row += " failed"
		}
		all = append(all, strings.TrimSpace(row))
	}
	return strings.Join(all, "; ")
}

func TestRowsOfDetection(t *testing.T) {
	for _, c := range []struct {
		name string
		lay  func(*table)
		want string
	}{
		{"nobody named", func(b *table) { b.probed("", 100) }, "drain api-1 1×0.5; drain api-2 1×0.5; api-1 1×0.5; api-2 1×0.5"},
		{"no target known", func(b *table) { b.lives = nil; b.probed("", 100) }, "drain 1×1; 1×1"},
		{"a target named", func(b *table) { b.probed("api-1", 100) }, "drain api-1 1; drain api-2 0; api-1 1; api-2 0"},
		{"at the edges of the phase", func(b *table) {
			for _, at := range []float64{99.9, 100, 119.9, 120} {
				b.probed("", at)
			}
		}, "drain api-1 2×0.5; drain api-2 2×0.5; api-1 4×0.5; api-2 4×0.5"},
		{"at the edges of the window", func(b *table) {
			for _, at := range []float64{-.1, 0, 199.9, 200} {
				b.probed("", at)
			}
		}, "drain api-1 0; drain api-2 0; api-1 2×0.5; api-2 2×0.5"},
		{"another probe's", func(b *table) { b.probed("", 100); b.probed("", 101).Probe = "other" }, "drain api-1 1×0.5; drain api-2 1×0.5; api-1 1×0.5; api-2 1×0.5"},
		{"told by applications, and once by the access log alone", func(b *table) {
			b.handledBy(b.probed("", 100), "api-1")
			b.handledBy(b.probed("", 101), "api-2")
			b.loggedTo(b.probed("", 102), "api-1")
		}, "drain api-1 2; drain api-2 1; api-1 2; api-2 1"},
		{"by the access log alone, though applications tell of another probe's", func(b *table) {
			for i, target := range []string{"api-1", "api-2"} {
				other := b.probed("", 100)
				other.Probe, other.Seq = "other", 100+i
				b.handledBy(other, target)
			}
			b.loggedTo(b.probed("", 102), "api-1")
		}, "drain api-1 1×0.5; drain api-2 1×0.5; api-1 1×0.5; api-2 1×0.5"},
		{"claimed by two applications", func(b *table) {
			p := b.probed("", 100)
			b.handledBy(p, "api-1")
			b.handledBy(p, "api-2")
		}, "drain api-1 1×0.5; drain api-2 1×0.5; api-1 1×0.5; api-2 1×0.5"},
		{"a failure at nobody knows which", func(b *table) {
			b.probed("api-1", 100)
			b.probed("api-2", 100)
			b.probed("", 101).Outcome = OutcomeTimeout
		}, "drain api-1 1 failed; drain api-2 1 failed; api-1 1 failed; api-2 1 failed"},
		{"a failure at one", func(b *table) {
			b.probed("api-1", 100).Outcome = OutcomeBadBody
			b.probed("api-2", 100)
		}, "drain api-1 1 failed; drain api-2 1; api-1 1 failed; api-2 1"},
		{"a failure, nobody named", func(b *table) { b.probed("", 100).Outcome = OutcomeTimeout }, "drain api-1 1×0.5 failed; drain api-2 1×0.5 failed; api-1 1×0.5 failed; api-2 1×0.5 failed"},
		{"a failure outside the window", func(b *table) { b.probed("", 100); b.probed("", -2).Outcome = OutcomeTimeout }, "drain api-1 1×0.5; drain api-2 1×0.5; api-1 1×0.5; api-2 1×0.5"},
		{"a phase that has begun", func(b *table) { b.seenTo = b.at(201); b.probed("", 100) }, "drain api-1 1×0.5; drain api-2 1×0.5; restart api-1 0; restart api-2 0; api-1 1×0.5; api-2 1×0.5"},
		{"out of rotation in the phase, and after it", func(b *table) {
			b.cycle("api-1", 100, 130, 135).lastServed = b.at(90)
			b.probed("", 80)
			b.probed("", 105)
			b.probed("", 140)
		}, "drain api-2 1×1; api-1 2×0.5; api-2 3×0.67"},
	} {
		b := newProbedTable()
		b.seenTo = b.at(200)
		b.phase("build", 60, 100) // nothing to be expected there
		b.phase("drain", 100, 120)
		b.phase("restart", 200, 220) // has not begun
		c.lay(b)
		if got := b.detected(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Half a second has room for outages of 100 and of 400 ms, not for longer ones.
func TestOutagesThatFitIntoAPhase(t *testing.T) {
	for _, target := range []string{"", "api-1"} {
		b := newProbedTable()
		b.phase("drain", 100, 100.5)
		b.probed(target, 100.2)
		var lengths []float64
		for _, m := range b.detect()[0].Miss {
			lengths = append(lengths, m.WindowMS)
		}
		if !slices.Equal(lengths, []float64{100, 400}) {
			t.Errorf("target %q: outages of %v ms", target, lengths)
		}
	}
}

// Where nobody is named, a request reaches a target with its share: of the nine seconds
// in which an outage of one may begin, one has the request in it, which then goes to the
// target that is out with 1/2, or surely where only the service as a whole is known.
func TestShareOfAnOutage(t *testing.T) {
	b := newProbedTable()
	b.phase("drain", 100, 110)
	b.probed("", 105)
	if got, want := b.detect()[0].Miss[2].Probability, 8.5/9; math.Abs(got-want) > 1e-9 {
		t.Errorf("of two targets: %.4f, want %.4f", got, want)
	}
	b.lives = nil
	if got, want := b.detect()[0].Miss[2].Probability, 8.0/9; math.Abs(got-want) > 1e-9 {
		t.Errorf("no target known: %.4f, want %.4f", got, want)
	}
}

// An outage of 2 s begins anywhere from a span's beginning to 2 s before its end, and has
// a request in it that was sent in its two seconds: half of them go elsewhere.
func TestMeanMissByHand(t *testing.T) {
	b := newTable()
	for _, c := range []struct {
		name  string
		spans [][2]float64
		sends []float64
		want  float64 // of the seconds in which it may begin; negative where there are none
	}{
		{"nothing sent", [][2]float64{{0, 10}}, nil, 1},
		{"once in the middle", [][2]float64{{0, 10}}, []float64{5}, (6 + 2*.5) / 8},
		{"at its beginning", [][2]float64{{0, 10}}, []float64{0}, 1}, // in none but the very first
		{"a second after that", [][2]float64{{0, 10}}, []float64{1}, (7 + 1*.5) / 8},
		{"a second before its end", [][2]float64{{0, 10}}, []float64{9}, (7 + 1*.5) / 8},
		{"at its end", [][2]float64{{0, 10}}, []float64{10}, 1},
		{"twice at once", [][2]float64{{0, 10}}, []float64{5, 5}, (6 + 2*.25) / 8},
		{"twice", [][2]float64{{0, 10}}, []float64{5, 6}, (5 + 2*.5 + 1*.25) / 8},
		{"outside", [][2]float64{{0, 10}}, []float64{-5, 15}, 1},
		{"two spans", [][2]float64{{0, 10}, {20, 26}}, []float64{5}, (6 + 2*.5 + 4) / 12},
		{"one as long as the outage", [][2]float64{{0, 10}, {20, 22}}, []float64{5}, (6 + 2*.5) / 8},
		{"one that is shorter", [][2]float64{{0, 10}, {20, 21}}, []float64{5}, (6 + 2*.5) / 8},
		{"none longer", [][2]float64{{0, 2}, {20, 21}}, []float64{1}, -1},
	} {
		var spans []span
		for _, s := range c.spans {
			spans = append(spans, span{b.at(s[0]), b.at(s[1])})
		}
		var sends []time.Time
		for _, s := range c.sends {
			sends = append(sends, b.at(s))
		}
		got, ok := sendingsOf(b.at(-7), sends, func(time.Time) float64 { return .5 }).missIn(spans, 2*time.Second)
		if ok != (c.want >= 0) || ok && !(math.Abs(got-c.want) < 1e-9) { // not a number is wrong, too
			t.Errorf("%s: %.5f (%t), want %.5f", c.name, got, ok, c.want)
		}
	}
}

// A request at a span's beginning is in it, one at its end is not.
func TestGapsInSpans(t *testing.T) {
	b := newTable()
	var at []time.Time
	for _, s := range []float64{0, 5, 10, 20, 29, 30} {
		at = append(at, b.at(s))
	}
	gaps, n := gapsIn([]span{{b.at(0), b.at(10)}, {b.at(20), b.at(30)}}, at)
	if got := fmt.Sprint(gaps); n != 4 || got != "[0s 5s 5s 0s 9s 1s]" {
		t.Errorf("%d requests, gaps %s", n, got)
	}
}

// The probe sends every second, and took 10 ms; a stall is one of a second or more.
func TestStuckTimes(t *testing.T) {
	slow := func(b *table, at, took float64) *ProbeRequest {
		p := b.probed("", at)
		p.Done = b.at(at + took)
		return p
	}
	for _, c := range []struct {
		name string
		lay  func(*table, *Probe)
		want string
	}{
		{"three intervals", func(b *table, _ *Probe) { slow(b, 100, 3); b.probed("", 103) }, "100–103;"},
		{"less", func(b *table, _ *Probe) { slow(b, 100, 2.9); b.probed("", 102.9) }, ""},
		{"others were sent meanwhile", func(b *table, _ *Probe) { slow(b, 100, 5); b.probed("", 101) }, ""},
		{"it ended before the next was sent", func(b *table, _ *Probe) { slow(b, 100, 4); b.probed("", 110) }, "100–104;"},
		{"to the end of the window", func(b *table, _ *Probe) { slow(b, 290, 20) }, "290–300;"},
		{"from before the window", func(b *table, _ *Probe) { slow(b, -2, 5); b.probed("", 3) }, "-2–3;"},
		{"no stall: a pause that has another cause", func(b *table, p *Probe) {
			p.Every = 200 * time.Millisecond
			slow(b, 100, .99)
			b.probed("", 101)
		}, ""},
		{"a second, at five a second", func(b *table, p *Probe) {
			p.Every = 200 * time.Millisecond
			slow(b, 100, 1)
			b.probed("", 101)
		}, "100–101;"},
		{"another probe's", func(b *table, _ *Probe) { slow(b, 100, 5).Probe = "other"; b.probed("", 110) }, ""},
		{"none ever succeeded", func(b *table, _ *Probe) {
			slow(b, 100, 5)
			for i := range b.obs.Probes {
				b.obs.Probes[i].Outcome = OutcomeTimeout
			}
		}, ""},
	} {
		b := newProbedTable()
		probe := b.obs.Service.Probes[0]
		b.probed("", 50) // the usual
		b.probed("", 51)
		b.probed("", 52)
		c.lay(b, &probe)
		var sends []time.Time
		for i := range b.obs.Probes {
			if b.obs.Probes[i].Probe == "store" {
				sends = append(sends, b.obs.Probes[i].Sent)
			}
		}
		slices.SortFunc(sends, time.Time.Compare)
		got := ""
		for _, s := range b.stuckTimes(probe, sends) {
			got += b.seconds(s.from) + "–" + b.seconds(s.to) + ";"
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
