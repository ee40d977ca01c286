package targethealth

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gapless/analysis"
)

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "states.ndjson")
	put := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(`{"at":"2026-10-14T06:00:00.000000Z","target":"api-1","state":"UP","reason":""}
{"at":"2026-10-14T06:00:05.000000Z","target":"10.0.1.11:8080","state":"DOWN","reason":"x"}
{"at":"2026-10-14T06:00:10.000000Z","target":"api-1"
{"at":"2026-10-14T06:00:15.000000Z","target":"api-1","state":""}

{"at":"2026-10-14T06:00:20.000000Z","target":"api-1","state":"UP","reason":""}
{"at":"2026-10-14T09:00:00.000000Z","target":"api-1","state":"UP","reason":""}`)
	names, err := analysis.NewClassifier(analysis.Service{Targets: []analysis.TargetName{{Name: "api-1", Address: "10.0.1.11:8080"}}})
	if err != nil {
		t.Fatal(err)
	}
	s := &sink{}
	c, err := New(t.Context(), Config{Service: "s", Source: "states", Kind: KindFile, Path: path, TargetGroup: "api", Every: 5 * time.Second, Names: names}, s)
	if err != nil {
		t.Fatal(err)
	}
	from := time.Date(2026, 10, 14, 6, 0, 0, 0, time.UTC)
	to := from.Add(time.Hour)
	if err := c.Collect(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	if len(s.samples) != 3 || s.samples[1].Target != "api-1" || s.samples[1].State != analysis.StateDown || s.samples[1].Reason != "x" || s.samples[2].TargetGroup != "api" {
		t.Errorf("samples %+v", s.samples)
	}
	good, bad := s.runs[0], s.runs[1]
	if good.Code != "" || good.Rows != 3 || good.From != from || good.To != to {
		t.Errorf("good run %+v", good)
	}
	if bad.Code != "bad_reply" || bad.From != from.Add(5*time.Second) || bad.To != from.Add(20*time.Second) || !bad.At.After(good.At) ||
		!strings.Contains(bad.Error, "lines 3 to 4") || !strings.Contains(bad.Error, path) {
		t.Errorf("bad run %+v", bad)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := c.Collect(t.Context(), from, to); err == nil {
		t.Error("a missing file is no error")
	}
	if run := s.runs[len(s.runs)-1]; run.Code != "not_found" || run.From != from || run.To != to {
		t.Errorf("run %+v", run)
	}
}
