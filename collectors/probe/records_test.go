package probe

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gapless/analysis"
)

func TestRecords(t *testing.T) {
	sent := time.Date(2026, 10, 14, 6, 25, 0, 123456000, time.UTC)
	requests := []analysis.ProbeRequest{
		{Run: "r1", Seq: 41, Sent: sent, Done: sent.Add(109 * time.Millisecond), Status: 200, Outcome: analysis.OutcomeOK, Target: "api-1"},
		{Run: "r1", Seq: 42, Sent: sent.Add(time.Second), Done: sent.Add(6 * time.Second), Outcome: analysis.OutcomeTimeout, Error: "context deadline exceeded"},
		{Run: "r1", Seq: 43, Sent: sent.Add(2 * time.Second), Done: sent.Add(3 * time.Second), Status: 503, Outcome: analysis.OutcomeDrain503, OutOfService: true},
		{Run: "r1", Seq: 9000000, Sent: sent.Add(time.Hour), Done: sent.Add(time.Hour), Outcome: analysis.OutcomeRejected},
	}
	var text strings.Builder
	for i := range requests {
		requests[i].Source, requests[i].Probe, requests[i].Class = "file", "store", analysis.ClassHealth
		b, err := json.Marshal(analysis.ProbeRecordOf(requests[i]))
		if err != nil {
			t.Fatal(err)
		}
		text.Write(append(b, '\n'))
	}
	if first, _, _ := strings.Cut(text.String(), "\n"); first != `{"id":"r1-000041","sent":"2026-10-14T06:25:00.123456Z","done":"2026-10-14T06:25:00.232456Z","status":200,"outcome":"ok","target":"api-1","error":null}` {
		t.Errorf("line %s", first)
	}
	s := &sink{}
	f := records(t, s, text.String())
	if err := f.Collect(t.Context(), sent, sent.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if len(s.requests) != 3 {
		t.Fatalf("%d requests", len(s.requests))
	}
	for i, r := range s.requests {
		if r != requests[i] {
			t.Errorf("\n got %+v\nwant %+v", r, requests[i])
		}
	}
}

func TestBadRecords(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{`{`, "unexpected end"},
		{`{"id":"r1","sent":"2026-10-14T06:25:00Z","outcome":"ok"}`, `id "r1"`},
		{`{"id":"r1-1","outcome":"ok"}`, "sent is missing"},
		{`{"id":"r1-1","sent":"yesterday","outcome":"ok"}`, "yesterday"},
		{`{"id":"r1-1","sent":"2026-10-14T06:25:00Z","outcome":"fine"}`, `outcome "fine"`},
		{`{"id":"r1-1","sent":"2026-10-14T06:25:00Z","done":"2026-10-14T06:24:00Z","outcome":"ok"}`, "done is before sent"},
		{`{"id":"r1-1","sent":"2026-10-14T06:25:00Z","status":1000,"outcome":"ok"}`, "status 1000"},
		{`{"id":"r1-1","sent":"2026-10-14T06:25:00Z","status":null,"outcome":"ok"}`, "ok without a status"},
		{`{"id":"r1-1","sent":"2026-10-14T06:25:00Z","status":503,"outcome":"ok"}`, "ok with status 503"},
		{`{"id":"r1-1","sent":"2026-10-14T06:25:00Z","status":200,"outcome":"ok","error":"connection refused"}`, "ok with an error"},
		{`{"id":"r1-1","sent":"0001-01-01T00:00:01Z","status":200,"outcome":"ok"}`, "sent is in the year 1"},
		{`{"id":"r1-1","sent":"2026-10-14T06:25:00Z","done":"9999-12-31T00:00:00Z","outcome":"timeout"}`, "done is in the year 9999"},
	} {
		s := &sink{}
		if err := records(t, s, test.line+"\n"+`{"id":"r1-2","sent":"2026-10-14T06:25:01Z","status":200,"outcome":"ok"}`).Collect(t.Context(), time.Time{}.Add(1), time.Now().Add(1e6*time.Hour)); err != nil {
			t.Fatal(err)
		}
		bad := s.runs[len(s.runs)-1]
		if len(s.requests) != 1 || bad.Code != "bad_reply" || !strings.Contains(bad.Error, "line 1: ") || !strings.Contains(bad.Error, test.want) {
			t.Errorf("%s: %d requests, run %+v", test.line, len(s.requests), bad)
		}
	}
}

// A record that comes again and says something else is refused, and the hole that it
// leaves holds the moment that it is about; one that says the same is nothing new.
func TestRecordThatContradictsAnother(t *testing.T) {
	line := func(seq, second int, status int, outcome string) string {
		return fmt.Sprintf(`{"id":"r1-%d","sent":"2026-10-14T06:25:%02dZ","status":%d,"outcome":%q}`+"\n", seq, second, status, outcome)
	}
	text := line(1, 10, 200, "ok") + line(2, 20, 200, "ok") + line(2, 20, 200, "ok") + line(3, 30, 200, "ok") + line(2, 20, 502, "lb_5xx") + line(4, 40, 200, "ok")
	at := func(second int) time.Time { return time.Date(2026, 10, 14, 6, 25, second, 0, time.UTC) }
	s := &sink{}
	if err := records(t, s, text).Collect(t.Context(), at(0), at(59)); err != nil {
		t.Fatal(err)
	}
	bad := s.runs[len(s.runs)-1]
	if bad.Code != "bad_reply" || !strings.Contains(bad.Error, "line 5: id r1-000002 was told before") || !bad.From.Equal(at(20)) || !bad.To.Equal(at(40)) {
		t.Errorf("run %+v", bad)
	}
	if len(s.runs) != 2 {
		t.Errorf("%d runs, want one that failed: %+v", len(s.runs), s.runs)
	}
}

// Files that editors of other systems wrote are read like any.
func TestRecordsWithByteOrderMark(t *testing.T) {
	s := &sink{}
	text := "\xef\xbb\xbf" + `{"id":"r1-1","sent":"2026-10-14T06:25:01Z","status":200,"outcome":"ok"}` + "\r\n"
	if err := records(t, s, text).Collect(t.Context(), time.Time{}.Add(1), time.Now().Add(1e6*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if len(s.requests) != 1 || s.runs[len(s.runs)-1].Code != "" {
		t.Errorf("requests %+v, runs %+v", s.requests, s.runs)
	}
}

func records(t *testing.T, s *sink, text string) *File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "probe.ndjson")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := NewFile(FileConfig{Service: "s", Source: "file", Path: path, Probe: "store", Class: analysis.ClassHealth}, s)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
