package lab

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gapless/analysis"
)

// TestMain lets the test binary be a node, as the real binary is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == NodeCommand {
		os.Exit(ChildMain(os.Args[2:]))
	}
	os.Exit(m.Run())
}

func TestRollingWithoutDrainLosesRequests(t *testing.T) {
	t.Parallel()
	l, told := runScaled(t, RollingNaive, 500*time.Millisecond)
	truth := l.Truth()
	requests, failures := truth.Counts(told.span())
	if requests < 50 || failures == 0 {
		t.Errorf("%d user requests, %d failed; want many, and some failures", requests, failures)
	}
	before, _ := truth.Counts(told.deploy.StartedAt.Add(-1300*time.Millisecond), told.deploy.StartedAt, analysis.ClassUser)
	if before == 0 {
		t.Error("no user request in the baseline")
	}
	for _, r := range truth.Requests {
		if r.Outcome.Failure() && (r.Status != 502 || r.TargetStatus != 0 || r.Target == "") {
			t.Errorf("failure %+v; want a 502 by the balancer that names the target", r)
		}
	}
	want := []string{"deploy.started", "build.finished", "restart.began api-1", "restart.began api-2", "deploy.reported succeeded"}
	if !slices.Equal(told.steps, want) {
		t.Errorf("announced %q, want %q", told.steps, want)
	}
	for name, path := range l.Settings().NodeLogs {
		wantLines(t, path, []string{
			`Starting App v1\.42\.0 `, `Started App in [\d.]+ seconds \(process running for [\d.]+\)`,
			`rid=\S+ received (GET|POST) /v1/`, `rid=\S+ status=200 `,
			name + ` systemd\[1\]: Stopping app\.service`,
			`Commencing graceful shutdown\. Waiting for active requests to complete`, `Graceful shutdown complete`,
			`app\.service: Deactivated successfully\.`, `Started app\.service`,
			`Starting App v1\.43\.0 `, `Started App in `, `rid=\S+ status=200 `,
		})
	}
	wantLogEqualsTruth(t, l)
}

func TestRollingWithDrainLosesNone(t *testing.T) {
	t.Parallel()
	l, told := runScaled(t, RollingDrain, 250*time.Millisecond)
	truth := l.Truth()
	if requests, failures := truth.Counts(told.span()); requests < 50 || failures != 0 {
		t.Errorf("%d user requests, %d failed; want many and none", requests, failures)
	}
	want := []string{
		"deploy.started", "build.finished", "drain.marked api-1", "restart.began api-1",
		"drain.marked api-2", "restart.began api-2", "deploy.reported succeeded",
	}
	if !slices.Equal(told.steps, want) {
		t.Errorf("announced %q, want %q", told.steps, want)
	}
	for _, target := range []string{"api-1", "api-2"} {
		restart := told.at["restart.began "+target]
		for _, r := range truth.Requests {
			if r.Target == target && r.Start.After(restart) && r.Start.Before(restart.Add(100*time.Millisecond)) {
				t.Errorf("a request was sent to %s while it stopped; it had to be out by then", target)
			}
		}
	}
	wantLogEqualsTruth(t, l)
	wantChecksLogged(t, l)
}

func TestKillIsOverBeforeTheChecksCanEject(t *testing.T) {
	t.Parallel()
	l, told := runScaled(t, Kill, 1500*time.Millisecond)
	truth := l.Truth()
	if _, failures := truth.Counts(told.span()); failures == 0 {
		t.Error("no user request failed though both nodes were killed")
	}
	if want := []string{"deploy.started", "deploy.reported succeeded"}; !slices.Equal(told.steps, want) {
		t.Errorf("announced %q, want %q: nobody announces a fault's kills", told.steps, want)
	}
	if told.deploy.Kind != analysis.KindFault {
		t.Errorf("kind %s, want fault", told.deploy.Kind)
	}
	for _, path := range l.Settings().NodeLogs {
		wantLines(t, path, []string{
			`app\.service: Main process exited, code=killed, status=9/KILL`,
			`app\.service: Failed with result 'signal'\.`,
			`app\.service: Scheduled restart job, restart counter is at 1\.`,
			`Started app\.service`, `Started App in `,
		})
	}
	// Never ejected: each target fails to its own end of the window, in turn.
	for _, target := range []string{"api-1", "api-2"} {
		var failed, others int
		var first, last time.Time
		for _, r := range truth.Requests {
			if r.Target == target && r.Outcome.Failure() {
				if first.IsZero() {
					first = r.End
				}
				failed, last = failed+1, r.End
			}
		}
		for _, r := range truth.Requests {
			if r.ServedBy() != "" && r.Target != target && !r.Start.Before(first) && !r.End.After(last) {
				others++
			}
		}
		if failed < 3 || others < failed/2 || others > failed*2 {
			t.Errorf("%s: %d failed, %d served by the other in between; want about as many", target, failed, others)
		}
	}
}

func TestUnknownScenarioIsRefused(t *testing.T) {
	_, err := Start(t.Context(), Options{Dir: t.TempDir(), Scenario: "nonsense"})
	if err == nil || !strings.Contains(err.Error(), RollingNaive) {
		t.Errorf("error %v; want one that lists the scenarios", err)
	}
}

func TestUnknownGuardIsRefused(t *testing.T) {
	_, err := Start(t.Context(), Options{Dir: t.TempDir(), Scenario: Kill, Guards: []string{"nonsense"}})
	if err == nil || !strings.Contains(err.Error(), `no guard "nonsense"`) {
		t.Errorf("error %v; want one that names the guard", err)
	}
}

func TestScenariosHaveExpectations(t *testing.T) {
	for _, name := range Scenarios() {
		expect := Expectation(name)
		if expect.Verdict == "" || len(expect.Findings) == 0 {
			t.Errorf("%s: expectation %+v", name, expect)
		}
		if !expect.Met(expect.Verdict, expect.Findings) {
			t.Errorf("%s does not meet its own expectation", name)
		}
		if expect.Met(expect.Verdict, nil) || expect.Met(expect.Verdict, append([]string{"no-such-finding"}, expect.Findings...)) {
			t.Errorf("%s is met without its findings, or with one that nobody expects", name)
		}
	}
}

func TestMemoryTellsWhoseRequestItWasAndHowItEnded(t *testing.T) {
	m := &memory{names: map[string]string{"127.0.0.1:40001": "api-1"}, users: map[string]userSide{}}
	start := time.Date(2026, 10, 14, 6, 0, 0, 0, time.UTC)
	for _, x := range []exchange{
		{labID: "user-000001", target: "127.0.0.1:40001", status: 200, targetStatus: 200},
		{userAgent: "gapless-probe/0.1 r1-000042", requestID: "r1-000042", target: "127.0.0.1:40001", status: 502},
		{userAgent: "gapless-health/0.1 r2-000007", path: healthPath, target: "127.0.0.1:40001", status: 503, targetStatus: 503, outOfService: true},
		{userAgent: "gapless-health/0.1 r2-000008", path: healthPath, status: 503},
		{userAgent: "curl/8.19", path: healthPath, target: "127.0.0.1:40001", status: 200, targetStatus: 200},
		{userAgent: "curl/8.19", path: "/", target: "127.0.0.1:1", status: 404, targetStatus: 404},
	} {
		x.start, x.end = start, start.Add(time.Millisecond)
		m.balancerSaw(x)
	}
	m.userSaw("user-000001", userSide{UserView: UserView{Sent: start, Status: 200, Outcome: analysis.OutcomeBadBody}})
	m.userSaw("user-000002", userSide{UserView: UserView{Sent: start, Outcome: analysis.OutcomeConnectionError}, method: "GET"})
	var got []string
	for _, r := range m.truth() {
		user := ""
		if r.User != nil {
			user = string(r.User.Outcome)
		}
		got = append(got, strings.Join([]string{string(r.Class), string(r.Outcome), r.Target, r.ServedBy(), r.Run, jsonOf(r.Seq), user}, " "))
	}
	want := []string{
		"user ok api-1 api-1  0 bad_body",
		"probe lb_5xx api-1  r1 42 ",
		"health drain_503 api-1 api-1 r2 7 ",
		"health lb_5xx   r2 8 ",
		"health ok api-1 api-1  0 ",
		"user client_error 127.0.0.1:1 127.0.0.1:1  0 ",
		"user connection_error    0 connection_error", // never reached the balancer
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	var text strings.Builder
	if err := (Truth{Requests: m.truth()}).WriteNDJSON(&text); err != nil {
		t.Fatal(err)
	}
	first, rest, _ := strings.Cut(text.String(), "\n")
	const line = `{"class":"user","id":"user-000001","start":"2026-10-14T06:00:00.000000Z","end":"2026-10-14T06:00:00.001000Z","method":"","path":"","user_agent":"",` +
		`"status":200,"target_status":200,"target":"api-1","served_by":"api-1","outcome":"ok",` +
		`"user":{"sent":"2026-10-14T06:00:00.000000Z","done":null,"status":200,"outcome":"bad_body","error":null}}`
	if first != line || strings.Count(rest, "\n") != len(want)-1 {
		t.Errorf("first of %d lines\n%s\nwant the first of %d\n%s", strings.Count(rest, "\n")+1, first, len(want), line)
	}
}

func TestTruthCountsAsAReportDoes(t *testing.T) {
	base := time.Date(2026, 10, 14, 6, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return base.Add(time.Duration(ms) * time.Millisecond) }
	truth := Truth{Requests: []Request{
		{Class: analysis.ClassUser, Start: at(900), End: at(1100), Outcome: analysis.OutcomeOK, Target: "a", TargetStatus: 200}, // second 0
		{Class: analysis.ClassUser, Start: at(1900), End: at(2100), Outcome: analysis.OutcomeOK, Target: "a", TargetStatus: 200},
		{Class: analysis.ClassUser, Start: at(900), End: at(1100), Outcome: analysis.OutcomeLB5xx, Target: "b"},         // ends inside
		{Class: analysis.ClassUser, Start: at(1900), End: at(2100), Outcome: analysis.OutcomeLB5xx, Target: "b"},        // ends outside
		{Class: analysis.ClassUser, Start: at(1100), End: at(1200), Outcome: analysis.OutcomeClientAbort, Target: "b"},  // no failure
		{Class: analysis.ClassProbe, Start: at(1100), End: at(1200), Outcome: analysis.OutcomeOK, Target: "a"},          // another class
		{Class: analysis.ClassProbe, Start: at(999), End: at(1200), Outcome: analysis.OutcomeOK, Target: "a"},           // by its exact start
		{Class: analysis.ClassUser, Outcome: analysis.OutcomeConnectionError, User: &UserView{Sent: at(1100)}, ID: "u"}, // never arrived
	}}
	tally := truth.Tally(at(1000), at(2000), analysis.ClassUser)
	if tally.Requests != 3 || tally.Failures != 1 || tally.ServedBy["a"] != 1 || tally.SentTo["b"] != 2 {
		t.Errorf("tally %+v; want 3 requests, 1 failure, 1 served by a, 2 sent to b", tally)
	}
	if requests, _ := truth.Counts(at(1000), at(2000), analysis.ClassProbe); requests != 1 {
		t.Errorf("%d probe requests, want 1", requests)
	}
}

// record is an announcer that remembers.
type record struct {
	mu     sync.Mutex
	deploy analysis.Deploy   // the last one
	before []analysis.Deploy // those before it
	steps  []string
	at     map[string]time.Time
}

func (r *record) StartDeploy(_ context.Context, d analysis.Deploy) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.deploy.ID != "" {
		r.before = append(r.before, r.deploy)
	}
	r.deploy, r.steps = d, append(r.steps, "deploy.started")
	return nil
}

func (r *record) Step(_ context.Context, step analysis.Step) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := strings.TrimSpace(string(step.Kind) + " " + step.Target)
	r.steps, r.at[name] = append(r.steps, name), step.At
	return nil
}

func (r *record) FinishDeploy(_ context.Context, _ string, at time.Time, result string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deploy.ReportedAt, r.steps = at, append(r.steps, "deploy.reported "+result)
	return nil
}

func (r *record) span() (from, to time.Time, class analysis.Class) {
	return r.deploy.StartedAt, r.deploy.ReportedAt.Add(time.Second), analysis.ClassUser
}

// runScaled runs a scenario with another check interval and with a baseline and a
// tail as short as possible, and closes the lab.
func runScaled(t *testing.T, name string, interval time.Duration) (*Lab, *record) {
	t.Helper()
	return runBent(t, name, nil, func(s *scenario) { s.scale(interval) }, nil)
}

// scale changes the check interval and shortens everything else.
func (s *scenario) scale(interval time.Duration) {
	s.health.Interval, s.health.Timeout = interval, min(s.health.Timeout, interval*2/3)
	s.window.Baseline, s.window.Tail = 0, time.Second
	s.boot, s.restartDelay = 200*time.Millisecond, interval*2/5 // together less than one interval
}

// runBent runs a scenario with guards after bend has changed it, with watch beside it
// until the run is over, and closes the lab.
func runBent(t *testing.T, name string, guards []string, bend func(*scenario), watch func(*Lab, context.Context)) (*Lab, *record) {
	t.Helper()
	bent, err := choose(name, guards)
	if err != nil {
		t.Fatal(err)
	}
	bend(bent)
	l, err := startScenario(t.Context(), bent, Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if answer, err := http.Get(l.url + "/v1/stores/17"); err != nil || answer.StatusCode != 200 {
		t.Fatalf("the lab does not serve right after its start: %v %v", answer, err)
	} else {
		answer.Body.Close()
	}
	watching, stop := context.WithCancel(t.Context())
	defer stop()
	var watched sync.WaitGroup
	if watch != nil {
		watched.Go(func() { watch(l, watching) })
	}
	told := &record{at: map[string]time.Time{}}
	if _, err := l.Run(t.Context(), told); err != nil {
		t.Fatal(err)
	}
	stop()
	watched.Wait()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Run(t.Context(), told); err == nil {
		t.Error("a lab ran its scenario twice")
	}
	return l, told
}

// wantLines checks that the file has lines that match, in that order.
func wantLines(t *testing.T, path string, patterns []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rest := string(text)
	stamped := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.(\d{3}|\d{6})(Z|[+-]\d\d:\d\d) `)
	for line := range strings.Lines(rest) {
		if !stamped.MatchString(line) {
			t.Fatalf("%s: line without a time: %q", filepath.Base(path), line)
		}
	}
	for _, pattern := range patterns {
		at := regexp.MustCompile(pattern).FindStringIndex(rest)
		if at == nil {
			t.Errorf("%s: nothing matches %q after the lines before it", filepath.Base(path), pattern)
			return
		}
		rest = rest[at[1]:]
	}
}

// wantLogEqualsTruth checks that the access log holds each request of the truth
// once, with the same times, status and target, and nothing else.
func wantLogEqualsTruth(t *testing.T, l *Lab) {
	t.Helper()
	logged := map[string]int{}
	for _, line := range logLines(t, l.files.dir, "") {
		f := strings.Fields(line)
		logged[strings.Join([]string{f[1], f[4], f[8], f[9]}, " ")]++
	}
	address := map[string]string{}
	for _, target := range l.Settings().Targets {
		address[target.Name] = target.Address
	}
	for _, r := range l.Truth().Requests {
		if r.End.IsZero() {
			continue
		}
		targetStatus := "-"
		if r.TargetStatus != 0 {
			targetStatus = jsonOf(r.TargetStatus)
		}
		key := strings.Join([]string{r.End.Format(albTime), dash(address[r.Target]), jsonOf(r.Status), targetStatus}, " ")
		if logged[key]--; logged[key] < 0 {
			t.Errorf("not in the access log: %s", key)
		}
		delete(logged, map[bool]string{true: key}[logged[key] == 0])
	}
	if len(logged) != 0 {
		t.Errorf("in the access log but not true: %v", logged)
	}
}

// logLines reads every object of one kind under dir, checking its name against the
// layout of the documentation.
func logLines(t *testing.T, dir, kind string) (lines []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		key, _ := filepath.Rel(dir, path)
		name := objectKey.FindStringSubmatch(filepath.ToSlash(key))
		if name == nil {
			t.Errorf("key %s does not have the documented layout", key)
			return nil
		}
		if name[7] != kind {
			return nil
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		zip, err := gzip.NewReader(file)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(zip)
		lines = append(lines, strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func jsonOf(value any) string {
	text, _ := json.Marshal(value)
	return string(text)
}

var objectKey = regexp.MustCompile(`^(?:(.+)/)?AWSLogs/(\d{12})/elasticloadbalancing/([a-z0-9-]+)/(\d{4})/(\d\d)/(\d\d)/(conn_log_|health_check_log_)?\d{12}_elasticloadbalancing_[a-z0-9-]+_app\.([A-Za-z0-9-]+)\.([0-9a-f]+)_(\d{8}T\d{4}Z)_([0-9.]+)_([A-Za-z0-9]+)\.log\.gz$`)
