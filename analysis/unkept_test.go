package analysis

import (
	"reflect"
	"slices"
	"testing"
	"time"
)

// Of very many failures that are alike, logs keep a sample one by one. The report
// counts, and puts down to causes, as if it had them all, and says that it has not.
func TestFailuresOfWhichASampleIsKept(t *testing.T) {
	whole := newScene(t)
	whole.userEvery = 4 * time.Millisecond
	whole.kill("api-1", 100, 115)
	whole.kill("api-2", 104, 110)
	want := whole.judge()
	if want.FailuresUnkept != 0 || len(want.ZeroTargets) == 0 {
		t.Fatalf("%d unkept of all, zero targets %+v", want.FailuresUnkept, want.ZeroTargets)
	}
	for _, every := range []int{2, 20, 1 << 20} {
		obs := whole.obs
		obs.Requests = slices.Clone(obs.Requests)
		n := 0
		obs.Requests = slices.DeleteFunc(obs.Requests, func(r Request) bool {
			n++
			return r.Class == ClassUser && n%every != 0
		})
		got := Judge(obs)
		if users := want.Totals[ClassUser]; got.FailuresUnkept <= users.Failures/3 || got.FailuresUnkept > users.Failures {
			t.Errorf("one in %d: %d of %d unkept", every, got.FailuresUnkept, users.Failures)
		}
		if !reflect.DeepEqual(got.Totals, want.Totals) {
			t.Errorf("one in %d: totals %+v, want %+v", every, got.Totals[ClassUser], want.Totals[ClassUser])
		}
		for i := range want.Phases { // a failure belongs to one by its end, one that was only counted by its second
			g, w := got.Phases[i].Traffic[ClassUser], want.Phases[i].Traffic[ClassUser]
			if d := g.Failures - w.Failures; d < -1 || d > 1 || g.Requests-w.Requests != d {
				t.Errorf("one in %d: phase %s: %+v, want %+v", every, want.Phases[i].Name, g, w)
			}
		}
		if got.Verdict.State != want.Verdict.State {
			t.Errorf("one in %d: verdict %s, want %s", every, got.Verdict.State, want.Verdict.State)
		}
		for i, w := range want.Claims {
			g := got.Claims[i]
			if g.State != w.State || g.Reason != w.Reason {
				t.Errorf("one in %d: %s is %s for %s, want %s for %s", every, w.ID, g.State, g.Reason, w.State, w.Reason)
			}
			for j := range w.Evidence { // counts of times that ended within a second may have more by that second's
				if d := g.Evidence[j].Count - w.Evidence[j].Count; d < 0 || d > 1000/4/2 {
					t.Errorf("one in %d: %s: %d, want %d", every, w.ID, g.Evidence[j].Count, w.Evidence[j].Count)
				}
			}
		}
		for i, w := range want.ZeroTargets { // what is sure of it: not longer, and less by a second at most
			g := got.ZeroTargets[i]
			if g.From.Before(w.From.Time) || g.To.After(w.To.Time) || w.Seconds-g.Seconds > 1 {
				t.Errorf("one in %d: zero targets %+v, want %+v", every, g, w)
			}
		}
		for i := range want.Targets {
			for j, w := range want.Targets[i].FailureWindows {
				g := got.Targets[i].FailureWindows[j]
				if g.Failed != w.Failed || !reflect.DeepEqual(g.Statuses, w.Statuses) || g.From.Before(w.From.Time) || g.Seconds > w.Seconds || w.Seconds-g.Seconds > 1 || !reflect.DeepEqual(g.LongestRun, w.LongestRun) {
					t.Errorf("one in %d: window %+v, want %+v", every, g, w)
				}
			}
		}
		listed := 0
		for _, f := range got.Failures {
			if f.Count > 1 && f.Start.Equal(f.End.Time) {
				t.Errorf("%d at one moment: %+v", f.Count, f)
			}
			listed += f.Count
		}
		all := 0
		for _, total := range want.Totals {
			if total != nil {
				all += total.Failures
			}
		}
		if len(got.Failures) < MaxFailures && listed != all {
			t.Errorf("one in %d: %d listed of %d", every, listed, all)
		}
	}
}
