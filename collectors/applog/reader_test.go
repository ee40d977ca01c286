package applog

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gapless/analysis"
	"gapless/collectors/applog/logrules"
)

const (
	answered = `rid=(?P<id>\S+) status=(?P<status>\d+)`
	received = `rid=(?P<id>\S+) received`
)

var (
	from = time.Date(2026, 10, 14, 6, 0, 0, 0, time.UTC)
	to   = from.Add(time.Hour)
)

func TestCollectAttributesRequests(t *testing.T) {
	path := write(t, "api-1.log",
		spring("06:25:01.000", "rid=r1-000042 received GET /v1/stores/17"),
		spring("06:25:01.120", "rid=r1-000042 status=200 118ms"),
		spring("06:25:02.000", "rid=1b4e28ba-2fa1-11d2-883f-0016d3cca427 status=200 3ms"),
		spring("06:26:03.000", "no id here"),
	)
	sink := &sink{}
	r := open(t, Config{URL: "file://" + path, Lines: logrules.Config{Target: "api-1", LogMatch: answered, ReceivedMatch: received}}, sink)
	if err := r.Collect(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 10, 14, 6, 25, 1, 0, time.UTC)
	want := []analysis.HandledRequest{
		{Source: "app", Target: "api-1", Run: "r1", Seq: 42, At: at, Begun: true},
		{Source: "app", Target: "api-1", Run: "r1", Seq: 42, At: at.Add(120 * time.Millisecond), Status: 200},
	}
	equal(t, "handled", sink.handled, want)
	equal(t, "counts", sink.totals(), map[string][2]int{
		logrules.RuleAnswered: {4, 2}, logrules.RuleReceived: {4, 1}, logrules.RuleProbe: {3, 2},
	})
	if run := sink.runs[len(sink.runs)-1]; run.Code != "" || run.From != from || run.To != to || run.Rows != 2 {
		t.Errorf("run %+v", run)
	}
}

// A retrospective reads a log that is followed live by another Reader: whoever comes
// second begins again where the first one ended, and each line counts once.
func TestTwoReadersOfOneLog(t *testing.T) {
	path := write(t, "api-1.log", spring("06:25:01.000", "rid=r1-000001 status=200"))
	sink := &sink{}
	cfg := Config{URL: "file://" + path, Lines: logrules.Config{Target: "api-1", LogMatch: answered}}
	live, past := open(t, cfg, sink), open(t, cfg, sink)
	for i, r := range []*Reader{live, past, live, past, past, live} {
		if i > 0 {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(f, spring("06:25:02.000", fmt.Sprintf("rid=r1-%06d status=200", i+1)))
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Collect(t.Context(), from, to); err != nil {
			t.Fatal(err)
		}
		if got := sink.totals()[logrules.RuleAnswered]; got != [2]int{i + 1, i + 1} || len(sink.handled) != i+1 {
			t.Fatalf("after %d lines: counted %v, %d handled", i+1, got, len(sink.handled))
		}
	}
	for _, run := range sink.runs {
		if run.Code != "" {
			t.Errorf("run %+v", run)
		}
	}
}

// Windows end anywhere in a minute: each line counts in its own second.
func TestLinesCountInTheirSecond(t *testing.T) {
	path := write(t, "api-1.log", spring("06:25:01.000", "a"), spring("06:25:01.900", "b"), spring("06:25:02.000", "c"), spring("06:25:59.999", "d"))
	sink := &sink{}
	if err := open(t, Config{URL: "file://" + path, Lines: logrules.Config{Target: "api-1", LogMatch: answered}}, sink).Collect(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	lines := map[int]int{}
	for _, c := range sink.counts {
		if c.Rule == logrules.RuleAnswered {
			lines[c.Second.Second()] += c.Lines
		}
	}
	equal(t, "lines by second", lines, map[int]int{1: 2, 2: 1, 59: 1})
}

func TestRules(t *testing.T) {
	for _, test := range []struct {
		name, line string
		want       analysis.StepKind
	}{
		{"graceful stop", spring("06:25:01.000", "Commencing graceful shutdown. Waiting for active requests to complete"), analysis.StepRestartBegan},
		{"ready", spring("06:25:01.000", "Started App in 2.345 seconds (process running for 2.9)"), analysis.StepAppReady},
		{"ready before 3.0", "2026-10-14 06:25:01.000  INFO 1 --- [           main] com.example.App : Started App in 2.3 seconds (JVM running for 2.9)", analysis.StepAppReady},
		{"ready in Logback's pattern", "2026-10-14 06:25:01,000 [main] INFO  c.e.App - Started App in 2.3 seconds (JVM running for 2.9)", analysis.StepAppReady},
		{"restored", spring("06:25:01.000", "Restored App in 0.1 seconds (process running for 0.2)"), analysis.StepAppReady},
		{"starting", spring("06:25:01.000", "Starting App v1.43.0 using Java 17 with PID 12"), ""},
		{"killed", "2026-10-14T06:25:01.000000+00:00 api-1 systemd[1]: app.service: Main process exited, code=killed, status=9/KILL", analysis.StepProcessKilled},
		{"killed, old wording", "2026-10-14T06:25:01.000000+00:00 api-1 systemd[1]: app.service: main process exited, code=killed, status=9/KILL", analysis.StepProcessKilled},
		{"crashed", "2026-10-14T06:25:01.000000+00:00 api-1 systemd[1]: app.service: Main process exited, code=dumped, status=11/SEGV", analysis.StepProcessKilled},
		{"stopped", "2026-10-14T06:25:01.000000+00:00 api-1 systemd[1]: app.service: Main process exited, code=killed, status=15/TERM", ""},
		{"exited", "2026-10-14T06:25:01.000000+00:00 api-1 systemd[1]: app.service: Main process exited, code=exited, status=143/n/a", ""},
		{"restart scheduled", "2026-10-14T06:25:01.000000+00:00 api-1 systemd[1]: app.service: Scheduled restart job, restart counter is at 1.", ""},
		{"launched is not ready", "2026-10-14T06:25:01.000000+00:00 api-1 systemd[1]: Started app.service - Orders API.", ""},
		{"quoted by a request", spring("06:25:01.000", `GET /?q="Started App in 1.0 seconds (process running for 2)"`), ""},
		{"quoted with a separator", spring("06:25:01.000", "bad input : Commencing graceful shutdown"), ""},
		{"quoted systemd line", spring("06:25:01.000", "x systemd[1]: a: Main process exited, code=killed, status=9/KILL"), ""},
		{"started something else", spring("06:25:01.000", "Started download in 3 seconds"), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			sink := &sink{}
			r := open(t, Config{URL: write(t, "app.log", test.line), Lines: logrules.Config{Target: "api-1", Sets: []string{"spring-boot", "systemd"}}}, sink)
			if err := r.Collect(t.Context(), from, to); err != nil {
				t.Fatal(err)
			}
			var want []analysis.Step
			if test.want != "" {
				want = []analysis.Step{{Kind: test.want, At: time.Date(2026, 10, 14, 6, 25, 1, 0, time.UTC), Target: "api-1", Source: "app", Inferred: true}}
			}
			equal(t, "steps", sink.steps, want)
		})
	}
}

// What was read stays read: by the same reader, and by one that starts anew with
// the stored position.
func TestOnlyWholeNewLinesAreRead(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		t.Run(fmt.Sprintf("restarted=%v", restarted), func(t *testing.T) {
			path := write(t, "app.log", line(1), line(2))
			sink := &sink{}
			cfg := Config{URL: path, Lines: logrules.Config{LogMatch: answered}}
			r := open(t, cfg, sink)
			step := func(want ...int) {
				t.Helper()
				sink.handled, sink.counts = nil, nil
				if restarted {
					r = open(t, cfg, sink)
				}
				r.look(t.Context(), true)
				equal(t, "sequence numbers", sink.seqs(), want)
				if n := sink.totals()[logrules.RuleAnswered][0]; n != len(want) {
					t.Errorf("%d lines counted, want %d", n, len(want))
				}
			}
			step(1, 2)
			step()
			appendTo(t, path, line(3)+"\n"+line(4)[:20])
			step(3)
			appendTo(t, path, line(4)[20:]+"\n")
			step(4)
		})
	}
}

func TestRotationLosesNothing(t *testing.T) {
	long := make([]string, 30) // longer than the head that identifies a file
	for i := range long {
		long[i] = line(i + 1)
	}
	all := make([]int, len(long))
	for i := range all {
		all[i] = i + 1
	}
	for _, test := range []struct {
		name   string
		change func(t *testing.T, path string)
		want   []int
	}{
		{"truncated", func(t *testing.T, path string) { put(t, path, line(100)+"\n") }, []int{100}},
		{"cut back to its first lines", func(t *testing.T, path string) {
			put(t, path, strings.Join(long[:15], "\n")+"\n"+line(100)+"\n")
		}, append(numbers(1, 16), 100)},
		{"renamed and begun anew", func(t *testing.T, path string) {
			appendTo(t, path, line(90)+"\n")
			rename(t, path, path+".1")
			put(t, path, line(100)+"\n")
		}, []int{90, 100}},
		{"renamed and begun anew, longer than before", func(t *testing.T, path string) {
			rename(t, path, path+".1")
			var b strings.Builder
			for i := range 40 {
				b.WriteString(line(100+i) + "\n")
			}
			put(t, path, b.String())
		}, numbers(100, 140)},
		{"copied over itself", func(t *testing.T, path string) {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			put(t, path+".copy", string(b)+line(100)+"\n")
			rename(t, path+".copy", path)
		}, []int{100}},
	} {
		for _, restarted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restarted=%v", test.name, restarted), func(t *testing.T) {
				path := write(t, "app.log", long...)
				sink := &sink{}
				cfg := Config{URL: path + "*", Lines: logrules.Config{LogMatch: answered}}
				r := open(t, cfg, sink)
				r.look(t.Context(), true)
				equal(t, "before", sink.seqs(), all)
				test.change(t, path)
				if restarted {
					r = open(t, cfg, sink)
				}
				sink.handled, sink.counts = nil, nil
				r.look(t.Context(), true)
				equal(t, "after", sink.seqs(), test.want)
				if n := sink.totals()[logrules.RuleAnswered][0]; n != len(test.want) {
					t.Errorf("%d lines counted, want %d", n, len(test.want))
				}
				sink.handled = nil
				open(t, cfg, sink).look(t.Context(), true)
				equal(t, "after another restart", sink.seqs(), []int{})
			})
		}
	}
}

// Only the last batch of a pass says that the span was read.
func TestOneRunCoversAPass(t *testing.T) {
	path := write(t, "app-1.log", line(1))
	put(t, filepath.Join(filepath.Dir(path), "app-2.log"), line(2)+"\n")
	sink := &sink{}
	r := open(t, Config{URL: filepath.Dir(path) + "/app-*.log", Lines: logrules.Config{LogMatch: answered}}, sink)
	if err := r.Collect(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	if len(sink.runs) != 2 || sink.runs[0].To != from || sink.runs[1].To != to || !sink.runs[1].At.After(sink.runs[0].At) {
		t.Errorf("runs %+v", sink.runs)
	}
}

// A line without a time happened when the line before it did.
func TestLinesWithoutTime(t *testing.T) {
	path := write(t, "app.log", line(1), spring("06:25:07.500", "something"), spring("06:25:09.500", "worse"), "\tat rid=r1-000002 status=500")
	sink := &sink{}
	r := open(t, Config{URL: path, Lines: logrules.Config{LogMatch: answered}}, sink)
	r.look(t.Context(), true)
	appendTo(t, path, spring("06:25:11.000", "a")+"\n"+spring("06:25:12.000", "b")+"\n")
	r.look(t.Context(), true)
	appendTo(t, path, "\tat rid=r1-000003 status=500\n")
	r = open(t, Config{URL: path, Lines: logrules.Config{LogMatch: answered}}, sink)
	r.look(t.Context(), true)
	var at []string
	for _, h := range sink.handled {
		at = append(at, h.At.Format("05.0"))
	}
	equal(t, "seconds", at, []string{"01.0", "09.5", "12.0"})
	equal(t, "sequence numbers", sink.seqs(), []int{1, 2, 3})
	if n := sink.totals()[logrules.RuleAnswered]; n != [2]int{7, 3} {
		t.Errorf("%v lines counted and matched", n)
	}
}

// A line over the bound is skipped to its end, in however many pieces it comes.
func TestLongLine(t *testing.T) {
	path := write(t, "app.log", line(1))
	sink := &sink{}
	cfg := Config{URL: path, Lines: logrules.Config{LogMatch: answered}}
	open(t, cfg, sink).look(t.Context(), true)
	appendTo(t, path, strings.Repeat("x", 2*maxLine))
	open(t, cfg, sink).look(t.Context(), true)
	appendTo(t, path, strings.Repeat("x", 2*maxLine)+" "+line(2))
	open(t, cfg, sink).look(t.Context(), true)
	appendTo(t, path, " "+line(3)+"\n"+line(4)+"\n")
	open(t, cfg, sink).look(t.Context(), true)
	equal(t, "sequence numbers", sink.seqs(), []int{1, 4})
	if told := sink.told(); strings.Count(told, "longer than") != 1 {
		t.Errorf("told %q", told)
	}
}

// Run reads until it is stopped, and what came last too.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := write(t, "app.log", line(1))
		sink := &sink{}
		r := open(t, Config{URL: path, Lines: logrules.Config{LogMatch: answered}}, sink)
		begun := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		time.Sleep(30500 * time.Millisecond)
		appendTo(t, path, line(2)+"\n")
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		equal(t, "sequence numbers", sink.seqs(), []int{1, 2})
		at := begun
		for _, run := range sink.runs {
			if run.Code != "" || !run.From.Equal(at) {
				t.Errorf("run %+v does not go on at %v", run, at)
			}
			at = run.To
		}
		if !at.Equal(time.Now()) || len(sink.runs) > 10 {
			t.Errorf("%d runs end at %v, want %v", len(sink.runs), at, time.Now())
		}
	})
}

// A file that is replaced before anything of it was read is not forgotten either.
func TestReplacedBeforeAnythingWasRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.log")
	put(t, path, "")
	sink := &sink{}
	r := open(t, Config{URL: path, Lines: logrules.Config{LogMatch: answered}}, sink)
	r.look(t.Context(), true)
	appendTo(t, path, line(1)+"\n")
	rename(t, path, path+".1")
	put(t, path, line(2)+"\n")
	r.look(t.Context(), true)
	equal(t, "sequence numbers", sink.seqs(), []int{1, 2})
}

func TestMissingFileIsAStoredRun(t *testing.T) {
	for _, test := range []struct {
		name string
		url  func(folder string) string
	}{
		{"file", func(folder string) string { return folder + "/app.log" }},
		{"pattern", func(folder string) string { return folder + "/*.log" }},
		{"pattern in a folder that is gone", func(folder string) string { return folder + "/gone/*.log" }},
	} {
		t.Run(test.name, func(t *testing.T) {
			folder := t.TempDir()
			sink := &sink{}
			r := open(t, Config{URL: "file://" + test.url(folder), Lines: logrules.Config{LogMatch: answered}}, sink)
			if err := r.Collect(t.Context(), from, to); err == nil {
				t.Error("Collect: no error")
			}
			run := sink.runs[len(sink.runs)-1]
			if run.Code != "not_found" || !strings.Contains(run.Error, folder) || run.From != from || run.To != to {
				t.Errorf("run %+v", run)
			}
		})
	}
}

// A vanished file is a failed run; when it is back, one good run reaches over the
// time in between, since nothing of it was lost.
func TestVanishedFileComesBack(t *testing.T) {
	path := write(t, "app.log", line(1))
	now := from
	sink := &sink{}
	r := open(t, Config{URL: path, Now: func() time.Time { return now }, Lines: logrules.Config{LogMatch: answered}}, sink)
	r.covered = now
	pass := func() { now = now.Add(time.Second); r.look(t.Context(), false) }
	pass()
	appendTo(t, path, line(2)+"\n") // written and removed between two looks
	rename(t, path, path+".away")
	pass()
	pass()
	rename(t, path+".away", path)
	appendTo(t, path, line(3)+"\n")
	pass()
	equal(t, "sequence numbers", sink.seqs(), []int{1, 2, 3})
	var codes []string
	for _, run := range sink.runs {
		codes = append(codes, run.Code)
	}
	equal(t, "codes", codes, []string{"", "", "not_found", ""})
	if last := sink.runs[3]; last.From != from.Add(time.Second) || last.To != now {
		t.Errorf("the good run is over %v to %v", last.From, last.To)
	}
}

func TestFailedStoreIsReadAgain(t *testing.T) {
	path := write(t, "app.log", line(1), line(2))
	sink := &sink{fail: 1}
	r := open(t, Config{URL: path, Lines: logrules.Config{LogMatch: answered}}, sink)
	r.look(t.Context(), true)
	equal(t, "after the failure", sink.seqs(), []int{})
	r.look(t.Context(), true)
	equal(t, "afterwards", sink.seqs(), []int{1, 2})
}

func TestHostileLines(t *testing.T) {
	long := strings.Repeat("x", 3*maxLine)
	path := write(t, "app.log",
		"\x00\xff\xfe", "", "9999-99-99T99:99:99Z rid=r1-000001 status=200", long,
		"9999-12-31T23:59:59-18:00 rid=r1-000002 status=200",
		spring("06:25:01.000", "rid=\xff\xfe-000003 status=200"),
		spring("06:25:01.000", "rid="+strings.Repeat("r", 200)+"-000004 status=200"),
		spring("06:25:01.000", "rid=r1-99999999999 status=200"),
		spring("06:25:01.000", "rid=r1-000005 status=99999999999999999999"),
	)
	sink := &sink{}
	r := open(t, Config{URL: path, Lines: logrules.Config{LogMatch: answered, Sets: []string{"spring-boot", "systemd"}}}, sink)
	if err := r.Collect(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	equal(t, "sequence numbers", sink.seqs(), []int{5})
	if told := sink.told(); !strings.Contains(told, "longer than") || !strings.Contains(told, "2 lines match a rule, at a time that is not known") {
		t.Errorf("told %q", told)
	}
}

// A byte-order mark before a file's first line is none of the line.
func TestByteOrderMark(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.log")
	put(t, path, "\xef\xbb\xbf"+line(1)+"\n")
	sink := &sink{}
	if err := open(t, Config{URL: path, Lines: logrules.Config{LogMatch: answered}}, sink).Collect(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	equal(t, "sequence numbers", sink.seqs(), []int{1})
	if told := sink.told(); told != "" {
		t.Error(told)
	}
}

func TestLastLineWithoutEnd(t *testing.T) {
	path := write(t, "app.log", line(1))
	appendTo(t, path, line(2))
	sink := &sink{}
	r := open(t, Config{URL: path, Lines: logrules.Config{LogMatch: answered}}, sink)
	if err := r.Collect(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	equal(t, "while it may be written to", sink.seqs(), []int{1})
	if err := os.Chtimes(path, time.Time{}, from.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if err := r.Collect(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	equal(t, "when nobody writes any more", sink.seqs(), []int{1, 2})
}

func TestConfigurationErrors(t *testing.T) {
	for _, test := range []struct {
		cfg  Config
		want string
	}{
		{Config{URL: "s3://bucket/x"}, "is not a file:///path"},
		{Config{URL: "/x", Kind: "tape"}, `kind "tape"`},
		{Config{URL: "/x", Lines: logrules.Config{LogMatch: "rid=("}}, "log_match"},
		{Config{URL: "/x", Lines: logrules.Config{ReceivedMatch: "rid=x"}}, "no group (?P<id>"},
		{Config{URL: "/x", Lines: logrules.Config{Sets: []string{"log4j"}}}, `"log4j"`},
	} {
		test.cfg.Source = "app"
		if _, err := New(test.cfg, &sink{}); err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "application log app") {
			t.Errorf("%+v: got %v, want %q", test.cfg, err, test.want)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	var text strings.Builder
	const lines = 100_000
	for i := range lines {
		at := time.Date(2026, 10, 14, 6, 0, 0, 0, time.UTC).Add(time.Duration(i) * 3 * time.Millisecond)
		id := fmt.Sprintf("1b4e28ba-2fa1-11d2-883f-%012x", i)
		if i%20 == 0 {
			id = fmt.Sprintf("r1-%06d", i)
		}
		text.WriteString(spring(at.Format("15:04:05.000"), fmt.Sprintf("rid=%s status=200 GET /v1/stores/17 12ms", id)) + "\n")
	}
	path := filepath.Join(b.TempDir(), "app.log")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		r, err := New(Config{Source: "app", URL: path, Lines: logrules.Config{LogMatch: answered, ReceivedMatch: received, Sets: []string{"spring-boot", "systemd"}}}, &sink{})
		if err != nil {
			b.Fatal(err)
		}
		if err := r.Collect(b.Context(), from, to); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(lines*b.N)/b.Elapsed().Seconds(), "lines/s")
}

// sink is a store in memory.
type sink struct {
	mu        sync.Mutex
	handled   []analysis.HandledRequest
	steps     []analysis.Step
	signals   []analysis.Signal
	counts    []analysis.RuleCount
	runs      []analysis.Run
	positions map[string][]byte
	again     []bool // of each batch
	fail      int    // so many batches are refused
}

func (s *sink) AddAppBatch(_ context.Context, _ string, b analysis.AppBatch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail > 0 {
		s.fail--
		return fmt.Errorf("disk full")
	}
	if s.positions == nil {
		s.positions = map[string][]byte{}
	}
	switch before := s.positions[b.File]; {
	case bytes.Equal(before, b.Position):
		b.Counts = nil
	case !bytes.Equal(before, b.Before):
		return fmt.Errorf("disk: %w", analysis.ErrMoved)
	}
	s.handled = append(s.handled, b.Handled...)
	s.steps = append(s.steps, b.Steps...)
	s.signals = append(s.signals, b.Signals...)
	s.counts = append(s.counts, b.Counts...)
	s.runs = append(s.runs, b.Run)
	s.again = append(s.again, b.Again)
	s.positions[b.File] = b.Position
	return nil
}

func (s *sink) Position(_ context.Context, _, _, file string) ([]byte, error) {
	return s.positions[file], nil
}

func (s *sink) AddRun(_ context.Context, _ string, run analysis.Run) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs = append(s.runs, run)
	return nil
}

// told is what failed runs say of what was not understood, each thing once.
func (s *sink) told() string {
	var told []string
	for _, run := range s.runs {
		if run.Code == "bad_reply" && !slices.Contains(told, run.Error) {
			told = append(told, run.Error)
		}
	}
	return strings.Join(told, "\n")
}

func (s *sink) seqs() []int {
	var seqs []int
	for _, h := range s.handled {
		seqs = append(seqs, h.Seq)
	}
	return seqs
}

func (s *sink) totals() map[string][2]int {
	totals := map[string][2]int{}
	for _, c := range s.counts {
		total := totals[c.Rule]
		totals[c.Rule] = [2]int{total[0] + c.Lines, total[1] + c.Matched}
	}
	return totals
}

func open(t *testing.T, cfg Config, sink *sink) *Reader {
	t.Helper()
	cfg.Service, cfg.Source = "orders-api", "app"
	r, err := New(cfg, sink)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func spring(clock, message string) string {
	return "2026-10-14T" + clock + "Z  INFO 4711 --- [orders-api] [nio-8080-exec-1] com.example.orders.Access                : " + message
}

func line(seq int) string { return spring("06:25:01.000", fmt.Sprintf("rid=r1-%06d status=200", seq)) }

func numbers(from, to int) []int {
	var n []int
	for i := from; i < to; i++ {
		n = append(n, i)
	}
	return n
}

func write(t *testing.T, name string, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	put(t, path, strings.Join(lines, "\n")+"\n")
	return path
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
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

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); g != w {
		t.Errorf("%s:\n got %s\nwant %s", what, g, w)
	}
}
