package web

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"gapless/analysis"
)

// What a prober at another place tells is bounded, vouches for nothing to come, and
// what is told later counts, by the server's clock.
func TestProbesFromElsewhereAreBounded(t *testing.T) {
	s := newServer(t, Config{Retention: 24 * time.Hour})
	now := began.Add(time.Minute)
	post := func(change func(*analysis.ProbeReport)) (int, string) {
		t.Helper()
		at := func(d time.Duration) analysis.Time { return analysis.Time{Time: began.Add(d)} }
		status := 200
		report := analysis.ProbeReport{Probe: "store", Vantage: "office", From: at(0), To: at(time.Second), Requests: []analysis.ProbeRecord{
			{ID: "r-1", Sent: at(0), Done: at(time.Millisecond), Status: &status, Outcome: analysis.OutcomeOK},
		}}
		change(&report)
		body, err := json.Marshal(report)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.Post(s.url+"/api/v1/services/orders/probes", "application/json", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(text)
	}
	for _, test := range []struct {
		name   string
		change func(*analysis.ProbeReport)
		want   string // in the refusal; empty: taken
	}{
		{"as it is", func(*analysis.ProbeReport) {}, ""},
		{"a clock that is fast", func(r *analysis.ProbeReport) { r.To.Time = now.Add(59 * time.Minute) }, ""},
		{"a code of its own", func(r *analysis.ProbeReport) { r.Code = strings.Repeat("x", 900_000) }, "allowed: unreachable"},
		{"to is to come", func(r *analysis.ProbeReport) { r.To.Time = now.Add(61 * time.Minute) }, "To is 2026"},
		{"from is long gone", func(r *analysis.ProbeReport) { r.From.Time = now.Add(-25 * time.Hour) }, "From is 2026"},
		{"sent before the stretch", func(r *analysis.ProbeReport) { r.Requests[0].Sent.Time = began.Add(-61 * time.Second) }, "Request 1: sent"},
		{"sent after the stretch", func(r *analysis.ProbeReport) {
			r.From.Time, r.To.Time = began.Add(-2*time.Hour), began.Add(-61*time.Minute)
		}, "Request 1: sent"},
		{"sent is to come", func(r *analysis.ProbeReport) {
			r.To.Time, r.Requests[0].Sent.Time, r.Requests[0].Done.Time = now.Add(time.Hour), now.Add(61*time.Minute), time.Time{}
		}, "to come"},
		{"done is to come", func(r *analysis.ProbeReport) { r.Requests[0].Done.Time = began.AddDate(70, 0, 0) }, "to come"},
		{"it took too long", func(r *analysis.ProbeReport) {
			r.From.Time = began.Add(-2 * time.Hour)
			r.Requests[0].Sent.Time, r.Requests[0].Done.Time = r.From.Time, r.From.Add(61*time.Minute)
		}, "after sent"},
	} {
		status, text := post(test.change)
		if test.want == "" && status != http.StatusNoContent || test.want != "" && (status != http.StatusBadRequest || !strings.Contains(text, test.want)) || len(text) > 1000 {
			t.Errorf("%s: %d %.300s, want %q", test.name, status, text, test.want)
		}
	}
	if status, text := post(func(r *analysis.ProbeReport) {
		r.From.Time, r.Code, r.Error, r.Requests = began.Add(500*time.Millisecond), "unreachable", strings.Repeat("é", 900), nil
	}); status != http.StatusNoContent {
		t.Fatalf("%d %s", status, text)
	}
	o, err := s.db.ObservationsBetween(t.Context(), "orders", began, now, "")
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	for _, run := range o.Runs {
		if !run.At.Equal(now) {
			t.Errorf("a run ended at %s, not when it was told", run.At)
		}
		if run.Code != "" {
			failed++
			if len(run.Error) > analysis.MostRunError+len("…") {
				t.Errorf("%d bytes of an error are kept", len(run.Error))
			}
		}
	}
	if failed != 1 {
		t.Errorf("%d failed runs in %+v", failed, o.Runs)
	}
}
