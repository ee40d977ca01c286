package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// appsAhead lets the clock of the applications be ahead of all others by a time that our own
// requests bound to 10 ms; only the applications tell of stops and returns. One row of a
// probe dates the access log's clock by the prober's to 2 µs.
func (s *scene) appsAhead(ahead time.Duration) {
	s.prepare()
	for i := range s.obs.Handled {
		s.obs.Handled[i].At = s.obs.Handled[i].At.Add(ahead)
	}
	s.obs.Steps = slices.DeleteFunc(s.obs.Steps, func(x Step) bool { return x.Kind == StepRestartBegan && !x.Inferred })
	for i := range s.obs.Steps {
		if x := &s.obs.Steps[i]; x.Inferred {
			x.At = x.At.Add(ahead)
		}
	}
	p := s.obs.Probes[0]
	k := CellKey{Second: p.Sent.Unix(), Source: "alb", Node: "10.0.0.9", TargetGroup: "api", Target: "api-1", Class: ClassProbe, Outcome: OutcomeOK, Route: OtherRoute, Status: 200, TargetStatus: 200}
	s.obs.Requests = append(s.obs.Requests, Request{CellKey: k, Start: p.Sent.Add(time.Microsecond), End: p.Done.Add(-time.Microsecond), ProbeRun: "run", ProbeSeq: p.Seq, Connected: true})
}

// told is what a report says by the serving clock: in tenths of seconds, and after the
// scene's beginning, since clocks are known to 10 ms.
func (s *scene) told(r Report) string {
	var list []string
	tenth := func(v float64) string { return fmt.Sprintf("%.1f", v+1e-9) }
	bounded := func(b *Bounded) string {
		if b == nil {
			return "-"
		}
		return tenth(b.Value)
	}
	since := func(t Time) string {
		if t.IsZero() {
			return "-"
		}
		return tenth(t.Sub(s.zero).Seconds())
	}
	list = append(list, string(r.Verdict.State), fmt.Sprint(r.Totals[ClassUser].Causes, r.Totals[ClassProbe].Causes))
	for _, c := range r.Claims {
		list = append(list, c.ID+" "+string(c.State)+" "+c.Reason)
	}
	for _, x := range r.SingleTarget {
		list = append(list, "alone "+x.Target+" "+since(x.From)+"–"+since(x.To))
	}
	for _, x := range r.ZeroTargets {
		list = append(list, "none "+since(x.From)+"–"+since(x.To))
	}
	for _, x := range r.Targets {
		row := x.Target + " served " + since(x.LastServedAt) + "–" + since(x.FirstServedAt) + " " + strings.Join([]string{
			bounded(x.LastServedToRestart), bounded(x.Boot), bounded(x.RestartToFirstRequest), bounded(x.ReadyToFirstRequest)}, " ")
		if x.InFlightAtStop != nil {
			row += fmt.Sprint(" in flight ", *x.InFlightAtStop)
		}
		list = append(list, row+fmt.Sprint(" ", x.Ejected, x.EjectedBasis, len(x.FailureWindows)))
	}
	for _, f := range r.Findings {
		if f.Code != "clock-skew" {
			list = append(list, fmt.Sprint(f.Code, " ", f.Values["sent_after_stop"], f.Values["failed"]))
		}
	}
	slices.Sort(list)
	return strings.Join(list, "\n")
}

// The applications' clock tells of stops and returns, and is known to be seconds behind the
// others or ahead of them: nothing that follows from the two is another than with one clock.
func TestAKnownOffsetChangesNoFigure(t *testing.T) {
	for name, lay := range map[string]func(*scene){
		"in rotation": func(s *scene) { s.stop("api-1", 100, 120, false) },
		"drained":     func(s *scene) { s.stop("api-1", 100, 120, true); s.stop("api-2", 170, 190, true) },
		"quickly":     func(s *scene) { s.stop("api-1", 100, 103, false); s.stop("api-2", 150, 153, false) },
		"killed":      func(s *scene) { s.kill("api-1", 100, 104) },
		"failing as it stops": func(s *scene) {
			s.stop("api-1", 100, 120, true)
			s.out["api-1"] = []span{{s.at(99.5), s.at(140)}}
			s.prepare()
			s.answer5xx("api-1", 93, 98.5, 110)
		},
		"with a request in flight": func(s *scene) {
			s.stop("api-1", 100, 120, true)
			s.prepare()
			s.slow("api-1", 82, 97)
			s.slow("api-1", 84, 101)
			s.slow("api-1", 103, 104)
		},
		"not known when it was ready": func(s *scene) {
			s.stop("api-1", 100, 120, false)
			s.obs.Steps = slices.DeleteFunc(s.obs.Steps, func(x Step) bool { return x.Kind == StepAppReady })
		},
		"not known when it was stopped": func(s *scene) {
			s.stop("api-1", 100, 120, false)
			s.obs.Steps = slices.DeleteFunc(s.obs.Steps, func(x Step) bool { return x.Kind == StepRestartBegan })
		},
		"all at once": func(s *scene) { s.stop("api-1", 100, 120, false); s.stop("api-2", 100, 120, false) },
	} {
		judged := func(ahead time.Duration) string {
			s := newScene(t)
			lay(s)
			s.appsAhead(ahead)
			return s.told(Judge(s.obs))
		}
		want := judged(0)
		for _, ahead := range []time.Duration{-7 * time.Second, -2 * time.Second, 2 * time.Second, 7 * time.Second} {
			if got := judged(ahead); got != want {
				t.Errorf("%s, %s ahead:\n%s", name, ahead, difference(got, want))
			}
		}
	}
}

// difference are the lines of either that the other one does not have.
func difference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	text := ""
	for _, line := range g {
		if !slices.Contains(w, line) {
			text += "got  " + line + "\n"
		}
	}
	for _, line := range w {
		if !slices.Contains(g, line) {
			text += "want " + line + "\n"
		}
	}
	return text
}

// answer5xx lets a target answer one user with a 500 at each moment.
func (s *scene) answer5xx(target string, moments ...float64) {
	for _, at := range moments {
		k := CellKey{Second: s.at(at).Unix(), Source: "alb", Node: "10.0.0.9", TargetGroup: "api", Target: target, Class: ClassUser, Outcome: OutcomeTarget5xx, Route: OtherRoute, Status: 500, TargetStatus: 500}
		s.obs.Requests = append(s.obs.Requests, Request{CellKey: k, Start: s.at(at), End: s.at(at + .01), Connected: true})
		s.obs.Cells = append(s.obs.Cells, Cell{CellKey: k, Count: 1, First: s.at(at), Last: s.at(at + .01)})
	}
}

// slow lets a target answer one user well, from one moment to another.
func (s *scene) slow(target string, from, to float64) {
	k := CellKey{Second: s.at(from).Unix(), Source: "alb", Node: "10.0.0.9", TargetGroup: "api", Target: target, Class: ClassUser, Outcome: OutcomeOK, Route: OtherRoute, Status: 200, TargetStatus: 200}
	s.obs.Requests = append(s.obs.Requests, Request{CellKey: k, Start: s.at(from), End: s.at(to), Duration: s.at(to).Sub(s.at(from)), Connected: true})
	s.obs.Cells = append(s.obs.Cells, Cell{CellKey: k, Count: 1, First: s.at(from), Last: s.at(to)})
}
