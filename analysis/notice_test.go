package analysis

import (
	"reflect"
	"slices"
	"testing"
	"time"
)

var noticeZero = time.Date(2026, 10, 14, 6, 0, 0, 0, time.UTC)

func noticeAt(seconds float64) time.Time {
	return noticeZero.Add(time.Duration(seconds * float64(time.Second)))
}

func noticeService() Service {
	return Service{
		Name: "orders-api", Window: WindowSettings{Baseline: 5 * time.Minute, Tail: 10 * time.Minute, Settle: 15 * time.Minute, Max: 2 * time.Hour},
		LoadBalancers: []LoadBalancer{{TargetGroups: []TargetGroup{{Name: "api", States: []StateSource{{Name: "elbv2", Every: 3 * time.Second}}}}}},
	}
}

func unassigned(kind StepKind, target string, at float64) Step {
	return Step{Kind: kind, Target: target, At: noticeAt(at), Source: target + ".log", Inferred: true}
}

// polled are the states of targets, one poll every ten seconds from a second on; a
// letter a poll: h healthy, u unhealthy, d draining, - not named.
func polled(from float64, targets map[string]string) []StateSample {
	words := map[rune]TargetState{'h': StateHealthy, 'u': StateUnhealthy, 'd': StateDraining, 'i': StateInitial}
	var samples []StateSample
	for target, polls := range targets {
		for i, letter := range polls {
			if letter != '-' {
				samples = append(samples, StateSample{Source: "elbv2", TargetGroup: "api", Target: target, At: noticeAt(from + 10*float64(i)), State: words[letter]})
			}
		}
	}
	return samples
}

func TestNotice(t *testing.T) {
	rolling := []Step{
		unassigned(StepAppReady, "api-1", -5000), unassigned(StepAppReady, "api-2", -5000),
		unassigned(StepRestartBegan, "api-1", 100), unassigned(StepAppReady, "api-1", 118),
		unassigned(StepRestartBegan, "api-2", 400), unassigned(StepAppReady, "api-2", 420),
	}
	type found struct {
		id       string
		kind     DeployKind
		from, to float64
	}
	for _, test := range []struct {
		name    string
		steps   []Step
		states  []StateSample
		deploys []Deploy
		want    []found
		merged  map[string]string
	}{
		{name: "nothing happened", states: polled(0, map[string]string{"api-1": "hhhh", "api-2": "hhhh"})},
		{name: "two restarts, one after the other", steps: rolling, want: []found{{"noticed-orders-api-20261014T060140Z", KindRolling, 100, 420}}},
		{name: "the first start of all", steps: []Step{unassigned(StepAppReady, "api-1", 10)}},
		{
			name: "ready again, though nothing told of the stop", steps: []Step{unassigned(StepAppReady, "api-1", 60)},
			states: polled(0, map[string]string{"api-1": "hhhhhhh"}), want: []found{{"noticed-orders-api-20261014T060100Z", KindRolling, 60, 60}},
		},
		{name: "died", steps: []Step{unassigned(StepProcessKilled, "api-1", 50)}, want: []found{{"noticed-orders-api-20261014T060050Z", KindFault, 50, 50}}},
		{
			// It may have failed from the last poll that found it healthy.
			name: "failed its checks", states: polled(0, map[string]string{"api-1": "hhuuh", "api-2": "hhhhh"}),
			want: []found{{"noticed-orders-api-20261014T060010Z", KindFault, 10, 40}},
		},
		{name: "scaled out", states: polled(0, map[string]string{"api-1": "hhhhh", "api-3": "--ihh"})},
		{name: "scaled in", states: polled(0, map[string]string{"api-1": "hhhhh", "api-2": "hhdd-"})},
		{
			name: "green in the place of blue", states: polled(0, map[string]string{"blue": "hhhhdd-", "green": "--hhhhh"}),
			want: []found{{"noticed-orders-api-20261014T060020Z", KindBlueGreen, 20, 30}},
		},
		{
			name: "gone without a word", states: polled(0, map[string]string{"blue": "hhh---", "green": "--hhhh"}),
			want: []found{{"noticed-orders-api-20261014T060020Z", KindBlueGreen, 20, 20}},
		},
		{name: "announced", steps: rolling, deploys: []Deploy{{ID: "d1", StartedAt: noticeAt(90), ReportedAt: noticeAt(425)}}},
		{name: "announced and not over yet", steps: rolling, deploys: []Deploy{{ID: "d1", StartedAt: noticeAt(90)}}},
		{
			name: "further apart than the tail", steps: []Step{unassigned(StepProcessKilled, "api-1", 0), unassigned(StepProcessKilled, "api-1", 601)},
			want: []found{{"noticed-orders-api-20261014T060000Z", KindFault, 0, 0}, {"noticed-orders-api-20261014T061001Z", KindFault, 601, 601}},
		},
		{name: "as far apart as the tail", steps: []Step{unassigned(StepProcessKilled, "api-1", 0), unassigned(StepProcessKilled, "api-1", 600)},
			want: []found{{"noticed-orders-api-20261014T060000Z", KindFault, 0, 600}}},
		{
			name: "each polled at a moment of its own", states: append(polled(0, map[string]string{"api-1": "hhhhh"}), polled(8.9, map[string]string{"api-2": "hhhh"})...),
		},
		{name: "in a time to come", steps: []Step{unassigned(StepProcessKilled, "api-1", 20_001)}},
		{
			name: "a fix announced just after it broke", steps: []Step{unassigned(StepProcessKilled, "api-1", 100), unassigned(StepRestartBegan, "api-1", 240), unassigned(StepAppReady, "api-1", 260)},
			deploys: []Deploy{
				{ID: "n", Kind: KindFault, StartedAt: noticeAt(100), SeenUntil: noticeAt(100), Service: "orders-api", Source: NoticedSource},
				{ID: "fix", StartedAt: noticeAt(230), ReportedAt: noticeAt(270)},
			},
		},
		{
			name: "its first signs are out of sight", steps: []Step{unassigned(StepAppReady, "api-1", 540)},
			deploys: []Deploy{
				{ID: "n", Kind: KindFault, StartedAt: noticeAt(0), SeenUntil: noticeAt(540), Service: "orders-api", Source: NoticedSource},
				{ID: "fix", StartedAt: noticeAt(500), ReportedAt: noticeAt(900)},
			},
		},
		{
			name: "more of it", steps: rolling, deploys: []Deploy{{ID: "n", Kind: KindRolling, StartedAt: noticeAt(100), SeenUntil: noticeAt(118), Service: "orders-api", Source: NoticedSource}},
			want: []found{{"n", KindRolling, 100, 420}},
		},
		{
			name: "its beginning came late", steps: rolling[2:], deploys: []Deploy{{ID: "n", Kind: KindRolling, StartedAt: noticeAt(400), SeenUntil: noticeAt(420), Service: "orders-api", Source: NoticedSource}},
			want: []found{{"n", KindRolling, 100, 420}},
		},
		{name: "known as it is", steps: rolling, deploys: []Deploy{{ID: "n", Kind: KindRolling, StartedAt: noticeAt(100), SeenUntil: noticeAt(420), Service: "orders-api", Source: NoticedSource}}},
		{
			name: "announced late", steps: rolling,
			deploys: []Deploy{{ID: "n", StartedAt: noticeAt(100), SeenUntil: noticeAt(420), Source: NoticedSource}, {ID: "d1", StartedAt: noticeAt(90), ReportedAt: noticeAt(425)}},
			merged:  map[string]string{"n": "d1"},
		},
		{
			name: "another one announced", steps: rolling,
			deploys: []Deploy{{ID: "n", Kind: KindRolling, StartedAt: noticeAt(100), SeenUntil: noticeAt(420), Service: "orders-api", Source: NoticedSource}, {ID: "d1", StartedAt: noticeAt(3000), ReportedAt: noticeAt(3100)}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			slices.Reverse(test.steps) // whatever the order
			defer slices.Reverse(test.steps)
			got := Notice(noticeService(), test.steps, test.states, test.deploys, noticeAt(20_000))
			var deploys []found
			for _, d := range got.Deploys {
				if d.Service != "orders-api" || d.Source != NoticedSource || !d.Noticed() {
					t.Errorf("%+v does not say that it was noticed", d)
				}
				deploys = append(deploys, found{d.ID, d.Kind, d.StartedAt.Sub(noticeZero).Seconds(), d.SeenUntil.Sub(noticeZero).Seconds()})
			}
			if !reflect.DeepEqual(deploys, test.want) {
				t.Errorf("noticed %+v, want %+v", deploys, test.want)
			}
			if len(got.Merged)+len(test.merged) > 0 && !reflect.DeepEqual(got.Merged, test.merged) {
				t.Errorf("merged %v, want %v", got.Merged, test.merged)
			}
		})
	}
}

// A crash loop is cut into windows no longer than the window's max, and what was cut
// once stays cut however the past moves out of sight.
func TestNoticedDeployIsBounded(t *testing.T) {
	service := noticeService()
	var steps []Step
	for at := 0.0; at <= 4*3600; at += 60 {
		steps = append(steps, unassigned(StepProcessKilled, "api-1", at))
	}
	first := Notice(service, steps, nil, nil, noticeAt(20_000)).Deploys
	if len(first) != 2 {
		t.Fatalf("%d deploys of four hours, want 2 of at most two hours", len(first))
	}
	for _, d := range first {
		if d.SeenUntil.Sub(d.StartedAt) > service.Window.Max {
			t.Errorf("%s is %v long", d.ID, d.SeenUntil.Sub(d.StartedAt))
		}
	}
	if again := Notice(service, steps[len(steps)/3:], nil, first, noticeAt(20_000)).Deploys; len(again) > 0 {
		t.Errorf("seen again with less of the past: %+v", again)
	}
}

func TestWindowOfNoticed(t *testing.T) {
	d := Deploy{StartedAt: noticeAt(100), SeenUntil: noticeAt(420)}
	from, to := WindowOf(d, noticeService().Window)
	if !from.Equal(noticeAt(-200)) || !to.Equal(noticeAt(1020)) {
		t.Errorf("from %v to %v, want baseline before the first sign and tail after the last", from, to)
	}
}
