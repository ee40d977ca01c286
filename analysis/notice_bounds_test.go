package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// The window of the service has a tail of 600 s and is no longer than 7,200 s; its
// states are polled every 3 s, so that a target is missing after 9 s.
func TestNoticeBounds(t *testing.T) {
	kill := func(at ...float64) []Step {
		var steps []Step
		for _, s := range at {
			steps = append(steps, unassigned(StepProcessKilled, "api-1", s))
		}
		return steps
	}
	// at lays down one poll of a target.
	at := func(target string, second float64, state TargetState) StateSample {
		return StateSample{Source: "elbv2", TargetGroup: "api", Target: target, At: noticeAt(second), State: state}
	}
	known := func(kind DeployKind, from, to float64) Deploy {
		return Deploy{ID: "n", Service: "orders-api", Source: NoticedSource, Kind: kind, StartedAt: noticeAt(from), SeenUntil: noticeAt(to)}
	}
	told := []Deploy{{ID: "d1", StartedAt: noticeAt(3000), ReportedAt: noticeAt(3100)}} // its window ends at 3700
	up := []StateSample{at("api-1", 0, StateHealthy), at("api-1", 100, StateHealthy)}
	for _, c := range []struct {
		name    string
		steps   []Step
		states  []StateSample
		deploys []Deploy
		want    string
	}{
		{name: "now", steps: kill(20_000), want: "fault 20000–20000"},
		{name: "in a time to come", steps: kill(20_000.1)},
		{name: "before an announced start", steps: kill(2999.9), deploys: told, want: "fault 2999.9–2999.9"},
		{name: "as an announced deploy starts", steps: kill(3000), deploys: told},
		{name: "at the end of an announced window", steps: kill(3699.9), deploys: told},
		{name: "after an announced window", steps: kill(3700), deploys: told, want: "fault 3700–3700"},
		{name: "known, until after an announced window: not the same", deploys: append(told, known(KindFault, 3050, 3700))},
		{name: "known, until the end of an announced window: the same", deploys: append(told, known(KindFault, 3050, 3699)), want: "n is d1"},
		{name: "known, from before an announced start: not the same", deploys: append(told, known(KindFault, 2999.9, 3050))},
		{name: "known, from an announced start: the same", deploys: append(told, known(KindFault, 3000, 3050)), want: "n is d1"},

		{name: "told late, a tail before", steps: kill(400), deploys: []Deploy{known(KindFault, 1000, 1000)}, want: "fault 400–1000"},
		{name: "told late, more than a tail before", steps: kill(399.9), deploys: []Deploy{known(KindFault, 1000, 1000)}, want: "fault 399.9–399.9"},
		{name: "as long as may be, begun earlier", steps: kill(900), deploys: []Deploy{known(KindFault, 1000, 8100)}, want: "fault 900–8100"},
		{name: "longer than may be, begun earlier", steps: kill(899.9), deploys: []Deploy{known(KindFault, 1000, 8100)}, want: "fault 899.9–899.9"},
		{name: "as long as may be, ended later", steps: kill(1000, 8200), deploys: []Deploy{known(KindFault, 1000, 8100)}, want: "fault 1000–8200"},
		{name: "longer than may be, ended later", steps: kill(1000, 8200.1), deploys: []Deploy{known(KindFault, 1000, 8100)}, want: "fault 8200.1–8200.1"},
		{name: "inside of one that was noticed when more was allowed", steps: kill(5000), deploys: []Deploy{known(KindFault, 0, 9000)}},

		{name: "the kind is told by all signs, from the first on", steps: kill(100, 430), deploys: []Deploy{known(KindRolling, 100, 420)}, want: "fault 100–430"},
		{name: "the first are out of sight: the kind stays", steps: kill(430), deploys: []Deploy{known(KindRolling, 100, 420)}, want: "rolling 100–430"},
		{name: "killed while another came", steps: kill(50), states: append([]StateSample{at("api-2", 50, StateHealthy), at("api-2", 100, StateHealthy)}, up...), want: "fault 50–50"},
		{name: "killed while another left", steps: kill(50), states: append([]StateSample{at("api-2", 0, StateHealthy), at("api-2", 50, StateDraining)}, up...), want: "fault 0–50"},
		{name: "ready again, and nothing else", steps: []Step{unassigned(StepAppReady, "api-1", 50)}, states: up, want: "rolling 50–50"},
		{name: "ready for the first time", steps: []Step{unassigned(StepAppReady, "api-2", 50)}, states: up},
		{name: "ready for the first time as it is first seen at work", steps: []Step{unassigned(StepAppReady, "api-1", 0)}, states: up},
		{name: "a step of a deploy", steps: []Step{{Deploy: "d7", Kind: StepProcessKilled, Target: "api-1", At: noticeAt(50)}}},
		{name: "a step of no target", steps: []Step{{Kind: StepProcessKilled, At: noticeAt(50)}}},

		{name: "out of use", states: []StateSample{at("api-1", 0, StateHealthy), at("api-1", 5, StateUnused)}},
		{name: "out of use, by NCP", states: []StateSample{at("api-1", 0, StateUp), at("api-1", 5, StateUnusedNCP)}},
		{name: "initial again", states: []StateSample{at("api-1", 0, StateHealthy), at("api-1", 5, StateInitial)}},
		{name: "out of use, and another in its place that was polled later, as it may be", states: []StateSample{
			at("blue", 0, StateHealthy), at("green", 9, StateHealthy), at("blue", 12, StateUnused),
		}},
		{name: "out of use, and another in its place", states: []StateSample{
			at("blue", 0, StateHealthy), at("green", 9.1, StateHealthy), at("blue", 12, StateUnused),
		}, want: "blue_green 0–9.1"},
		{name: "polled for the last time before another, as it may be", states: []StateSample{
			at("blue", 0, StateHealthy), at("blue", 20, StateHealthy), at("green", 15, StateHealthy), at("green", 29, StateHealthy),
		}},
		{name: "polled no more", states: []StateSample{
			at("blue", 0, StateHealthy), at("blue", 19.9, StateHealthy), at("green", 15, StateHealthy), at("green", 29, StateHealthy),
		}, want: "blue_green 15–19.9"},
		{name: "out of rotation, and polled no more", states: []StateSample{
			at("blue", 0, StateInitial), at("blue", 19.9, StateInitial), at("green", 15, StateHealthy), at("green", 29, StateHealthy),
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Notice(noticeService(), c.steps, c.states, c.deploys, noticeAt(20_000))
			var words []string
			for _, d := range got.Deploys {
				words = append(words, fmt.Sprintf("%s %g–%g", d.Kind, d.StartedAt.Sub(noticeZero).Seconds(), d.SeenUntil.Sub(noticeZero).Seconds()))
			}
			for was, is := range got.Merged {
				words = append(words, was+" is "+is)
			}
			slices.Sort(words)
			if got := strings.Join(words, ", "); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestNoticeReach(t *testing.T) {
	if got := NoticeReach(noticeService().Window); got != 2*time.Hour+5*time.Minute+15*time.Minute {
		t.Errorf("%v, want max, baseline and settle", got)
	}
}

// A source is polled as it says; one that does not say, or is not configured any more,
// may have been polled every minute.
func TestPollEvery(t *testing.T) {
	s := Service{LoadBalancers: []LoadBalancer{{TargetGroups: []TargetGroup{{States: []StateSource{
		{Name: "quick", Every: time.Second}, {Name: "slow", Every: 5 * time.Second}, {Name: "silent"},
	}}}}}}
	for source, want := range map[string]time.Duration{"quick": time.Second, "slow": 5 * time.Second, "silent": time.Minute, "gone": time.Minute} {
		if got := s.pollEvery(source); got != want {
			t.Errorf("%s: %v, want %v", source, got, want)
		}
	}
}
