//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gapless/collectors/accesslog/albgen"
	"gapless/store"
)

const (
	crashPeriods = 8 // of five minutes
	crashNodes   = 3 // each wrote one object a period
	crashLines   = 4000
)

var crashStart = time.Date(2026, 10, 14, 2, 30, 0, 0, time.UTC)

// TestKilledAtAnyMoment kills the program while it ingests, at random moments, and
// starts it again until it is done, several times over. Whatever was killed, the
// database then holds what it holds after one uninterrupted run.
func TestKilledAtAnyMoment(t *testing.T) {
	kills := 100
	if testing.Short() || raced { // the detector makes a run ten times as long; CI kills a hundred without it
		kills = 12
	}
	config := crashFolder(t)
	began := time.Now()
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole.db")
	if !ingestUntil(t, config, whole, time.Minute) {
		t.Fatal("the uninterrupted run did not end within a minute")
	}
	took := time.Since(began)
	want := contents(t, whole)
	if !strings.Contains(want, fmt.Sprintf("objects %d ", crashPeriods*crashNodes+1)) {
		t.Fatalf("the uninterrupted run did not read everything: %.2000s", want)
	}
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1)) // any moment, another one each time
	killed, rounds, spared := 0, 0, 0
	for killed < kills {
		rounds++
		database := filepath.Join(dir, fmt.Sprintf("%d.db", rounds))
		for !ingestUntil(t, config, database, time.Duration(random.Int64N(int64(took)))) {
			killed++
			spared = 0
		}
		if got := contents(t, database); got != want {
			t.Fatalf("round %d, after %d kills: the database differs from an uninterrupted run's\n%s", rounds, killed, firstDifference(got, want))
		}
		if spared++; spared > 50 {
			t.Fatalf("%d runs in a row ended before they were killed, within a time of %s", spared, took)
		}
		for _, part := range []string{"", "-wal", "-shm"} {
			_ = os.Remove(database + part) // only to save room
		}
	}
	t.Logf("%d kills in %d databases; one run takes %s", killed, rounds, took.Round(time.Millisecond))
}

// ingestUntil runs an audit into a database, and kills it after a while. It reports
// whether the audit had ended by itself.
func ingestUntil(t *testing.T, config, database string, after time.Duration) (ended bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), after)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, self, "audit", "-c", config, "--service", "shop", "--db", database, "--format", "json",
		"--from", crashStart.Format(time.RFC3339), "--to", crashStart.Add(crashPeriods*5*time.Minute).Format(time.RFC3339))
	cmd.Env = append(os.Environ(), asProgram+"=1")
	cmd.Stderr = &stderr
	switch err := cmd.Run(); { // which kills with SIGKILL
	case ctx.Err() != nil && !cmd.ProcessState.Exited():
		return false
	case err != nil && cmd.ProcessState.ExitCode() == exitFailed, cmd.ProcessState == nil:
		t.Fatalf("audit: %v\n%s", err, stderr.String())
	}
	return true
}

// contents are everything in a database that says what was seen, as text. What it
// leaves out is when and in how many runs that was read.
func contents(t *testing.T, path string) string {
	t.Helper()
	db, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var b strings.Builder
	sources, err := db.Collectors(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sources {
		fmt.Fprintf(&b, "source %s %s objects %d lines %d set aside %d partial %d last %v failed %d\n",
			s.Source, s.Kind, s.Objects, s.Lines, s.SetAside, s.PartialObjects, s.LastEvidence, len(s.Holes))
		err := db.EachSetAside(t.Context(), "shop", s.Source, func(l store.SetAsideRow) error {
			fmt.Fprintf(&b, "aside %+v\n", l)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	o, err := db.ObservationsBetween(t.Context(), "shop", crashStart.Add(-time.Hour), crashStart.Add(2*time.Hour), "")
	if err != nil {
		t.Fatal(err)
	}
	covered := map[string]bool{}
	for _, r := range o.Runs {
		covered[fmt.Sprintf("covered %s %s %v %v %s\n", r.Source, r.Kind, r.From, r.To, r.Code)] = true
	}
	var texts []string
	for line := range covered {
		texts = append(texts, line)
	}
	for _, c := range o.Cells {
		texts = append(texts, fmt.Sprintf("cell %+v\n", c))
	}
	for _, l := range o.Latencies {
		took, err := l.Took.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, fmt.Sprintf("latencies %+v %x\n", l.LatencyKey, took))
	}
	for _, list := range [][]string{each(o.Requests), each(o.Known), each(o.Handled), each(o.Steps), each(o.States), each(o.Objects), each(o.Counts), each(o.Probes)} {
		texts = append(texts, list...)
	}
	slices.Sort(texts)
	return b.String() + strings.Join(texts, "")
}

func each[T any](list []T) []string {
	var texts []string
	for _, one := range list {
		texts = append(texts, fmt.Sprintf("%T %+v\n", one, one))
	}
	return texts
}

func firstDifference(got, want string) string {
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(gotLines), len(wantLines)) {
		if gotLines[i] != wantLines[i] {
			return fmt.Sprintf("has  %.500s\nwant %.500s", gotLines[i], wantLines[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(gotLines), len(wantLines))
}

// crashFolder writes log objects of several nodes and periods, one of them cut
// short, one with lines of another kind, and an application log with the probes'
// requests; it returns the configuration.
func crashFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for period := range crashPeriods {
		from := crashStart.Add(time.Duration(period) * 5 * time.Minute)
		for node := range crashNodes {
			name := crashObject(dir, from.Add(5*time.Minute), node)
			err := albgen.WriteFile(name, crashLines, 5*time.Minute, albgen.Settings{Seed: uint64(period*crashNodes + node), Start: from})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	cut := crashObject(dir, crashStart.Add(5*time.Minute), 0)
	packed, err := os.ReadFile(cut)
	if err != nil {
		t.Fatal(err)
	}
	write(t, cut, string(packed[:len(packed)/2]))
	write(t, crashObject(dir, crashStart.Add(5*time.Minute), crashNodes), strings.Repeat("not a line of this log\n", 5000))
	var app strings.Builder
	for i := range 20000 {
		at := crashStart.Add(time.Duration(i) * 100 * time.Millisecond)
		fmt.Fprintf(&app, "%s  INFO 1 --- [exec-1] access : rid=r1-%06d status=200\n", at.Format("2006-01-02T15:04:05.000Z"), i)
	}
	write(t, filepath.Join(dir, "api-1.log"), app.String())
	config := filepath.Join(dir, "gapless.yml")
	write(t, config, `
services:
  - name: shop
    targets: [{name: api-1, address: "10.0.1.11:8080"}, {name: api-2, address: "10.0.1.12:8080"}]
    load_balancers: [{name: public, access_logs: [{name: alb, kind: alb, url: "file://alb"}]}]
    app_logs: [{name: api-1-log, kind: file, url: "file://api-1.log", target: api-1}]
    request_id: {header: X-Request-Id, log_match: 'rid=(?P<id>\S+) status=(?P<status>\d+)'}
    log_rules: [spring-boot]
    routes: [{name: order, match: "^/v1/orders", critical: true}]
`)
	return config
}

func crashObject(dir string, end time.Time, node int) string {
	return filepath.Join(dir, "alb", fmt.Sprintf("123456789012_elasticloadbalancing_ap-northeast-2_app.shop-public.50dc6c495c0c9188_%s_203.0.113.%d_x.log.gz",
		end.Format("20060102T1504Z"), 200+node))
}
