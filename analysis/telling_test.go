package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A breaker of api-1 that opens at 100 and closes at 200. What is told at the very moment
// of a change belongs to the state after it; of changes of one moment, those that differ
// only in their values, the order in which they arrived decides nothing.
func TestBreakersFollowTheLines(t *testing.T) {
	change := func(b *table, at float64, from, to string) {
		b.tell("api-1", at, EventBreakerChanged, "gateway", "from", from, "to", to)
	}
	for _, c := range []struct {
		name string
		lay  func(*table)
		want string
	}{
		{"a call as it opens, one in between, one as it closes", func(b *table) {
			change(b, 100, "closed", "open")
			change(b, 200, "open", "closed")
			for _, at := range []float64{100, 150, 200} {
				b.tell("api-1", at, EventCallSent, "gateway")
			}
		}, "closed 0–100 (0); open 100–200 (2); closed 200–300 (1)"},
		{"two changes at one moment", func(b *table) {
			change(b, 100, "closed", "open")
			change(b, 100, "open", "half_open")
		}, "closed 0–100 (0); half_open 100–300 (0)"},
	} {
		b := newTable()
		c.lay(b)
		for _, way := range []string{"as told", "the other way round"} {
			var got []string
			for _, s := range Judge(b.obs).Breakers {
				got = append(got, fmt.Sprintf("%s %s–%s (%d)", s.State, b.seconds(s.From.Time), b.seconds(s.To.Time), s.Sent))
			}
			if got := strings.Join(got, "; "); got != c.want {
				t.Errorf("%s, %s:\ngot  %s\nwant %s", c.name, way, got, c.want)
			}
			slices.Reverse(b.obs.Signals)
		}
	}
}

// A call is joined with its end in the order of their times, whatever they are called.
func TestCallsAreJoinedInTheirOrder(t *testing.T) {
	b := newTable()
	b.tell("api-1", 100, EventCallEnded, "gateway", "result", "ok") // of a call that no line tells of
	b.tell("api-1", 101, EventCallSent, "gateway")
	if calls := b.bench.calls(); len(calls) != 1 || calls[0].result != resultNone {
		t.Errorf("%+v", calls)
	}
}

func TestWhyNoCallIsTold(t *testing.T) {
	tried := func(rule string, event Event, name string, lines int) func(*table) {
		return func(b *table) {
			b.obs.Service.LogRules = []LogRule{{Name: rule, Event: event}}
			b.report.Controls = []Control{{Rule: name, Lines: lines}}
		}
	}
	tryRule(t, retryAmplification, []tableCase{
		{"there is no rule", func(*table) {}, whySignals},
		{"its rule was tried in vain", tried("own", EventCallSent, "own", 1), whyNeverMatched},
		{"its rule was tried on no line", tried("own", EventCallSent, "own", 0), whySignals},
		{"another rule was tried", tried("own", EventCallSent, "other", 1), whySignals},
		{"a rule for another event was tried in vain", tried("own", EventCallEnded, "own", 1), whySignals},
	})
}

// The line that would clear a process may stand in a log whose lines name their target.
func TestLogsThatMayTellOfATarget(t *testing.T) {
	cut := func(log, target string) func(*table) {
		return func(b *table) {
			b.logs()
			b.obs.Service.AppLogs = append(b.obs.Service.AppLogs, AppLog{Name: log, Target: target})
			b.coverage[log] = &Coverage{Source: log}
			b.blind(log, 90, 120)
			b.stoppings = []stopping{{target: "api-1", began: b.at(100), killed: b.at(110)}}
		}
	}
	tryRule(t, stopTimeoutTooShort, []tableCase{
		{"its own was blind", cut("second.log", "api-1"), whyAppLogBlind},
		{"one of all targets was blind", cut("all.log", ""), whyAppLogBlind},
		{"another target's was blind", cut("second.log", "api-2"), "api-1 100–110 after_s=10 asked_at=- began_at=100 by=kill cut_at=110"},
	})
}
