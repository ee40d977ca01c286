package applog

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"gapless/analysis"
	"gapless/collectors/applog/logrules"
)

// The recordings are of systemd 252: a unit whose process is killed by SIGKILL, that
// systemd starts again, that somebody restarts and then stops. Its process writes
// lines as Spring Boot does, some of which are no valid UTF-8, so that the journal
// holds them as bytes. Another program writes a message of two lines that quotes one
// of them, and an entry that claims to be systemd's, with its message id and fields.
func TestRecordedJournal(t *testing.T) {
	for _, name := range []string{"killed.json", "killed.export"} {
		t.Run(name, func(t *testing.T) {
			sink := &sink{}
			r := open(t, Config{Kind: KindJournal, URL: "testdata/" + name, Lines: logrules.Config{
				Target: "api-1", Unit: "orders.service", Sets: []string{"spring-boot", "systemd"},
			}}, sink)
			if err := r.Collect(t.Context(), time.Time{}, to); err != nil {
				t.Fatal(err)
			}
			var steps, signals []string
			for _, s := range sink.steps {
				steps = append(steps, s.At.Format("05.000000 ")+string(s.Kind)+" "+s.Target)
			}
			for _, s := range sink.signals {
				signals = append(signals, s.At.Format("05.000 ")+string(s.Event)+" "+s.Name)
			}
			equal(t, "steps", steps, []string{
				"30.743709 app.ready api-1",
				"31.613875 process.killed api-1",
				"32.659485 app.ready api-1",
				"34.278921 restart.began api-1",
				"35.151324 app.ready api-1",
				"36.063846 restart.began api-1",
			})
			equal(t, "signals", signals, []string{
				"30.093 process.starting OrdersApplication", "30.093 app.version OrdersApplication",
				"31.613 process.exited orders.service", "32.061 restart.scheduled orders.service",
				"32.090 process.starting OrdersApplication", "32.090 app.version OrdersApplication",
				"34.273 stop.requested orders.service", "34.278 shutdown.began ", "34.484 shutdown.ended ",
				"34.626 process.starting OrdersApplication", "34.626 app.version OrdersApplication",
				"36.044 stop.requested orders.service", "36.063 shutdown.began ", "36.286 shutdown.ended ",
			})
			if n := sink.totals()["systemd/killed"]; n != [2]int{31, 1} {
				t.Errorf("%v lines counted and matched, of 31 entries of the unit", n)
			}
			if last := sink.runs[len(sink.runs)-1]; last.Code != "" {
				t.Errorf("run %+v", last)
			}
		})
	}
}

// Wherever reading stops in a file that is written, what was read stays read, and what
// was not whole is read when it is.
func TestJournalGrows(t *testing.T) {
	for _, name := range []string{"killed.json", "killed.export"} {
		whole, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "journal")
		put(t, path, "")
		sink := &sink{}
		cfg := Config{Kind: KindJournal, URL: path, Lines: logrules.Config{Target: "api-1", Unit: "orders.service", Sets: []string{"spring-boot", "systemd"}}}
		for at := 0; at < len(whole); at += 97 {
			appendTo(t, path, string(whole[at:min(at+97, len(whole))]))
			open(t, cfg, sink).look(t.Context(), false)
		}
		if len(sink.steps) != 6 || len(sink.signals) != 14 || sink.totals()["systemd/killed"] != [2]int{31, 1} {
			t.Errorf("%s: %d steps, %d signals, %v", name, len(sink.steps), len(sink.signals), sink.totals()["systemd/killed"])
		}
	}
}

// One journal of two hosts, each a target by its name; a third is none of ours.
func TestJournalLabels(t *testing.T) {
	entry := func(host, unit string) string {
		return fmt.Sprintf(`{"__REALTIME_TIMESTAMP":"1795998510093242","_PID":"1","_COMM":"systemd","_HOSTNAME":%q,"UNIT":%q,"MESSAGE":"%[2]s: Scheduled restart job, restart counter is at 1."}`, host, unit)
	}
	path := write(t, "journal", entry("ip-10-0-1-11", "orders.service"), entry("ip-10-0-1-12", "orders.service"), entry("ip-10-9-9-9", "orders.service"), entry("ip-10-0-1-11", "ssh.service"))
	names, err := analysis.NewClassifier(analysis.Service{Targets: []analysis.TargetName{
		{Name: "api-1", Address: "10.0.1.11:8080", Aliases: []string{"ip-10-0-1-11"}}, {Name: "api-2", Address: "10.0.1.12:8080", Aliases: []string{"ip-10-0-1-12"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for label, want := range map[string][]string{LabelHost: {"api-1", "api-2"}, "_HOSTNAME": {"api-1", "api-2"}, LabelUnit: nil} {
		sink := &sink{}
		r := open(t, Config{Kind: KindJournal, URL: path, TargetLabel: label, Targets: []string{"api-1", "api-2"}, Names: names,
			Lines: logrules.Config{Unit: "orders.service", Sets: []string{"systemd"}}}, sink)
		if err := r.Collect(t.Context(), time.Time{}, to); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range sink.signals {
			got = append(got, s.Target)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", label, got, want)
		}
	}
}

// What is in neither format is told, and what comes after it is read.
func TestMalformedJournal(t *testing.T) {
	good := "__REALTIME_TIMESTAMP=1795998510093242\nSYSLOG_IDENTIFIER=systemd\nMESSAGE=orders.service: Scheduled restart job, restart counter is at 1.\nUNIT=orders.service\n\n"
	long := make([]byte, 8)
	binary.LittleEndian.PutUint64(long, 1<<40)
	for name, text := range map[string]string{
		"a text log":           "2026-10-14T06:25:01Z something\n\n" + good,
		"a length beyond all":  "__REALTIME_TIMESTAMP=1\nMESSAGE\n" + string(long) + "x\n\n" + good,
		"a length that lies":   "__REALTIME_TIMESTAMP=1\nMESSAGE\n\x01\x00\x00\x00\x00\x00\x00\x00xyz\n\n" + good,
		"an entry of no time":  "MESSAGE=x\n\n" + good,
		"an object of no time": "{\"MESSAGE\":\"x\"}\n" + good,
		"half an object":       "{\"MESSAGE\":\n" + good,
		"too long a line":      "__REALTIME_TIMESTAMP=1\n_SYSTEMD_UNIT=orders.service\nMESSAGE=" + strings.Repeat("x", 3*maxLine) + "\n\n" + good,
		"a message left out":   `{"__REALTIME_TIMESTAMP":"1795998510093242","_SYSTEMD_UNIT":"orders.service","MESSAGE":null}` + "\n" + good,
	} {
		path := filepath.Join(t.TempDir(), "journal")
		put(t, path, text)
		sink := &sink{}
		r := open(t, Config{Kind: KindJournal, URL: path, Lines: logrules.Config{Target: "api-1", Unit: "orders.service", Sets: []string{"systemd"}}}, sink)
		if err := r.Collect(t.Context(), time.Time{}, to); err != nil {
			t.Fatal(err)
		}
		if last := sink.runs[len(sink.runs)-1]; last.Code != "bad_reply" {
			t.Errorf("%s: run %+v", name, last)
		}
		if len(sink.signals) != 1 {
			t.Errorf("%s: %d signals", name, len(sink.signals))
		}
	}
}

// Where a writer died in an entry and another one went on, the entry that was cut is
// told, and takes nothing of the next one with it.
func TestJournalEntryCutShort(t *testing.T) {
	entry := func(n int, message string) string {
		return fmt.Sprintf("__CURSOR=s=a;i=%d\n__REALTIME_TIMESTAMP=179599851009324%d\n_PID=1\nUNIT=orders.service\nMESSAGE=%s\n", n, n, message)
	}
	whole := entry(2, "orders.service: Scheduled restart job, restart counter is at 1.") + "\n"
	for name, text := range map[string]string{
		"after a field":         entry(1, "orders.service: Scheduled restart job, restart counter is at 7.") + whole,
		"in a field's name":     "__CURSOR=s=a;i=1\n__REALTIME_TIMESTAMP=1795998510093241\n_PID=1\nMESS" + whole,
		"in a field's text":     "__CURSOR=s=a;i=1\n__REALTIME_TIMESTAMP=1795998510093241\n_PID=1\nMESSAGE=orders.serv" + whole,
		"after the cursor":      "__CURSOR=s=a;i=1\n" + whole,
		"before the message":    "__CURSOR=s=a;i=1\n__REALTIME_TIMESTAMP=1795998510093241\n_PID=4711\n_COMM=java\n_SYSTEMD_UNIT=orders.service\n" + whole,
		"in a binary field":     "__CURSOR=s=a;i=1\n__REALTIME_TIMESTAMP=1795998510093241\nMESSAGE\n\x40\x00\x00\x00\x00\x00\x00\x00half\n" + entry(3, "x") + whole,
		"no blank line between": entry(1, "x") + entry(3, "y") + whole,
	} {
		path := filepath.Join(t.TempDir(), "journal")
		put(t, path, text)
		sink := &sink{}
		r := open(t, Config{Kind: KindJournal, URL: path, Lines: logrules.Config{Target: "api-1", Unit: "orders.service", Sets: []string{"systemd"}}}, sink)
		if err := r.Collect(t.Context(), time.Time{}, to); err != nil {
			t.Fatal(err)
		}
		if len(sink.signals) != 1 || sink.signals[0].Values["restarts"] != "1" {
			t.Errorf("cut %s: signals %+v", name, sink.signals)
		}
		if last := sink.runs[len(sink.runs)-1]; last.Code != "bad_reply" {
			t.Errorf("cut %s: run %+v", name, last)
		}
	}
}

// A message of several lines is one message: what its further lines say is not said by
// the program in a place where a rule looks.
func TestJournalMessageOfSeveralLines(t *testing.T) {
	path := write(t, "journal",
		`{"__REALTIME_TIMESTAMP":"1795998510093242","_SYSTEMD_UNIT":"orders.service","MESSAGE":"no such user: x\nGraceful shutdown complete\nrid=r1-000001 status=500"}`,
		`{"__REALTIME_TIMESTAMP":"1795998510093243","_SYSTEMD_UNIT":"orders.service","MESSAGE":"Graceful shutdown complete"}`)
	sink := &sink{}
	r := open(t, Config{Kind: KindJournal, URL: path, Lines: logrules.Config{Target: "api-1", Unit: "orders.service", LogMatch: answered, Sets: []string{"spring-boot"}}}, sink)
	if err := r.Collect(t.Context(), time.Time{}, to); err != nil {
		t.Fatal(err)
	}
	if len(sink.signals) != 1 || sink.signals[0].At.Nanosecond() != 93_243_000 || len(sink.handled) != 1 || sink.totals()["request-id"] != [2]int{4, 1} {
		t.Errorf("signals %+v, handled %+v, %v", sink.signals, sink.handled, sink.totals())
	}
}

// A journal that comes through a pipe; journalctl is started again, and repeats.
func TestPipe(t *testing.T) {
	whole, err := os.ReadFile("testdata/killed.json")
	if err != nil {
		t.Fatal(err)
	}
	half := whole[:bytes.IndexByte(whole[len(whole)/2:], '\n')+len(whole)/2+1]
	sink := &sink{}
	cfg := Config{Kind: KindJournal, URL: Standard, Lines: logrules.Config{Target: "api-1", Unit: "orders.service", Sets: []string{"spring-boot", "systemd"}}}
	for _, text := range [][]byte{half, whole, whole} {
		cfg.Stdin = bytes.NewReader(text)
		if err := open(t, cfg, sink).Collect(t.Context(), from, to); err != nil {
			t.Fatal(err)
		}
	}
	if len(sink.steps) != 6 || len(sink.signals) != 14 || sink.totals()["systemd/killed"] != [2]int{31, 1} {
		t.Errorf("%d steps, %d signals, %v", len(sink.steps), len(sink.signals), sink.totals())
	}
	for _, run := range sink.runs {
		if run.Code != "" || run.From != from || run.To != to {
			t.Errorf("run %+v", run)
		}
	}
}

func TestNamedPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip("no named pipes here:", err)
	}
	whole, err := os.ReadFile("testdata/killed.export")
	if err != nil {
		t.Fatal(err)
	}
	sink := &sink{}
	r := open(t, Config{Kind: KindJournal, URL: path, Lines: logrules.Config{Target: "api-1", Unit: "orders.service", Sets: []string{"spring-boot", "systemd"}}}, sink)
	for range 2 { // journalctl is started again
		go func() {
			if w, err := os.OpenFile(path, os.O_WRONLY, 0); err == nil {
				_, _ = w.Write(whole)
				_ = w.Close()
			}
		}()
		if err := r.Collect(t.Context(), from, to); err != nil {
			t.Fatal(err)
		}
	}
	if len(sink.steps) != 6 {
		t.Errorf("%d steps", len(sink.steps))
	}
	// Waiting for a writer ends with the reader.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Collect(ctx, from, to); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Before somebody writes to a named pipe nothing is covered: failed runs say why. From
// then on it is.
func TestNamedPipeWithoutWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip("no named pipes here:", err)
	}
	var minutes atomic.Int64 // every look at the clock finds it a minute later
	now := func() time.Time { return from.Add(time.Duration(minutes.Add(1)) * time.Minute) }
	sink := &sink{}
	r := open(t, Config{Kind: KindJournal, URL: path, Now: now, Every: time.Millisecond, Lines: logrules.Config{Target: "api-1", Unit: "orders.service", Sets: []string{"systemd"}}}, sink)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- r.Run(ctx) }()
	// runs waits for n more runs that say something of a time.
	runs := func(n int) []analysis.Run {
		for {
			sink.mu.Lock()
			var all []analysis.Run
			for _, run := range sink.runs {
				if run.To.After(run.From) {
					all = append(all, run)
				}
			}
			sink.mu.Unlock()
			if len(all) >= n {
				return all
			}
			select {
			case <-t.Context().Done():
				t.Fatal("no runs")
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
	for _, run := range runs(2) {
		if run.Code != "unreachable" || run.Error == "" {
			t.Errorf("nobody writes: %+v", run)
		}
	}
	w, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	opened := now()
	all := runs(0)
	for len(all) == 0 || all[len(all)-1].Code != "" {
		all = runs(len(all) + 1)
	}
	first := slices.IndexFunc(all, func(run analysis.Run) bool { return run.Code == "" })
	if first < 1 {
		t.Fatalf("covered without a writer: %+v", all)
	}
	if before := all[first-1]; all[first].From.Before(before.To) || all[first].To.Before(opened) {
		t.Errorf("covered by %+v after %+v; there was a writer at %v", all[first], before, opened)
	}
	_ = w.Close()
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// While something writes to the pipe, the time is covered, also when it says nothing.
func TestPipeIsWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		sink := &sink{}
		r := open(t, Config{Kind: KindJournal, URL: Standard, Stdin: in, Now: time.Now, Every: time.Second,
			Lines: logrules.Config{Target: "api-1", Unit: "orders.service", Sets: []string{"systemd"}}}, sink)
		began := time.Now()
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		time.Sleep(20 * time.Second)
		if _, err := io.WriteString(out, `{"__REALTIME_TIMESTAMP":"1795998510093242","SYSLOG_IDENTIFIER":"systemd","UNIT":"orders.service","MESSAGE":"orders.service: Scheduled restart job, restart counter is at 1."}`+"\n"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		sink.mu.Lock()
		covered := began
		for _, run := range sink.runs {
			if run.Code != "" || !run.From.Equal(covered) {
				t.Errorf("run %+v after %v", run, covered)
			}
			covered = run.To
		}
		if time.Since(covered) > 2*time.Second || len(sink.signals) != 1 {
			t.Errorf("covered to %v of %v, %d signals", covered, time.Now(), len(sink.signals))
		}
		sink.mu.Unlock()
		_ = out.Close() // journalctl ended: what comes after is not covered
		time.Sleep(time.Minute)
		sink.mu.Lock()
		if last := sink.runs[len(sink.runs)-1]; time.Since(last.To) < 50*time.Second {
			t.Errorf("covered to %v of %v", last.To, time.Now())
		}
		sink.mu.Unlock()
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
