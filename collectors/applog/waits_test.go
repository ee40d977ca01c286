package applog

import (
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"gapless/collectors/applog/logrules"
)

// A piece that never ends holds up neither the other stream nor, after a pause, its
// own; a program that began anew does not go on with it.
func TestPieceThatNeverEnds(t *testing.T) {
	began, ended := "Commencing graceful shutdown. Waiting for active requests to complete", "Graceful shutdown complete"
	for _, test := range []struct {
		name  string
		lines []string
		want  []string
	}{
		{"of the other stream", []string{
			dockerLine("25:00.0", "stderr", "50% done"), dockerLine("25:01.0", "stdout", spring("06:25:01.0", began)+"\n"), dockerLine("25:01.5", "stdout", spring("06:25:01.5", ended)+"\n"),
		}, []string{"restart.began", "shutdown.began", "shutdown.ended"}},
		{"of the other stream, as the CRI has it", []string{
			criLine("25:00.0", "stderr", "P", "50% done"), criLine("25:01.0", "stdout", "F", spring("06:25:01.0", began)), criLine("25:01.5", "stdout", "F", spring("06:25:01.5", ended)),
		}, []string{"restart.began", "shutdown.began", "shutdown.ended"}},
		{"of the same stream", []string{
			dockerLine("25:00.0", "stdout", "half a li"), dockerLine("25:03.0", "stdout", spring("06:25:03.0", "Started App in 2.3 seconds (process running for 2.9)")+"\n"),
		}, []string{"app.ready"}},
		{"the last of all", []string{dockerLine("25:00.0", "stdout", spring("06:25:00.0", ended))}, []string{"shutdown.ended"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				path, sink := write(t, "c.log", test.lines...), &sink{}
				r := open(t, Config{Kind: KindContainer, URL: path, Lines: logrules.Config{Target: "api-1", Sets: []string{"spring-boot"}}}, sink)
				r.covered = r.cfg.Now()
				for range 4 {
					r.look(t.Context(), false)
					time.Sleep(time.Second)
				}
				var got []string
				for _, s := range sink.steps {
					got = append(got, string(s.Kind))
				}
				for _, s := range sink.signals {
					got = append(got, string(s.Event))
				}
				if !slices.Equal(got, test.want) {
					t.Errorf("got %q, want %q", got, test.want)
				}
			})
		})
	}
}

// While something waits at a file's end, no run vouches for the time in which it was
// written. After a pause it is read as it is, and the time is made up for.
func TestRunsEndBeforeWhatWaits(t *testing.T) {
	for _, test := range []struct {
		kind, first, half string
		after             time.Duration
	}{
		{KindFile, line(1), line(2), calm},
		{KindContainer, criLine("25:00.0", "stdout", "F", line(1)), criLine("25:00.1", "stdout", "P", line(2)) + "\n", pause},
		{KindContainer, criLine("25:00.0", "stdout", "F", line(1)), criLine("25:00.1", "stdout", "F", line(2)), calm},
		{KindJournal, `{"__REALTIME_TIMESTAMP":"1795998510093242","MESSAGE":"` + line(1) + `"}`, "__REALTIME_TIMESTAMP=1795998510093243\nMESSAGE=" + line(2) + "\n", calm},
	} {
		synctest.Test(t, func(t *testing.T) {
			path, sink := write(t, "app.log", test.first), &sink{}
			r := open(t, Config{Kind: test.kind, URL: path, Lines: logrules.Config{Target: "api-1", LogMatch: answered}}, sink)
			start := r.cfg.Now()
			r.covered = start
			tick := func() {
				time.Sleep(time.Second)
				r.look(t.Context(), false)
			}
			covered := func() time.Duration {
				var to time.Time
				for _, run := range sink.runs {
					if run.Code == "" && run.To.After(to) {
						to = run.To
					}
				}
				return to.Sub(start)
			}
			tick()
			appendTo(t, path, test.half)
			tick() // sees it first, so that it was written in the second before
			seen := r.cfg.Now()
			for r.cfg.Now().Sub(seen) < test.after {
				if got := covered(); got != time.Second || !slices.Equal(sink.seqs(), []int{1}) {
					t.Errorf("%s: %s after it was seen: covered %s, read %v", test.kind, r.cfg.Now().Sub(seen), got, sink.seqs())
				}
				tick()
			}
			tick()
			for range 6 {
				tick()
			}
			if want := r.cfg.Now().Sub(start); covered() < want-idle || !slices.Equal(sink.seqs(), []int{1, 2}) {
				t.Errorf("%s: in the end covered %s of %s, read %v", test.kind, covered(), want, sink.seqs())
			}
		})
	}
}

// Where every look finds half a line, runs lag by one look and no more.
func TestBusyFileIsVouchedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path, sink := write(t, "app.log", line(1)), &sink{}
		r := open(t, Config{URL: path, Lines: logrules.Config{LogMatch: answered}}, sink)
		r.covered = r.cfg.Now()
		r.look(t.Context(), false)
		for i := range 20 {
			time.Sleep(time.Second)
			appendTo(t, path, line(i + 2)[:20])
			r.look(t.Context(), false)
			if lag := r.cfg.Now().Sub(r.covered); i > 1 && lag > time.Second {
				t.Errorf("look %d: %s behind", i, lag)
			}
			appendTo(t, path, line(i + 2)[20:]+"\n")
		}
	})
}

// At the end of reading, the last line counts though it does not end, unless it may
// still be written to.
func TestLastLineAtTheEndOfReading(t *testing.T) {
	for age, want := range map[time.Duration][]int{time.Second: {1}, 3 * time.Second: {1, 2}} {
		path, sink := write(t, "app.log", line(1)), &sink{}
		appendTo(t, path, line(2))
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
		r := open(t, Config{URL: path, Lines: logrules.Config{LogMatch: answered}}, sink)
		r.covered = r.cfg.Now()
		r.look(t.Context(), true)
		equal(t, age.String(), sink.seqs(), want)
	}
}

// Pieces of two streams that overlap all the time are read once each, wherever reading
// stops and begins anew.
func TestOverlappingPieces(t *testing.T) {
	var lines []string
	for i := range 30 {
		out, err := line(2*i), line(2*i+1)
		lines = append(lines, criLine("25:00.0", "stdout", "P", out[:5]), "neither form", criLine("25:00.1", "stderr", "F", err[30:]),
			criLine("25:00.2", "stderr", "P", err[:5]), criLine("25:00.3", "stdout", "F", out[5:]), criLine("25:00.4", "stdout", "F", "x"))
	}
	path, sink := write(t, "c.log", lines[0]), &sink{}
	cfg := Config{Kind: KindContainer, URL: path, Lines: logrules.Config{Target: "api-1", LogMatch: answered}}
	for _, each := range append(lines[1:], "") {
		open(t, cfg, sink).look(t.Context(), false)
		appendTo(t, path, each+"\n")
	}
	open(t, cfg, sink).look(t.Context(), true)
	told := map[string]bool{}
	for _, run := range sink.runs {
		if run.Code != "" {
			told[run.Error] = true
		}
	}
	if n := len(sink.seqs()); n < 59 {
		t.Errorf("%d lines were read", n)
	}
	whole := readAtOnce(t, cfg, write(t, "whole.log", lines...))
	equal(t, "sequence numbers", sink.seqs(), whole.seqs())
	equal(t, "counted", sink.totals(), whole.totals())
	if len(told) != 30 {
		t.Errorf("%d places with a line that is not understood, want 30", len(told))
	}
}

func readAtOnce(t *testing.T, cfg Config, path string) *sink {
	t.Helper()
	s := &sink{}
	cfg.URL = path
	open(t, cfg, s).look(t.Context(), true)
	return s
}
