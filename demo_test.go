package main

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gapless/analysis"
	"gapless/lab"
)

// The whole program on a real deploy: the verdict is the one that the truth demands,
// every count equals the truth's, and an audit of the files that the demo left gives
// the same report.
func TestDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute of real time")
	}
	type run struct{ scenario, guard string }
	runs := []run{{lab.BlueGreen, lab.GuardLock}}
	for _, scenario := range lab.Scenarios() {
		runs = append(runs, run{scenario, ""})
	}
	if raced { // the detector makes all ten times as slow, and real time does not wait; CI runs the rest without it
		runs = []run{{lab.RollingNaive, ""}, {lab.RollingDrain, ""}, {lab.Kill, ""}}
	}
	for _, run := range runs {
		scenario := run.scenario
		t.Run(strings.TrimSuffix(scenario+" "+run.guard, " "), func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "kept")
			demo := []string{"demo", "--exit", "--format", "json", "--listen", "127.0.0.1:0", "--keep", dir, "--scenario", scenario}
			if run.guard != "" {
				demo = append(demo, "--guard", run.guard)
			}
			status, stdout, stderr := runProgram(t, nil, demo...)
			var printed struct {
				Scenarios []struct {
					Name       string
					AsExpected bool `json:"as_expected"`
					Truth      map[analysis.Class]demoTruth
					Report     analysis.Report
				}
			}
			if err := json.Unmarshal([]byte(stdout), &printed); err != nil || len(printed.Scenarios) != 1 {
				t.Fatalf("exit %d, %v:\n%s\n%s", status, err, stdout, stderr)
			}
			result := printed.Scenarios[0]
			report := &result.Report
			if status != exitOK || !result.AsExpected || result.Name != scenario {
				t.Errorf("exit %d, as expected: %v; verdict %s, findings %v\n%s", status, result.AsExpected, report.Verdict.State, findingCodes(report), stderr)
			}
			if tables := reportTables[scenario]; tables != nil {
				tables(t, report)
			}
			truth := readTruth(t, filepath.Join(dir, scenario), report)
			for class, want := range truth.totals {
				total := report.Totals[class]
				if total == nil {
					t.Errorf("%s: not measured", class)
					continue
				}
				compareCounts(t, string(class), counted4{total.Requests, total.Failures, total.Outcomes, total.ByTarget}, want)
			}
			for i, phase := range report.Phases {
				for _, class := range []analysis.Class{analysis.ClassUser, analysis.ClassProbe, analysis.ClassHealth} {
					counts := phase.Traffic[class]
					compareCounts(t, phase.Name+" "+string(class), counted4{counts.Requests, counts.Failures, counts.Outcomes, counts.ByTarget}, truth.phases[i][class])
				}
			}
			for _, class := range []analysis.Class{analysis.ClassUser, analysis.ClassProbe} {
				if want := (demoTruth{truth.totals[class].requests, truth.totals[class].failures}); result.Truth[class] != want {
					t.Errorf("%s: the demo tells %+v as the truth, which is %+v", class, result.Truth[class], want)
				}
			}

			audit := []string{"audit", "-c", filepath.Join(dir, scenario, keptConfigName), "--service", scenario, "--format", "json"}
			if scenario == lab.BackToBack { // there are two
				audit = append(audit, "--deploy", report.Deploy.ID)
			}
			audited, stdout, stderr := runProgram(t, nil, audit...)
			if audited != verdictStatus(report.Verdict.State) {
				t.Errorf("the audit ended with %d: %s", audited, stderr)
			}
			if live, again := comparableReport(t, result.Report), comparableJSON(t, []byte(stdout)); !reflect.DeepEqual(live, again) {
				t.Errorf("the audit's report is another one: %s", difference("", live, again))
			}
		})
	}
}

// counted4 is what is compared of one class in one span.
type counted4 struct {
	requests, failures int
	outcomes           map[analysis.Outcome]int
	byTarget           map[string]int
}

func compareCounts(t *testing.T, what string, got, want counted4) {
	t.Helper()
	maps.DeleteFunc(got.outcomes, func(_ analysis.Outcome, n int) bool { return n == 0 })
	if got.requests != want.requests || got.failures != want.failures || !maps.Equal(got.outcomes, want.outcomes) || !maps.Equal(got.byTarget, want.byTarget) {
		t.Errorf("%s: %+v, in truth %+v", what, got, want)
	}
}

type truthCounts struct {
	totals map[analysis.Class]counted4
	phases []map[analysis.Class]counted4
}

// readTruth counts the truth of a kept scenario anew, from its file: users by the
// load balancer's clock and answer, probes and health samples by their sender's.
func readTruth(t *testing.T, dir string, report *analysis.Report) truthCounts {
	t.Helper()
	type sent struct{ Sent, Done analysis.Time }
	senders := map[string]sent{}
	records, err := filepath.Glob(filepath.Join(dir, keptProbe("*")))
	if err != nil || len(records) == 0 {
		t.Fatalf("probe records %v: %v", records, err)
	}
	for _, path := range records {
		eachLine(t, path, func(line []byte) error {
			var record struct {
				ID string
				sent
			}
			err := json.Unmarshal(line, &record)
			senders[record.ID] = record.sent
			return err
		})
	}
	counts := truthCounts{totals: map[analysis.Class]counted4{}, phases: make([]map[analysis.Class]counted4, len(report.Phases))}
	for i := range counts.phases {
		counts.phases[i] = map[analysis.Class]counted4{}
	}
	eachLine(t, filepath.Join(dir, keptTruth), func(line []byte) error {
		var request struct {
			Class      analysis.Class
			ID         string
			Start, End analysis.Time
			ServedBy   string `json:"served_by"`
			Outcome    analysis.Outcome
		}
		if err := json.Unmarshal(line, &request); err != nil || request.End.IsZero() {
			return err
		}
		at, end := request.Start.Truncate(time.Second), request.End.Time
		if request.Class == analysis.ClassProbe || request.Class == analysis.ClassHealth {
			sender, ok := senders[request.ID]
			if !ok {
				return nil // the load balancer's own checks, or outside what was kept
			}
			at, end = sender.Sent.Time, sender.Done.Time
		}
		failed := request.Outcome.Failure()
		if failed {
			at = end
		}
		if at.Before(report.Window.From.Time) || !at.Before(report.Window.To.Time) {
			return nil
		}
		add := func(of map[analysis.Class]counted4) {
			c := of[request.Class]
			if c.outcomes == nil {
				c.outcomes, c.byTarget = map[analysis.Outcome]int{}, map[string]int{}
			}
			c.requests++
			c.outcomes[request.Outcome]++
			if failed {
				c.failures++
			}
			if request.ServedBy != "" {
				c.byTarget[request.ServedBy]++
			}
			of[request.Class] = c
		}
		add(counts.totals)
		for i, phase := range report.Phases {
			if !at.Before(phase.From.Time) && at.Before(phase.To.Time) {
				add(counts.phases[i])
			}
		}
		return nil
	})
	return counts
}

func eachLine(t *testing.T, path string, each func(line []byte) error) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if err := each(lines.Bytes()); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

// comparableReport is a report without what CONTRACT lets differ between a live run and an
// audit.
func comparableReport(t *testing.T, r analysis.Report) map[string]any {
	t.Helper()
	body, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return comparableJSON(t, body)
}

func comparableJSON(t *testing.T, body []byte) map[string]any {
	t.Helper()
	var r map[string]any
	if err := json.Unmarshal(body, &r); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	delete(r, "provenance")
	delete(r, "coverage")
	drop := func(of any, keys ...string) {
		part, ok := of.(map[string]any)
		if !ok {
			t.Fatalf("the report lacks a part: %s", body)
		}
		for _, key := range keys {
			delete(part, key)
		}
	}
	drop(r["deploy"], "source", "url")
	drop(r["window"], "state", "revision", "sealed_at")
	var clean func(any)
	clean = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, key := range []string{"evidence", "sentence", "remedy", "text"} {
				delete(v, key)
			}
			for _, each := range v {
				clean(each)
			}
		case []any:
			for _, each := range v {
				clean(each)
			}
		}
	}
	clean(r)
	return r
}

// difference finds the first place where two decoded values differ.
func difference(path string, a, b any) string {
	if reflect.DeepEqual(a, b) {
		return ""
	}
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			for _, key := range slices.Sorted(maps.Keys(a)) {
				if found := difference(path+"."+key, a[key], b[key]); found != "" {
					return found
				}
			}
		}
	case []any:
		if b, ok := b.([]any); ok && len(a) == len(b) {
			for i := range a {
				if found := difference(path+"[]", a[i], b[i]); found != "" {
					return found
				}
			}
		}
	}
	left, _ := json.Marshal(a)
	right, _ := json.Marshal(b)
	return path + ": " + string(left) + " and " + string(right)
}
