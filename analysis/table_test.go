package analysis

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// table is a judge's table on which nothing lies yet: two targets of one group, one
// log that counts users and one that does not. A test lays down what one rule reads,
// so that its bounds can be met exactly. Times are seconds: the window is [0, 300),
// the deploy runs from 60 to 240, and everything is known by 1000.
type table struct{ *bench }

func newTable() *table {
	zero := time.Unix(1_000_000, 0).UTC()
	at := func(s float64) time.Time { return zero.Add(time.Duration(s * float64(time.Second))) }
	return &table{newBench(Observations{
		Service: Service{
			Name: "orders-api", Window: WindowSettings{Settle: 30 * time.Second},
			Targets: []TargetName{{Name: "api-1"}, {Name: "api-2"}},
			LoadBalancers: []LoadBalancer{{
				AccessLogs: []AccessLog{{Name: "alb", Kind: "alb", Counts: true}, {Name: "edge", Kind: "nginx"}},
				TargetGroups: []TargetGroup{{
					Name: "api", Health: HealthCheck{Interval: 10 * time.Second, Timeout: 2 * time.Second, Unhealthy: 2, Healthy: 2},
					States: []StateSource{{Name: "states", Every: time.Second}},
				}},
			}},
		},
		Deploy: Deploy{ID: "d1", Kind: KindRolling, StartedAt: at(60), ReportedAt: at(240), Result: "succeeded"},
		From:   at(0), To: at(300), At: at(1000),
	})}
}

func (b *table) at(s float64) time.Time {
	return b.from.Add(time.Duration(s * float64(time.Second)))
}

// cell lays down logged requests of users.
func (b *table) cell(source, target string, first, last float64, n int) *Cell {
	b.obs.Cells = append(b.obs.Cells, Cell{
		CellKey: CellKey{Second: b.at(first).Unix(), Source: source, TargetGroup: "api", Target: target, Class: ClassUser, Outcome: OutcomeOK, Route: OtherRoute, Status: 200, TargetStatus: 200},
		Count:   n, First: b.at(first), Last: b.at(last),
	})
	return &b.obs.Cells[len(b.obs.Cells)-1]
}

// lost lays down a failed request of a user that a target was sent.
func (b *table) lost(target string, start, end float64) *failure {
	b.failures = append(b.failures, failure{class: ClassUser, target: target, start: b.at(start), end: b.at(end), outcome: OutcomeLB5xx, status: 502, route: OtherRoute, source: "alb", n: 1, cause: CauseDeploy})
	return &b.failures[len(b.failures)-1]
}

// life is the target, polled and with the moments at which it served.
func (b *table) life(name string, points ...float64) *life {
	l := b.byName[name]
	for _, p := range points {
		l.points = append(l.points, served{point: point{at: b.at(p), by: b.at(p)}})
	}
	return l
}

// cycle gives a target one more cycle: told to stop, ready, first request; zero for
// what did not happen.
func (b *table) cycle(name string, stop, ready, served float64) *cycle {
	moment := func(s float64) time.Time {
		if s == 0 {
			return time.Time{}
		}
		return b.at(s)
	}
	l := b.byName[name]
	l.cycles = append(l.cycles, cycle{restart: moment(stop), stop: moment(stop), ready: moment(ready), firstServed: moment(served), onPurpose: stop != 0, until: b.to})
	return &l.cycles[len(l.cycles)-1]
}

// poll lays down polled states of a target.
func (b *table) poll(target string, state TargetState, at ...float64) {
	b.byName[target].polled = true
	for _, s := range at {
		b.obs.States = append(b.obs.States, StateSample{Source: "states", TargetGroup: "api", Target: target, At: b.at(s), State: state})
	}
}

// tell lays down what a line of a target's log told.
func (b *table) tell(target string, at float64, event Event, name string, values ...string) *Signal {
	s := Signal{Source: target + ".log", Rule: "own", Target: target, At: b.at(at), Event: event, Name: name}
	for i := 0; i < len(values); i += 2 {
		if s.Values == nil {
			s.Values = map[string]string{}
		}
		s.Values[values[i]] = values[i+1]
	}
	b.obs.Signals = append(b.obs.Signals, s)
	b.readSignals()
	return &b.obs.Signals[len(b.obs.Signals)-1]
}

func (b *table) phase(kind string, from, to float64) *Phase {
	b.report.Phases = append(b.report.Phases, Phase{Name: kind, Kind: kind, From: Time{b.at(from)}, To: Time{b.at(to)}, Traffic: map[Class]*Counts{}})
	return &b.report.Phases[len(b.report.Phases)-1]
}

func (b *table) span(from, to float64) Span {
	return Span{Time{b.at(from)}, Time{b.at(to)}, to - from}
}

// seconds prints a moment as the rest of a test tells it.
func (b *table) seconds(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return strconv.FormatFloat(t.Sub(b.from).Seconds(), 'f', -1, 64)
}

// try evaluates a rule and prints what it found: "api-1 100–120 n=3 why=x" for each
// finding, its evidence's number last where there is one; or why it could not be
// evaluated; or "clear".
func (b *table) try(rule func(*bench) ([]Finding, string)) string {
	found, why := rule(b.bench)
	var all []string
	for _, f := range found {
		var words []string
		if f.Target != nil {
			words = append(words, *f.Target)
		}
		words = append(words, b.seconds(f.From.Time)+"–"+b.seconds(f.To.Time))
		for _, k := range sortedKeys(f.Values) {
			words = append(words, k+"="+b.word(f.Values[k]))
		}
		for _, e := range f.Evidence {
			if e.Count != 0 {
				words = append(words, fmt.Sprintf("(%d)", e.Count))
				if (e.Kind == "requests" || e.Kind == "probes") && e.Traffic == "" {
					words = append(words, "of whom?")
				}
			}
		}
		all = append(all, strings.Join(words, " "))
	}
	if why != "" {
		all = append(all, why)
	}
	if len(all) == 0 {
		return "clear"
	}
	return strings.Join(all, "; ")
}

func (b *table) word(v any) string {
	switch v := v.(type) {
	case nil:
		return "-"
	case *string:
		if v == nil {
			return "-"
		}
		return *v
	case Time:
		return b.seconds(v.Time)
	case float64:
		return strconv.FormatFloat(v, 'g', 6, 64)
	}
	return strings.ReplaceAll(fmt.Sprint(v), " ", ",")
}

// tableCase is evidence and what a rule makes of it, worked out by hand.
type tableCase struct {
	name string
	lay  func(*table)
	want string
}

func tryRule(t *testing.T, rule func(*bench) ([]Finding, string), cases []tableCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := newTable()
			c.lay(b)
			if got := b.try(rule); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
