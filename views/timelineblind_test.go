package views

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gapless/analysis"
)

// A service of which every kind of source is read, with one target that a step tells
// of, and ten seconds of it.
func watched() (analysis.Observations, analysis.Report, scale) {
	from := time.Unix(1_760_000_000, 0)
	s := newScale(from, from.Add(10*time.Second), time.UTC)
	obs := analysis.Observations{From: s.from, To: s.to, Service: analysis.Service{
		LoadBalancers: []analysis.LoadBalancer{{Name: "lb", AccessLogs: []analysis.AccessLog{{Name: "edge", Counts: true}, {Name: "second"}},
			TargetGroups: []analysis.TargetGroup{{Name: "api", States: []analysis.StateSource{{Name: "states"}}}}}},
		AppLogs:  []analysis.AppLog{{Name: "log-a", Target: "a"}, {Name: "log-b", Target: "b"}},
		Probes:   []analysis.Probe{{Name: "store", Class: analysis.ClassProbe}, {Name: "health", Class: analysis.ClassHealth}},
		Metrics:  []analysis.MetricsSource{{Name: "metrics-a", Target: "a"}},
		Journeys: []analysis.Journey{{Name: "order", Sources: []string{"orders"}}},
	}}
	r := analysis.Report{Window: analysis.WindowReport{From: analysis.Time{Time: s.from}, To: analysis.Time{Time: s.to}},
		Targets: []analysis.TargetReport{{Target: "a", TargetGroup: "api"}, {Target: "b", TargetGroup: "api"}},
		Totals:  map[analysis.Class]*analysis.Total{analysis.ClassUser: {Requests: 10}, analysis.ClassProbe: {Requests: 10}, analysis.ClassHealth: {Requests: 10, Failures: 1}}}
	return obs, r, s
}

// A blind spot hides what its source could have told, and nothing else.
func TestBlindSpotsHideTheirOwnLanesOnly(t *testing.T) {
	for source, want := range map[string][]string{
		"states":         {"a LB says", "b LB says"},
		"edge":           {"a serves", "b serves", "users", "rate"},
		"second":         nil,
		"log-a":          {"a app"},
		"store":          {"probes"},
		"store @ Berlin": nil,
		"health":         {"health"},
		"metrics-a":      nil,
		"orders":         nil,
	} {
		obs, r, s := watched()
		at := func(seconds int) analysis.Time {
			return analysis.Time{Time: s.from.Add(time.Duration(seconds) * time.Second)}
		}
		for i := range int64(10) {
			obs.Cells = append(obs.Cells, analysis.Cell{CellKey: analysis.CellKey{Second: s.from.Unix() + i, Source: "edge", Target: "a", TargetStatus: 200, Class: analysis.ClassUser}, Count: 1})
		}
		r.Coverage = []analysis.Coverage{{Source: source, Seen: 8, Blind: []analysis.Blind{{From: at(3), To: at(5), Reason: "gap"}}}}
		picture := newTimeline(&obs, &r, time.UTC)
		var got []string
		note := func(lane string, hidden []Bar) {
			for _, bar := range hidden {
				got = append(got, lane)
				if !strings.HasPrefix(bar.Title, source+": ") {
					t.Errorf("%s: a hatch says %q", source, bar.Title)
				}
			}
		}
		for _, target := range picture.Targets {
			for _, lane := range target.Lanes {
				note(target.Name+" "+lane.Label, lane.Hidden)
			}
		}
		for _, lane := range picture.Events {
			note(lane.Label, lane.Hidden)
		}
		note("rate", picture.Rate.Hidden)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s hides %q, want %q", source, got, want)
		}
		if len(picture.Blind) != 1 || picture.Blind[0].Label != source || len(picture.Blind[0].Bars) != 1 {
			t.Errorf("%s has no row of its own: %+v", source, picture.Blind)
		}
	}
}

// Without a word from an application, nothing says that it was up.
func TestAppLaneNeedsEvidence(t *testing.T) {
	a := "a"
	for name, c := range map[string]struct {
		add  func(*analysis.Observations, *analysis.Report)
		want bool
	}{
		"nothing": {func(*analysis.Observations, *analysis.Report) {}, false},
		"a log that was read": {func(_ *analysis.Observations, r *analysis.Report) {
			r.Coverage = []analysis.Coverage{{Source: "log-a", Seen: 10}}
		}, true},
		"a log that was not": {func(_ *analysis.Observations, r *analysis.Report) {
			r.Coverage = []analysis.Coverage{{Source: "log-a"}}
		}, false},
		"the other's log": {func(_ *analysis.Observations, r *analysis.Report) {
			r.Coverage = []analysis.Coverage{{Source: "log-b", Seen: 10}}
		}, false},
		"a line of a request": {func(obs *analysis.Observations, _ *analysis.Report) {
			obs.Handled = []analysis.HandledRequest{{Target: a}}
		}, true},
		"a line of a signal": {func(obs *analysis.Observations, _ *analysis.Report) { obs.Signals = []analysis.Signal{{Target: a}} }, true},
		"another's signal":   {func(obs *analysis.Observations, _ *analysis.Report) { obs.Signals = []analysis.Signal{{Target: "b"}} }, false},
		"a step": {func(_ *analysis.Observations, r *analysis.Report) {
			r.Steps = []analysis.StepReport{{Kind: analysis.StepRestartBegan, Target: &a, At: analysis.Time{Time: r.Window.From.Add(time.Second)}}}
		}, true},
		"a step that is ignored": {func(_ *analysis.Observations, r *analysis.Report) {
			r.Steps = []analysis.StepReport{{Kind: analysis.StepRestartBegan, Target: &a, Ignored: true}}
		}, false},
		"the load balancer's": {func(_ *analysis.Observations, r *analysis.Report) {
			r.Steps = []analysis.StepReport{{Kind: analysis.StepTargetHealthy, Target: &a}}
		}, false},
	} {
		obs, r, _ := watched()
		c.add(&obs, &r)
		lane := newTimeline(&obs, &r, time.UTC).Targets[0].Lanes[2]
		if got := len(lane.Bars) > 0; got != c.want || lane.None != "not measured" {
			t.Errorf("%s: drawn %t, else %q, want %t", name, got, lane.None, c.want)
		}
	}
}

// Where a picture begins within a second, what is counted by the second is not known
// before the next one.
func TestTheBeginningOfASecondIsNotKnown(t *testing.T) {
	obs, r, s := watched()
	begin := s.from.Add(400 * time.Millisecond)
	r.Window.From.Time = begin
	for i := int64(1); i < 10; i++ {
		obs.Cells = append(obs.Cells, analysis.Cell{CellKey: analysis.CellKey{Second: s.from.Unix() + i, Source: "edge", Target: "a", TargetStatus: 200, Class: analysis.ClassUser}, Count: 1})
	}
	picture := newTimeline(&obs, &r, time.UTC)
	for lane, hidden := range map[string][]Bar{"serves": picture.Targets[0].Lanes[1].Hidden, "rate": picture.Rate.Hidden} {
		if len(hidden) != 1 || hidden[0].X != fmt.Sprint(picture.Left) || hidden[0].Title != secondsOnly {
			t.Errorf("%s: %+v", lane, hidden)
			continue
		}
		share := number64(t, hidden[0].W) / float64(picture.Right-picture.Left)
		if want := .6 / 9.6; share < want-.01 || share > want+.01 {
			t.Errorf("%s: %.3f of the width is not known, want %.3f", lane, share, want)
		}
	}
	if hidden := picture.Targets[1].Lanes[1].Hidden; hidden != nil {
		t.Errorf("a target that served nothing: %+v", hidden)
	}
	obs.Probes = []analysis.ProbeRequest{{Target: "a", Status: 200, Class: analysis.ClassProbe, Sent: begin, Done: begin}}
	if hidden := newTimeline(&obs, &r, time.UTC).Targets[0].Lanes[1].Hidden; hidden != nil {
		t.Errorf("a probe was answered at once, and yet: %+v", hidden)
	}
}

// Names that begin alike can be told apart, and leave room for what stands beside.
func TestNamesBesideThePlot(t *testing.T) {
	obs, r, s := watched()
	r.Targets[0].Target, r.Targets[1].Target = "api-platform-1", "api-platform-2"
	for _, source := range []string{"metrics-api-platform-orders-1", "metrics-api-platform-orders-2"} {
		r.Coverage = append(r.Coverage, analysis.Coverage{Source: source, Blind: []analysis.Blind{{From: analysis.Time{Time: s.from}, To: analysis.Time{Time: s.from.Add(3260 * time.Millisecond)}, Reason: "gap"}}})
	}
	picture := newTimeline(&obs, &r, time.UTC)
	if picture.Left <= plotLeft || picture.Left > widestLeft || picture.LabelEnd != picture.Left-8 {
		t.Errorf("the plot begins at %d", picture.Left)
	}
	if picture.Targets[0].Short != "api-platform-1" {
		t.Errorf("a name that fits is cut to %q", picture.Targets[0].Short)
	}
	one, two := picture.Blind[0], picture.Blind[1]
	if one.Short == two.Short || !strings.Contains(one.Short, "…") || one.Label != "metrics-api-platform-orders-1" {
		t.Errorf("%q and %q", one.Short, two.Short)
	}
	if end := labelX + int(float64(len([]rune(one.Short)))*boldDigit) + labelWidth(one.Sub); end > picture.LabelEnd {
		t.Errorf("%q and %q end at %d, the column at %d", one.Short, one.Sub, end, picture.LabelEnd)
	}
	if x := number64(t, picture.Blind[0].Bars[0].X); int(x) != picture.Left {
		t.Errorf("a bar from the beginning on starts at %v, the plot at %d", x, picture.Left)
	}
	names := render(t, TimelineNames(picture))
	if !strings.Contains(names, "#tl-labels") || !strings.Contains(render(t, TimelineSVG(picture)), `id="tl-labels"`) {
		t.Errorf("the labels are not shown once more: %s", names)
	}
}
