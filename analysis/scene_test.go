package analysis

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// scene makes the observations of a deploy from when its targets were up, in
// rotation, and serving. Times are seconds after its beginning.
type scene struct {
	t            *testing.T
	obs          Observations
	zero         time.Time
	userEvery    time.Duration
	down, out    map[string][]span // process not there; balancer does not send
	sent, failed map[Class]int
	prepared     bool
}

func newScene(t *testing.T) *scene {
	s := &scene{t: t, zero: time.Date(2026, 10, 14, 6, 25, 0, 0, time.UTC), userEvery: 50 * time.Millisecond,
		down: map[string][]span{}, out: map[string][]span{}, sent: map[Class]int{}, failed: map[Class]int{}}
	s.obs = Observations{
		Service: Service{
			Name:    "orders-api",
			Window:  WindowSettings{Baseline: time.Minute, Tail: time.Minute, Settle: 30 * time.Second, Max: time.Hour},
			Targets: []TargetName{{Name: "api-1", Address: "10.0.1.11:8080"}, {Name: "api-2", Address: "10.0.1.12:8080"}},
			LoadBalancers: []LoadBalancer{{
				Name: "public", AccessLogs: []AccessLog{{Name: "alb", Kind: "alb", Counts: true}},
				TargetGroups: []TargetGroup{{
					Name: "api", Health: HealthCheck{Interval: 10 * time.Second, Timeout: 2 * time.Second, Unhealthy: 2, Healthy: 2},
					States: []StateSource{{Name: "states", Kind: "elbv2", Every: time.Second}},
				}},
			}},
			AppLogs: []AppLog{{Name: "api-1.log", Target: "api-1"}, {Name: "api-2.log", Target: "api-2"}},
			Probes: []Probe{
				{Name: "store", Class: ClassProbe, Every: 200 * time.Millisecond, Timeout: 5 * time.Second, NewConnections: true},
				{Name: "health", Class: ClassHealth, Every: time.Second, Timeout: 5 * time.Second},
			},
		},
		Deploy: Deploy{ID: "d1", Service: "orders-api", Kind: KindRolling, StartedAt: s.at(60), ReportedAt: s.at(240), Result: "succeeded", Source: "workflow"},
		From:   s.at(0), To: s.at(300), At: s.at(1000),
	}
	s.step(StepDeployStarted, "", 60)
	s.step(StepDeployReported, "", 240)
	return s
}

func (s *scene) at(seconds float64) time.Time {
	return s.zero.Add(time.Duration(seconds * float64(time.Second)))
}

func (s *scene) step(kind StepKind, target string, at float64) {
	s.obs.Steps = append(s.obs.Steps, Step{Deploy: "d1", Kind: kind, At: s.at(at), Target: target, Source: "workflow"})
}

func (s *scene) appStep(kind StepKind, target string, at float64) {
	s.obs.Steps = append(s.obs.Steps, Step{Kind: kind, At: s.at(at), Target: target, Source: target + ".log", Inferred: true})
}

// stop takes a target down from one moment to another; drained: marked 25 s and out
// of rotation 15 s before, back in rotation 20 s after.
func (s *scene) stop(target string, from, to float64, drained bool) {
	if drained {
		s.step(StepDrainMarked, target, from-25)
		s.out[target] = append(s.out[target], span{s.at(from - 15), s.at(to + 20)})
	}
	s.step(StepRestartBegan, target, from)
	s.appStep(StepRestartBegan, target, from+.01)
	s.appStep(StepAppReady, target, to)
	s.down[target] = append(s.down[target], span{s.at(from), s.at(to)})
}

func (s *scene) kill(target string, from, to float64) {
	s.appStep(StepProcessKilled, target, from)
	s.appStep(StepAppReady, target, to)
	s.down[target] = append(s.down[target], span{s.at(from), s.at(to)})
}

func in(spans []span, t time.Time) bool {
	return slices.ContainsFunc(spans, func(s span) bool { return !t.Before(s.from) && t.Before(s.to) })
}

// prepare sends the traffic and fills everything that sources would have seen.
func (s *scene) prepare() {
	if s.prepared {
		return
	}
	s.prepared = true
	random, cells, latencies, known := rand.New(rand.NewPCG(5, 6)), map[CellKey]*Cell{}, map[LatencyKey]*Histogram{}, []uint32{}
	send := func(class Class, at time.Time, seq int) {
		names := []string{"api-1", "api-2"}
		names = slices.DeleteFunc(names, func(n string) bool { return in(s.out[n], at) })
		target := ""
		if len(names) > 0 {
			target = names[random.IntN(len(names))]
		}
		r := Request{Start: at, End: at.Add(7 * time.Millisecond), Duration: 7 * time.Millisecond}
		r.CellKey = CellKey{Second: at.Unix(), Source: "alb", Node: "10.0.0.9", TargetGroup: "api", Target: target, Class: class, Outcome: OutcomeOK, Route: OtherRoute, Status: 200, TargetStatus: 200}
		if target == "" {
			r.Outcome, r.Status, r.TargetStatus = OutcomeLB5xx, 503, 0
		} else if in(s.down[target], at) {
			r.Outcome, r.Status, r.TargetStatus = OutcomeLB5xx, 502, 0
		}
		if class != ClassUser {
			r.ProbeRun, r.ProbeSeq = "run", seq
			known = append(known, uint32(seq))
			s.probe(class, at, seq, r)
		}
		if r.Outcome.Failure() {
			s.obs.Requests = append(s.obs.Requests, r)
			s.failed[class]++
		}
		s.sent[class]++
		c := cells[r.CellKey]
		if c == nil {
			c = &Cell{CellKey: r.CellKey, First: r.Start}
			cells[r.CellKey] = c
		}
		c.Count++
		c.Last = r.End
		if r.Outcome == OutcomeOK {
			key := LatencyKey{Second: r.Second, Source: r.Source, Node: r.Node, Class: class, Route: r.Route}
			if latencies[key] == nil {
				latencies[key] = &Histogram{}
			}
			latencies[key].Add(7000)
		}
	}
	end := s.at(300)
	for at := s.at(0); at.Before(end); at = at.Add(s.userEvery) {
		send(ClassUser, at, 0)
	}
	for at, seq := s.at(0.013), 0; at.Before(end); at, seq = at.Add(200*time.Millisecond), seq+1 {
		send(ClassProbe, at, seq)
		if seq%5 == 0 {
			send(ClassHealth, at.Add(3*time.Millisecond), 100_000+seq)
		}
	}
	for _, c := range cells {
		s.obs.Cells = append(s.obs.Cells, *c)
	}
	for key, took := range latencies {
		s.obs.Latencies = append(s.obs.Latencies, Latencies{key, took})
	}
	slices.Sort(known)
	s.obs.Known = []KnownRequests{{Source: "alb", Node: "10.0.0.9", Run: "run", Seqs: known}}
	for at := s.at(0); at.Before(end); at = at.Add(time.Second) {
		for _, name := range []string{"api-1", "api-2"} {
			state := StateHealthy
			if in(s.out[name], at) {
				state = StateUnhealthy
			}
			s.obs.States = append(s.obs.States, StateSample{Source: "states", TargetGroup: "api", Target: name, At: at, State: state})
		}
	}
	for at := 0.0; at < 300; at += 60 {
		s.obs.Objects = append(s.obs.Objects, Object{Source: "alb", Node: "10.0.0.9", Key: s.at(at).Format(time.RFC3339), From: s.at(at), To: s.at(at + 60), Lines: 1, Understood: 1})
	}
	for _, source := range []string{"alb", "api-1.log", "api-2.log"} {
		s.obs.Runs = append(s.obs.Runs, Run{Source: source, From: s.at(-1), To: s.at(301), At: s.at(302)})
	}
}

func (s *scene) probe(class Class, at time.Time, seq int, r Request) {
	p := ProbeRequest{Source: "store", Probe: "store", Class: class, Run: "run", Seq: seq, Sent: at, Done: at.Add(9 * time.Millisecond), Status: r.Status, Outcome: r.Outcome}
	if class == ClassHealth {
		p.Source, p.Probe = "health", "health"
	}
	s.obs.Probes = append(s.obs.Probes, p)
	if r.TargetStatus > 0 {
		s.obs.Handled = append(s.obs.Handled, HandledRequest{Source: r.Target + ".log", Target: r.Target, Run: "run", Seq: seq, At: at.Add(5 * time.Millisecond), Status: 200})
	}
}

// mask lets every request of a class in a span be one that another target answered
// after the named one had failed.
func (s *scene) mask(class Class, from, to float64, failedOn string) {
	for i := range s.obs.Cells {
		c := &s.obs.Cells[i]
		if c.Class != class || c.Second < s.at(from).Unix() || c.Second >= s.at(to).Unix() {
			continue
		}
		c.Masked = c.Count
		for range c.Count {
			s.obs.Requests = append(s.obs.Requests, Request{CellKey: c.CellKey, Start: c.First, End: c.Last, Attempts: 2, FailedOn: []string{failedOn}})
		}
	}
}

func (s *scene) judge() Report {
	s.t.Helper()
	s.prepare()
	return Judge(s.obs)
}

func (s *scene) phases(r Report, want ...string) {
	s.t.Helper()
	got := []string{}
	for _, p := range r.Phases {
		got = append(got, p.Name)
	}
	if !slices.Equal(got, want) {
		s.t.Errorf("phases %q, want %q", got, want)
	}
}

func (s *scene) fired(r Report, want ...string) {
	s.t.Helper()
	got := []string{}
	for _, f := range r.Findings {
		got = append(got, f.Code)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		s.t.Errorf("findings %q, want %q", got, want)
	}
}

func (s *scene) claim(r Report, id string, state VerdictState, reason string) {
	s.t.Helper()
	for _, c := range r.Claims {
		if c.ID == id && (c.State != state || c.Reason != reason) {
			s.t.Errorf("%s is %s for %s, want %s for %s (required %+v)", id, c.State, c.Reason, state, reason, c.Required)
		}
	}
}

func (s *scene) condition(r Report, code string) {
	s.t.Helper()
	if !slices.ContainsFunc(r.Verdict.Conditions, func(c Condition) bool { return c.Code == code }) {
		s.t.Errorf("condition %s is missing from %+v", code, r.Verdict.Conditions)
	}
}
