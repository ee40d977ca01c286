package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gapless/analysis"
	"gapless/store"
	"gapless/store/evidence"
)

// The evidence of an audited deploy is bundled from its database, twice to the same
// bytes, and verifies; its report is the audit's.
func TestBundleAndVerify(t *testing.T) {
	db, report := auditedDatabase(t)
	dir := t.TempDir()
	first, second := filepath.Join(dir, "first.zip"), filepath.Join(dir, "second.zip")
	status, printed, stderr := runProgram(t, nil, "bundle", "--db", db, "--deploy", "d-1", "-o", first)
	if status != exitOK || !strings.Contains(printed, "manifest sha256 ") {
		t.Fatalf("bundle: exit %d, %s%s", status, printed, stderr)
	}
	if status, _, stderr := runProgram(t, nil, "bundle", "--db", db, "--deploy", "d-1", "-o", second); status != exitOK {
		t.Fatalf("bundle again: exit %d, %s", status, stderr)
	}
	if !bytes.Equal(fileContents(t, first), fileContents(t, second)) {
		t.Error("two bundles of the same evidence differ")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".gapless-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	known := strings.TrimSpace(printed[strings.LastIndexByte(strings.TrimSpace(printed), ' '):])
	status, stdout, stderr := runProgram(t, nil, "verify", first, "--sha256", known)
	if status != exitOK || !strings.Contains(stdout, "orders-api deploy d-1: disproved") || !strings.Contains(stdout, known) || stderr != "" {
		t.Errorf("verify: exit %d, %s%s", status, stdout, stderr)
	}
	status, stdout, _ = runProgram(t, nil, "verify", first, "--sha256", strings.Repeat("0", 64))
	if status != exitDisproved || !strings.Contains(stdout, "another bundle") {
		t.Errorf("verify against another hash: exit %d, %s", status, stdout)
	}

	var bundled map[string]any
	if err := json.Unmarshal(bundleOf(t, first).Report, &bundled); err != nil {
		t.Fatal(err)
	}
	made, audited := bundled["provenance"].(map[string]any), report["provenance"].(map[string]any)
	if sha, _ := made["config_sha256"].(string); len(sha) != 64 || sha != audited["config_sha256"] {
		t.Errorf("the bundle was made with configuration %q, the audit with %q", sha, audited["config_sha256"])
	}
	for _, r := range []map[string]any{bundled, report} {
		delete(r, "provenance") // when, and from what moment's evidence
	}
	a, _ := json.Marshal(bundled)
	b, _ := json.Marshal(report)
	if !bytes.Equal(a, b) {
		t.Errorf("the bundle's report is not the audit's:\n%.2000s\n%.2000s", a, b)
	}
	// The whole configuration is in it but for where the sources are.
	z := bundleOf(t, first)
	if z.Observations.Service.LoadBalancers[0].TargetGroups[0].Health.Timeout != 300*time.Millisecond {
		t.Errorf("service: %+v", z.Observations.Service)
	}
	if body := fileContents(t, first); bytes.Contains(body, []byte(filepath.Dir(db))) {
		t.Error("a path of this machine is in the bundle")
	}
}

// Each of a thousand random alterations of one byte is found by the program as a
// user runs it.
func TestVerifyFindsEveryAlteration(t *testing.T) {
	db, _ := auditedDatabase(t)
	file := filepath.Join(t.TempDir(), "a.zip")
	if status, _, stderr := runProgram(t, nil, "bundle", "--db", db, "--deploy", "d-1", "-o", file); status != exitOK {
		t.Fatal(stderr)
	}
	whole := fileContents(t, file)
	spans := memberSpans(t, whole)
	random := rand.New(rand.NewPCG(3, 4))
	named := 0
	for range 1000 {
		at := random.IntN(len(whole))
		altered := slices.Clone(whole)
		altered[at] ^= byte(1 + random.IntN(255))
		write(t, file, string(altered))
		status, stdout, _ := runProgram(t, nil, "verify", file)
		if status != exitDisproved {
			t.Fatalf("byte %d was altered: exit %d\n%s", at, status, stdout)
		}
		for name, span := range spans {
			if at >= span[0] && at < span[1] {
				named++
				if !strings.Contains(stdout, name+": ") {
					t.Errorf("byte %d is one of %s, which is not named:\n%s", at, name, stdout)
				}
			}
		}
	}
	if named < 500 {
		t.Errorf("only %d alterations were in a member", named)
	}
}

// A bundle whose hashes all fit, but whose report does not follow from its records,
// differs, field by field.
func TestVerifyComparesFieldByField(t *testing.T) {
	db, _ := auditedDatabase(t)
	good := filepath.Join(t.TempDir(), "good.zip")
	if status, _, stderr := runProgram(t, nil, "bundle", "--db", db, "--deploy", "d-1", "-o", good); status != exitOK {
		t.Fatal(stderr)
	}
	b := bundleOf(t, good)
	for name, test := range map[string]struct {
		records func(*analysis.Observations)
		report  func(*analysis.Report)
		binary  string
		says    []string
		not     string
	}{
		"as it was": {binary: "other", not: "differs"},
		"a prettier verdict": {report: func(r *analysis.Report) { r.Verdict.State = analysis.Supported }, binary: version(),
			says: []string{`verdict.state: the report says "supported", the records give "disproved"`, "1 fields"}, not: "another version"},
		"another version": {report: func(r *analysis.Report) { r.Schema = 2 }, binary: "v9.9.9",
			says: []string{"schema: the report says 2, the records give 1", "v9.9.9", "another version"}},
		"a number and a sentence": {report: func(r *analysis.Report) {
			r.Totals[analysis.ClassUser].Failures = 0
			r.Verdict.Sentence = "All is well."
		}, binary: version(),
			says: []string{"totals.user.failures: the report says 0, the records give 2", "verdict.sentence"}},
		"a finding taken out": {report: func(r *analysis.Report) { r.Findings = r.Findings[:0] }, binary: version(),
			says: []string{"findings[0]: the report says nothing, the records give"}},
		"records without the failures": {records: func(o *analysis.Observations) {
			o.Requests = slices.DeleteFunc(o.Requests, func(q analysis.Request) bool { return q.Outcome.Failure() })
			o.Cells = slices.DeleteFunc(o.Cells, func(c analysis.Cell) bool { return c.Outcome.Failure() })
		}, binary: version(), says: []string{`verdict.state: the report says "disproved"`}},
		"records of a class that no source brought": {records: func(o *analysis.Observations) { o.Objects, o.Runs = nil, nil }, binary: version(), says: []string{""}},
		"what is only stated": {report: func(r *analysis.Report) {
			r.Provenance.Binary, r.Provenance.ConfigSHA256 = "x", "y"
			r.Provenance.Changes = []string{"verdict: supported → disproved"}
		}, binary: version(), not: "differs"},
	} {
		t.Run(name, func(t *testing.T) {
			o := b.Observations
			o.Requests, o.Cells = slices.Clone(o.Requests), slices.Clone(o.Cells)
			if test.records != nil {
				test.records(&o)
			}
			file := filepath.Join(t.TempDir(), "forged.zip")
			out, err := os.Create(file)
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			_, err = evidence.Write(out, o, evidence.Versions{Binary: test.binary}, func(inputs string) ([]byte, error) {
				var report analysis.Report
				if err := json.Unmarshal(b.Report, &report); err != nil {
					return nil, err
				}
				report.Provenance.InputsSHA256 = inputs
				if test.report != nil {
					test.report(&report)
				}
				return encodeReport(&report)
			})
			if err != nil {
				t.Fatal(err)
			}
			status, stdout, stderr := runProgram(t, nil, "verify", file)
			want := exitDisproved
			if test.says == nil {
				want = exitOK
			}
			if status != want {
				t.Errorf("exit %d, want %d\n%s%s", status, want, stdout, stderr)
			}
			for _, says := range test.says {
				if !strings.Contains(stdout, says) {
					t.Errorf("it does not say %q:\n%s", says, stdout)
				}
			}
			if test.not != "" && strings.Contains(stdout, test.not) {
				t.Errorf("it says %q:\n%s", test.not, stdout)
			}
		})
	}
}

// What is asked for wrongly ends with 3, what is no bundle with 1.
func TestBundleAndVerifyRefuse(t *testing.T) {
	db, _ := auditedDatabase(t)
	dir := t.TempDir()
	out := filepath.Join(dir, "out.zip")
	write(t, filepath.Join(dir, "text"), "hello")
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()
	half := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "PK") }))
	defer half.Close()
	for name, test := range map[string]struct {
		args   []string
		status int
		says   string
	}{
		"unknown deploy":       {[]string{"bundle", "--db", db, "--deploy", "d-9", "-o", out}, exitFailed, `no deploy "d-9"`},
		"no database":          {[]string{"bundle", "--db", filepath.Join(dir, "none.db"), "--deploy", "d-1", "-o", out}, exitFailed, "no such file"},
		"nowhere to write":     {[]string{"bundle", "--db", db, "--deploy", "d-1", "-o", filepath.Join(dir, "no", "out.zip")}, exitFailed, "no such file"},
		"server that is down":  {[]string{"bundle", "--server", down.URL, "--deploy", "d-1", "-o", out}, exitFailed, "reach the server"},
		"server that is wrong": {[]string{"bundle", "--server", half.URL, "--deploy", "d-1", "-o", out}, exitFailed, "no whole bundle"},
		"no deploy":            {[]string{"bundle", "-o", out}, exitFailed, "--deploy"},
		"no file":              {[]string{"verify", filepath.Join(dir, "none.zip")}, exitFailed, "no such file"},
		"a folder":             {[]string{"verify", dir}, exitFailed, "not a file"},
		"no argument":          {[]string{"verify"}, exitFailed, "<file>"},
		"no bundle":            {[]string{"verify", filepath.Join(dir, "text")}, exitDisproved, "no evidence bundle"},
	} {
		t.Run(name, func(t *testing.T) {
			status, stdout, stderr := runProgram(t, nil, test.args...)
			if status != test.status || !strings.Contains(stdout+stderr, test.says) {
				t.Errorf("exit %d, want %d and %q:\n%s%s", status, test.status, test.says, stdout, stderr)
			}
		})
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a bundle was left though none was made")
	}
	if _, err := os.Stat(filepath.Join(dir, "none.db")); err == nil {
		t.Error("a database was made by reading it")
	}
}

// A server bundles what it sealed. The sealed report names the very hash that the
// bundle proves, and the bundle can be had from the page.
func TestBundleFromServer(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	path := filepath.Join(dir, "gapless.db")
	db, err := store.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	service := analysis.Service{Name: "orders-api", Window: analysis.WindowSettings{Baseline: time.Second, Tail: time.Second, Settle: time.Second, Max: time.Minute}}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	start := time.Now().Add(-time.Hour).Truncate(time.Microsecond).UTC()
	check(db.PutService(ctx, service))
	_, err = db.StartDeploy(ctx, analysis.Deploy{ID: "d/1 ü", Service: "orders-api", Kind: analysis.KindRolling, Source: "test", StartedAt: start})
	check(err)
	_, err = db.FinishDeploy(ctx, "d/1 ü", start.Add(time.Second), "succeeded", "test")
	check(err)
	check(db.Close())

	server := startServe(t, map[string]string{"GAPLESS_TOKEN": "secret", "GAPLESS_PASSWORD": "sesame"}, "--listen", "127.0.0.1:0", "--db", path)
	env := map[string]string{"GAPLESS_URL": server.url, "GAPLESS_TOKEN": "secret"}
	var report analysis.Report
	eventually(t, "the window is sealed", func() bool {
		request, _ := http.NewRequest(http.MethodGet, server.url+"/api/v1/deploys/d%2F1%20%C3%BC/report", nil)
		request.SetBasicAuth("", "sesame")
		response, err := http.DefaultClient.Do(request)
		check(err)
		defer response.Body.Close()
		check(json.NewDecoder(response.Body).Decode(&report))
		return report.Window.Revision == 1 && !report.Window.SealedAt.IsZero()
	})
	file := filepath.Join(dir, "a.zip")
	status, stdout, stderr := runProgram(t, env, "bundle", "--deploy", "d/1 ü", "-o", file)
	if status != exitOK {
		t.Fatalf("bundle: exit %d, %s%s", status, stdout, stderr)
	}
	if status, stdout, _ := runProgram(t, nil, "verify", file); status != exitOK || !strings.Contains(stdout, "d/1 ü: untested") {
		t.Errorf("verify: exit %d, %s", status, stdout)
	}
	if inputs := bundleOf(t, file).Manifest.Inputs; inputs != report.Provenance.InputsSHA256 || inputs == "" {
		t.Errorf("the sealed report names the inputs %q, the bundle has %q", report.Provenance.InputsSHA256, inputs)
	}
	status, _, stderr = runProgram(t, env, "bundle", "--deploy", "d-9", "-o", file+"x")
	if status != exitFailed || !strings.Contains(stderr, "404") || !strings.Contains(stderr, "d-9") {
		t.Errorf("unknown deploy: exit %d, %s", status, stderr)
	}
	status, _, stderr = runProgram(t, map[string]string{"GAPLESS_URL": server.url}, "bundle", "--deploy", "d/1 ü", "-o", file+"x")
	if status != exitFailed || !strings.Contains(stderr, "401") {
		t.Errorf("without a token: exit %d, %s", status, stderr)
	}
}

// The moment by which a bundle is judged depends on the evidence alone.
func TestJudgedAt(t *testing.T) {
	start := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	o := analysis.Observations{
		Service: analysis.Service{Window: analysis.WindowSettings{Settle: time.Minute}}, Deploy: analysis.Deploy{StartedAt: start},
		From: at(-60), To: at(60),
	}
	for name, test := range map[string]struct {
		change func(*analysis.Observations)
		want   int
	}{
		"nothing yet":          {func(o *analysis.Observations) { o.At = at(10) }, 0},
		"a poll":               {func(o *analysis.Observations) { o.At, o.Runs = at(10), []analysis.Run{{At: at(7)}, {At: at(5)}} }, 7},
		"a clock that is fast": {func(o *analysis.Observations) { o.At, o.Steps = at(10), []analysis.Step{{At: at(6)}, {At: at(20)}} }, 6},
		"an answer":            {func(o *analysis.Observations) { o.At, o.Probes = at(10), []analysis.ProbeRequest{{Done: at(8)}} }, 8},
		"a state":              {func(o *analysis.Observations) { o.At, o.States = at(10), []analysis.StateSample{{At: at(3)}} }, 3},
		"a log's second":       {func(o *analysis.Observations) { o.At, o.Cells = at(10), []analysis.Cell{{Last: at(4)}} }, 4},
		"a log's row":          {func(o *analysis.Observations) { o.At, o.Requests = at(10), []analysis.Request{{End: at(2)}} }, 2},
		"an application":       {func(o *analysis.Observations) { o.At, o.Handled = at(10), []analysis.HandledRequest{{At: at(1)}} }, 1},
		"settled":              {func(o *analysis.Observations) { o.At, o.Runs = at(5000), []analysis.Run{{At: at(4000)}} }, 120},
		"just settled":         {func(o *analysis.Observations) { o.At = at(120) }, 120},
		"sealed":               {func(o *analysis.Observations) { o.At, o.SealedAt = at(5000), at(130) }, 130},
	} {
		each := o
		test.change(&each)
		if got := judgedAt(&each); !got.Equal(at(test.want)) {
			t.Errorf("%s: %s, want %s", name, got, at(test.want))
		}
	}
}

// auditedDatabase is the database of an audited deploy that lost requests, and the
// report that the audit printed.
func auditedDatabase(t *testing.T) (db string, report map[string]any) {
	t.Helper()
	config := auditFolder(t, auditDeploy{id: "d-1", failing: true})
	db = filepath.Join(t.TempDir(), "gapless.db")
	status, stdout, stderr := runProgram(t, nil, "audit", "-c", config, "--service", "orders-api", "--db", db, "--format", "json")
	if status != exitDisproved {
		t.Fatalf("audit: exit %d, %s", status, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		t.Fatal(err)
	}
	return db, report
}

func fileContents(t *testing.T, path string) []byte {
	t.Helper()
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func bundleOf(t *testing.T, path string) *evidence.Bundle {
	t.Helper()
	body := fileContents(t, path)
	bundle, problems := evidence.Read(bytes.NewReader(body), int64(len(body)))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return bundle
}

// memberSpans says which bytes of a zip are a member's own.
func memberSpans(t *testing.T, body []byte) map[string][2]int {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	spans := map[string][2]int{}
	for _, f := range z.File {
		at, err := f.DataOffset()
		if err != nil {
			t.Fatal(err)
		}
		spans[f.Name] = [2]int{int(at), int(at) + int(f.CompressedSize64)}
	}
	return spans
}
