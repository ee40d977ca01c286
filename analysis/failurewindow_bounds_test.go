package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// windows prints the failure windows of a target's cycle: whose, from first to last
// failure, failures of requests.
func (b *table) windows(l *life, c cycle) string {
	slices.SortStableFunc(b.failures, func(x, y failure) int { return x.end.Compare(y.end) })
	found := b.failureWindows(l, c)
	if found == nil {
		return "not measured"
	}
	var all []string
	for _, w := range found {
		all = append(all, fmt.Sprintf("%s %s–%s %d/%d", w.Traffic, b.seconds(w.From.Time), b.seconds(w.To.Time), w.Failed, w.Requests))
	}
	return strings.Join(all, "; ")
}

// Nothing measured is not "no window".
func TestFailureWindowsWhereNothingCounts(t *testing.T) {
	for _, c := range []struct {
		name string
		lay  func(*table)
		want string
	}{
		{"nobody", func(*table) {}, "not measured"},
		{"users", func(b *table) { b.obs.Objects = []Object{{Source: "alb"}} }, ""},
		{"probes", func(b *table) { b.prober[ClassProbe] = true }, ""},
		{"health samples", func(b *table) { b.prober[ClassHealth] = true }, ""},
		{"others", func(b *table) { b.prober[ClassTool] = true }, "not measured"},
	} {
		b := newTable()
		c.lay(b)
		if got := b.windows(b.life("api-1"), cycle{}); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// The check's interval is 10 s: a pause of more ends a window, and so does a request
// that the target served in between.
func TestWhatEndsAFailureWindow(t *testing.T) {
	unchecked := func(b *table) { b.obs.Service.LoadBalancers[0].TargetGroups[0].Health = HealthCheck{} }
	for _, c := range []struct {
		name string
		lay  func(*table)
		want string
	}{
		{"a pause of the interval", func(b *table) { b.lost("api-1", 100, 101); b.lost("api-1", 111, 112) }, "user 101–112 2/2"},
		{"a longer pause", func(b *table) { b.lost("api-1", 100, 101); b.lost("api-1", 111.1, 112) }, "user 101–101 1/1; user 112–112 1/1"},
		{"a pause of half a minute, and no known check", func(b *table) {
			unchecked(b)
			b.lost("api-1", 100, 101)
			b.lost("api-1", 131, 132)
		}, "user 101–132 2/2"},
		{"a longer one, and no known check", func(b *table) {
			unchecked(b)
			b.lost("api-1", 100, 101)
			b.lost("api-1", 131.1, 132)
		}, "user 101–101 1/1; user 132–132 1/1"},
		{"a longer one after the last but one", func(b *table) {
			b.lost("api-1", 100, 101)
			b.lost("api-1", 105, 106)
			b.lost("api-1", 113, 114)
		}, "user 101–114 3/3"},
		{"served in between", func(b *table) {
			b.life("api-1", 103)
			b.lost("api-1", 100, 101)
			b.lost("api-1", 105, 106)
		}, "user 101–101 1/1; user 106–106 1/1"},
		{"served as one ended and as the next began", func(b *table) {
			b.life("api-1", 101, 105)
			b.lost("api-1", 100, 101)
			b.lost("api-1", 105, 106)
		}, "user 101–106 2/2"},
		{"the other target's", func(b *table) { b.lost("api-1", 100, 101); b.lost("api-2", 102, 103) }, "user 101–101 1/1"},
		{"another class", func(b *table) {
			b.lost("api-1", 100, 101)
			b.lost("api-1", 102, 103).class = ClassTool
		}, "user 101–101 1/1; tool 103–103 1/1"},
	} {
		b := newTable()
		c.lay(b)
		if got := b.windows(b.life("api-1"), cycle{}); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// api-1 stops at 100 and serves last at 95, first at 115; a slack of 2 s.
func TestWhomAFailureWasSentTo(t *testing.T) {
	for _, c := range []struct {
		name       string
		target     string
		start, end float64
		bend       func(*table)
		want       string
	}{
		{"named", "api-2", 105, 106, nil, "api-2"},
		{"nobody named, while one was down", "", 105, 106, nil, "api-1"},
		{"nobody named, before that", "", 94, 95, nil, ""},
		{"nobody named, into that", "", 94, 95.1, nil, "api-1"},
		{"nobody named, after that", "", 115, 116, nil, ""},
		{"while both were down", "", 105, 106, func(b *table) { b.cut("api-2") }, ""},
		{"down twice at once", "", 105, 106, func(b *table) { b.cut("api-1") }, "api-1"},
		{"a cycle without a stop", "", 105, 106, func(b *table) { b.arrive() }, ""},
		{"gone for good, until the slack after the stop", "", 102, 103, func(b *table) { b.leave() }, "api-1"},
		{"gone for good, later", "", 102.1, 103, func(b *table) { b.leave() }, ""},
		{"gone for good, while the other was down", "", 105, 106, func(b *table) { b.leave(); b.cut("api-2") }, "api-2"},
		{"it came back", "", 105, 106, func(b *table) { b.cycle("api-1", 200, 210, 211).leaves = true }, "api-1"},
	} {
		b := newTable()
		b.cut("api-1")
		if c.bend != nil {
			c.bend(b)
		}
		if got := b.failedTarget(*b.lost(c.target, c.start, c.end)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A failure belongs to the stop in whose time it ended: what went before the first one
// to the first, then each until the next one begins.
func TestWhichStopAFailureBelongsTo(t *testing.T) {
	b := newTable()
	for _, stop := range []float64{100, 150, 200} {
		b.cycle("api-1", stop, stop+10, stop+11)
	}
	for _, at := range []float64{90, 100, 149.9, 150, 199.9, 200, 290} {
		b.lost("api-1", at-1, at)
	}
	l := b.life("api-1")
	for i, want := range []string{
		"user 90–100 2/2; user 149.9–149.9 1/1",
		"user 150–150 1/1; user 199.9–199.9 1/1",
		"user 200–200 1/1; user 290–290 1/1",
	} {
		if got := b.windows(l, l.cycles[i]); got != want {
			t.Errorf("stop %d: %s, want %s", i, got, want)
		}
	}
}

// From the last success at or before the first failure's start to the first after the
// last failure's end.
func TestHowLongAFailureWindowWasAtMost(t *testing.T) {
	for _, c := range []struct {
		name   string
		served []float64
		want   string
	}{
		{"served on both sides", []float64{10, 90, 120, 130}, "30"},
		{"until it began", []float64{100, 120}, "20"},
		{"not before", []float64{101, 120}, "-"},
		{"not after", []float64{90, 110}, "-"},
		{"within", []float64{90, 105, 120}, "30"},
	} {
		b := newTable()
		l := b.life("api-1", c.served...)
		got := "-"
		if bound := l.upperBound(b.at(100), b.at(110), b.at(110)); bound != nil {
			got = fmt.Sprint(*bound)
		}
		if got != c.want {
			t.Errorf("%s: %s s, want %s", c.name, got, c.want)
		}
	}
}

// Of the prober's requests: those that ended in the window, who answered them, and the
// longest run of failures in the order of sending.
func TestProbesInAFailureWindow(t *testing.T) {
	b := newTable()
	b.prober[ClassProbe] = true
	for i, p := range []struct {
		class      Class
		sent, done float64
		by         string
	}{
		{ClassProbe, 99, 99.9, "api-1"}, // before
		{ClassProbe, 99, 100, ""},
		{ClassProbe, 101, 102, ""},
		{ClassProbe, 102, 103, "api-1"},
		{ClassProbe, 103, 104, "api-2"},
		{ClassProbe, 104, 105, "api-2"},
		{ClassProbe, 105, 106, ""},
		{ClassProbe, 106, 107, ""},
		{ClassProbe, 107, 110, ""},
		{ClassProbe, 109, 110.1, ""}, // after
		{ClassHealth, 105, 106, "api-2"},
	} {
		one := ProbeRequest{Probe: "store", Class: p.class, Run: "r", Seq: i, Sent: b.at(p.sent), Done: b.at(p.done), Status: 200, Outcome: OutcomeOK, Target: p.by}
		if p.by == "" {
			one.Status, one.Outcome = 0, OutcomeTimeout
		}
		b.obs.Probes = append(b.obs.Probes, one)
	}
	// One that went well, and no record says where.
	b.obs.Probes = append(b.obs.Probes, ProbeRequest{Probe: "store", Class: ClassProbe, Run: "r", Seq: 99, Sent: b.at(103.5), Done: b.at(104), Status: 200, Outcome: OutcomeOK})
	first, last := b.lost("api-1", 99, 100), b.lost("api-1", 107, 110)
	first.class, last.class = ClassProbe, ClassProbe
	w := b.failureWindow(b.life("api-1"), ClassProbe, b.failures)
	if w.Requests != 9 || w.Boundary != 1 || w.ServedByOthers != 2 || w.Unattributed != 1 || *w.LongestRun != 3 {
		t.Errorf("%d requests, %d by itself, %d by others, %d by nobody knows whom, %d failed in a row; want 9, 1, 2, 1 and 3",
			w.Requests, w.Boundary, w.ServedByOthers, w.Unattributed, *w.LongestRun)
	}
}

// A window of users from 100.2 to 102.2 s. Of others, a second that it touches counts
// whole, of its own answers only one that lies within.
func TestLoggedRequestsInAFailureWindow(t *testing.T) {
	for _, c := range []struct {
		name                  string
		target                string
		first, last           float64
		bend                  func(*Cell)
		requests, own, others int
	}{
		{"another target's, within", "api-2", 101, 101.9, nil, 5, 0, 5},
		{"another target's, at the beginning", "api-2", 100, 100.2, nil, 5, 0, 5},
		{"before the beginning", "api-2", 100, 100.1, nil, 0, 0, 0},
		{"at the end", "api-2", 102.2, 102.9, nil, 5, 0, 5},
		{"after the end", "api-2", 102.3, 102.9, nil, 0, 0, 0},
		{"of a second before, with a slow one", "api-2", 99.9, 101, nil, 0, 0, 0},
		{"its own, within", "api-1", 101, 101.9, nil, 5, 5, 0},
		{"its own, from the beginning to the end", "api-1", 100.2, 102.2, nil, 5, 5, 0},
		{"its own, from before the beginning", "api-1", 100.1, 101, nil, 0, 0, 0},
		{"its own, until after the end", "api-1", 102, 102.3, nil, 0, 0, 0},
		{"answered by nobody", "api-2", 101, 101.9, func(c *Cell) { c.TargetStatus = 0 }, 5, 0, 0},
		{"failed", "api-2", 101, 101.9, func(c *Cell) { c.Outcome = OutcomeLB5xx }, 0, 0, 0},
		{"of tools", "api-2", 101, 101.9, func(c *Cell) { c.Class = ClassTool }, 0, 0, 0},
		{"in a log that does not count", "api-2", 101, 101.9, func(c *Cell) { c.Source = "edge" }, 0, 0, 0},
	} {
		b := newTable()
		cell := b.cell("alb", c.target, c.first, c.last, 5)
		if c.bend != nil {
			c.bend(cell)
		}
		b.lost("api-1", 100, 100.2)
		b.lost("api-1", 102, 102.2).status = 0
		w := b.failureWindow(b.life("api-1"), ClassUser, b.failures)
		if w.Requests != 2+c.requests || w.Boundary != c.own || w.ServedByOthers != c.others || w.LongestRun != nil {
			t.Errorf("%s: %d requests, %d by itself, %d by others; want %d, %d and %d", c.name, w.Requests-2, w.Boundary, w.ServedByOthers, c.requests, c.own, c.others)
		}
		if w.Failed != 2 || w.Statuses["502"] != 1 || w.Statuses["none"] != 1 || w.Seconds != 2 {
			t.Errorf("%s: %+v", c.name, w)
		}
	}
}
