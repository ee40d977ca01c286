package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gapless/analysis"
	"gapless/collectors/accesslog"
	"gapless/store"
)

// Two processes read on in one followed log into one database, in turns, and one of them
// while the other is in the middle of it: each line is counted once.
func TestFollowedLogOfTwoReaders(t *testing.T) {
	l := newFollowed(t)
	serve, audit := l.reader(), l.reader()
	collect := func(r *accesslog.Reader) {
		t.Helper()
		if err := r.Collect(t.Context(), l.start, time.Now(), nil); err != nil {
			t.Fatal(err)
		}
	}
	l.add(10)
	collect(serve)
	l.add(5)
	collect(audit)
	l.add(3)
	collect(serve)
	l.check(18, 0)
	l.add(2)
	collect(audit)
	collect(serve)
	l.add(2)
	collect(serve)
	collect(audit)
	l.check(22, 0)
	done := make(chan error, 2)
	for _, r := range []*accesslog.Reader{serve, audit} {
		go func() {
			var err error
			for i := 0; i < 50 && err == nil; i++ {
				err = r.Collect(t.Context(), l.start, time.Now(), nil)
			}
			done <- err
		}()
	}
	for range 100 {
		l.add(3)
	}
	if err := errors.Join(<-done, <-done); err != nil {
		t.Fatal(err)
	}
	collect(serve)
	l.check(322, 0)
}

// A packed file that is cut short is partial, and blind from its first line on, until it
// is whole, also where another process finds it so; so is half a line.
func TestFollowedFilesThatAreCut(t *testing.T) {
	l := newFollowed(t)
	collect := func() {
		t.Helper()
		if err := l.reader().Collect(t.Context(), l.start, time.Now(), nil); err != nil {
			t.Fatal(err)
		}
	}
	l.add(100)
	text, err := os.ReadFile(l.path + ".0")
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	write := func(content []byte, ago time.Duration) {
		t.Helper()
		at := time.Now().Add(-ago)
		if err := errors.Join(os.WriteFile(l.path+".1.gz", content, 0o600), os.Chtimes(l.path+".1.gz", at, at)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(l.path + ".0"); err != nil {
		t.Fatal(err)
	}
	write(packed.Bytes()[:packed.Len()-1], 0)
	collect()
	l.check(0, 1)
	write(packed.Bytes()[:packed.Len()-1], time.Minute)
	collect()
	l.check(100, 1)
	o, err := l.db.ObservationsBetween(t.Context(), "orders-api", l.start.Add(-2*time.Hour), l.start, "")
	if err != nil || len(o.Objects) != 0 {
		t.Errorf("a window before it has %+v, %v", o.Objects, err)
	}
	write(packed.Bytes(), 0)
	collect()
	l.check(100, 0)
	collect()
	l.check(100, 0)

	// One that is gone before it was read can hold nothing of a later time.
	collectBy := func(r *accesslog.Reader) {
		t.Helper()
		if err := r.Collect(t.Context(), l.start, time.Now(), nil); err != nil {
			t.Fatal(err)
		}
	}
	serve := l.reader()
	cut := func(to time.Time) (n int) {
		t.Helper()
		o, err := l.db.ObservationsBetween(t.Context(), "orders-api", time.Now(), to, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range o.Objects {
			if object.Partial {
				n++
			}
		}
		return n
	}
	if err := os.WriteFile(l.path+".1.2.gz", packed.Bytes()[:20], 0o600); err != nil {
		t.Fatal(err)
	}
	collectBy(serve)
	if n := cut(time.Now().Add(time.Hour)); n != 1 {
		t.Errorf("%d objects are cut short, while a file is", n)
	}
	if o, err := l.db.ObservationsBetween(t.Context(), "orders-api", l.start.Add(-2*time.Hour), l.start, ""); err != nil || len(o.Objects) > 0 {
		t.Errorf("a window before it was looked at has %+v, %v", o.Objects, err)
	}
	if err := os.Remove(l.path + ".1.2.gz"); err != nil {
		t.Fatal(err)
	}
	collectBy(serve)
	collectBy(serve)
	if n := cut(time.Now().Add(time.Hour)); n != 0 {
		t.Errorf("%d objects are cut short in a time after the file was gone", n)
	}
	l.check(100, 1)

	l.add(1)
	l.write(`10.9.8.7 - - [` + l.start.Add(6*time.Second).Format("02/Jan/2006:15:04:05 -0700") + `] "GET /v1/orders/half `)
	collect()
	l.check(101, 2)
	l.write("HTTP/1.1\" 200 12 \"-\" \"x\"\n")
	collect()
	l.check(102, 1)
}

// What was added to a followed log before it rotated out of the pattern, while nobody
// followed it, is a blind spot; the same process knows of it that another one does.
func TestFollowedLogThatIsReplaced(t *testing.T) {
	for _, same := range []bool{false, true} {
		l := newFollowed(t)
		r := l.reader()
		collect := func() {
			t.Helper()
			if !same {
				r = l.reader()
			}
			if err := r.Collect(t.Context(), l.start, time.Now(), nil); err != nil {
				t.Fatal(err)
			}
		}
		l.add(30)
		collect()
		l.add(30)
		if err := os.Rename(l.path+".0", l.path+".old"); err != nil {
			t.Fatal(err)
		}
		l.sent -= 25
		l.add(10)
		collect()
		l.check(40, 1)
		collect()
		l.check(40, 1)
	}
}

// followed is a log that is read into a database.
type followed struct {
	t     *testing.T
	db    *store.DB
	path  string
	start time.Time
	sent  int
	rules *analysis.Classifier
}

func newFollowed(t *testing.T) *followed {
	t.Helper()
	l := &followed{t: t, path: filepath.Join(t.TempDir(), "access.log"), start: time.Now().UTC().Truncate(time.Second).Add(-time.Minute)}
	service := analysis.Service{
		Name: "orders-api", Window: analysis.WindowSettings{Settle: time.Minute},
		LoadBalancers: []analysis.LoadBalancer{{Name: "public", AccessLogs: []analysis.AccessLog{{Name: "edge", Kind: "nginx", Counts: true}}}},
	}
	var err error
	if l.db, err = store.Open(t.Context(), l.path+".db"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.db.Close() })
	if err := l.db.PutService(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	if l.rules, err = analysis.NewClassifier(service); err != nil {
		t.Fatal(err)
	}
	return l
}

// reader is a process that follows it.
func (l *followed) reader() *accesslog.Reader {
	l.t.Helper()
	log, err := accesslog.New(l.t.Context(), accesslog.Config{
		Service: "orders-api", Source: "edge", Kind: "nginx", URL: "file://" + l.path + ".[01]*", Log: slog.New(slog.DiscardHandler),
	}, l.rules, l.db)
	if err != nil {
		l.t.Fatal(err)
	}
	return log
}

func (l *followed) write(text string) {
	l.t.Helper()
	out, err := os.OpenFile(l.path+".0", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		l.t.Fatal(err)
	}
	defer out.Close()
	if _, err := out.WriteString(text); err != nil {
		l.t.Fatal(err)
	}
}

func (l *followed) add(n int) {
	l.t.Helper()
	var lines strings.Builder
	for range n {
		fmt.Fprintf(&lines, "10.9.8.7 - - [%s] \"GET /v1/orders/%d HTTP/1.1\" 200 12 \"-\" \"x\"\n", l.start.Add(time.Duration(l.sent)*50*time.Millisecond).Format("02/Jan/2006:15:04:05 -0700"), l.sent)
		l.sent++
	}
	l.write(lines.String())
}

// check holds against the store how many lines were counted and how many objects are cut.
func (l *followed) check(lines, cut int) {
	l.t.Helper()
	statuses, err := l.db.Collectors(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	if s := statuses[0]; int(s.Lines) != lines || int(s.PartialObjects) != cut || s.SetAside != 0 {
		l.t.Errorf("%d lines, %d objects cut short, %d set aside; want %d and %d", s.Lines, s.PartialObjects, s.SetAside, lines, cut)
	}
	o, err := l.db.ObservationsBetween(l.t.Context(), "orders-api", l.start.Add(-time.Minute), time.Now().Add(time.Minute), "")
	if err != nil {
		l.t.Fatal(err)
	}
	count, partial := 0, 0
	for _, c := range o.Cells {
		count += c.Count
	}
	for _, object := range o.Objects {
		if object.Partial {
			partial++
		}
	}
	if count != lines || partial != cut {
		l.t.Errorf("%d requests and %d objects cut short in the window, want %d and %d", count, partial, lines, cut)
	}
}

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
