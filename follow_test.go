package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gapless/analysis"
	"gapless/collectors/accesslog"
	"gapless/store"
)

// A proxy's log is followed into a database by one process after another. Whatever
// happens to the files meanwhile, each line is counted once, or set aside once.
func TestFollowedLogAcrossRestarts(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "access.log")
	service := analysis.Service{
		Name: "orders-api", Window: analysis.WindowSettings{Settle: time.Minute},
		Targets:       []analysis.TargetName{{Name: "api-1", Address: "10.0.1.11:80"}, {Name: "api-2", Address: "10.0.1.12:80"}},
		LoadBalancers: []analysis.LoadBalancer{{Name: "public", AccessLogs: []analysis.AccessLog{{Name: "edge", Kind: "nginx", Counts: true}}}},
	}
	start := time.Now().UTC().Truncate(time.Second).Add(-time.Minute)
	sent, masked, failed, odd := 0, 0, 0, 0
	add := func(n int) {
		t.Helper()
		out, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		for range n {
			status, servers, statuses := 200, "10.0.1.11:80", "200"
			switch sent % 7 {
			case 3:
				servers, statuses = "10.0.1.12:80, 10.0.1.11:80", "502, 200"
				masked++
			case 5:
				status, servers, statuses = 502, "10.0.1.12:80, 10.0.1.11:80", "502, 502"
				failed++
			}
			fmt.Fprintf(out, "10.9.8.7 - - [%s] \"GET /v1/orders/%d HTTP/1.1\" %d 12 \"-\" \"x\" rt=0.010 ua=\"%s\" us=\"%s\"\n",
				start.Add(time.Duration(sent)*100*time.Millisecond).Format("02/Jan/2006:15:04:05 -0700"), sent, status, servers, statuses)
			sent++
		}
	}
	junk := func() {
		t.Helper()
		out, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		fmt.Fprintf(out, "what is this %d\n", odd)
		odd++
	}
	collect := func() { // one process
		t.Helper()
		db, err := store.Open(t.Context(), filepath.Join(dir, "a.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := db.PutService(t.Context(), service); err != nil {
			t.Fatal(err)
		}
		rules, err := analysis.NewClassifier(service)
		if err != nil {
			t.Fatal(err)
		}
		log, err := accesslog.New(t.Context(), accesslog.Config{Service: service.Name, Source: "edge", Kind: "nginx", URL: "file://" + path + "*"}, rules, db)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := log.Collect(t.Context(), start, time.Now(), nil); err != nil {
				t.Fatal(err)
			}
		}
		checkFollowed(t, db, start, sent, masked, failed, odd)
	}
	add(20)
	collect()
	junk() // a stretch in which nothing is understood
	collect()
	add(30)
	collect()
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	add(1)
	collect()
	junk()
	add(10)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".2", text, 0o600); err != nil { // copytruncate
		t.Fatal(err)
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	add(5)
	collect()
}

func checkFollowed(t *testing.T, db *store.DB, start time.Time, sent, masked, failed, odd int) {
	t.Helper()
	statuses, err := db.Collectors(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	if s := statuses[0]; int(s.Lines) != sent+odd || int(s.SetAside) != odd {
		t.Errorf("%d lines, %d set aside; want %d and %d", s.Lines, s.SetAside, sent+odd, odd)
	}
	o, err := db.ObservationsBetween(t.Context(), "orders-api", start.Add(-time.Minute), time.Now().Add(time.Minute), "")
	if err != nil {
		t.Fatal(err)
	}
	var count, hidden, lost int
	for _, c := range o.Cells {
		count, hidden = count+c.Count, hidden+c.Masked
		if c.Outcome.Failure() {
			lost += c.Count
		}
	}
	if count != sent || hidden != masked || lost != failed {
		t.Errorf("%d requests, %d masked, %d failed; want %d, %d, %d", count, hidden, lost, sent, masked, failed)
	}
	for _, r := range o.Requests {
		if !r.Outcome.Failure() && (r.Attempts != 2 || len(r.FailedOn) != 1 || r.FailedOn[0] != "api-2" || r.Target != "api-1") {
			t.Errorf("masked: %+v", r)
		}
	}
}
