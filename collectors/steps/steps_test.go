package steps

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gapless/analysis"
)

var start = time.Date(2026, 10, 14, 6, 25, 0, 0, time.UTC)

const (
	started  = `{"deploy":"d1","service":"orders-api","kind":"deploy.started","at":"2026-10-14T06:25:00Z","source":"workflow","deploy_kind":"rolling","version_before":"41","version_after":"42","actor":"kim"}` + "\n"
	drained  = `{"deploy":"d1","service":"orders-api","kind":"drain.marked","at":"2026-10-14T06:26:00Z","target":"10.0.1.11:8080","clock":"runner"}` + "\n"
	other    = `{"deploy":"d9","service":"billing","kind":"drain.marked","at":"2026-10-14T06:26:00Z","target":"b-1"}` + "\n"
	reported = `{"deploy":"d1","service":"orders-api","kind":"deploy.reported","at":"2026-10-14T06:30:00Z","source":"workflow","result":"succeeded"}` + "\n"
	broken   = `{"deploy":"d1","service":"orders-api","kind":"drain.begun","at":"2026-10-14T06:27:00Z"}` + "\n"
)

func TestCollect(t *testing.T) {
	sink := &sink{}
	// The report stands before the start: order in the file does not matter.
	r, path := reader(t, sink, reported+other+drained+broken+started)
	from, to := start.Add(-time.Minute), start.Add(time.Hour)
	if err := r.Collect(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"start d1 rolling 41→42 by kim from workflow at 06:25:00",
		"step drain.marked of d1 on api-1 from steps clock runner at 06:26:00",
		"finish d1 succeeded from workflow at 06:30:00",
	}
	if !slices.Equal(sink.calls, want) {
		t.Errorf("\n got %q\nwant %q", sink.calls, want)
	}
	good, bad := sink.runs[0], sink.runs[1]
	if good.Code != "" || good.From != from || good.To != to || good.Rows != 3 {
		t.Errorf("run %+v", good)
	}
	if bad.Code != "bad_reply" || !strings.Contains(bad.Error, `line 4: kind "drain.begun"`) || !strings.Contains(bad.Error, path) {
		t.Errorf("run %+v", bad)
	}
}

func TestRefusalIsAStoredRun(t *testing.T) {
	sink := &sink{refuse: errors.New("deploy d1: not found")}
	r, _ := reader(t, sink, reported+drained)
	if err := r.Collect(t.Context(), start, start.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if len(sink.calls) != 1 || sink.runs[1].Code != "error" || !strings.Contains(sink.runs[1].Error, "deploy.reported of deploy d1: deploy d1: not found") {
		t.Errorf("calls %q, runs %+v", sink.calls, sink.runs)
	}
}

// Live, a refusal is tried again: the start may come by another way a little later.
func TestReportBeforeStart(t *testing.T) {
	for _, test := range []struct {
		name  string
		after time.Duration // until the sink takes the report
		calls int
		codes map[string]int
	}{
		{"the start comes", 2500 * time.Millisecond, 1, map[string]int{}},
		{"the start never comes", time.Hour, 0, map[string]int{"error": 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sink := &sink{refuse: errors.New("not found"), until: time.Now().Add(test.after)}
				r, _ := reader(t, sink, reported)
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				if err := r.Run(ctx); err != nil {
					t.Fatal(err)
				}
				codes := map[string]int{}
				for _, run := range sink.runs {
					if run.Code != "" {
						codes[run.Code]++
					}
				}
				if len(sink.calls) != test.calls || !maps.Equal(codes, test.codes) {
					t.Errorf("calls %q, failed runs %v", sink.calls, codes)
				}
			})
		})
	}
}

func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &sink{}
		r, path := reader(t, sink, started)
		begun := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		wait := func(want int) {
			t.Helper()
			time.Sleep(1100 * time.Millisecond)
			sink.mu.Lock()
			defer sink.mu.Unlock()
			if len(sink.calls) != want {
				t.Errorf("%d calls, want %d: %q", len(sink.calls), want, sink.calls)
			}
		}
		wait(1)
		appendTo(t, path, drained[:40])
		wait(1)
		appendTo(t, path, drained[40:]+broken)
		wait(2)
		if err := os.Rename(path, path+".away"); err != nil {
			t.Fatal(err)
		}
		wait(2)
		if err := os.Rename(path+".away", path); err != nil {
			t.Fatal(err)
		}
		wait(2)
		time.Sleep(time.Minute)
		appendTo(t, path, reported)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if len(sink.calls) != 3 {
			t.Errorf("what came last was not stored: %q", sink.calls)
		}
		codes := map[string]int{}
		to := begun
		for _, run := range sink.runs {
			codes[run.Code]++
			if run.Code == "" {
				if !run.From.Equal(to) {
					t.Errorf("a good run from %v follows one to %v", run.From, to)
				}
				to = run.To
			}
		}
		if codes["not_found"] != 1 || codes["bad_reply"] != 1 || codes[""] > 20 {
			t.Errorf("runs by code: %v", codes)
		}
		if !to.Equal(time.Now()) {
			t.Errorf("runs end at %v, want %v", to, time.Now())
		}
	})
}

// sink records what it is told, in order.
type sink struct {
	mu     sync.Mutex
	calls  []string
	runs   []analysis.Run
	refuse error // of FinishDeploy
	until  time.Time
}

func (s *sink) StartDeploy(_ context.Context, d analysis.Deploy) (bool, error) {
	s.call("start %s %s %s→%s by %s from %s at %s", d.ID, d.Kind, d.VersionBefore, d.VersionAfter, d.Actor, d.Source, d.StartedAt.Format(time.TimeOnly))
	return true, nil
}

func (s *sink) FinishDeploy(_ context.Context, id string, at time.Time, result, source string) (bool, error) {
	if s.refuse != nil && (s.until.IsZero() || time.Now().Before(s.until)) {
		return false, s.refuse
	}
	s.call("finish %s %s from %s at %s", id, result, source, at.Format(time.TimeOnly))
	return true, nil
}

func (s *sink) AddSteps(_ context.Context, _ string, steps []analysis.Step) (int, error) {
	for _, each := range steps {
		s.call("step %s of %s on %s from %s clock %s at %s", each.Kind, each.Deploy, each.Target, each.Source, each.Clock, each.At.Format(time.TimeOnly))
	}
	return len(steps), nil
}

func (s *sink) AddRun(_ context.Context, _ string, run analysis.Run) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs = append(s.runs, run)
	return nil
}

func (s *sink) call(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, fmt.Sprintf(format, args...))
}

func reader(t *testing.T, sink Sink, text string) (*Reader, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "steps.ndjson")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	names, err := analysis.NewClassifier(analysis.Service{Targets: []analysis.TargetName{{Name: "api-1", Address: "10.0.1.11:8080"}}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(Config{Service: "orders-api", Source: "steps", Path: path, Names: names}, sink)
	if err != nil {
		t.Fatal(err)
	}
	return r, path
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}
