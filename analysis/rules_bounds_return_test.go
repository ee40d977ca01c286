package analysis

import (
	"strings"
	"testing"
	"time"
)

func TestReturnedBeforeEjectBounds(t *testing.T) {
	// Two failures 10 s apart eject; a pass is 10 s after the one before.
	died := func(b *table, at, ready, served float64) *cycle {
		b.obs.Service.AppLogs = []AppLog{{Name: "api-1.log"}}
		b.coverage["api-1.log"] = &Coverage{}
		c := b.cycle("api-1", at, ready, served)
		c.restart, c.killed, c.onPurpose = time.Time{}, c.stop, false
		return c
	}
	const fired = "api-1 100–103 down_s=2 failed=map[] interval_s=10 needed_s=10 requests=map[] served_by_others=map[] unhealthy=2"
	tryRule(t, returnedBeforeEject, []tableCase{
		{"nothing would tell a death", func(*table) {}, whySignals},
		{"nothing died", func(b *table) { died(b, 100, 102, 103); b.life("api-1").cycles = nil }, "clear"},
		{"nothing died in what was read", func(b *table) {
			died(b, 100, 102, 103)
			b.life("api-1").cycles = nil
			b.coverage["api-1.log"].Blind = []Blind{{}}
		}, whyAppLogBlind},
		{"the log was never read", func(b *table) {
			died(b, 100, 102, 103)
			b.life("api-1").cycles = nil
			delete(b.coverage, "api-1.log")
		}, whyAppLogBlind},
		{"back at once", func(b *table) { died(b, 100, 102, 103) }, fired},
		{"back at once, with part of the log missing", func(b *table) { died(b, 100, 102, 103); b.coverage["api-1.log"].Blind = []Blind{{}} }, fired},
		{"with failures", func(b *table) {
			died(b, 100, 102, 103)
			b.cell("alb", "api-2", 100, 101, 4)
			b.lost("api-1", 100.1, 100.2).n = 2
			b.lost("api-1", 100.8, 101)
		}, "api-1 100–103 down_s=2 failed=map[user:3] interval_s=10 needed_s=10 requests=map[user:7] served_by_others=map[user:4] unhealthy=2 (3)"},
		{"with an answer that no record puts down to a target", func(b *table) {
			died(b, 100, 102, 103)
			b.prober[ClassProbe] = true
			b.obs.Probes = append(b.obs.Probes, ProbeRequest{Probe: "store", Class: ClassProbe, Run: "r", Sent: b.at(100.2), Done: b.at(100.3), Status: 200, Outcome: OutcomeOK})
			b.lost("api-1", 100.1, 100.2).class = ClassProbe
			b.lost("api-1", 100.8, 101).class = ClassProbe
		}, "api-1 100–103 down_s=2 failed=map[probe:2] interval_s=10 needed_s=10 requests=map[probe:1] served_by_others=map[] unattributed=map[probe:1] unhealthy=2 (2)"},
		{"told to stop as well", func(b *table) { died(b, 100, 102, 103).onPurpose = true }, "clear"},
		{"told to stop, never killed", func(b *table) { died(b, 100, 102, 103).killed = time.Time{} }, "clear"},
		{"gone for good, where nothing else would tell it", func(b *table) {
			died(b, 100, 0, 0).leaves = true
			b.obs.Service.AppLogs = nil
		}, "clear"},
		{"never told to be ready", func(b *table) { died(b, 100, 0, 103); b.poll("api-1", StateHealthy, 90, 110) }, whyServed},
		{"never served again", func(b *table) { died(b, 100, 102, 0); b.poll("api-1", StateHealthy, 90, 110) }, whyServed},
		{"nor is all of the log there", func(b *table) { died(b, 100, 102, 120); b.coverage["api-1.log"].Blind = []Blind{{}} }, whyServed},
		{"in again after two checks, its state was out", func(b *table) {
			died(b, 100, 102, 120)
			b.poll("api-1", StateUnhealthy, 110)
			b.life("api-1").changes = []change{{in: false, before: b.at(109), seen: b.at(110)}}
		}, "clear"},
		{"in again after two checks, not polled", func(b *table) { died(b, 100, 102, 120) }, whyServed},
		{"no settings", func(b *table) {
			died(b, 100, 102, 103)
			b.poll("api-1", StateHealthy, 90, 110)
			b.obs.Service.LoadBalancers[0].TargetGroups[0].Health = HealthCheck{}
		}, "api-1 100–103 down_s=2 failed=map[] interval_s=- needed_s=- requests=map[] served_by_others=map[] unhealthy=-"},
	})
}

func TestReturnedThenFailedBounds(t *testing.T) {
	// It served again at 110; within the check's timeout of 2 s of that, and of its next
	// stop, a failure belongs to the stop.
	lay := func(starts ...float64) func(*table) {
		return func(b *table) {
			b.cycle("api-1", 100, 105, 110)
			for _, s := range starts {
				b.lost("api-1", s, s+.5)
			}
		}
	}
	out := func(before, seen, shown float64) func(*table) {
		return func(b *table) {
			lay()(b)
			b.life("api-1").changes = []change{{in: true, seen: b.at(shown)}, {before: b.at(before), seen: b.at(seen)}}
		}
	}
	// A prober's clock is known to be ahead of the log's, and doubted by 20 s otherwise.
	probed := func(start, ahead float64) func(*table) {
		return func(b *table) {
			lay(130, 150)(b)
			f := b.lost("api-1", start, start+.5)
			f.class, f.source = ClassProbe, "store"
			b.prober[ClassProbe] = true
			b.offsets = []ClockOffset{{"prober", "alb", Interval{-ahead, -ahead}}}
			b.doubt, b.servingClock = 20*time.Second, "alb"
		}
	}
	const three = "api-1 110–150.5 failed=map[user:3] left_rotation=false (3)"
	const left = "api-1 110–110 failed=map[] left_rotation=true"
	tryRule(t, returnedThenFailed, []tableCase{
		{"never back", func(b *table) { b.cycle("api-1", 100, 105, 0); b.lost("api-1", 200, 201).n = 5 }, whyNoStop},
		{"three", lay(112.1, 130, 150), three},
		{"two", lay(112.1, 150), "clear"},
		{"one of them just within the timeout", lay(112, 130, 150), "clear"},
		{"one of them at the end", lay(130, 150, 299.4), "api-1 110–299.9 failed=map[user:3] left_rotation=false (3)"},
		{"one of them after it", lay(130, 150, 299.5), "clear"},
		{"one of them before its return, by the prober's clock", probed(116, 4000), "clear"},
		{"one of them after it, by that", probed(116.1, 4000), "api-1 110–150.5 failed=map[probe:1,user:2] left_rotation=false (2) (1)"},
		{"one of them at its next stop, by that", func(b *table) { probed(154, 4000)(b); b.cycle("api-1", 152.5, 0, 0) }, "clear"},
		{"one of them before it, by that", func(b *table) { probed(153.9, 4000)(b); b.cycle("api-1", 152.6, 0, 0) }, "api-1 110–154.4 failed=map[probe:1,user:2] left_rotation=false (2) (1)"},
		{"one of them by a clock of which nothing is known", func(b *table) { probed(112.1, 4000)(b); b.offsets = nil }, "api-1 110–150.5 failed=map[probe:1,user:2] left_rotation=false (2) (1)"},
		{"one of them another's", func(b *table) { lay(112.1, 130, 150)(b); b.failures[0].target = "api-2" }, "clear"},
		{"one of them the service's background", func(b *table) { lay(112.1, 130, 150)(b); b.failures[0].cause = CauseBackground }, "clear"},
		{"one of them at its next stop", func(b *table) { lay(112.1, 130, 150)(b); b.cycle("api-1", 152.5, 0, 0) }, "clear"},
		{"one of them as another deploy stopped it", func(b *table) { lay(112.1, 130, 150)(b); b.taken("api-1", 152.5) }, "clear"},
		{"another deploy stopped it later", func(b *table) { lay(112.1, 130, 150)(b); b.taken("api-1", 152.6) }, three},
		{"its next stop is later", func(b *table) { lay(112.1, 130, 150)(b); b.cycle("api-1", 152.6, 0, 0) }, three},
		{"it left rotation", out(113, 120, 111), left},
		{"as it was back", out(112, 120, 111), "clear"},
		{"at the end", out(113, 299.9, 111), left},
		{"after it", out(113, 300, 111), "clear"},
		{"at its next stop", func(b *table) { out(113, 120, 111)(b); b.cycle("api-1", 122, 0, 0) }, "clear"},
		{"before its next stop", func(b *table) { out(113, 120, 111)(b); b.cycle("api-1", 122.1, 0, 0) }, left},
		{"its return was not displayed, so this is the old state", out(113, 120, 110), "clear"},
		{"the same of one that died", func(b *table) { out(113, 120, 110)(b); b.life("api-1").cycles[0].onPurpose = false }, left},
		{"another change into rotation", func(b *table) {
			lay()(b)
			b.life("api-1").changes = []change{{in: true, before: b.at(113), seen: b.at(120)}}
		}, "clear"},
	})
}

func TestShutdown5xxBounds(t *testing.T) {
	handled := func(b *table, target string, at float64, status int) *HandledRequest {
		b.obs.Handled = append(b.obs.Handled, HandledRequest{Source: target + ".log", Target: target, Run: "r", Seq: len(b.obs.Handled), At: b.at(at), Status: status})
		return &b.obs.Handled[len(b.obs.Handled)-1]
	}
	lay := func(start, end float64) func(*table) {
		return func(b *table) {
			b.cycle("api-1", 100, 105, 0)
			b.cell("alb", "api-2", 1, 1, 1)
			b.lost("api-1", start, end).outcome = OutcomeTarget5xx
		}
	}
	tryRule(t, shutdown5xx, []tableCase{
		{"nothing stopped", func(b *table) { b.lost("api-1", 101, 102).outcome = OutcomeTarget5xx }, whyNoStop},
		{"a cycle without a stop", func(b *table) { b.cycle("api-1", 0, 105, 0); b.lost("api-1", 1, 2).outcome = OutcomeTarget5xx }, whyNoStop},
		{"no log", func(b *table) { b.cycle("api-1", 100, 105, 0) }, whyNoAccessLog},
		{"while it was stopping", func(b *table) { lay(101, 102)(b); b.lost("api-1", 98, 99).outcome = OutcomeTarget5xx }, "api-1 99–102 failed=map[user:2] pool_exhausted=0 shutdown_began_at=- (2)"},
		{"the timeout before it", lay(97, 98), "clear"},
		{"as it was ready", lay(105, 106), "clear"},
		{"by another", func(b *table) { lay(101, 102)(b); b.failures[0].target = "api-2" }, "clear"},
		{"by its own log, where no access log tells", func(b *table) {
			b.cycle("api-1", 100, 105, 0)
			handled(b, "api-1", 98, 500)    // the timeout before it
			handled(b, "api-1", 98.5, 500)  // within it
			handled(b, "api-1", 104.9, 503) // not yet back
			handled(b, "api-1", 105, 500)   // back
			handled(b, "api-1", 101, 499)   // no 5xx
			handled(b, "api-2", 101, 500)   // another's
			handled(b, "api-1", 101, 500).Begun = true
			health := handled(b, "api-1", 101, 500)
			b.obs.Probes = []ProbeRequest{{Class: ClassHealth, Run: health.Run, Seq: health.Seq}, {Class: ClassProbe, Run: "r", Seq: 2}}
		}, "api-1 98.5–104.9 failed=map[probe:2] pool_exhausted=0 shutdown_began_at=- (2)"},
		{"no log tells, and our own requests do", func(b *table) { lay(101, 102)(b); b.obs.Cells = nil }, "api-1 100–102 failed=map[user:1] pool_exhausted=0 shutdown_began_at=- (1)"},
		{"its log tells no status", func(b *table) { b.cycle("api-1", 100, 105, 0); handled(b, "api-1", 101, 0) }, whyNoAccessLog},
		{"its log tells a status of what it received", func(b *table) { b.cycle("api-1", 100, 105, 0); handled(b, "api-1", 101, 200).Begun = true }, whyNoAccessLog},
		{"its log tells only good ones", func(b *table) { b.cycle("api-1", 100, 105, 0); handled(b, "api-1", 101, 200) }, "clear"},
		{"what the access log tells is not told twice", func(b *table) { lay(101, 102)(b); handled(b, "api-1", 101, 500) }, "api-1 100–102 failed=map[user:1] pool_exhausted=0 shutdown_began_at=- (1)"},
		{"with its own shutdown and a pool that ran dry", func(b *table) {
			lay(101, 102)(b)
			b.stoppings = []stopping{{target: "api-1", began: b.at(98)}, {target: "api-1", began: b.at(97.9)}, {target: "api-1", began: b.at(105.1)}, {target: "api-2", began: b.at(101)}}
			b.signals = map[Event][]*Signal{EventPoolExhausted: {{Event: EventPoolExhausted, Target: "api-1", At: b.at(101)}, {Event: EventPoolExhausted, Target: "api-1", At: b.at(102)}}}
		}, "api-1 100–102 failed=map[user:1] pool_exhausted=2 shutdown_began_at=98 (1) (2)"},
		{"a shutdown that began as it was back", func(b *table) {
			lay(101, 102)(b)
			b.stoppings = []stopping{{target: "api-1", began: b.at(105)}}
		}, "api-1 100–102 failed=map[user:1] pool_exhausted=0 shutdown_began_at=105 (1)"},
		{"made by the load balancer", func(b *table) { lay(101, 102)(b); b.failures[0].outcome = OutcomeLB5xx }, "clear"},
		{"a health sample", func(b *table) { lay(101, 102)(b); b.failures[0].class = ClassHealth }, "clear"},
		{"never back: until the end", func(b *table) { lay(299, 301)(b); b.life("api-1").cycles[0].ready = time.Time{} }, "api-1 100–301 failed=map[user:1] pool_exhausted=0 shutdown_began_at=- (1)"},
	})
}

func TestRotationRuleBounds(t *testing.T) {
	single := func(from, to float64) func(*table) {
		return func(b *table) {
			b.life("api-1", 1)
			b.life("api-2", 1)
			b.report.SingleTarget = []TargetSpan{{"api-2", b.span(from, to)}}
		}
	}
	tryRule(t, singleTarget, []tableCase{
		{"nobody served", func(b *table) { single(100, 110)(b); b.life("api-1").points, b.life("api-2").points = nil, nil }, whyServed},
		{"there is one only", func(b *table) { single(100, 110)(b); b.lives = b.lives[:1] }, whyOneTarget},
		{"for 10 s", func(b *table) {
			single(100, 110)(b)
			b.cell("alb", "api-2", 100, 100.5, 3)
			b.cell("alb", "api-2", 109, 110, 7)                  // ends outside
			b.cell("alb", "api-2", 99.9, 100.5, 7)               // begins outside
			b.cell("alb", "api-1", 105, 106, 7)                  // another's
			b.cell("edge", "api-2", 105, 106, 7)                 // does not count
			b.cell("alb", "api-2", 105, 106, 7).TargetStatus = 0 // not answered
		}, "api-2 100–110 others=[api-1] requests=map[user:3] seconds=10 (3)"},
		{"the other one is of another group", func(b *table) { single(100, 110)(b); b.life("api-1").group = "web" }, "api-2 100–110 others=[] requests=map[] seconds=10"},
		{"nobody alone, and one displayed as gone", func(b *table) { single(50, 60)(b); b.undecided = true }, whyServed},
		{"alone, and another time one displayed as gone", func(b *table) { single(100, 110)(b); b.undecided = true }, "api-2 100–110 others=[api-1] requests=map[] seconds=10"},
		{"until the deploy began", single(50, 60), "clear"},
		{"beyond its beginning", single(50, 61), "api-2 50–61 others=[api-1] requests=map[] seconds=11"},
	})
	zero := func(from, to float64) func(*table) {
		return func(b *table) {
			b.life("api-1", 1)
			b.zero = []TargetGroupSpan{{"api", b.span(from, to)}}
		}
	}
	tryRule(t, zeroTargets, []tableCase{
		{"nobody served", func(b *table) { zero(100, 110)(b); b.life("api-1").points = nil }, whyServed},
		{"for 10 s", func(b *table) {
			zero(100, 110)(b)
			b.lost("", 99, 99.9).n = 7
			b.lost("", 99, 100).n = 2
			b.lost("", 109, 109.9)
			b.lost("", 109, 110)
			b.lost("", 109, 110.1).n = 7
			b.lost("", 105, 106).class = ClassProbe
		}, "100–110 failed_user=4 seconds=10 (4)"},
		{"of one group of two", func(b *table) {
			zero(100, 110)(b)
			b.life("api-2").group = "web"
			b.lost("", 105, 106)
			b.lost("", 105, 106).group = "api"
			b.lost("", 105, 106).group = "web"
		}, "100–110 failed_user=2 seconds=10 target_group=api (2)"},
		{"perhaps", func(b *table) { zero(50, 60)(b); b.maybeZero = []TargetGroupSpan{{"api", b.span(100, 110)}} }, whyServed},
		{"once surely, once perhaps", func(b *table) { zero(100, 110)(b); b.maybeZero = b.zero }, "100–110 failed_user=0 seconds=10"},
		{"until the deploy began", zero(50, 60), "clear"},
		{"beyond its beginning", zero(50, 61), "50–61 failed_user=0 seconds=11"},
	})
}

func TestReregisteredBounds(t *testing.T) {
	lay := func(states ...TargetState) func(*table) { // one poll each from 80 on
		return func(b *table) {
			c := b.cycle("api-1", 100, 120, 0)
			c.deregistered = b.at(80)
			for i, s := range states {
				b.poll("api-1", s, 80+float64(i))
			}
		}
	}
	registered := func(target string, kind StepKind, at float64) func(*table) {
		return func(b *table) {
			lay(StateHealthy, StateDraining, StateHealthy)(b)
			b.steps = []step{{Step: Step{Kind: kind, Target: target, At: b.at(at), Source: "ci"}}}
		}
	}
	tryRule(t, reregistered, []tableCase{
		{"no states", func(b *table) { lay()(b) }, whyNoStates},
		{"nothing deregistered", func(b *table) {
			lay(StateDraining, StateDraining, StateHealthy)(b)
			b.life("api-1").cycles[0].deregistered = time.Time{}
		}, whyNoMark},
		{"in the poll of that moment already out", lay(StateDraining, StateHealthy), "clear"},
		{"draining, then in", lay(StateHealthy, StateDraining, StateHealthy), "api-1 82–120 after_s=2 state=healthy (1)"},
		{"unused, then initial", lay(StateHealthy, StateUnused, StateInitial, StateHealthy), "api-1 82–120 after_s=2 state=initial (1)"},
		{"UNUSED, then unhealthy", lay(StateHealthy, StateUnusedNCP, StateUnhealthy), "api-1 82–120 after_s=2 state=unhealthy (1)"},
		{"still displayed as in, then draining", lay(StateHealthy, StateHealthy, StateDraining), "clear"},
		{"draining, then unused", lay(StateHealthy, StateDraining, StateUnused), "clear"},
		{"in all the while", lay(StateHealthy, StateHealthy, StateHealthy), "clear"},
		{"draining, then a word of its own, then in", lay(StateHealthy, StateDraining, "moving", StateHealthy), "api-1 83–120 after_s=3 state=healthy (1)"},
		{"in when it was ready", func(b *table) { lay(StateHealthy, StateDraining)(b); b.poll("api-1", StateHealthy, 120) }, "clear"},
		{"never ready: until the end of what was seen", func(b *table) {
			lay(StateHealthy, StateDraining)(b)
			b.life("api-1").cycles[0].ready = time.Time{}
			b.poll("api-1", StateHealthy, 299)
		}, "api-1 299–300 after_s=219 state=healthy (1)"},
		{"registered again by the deploy before", func(b *table) {
			registered("api-1", StepTargetRegistered, 82)(b)
		}, "clear"},
		{"before the deploy registered it again", registered("api-1", StepTargetRegistered, 82.1), "api-1 82–82.1 after_s=2 state=healthy (1)"},
		{"another target was registered", registered("api-2", StepTargetRegistered, 82), "api-1 82–120 after_s=2 state=healthy (1)"},
		{"something else was done to it", registered("api-1", StepDrainMarked, 82), "api-1 82–120 after_s=2 state=healthy (1)"},
		{"registered as it was deregistered", registered("api-1", StepTargetRegistered, 80), "api-1 82–120 after_s=2 state=healthy (1)"},
		{"registered after it was ready", registered("api-1", StepTargetRegistered, 130), "api-1 82–120 after_s=2 state=healthy (1)"},
		{"perhaps by then, with clocks in doubt", func(b *table) { registered("api-1", StepTargetRegistered, 84)(b); b.doubt = 2 * time.Second }, "clear"},
		{"surely before, with clocks in doubt", func(b *table) { registered("api-1", StepTargetRegistered, 84.1)(b); b.doubt = 2 * time.Second }, "api-1 82–84.1 after_s=2 state=healthy (1)"},
		{"perhaps ready by then", func(b *table) { lay(StateHealthy, StateDraining, StateHealthy)(b); b.doubt = 38 * time.Second }, "clear"},
		{"perhaps serving by then", func(b *table) {
			lay(StateHealthy, StateDraining, StateHealthy)(b)
			b.doubt, b.servingClock = 10*time.Second, "alb"
			b.life("api-1").cycles[0].ready, b.life("api-1").cycles[0].firstServed = time.Time{}, b.at(92)
		}, "clear"},
	})
}

func TestRestartBeforeEjectBounds(t *testing.T) {
	lay := func(b *table) *cycle {
		c := b.cycle("api-1", 100, 105, 110)
		c.lastServed = b.at(99)
		return c
	}
	// The prober is known to be 4 s ahead of the log.
	probed := func(b *table, start float64) {
		f := b.lost("api-1", start, start+.5)
		f.class, f.source = ClassProbe, "store"
		b.prober[ClassProbe] = true
		b.offsets, b.servingClock = []ClockOffset{{"prober", "alb", Interval{-4000, -4000}}}, "alb"
	}
	const alone = "api-1 100–105 failed_probe=0 failed_user=1 last_served_at=99 marked_at=- predicted_from_s=10 predicted_to_s=22 sent_after_stop=map[] stop_at=100 wait_s=- (1)"
	tryRule(t, restartBeforeEject, []tableCase{
		{"no deploy", func(b *table) { lay(b); b.obs.Deploy.ID = "" }, whyNoDeploy},
		{"nothing stopped", func(*table) {}, whyNoStop},
		{"a fault", func(b *table) { b.obs.Deploy.Kind = KindFault }, whyNotApply},
		{"a target that was started, not stopped", func(b *table) {
			c := lay(b)
			c.stop, c.arrives = time.Time{}, true
			b.lost("api-1", 101, 102)
		}, whyNoStop},
		{"it died", func(b *table) { lay(b).onPurpose = false; b.lost("api-1", 101, 102) }, whyNoStop},
		{"a fault, in which somebody stopped it", func(b *table) { lay(b); b.obs.Deploy.Kind = KindFault }, whyNoAccessLog},
		{"no log, no failure", func(b *table) { lay(b) }, whyNoAccessLog},
		{"too little traffic to tell", func(b *table) { lay(b); b.cell("alb", "api-2", 101, 102, 1) }, whyServed},
		{"enough traffic went elsewhere", func(b *table) { lay(b); b.cell("alb", "api-2", 101, 102, 100) }, "clear"},
		{"one user failed", func(b *table) { lay(b); b.lost("api-1", 101, 102) }, alone},
		{"one probe failed, after a mark", func(b *table) {
			lay(b).marked = b.at(90)
			b.lost("api-1", 101, 102).class = ClassProbe
		}, "api-1 100–105 failed_probe=1 failed_user=0 last_served_at=99 marked_at=90 predicted_from_s=10 predicted_to_s=22 sent_after_stop=map[] stop_at=100 wait_s=10 (1)"},
		{"one probe failed before it was ready, by the log's clock", func(b *table) { lay(b); probed(b, 108.9) }, "api-1 100–105 failed_probe=1 failed_user=0 last_served_at=99 marked_at=- predicted_from_s=10 predicted_to_s=22 sent_after_stop=map[] stop_at=100 wait_s=- (1)"},
		{"as it was ready, by that", func(b *table) { lay(b); probed(b, 109) }, whyNoAccessLog},
		{"another deploy's", func(b *table) { lay(b); b.lost("api-1", 101, 102).cause = CauseShared }, whyNoAccessLog},
		{"one that it had as it was stopped", func(b *table) { lay(b); b.lost("api-1", 100, 101); b.cell("alb", "api-2", 101, 102, 100) }, "clear"},
		{"one that it had then, by the clocks", func(b *table) {
			lay(b)
			b.doubt = time.Second
			b.lost("api-1", 101, 102)
			b.cell("alb", "api-2", 101, 102, 100)
		}, "clear"},
		{"one as it was ready", func(b *table) { lay(b); b.lost("api-1", 105, 106); b.cell("alb", "api-2", 101, 102, 100) }, "clear"},
		{"two of four that were sent there meanwhile", func(b *table) {
			lay(b)
			b.lost("api-1", 100, 101)
			b.lost("api-1", 101, 102)
			b.lost("api-1", 104.9, 106)
			b.lost("api-1", 105, 107)
		}, "api-1 100–105 failed_probe=0 failed_user=4 last_served_at=99 marked_at=- predicted_from_s=10 predicted_to_s=22 sent_after_stop=map[] stop_at=100 wait_s=- (4)"},
		{"at each of its stops", func(b *table) {
			lay(b)
			b.cycle("api-1", 200, 205, 210).lastServed = b.at(199)
			b.lost("api-1", 101, 102)
			b.lost("api-1", 201, 202)
		}, alone + "; " + strings.NewReplacer("100", "200", "105", "205", "99", "199").Replace(alone)},
		{"clients went away", func(b *table) {
			lay(b)
			for _, at := range []float64{100, 101, 104.9, 105} { // at the stop it may have been before, and then it is ready
				left := b.cell("alb", "api-1", at, at+1, 2)
				left.Outcome, left.Status, left.TargetStatus = OutcomeClientAbort, 460, 0
			}
		}, "api-1 100–105 failed_probe=0 failed_user=0 last_served_at=99 marked_at=- predicted_from_s=10 predicted_to_s=22 sent_after_stop=map[user:4] stop_at=100 wait_s=- (4)"},
		{"clients went away from what it answered, from another target, in another log", func(b *table) {
			lay(b)
			b.cell("alb", "api-1", 101, 102, 1).Outcome = OutcomeClientAbort
			for _, of := range []*Cell{b.cell("alb", "api-2", 101, 102, 100), b.cell("edge", "api-1", 101, 102, 1)} {
				of.Outcome, of.TargetStatus = OutcomeClientAbort, 0
			}
		}, "clear"},
		{"of another cause", func(b *table) {
			lay(b)
			b.lost("api-1", 101, 102).cause = CauseUnexplained
			b.cell("alb", "api-2", 101, 102, 100)
		}, "clear"},
		{"at another target", func(b *table) { lay(b); b.lost("api-2", 101, 102); b.cell("alb", "api-2", 101, 102, 100) }, "clear"},
		{"at another stop of it", func(b *table) {
			lay(b)
			c := b.cycle("api-1", 200, 205, 210)
			c.lastServed = b.at(199)
			b.lost("api-1", 101, 102)
		}, alone},
		{"sent after the stop, no settings", func(b *table) {
			lay(b)
			r := Request{CellKey: b.cell("alb", "api-1", 101, 111, 1).CellKey, Start: b.at(101), End: b.at(111)}
			r.Outcome = OutcomeTimeout
			b.obs.Requests = append(b.obs.Requests, r)
			b.obs.Service.LoadBalancers[0].TargetGroups[0].Health = HealthCheck{}
		}, "api-1 100–105 failed_probe=0 failed_user=0 last_served_at=99 marked_at=- predicted_from_s=- predicted_to_s=- sent_after_stop=map[user:1] stop_at=100 wait_s=- (1)"},
	})
}

func TestRetryMaskedBounds(t *testing.T) {
	cell := func(b *table, first, last float64, n, masked int) *Cell {
		c := b.cell("edge", "api-2", first, last, n)
		c.Masked = masked
		return c
	}
	hidden := func(b *table, start, end float64, on ...string) *Request {
		b.obs.Requests = append(b.obs.Requests, Request{CellKey: CellKey{Source: "edge", Class: ClassUser, Outcome: OutcomeOK}, Start: b.at(start), End: b.at(end), FailedOn: on})
		return &b.obs.Requests[len(b.obs.Requests)-1]
	}
	const two = "api-1 100–102 baseline=0 baseline_requests=0 failed_attempts=2 failed_on=[api-1] masked=2 requests=5 source=edge traffic=user (2)"
	tryRule(t, retryMasked, []tableCase{
		{"no proxy", func(b *table) { b.obs.Service.LoadBalancers[0].AccessLogs[1].Kind = "alb"; cell(b, 100, 102, 5, 2) }, whyNoAttempts},
		{"the log does not say who was asked", func(b *table) { cell(b, 100, 102, 5, 2).Target = "" }, whyNoAttempts},
		{"nothing hidden", func(b *table) { cell(b, 100, 102, 5, 0) }, "clear"},
		{"two hidden", func(b *table) { cell(b, 100, 102, 5, 2); hidden(b, 100, 101, "api-1"); hidden(b, 101, 102, "api-1") }, two},
		{"a row without a target, too", func(b *table) {
			cell(b, 100, 102, 4, 2)
			cell(b, 100, 102, 1, 0).Target = ""
			hidden(b, 100, 101, "api-1")
			hidden(b, 101, 102, "api-1")
		}, two},
		{"one of two kept, and one that hid nothing", func(b *table) {
			cell(b, 100, 102, 5, 2)
			hidden(b, 100, 101, "api-1")
			hidden(b, 100, 101)
		}, "100–102 baseline=0 baseline_requests=0 failed_attempts=2 failed_on=[api-1] masked=2 requests=5 source=edge traffic=user (2)"},
		{"by a log that cannot tell, too", func(b *table) {
			cell(b, 100, 102, 5, 2)
			hidden(b, 100, 101, "api-1")
			hidden(b, 101, 102, "api-1")
			b.cell("alb", "api-2", 100, 102, 9).Masked = 9
		}, two},
		{"a failure of its own, one without another try, and those outside, are none", func(b *table) {
			cell(b, 100, 102, 5, 2)
			hidden(b, 100, 101, "api-1")
			hidden(b, 101, 102, "api-1")
			hidden(b, 101, 102, "api-2").Outcome = OutcomeLB5xx
			hidden(b, 101, 102)
			hidden(b, 58, 59.9, "api-2")
			hidden(b, 300, 301, "api-2")
			hidden(b, 101, 102, "api-2").Source = "alb"
		}, two},
		{"that ended as the deploy began, and that began before the end", func(b *table) {
			cell(b, 60, 60, 1, 1)
			cell(b, 299, 301, 1, 1)
			hidden(b, 59, 60, "api-1")
			hidden(b, 299, 301, "api-2")
		}, "60–301 baseline=0 baseline_requests=0 failed_attempts=2 failed_on=[api-1,api-2] masked=2 requests=2 source=edge traffic=user (2)"},
		{"before and after", func(b *table) {
			cell(b, 50, 59.9, 20, 3)
			cell(b, 60, 61, 5, 1)
			cell(b, 90, 95, 5, 0)
			cell(b, 70, 71, 5, 1)
			cell(b, 65, 66, 5, 1)
			cell(b, 300, 300, 50, 50)
		}, "60–71 baseline=3 baseline_requests=20 failed_attempts=3 failed_on=[] masked=3 requests=20 source=edge traffic=user (3)"},
		{"the log does not say on whom", func(b *table) { cell(b, 100, 102, 5, 1); hidden(b, 100, 101, "") }, "100–102 baseline=0 baseline_requests=0 failed_attempts=1 failed_on=[] masked=1 requests=5 source=edge traffic=user (1)"},
		{"by class", func(b *table) {
			cell(b, 100, 102, 5, 2)
			cell(b, 100, 102, 6, 1).Class = ClassProbe
		}, "100–102 baseline=0 baseline_requests=0 failed_attempts=1 failed_on=[] masked=1 requests=6 source=edge traffic=probe (1); " +
			"100–102 baseline=0 baseline_requests=0 failed_attempts=2 failed_on=[] masked=2 requests=5 source=edge traffic=user (2)"},
	})
}

func TestStateLagBounds(t *testing.T) {
	// Three polls of 1 s and a usual pause of 1 s: 4 s may pass.
	lay := func(out, in float64) func(*table) { // the last polls with the old states
		return func(b *table) {
			c := b.cycle("api-1", 92, 105, 110)
			c.lastServed = b.at(90)
			b.poll("api-1", StateHealthy, 1)
			l := b.life("api-1")
			l.usualPause = time.Second
			l.changes = []change{{before: b.at(out), seen: b.at(out + 1)}, {in: true, before: b.at(in), seen: b.at(in + 1)}}
		}
	}
	tryRule(t, stateLag, []tableCase{
		{"no states", func(*table) {}, whyNoStates},
		{"no change", func(b *table) { lay(94, 114)(b); b.life("api-1").changes = nil }, whyNoChange},
		{"as far as can be explained", lay(94, 114), "clear"},
		{"later out", lay(94.5, 114), "api-1 92–110 down_from_s=4.5 down_to_s=5.5 up_from_s=4 up_to_s=5 (2)"},
		{"later in", lay(94, 114.5), "api-1 92–110 down_from_s=4 down_to_s=5 up_from_s=4.5 up_to_s=5.5 (2)"},
		{"never back", func(b *table) {
			lay(94.5, 114)(b)
			c := &b.life("api-1").cycles[0]
			c.ready, c.firstServed = time.Time{}, time.Time{}
			b.life("api-1").changes = b.life("api-1").changes[:1]
		}, "api-1 92–92.000001 down_from_s=4.5 down_to_s=5.5 up_from_s=- up_to_s=- (1)"},
	})
}

func TestSurgeAndVersionRuleBounds(t *testing.T) {
	lay := func(b *table, outcome Outcome, alone bool) {
		b.surges = []surge{{ClassUser, outcome, "order", BaselineTest{BaselineFailures: 1, BaselineRequests: 100, WindowFailures: 50, WindowRequests: 400, P: .001}, alone, nil}}
		b.phase("baseline", 0, 60).Traffic[ClassUser] = &Counts{Requests: 100}
		b.phase("build", 60, 300).Traffic[ClassUser] = &Counts{Requests: 400}
		b.cell("alb", "api-1", 1, 1, 1)
	}
	const fired = "60–300 baseline=1 baseline_requests=100 outcome=rejected p=0.001 route=order traffic=user window=50 window_requests=400 (50)"
	tryRule(t, surgeRule(OutcomeRejected), []tableCase{
		{"nothing measured", func(*table) {}, whyNoAccessLog},
		{"a surge", func(b *table) { lay(b, OutcomeRejected, false) }, fired},
		{"of something else", func(b *table) { lay(b, OutcomeClientAbort, false) }, "clear"},
		{"with nothing to compare", func(b *table) { lay(b, OutcomeRejected, true); b.report.Phases[0].Traffic[ClassUser].Requests = 0 }, whyNoBaseline},
		{"with nothing before and nothing after", func(b *table) {
			lay(b, OutcomeClientAbort, true)
			b.report.Phases[0].Traffic[ClassUser].Requests, b.report.Phases[1].Traffic[ClassUser].Requests = 0, 0
		}, "clear"},
		{"with nothing to compare on its route", func(b *table) { lay(b, OutcomeRejected, true) }, whyNoBaseline},
		{"with nothing to compare on the route of another outcome", func(b *table) { lay(b, OutcomeClientAbort, true) }, "clear"},
		{"on one route, with nothing to compare on another", func(b *table) {
			lay(b, OutcomeRejected, false)
			b.surges = append(b.surges, surge{class: ClassUser, outcome: OutcomeRejected, route: "menu", alone: true})
		}, fired},
		{"that came together", func(b *table) {
			lay(b, OutcomeRejected, false)
			b.surges[0].gathering = &gathering{from: b.at(100), to: b.at(105), n: 40}
		}, "100–105 baseline=1 baseline_requests=100 outcome=rejected p=0.001 route=order together=40 traffic=user window=50 window_requests=400 within_s=5 (40)"},
		{"of users, while probes have nothing to compare", func(b *table) {
			lay(b, OutcomeRejected, false)
			b.report.Phases[1].Traffic[ClassProbe] = &Counts{Requests: 5}
		}, fired},
		{"probes alone are measured", func(b *table) { b.prober[ClassProbe] = true }, "clear"},
		{"users alone are measured", func(b *table) { b.cell("alb", "api-1", 1, 1, 1) }, "clear"},
	})
	versions := func(b *table) {
		b.obs.Deploy.VersionBefore, b.obs.Deploy.VersionAfter = "1", "2"
		b.versionsCompared = true
	}
	tryRule(t, versionWorse, []tableCase{
		{"versions not told", func(b *table) { b.versionsCompared = true }, whyVersions},
		{"the same version", func(b *table) { versions(b); b.obs.Deploy.VersionAfter = "1" }, whyVersions},
		{"never both at work", func(b *table) { versions(b); b.versionsCompared = false }, whyServed},
		{"none worse", versions, "clear"},
		{"two routes of users, one of probes", func(b *table) {
			versions(b)
			b.worse = map[routeKey]*worse{
				{ClassUser, "b"}:  {old: arm{1, 100}, new: arm{20, 200}, p: .001},
				{ClassUser, "a"}:  {old: arm{0, 10}, new: arm{7, 9}, p: .002},
				{ClassProbe, "c"}: {old: arm{0, 1}, new: arm{8, 8}, p: .003},
			}
		}, "60–300 new_failed=7 new_requests=9 old_failed=0 old_requests=10 p=0.002 route=a traffic=user (7); " +
			"60–300 new_failed=20 new_requests=200 old_failed=1 old_requests=100 p=0.001 route=b traffic=user (20); " +
			"60–300 new_failed=8 new_requests=8 old_failed=0 old_requests=1 p=0.003 route=c traffic=probe (8)"},
	})
}

func TestHealthSampleClaimCounts(t *testing.T) {
	lay := func(b *table) {
		b.obs.Claims = []TypedClaim{{ID: "c1", About: ClassUser, Basis: ClassHealth, Text: "fine"}}
		b.prober[ClassHealth] = true
		for i := range 5 { // one before the claim's scope, one after it
			b.obs.Probes = append(b.obs.Probes, ProbeRequest{Class: ClassHealth, Sent: b.at(59.9 + 60.025*float64(i))})
		}
		b.lost("api-1", 100, 101).class = ClassHealth
	}
	const head = "60–300 claim=c1 health_failures=1 health_requests=3 needs=["
	tryRule(t, healthSampleClaim, []tableCase{
		{"nobody claims", func(b *table) { lay(b); b.obs.Claims = nil }, "clear"},
		{"health samples alone", lay, head + "access_log,probes] state=untested text=fine told=true user_failures=- user_requests=- (3)"},
		{"nothing at all", func(b *table) { lay(b); b.prober[ClassHealth] = false }, "60–300 claim=c1 health_failures=- health_requests=- needs=[access_log,probes] state=untested text=fine told=true user_failures=- user_requests=-"},
		{"a log that is not whole", func(b *table) {
			lay(b)
			b.prober[ClassProbe] = true
			b.cell("alb", "api-1", 60, 60, 4)
			b.lost("api-1", 100, 101).n = 2
		}, head + "whole_access_log] state=disproved text=fine told=true user_failures=2 user_requests=4 (3)"},
		{"said of probes", func(b *table) { lay(b); b.obs.Claims[0].About = ClassProbe }, "clear"},
	})
}
