package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// course judges and prints the phases: each with its beginning and, after a plus, those
// that are under way besides the one it is named for; and where the last one ends.
func (s *shape) course() string {
	var list []string
	end := time.Time{}
	for _, p := range Judge(s.obs).Phases {
		word := fmt.Sprintf("%s %g", p.Name, p.From.Sub(s.zero).Seconds())
		for _, target := range p.Targets {
			if !strings.HasPrefix(p.Name, target+" ") {
				word += " +" + target
			}
		}
		list = append(list, word)
		end = p.To.Time
	}
	return strings.Join(append(list, fmt.Sprintf("end %g", end.Sub(s.zero).Seconds())), ", ")
}

// up lets a target serve once a second, from one moment to the next, and again from the
// third to the fourth, and so on.
func (s *shape) up(target string, at ...float64) {
	for i := 0; i < len(at); i += 2 {
		s.serve("alb", "api", target, 1, at[i], at[i+1], false)
	}
}

// away lets a target be told to stop, be ready and serve again, all of it but what is 0.
func (s *shape) away(target string, stop, ready, served float64) {
	s.step(StepRestartBegan, target, stop)
	if ready > 0 {
		s.step(StepAppReady, target, ready)
	}
	s.up(target, 0, stop)
	if served > 0 {
		s.up(target, served, 300)
	}
}

func (s *shape) polled(source, target string, state TargetState, at float64) {
	s.obs.States = append(s.obs.States, StateSample{Source: source, TargetGroup: "api", Target: target, At: s.at(at), State: state})
}

type courseCase struct {
	name string
	lay  func(*shape)
	want string
}

func tryCourse(t *testing.T, cases []courseCase) {
	t.Helper()
	for _, c := range cases {
		s := newShape(t, "a", "b")
		c.lay(s)
		if got := s.course(); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}

// The deploy starts at 60 and reports at 240; the window ends at 300.
func TestWhenTargetsAreAtRisk(t *testing.T) {
	for _, c := range []struct {
		name string
		lay  func(*shape)
		want string
	}{
		{"until it serves again", func(s *shape) { s.up("b", 0, 300); s.away("a", 100, 110, 120) }, "[100–120]"},
		{"nobody tells that it was ready", func(s *shape) { s.up("b", 0, 300); s.away("a", 100, 0, 120) }, "[100–120]"},
		{"nobody tells that it stopped", func(s *shape) {
			s.up("b", 0, 300)
			s.up("a", 0, 100, 120, 300)
			s.step(StepAppReady, "a", 110)
		}, "[99–120]"},
		{"from the drain on", func(s *shape) { s.up("b", 0, 300); s.away("a", 100, 110, 120); s.step(StepDrainMarked, "a", 90) }, "[90–120]"},
		{"it never serves again", func(s *shape) { s.up("b", 0, 300); s.away("a", 100, 110, 0) }, "[100–300]"},
		{"of two at once, until the later one serves", func(s *shape) { s.away("a", 100, 110, 130); s.away("b", 105, 115, 120) }, "[100–130]"},
		{"one after the other", func(s *shape) { s.away("a", 100, 110, 112); s.away("b", 150, 160, 165) }, "[100–112 150–165]"},
		{"twice", func(s *shape) {
			s.up("b", 0, 300)
			s.up("a", 0, 100, 106, 150, 157, 300)
			s.restart("a", 100, 105)
			s.restart("a", 150, 155)
		}, "[100–106 150–157]"},
		{"a target that nothing else names", func(s *shape) {
			s.up("a", 0, 300)
			s.appStep(StepRestartBegan, "c", 100)
			s.appStep(StepAppReady, "c", 110)
		}, "[100–240]"},
		{"two versions at once", func(s *shape) { // b takes the place of a
			s.obs.Deploy.Kind = KindBlueGreen
			s.step(StepRestartBegan, "b", 60)
			s.step(StepAppReady, "b", 70)
			s.up("b", 71, 300)
			s.up("a", 0, 300)
		}, "[71–240]"},
		{"a switch", func(s *shape) { s.up("a", 0, 300); s.step(StepTrafficSwitched, "", 100) }, "[100–240]"},
		{"nothing is taken down", func(s *shape) { s.up("a", 0, 300) }, "[]"},
	} {
		s := newShape(t, "a", "b")
		c.lay(s)
		var spans []string
		for _, in := range (&bench{report: Judge(s.obs)}).riskySpans() {
			spans = append(spans, fmt.Sprintf("%g–%g", in.from.Sub(s.zero).Seconds(), in.to.Sub(s.zero).Seconds()))
		}
		if got := fmt.Sprint(spans); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A few users came until 50, and many from 120 on, by when the target that was drained
// from 70, stopped at 80 and ready at 90 served with the other: nobody was there while it
// was away.
func TestNobodyWhileATargetWasAway(t *testing.T) {
	for _, ready := range []bool{true, false} {
		s := newShape(t, "a", "b")
		s.up("a", 40, 50, 120, 300)
		s.up("b", 40, 50, 120, 300)
		s.step(StepDrainMarked, "a", 70)
		s.step(StepRestartBegan, "a", 80)
		if ready {
			s.step(StepAppReady, "a", 90)
		}
		s.serve("alb", "api", "b", 40, 120, 240, false)
		r := Judge(s.obs)
		s.claim(r, ClaimNoUserFailureCaused, Untested, ReasonNobodyThere)
		s.condition(r, "low-traffic")
	}
}

// The deploy starts at 60 and reports at 240; the window ends at 300.
func TestWhatOpensAPhase(t *testing.T) {
	blueGreen := func(s *shape) { // b takes the place of a
		s.obs.Deploy.Kind = KindBlueGreen
		s.step(StepRestartBegan, "b", 60)
		s.step(StepAppReady, "b", 70)
		s.up("b", 71, 300)
	}
	tryCourse(t, []courseCase{
		{"twice round", func(s *shape) {
			s.up("b", 0, 300)
			s.restart("a", 100, 105)
			s.restart("a", 150, 155)
			s.up("a", 0, 100, 106, 150, 156, 300)
		}, "baseline 0, build 60, a restart 100, a back 105, a restart 2 150, a back 2 155, tail 240, end 300"},
		{"told to stop, killed, and back", func(s *shape) {
			s.up("b", 0, 300)
			s.away("a", 100, 110, 111)
			s.step(StepProcessKilled, "a", 101)
		}, "baseline 0, build 60, a restart 100, a down 101, a back 110, tail 240, end 300"},
		{"a log of a target that nothing else names", func(s *shape) {
			s.up("a", 0, 300)
			s.appStep(StepRestartBegan, "c", 100)
			s.appStep(StepProcessKilled, "c", 101)
			s.appStep(StepAppReady, "c", 110)
		}, "baseline 0, build 60, c restart 100, c down 101, c back 110, tail 240, end 300"},
		{"an old target restarts before it stops for good", func(s *shape) {
			blueGreen(s)
			s.restart("a", 100, 105)
			s.step(StepRestartBegan, "a", 150)
			s.step(StepProcessKilled, "a", 151)
			s.up("a", 0, 100, 106, 150)
		}, "baseline 0, b boot 60, overlap 71 +b +a, a restart 100, a back 105, a stop 150, tail 240, end 300"},
		{"an old target dies unasked", func(s *shape) {
			blueGreen(s)
			s.step(StepProcessKilled, "a", 150)
			s.up("a", 0, 150)
		}, "baseline 0, b boot 60, overlap 71 +b +a, a down 150, tail 240, end 300"},
		{"a new target restarts once it served", func(s *shape) {
			blueGreen(s)
			s.up("a", 0, 300)
			s.restart("b", 200, 205)
		}, "baseline 0, b boot 60, overlap 71 +b +a, b restart 200, b back 205, tail 240, end 300"},
		{"two targets drain", func(s *shape) {
			s.up("a", 0, 300)
			s.up("b", 0, 300)
			s.step(StepDrainMarked, "a", 100)
			s.step(StepDrainMarked, "b", 101)
		}, "baseline 0, build 60, a drain 100, b drain 101 +a, tail 240, end 300"},
		{"one drains, marked and deregistered", func(s *shape) {
			s.up("a", 0, 300)
			s.step(StepDrainMarked, "a", 100)
			s.step(StepTargetDeregistered, "a", 103)
		}, "baseline 0, build 60, a drain 100, tail 240, end 300"},
		{"switched, and back", func(s *shape) {
			s.up("a", 0, 300)
			s.step(StepTrafficSwitched, "", 100)
			s.step(StepTrafficSwitched, "", 110)
		}, "baseline 0, build 60, switch 100, switch 2 110, tail 240, end 300"},
		{"no deploy and no step", func(s *shape) { s.obs.Deploy, s.obs.Steps = Deploy{}, nil; s.up("a", 0, 300) }, "whole 0, end 300"},
		{"no deploy, and a step that opens nothing", func(s *shape) {
			s.obs.Deploy = Deploy{}
			s.obs.Steps = []Step{{Kind: StepBuildFinished, At: s.at(100)}}
		}, "whole 0, end 300"},
		{"no deploy, and a restart", func(s *shape) {
			s.obs.Deploy, s.obs.Steps = Deploy{}, nil
			s.appStep(StepRestartBegan, "a", 100)
			s.appStep(StepAppReady, "a", 105)
		}, "baseline 0, a restart 100, a back 105, end 300"},
		{"a deploy without steps", func(s *shape) { s.obs.Steps = nil; s.up("a", 0, 300) }, "baseline 0, tail 240, end 300"},
	})
}

func TestWhenTheTailBegins(t *testing.T) {
	const open, shut = "baseline 0, build 60, a restart 100, tail 240, end 300", "baseline 0, build 60, a restart 100, end 300"
	gone := func(s *shape) { // a stops and is not seen again
		s.up("b", 0, 300)
		s.away("a", 100, 0, 0)
	}
	arrives := func(s *shape) { s.step(StepTargetRegistered, "c", 70) }
	cases := []courseCase{
		{"not before the report", func(s *shape) { s.up("b", 0, 300); s.away("a", 100, 105, 106) }, "baseline 0, build 60, a restart 100, a back 105, tail 240, end 300"},
		{"never, where it was not reported", func(s *shape) {
			s.up("b", 0, 300)
			s.away("a", 100, 105, 106)
			s.obs.Deploy.ReportedAt = time.Time{}
		}, "baseline 0, build 60, a restart 100, a back 105, end 300"},
		{"nor where it was reported after the window", func(s *shape) {
			s.up("b", 0, 300)
			s.away("a", 100, 105, 106)
			s.obs.Deploy.ReportedAt = s.at(310)
		}, "baseline 0, build 60, a restart 100, a back 105, end 300"},
		{"once a target that stopped until then is back", func(s *shape) { s.up("b", 0, 300); s.away("a", 240, 249, 250) },
			"baseline 0, build 60, a restart 240, a back 249, tail 250, end 300"},
		{"whoever stops later", func(s *shape) { s.up("b", 0, 300); s.away("a", 250, 255, 260) },
			"baseline 0, build 60, tail 240, a restart 250, a back 255, end 300"},
		{"it has no length where a phase opens as it does", func(s *shape) {
			s.up("a", 0, 300)
			s.step(StepDrainMarked, "a", 240)
		}, "baseline 0, build 60, a drain 240, end 300"},
		{"marked and never stopped", func(s *shape) { s.up("a", 0, 300); s.step(StepDrainMarked, "a", 100) },
			"baseline 0, build 60, a drain 100, tail 240, end 300"},
		{"never, where one did not come back", gone, shut},
		{"nobody is known to serve", func(s *shape) { s.step(StepRestartBegan, "a", 100) }, open},
		{"others are known to serve, and of this one nothing is known", func(s *shape) { s.up("b", 0, 300); s.step(StepRestartBegan, "a", 100) }, open},
		{"another one is deregistered", func(s *shape) {
			gone(s)
			s.polled("states", "a", StateUnhealthy, 200)
			s.polled("states", "b", StateUnused, 200)
		}, shut},
		{"it was deregistered, and is again", func(s *shape) {
			gone(s)
			s.polled("states", "a", StateUnhealthy, 200)
			s.polled("states", "a", StateUnused, 150)
		}, shut},
		{"a new one that never served", func(s *shape) { s.up("b", 0, 300); arrives(s) }, "baseline 0, build 60, c register 70, end 300"},
		{"a new one that never served, and was deregistered", func(s *shape) { s.up("b", 0, 300); arrives(s); s.polled("states", "c", StateUnused, 200) },
			"baseline 0, build 60, c register 70, tail 240, end 300"},
		{"a new one that serves, where it was not reported", func(s *shape) {
			s.up("b", 0, 300)
			arrives(s)
			s.up("c", 80, 300)
			s.obs.Deploy.ReportedAt = time.Time{}
		}, "baseline 0, build 60, c register 70, end 300"},
		{"a new one, and nobody is known to serve", arrives, "baseline 0, build 60, c register 70, tail 240, end 300"},
	}
	for _, state := range []TargetState{StateUnused, StateDraining, StateUnusedNCP} {
		cases = append(cases, courseCase{"it is no longer registered: " + string(state), func(s *shape) {
			gone(s)
			s.polled("states", "a", StateUnhealthy, 150)
			s.polled("states", "a", state, 200)
		}, open})
	}
	tryCourse(t, cases)
}

// A phase lists who is under way besides the one that it is named for.
func TestWhoIsUnderWayInAPhase(t *testing.T) {
	mark := func(s *shape, at float64) { s.up("a", 0, 300); s.step(StepDrainMarked, "a", at) }
	leaves := func(s *shape) {
		s.obs.Deploy.Kind = KindBlueGreen
		s.step(StepTargetDeregistered, "b", 100)
		s.step(StepRestartBegan, "b", 105)
		s.up("b", 0, 100)
	}
	tryCourse(t, []courseCase{
		{"one that serves again just then is not", func(s *shape) { mark(s, 100); s.away("b", 90, 95, 100) },
			"baseline 0, build 60, b restart 90, b back 95, a drain 100, tail 240, end 300"},
		{"one that is about to", func(s *shape) { mark(s, 99); s.away("b", 90, 95, 100) },
			"baseline 0, build 60, b restart 90, b back 95, a drain 99 +b, tail 240, end 300"},
		{"one that begins just then", func(s *shape) { s.away("a", 100, 105, 106); s.away("b", 100, 110, 111) },
			"baseline 0, build 60, b restart 100 +a, a back 105 +b, b back 110, tail 240, end 300"},
		{"one of which only its readiness is known, until then", func(s *shape) { s.restart("a", 90, 95); s.restart("b", 92, 95) },
			"baseline 0, build 60, a restart 90, b restart 92 +a, b back 95, tail 240, end 300"},
		{"and before it", func(s *shape) { mark(s, 94); s.restart("b", 90, 95) },
			"baseline 0, build 60, b restart 90, a drain 94 +b, b back 95 +a, tail 240, end 300"},
		{"one that never came back", func(s *shape) { mark(s, 280); s.away("b", 90, 0, 0) },
			"baseline 0, build 60, b restart 90, a drain 280 +b, end 300"},
		{"one that left for good, until the report", func(s *shape) { leaves(s); mark(s, 200) },
			"baseline 0, build 60, b drain 100, b stop 105, a drain 200 +b, tail 240, end 300"},
		{"not after it", func(s *shape) { leaves(s); mark(s, 250) },
			"baseline 0, build 60, b drain 100, b stop 105, tail 240, a drain 250, end 300"},
		{"one that arrived and never served, until the report", func(s *shape) { s.step(StepTargetRegistered, "c", 70); mark(s, 200) },
			"baseline 0, build 60, c register 70, a drain 200 +c, end 300"},
		{"nor that one after it", func(s *shape) { s.step(StepTargetRegistered, "c", 70); mark(s, 250) },
			"baseline 0, build 60, c register 70, a drain 250, end 300"},
		{"nobody, in a phase that is named for none", func(s *shape) { s.up("a", 0, 300); s.away("b", 90, 0, 0); s.step(StepTrafficSwitched, "", 100) },
			"baseline 0, build 60, b restart 90, switch 100, end 300"},
	})
}

// One health sample is answered as a drain has it. Where it lies in a drain it is so on
// purpose; the timeout of a check, 2 s, is allowed for at both ends.
func TestDrainsThatExplainAnAnswer(t *testing.T) {
	step := func(b *table, deploy string, kind StepKind, target string, at float64) {
		b.obs.Steps = append(b.obs.Steps, Step{Deploy: deploy, Kind: kind, Target: target, At: b.at(at), Source: "workflow", Inferred: deploy == ""})
	}
	theirs := func(ready ...float64) func(*table) { // of a deploy before this one, marked at 100
		return func(b *table) {
			step(b, "d0", StepDrainMarked, "api-1", 100)
			for _, at := range ready {
				step(b, "d0", StepAppReady, "api-1", at)
			}
		}
	}
	both := func(lay ...func(*table)) func(*table) {
		return func(b *table) {
			for _, f := range lay {
				f(b)
			}
		}
	}
	ours := func(b *table) { // marked at 100, stopped at 110, serves again from 115 on
		step(b, "d1", StepDrainMarked, "api-1", 100)
		step(b, "d1", StepRestartBegan, "api-1", 110)
		b.cell("alb", "api-1", 99, 99, 1)
		for at := 115.0; at < 300; at += 3 {
			b.cell("alb", "api-1", at, at, 1)
		}
	}
	for _, c := range []struct {
		name       string
		target     string
		sent, done float64
		lay        func(*table)
		want       bool
	}{
		{"their drain: just before", "api-1", 97, 97.9, theirs(150), false},
		{"as it begins", "api-1", 97, 98, theirs(150), true},
		{"before it ends", "api-1", 151.9, 153, theirs(150), true},
		{"as it ends", "api-1", 152, 153, theirs(150), false},
		{"never ready", "api-1", 298, 299, theirs(), true},
		{"the other target was not marked", "api-2", 130, 131, theirs(150), false},
		{"nobody says who answered", "", 130, 131, theirs(150), true},
		{"ready once before", "api-1", 130, 131, theirs(90, 150), true},
		{"ready at that very moment is before it", "api-1", 130, 131, theirs(100, 150), true},
		{"the other target was ready", "api-1", 130, 131, both(theirs(150), func(b *table) { step(b, "d0", StepAppReady, "api-2", 110) }), true},
		{"its restart is no readiness", "api-1", 130, 131, both(theirs(150), func(b *table) { step(b, "d0", StepRestartBegan, "api-1", 110) }), true},
		{"a restart is no mark", "api-1", 130, 131, func(b *table) { step(b, "d0", StepRestartBegan, "api-1", 110) }, false},
		{"they marked one that nobody knows", "api-1", 130, 131, func(b *table) { step(b, "d0", StepDrainMarked, "gone", 110) }, false},
		{"a mark before any deploy", "api-1", 20, 21, func(b *table) {
			b.obs.Neighbors[0].StartedAt = b.at(200)
			step(b, "", StepDrainMarked, "api-1", 10)
		}, false},
		{"our drain, until it served again", "api-1", 116, 116.5, ours, true},
		{"after that", "api-1", 130, 131, ours, false},
	} {
		b := newTable()
		b.obs.Neighbors = []Deploy{{ID: "d0", StartedAt: b.at(1)}}
		b.ask(ClassHealth, OutcomeDrain503, 503, c.sent, c.done).Target = c.target
		c.lay(b)
		outcomes := Judge(b.obs).Totals[ClassHealth].Outcomes
		if len(outcomes) != 1 || (outcomes[OutcomeDrain503] == 1) != c.want {
			t.Errorf("%s: %v", c.name, outcomes)
		}
	}
}

// What was taken down matters whatever the clock says that told of it: two stops at 80 to 90
// and 150 to 160 are risky though the applications' clock is known to be seconds off.
func TestRiskyBySeveralClocks(t *testing.T) {
	for _, ahead := range []float64{-15, -5, 0, 5, 15} {
		s := newScene(t)
		s.stop("api-1", 80, 90, false)
		s.stop("api-2", 150, 160, false)
		s.appsAhead(time.Duration(ahead * float64(time.Second)))
		risky := (&bench{report: Judge(s.obs)}).riskySpans()
		for _, stop := range []float64{80, 150} {
			begun := s.at(stop + ahead + 1)
			if !slices.ContainsFunc(risky, func(x span) bool { return within(begun, x.from, x.to) }) {
				t.Errorf("%g s ahead: the stop at %g is not risky: %v", ahead, stop, risky)
			}
		}
	}
}
