package store_test

import (
	"testing"
	"time"

	"gapless/analysis"
	"gapless/store"
)

func TestMarkersAreToldOnce(t *testing.T) {
	db, _ := open(t)
	start := at(0)
	marker := func(key string, second int) analysis.Marker {
		return analysis.Marker{Key: key, Kind: analysis.MarkerStep, At: start.Add(time.Duration(second) * time.Second), Line: "text=" + key}
	}
	first := []analysis.Marker{marker("a", 2), marker("b", 1), marker("c", 3)}
	for again, want := range []int{3, 0} {
		if added, err := db.AddMarkers(t.Context(), "orders-api", first); err != nil || added != want {
			t.Fatalf("time %d: %d added, %v; want %d", again, added, err, want)
		}
	}
	waiting, err := db.WaitingMarkers(t.Context(), 2)
	if err != nil || len(waiting) != 2 || waiting[0].Key != "a" || waiting[1].Key != "b" || waiting[0].Service != "orders-api" || !waiting[0].At.Equal(first[0].At) || waiting[0].Line != "text=a" {
		t.Fatalf("waiting %+v, %v", waiting, err)
	}
	status := func() store.CollectorStatus {
		all, err := db.Collectors(t.Context())
		if err != nil || len(all) == 0 || all[len(all)-1].Kind != store.KindPublish {
			t.Fatalf("collectors %+v, %v", all, err)
		}
		return all[len(all)-1]
	}
	if s := status(); s.Waiting != 3 || s.Rows != 0 || !s.LastRun.IsZero() {
		t.Errorf("before: %+v", s)
	}
	told := analysis.Told{At: start.Add(time.Minute), Sent: []int64{waiting[0].ID}, Dropped: map[int64]string{waiting[1].ID: "too old"}, Code: "unreachable", Error: "no answer"}
	for range 2 { // the same once more changes nothing
		if err := db.MarkersTold(t.Context(), "orders-api", told); err != nil {
			t.Fatal(err)
		}
	}
	if s := status(); s.Waiting != 1 || s.Rows != 1 || s.Dropped != 1 || s.LastCode != "unreachable" || s.LastError != "no answer" || !s.LastErrorAt.Equal(told.At) || !s.LastSuccess.IsZero() || !s.LastEvidence.Equal(first[0].At) {
		t.Errorf("after a failure: %+v", s)
	}
	if added, err := db.AddMarkers(t.Context(), "orders-api", first); err != nil || added != 0 {
		t.Errorf("%d added again, %v", added, err)
	}
	left, err := db.WaitingMarkers(t.Context(), 10)
	if err != nil || len(left) != 1 || left[0].Key != "c" {
		t.Fatalf("left %+v, %v", left, err)
	}
	if err := db.MarkersTold(t.Context(), "orders-api", analysis.Told{At: start.Add(2 * time.Minute), Sent: []int64{left[0].ID}}); err != nil {
		t.Fatal(err)
	}
	if s := status(); s.Waiting != 0 || s.Rows != 2 || !s.LastSuccess.Equal(start.Add(2*time.Minute)) {
		t.Errorf("in the end: %+v", s)
	}
}
