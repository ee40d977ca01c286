package analysis

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"
)

// Two objects have cells of one second and kind, one failure and three; which of them are
// those that were kept is not known, whichever object comes first.
func TestWhichFailuresAreNotKept(t *testing.T) {
	for kept, want := range map[int]string{0: "100–101.5 4 late false;", 2: "100–101.5 2 late false;", 4: "", 5: ""} {
		for _, reversed := range []bool{false, true} {
			b := newTable()
			for i, at := range [][2]float64{{100, 100.25}, {100.5, 101.5}, {105, 370}} {
				c := b.cell("alb", "api-1", at[0], at[1], 2*i+1)
				c.Outcome, c.Status, c.TargetStatus = OutcomeLB5xx, 502, 0
			}
			b.cell("alb", "api-1", 100, 101, 7) // those that went well
			for range kept {
				b.obs.Requests = append(b.obs.Requests, Request{CellKey: b.obs.Cells[0].CellKey})
			}
			if reversed {
				slices.Reverse(b.obs.Cells)
			}
			b.findUnkept()
			slices.SortFunc(b.unkept, func(x, y unkept) int { return x.First.Compare(y.First) })
			got := ""
			for _, c := range b.unkept {
				got += fmt.Sprintf("%s–%s %d late %t;", b.seconds(c.First), b.seconds(c.Last), c.n, c.late)
			}
			if want := want + "105–370 5 late true;"; got != want {
				t.Errorf("%d kept: got %s, want %s", kept, got, want)
			}
		}
	}
}

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
