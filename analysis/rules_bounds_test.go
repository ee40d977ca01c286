package analysis

import (
	"fmt"
	"testing"
	"time"
)

func TestBackToBackDeployBounds(t *testing.T) {
	// The neighbor d0 ran from -100 to 50; this deploy starts at 60. It stopped api-1.
	before := func(b *table, reported float64) *Deploy {
		b.obs.Neighbors = []Deploy{{ID: "d0", StartedAt: b.at(-100), ReportedAt: b.at(reported)}}
		return &b.obs.Neighbors[0]
	}
	step := func(b *table, kind StepKind, target string, at float64) {
		b.obs.Steps = append(b.obs.Steps, Step{Deploy: "d0", Kind: kind, Target: target, At: b.at(at)})
	}
	const away = "60–60 gap_s=10 not_serving=[api-1] previous=d0 previous_reported_at=50 (1)"
	tryRule(t, backToBackDeploy, []tableCase{
		{"no deploy", func(b *table) { b.obs.Deploy.ID = "" }, whyNoDeploy},
		{"both began at once", func(b *table) { before(b, 70).StartedAt = b.at(60) }, "clear"},
		{"the other has not reported", func(b *table) { before(b, 0).ReportedAt = time.Time{} }, "60–60 gap_s=- not_serving=[] previous=d0 previous_reported_at=- (1)"},
		{"the other reports later", func(b *table) { before(b, 61) }, "60–60 gap_s=-1 not_serving=[] previous=d0 previous_reported_at=61 (1)"},
		{"it reported when this one began", func(b *table) { before(b, 60) }, "clear"},
		{"a target is away", func(b *table) { before(b, 50); b.life("api-1", 20); step(b, StepRestartBegan, "api-1", 30) }, away},
		{"a step of another deploy", func(b *table) {
			before(b, 50)
			b.life("api-1", 20)
			b.obs.Steps = []Step{{Deploy: "d9", Kind: StepRestartBegan, Target: "api-1", At: b.at(30)}}
		}, "clear"},
		{"marked, not stopped", func(b *table) { before(b, 50); b.life("api-1", 20); step(b, StepDrainMarked, "api-1", 30) }, "clear"},
		{"a target that nothing else names", func(b *table) { before(b, 50); step(b, StepRestartBegan, "gone", 30) }, "clear"},
		{"a later step that is not its readiness", func(b *table) {
			before(b, 50)
			b.life("api-1", 35)
			step(b, StepRestartBegan, "api-1", 30)
			step(b, StepDrainMarked, "api-1", 40)
		}, "clear"},
		{"stopped twice, away once", func(b *table) {
			before(b, 50)
			b.life("api-1", 20)
			step(b, StepRestartBegan, "api-1", 30)
			step(b, StepProcessKilled, "api-1", 31)
		}, away},
		{"stopped as this one began", func(b *table) { before(b, 50); b.life("api-1", 20); step(b, StepRestartBegan, "api-1", 60) }, away},
		{"stopped after this one began", func(b *table) { before(b, 50); b.life("api-1", 20); step(b, StepRestartBegan, "api-1", 61) }, "clear"},
		{"nothing shows who serves", func(b *table) { before(b, 50); step(b, StepRestartBegan, "api-1", 30) }, "clear"},
		{"served again, never told to be ready", func(b *table) { before(b, 50); b.life("api-1", 35); step(b, StepRestartBegan, "api-1", 30) }, "clear"},
		{"another's readiness says nothing of it", func(b *table) {
			before(b, 50)
			b.life("api-1", 35)
			step(b, StepRestartBegan, "api-1", 30)
			step(b, StepAppReady, "api-2", 40)
		}, "clear"},
		{"what it served before it was ready is left over", func(b *table) {
			before(b, 50)
			b.life("api-1", 35)
			step(b, StepRestartBegan, "api-1", 30)
			step(b, StepAppReady, "api-1", 40)
		}, away},
		{"it was ready before its stop", func(b *table) {
			before(b, 50)
			b.life("api-1", 25)
			step(b, StepAppReady, "api-1", 20)
			step(b, StepRestartBegan, "api-1", 30)
		}, away},
		{"ready at the stop is of before", func(b *table) {
			before(b, 50)
			b.life("api-1", 35)
			step(b, StepAppReady, "api-1", 30)
			step(b, StepRestartBegan, "api-1", 30)
			step(b, StepAppReady, "api-1", 40)
		}, away},
		{"a blue target stopped for good", func(b *table) {
			before(b, 50).Kind = KindBlueGreen
			b.life("api-1", 20)
			step(b, StepRestartBegan, "api-1", 30)
		}, "clear"},
		{"a target of blue and green restarted", func(b *table) {
			before(b, 50).Kind = KindBlueGreen
			b.life("api-1", 20)
			step(b, StepRestartBegan, "api-1", 30)
			step(b, StepAppReady, "api-1", 40)
		}, away},
	})
}

func TestBlindSpotSums(t *testing.T) {
	blind := func(b *table, reason string, from, to float64) Blind {
		return Blind{Time{b.at(from)}, Time{b.at(to)}, reason, reason + " at " + b.seconds(b.at(from))}
	}
	tryRule(t, blindSpot, []tableCase{
		{"per source and reason, without what may still come", func(b *table) {
			b.report.Coverage = []Coverage{
				{Source: "alb", Blind: []Blind{blind(b, blindGap, 10, 15), blind(b, blindNoData, 20, 21), blind(b, blindGap, 30, 32), blind(b, blindHorizon, 290, 300)}},
				{Source: "edge", Blind: []Blind{blind(b, blindGap, 40, 43)}},
			}
		}, "10–32 count=2 detail=gap,at,30 reason=gap seconds=7 source=alb (2); " +
			"20–21 count=1 detail=no_data,at,20 reason=no_data seconds=1 source=alb (1); " +
			"40–43 count=1 detail=gap,at,40 reason=gap seconds=3 source=edge (1)"},
	})
}

func TestClassificationSuspectBounds(t *testing.T) {
	// users and tools before the deploy and after it
	lay := func(b *table, usersBefore, toolsBefore, usersAfter, toolsAfter int) {
		b.cell("alb", "api-1", 59, 59, usersBefore)
		b.cell("alb", "api-1", 59, 59, toolsBefore).Class = ClassTool
		b.cell("alb", "api-1", 60, 60, usersAfter)
		b.cell("alb", "api-1", 60, 60, toolsAfter).Class = ClassTool
		b.report.Totals = map[Class]*Total{ClassTool: {Requests: toolsBefore + toolsAfter}}
	}
	tryRule(t, classificationSuspect, []tableCase{
		{"no tool among the requests", func(b *table) { lay(b, 40, 0, 40, 0) }, whyNotApply},
		{"tools not measured", func(b *table) { lay(b, 40, 0, 20, 20); b.report.Totals = map[Class]*Total{} }, whyNotApply},
		// 3/4 to 1/2: a fourth less, which is just a third of it, and surely no chance.
		{"a third less", func(b *table) { lay(b, 3000, 1000, 2000, 2000) }, "60–300 requests_after=4000 requests_before=4000 share_after=0.5 share_before=0.75 (2000) (2000)"},
		{"less than a third less", func(b *table) { lay(b, 3000, 1000, 2001, 1999) }, "clear"},
		// 24 of 32 to 16 of 32 is a third less too; the standard error is
		// √(.625 · .375 · 2/32) = .121, and .25 lies within 2.576 of it.
		{"a third less by chance", func(b *table) { lay(b, 24, 8, 16, 16) }, "clear"},
		// Of 100 each the error is √(.625 · .375 · 2/100) = .068, 2.576 of it .176.
		{"a third less, and no chance", func(b *table) { lay(b, 75, 25, 50, 50) }, "60–300 requests_after=100 requests_before=100 share_after=0.5 share_before=0.75 (50) (50)"},
		{"no user at any time", func(b *table) { lay(b, 0, 30, 0, 30) }, "clear"},
		{"all tools after none: 30 requests are enough", func(b *table) { lay(b, 30, 0, 0, 30) }, "60–300 requests_after=30 requests_before=30 share_after=0 share_before=1 (30)"},
		{"29 before are too few", func(b *table) { lay(b, 29, 0, 0, 30) }, whyNoBaseline},
		{"29 after are too few", func(b *table) { lay(b, 30, 0, 0, 29) }, whyNoBaseline},
		{"a log that does not count is not asked", func(b *table) {
			lay(b, 30, 0, 0, 30)
			b.cell("edge", "api-1", 60, 60, 300)
		}, "60–300 requests_after=30 requests_before=30 share_after=0 share_before=1 (30)"},
		{"our own requests are left out", func(b *table) {
			lay(b, 30, 0, 0, 30)
			b.cell("alb", "api-1", 60, 60, 300).Class = ClassProbe
			b.cell("alb", "api-1", 60, 60, 300).Class = ClassHealth
		}, "60–300 requests_after=30 requests_before=30 share_after=0 share_before=1 (30)"},
	})
}

func TestClockSkewBounds(t *testing.T) {
	offset := func(from, to float64) func(*table) {
		return func(b *table) { b.offsets = []ClockOffset{{A: "store", B: "api-1.log", Offset: Interval{from, to}}} }
	}
	tryRule(t, clockSkew, []tableCase{
		{"nothing matched", func(*table) {}, whyNoMatches},
		{"perhaps 100 ms ahead", offset(100, 200), "clear"},
		{"surely more", offset(101, 200), "0–300 a=store b=api-1.log from_ms=101 step=- to_ms=200"},
		{"perhaps 100 ms behind", offset(-200, -100), "clear"},
		{"surely more behind", offset(-200, -101), "0–300 a=store b=api-1.log from_ms=-200 step=- to_ms=-101"},
		{"bounds that contradict each other within the window", func(b *table) { offset(-5, 5)(b); b.skewed["api-1.log"] = true }, "0–300 a=store b=api-1.log from_ms=-5 step=- to_ms=5"},
		{"a step that was ignored", func(b *table) {
			b.steps = []step{{Step: Step{Kind: StepAppReady, Target: "api-1", Source: "ci", At: b.at(90)}, ignored: true}, {Step: Step{Kind: StepAppReady, At: b.at(95)}}}
		}, "api-1 90–90 a=steps b=ci from_ms=- step=app.ready to_ms=- (1)"},
	})
}

func TestDrainBounds(t *testing.T) {
	marked := func(b *table, mark, stop float64) *cycle {
		c := b.cycle("api-1", stop, 0, 0)
		c.marked = b.at(mark)
		b.servedFrom = b.from
		return c
	}
	tryRule(t, drainMarkerExpired, []tableCase{
		{"nobody known to have served", func(b *table) { marked(b, 70, 100); b.servedFrom = time.Time{} }, whyServed},
		{"no mark", func(b *table) { b.cycle("api-1", 100, 0, 0); b.servedFrom = b.from }, whyNoMark},
		{"a mark without a stop", func(b *table) { marked(b, 70, 0) }, whyNoMark},
		{"quiet for one interval", func(b *table) { marked(b, 70, 100); b.life("api-1", 65, 80, 81) }, "api-1 80–100 quiet_s=10 wait_s=30"},
		{"not quite", func(b *table) { marked(b, 70, 100); b.life("api-1", 65, 79.9) }, "clear"},
		{"quiet before the mark is not asked", func(b *table) { marked(b, 70, 100); b.life("api-1", 50, 70, 79) }, "clear"},
		{"quiet until the stop", func(b *table) { marked(b, 70, 100); b.life("api-1", 70, 75, 100) }, "clear"},
		{"its usual pause is as long", func(b *table) { marked(b, 70, 100); b.life("api-1", 65, 80).usualPause = 6 * time.Second }, "clear"},
		{"no settings to tell from", func(b *table) {
			marked(b, 70, 100)
			b.life("api-1", 65, 80)
			b.obs.Service.LoadBalancers[0].TargetGroups[0].Health = HealthCheck{}
		}, "clear"},
	})

	const fired = "api-1 70–100 wait_s=30"
	served := func(b *table) *cycle {
		c := marked(b, 70, 100)
		c.lastServed = b.at(100)
		b.poll("api-2", StateHealthy, 0)
		return c
	}
	change := func(in bool, seen float64) func(*table) {
		return func(b *table) { served(b); b.life("api-1").changes = []change{{in: in, seen: b.at(seen)}} }
	}
	health := func(sent, done float64, out bool) func(*table) {
		return func(b *table) {
			served(b)
			b.obs.Probes = []ProbeRequest{{Class: ClassHealth, Sent: b.at(sent), Done: b.at(done), OutOfService: out}}
		}
	}
	tryRule(t, drainNeverSeen, []tableCase{
		{"nothing could show a drain", func(b *table) { served(b); b.obs.States = nil }, whyNoStates},
		{"health samples could", func(b *table) { served(b); b.obs.States = nil; b.prober[ClassHealth] = true }, fired},
		{"served to the end", func(b *table) { served(b) }, fired},
		{"its state left rotation", change(false, 71), "clear"},
		{"at the mark, so before it", change(false, 70), fired},
		{"its state came in", change(true, 80), fired},
		{"the health-check log has it out", func(b *table) {
			served(b)
			b.life("api-1").checked = &checked{changes: []checkedChange{{at: b.at(80)}}}
		}, "clear"},
		{"the health-check log has it in", func(b *table) { served(b); b.life("api-1").checked = &checked{} }, fired},
		{"a deliberate answer", health(80, 81, true), "clear"},
		{"another answer", health(80, 81, false), fired},
		{"one that came at the mark", health(69, 70, true), "clear"},
		{"one before the mark", health(68, 69, true), fired},
		{"one asked for at the stop", health(100, 101, true), fired},
		{"quiet for the last second", func(b *table) { served(b).lastServed = b.at(99) }, fired},
		{"quiet for longer", func(b *table) { served(b).lastServed = b.at(98.9) }, "clear"},
		{"as long as twice its usual pause", func(b *table) { served(b).lastServed = b.at(96); b.life("api-1").usualPause = 2 * time.Second }, fired},
		{"it never served", func(b *table) { served(b).lastServed = time.Time{} }, "clear"},
	})

	tryRule(t, drainingTargetServed, []tableCase{
		{"nothing deregistered", func(b *table) { marked(b, 70, 100); b.cell("alb", "api-1", 80, 81, 3) }, whyNoMark},
		{"no log", func(b *table) { marked(b, 70, 100).deregistered = b.at(80) }, whyNoAccessLog},
		{"from the moment itself until the stop, by the log that counts", func(b *table) {
			marked(b, 70, 100).deregistered = b.at(80)
			b.cell("alb", "api-1", 79, 80, 1)
			b.cell("alb", "api-1", 80, 80.5, 3)
			b.cell("alb", "api-1", 99, 99.5, 2).Class = ClassHealth
			b.cell("alb", "api-1", 100, 100.5, 7)
			b.cell("alb", "api-2", 90, 90.5, 7)
			b.cell("edge", "api-1", 90, 90.5, 7)
		}, "api-1 80–99.5 after_s=19.5 requests=map[health:2,user:3] (3) (2)"},
		{"nothing sent", func(b *table) { marked(b, 70, 100).deregistered = b.at(80); b.cell("alb", "api-2", 90, 90.5, 7) }, "clear"},
		{"never stopped: until the end", func(b *table) { marked(b, 70, 0).deregistered = b.at(80); b.cell("alb", "api-1", 299, 299.5, 2) }, "api-1 80–299.5 after_s=219.5 requests=map[user:2] (2)"},
	})

	tryRule(t, drainWaitTooShort, []tableCase{
		{"no log", func(b *table) { marked(b, 70, 100) }, whyNoAccessLog},
		{"nothing sent after the stop", func(b *table) { marked(b, 70, 100); b.cell("alb", "api-2", 90, 90.5, 7) }, "clear"},
		{"one sent after the stop", func(b *table) {
			marked(b, 70, 100)
			r := Request{CellKey: b.cell("alb", "api-1", 110, 111, 1).CellKey, Start: b.at(110), End: b.at(111)}
			r.Outcome = OutcomeLB5xx
			b.obs.Requests = append(b.obs.Requests, r)
		}, "api-1 70–110 predicted_from_s=10 predicted_to_s=22 sent_after_stop=map[user:1] wait_s=30"},
	})
}

func TestFailOpenBounds(t *testing.T) {
	out := func(b *table, from, to float64) {
		for s := from; s <= to; s++ {
			b.poll("api-1", StateUnhealthy, s)
			b.poll("api-2", StateUnhealthy, s)
		}
		b.poll("api-1", StateHealthy, to+1)
		b.poll("api-2", StateHealthy, to+1)
	}
	sum := func(b *table, from, n float64) {
		b.obs.Metrics = append(b.obs.Metrics, MetricSum{Source: "cloudwatch", Metric: MetricUnhealthySent, At: b.at(from), Period: time.Minute, Sum: n})
	}
	tryRule(t, failOpen, []tableCase{
		{"no states", func(*table) {}, whyNoStates},
		{"no log", func(b *table) { out(b, 100, 110) }, whyNoAccessLog},
		{"requests while both were out", func(b *table) {
			out(b, 100, 110)
			b.cell("alb", "api-1", 100, 100.5, 2)
			b.cell("alb", "api-2", 109, 109.9, 3)
			b.cell("alb", "api-1", 99.5, 100.5, 7)  // not wholly inside
			b.cell("alb", "api-1", 109.5, 110, 7)   // nor this
			b.cell("alb", "", 105, 105.5, 7)        // sent to nobody
			b.cell("edge", "api-1", 105, 105.5, 7)  // does not count
			b.cell("alb", "web-1", 105, 105.5, 100) // another group
			b.byName["web-1"] = &life{name: "web-1", group: "web"}
		}, "100–110 requests=map[user:5] seconds=10 target_group=api (5)"},
		{"none was sent", func(b *table) { out(b, 100, 110); b.cell("alb", "api-1", 99, 99.5, 7) }, "clear"},
		{"counted by the load balancer, next to polled states", func(b *table) {
			sum(b, 120, 4)
			out(b, 110, 120)  // ends as the minute begins
			out(b, 180, 190)  // begins as it ends
			sum(b, 240, 0)    // a minute without any
			sum(b, -120, 100) // before the window
		}, "120–180 counted_by=cloudwatch requests=4 seconds=60 target_group="},
		{"counted, in polled states", func(b *table) { sum(b, 120, 4); out(b, 119, 121) }, "120–180 counted_by=cloudwatch requests=4 seconds=60 target_group=api"},
		{"counted, at the end of polled states", func(b *table) { sum(b, 120, 4); out(b, 179, 181) }, "120–180 counted_by=cloudwatch requests=4 seconds=60 target_group=api"},
	})
	spans := func(lay func(*table)) string {
		b := newTable()
		lay(b)
		words := ""
		for _, s := range b.allOut() {
			words += s.group + " " + b.seconds(s.from) + "–" + b.seconds(s.to) + ";"
		}
		return words
	}
	for _, c := range []struct {
		name string
		lay  func(*table)
		want string
	}{
		{"a state holds for three intervals", func(b *table) {
			b.poll("api-1", StateHealthy, 50)
			b.poll("api-2", StateUnhealthy, 50, 51, 52, 53, 54, 55)
		}, "api 54–55;"},
		{"one that joins only later", func(b *table) {
			b.poll("api-1", StateUnhealthy, 50, 51, 52, 53)
			b.poll("api-2", StateHealthy, 100, 101)
		}, "api 50–53;"},
		{"one that joins three intervals later", func(b *table) {
			b.poll("api-1", StateUnhealthy, 50, 51, 52, 53)
			b.poll("api-2", StateHealthy, 55, 56)
		}, "api 50–51;"},
		{"one poll has no length", func(b *table) {
			b.poll("api-1", StateUnhealthy, 50)
			b.poll("api-2", StateUnhealthy, 50)
			b.poll("api-1", StateHealthy, 51)
			b.poll("api-2", StateHealthy, 51)
		}, ""},
		{"one poll is looked at as a whole", func(b *table) {
			b.poll("api-1", StateUnhealthy, 50, 51)
			b.poll("api-2", StateUnhealthy, 50)
			b.poll("api-2", StateHealthy, 51)
		}, ""},
		{"one that is in", func(b *table) {
			b.poll("api-1", StateUnhealthy, 50, 51, 52)
			b.poll("api-2", StateHealthy, 50, 51, 52)
		}, ""},
		{"one that was not polled yet", func(b *table) {
			b.poll("api-1", StateUnhealthy, 50, 51, 52)
			b.poll("api-2", StateUnhealthy, 52)
			b.poll("api-2", StateHealthy, 53)
		}, ""},
		{"from before the window", func(b *table) {
			b.poll("api-1", StateUnhealthy, -2, -1, 0, 1)
			b.poll("api-2", StateUnhealthy, -2, -1, 0, 1)
		}, "api 0–1;"},
	} {
		if got := spans(c.lay); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Both were out from 100 to 110, by a poll a second: a second more at either end.
func TestOpenForBounds(t *testing.T) {
	b := newTable()
	for s := 100.0; s <= 110; s++ {
		b.poll("api-1", StateUnhealthy, s)
		b.poll("api-2", StateUnhealthy, s)
	}
	b.poll("api-1", StateHealthy, 111)
	b.poll("api-2", StateHealthy, 111)
	for _, c := range []struct {
		group    string
		from, to float64
		want     bool
	}{{"api", 99, 111, true}, {"api", 98.9, 105, false}, {"api", 105, 111.1, false}, {"web", 101, 102, false}, {"api", 104, 105, true}} {
		if got := b.openFor(c.group, b.at(c.from), b.at(c.to)); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}

func TestHealthCheckBlindBounds(t *testing.T) {
	told := func(b *table, kind StepKind, source string, at float64) {
		b.steps = append(b.steps, step{Step: Step{Target: "api-1", Kind: kind, Source: source, At: b.at(at)}})
	}
	// Ejection takes 22 s at most.
	tryRule(t, healthCheckBlind, []tableCase{
		{"no states", func(b *table) { b.cycle("api-1", 100, 140, 0) }, whyNoStates},
		{"down for as long as ejection may take", func(b *table) { b.cycle("api-1", 100, 122, 0); b.poll("api-1", StateHealthy, 110) }, whyNoStop},
		{"longer", func(b *table) {
			b.cycle("api-1", 100, 123, 0)
			b.poll("api-1", StateHealthy, 99, 100, 110, 122, 123)
		}, "api-1 100–123 down_s=23 eject_within_s=22 path= polls=2 (2)"},
		{"it left rotation", func(b *table) {
			b.cycle("api-1", 100, 123, 0)
			b.poll("api-1", StateUnhealthy, 110)
			b.poll("api-1", StateHealthy, 122)
		}, "clear"},
		{"no settings", func(b *table) {
			b.cycle("api-1", 100, 123, 0)
			b.poll("api-1", StateHealthy, 110)
			b.obs.Service.LoadBalancers[0].TargetGroups[0].Health = HealthCheck{}
		}, whyNoStop},
		{"not polled meanwhile", func(b *table) { b.cycle("api-1", 100, 123, 0); b.poll("api-1", StateHealthy, 100, 123) }, "clear"},
		{"not polled at all", func(b *table) { b.cycle("api-1", 100, 123, 0); b.poll("api-2", StateHealthy, 110) }, whyNoStop},
		{"never stopped", func(b *table) { b.cycle("api-1", 0, 123, 0); b.poll("api-1", StateHealthy, 110) }, whyNoStop},
		{"never back", func(b *table) { b.cycle("api-1", 100, 0, 0); b.poll("api-1", StateHealthy, 110) }, whyNoStop},
		{"never back, by clocks in doubt", func(b *table) {
			b.doubt = time.Second
			told(b, StepRestartBegan, "workflow", 100)
			b.cycle("api-1", 100, 0, 0)
			b.poll("api-1", StateHealthy, 110)
		}, whyNoStop},
		{"perhaps no longer, by clocks in doubt", func(b *table) {
			b.doubt = time.Second
			told(b, StepRestartBegan, "workflow", 100)
			told(b, StepAppReady, "api-1.log", 123)
			b.cycle("api-1", 100, 123, 0)
			b.poll("api-1", StateHealthy, 110)
		}, whyNoStop},
		{"longer, by clocks in doubt, and polled surely meanwhile", func(b *table) {
			b.doubt = time.Second
			told(b, StepRestartBegan, "workflow", 100)
			told(b, StepAppReady, "api-1.log", 123.5)
			b.cycle("api-1", 100, 123.5, 0)
			b.poll("api-1", StateHealthy, 101, 110, 122.5)
		}, "api-1 100–123.5 down_s=22.5 eject_within_s=22 path= polls=1 (1)"},
		{"perhaps out only after its last request, by clocks in doubt", func(b *table) {
			b.doubt, b.servingClock = time.Second, "alb"
			b.cycle("api-1", 100, 125, 0).lastServed = b.at(95)
			b.poll("api-1", StateUnhealthy, 94, 110)
		}, "clear"},
		{"already out while it served, and still", func(b *table) {
			b.cycle("api-1", 100, 123, 0).lastServed = b.at(95)
			b.poll("api-1", StateUnhealthy, 94, 110)
		}, "api-1 100–123 down_s=23 eject_within_s=22 path= polls=1 (1)"},
		{"out with its last request, which is right", func(b *table) {
			b.cycle("api-1", 100, 123, 0).lastServed = b.at(95)
			b.poll("api-1", StateHealthy, 94)
			b.poll("api-1", StateUnhealthy, 95, 110)
		}, "clear"},
		{"checks disabled", func(b *table) {
			b.poll("api-1", StateUnavailable, 50, 51)
			for i := range b.obs.States {
				b.obs.States[i].Reason = "Target.HealthCheckDisabled"
			}
		}, "api-1 50–50 down_s=- eject_within_s=- path=- polls=1 (1)"},
		{"unavailable for another reason", func(b *table) { b.poll("api-1", StateUnavailable, 50) }, whyNoStop},
		{"the reason beside another state", func(b *table) {
			b.poll("api-1", StateHealthy, 50)
			b.obs.States[0].Reason = "Target.HealthCheckDisabled"
		}, whyNoStop},
		{"disabled outside the window", func(b *table) {
			b.poll("api-1", StateUnavailable, 300)
			b.obs.States[0].Reason = "Target.HealthCheckDisabled"
		}, whyNoStop},
	})
}

func TestHealthCheckNeverPassesBounds(t *testing.T) {
	// Two passes take 22 s at most, so 44 s are waited for.
	const fired = "api-1 256–300 expected_s=22 path= waited_s=44 (1)"
	tryRule(t, healthCheckNeverPasses, []tableCase{
		{"no states", func(b *table) { b.cycle("api-1", 100, 140, 0) }, whyNoStates},
		{"just long enough", func(b *table) { b.cycle("api-1", 250, 256, 0); b.poll("api-1", StateUnhealthy, 299) }, fired},
		{"not long enough", func(b *table) { b.cycle("api-1", 250, 257, 0); b.poll("api-1", StateUnhealthy, 299) }, whyNoStop},
		{"never ready", func(b *table) { b.cycle("api-1", 250, 0, 0); b.poll("api-1", StateUnhealthy, 299) }, whyNoStop},
		{"no settings", func(b *table) {
			b.cycle("api-1", 250, 256, 0)
			b.poll("api-1", StateUnhealthy, 299)
			b.obs.Service.LoadBalancers[0].TargetGroups[0].Health = HealthCheck{}
		}, whyNoStop},
		{"in at last", func(b *table) { b.cycle("api-1", 250, 256, 0); b.poll("api-1", StateHealthy, 299) }, "clear"},
		{"in, and out again", func(b *table) {
			b.cycle("api-1", 250, 256, 0)
			b.poll("api-1", StateHealthy, 290)
			b.poll("api-1", StateUnhealthy, 299)
		}, "clear"},
		{"in only as it became ready", func(b *table) { b.cycle("api-1", 250, 256, 0); b.poll("api-1", StateHealthy, 255, 256) }, whyNoStop},
		{"another is in", func(b *table) {
			b.cycle("api-1", 250, 256, 0)
			b.poll("api-1", StateUnhealthy, 299)
			b.poll("api-2", StateHealthy, 299)
		}, fired},
		{"not polled", func(b *table) { b.cycle("api-1", 250, 256, 0); b.poll("api-2", StateHealthy, 299) }, whyNoStop},
		{"new, and registered 20 s after it was ready", func(b *table) {
			c := b.cycle("api-1", 0, 200, 0)
			c.arrives, c.registered = true, b.at(220)
			b.poll("api-1", StateUnhealthy, 215, 299)
		}, "api-1 200–300 expected_s=22 path= waited_s=80 (2)"},
		{"new, and never registered", func(b *table) {
			b.cycle("api-1", 0, 200, 0).arrives = true
			b.poll("api-1", StateUnused, 210, 299)
		}, whyNoStop},
		{"new, and displayed from 210 s on", func(b *table) {
			b.cycle("api-1", 0, 200, 0).arrives = true
			b.poll("api-1", StateInitial, 210, 299)
		}, "api-1 200–300 expected_s=22 path= waited_s=90 (2)"},
	})
}

func TestIdleTargetBounds(t *testing.T) {
	// Ten requests of a group of two: five were due to each.
	lay := func(b *table, n int) {
		b.phase("build", 60, 100)
		b.life("api-2", 60)
		b.cell("alb", "api-2", 60, 60.5, n)
		b.poll("api-1", StateHealthy, 60, 99)
	}
	const fired = "api-1 60–100 due=map[user:5]"
	tryRule(t, idleTarget, []tableCase{
		{"no states", func(b *table) { b.cell("alb", "api-2", 60, 60.5, 10) }, whyNoStates},
		{"no log", func(b *table) { b.poll("api-1", StateHealthy, 60) }, whyNoAccessLog},
		{"five due", func(b *table) { lay(b, 10) }, fired},
		{"four due", func(b *table) { lay(b, 9) }, "clear"},
		{"four of users and four of tools", func(b *table) { lay(b, 9); b.cell("alb", "api-2", 60, 60.5, 9).Class = ClassTool }, "clear"},
		{"five of users and four of tools", func(b *table) { lay(b, 10); b.cell("alb", "api-2", 60, 60.5, 9).Class = ClassTool }, "api-1 60–100 due=map[tool:4,user:5]"},
		{"five of tools", func(b *table) { lay(b, 9); b.cell("alb", "api-2", 60, 60.5, 10).Class = ClassTool }, "api-1 60–100 due=map[tool:5,user:4]"},
		{"more in a log that does not count", func(b *table) { lay(b, 9); b.cell("edge", "api-2", 60, 60.5, 9) }, "clear"},
		{"more that came before the phase", func(b *table) { lay(b, 9); b.cell("alb", "api-2", 59, 60.5, 9) }, "clear"},
		{"more that were sent to nobody", func(b *table) { lay(b, 9); b.cell("alb", "", 60, 60.5, 9) }, "clear"},
		{"more that ended with the phase", func(b *table) { lay(b, 9); b.cell("alb", "api-2", 99, 100, 9) }, "clear"},
		{"it served", func(b *table) { lay(b, 10); b.life("api-1", 70) }, "clear"},
		{"polled once", func(b *table) { lay(b, 10); b.obs.States = b.obs.States[:1] }, "clear"},
		{"out at one poll", func(b *table) { lay(b, 10); b.poll("api-1", StateUnhealthy, 80) }, "clear"},
		{"out outside of the phase", func(b *table) { lay(b, 10); b.poll("api-1", StateUnhealthy, 59, 100) }, fired},
		{"another out", func(b *table) { lay(b, 10); b.poll("api-2", StateUnhealthy, 80) }, fired},
		{"in a phase at risk", func(b *table) { lay(b, 10); b.report.Phases[0].Kind = "drain" }, "clear"},
	})
}

func TestLogRuleBounds(t *testing.T) {
	known := func(b *table, known, found int) {
		b.known(known, found)
		b.cell("alb", "api-1", 60, 60, 1)
	}
	tryRule(t, logIncomplete, []tableCase{
		{"no log", func(*table) {}, whyNoAccessLog},
		{"nothing to look for", func(b *table) { b.cell("alb", "api-1", 60, 60, 1) }, whyNoProbes},
		{"nothing but the load balancer's count", func(b *table) {
			b.cell("alb", "api-1", 60, 60, 1)
			b.counted = []countedSum{{log: "alb", metric: MetricRequests, known: 100, found: 100}}
		}, "clear"},
		{"all found", func(b *table) { known(b, 10, 10) }, "clear"},
		{"all found while more may come", func(b *table) { known(b, 10, 10); b.obs.At = b.at(329) }, "clear"},
		{"two missing", func(b *table) { known(b, 10, 8) }, "60–300 found=8 known=10 source=alb"},
		{"they may still come", func(b *table) { known(b, 10, 8); b.obs.At = b.at(329) }, whyHorizon},
		{"the settle time is just over", func(b *table) { known(b, 10, 8); b.obs.At = b.at(330) }, "60–300 found=8 known=10 source=alb"},
		{"the load balancer counted more", func(b *table) {
			known(b, 10, 10)
			b.counted = []countedSum{{log: "alb", metric: MetricRequests, from: b.at(60), to: b.at(120), known: 100, found: 90}}
		}, "60–120 found=90 known=100 metric=RequestCount source=alb"},
	})

	object := func(key string, from, to, arrived float64) func(*table) {
		return func(b *table) {
			o := Object{Source: "alb", Key: key, From: b.at(from), To: b.at(to), Arrived: b.at(arrived)}
			b.obs.Objects = append(b.obs.Objects, o)
		}
	}
	tryRule(t, logLate, []tableCase{
		{"no object", func(*table) {}, whyNoAccessLog},
		{"arrival not known", func(b *table) { object("a", 60, 120, 0)(b); b.obs.Objects[0].Arrived = time.Time{} }, whyNoArrival},
		{"end not known", func(b *table) { object("a", 60, 0, 500)(b); b.obs.Objects[0].To = time.Time{} }, whyNoArrival},
		{"just in time", object("a", 60, 120, 150), "clear"},
		{"late", object("a", 60, 120, 150.5), "60–120 late_s=30.5 object=a objects=1 settle_s=30 source=alb (1)"},
		{"of before the window", object("a", -60, 0, 500), "clear"},
		{"of after it", object("a", 300, 360, 500), "clear"},
		{"two late, the first by name and the latest told", func(b *table) {
			object("b", 60, 120, 160)(b)
			object("a", 0, 60, 95)(b)
			object("c", 120, 180, 215)(b)
		}, "0–180 late_s=40 object=a objects=3 settle_s=30 source=alb (3)"},
	})
}

func TestTrafficRuleBounds(t *testing.T) {
	risk := func(b *table, n int) {
		b.report.Totals = map[Class]*Total{ClassUser: {}}
		b.phase("drain", 70, 100)
		b.phase("restart", 100, 110)
		b.phase("back", 110, 120)
		b.phase("tail", 120, 300)
		b.cell("alb", "api-1", 70, 71, n)
		b.cell("alb", "api-1", 109, 110, 9)
		b.cell("alb", "api-1", 120, 121, 1000)
	}
	tryRule(t, lowTrafficRule, []tableCase{
		{"no users measured", func(*table) {}, whyNoAccessLog},
		{"no phase at risk", func(b *table) { b.report.Totals = map[Class]*Total{ClassUser: {}}; b.phase("tail", 0, 300) }, whyNoStop},
		{"29", func(b *table) { risk(b, 20) }, "60–300 enough=30 requests=29"},
		{"30", func(b *table) { risk(b, 21) }, "clear"},
	})
	lay := func(b *table, before, after int) {
		b.report.Totals = map[Class]*Total{ClassUser: {}}
		b.phase("baseline", 0, 60).Traffic[ClassUser] = &Counts{Requests: before}
		b.phase("build", 60, 300).Traffic[ClassUser] = &Counts{Requests: after}
	}
	tryRule(t, noBaseline, []tableCase{
		{"no deploy", func(b *table) { lay(b, 0, 1); b.obs.Deploy.ID = "" }, whyNoDeploy},
		{"none before", func(b *table) { lay(b, 0, 1) }, "0–60 requests=1 traffic=user"},
		{"one before", func(b *table) { lay(b, 1, 1) }, "clear"},
		{"none at all", func(b *table) { lay(b, 0, 0) }, "clear"},
	})
}

func TestProbeStallBounds(t *testing.T) {
	// The usual request takes 0.2 s, so ten times that is a stall.
	lay := func(b *table, took float64) {
		b.obs.Service.Probes = []Probe{{Name: "store", Class: ClassProbe}, {Name: "item", Class: ClassProbe}}
		for i, done := range []float64{10.2, 11.2, 12 + took} {
			b.obs.Probes = append(b.obs.Probes, ProbeRequest{Source: "store", Probe: "store", Class: ClassProbe, Run: "r", Seq: i, Sent: b.at(10 + float64(i)), Done: b.at(done), Outcome: OutcomeOK})
		}
	}
	logged := func(took float64, r Request) func(*table) {
		return func(b *table) {
			lay(b, 2)
			r.Duration = time.Duration(took * float64(time.Second))
			if r.Start.IsZero() {
				r.Start = b.at(12)
			}
			b.logged[probeID{"r", 2}] = &r
		}
	}
	beside := func(sent, done float64, probe string) func(*table) {
		return func(b *table) {
			lay(b, 2)
			b.obs.Probes = append(b.obs.Probes, ProbeRequest{Source: probe, Probe: probe, Class: ClassProbe, Sent: b.at(sent), Done: b.at(done), Outcome: OutcomeTimeout})
		}
	}
	const head = "12–14 balancer_s="
	const tail = " others_slow=0 probe=store requests=1 target_s="
	const alone = tail + "- took_s=2 usual_ms=200 (1)"
	long := func(s float64) *time.Duration { return new(time.Duration(s * float64(time.Second))) }
	answered := CellKey{TargetStatus: 200}
	tryRule(t, probeStall, []tableCase{
		{"no probes", func(*table) {}, whyNoProbes},
		{"only health samples", func(b *table) { lay(b, 2); b.obs.Service.Probes[0].Class = ClassHealth }, whyNoProbes},
		{"not ten times", func(b *table) { lay(b, 1.999) }, "clear"},
		{"ten times", func(b *table) { lay(b, 2) }, head + "- before_target_s=- cause=undetermined" + alone},
		{"outside the window", func(b *table) { lay(b, 2); b.obs.Probes[2].Sent, b.obs.Probes[2].Done = b.at(300), b.at(302) }, "clear"},
		{"the target took half of it", logged(1.5, Request{CellKey: answered, TargetTook: long(1)}), head + "1.5 before_target_s=- cause=server" + tail + "1 took_s=2 usual_ms=200 (1)"},
		{"the target took less, and all the rest as little", logged(1.5, Request{CellKey: answered, TargetTook: long(.9)}), head + "1.5 before_target_s=- cause=undetermined" + tail + "0.9 took_s=2 usual_ms=200 (1)"},
		{"it waited half of it before it was sent", logged(1.5, Request{CellKey: answered, Before: long(1), TargetTook: long(.5)}), head + "1.5 before_target_s=1 cause=load_balancer" + tail + "0.5 took_s=2 usual_ms=200 (1)"},
		{"or after the answer", logged(1.99, Request{CellKey: answered, Before: long(0), TargetTook: long(.01)}), head + "1.99 before_target_s=0 cause=load_balancer" + tail + "0.01 took_s=2 usual_ms=200 (1)"},
		{"the log does not say how long the target took", logged(2, Request{CellKey: answered, Connected: true, Before: long(0)}), head + "2 before_target_s=0 cause=undetermined" + alone},
		{"it waited, was sent and never answered", logged(2, Request{Connected: true, Before: long(1.5)}), head + "2 before_target_s=1.5 cause=load_balancer" + alone},
		{"it was sent to none", logged(2, Request{Before: long(.1)}), head + "2 before_target_s=0.1 cause=load_balancer" + alone},
		{"it was sent early, and never answered", logged(2, Request{Connected: true, Before: long(1)}), head + "2 before_target_s=1 cause=server" + alone},
		{"the balancer held it, no target named", logged(1, Request{}), head + "1 before_target_s=- cause=load_balancer" + alone},
		{"connected, and never answered", logged(1, Request{Connected: true}), head + "1 before_target_s=- cause=server" + alone},
		{"less than half of it", logged(.9, Request{CellKey: answered}), head + "0.9 before_target_s=- cause=undetermined" + alone},
		{"a row without a start", func(b *table) {
			logged(1, Request{CellKey: CellKey{TargetStatus: 200}})(b)
			b.logged[probeID{"r", 2}].Start = time.Time{}
		}, head + "- before_target_s=- cause=undetermined" + alone},
		{"another probe half as slow meanwhile", beside(12.5, 13.5, "item"), head + "- before_target_s=- cause=undetermined others_slow=1 probe=store requests=1 target_s=- took_s=2 usual_ms=200 (1)"},
		{"another not half as slow", beside(12.5, 13.4, "item"), head + "- before_target_s=- cause=undetermined" + alone},
		{"another, over before", beside(11, 12, "item"), head + "- before_target_s=- cause=undetermined" + alone},
		{"another, begun after", beside(14, 15, "item"), head + "- before_target_s=- cause=undetermined" + alone},
		{"another, with nothing to compare it with", beside(20, 24, "item"), head + "- before_target_s=- cause=undetermined" + alone},
		{"failures do not say what is usual", func(b *table) {
			lay(b, 2)
			for range 3 {
				b.obs.Probes = append(b.obs.Probes, ProbeRequest{Probe: "store", Class: ClassProbe, Sent: b.at(20), Done: b.at(21.9), Outcome: OutcomeTimeout})
			}
		}, head + "- before_target_s=- cause=undetermined" + alone},
		{"nor does what lies outside the window", func(b *table) {
			lay(b, 2)
			for range 3 {
				b.obs.Probes = append(b.obs.Probes, ProbeRequest{Probe: "store", Class: ClassProbe, Sent: b.at(320), Done: b.at(321.9), Outcome: OutcomeOK})
			}
		}, head + "- before_target_s=- cause=undetermined" + alone},
	})
}

func TestStallsThatAreOne(t *testing.T) {
	type slow struct {
		source     string
		sent, done float64
		balancer   float64 // as its row in the log says; 0: none
	}
	for _, c := range []struct {
		name string
		slow []slow
		want string
	}{
		{"one", []slow{{"store", 12, 14, 0}}, "12–14 1 2s 0s undetermined;"},
		{"apart", []slow{{"store", 12, 14, 0}, {"store", 14.1, 16.1, 0}}, "12–14 1 2s 0s undetermined;14.1–16.1 1 2s 0s undetermined;"},
		{"one begins as the other ends", []slow{{"store", 12, 14, 0}, {"store", 14, 17, 0}}, "12–17 2 3s 0s undetermined;"},
		{"one within the other", []slow{{"store", 12, 17, 0}, {"store", 13, 15, 0}}, "12–17 2 5s 0s undetermined;"},
		{"by different causes", []slow{{"store", 12, 14, 0}, {"store", 13, 15, 2}}, "12–14 1 2s 0s undetermined;13–15 1 2s 2s server;"},
		{"from different places", []slow{{"store", 12, 14, 2}, {"store@seoul", 13, 15, 2}}, "12–14 1 2s 2s server;13–15 1 2s 2s server;"},
		{"equally slow: the first is told", []slow{{"store", 12, 14, 1.5}, {"store", 13, 15, 2}}, "12–15 2 2s 1.5s server;"},
		{"the slowest is told", []slow{{"store", 12, 14, 1.5}, {"store", 13, 15.1, 2}}, "12–15.1 2 2.1s 2s server;"},
	} {
		b := newTable()
		for i, s := range c.slow {
			b.obs.Probes = append(b.obs.Probes, ProbeRequest{Probe: "store", Source: s.source, Class: ClassProbe, Run: "r", Seq: i, Sent: b.at(s.sent), Done: b.at(s.done)})
			if s.balancer > 0 {
				b.logged[probeID{"r", i}] = &Request{CellKey: CellKey{TargetStatus: 200}, Start: b.at(s.sent), Duration: time.Duration(s.balancer * float64(time.Second)), TargetTook: new(time.Duration(s.balancer * float64(time.Second)))}
			}
		}
		got := ""
		for _, s := range b.stalls("store", 2*time.Second) {
			balancer := time.Duration(0)
			if s.row != nil {
				balancer = s.row.Duration
			}
			got += fmt.Sprintf("%s–%s %d %s %s %s;", b.seconds(s.from), b.seconds(s.to), s.requests, s.took, balancer, s.cause)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A request from 12 to 14 that a log has, not among its slow rows: what another place
// saw meanwhile says where it was slow.
func TestStallsToldByOthers(t *testing.T) {
	for _, c := range []struct {
		name       string
		source     string
		sent, done float64 // of the other
		run        string  // whose row the log has
		log        string
		want       string
	}{
		{"slow there too", "store@seoul", 13, 14, "r", "alb", stallNetwork},
		{"quick there", "store@seoul", 13, 13.9, "r", "alb", stallProber},
		{"it was over there", "store@seoul", 10, 12, "r", "alb", stallUndetermined},
		{"it began there later", "store@seoul", 14, 16, "r", "alb", stallUndetermined},
		{"the same place", "other", 13, 14, "r", "alb", stallUndetermined},
		{"refused there at once", "store@refused", 13, 13.001, "r", "alb", stallUndetermined},
		{"timed out there", "store@refused", 13, 14, "r", "alb", stallNetwork},
		{"nothing bounds the other clock", "store@far", 13, 13.9, "r", "alb", stallUndetermined},
		{"nothing bounds it, and it was slow", "store@far", 13, 14, "r", "alb", stallUndetermined},
		// The clock of "off" is 5 to 6 s ahead.
		{"at the time by the other's own clock only", "store@off", 13, 13.9, "r", "alb", stallUndetermined},
		{"at the time by either end", "store@off", 18.1, 18.9, "r", "alb", stallProber},
		{"slow, by either end", "store@off", 18.1, 19.1, "r", "alb", stallNetwork},
		{"over before it, if the clock is ahead by most", "store@off", 17.5, 18, "r", "alb", stallUndetermined},
		{"begun after it, if the clock is ahead by least", "store@off", 19, 19.5, "r", "alb", stallUndetermined},
		{"slow, and perhaps over before it", "store@off", 16.9, 18, "r", "alb", stallUndetermined},
		{"slow, and perhaps begun after it", "store@off", 19.5, 20.5, "r", "alb", stallUndetermined},
		{"the log's own clock jumped", "store@jump", 13, 13.9, "r", "alb", stallUndetermined},
		{"bounds that contradict each other", "store@odd", 13, 13.9, "r", "alb", stallUndetermined},
		{"the log has another run's", "store@seoul", 13, 14, "q", "alb", stallUndetermined},
		{"another log has it", "store@seoul", 13, 14, "r", "edge", stallUndetermined},
	} {
		b := newTable()
		outcome := OutcomeOK
		if Vantage(c.source) == "refused" {
			outcome = OutcomeConnectionError
		}
		b.skewed["jumped.log"] = true
		b.offsets = []ClockOffset{
			{"prober", "a.log", Interval{0, 0}}, {"prober", "b.log", Interval{-500, 0}}, {"prober", "jumped.log", Interval{0, 0}},
			{"prober@jump", "jumped.log", Interval{0, 0}}, {"prober@far", "c.log", Interval{0, 0}},
			{"prober@odd", "a.log", Interval{1, 2}}, {"prober@odd", "b.log", Interval{600, 700}},
			// By a.log 4 to 6 s ahead, by b.log 5 to 7.
			{"prober@off", "a.log", Interval{-6000, -4000}}, {"prober@off", "b.log", Interval{-7000, -5500}},
			{"prober@refused", "a.log", Interval{0, 0}}, {"prober@seoul", "a.log", Interval{0, 0}},
		}
		p := ProbeRequest{Probe: "store", Source: "store", Run: "r", Seq: 7, Sent: b.at(12), Done: b.at(14)}
		b.obs.Probes = []ProbeRequest{p, {Probe: "store", Source: c.source, Run: "o", Seq: 1, Sent: b.at(c.sent), Done: b.at(c.done), Outcome: outcome}}
		b.obs.Known = []KnownRequests{{Source: c.log, Run: c.run, Seqs: []uint32{7}}}
		if got, _ := b.stallCause(&p, 2*time.Second); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if c.want == stallProber { // one that was slow another time says nothing
			b.obs.Probes = append(b.obs.Probes, ProbeRequest{Source: "store@off", Sent: b.at(100), Done: b.at(101), Outcome: OutcomeOK})
			if got, _ := b.stallCause(&p, 2*time.Second); got != stallProber {
				t.Errorf("%s, and a slow one long after: %s", c.name, got)
			}
			// Another that was perhaps slow meanwhile takes the certainty away.
			b.obs.Probes = append(b.obs.Probes, ProbeRequest{Source: "store@far", Sent: b.at(100), Done: b.at(101), Outcome: OutcomeOK})
			if got, _ := b.stallCause(&p, 2*time.Second); got != stallUndetermined {
				t.Errorf("%s, and perhaps a slow one: %s", c.name, got)
			}
		}
	}
}

// The clock of the other place is 5 to 6 s ahead of the first one's, whose request lasts
// from 12 to 14.
func TestRequestsAlongside(t *testing.T) {
	for _, c := range []struct {
		source     string
		sent, done float64
		want       string
	}{
		{"item", 13, 13.5, "true true"}, // a clock is not ahead of itself
		{"item", 11, 12, "false false"},
		{"item", 14, 15, "false false"},
		{"store@off", 18.1, 18.9, "true true"},
		{"store@off", 17, 18.001, "true true"}, // over at 12.001 at the earliest
		{"store@off", 17, 18, "false true"},
		{"store@off", 16.9, 17.001, "false true"}, // over at 12.001 at the latest
		{"store@off", 16.9, 17, "false false"},
		{"store@off", 18.999, 20, "true true"}, // begun at 13.999 at the latest
		{"store@off", 19, 20, "false true"},
		{"store@off", 19.999, 21, "false true"}, // begun at 13.999 at the earliest
		{"store@off", 20, 21, "false false"},
		{"store@unknown", 13, 13.5, "false true"},
		{"store@unknown", 100, 101, "false true"},
	} {
		b := newTable()
		b.offsets = []ClockOffset{{"prober", "a.log", Interval{100, 100}}, {"prober@off", "a.log", Interval{-5900, -4900}}}
		p := ProbeRequest{Source: "store", Sent: b.at(12), Done: b.at(14)}
		surely, maybe := b.alongside(&p, &ProbeRequest{Source: c.source, Sent: b.at(c.sent), Done: b.at(c.done)})
		if got := fmt.Sprint(surely, maybe); got != c.want {
			t.Errorf("%s from %g to %g: %s, want %s", c.source, c.sent, c.done, got, c.want)
		}
	}
}

// What is known of two clocks is what every log that both know allows.
func TestClockAhead(t *testing.T) {
	for name, c := range map[string]struct {
		offsets []ClockOffset
		skewed  string
		want    Interval
		known   bool
	}{
		"nothing":             {nil, "", Interval{}, false},
		"no log of both":      {[]ClockOffset{{"prober", "a", Interval{0, 1}}, {"prober@x", "b", Interval{0, 1}}}, "", Interval{}, false},
		"another place's":     {[]ClockOffset{{"prober", "a", Interval{0, 1}}, {"prober@y", "a", Interval{0, 1}}}, "", Interval{}, false},
		"one":                 {[]ClockOffset{{"prober", "a", Interval{1, 2}}, {"prober@x", "a", Interval{10, 20}}}, "", Interval{-19, -8}, true},
		"one that jumped":     {[]ClockOffset{{"prober", "a", Interval{1, 2}}, {"prober@x", "a", Interval{10, 20}}}, "a", Interval{}, false},
		"two":                 {[]ClockOffset{{"prober", "a", Interval{0, 0}}, {"prober@x", "a", Interval{-9, 9}}, {"prober", "b", Interval{0, 0}}, {"prober@x", "b", Interval{-3, 30}}}, "", Interval{-9, 3}, true},
		"two that meet":       {[]ClockOffset{{"prober", "a", Interval{0, 0}}, {"prober@x", "a", Interval{1, 2}}, {"prober", "b", Interval{0, 0}}, {"prober@x", "b", Interval{2, 3}}}, "", Interval{-2, -2}, true},
		"two that contradict": {[]ClockOffset{{"prober", "a", Interval{0, 0}}, {"prober@x", "a", Interval{1, 2}}, {"prober", "b", Interval{0, 0}}, {"prober@x", "b", Interval{3, 4}}}, "", Interval{-2, -3}, false},
	} {
		b := newTable()
		b.offsets, b.skewed[c.skewed] = c.offsets, true
		if got, known := b.clockAhead("", "x"); got != c.want || known != c.known {
			t.Errorf("%s: %v %v, want %v %v", name, got, known, c.want, c.known)
		}
	}
}

func TestQueryFailedBounds(t *testing.T) {
	run := func(from, to float64, code string) func(*table) {
		return func(b *table) {
			b.obs.Runs = append(b.obs.Runs, Run{Source: "states", From: b.at(from), To: b.at(to), Code: code, Error: code + " " + b.seconds(b.at(from))})
		}
	}
	tryRule(t, queryFailed, []tableCase{
		{"all well", run(10, 20, ""), "clear"},
		{"before the window", run(-10, -1, "throttled"), "clear"},
		{"up to its start", run(-10, 0, "throttled"), "0–0 code=throttled count=1 error=throttled,-10 source=states (1)"},
		{"after it", run(300, 310, "throttled"), "clear"},
		{"a target asked for its own metrics while it was down", func(b *table) {
			b.obs.Service.Metrics = []MetricsSource{{Name: "states", Target: "api-1"}}
			b.cycle("api-1", 100, 120, 0)
			run(105, 106, "unreachable")(b)
		}, "clear"},
		{"beyond its end", run(299, 310, "throttled"), "299–300 code=throttled count=1 error=throttled,299 source=states (1)"},
		{"at one moment", run(100, 100, "throttled"), "100–100.000001 code=throttled count=1 error=throttled,100 source=states (1)"},
		{"two of a kind and another", func(b *table) {
			run(-5, 5, "throttled")(b)
			run(10, 20, "forbidden")(b)
			run(290, 310, "throttled")(b)
		}, "0–300 code=throttled count=2 error=throttled,290 source=states (2); 10–20 code=forbidden count=1 error=forbidden,10 source=states (1)"},
	})
}

func TestReportedBeforeReturnBounds(t *testing.T) {
	// Success is reported at 240.
	lay := func(stop, served float64) func(*table) {
		return func(b *table) { b.life("api-1", 1); b.cycle("api-1", stop, 0, served) }
	}
	doubted := func(served float64) func(*table) {
		return func(b *table) {
			lay(100, served)(b)
			b.doubt, b.servingClock = 2*time.Second, "alb"
		}
	}
	const never = "api-1 240–300 first_served_at=- late_s=- reported_at=240 (1)"
	tryRule(t, reportedBeforeReturn, []tableCase{
		{"no deploy", func(b *table) { b.obs.Deploy.ID = "" }, whyNoDeploy},
		{"not reported", func(b *table) { b.obs.Deploy.ReportedAt = time.Time{} }, whyNotReported},
		{"it failed", func(b *table) { lay(100, 250)(b); b.obs.Deploy.Result = "failed" }, whyNotApply},
		{"nothing said of the result", func(b *table) { lay(100, 250)(b); b.obs.Deploy.Result = "" }, "api-1 240–250 first_served_at=250 late_s=10 reported_at=240 (1)"},
		{"nothing stopped", func(b *table) { b.life("api-1", 1) }, whyNoStop},
		{"a cycle without a stop", lay(0, 250), whyNoStop},
		{"stopped as it was reported", lay(240, 250), "api-1 240–250 first_served_at=250 late_s=10 reported_at=240 (1)"},
		{"stopped later", lay(241, 250), whyNoStop},
		{"served as it was reported", lay(100, 240), "clear"},
		{"it may have served as it was reported", func(b *table) {
			lay(100, 240.5)(b)
			b.life("api-1").cycles[0].firstServedFrom = b.at(240)
		}, whyServed},
		{"it may have served since, and only since", func(b *table) {
			lay(100, 241.5)(b)
			b.life("api-1").cycles[0].firstServedFrom = b.at(240.5)
		}, "api-1 240–241.5 first_served_at=241.5 late_s=0.5 reported_at=240 (1)"},
		{"surely by then, with clocks in doubt", doubted(237), "clear"},
		{"by then, as much as clocks are in doubt", doubted(238), "clear"},
		{"perhaps by then, before", doubted(238.1), whyServed},
		{"perhaps by then, after", doubted(242), whyServed},
		{"surely later, with clocks in doubt", doubted(242.5), "api-1 240–242.5 first_served_at=242.5 late_s=0.5 reported_at=240 (1)"},
		{"never served again", lay(100, 0), never},
		{"nothing is known of after the report", func(b *table) { lay(100, 0)(b); b.seenTo = b.at(240) }, "api-1 240–240.000001 first_served_at=- late_s=- reported_at=240 (1)"},
		{"an earlier cycle is over", func(b *table) { lay(100, 250)(b); lay(200, 230)(b) }, "clear"},
		{"away as it was reported, and stopped again later", func(b *table) { lay(200, 250)(b); lay(270, 275)(b) }, "api-1 240–250 first_served_at=250 late_s=10 reported_at=240 (1)"},
		{"stopped again before it was reported", func(b *table) { lay(200, 0)(b); lay(235, 250)(b) }, "api-1 240–250 first_served_at=250 late_s=10 reported_at=240 (1)"},
		{"stopped again before it served", func(b *table) { lay(200, 0)(b); lay(245, 255)(b); lay(280, 290)(b) }, "api-1 240–255 first_served_at=255 late_s=15 reported_at=240 (1)"},
		{"a return that nobody waited for", func(b *table) { lay(0, 230)(b); lay(245, 255)(b) }, whyNoStop},
		{"displayed as gone in the end", func(b *table) { lay(100, 0)(b); b.poll("api-1", StateUnused, 299) }, whyNoStop},
		{"displayed as gone in the end, and it was back", func(b *table) { lay(100, 250)(b); b.poll("api-1", StateUnused, 299) }, "api-1 240–250 first_served_at=250 late_s=10 reported_at=240 (1)"},
		{"not known what it served", func(b *table) { b.cycle("api-1", 100, 0, 0) }, whyServed},
		{"gone for good", func(b *table) { lay(100, 0)(b); b.life("api-1").cycles[0].leaves = true }, whyNoStop},
		{"new, and not serving yet", func(b *table) {
			b.life("api-1", 1)
			c := b.cycle("api-1", 0, 200, 0)
			c.arrives = true
		}, never},
		{"new, and begun after the report", func(b *table) {
			b.life("api-1", 1)
			c := b.cycle("api-1", 0, 241, 0)
			c.arrives = true
		}, whyNoStop},
		{"new, and begun with it", func(b *table) {
			b.life("api-1", 1)
			c := b.cycle("api-1", 0, 240, 0)
			c.arrives = true
		}, never},
	})
}
