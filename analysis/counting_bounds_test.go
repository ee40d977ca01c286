package analysis

import (
	"fmt"
	"testing"
)

// countedOf counts the traffic of one phase that is the whole window.
func (b *table) countedOf(class Class) *Total {
	if len(b.report.Phases) == 0 {
		b.phase("whole", 0, 300)
	}
	b.collectFailures()
	b.countTraffic()
	return b.report.Totals[class]
}

// Nothing counted is not a count of zero: a log that was read counts users, also where it
// has none, and the others only where it has rows of theirs.
func TestWhatIsMeasured(t *testing.T) {
	of := func(b *table, source string, class Class) { b.cell(source, "api-1", 10, 11, 1).Class = class }
	for _, c := range []struct {
		name string
		lay  func(*table)
		want string
	}{
		{"nothing", func(*table) {}, "- - - -"},
		{"an empty log", func(b *table) { b.obs.Objects = []Object{{Source: "alb"}} }, "0 - - 0"},
		{"an empty log that does not count", func(b *table) { b.obs.Objects = []Object{{Source: "edge"}} }, "- - - -"},
		{"an object that could not be read", func(b *table) { b.obs.Objects = []Object{{Source: "alb", Error: "denied"}} }, "- - - -"},
		{"one row of a user", func(b *table) { of(b, "alb", ClassUser) }, "1 - - 0"},
		{"one of a probe", func(b *table) { of(b, "alb", ClassProbe) }, "0 1 - 0"},
		{"one of a health sample", func(b *table) { of(b, "alb", ClassHealth) }, "0 - 1 0"},
		{"rows of a log that does not count", func(b *table) { of(b, "edge", ClassUser); of(b, "edge", ClassProbe); of(b, "edge", ClassHealth) }, "- - - -"},
		{"rows of both logs", func(b *table) { of(b, "alb", ClassUser); of(b, "edge", ClassUser) }, "1 - - 0"},
		{"a probe", func(b *table) { b.prober[ClassProbe] = true; b.probed("", 10) }, "- 1 - -"},
		{"a look that brought no object", func(b *table) { b.ran("alb", 0, 300, "") }, "0 - - 0"},
		{"one at another log", func(b *table) { b.ran("edge", 0, 300, "") }, "- - - -"},
		{"one that failed", func(b *table) { b.ran("alb", 0, 300, CodeForbidden) }, "- - - -"},
		{"no object, though a probe was answered", func(b *table) {
			b.ran("alb", 0, 300, "")
			b.prober[ClassProbe] = true
			b.probed("", 10)
		}, "- 1 - -"},
		{"no object, and the probe was not", func(b *table) {
			b.ran("alb", 0, 300, "")
			b.prober[ClassProbe] = true
			p := b.probed("", 10)
			p.Status, p.Outcome = 0, OutcomeTimeout
		}, "0 1 - 0"},
		{"no object, and a probe was answered before the window", func(b *table) {
			b.ran("alb", 0, 300, "")
			b.probed("", -10)
		}, "0 - - 0"},
		{"a failed health check alone, that began before the window", func(b *table) {
			b.obs.Requests = []Request{{CellKey: CellKey{Second: b.at(-1).Unix(), Source: "alb", Class: ClassHealth, Outcome: OutcomeLB5xx, Status: 502}, Start: b.at(-1), End: b.at(1)}}
		}, "- - 1 -"},
	} {
		b := newTable()
		c.lay(b)
		b.countedOf(ClassUser)
		got := ""
		for _, class := range []Class{ClassUser, ClassProbe, ClassHealth, ClassTool} {
			if total := b.report.Totals[class]; total == nil {
				got += " -"
			} else {
				got += fmt.Sprintf(" %d", total.Requests)
			}
		}
		if got[1:] != c.want {
			t.Errorf("%s:%s, want %s", c.name, got, c.want)
		}
	}
}

// By target is null where nothing could tell who served, and empty where nobody did.
func TestWhetherItIsKnownWhoServed(t *testing.T) {
	for _, c := range []struct {
		name string
		lay  func(*table)
		want string
	}{
		{"by nothing", func(*table) {}, "null"},
		{"by an application log", func(b *table) { b.obs.Service.AppLogs = []AppLog{{Name: "api-1.log", Target: "api-1"}} }, "map[]"},
		{"by known requests of an access log", func(b *table) { b.obs.Known = []KnownRequests{{Source: "alb", Run: "r"}} }, "map[]"},
		{"by the answer", func(b *table) { b.obs.Probes[0].Target = "api-1" }, "map[api-1:1]"},
		{"by the answers to others", func(b *table) { b.probed("api-1", 10).Class = ClassHealth; b.prober[ClassHealth] = true }, "null"},
		{"by a log that is configured no more", func(b *table) {
			b.handled[probeID{"r", 0}] = []HandledRequest{{Source: "gone.log", Target: "api-2", Run: "r", Seq: 0}}
		}, "map[api-2:1]"},
	} {
		b := newTable()
		b.prober[ClassProbe] = true
		b.probed("", 10)
		c.lay(b)
		got := "null"
		if by := b.countedOf(ClassProbe).ByTarget; by != nil {
			got = fmt.Sprint(by)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	b := newTable()
	b.cell("alb", "", 10, 11, 1).TargetStatus = 0
	if by := b.countedOf(ClassUser).ByTarget; by == nil || len(by) != 0 {
		t.Errorf("an access log names the targets, and here it names none: %v", by)
	}
}

// Requests, failures, statuses, routes and who answered, of rows of each kind.
func TestSumsOfATotal(t *testing.T) {
	b := newTable()
	b.cell("alb", "api-1", 10, 11, 5)
	b.cell("alb", "api-2", 20, 21, 3).Route = "order"
	aborted := b.cell("alb", "api-2", 30, 31, 2) // it was sent there, and the client did not wait
	aborted.Status, aborted.TargetStatus, aborted.Outcome = 460, 0, OutcomeClientAbort
	for i, answer := range []int{500, 0} {
		key := CellKey{Second: b.at(40).Unix(), Source: "alb", Target: "api-1", Class: ClassUser, Outcome: OutcomeTarget5xx, Route: "order", Status: 500, TargetStatus: answer}
		if answer == 0 {
			key.Outcome, key.Status, key.Target = OutcomeLB5xx, 502, "api-2"
		}
		b.obs.Requests = append(b.obs.Requests, Request{CellKey: key, Line: i, Start: b.at(40), End: b.at(41)})
	}
	total := b.countedOf(ClassUser)
	for _, c := range []struct{ what, got, want string }{
		{"requests and failures", fmt.Sprint(total.Requests, total.Failures), "12 2"},
		{"statuses", fmt.Sprint(total.Statuses), "map[200:8 460:2 500:1 502:1]"},
		{"routes", fmt.Sprint(total.ByRoute), "map[order:{5 2} other:{7 0}]"},
		{"answered by", fmt.Sprint(total.ByTarget), "map[api-1:6 api-2:3]"},
		{"outcomes", fmt.Sprint(total.Outcomes), "map[client_abort:2 lb_5xx:1 ok:8 target_5xx:1]"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", c.what, c.got, c.want)
		}
	}
}

// Of two phases, the requests of one alone say who served; nobody did in the other.
func TestWhoServedInEachPhase(t *testing.T) {
	b := newTable()
	b.prober[ClassProbe] = true
	b.phase("baseline", 0, 60)
	b.phase("build", 60, 300)
	b.probed("", 10)
	b.probed("api-1", 100)
	b.countedOf(ClassProbe)
	if by := b.report.Phases[0].Traffic[ClassProbe].ByTarget; by == nil || len(by) != 0 {
		t.Errorf("before: %v, want nobody", by)
	}
	if by := b.report.Phases[1].Traffic[ClassProbe].ByTarget; len(by) != 1 || by["api-1"] != 1 {
		t.Errorf("after: %v", by)
	}
}

// How long requests took is told by the log that counts them, and of a class that our
// prober counts by the prober alone.
func TestWhoseLatenciesCount(t *testing.T) {
	b := newTable()
	b.phase("baseline", 0, 60)
	b.phase("build", 60, 300)
	took := func(source string, class Class, at float64, milliseconds int64) {
		l := Latencies{LatencyKey{Second: b.at(at).Unix(), Source: source, Class: class, Route: OtherRoute}, &Histogram{}}
		l.Took.Add(milliseconds * 1000)
		b.obs.Latencies = append(b.obs.Latencies, l)
	}
	b.cell("alb", "api-1", 10, 11, 1)
	took("alb", ClassUser, 10, 20)
	took("alb", ClassUser, 100, 30)
	took("edge", ClassUser, 100, 4000)
	took("alb", ClassUser, 300, 5000) // after the window
	b.prober[ClassProbe] = true
	b.probed("", 10).Outcome = OutcomeTimeout
	took("alb", ClassProbe, 10, 40)
	if users := b.countedOf(ClassUser); users.Max == nil || *users.Max != 30 {
		t.Errorf("users took at most %v ms, want 30", users.Max)
	}
	for i, want := range []float64{20, 30} {
		if phase := b.report.Phases[i].Traffic[ClassUser]; phase.Max == nil || *phase.Max != want {
			t.Errorf("in phase %d at most %v ms, want %v", i, phase.Max, want)
		}
	}
	if probes := b.report.Totals[ClassProbe]; probes.Max != nil {
		t.Errorf("probes took %v ms, and none of ours succeeded", *probes.Max)
	}
}
