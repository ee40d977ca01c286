package lab

import (
	"context"
	"slices"
	"testing"
	"time"

	"gapless/analysis"
)

// The fifth report: an apply registers the target that the deploy had taken out. The
// same workflow loses nothing on the node that was left alone.
func TestATargetPutBackIsStoppedInItsTraffic(t *testing.T) {
	t.Parallel()
	states := map[string][]analysis.TargetState{} // by node, in order, without repetition
	l, told := runBent(t, Reregistered, nil, func(s *scenario) { s.scale(500 * time.Millisecond) }, func(l *Lab, ctx context.Context) {
		for sleep(ctx, 10*time.Millisecond) == nil {
			for _, node := range l.nodes {
				state := l.group.describe(node.address)[0].state
				if of := states[node.name]; len(of) == 0 || of[len(of)-1] != state {
					states[node.name] = append(of, state)
				}
			}
		}
	})
	want := []string{
		"deploy.started", "build.finished", "target.deregistered api-1", "restart.began api-1", "target.registered api-1",
		"target.deregistered api-2", "restart.began api-2", "target.registered api-2", "deploy.reported succeeded",
	}
	if !slices.Equal(told.steps, want) {
		t.Errorf("announced %q, want %q: nobody announces an apply", told.steps, want)
	}
	// api-2 stays out until it is put back; api-1 is back at once, and has not left when it is stopped.
	for node, path := range map[string][]analysis.TargetState{
		"api-1": {analysis.StateHealthy, analysis.StateDraining, analysis.StateHealthy},
		"api-2": {analysis.StateHealthy, analysis.StateDraining, analysis.StateUnused, analysis.StateHealthy},
	} {
		if got := slices.DeleteFunc(states[node], func(s analysis.TargetState) bool { return s == analysis.StateInitial }); len(got) < len(path) || !slices.Equal(got[:len(path)], path) {
			t.Errorf("%s was %q, want %q", node, got, path)
		}
	}
	served := map[string]int{} // after it was deregistered and before it was stopped
	failed := map[string]int{}
	for _, r := range l.Truth().Requests {
		if r.Start.After(told.at["target.deregistered "+r.Target]) && r.Start.Before(told.at["restart.began "+r.Target]) {
			served[r.Target]++
		}
		if r.Outcome.Failure() {
			failed[r.Target]++
		}
	}
	if served["api-1"] == 0 || served["api-2"] != 0 {
		t.Errorf("served while they were out: %v; want api-1 alone", served)
	}
	if failed["api-2"] != 0 || len(failed) > 1 {
		t.Errorf("failed: %v; want none but of api-1", failed)
	}
	wantLogEqualsTruth(t, l)
}
