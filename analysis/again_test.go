package analysis

import (
	"fmt"
	"strings"
	"testing"
)

// A target may be stopped several times in a deploy, and nobody need tell when it was
// ready in between.

// stopsOf prints the stops of a target, with when it last served before and first after.
func stopsOf(s *shape, r Report, target string) string {
	var list []string
	at := func(t Time) string {
		if t.IsZero() {
			return "-"
		}
		return fmt.Sprintf("%.0f", t.Sub(s.zero).Seconds())
	}
	for _, t := range r.Targets {
		if t.Target == target {
			list = append(list, fmt.Sprintf("%s–%s–%s", at(t.LastServedAt), at(t.RestartAt), at(t.FirstServedAt)))
		}
	}
	return strings.Join(list, " ")
}

// The workflow drains api-1 and restarts it at 100, where it had left, and once more at
// 150, where it had not: n users fail there then, and there was one such 502 before. No
// readiness is told. Both stops are the deploy's, and what fails at the second is too.
func TestRestartedTwice(t *testing.T) {
	for _, n := range []int{2, 20} {
		s := newShape(t, "api-1", "api-2")
		s.obs.Service.LoadBalancers[0].TargetGroups[0].States = nil
		s.serve("alb", "api", "api-2", 4, 0, 300, false)
		s.serve("alb", "api", "api-1", 4, 0, 90, false)
		s.serve("alb", "api", "api-1", 4, 115, 150, false)
		s.serve("alb", "api", "api-1", n, 150, 151, true)
		s.serve("alb", "api", "api-1", 4, 151, 300, false)
		s.serve("alb", "api", "api-1", 1, 30, 31, true)
		s.step(StepDrainMarked, "api-1", 75)
		s.step(StepRestartBegan, "api-1", 100)
		s.step(StepRestartBegan, "api-1", 150)
		r := Judge(s.obs)
		if causes := r.Totals[ClassUser].Causes; causes[CauseDeploy] != n || causes[CauseBackground] != 1 {
			t.Errorf("causes %v, want %d by the deploy", causes, n)
		}
		s.claim(r, ClaimNoUserFailureCaused, Disproved, ReasonCausedByDeploy)
		s.claim(r, ClaimEjectedBeforeStop, Disproved, ReasonStoppedInUse)
		s.phases(r, "baseline", "build", "api-1 drain", "api-1 restart", "api-1 restart 2", "tail")
		if got := stopsOf(s, r, "api-1"); got != "90–100–115 150–150–151" {
			t.Error(got)
		}
	}
}

// A stop that is told again is another one only where the target was back in between.
// api-1 serves until 90, from 115 to 150, and from 160 on.
func TestWhatIsToldTwiceAboutAStop(t *testing.T) {
	for _, c := range []struct {
		name string
		tell func(*shape)
		want string
	}{
		{"once", func(s *shape) { s.step(StepRestartBegan, "api-1", 100) }, "90–100–115"},
		{"by two reports", func(s *shape) { s.step(StepRestartBegan, "api-1", 100); s.step(StepRestartBegan, "api-1", 104) }, "90–100–115"},
		{"by its line too", func(s *shape) { s.step(StepRestartBegan, "api-1", 100); s.appStep(StepRestartBegan, "api-1", 101) }, "90–100–115"},
		{"by its line of another", func(s *shape) { s.step(StepRestartBegan, "api-1", 100); s.appStep(StepRestartBegan, "api-1", 150) }, "90–100–115 150–150–160"},
		{"twice by its line", func(s *shape) { s.appStep(StepRestartBegan, "api-1", 100); s.appStep(StepRestartBegan, "api-1", 150) }, "90–100–115 150–150–160"},
		{"each twice", func(s *shape) {
			s.step(StepRestartBegan, "api-1", 100)
			s.appStep(StepRestartBegan, "api-1", 100.1)
			s.step(StepRestartBegan, "api-1", 150)
			s.appStep(StepRestartBegan, "api-1", 150.1)
		}, "90–100–115 150–150–160"},
		{"twice by its line, once by a report of the second", func(s *shape) {
			s.appStep(StepRestartBegan, "api-1", 100)
			s.step(StepRestartBegan, "api-1", 149.9)
			s.appStep(StepRestartBegan, "api-1", 150)
		}, "90–100–115 150–150–160"},
		{"killed in the end", func(s *shape) { s.step(StepRestartBegan, "api-1", 100); s.appStep(StepProcessKilled, "api-1", 103) }, "90–100–115"},
		{"killed, and brought up again", func(s *shape) {
			s.step(StepRestartBegan, "api-1", 100)
			s.appStep(StepProcessKilled, "api-1", 150)
			s.step(StepRestartBegan, "api-1", 155)
		}, "90–100–115 150–155–160"},
		{"drained again", func(s *shape) {
			s.step(StepRestartBegan, "api-1", 100)
			s.step(StepDrainMarked, "api-1", 140)
			s.step(StepRestartBegan, "api-1", 150)
		}, "90–100–115 150–150–160"},
		{"marked after the stop", func(s *shape) { s.step(StepRestartBegan, "api-1", 100); s.step(StepDrainMarked, "api-1", 103) }, "90–100–115"},
		{"another target too", func(s *shape) { s.step(StepRestartBegan, "api-1", 100); s.step(StepRestartBegan, "api-2", 150) }, "90–100–115"},
		{"ready in between", func(s *shape) { s.restart("api-1", 100, 110); s.restart("api-1", 150, 158) }, "90–100–115 150–150–160"},
		{"not up before", func(s *shape) { s.step(StepRestartBegan, "api-1", 92); s.step(StepRestartBegan, "api-1", 110) }, "90–92–115"},
	} {
		s := newShape(t, "api-1", "api-2")
		s.obs.Service.LoadBalancers[0].TargetGroups[0].States = nil
		s.serve("alb", "api", "api-2", 4, 0, 300, false)
		s.serve("alb", "api", "api-1", 4, 0, 90, false)
		s.serve("alb", "api", "api-1", 4, 115, 150, false)
		s.serve("alb", "api", "api-1", 4, 160, 300, false)
		c.tell(s)
		if got := stopsOf(s, Judge(s.obs), "api-1"); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Where api-1 is away for 2 s only, from 100 on and again from 150 on, traffic alone does not
// tell a return; a witness that tells of a stop twice, or another one of its sort, does.
func TestWhatIsToldTwiceAboutAQuickStop(t *testing.T) {
	for _, c := range []struct {
		name string
		tell func(*shape)
		want string
	}{
		{"by reports", func(s *shape) { s.step(StepRestartBegan, "api-1", 100); s.step(StepRestartBegan, "api-1", 150) }, "100–100–102 150–150–152"},
		{"by lines", func(s *shape) { s.appStep(StepRestartBegan, "api-1", 100); s.appStep(StepRestartBegan, "api-1", 150) }, "100–100–102 150–150–152"},
		{"by a report and a line", func(s *shape) { s.step(StepRestartBegan, "api-1", 100); s.appStep(StepRestartBegan, "api-1", 150) }, "150–150–152"}, // the line is believed
		{"by two reports a little apart", func(s *shape) { s.step(StepRestartBegan, "api-1", 97); s.step(StepRestartBegan, "api-1", 100) }, "100–97–102"},
		{"a report, then the kill", func(s *shape) { s.step(StepRestartBegan, "api-1", 100); s.step(StepProcessKilled, "api-1", 150) }, "100–100–102"},
	} {
		s := newShape(t, "api-1", "api-2")
		s.obs.Service.LoadBalancers[0].TargetGroups[0].States = nil
		s.serve("alb", "api", "api-2", 4, 0, 300, false)
		s.serve("alb", "api", "api-1", 4, 0, 100, false)
		s.serve("alb", "api", "api-1", 4, 102, 150, false)
		s.serve("alb", "api", "api-1", 4, 152, 300, false)
		c.tell(s)
		if got := stopsOf(s, Judge(s.obs), "api-1"); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// api-1 is ready at 110 and serves nothing before it is stopped again at 150; it serves from
// 165 on. It was away until then, and no longer: what fails there at 250 is not the stop's.
func TestStoppedAgainBeforeItServed(t *testing.T) {
	s := newShape(t, "api-1", "api-2")
	s.obs.Service.LoadBalancers[0].TargetGroups[0].States = nil
	s.serve("alb", "api", "api-2", 4, 0, 300, false)
	s.serve("alb", "api", "api-1", 4, 0, 90, false)
	s.serve("alb", "api", "api-1", 4, 165, 300, false)
	s.serve("alb", "api", "api-1", 1, 250, 251, true)
	s.restart("api-1", 100, 110)
	s.restart("api-1", 150, 160)
	r := Judge(s.obs)
	if causes := r.Totals[ClassUser].Causes; causes[CauseUnexplained] != 1 {
		t.Errorf("causes %v, want 1 unexplained", causes)
	}
	if x := r.SingleTarget; len(x) != 1 || x[0].Seconds < 75 || x[0].Seconds > 75.3 {
		t.Errorf("alone %+v, want api-2 from 90 to 165", x)
	}
}

// Its process was told to stop at 100, was back at 115 without a word, and was killed at 150:
// what fails at that moment met a stop too.
func TestKilledAfterItsReturn(t *testing.T) {
	s := newShape(t, "api-1", "api-2")
	s.obs.Service.LoadBalancers[0].TargetGroups[0].States = nil
	s.serve("alb", "api", "api-2", 4, 0, 300, false)
	s.serve("alb", "api", "api-1", 4, 0, 90, false)
	s.serve("alb", "api", "api-1", 4, 115, 300, false)
	s.serve("alb", "api", "api-1", 1, 30, 31, true)
	s.serve("alb", "api", "api-1", 1, 150, 151, true)
	s.step(StepRestartBegan, "api-1", 100)
	s.appStep(StepProcessKilled, "api-1", 150)
	if causes := Judge(s.obs).Totals[ClassUser].Causes; causes[CauseDeploy] != 1 || causes[CauseBackground] != 1 {
		t.Errorf("causes %v, want 1 by the deploy and 1 of the background", causes)
	}
}

// Nobody tells when api-1 was ready. It is away from 88 to 112 for a restart at 100, and
// serves; from 180 to 206 nobody asks for anything, and it fails a request of its own at 185.
// That pause is not its outage: it was back at 112, and what failed at 185 is not the stop's.
func TestAQuietTimeIsNotTheOutage(t *testing.T) {
	for _, failed := range []bool{false, true} {
		s := newShape(t, "api-1", "api-2")
		s.obs.Service.LoadBalancers[0].TargetGroups[0].States = nil
		s.serve("alb", "api", "api-1", 1, 0, 88, false)
		s.serve("alb", "api", "api-1", 1, 112, 180, false)
		s.serve("alb", "api", "api-2", 1, 0, 180, false)
		s.serve("alb", "api", "api-1", 1, 206, 300, false)
		s.serve("alb", "api", "api-2", 1, 206, 300, false)
		if failed {
			s.serve("alb", "api", "api-1", 1, 185, 186, true)
		}
		s.step(StepDrainMarked, "api-1", 75)
		s.step(StepRestartBegan, "api-1", 100)
		r := Judge(s.obs)
		if got := stopsOf(s, r, "api-1"); got != "87–100–112" {
			t.Error(got)
		}
		causes := r.Totals[ClassUser].Causes
		if causes[CauseDeploy] != 0 || (causes[CauseUnexplained] == 1) != failed {
			t.Errorf("failed %t: causes %v", failed, causes)
		}
		for _, f := range r.Findings {
			switch f.Code {
			case "drain-wait-too-short", "restart-before-eject", "shutdown-5xx", "reported-before-return":
				t.Errorf("failed %t: %s", failed, f.Code)
			}
		}
		if x := r.SingleTarget; len(x) != 1 || x[0].Seconds > 25.1 {
			t.Errorf("failed %t: alone %+v", failed, x)
		}
		for _, claim := range r.Claims { // its log was silent for a while, and no more is wrong
			if claim.ID == ClaimEjectedBeforeStop && claim.State == Disproved {
				t.Errorf("failed %t: %s for %s", failed, claim.State, claim.Reason)
			}
		}
	}
}

// When it was back from a stop at 100, as traffic shows.
func TestWhenATargetIsBackAsTrafficShows(t *testing.T) {
	serve := func(s *shape, target string, spans ...float64) {
		for i := 0; i < len(spans); i += 2 {
			s.serve("alb", "api", target, 2, spans[i], spans[i+1], false)
		}
	}
	for _, c := range []struct {
		name string
		lay  func(*shape)
		want string
	}{
		{"the first that is surely one, not the longest", func(s *shape) { serve(s, "api-1", 0, 100, 110, 200, 260, 300); serve(s, "api-2", 0, 300) }, "110"},
		{"never", func(s *shape) { serve(s, "api-1", 0, 100); serve(s, "api-2", 0, 300) }, "-"},
		{"never, though the others stop later", func(s *shape) { serve(s, "api-1", 0, 100); serve(s, "api-2", 0, 150) }, "-"},
		{"a short one that others served in", func(s *shape) { serve(s, "api-1", 0, 100, 102, 200, 260, 300); serve(s, "api-2", 0, 200, 260, 300) }, "102"},
		{"alone, and nobody asked", func(s *shape) { serve(s, "api-1", 0, 100, 110, 200, 260, 300) }, "110"},
		{"alone, and what came was refused", func(s *shape) {
			serve(s, "api-1", 0, 100, 102, 110, 130, 300)
			s.serve("alb", "api", "", 1, 115, 125, true)
		}, "130"},
		{"alone, and what it was sent failed", func(s *shape) {
			serve(s, "api-1", 0, 100, 102, 110, 130, 300)
			s.serve("alb", "api", "api-1", 1, 115, 125, true)
		}, "130"},
		{"another group's go on", func(s *shape) {
			serve(s, "api-1", 0, 100, 105, 110, 130, 300)
			s.serve("alb", "web", "api-2", 1, 110, 130, false)
		}, "105"},
	} {
		s := newShape(t, "api-1", "api-2")
		s.obs.Service.LoadBalancers[0].TargetGroups[0].States = nil
		s.obs.Service.LoadBalancers[0].TargetGroups = append(s.obs.Service.LoadBalancers[0].TargetGroups, TargetGroup{Name: "web"})
		c.lay(s)
		s.step(StepRestartBegan, "api-1", 100)
		_, first, _ := strings.Cut(stopsOf(s, Judge(s.obs), "api-1"), "–100–")
		if first != c.want {
			t.Errorf("%s: back at %s, want %s", c.name, first, c.want)
		}
	}
}
