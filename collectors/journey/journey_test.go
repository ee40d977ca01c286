package journey

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gapless/analysis"
)

var zero = time.Date(2026, 10, 14, 8, 52, 0, 0, time.UTC)

type memory struct {
	steps []analysis.JourneyStep
	runs  []analysis.Run
}

func (m *memory) AddJourneys(_ context.Context, _ string, run analysis.Run, _ string, _, _ []byte, steps []analysis.JourneyStep) error {
	m.steps, m.runs = append(m.steps, steps...), append(m.runs, run)
	return nil
}

func (m *memory) AddRun(_ context.Context, _ string, run analysis.Run) error {
	m.runs = append(m.runs, run)
	return nil
}

const lines = `{"journey":"order","key":"o-1","step":"create","at":"2026-10-14T08:52:01.5Z","outcome":"ok","target":"10.0.1.11:8080"}
{"journey":"order","key":"o-1","step":"ack","at":"2026-10-14T08:52:02Z","outcome":"lb_5xx","target":null}
{"journey":"basket","key":"b-1","step":"fill","at":"2026-10-14T08:52:03Z","outcome":"ok"}
{"journey":"order","key":"o-1","step":"ack","at":"2026-10-14T08:55:00Z","outcome":"ok"}
{"journey":"order","key":"o-2","step":"create","at":"2026-10-14T08:59:00Z","outcome":"ok"}
`

func reader(t *testing.T, body string) (*Reader, *memory, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "browser.ndjson")
	if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	names, err := analysis.NewClassifier(analysis.Service{Targets: []analysis.TargetName{{Name: "api-1", Address: "10.0.1.11:8080"}}})
	if err != nil {
		t.Fatal(err)
	}
	m := &memory{}
	r, err := New(Config{Service: "orders", Source: "browser", Path: path, Journey: "order", Steps: []string{"create", "ack"}, Names: names, Every: time.Second}, m)
	if err != nil {
		t.Fatal(err)
	}
	return r, m, path
}

func keys(steps []analysis.JourneyStep) []string {
	var all []string
	for _, s := range steps {
		all = append(all, s.Key+" "+s.Step+" "+string(s.Outcome)+" "+s.Target)
	}
	return all
}

// A span takes whole journeys: the second attempt at o-1's ack came after it. It takes
// those at its edges too: the answer of o-3 came a moment after it.
func TestCollect(t *testing.T) {
	const edge = `{"journey":"order","key":"o-3","step":"create","at":"2026-10-14T08:53:00.001Z","outcome":"ok"}` + "\n"
	r, m, _ := reader(t, lines+edge)
	if err := r.Collect(t.Context(), zero, zero.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if got, want := keys(m.steps), []string{"o-1 create ok api-1", "o-1 ack lb_5xx ", "o-1 ack ok ", "o-3 create ok "}; !slices.Equal(got, want) {
		t.Errorf("steps %q, want %q", got, want)
	}
	if len(m.runs) != 1 || m.runs[0].Code != "" || m.runs[0].Rows != 4 || !m.runs[0].From.Equal(zero) {
		t.Errorf("runs %+v", m.runs)
	}
}

func TestWhatIsNotUnderstood(t *testing.T) {
	for _, test := range []struct{ name, line, want string }{
		{"no JSON", `{"journey":`, "unexpected end"},
		{"no key", `{"journey":"order","step":"create","at":"2026-10-14T08:52:01Z","outcome":"ok"}`, "key is missing"},
		{"no time", `{"journey":"order","key":"k","step":"create","outcome":"ok"}`, "at is missing"},
		{"absurd time", `{"journey":"order","key":"k","step":"create","at":"1970-01-01T00:00:00Z","outcome":"ok"}`, "year 1970"},
		{"outcome", `{"journey":"order","key":"k","step":"create","at":"2026-10-14T08:52:01Z","outcome":"fine"}`, `"fine" is not known`},
		{"step", `{"journey":"order","key":"k","step":"pay","at":"2026-10-14T08:52:01Z","outcome":"ok"}`, "allowed: create, ack"},
		{"long", `{"journey":"order","key":"` + strings.Repeat("k", 201) + `","step":"create","at":"2026-10-14T08:52:01Z","outcome":"ok"}`, "longer than 200"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, m, _ := reader(t, lines+test.line+"\n")
			if err := r.Collect(t.Context(), zero, zero.Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
			if len(m.steps) != 4 {
				t.Errorf("%d steps, want the four that are understood", len(m.steps))
			}
			if len(m.runs) != 2 || m.runs[1].Code != "bad_reply" || !strings.Contains(m.runs[1].Error, test.want) || !strings.Contains(m.runs[1].Error, "line 6") {
				t.Errorf("runs %+v, want a failed one that says %q of line 6", m.runs, test.want)
			}
		})
	}
}

func TestMissingFileIsAFailedRun(t *testing.T) {
	r, m, path := reader(t, lines)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := r.Collect(t.Context(), zero, zero.Add(time.Hour)); err == nil {
		t.Error("no error")
	}
	if len(m.runs) != 1 || m.runs[0].Code != "not_found" {
		t.Errorf("runs %+v", m.runs)
	}
}

func TestRunFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, m, path := reader(t, lines)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		time.Sleep(1500 * time.Millisecond)
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(`{"journey":"order","key":"o-2","step":"ack","at":"2026-10-14T08:59:01Z","outcome":"ok"}` + "\n"); err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
		time.Sleep(1500 * time.Millisecond)
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if got := keys(m.steps); len(got) != 5 || got[4] != "o-2 ack ok " {
			t.Errorf("steps %q, want all five, each once", got)
		}
	})
}
