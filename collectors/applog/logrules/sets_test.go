package logrules

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// spring is a line as Spring Boot's default pattern has it.
func spring(message string) string {
	return "2026-10-14T06:25:01.000Z  INFO 1 --- [orders] [           main] com.example.App                          : " + message
}

// told is what one line told, in short: rule, what it gave and what about.
func told(t *testing.T, in *Interpreter, lines ...string) []string {
	t.Helper()
	b, s := NewBatch(), State{}
	for _, line := range lines {
		in.Line(b, &s, Line{Text: []byte(line)})
	}
	return outcome(b)
}

func outcome(b *Batch) []string {
	var all []string
	for _, s := range b.Steps {
		all = append(all, string(s.Kind)+" "+s.At.Format("05.000"))
	}
	for _, s := range b.Signals {
		text := s.Rule + " " + string(s.Event)
		for _, part := range []string{s.Name, s.Key, string(s.Outcome)} {
			if part != "" {
				text += " " + part
			}
		}
		for _, key := range slices.Sorted(maps.Keys(s.Values)) {
			text += fmt.Sprintf(" %s=%s", key, s.Values[key])
		}
		all = append(all, text)
	}
	for _, j := range b.Journeys {
		all = append(all, fmt.Sprintf("journey %s %s %s %s", j.Journey, j.Key, j.Step, j.Outcome))
	}
	for _, h := range b.Handled {
		all = append(all, fmt.Sprintf("handled %s-%d %d", h.Run, h.Seq, h.Status))
	}
	return all
}

func interpreter(t testing.TB, cfg Config) *Interpreter {
	t.Helper()
	cfg.Source, cfg.Now = "app", func() time.Time { return time.Date(2026, 10, 14, 7, 0, 0, 0, time.UTC) }
	in, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// journald is a line as journalctl's short-iso has it.
func journald(program, message string) string {
	return "2026-10-14T06:25:01+0000 host-1 " + program + "[1]: " + message
}

const (
	nginxFailed = `2026/10/14 06:25:01 [error] 31#31: *7 %s, client: 203.0.113.9, server: shop, request: "GET /v1/orders?token=secret HTTP/1.1", upstream: "http://10.0.1.11:8080/v1/orders?token=secret", host: "shop.example.com"`
	tomcatLine  = `14-Oct-2026 06:25:01.000 INFO [main] org.apache.catalina.startup.Catalina.start %s`
)

// Every rule of every set, with the wording of the framework's source, and all sets
// tried together: no line means two things to two of them.
func TestSets(t *testing.T) {
	in := interpreter(t, Config{Sets: Sets})
	matched := map[string]bool{}
	for _, test := range []struct {
		line string
		want []string
	}{
		{spring("Starting App v1.43.0 using Java 21.0.2 with PID 12 (/app.jar started by root in /)"),
			[]string{"spring-boot/starting process.starting App pid=12 version=1.43.0", "spring-boot/version app.version App version=1.43.0"}},
		{spring("Starting AOT-processed App using Java 17.0.8 with PID 7707 (started by root in /)"),
			[]string{"spring-boot/starting process.starting App pid=7707"}},
		{spring("Starting App on host-1 with PID 12 (/app.jar started by root in /)"), []string{"spring-boot/starting process.starting App pid=12"}},
		{spring("Started App in 2.345 seconds (process running for 2.9)"), []string{"app.ready 01.000"}},
		{spring("Restored App in 0.1 seconds (process running for 0.2)"), []string{"app.ready 01.000"}},
		{"2026-10-14 06:25:01.000  INFO 1 --- [           main] com.example.App : Started App in 2.3 seconds (JVM running for 2.9)", []string{"app.ready 01.000"}},
		{"2026-10-14 06:25:01,000 [main] INFO  c.e.App - Started App in 2.3 seconds (JVM running for 2.9)", []string{"app.ready 01.000"}},
		{spring("Commencing graceful shutdown. Waiting for active requests to complete"),
			[]string{"restart.began 01.000", "spring-boot/graceful-shutdown shutdown.began"}},
		{spring("Graceful shutdown complete"), []string{"spring-boot/shutdown-complete shutdown.ended"}},
		{spring("Graceful shutdown aborted with one or more requests still active"), []string{"spring-boot/shutdown-aborted shutdown.aborted"}},
		{spring("Shutdown phase 2147482623 ends with 1 bean still running after timeout of 30000ms: [webServerGracefulShutdown]"),
			[]string{"spring-boot/phase-timeout shutdown.aborted phase=2147482623 timeout_ms=30000"}},
		{spring("Failed to shut down 1 bean with phase value 2147483647 within timeout of 20000: [webServerGracefulShutdown]"),
			[]string{"spring-boot/phase-timeout-before-6.1 shutdown.aborted phase=2147483647 timeout_ms=20000"}},

		{journald("systemd", "orders.service: Main process exited, code=killed, status=9/KILL"),
			[]string{"process.killed 01.000", "systemd/exited process.exited orders.service code=killed status=9 word=KILL"}},
		{journald("systemd", "orders.service: main process exited, code=dumped, status=11/SEGV"),
			[]string{"process.killed 01.000", "systemd/exited process.exited orders.service code=dumped status=11 word=SEGV"}},
		{journald("systemd", "orders.service: Main process exited, code=killed, status=15/TERM"),
			[]string{"systemd/exited process.exited orders.service code=killed status=15 word=TERM"}},
		{journald("systemd", "orders.service: Main process exited, code=exited, status=143/n/a"),
			[]string{"systemd/exited process.exited orders.service code=exited status=143 word=n/a"}},
		{journald("systemd", "orders.service: Control process exited, code=killed, status=9/KILL"), nil},
		{journald("systemd", "Stopping orders.service - Orders API..."), []string{"systemd/stopping stop.requested orders.service"}},
		{journald("systemd", "Starting orders.service - Orders API..."), []string{"systemd/starting process.starting orders.service"}},
		{journald("systemd", "Started orders.service - Orders API."), nil}, // launched, not ready
		{journald("systemd", "orders.service: State 'stop-sigterm' timed out. Killing."),
			[]string{"systemd/stop-timed-out shutdown.aborted orders.service by=systemd state=stop-sigterm"}},
		{journald("systemd", "orders.service stop-sigterm timed out. Killing."), []string{"systemd/stop-timed-out shutdown.aborted orders.service by=systemd"}},
		{journald("systemd", "orders.service: A process of this unit has been killed by the OOM killer."),
			[]string{"systemd/out-of-memory process.out_of_memory orders.service"}},
		{journald("systemd", "orders.service: Scheduled restart job, restart counter is at 5."),
			[]string{"systemd/restart-scheduled restart.scheduled orders.service restarts=5"}},

		{fmt.Sprintf(tomcatLine, "Server startup in [305] milliseconds"), []string{"app.ready 01.000"}},
		{fmt.Sprintf(tomcatLine, "Server startup in [19,127] milliseconds"), []string{"app.ready 01.000"}},
		{fmt.Sprintf(tomcatLine, "Stopping service [Catalina]"), []string{"tomcat/stopping shutdown.began Catalina"}},
		{fmt.Sprintf(tomcatLine, "Maximum number of threads (200) created for connector with address null and port 8081"),
			[]string{"tomcat/threads-exhausted pool.exhausted http max=200"}},

		{spring("HikariPool-1 - Connection is not available, request timed out after 30000ms."),
			[]string{"hikaricp/exhausted pool.exhausted HikariPool-1 waited_ms=30000"}},
		{spring("HikariPool-1 - Connection is not available, request timed out after 30000ms (total=10, active=10, idle=0, waiting=9)"),
			[]string{"hikaricp/exhausted pool.exhausted HikariPool-1 active=10 total=10 waited_ms=30000 waiting=9"}},
		{spring("HikariPool-1 - Timeout failure stats (total=40, active=40, idle=0, waiting=46)"),
			[]string{"hikaricp/timeout-stats pool.exhausted HikariPool-1 active=40 total=40 waiting=46"}},
		{spring("HikariPool-1 - Timeout failure stats (total=40/40, idle=0/40, active=40, waiting=46)"),
			[]string{"hikaricp/timeout-stats pool.exhausted HikariPool-1 active=40 total=40 waiting=46"}},
		{spring("HikariPool-1 - Shutdown initiated..."), []string{"hikaricp/shutdown pool.closing HikariPool-1"}},
		{spring("HikariPool-1 - Shutdown completed."), []string{"hikaricp/shutdown-complete pool.closed HikariPool-1"}},

		{spring("2026-10-14T15:25:00.9+09:00[Asia/Seoul]: CircuitBreaker 'stock' changed state from CLOSED to OPEN"),
			[]string{"resilience4j/breaker-changed breaker.changed stock from=CLOSED to=OPEN"}},
		{spring("Event STATE_TRANSITION published: 2026-10-14T15:25:00.903214100+09:00: CircuitBreaker 'stock' changed state from OPEN to HALF_OPEN"),
			[]string{"resilience4j/breaker-changed breaker.changed stock from=OPEN to=HALF_OPEN"}},
		{spring("CircuitBreaker 'stock' is OPEN and does not permit further calls"),
			[]string{"resilience4j/breaker-refused call.refused stock by=breaker state=OPEN"}},
		{spring("2026-10-14T15:25:00Z: CircuitBreaker 'stock' recorded a call which was not permitted."),
			[]string{"resilience4j/breaker-recorded-refusal call.refused stock by=breaker"}},
		{spring("RateLimiter 'stock' does not permit further calls"), []string{"resilience4j/limiter-refused call.refused stock by=limiter"}},
		{spring("Bulkhead 'stock' is full and does not permit further calls"), []string{"resilience4j/bulkhead-refused call.refused stock by=bulkhead"}},
		{spring("2026-10-14T15:25:00Z: Bulkhead 'stock' rejected a call."), []string{"resilience4j/bulkhead-recorded-refusal call.refused stock by=bulkhead"}},
		{spring("2026-10-14T15:25:00Z: Retry 'stock', waiting PT0.5S until attempt '2'. Last attempt failed with exception 'java.lang.RuntimeException'."),
			[]string{"resilience4j/retry call.retried stock attempt=2 wait=PT0.5S"}},
		{spring("Retry 'stock' recorded a failed retry attempt. Number of retry attempts: '3'. Giving up. Last exception was: 'x'."),
			[]string{"resilience4j/retry-gave-up call.gave_up stock attempts=3"}},
		{spring("TimeLimiter 'stock' recorded a timeout exception."), []string{"resilience4j/timeout call.timed_out stock"}},

		{fmt.Sprintf(nginxFailed, "connect() failed (111: Connection refused) while connecting to upstream"),
			[]string{"nginx-error/upstream-failed upstream.failed 10.0.1.11:8080 action=connecting to upstream errno=111 reason=connect() failed"}},
		{fmt.Sprintf(nginxFailed, "upstream prematurely closed connection while reading response header from upstream"),
			[]string{"nginx-error/upstream-failed upstream.failed 10.0.1.11:8080 action=reading response header from upstream reason=upstream prematurely closed connection"}},
		{fmt.Sprintf(nginxFailed, "upstream timed out (110: Connection timed out) while connecting to upstream"),
			[]string{"nginx-error/upstream-failed upstream.failed 10.0.1.11:8080 action=connecting to upstream errno=110 reason=upstream timed out"}},
		{fmt.Sprintf(nginxFailed, "no live upstreams while connecting to upstream"),
			[]string{"nginx-error/upstream-failed upstream.failed 10.0.1.11:8080 action=connecting to upstream reason=no live upstreams"}},
		{strings.Replace(fmt.Sprintf(nginxFailed, "upstream server temporarily disabled while connecting to upstream"), "[error]", "[warn]", 1),
			[]string{"nginx-error/upstream-disabled upstream.failed 10.0.1.11:8080 action=connecting to upstream reason=temporarily disabled"}},

		{spring("Locked 'nightly', lock will be held at most until 2026-10-14T09:16:20.002212600Z"), []string{"scheduler-lock/locked job.began nightly"}},
		{spring("Task finished, lock 'nightly' released"), []string{"scheduler-lock/finished job.ended nightly"}},
		{spring("Task finished, lock 'nightly' will be released at 2026-10-14T09:16:20Z"), []string{"scheduler-lock/finished job.ended nightly"}},
		{spring("Not executing 'nightly'. It's locked."), []string{"scheduler-lock/skipped job.skipped nightly"}},
	} {
		b, s := NewBatch(), State{}
		in.Line(b, &s, Line{Text: []byte(test.line)})
		if got := outcome(b); !slices.Equal(got, test.want) {
			t.Errorf("%s\n got %q\nwant %q", test.line, got, test.want)
		}
		for _, c := range in.Counts(b) {
			if c.Matched > 0 {
				matched[c.Rule] = true
			}
			if c.Lines != 1 {
				t.Errorf("%s: %s was tried on %d lines", test.line, c.Rule, c.Lines)
			}
		}
	}
	for _, rule := range in.Rules() {
		if !matched[rule] && rule != RuleJSON {
			t.Errorf("no line tries %s", rule)
		}
	}
}

// Whoever sends a request can make an application write what it likes, but not where
// it likes: no rule of a set reads anything but the place of a message.
func TestQuotedLinesTellNothing(t *testing.T) {
	in := interpreter(t, Config{Sets: Sets})
	killed := "orders.service: Main process exited, code=killed, status=9/KILL"
	for _, line := range []string{
		spring(`GET /?q="Started App in 1.0 seconds (process running for 2)"`),
		spring("bad input : Commencing graceful shutdown. Waiting for active requests to complete"),
		spring("x systemd[1]: " + killed),
		spring(killed), // an application says so, not systemd
		journald("java", killed),
		"2026-10-14 06:25:01,000 [main] INFO  c.e.App - a INFO 1 --- [x] y : Graceful shutdown complete",
		"2026-10-14 06:25:01,000 [main] INFO  c.e.App - unknown user ' --- [a] b : Graceful shutdown complete'",
		"2026-10-14T06:25:01Z user agent: Graceful shutdown complete",
		fmt.Sprintf(nginxFailed, `"connect() failed (111: Connection refused) while connecting to upstream" was asked for`),
		spring("Started download in 3 seconds"),
		spring("Not executing 'a' since b. Not executing 'c'. It's locked."),
	} {
		if got := told(t, in, line); got != nil {
			t.Errorf("%s\n told %q", line, got)
		}
	}
	// A text with a line break in it goes on in a line of its own.
	if got := told(t, in, spring("no such user: x"), "Graceful shutdown complete", "  Started App in 1 seconds (process running for 2)", killed); got != nil {
		t.Errorf("the second line of a message told %q", got)
	}
	// Exceptions are told in such lines, and are looked for there.
	want := []string{"hikaricp/exhausted pool.exhausted HikariPool-1 waited_ms=30005"}
	if got := told(t, in, spring("Servlet.service() threw exception"),
		"Caused by: java.sql.SQLTransientConnectionException: HikariPool-1 - Connection is not available, request timed out after 30005ms."); !slices.Equal(got, want) {
		t.Errorf("an exception told %q", got)
	}
}

func TestObjects(t *testing.T) {
	in := interpreter(t, Config{Sets: []string{SetJSON, SetSpringBoot}, LogMatch: `"rid":"(?P<id>[^"]+)","status":(?P<status>\d+)`,
		Own: []Own{{Name: "work-began", Match: `^order=(?P<key>\S+) "begun"$`, Event: "work.began"}}})
	for _, test := range []struct {
		line string
		want []string
	}{
		{`{"@timestamp":"2026-10-14T06:25:01.5Z","level":"INFO","message":"Graceful shutdown complete"}`, []string{"spring-boot/shutdown-complete shutdown.ended 01.5"}},
		{`{"level":"info","ts":1791959101.5,"msg":"Graceful shutdown complete"}`, []string{"spring-boot/shutdown-complete shutdown.ended 01.5"}},
		{`{"time":1791959101500,"level":30,"msg":"Graceful shutdown complete","v":0}`, []string{"spring-boot/shutdown-complete shutdown.ended 01.5"}},
		{`{"ts":1791959101500000000,"msg":"Graceful shutdown complete"}`, []string{"spring-boot/shutdown-complete shutdown.ended 01.5"}},
		{`{"instant":{"epochSecond":1791959101,"nanoOfSecond":500000000},"level":"INFO","message":"Graceful shutdown complete"}`, []string{"spring-boot/shutdown-complete shutdown.ended 01.5"}},
		{`{"timestamp":"2026-10-14 06:25:01,500","short_message":"Graceful shutdown complete"}`, []string{"spring-boot/shutdown-complete shutdown.ended 01.5"}},
		{`{"@timestamp":"2026-10-14T06:25:01.5Z","time":"2026-10-14T09:00:00Z","msg":"x","message":"Graceful shutdown complete"}`, []string{"spring-boot/shutdown-complete shutdown.ended 01.5"}},
		{`{"time":"2026-10-14T09:00:00Z","@timestamp":"2026-10-14T06:25:01.5Z","message":"Graceful shutdown complete","msg":"x"}`, []string{"spring-boot/shutdown-complete shutdown.ended 01.5"}},
		{` {"time":"2026-10-14T06:25:01.5Z","msg":"Graceful shutdown complete"}`, nil}, // no time at its start, and no object
		{`{"time":"2026-10-14T06:25:01.5Z","msg":"order=17 \"begun\""}`, []string{"work-began work.began 17 01.5"}},
		{`{"time":"2026-10-14T06:25:01.5Z","rid":"r1-000042","status":200,"msg":"x"}`, []string{"handled r1-42 200 01.5"}},
		{`{"time":"2026-10-14T06:25:01.5Z","msg":"x","cause":{"message":"Graceful shutdown complete"}}`, nil},
		{`{"time":"2026-10-14T06:25:01.5Z","msg":"x Graceful shutdown complete"}`, nil},
		{`{"time":"2026-10-14T06:25:01.5Z","msg":"Graceful shutdown complete"`, nil}, // cut short
		{`{"msg":17}`, nil}, {`{}`, nil}, {`{`, nil}, {`{"a":}`, nil}, {`{"msg":"\`, nil},
	} {
		b, s := NewBatch(), State{}
		in.Line(b, &s, Line{Text: []byte(test.line)})
		got := outcome(b)
		for i := range got {
			got[i] += " " + s.Last.Format("05.0")
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s\n got %q\nwant %q", test.line, got, test.want)
		}
	}
}

// Lines of the lab, by the rules that somebody would write for them.
func TestOwnRules(t *testing.T) {
	in := interpreter(t, Config{Own: []Own{
		{Name: "work-began", Match: `^order=(?P<key>\S+) work begun$`, Event: "work.began"},
		{Name: "call-ended", Match: `^call=(?P<key>\S+) to=(?P<name>\S+) (?P<result>ok|failed|timeout)$`, Event: "call.ended"},
		{Name: "call-refused", Match: `^call=(?P<key>\S+) to=(?P<name>\S+) refused by=(?P<by>\S+)$`, Event: "call.refused"},
		{Name: "journey", Match: `^journey=(?P<journey>\S+) key=(?P<key>\S+) step=(?P<step>\S+) outcome=(?P<outcome>\S+)$`, Event: "journey.step"},
		{Name: "ready", Match: `^up and running$`, Step: "app.ready"},
		{Name: "filled", Match: `(?i)CACHE filled`, Event: "cache.filled", Values: map[string]string{"cache": "stock"}},
	}})
	got := told(t, in,
		spring("order=17 work begun"), spring("an order=18 work begun"), spring("call=7 to=stock timeout"), spring("call=8 to=stock refused by=limiter"),
		spring("journey=order key=17 step=ack outcome=ok"), spring("journey=order key=18 step=ack outcome=dunno"), spring("up and running"), spring("the Cache Filled"))
	want := []string{
		"app.ready 01.000", "work-began work.began 17", "call-ended call.ended stock 7 result=timeout", "call-refused call.refused stock 8 by=limiter",
		"filled cache.filled cache=stock", "journey order 17 ack ok", "journey order 18 ack unknown",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestTargets(t *testing.T) {
	own := []Own{{Name: "filled", Match: `cache filled(?: on (?P<target>\S+))?`, Event: "cache.filled"}}
	for _, test := range []struct{ fixed, label, text, want string }{
		{"api-1", "api-2", "cache filled on api-3", "api-1"},
		{"", "api-2", "cache filled on api-3", "api-2"},
		{"", "", "cache filled on api-3", "api-3"},
		{"", "", "cache filled", ""},
	} {
		in := interpreter(t, Config{Target: test.fixed, Own: own})
		b, s := NewBatch(), State{}
		in.Line(b, &s, Line{Text: []byte(spring(test.text)), Target: test.label})
		if len(b.Signals) != 1 || b.Signals[0].Target != test.want {
			t.Errorf("%+v: %+v", test, b.Signals)
		}
	}
}

// A journal entry's id is surer than its text, and its fields say what it is about.
func TestJournalEntries(t *testing.T) {
	in := interpreter(t, Config{Sets: []string{SetSystemd}, Unit: "orders*.service"})
	at := time.Date(2026, 10, 14, 6, 25, 1, 0, time.UTC)
	for _, test := range []struct {
		line Line
		want []string
	}{
		{Line{ID: idProcessExit, Text: []byte("orders.service: Main process exited, code=killed, status=9/KILL"), Origin: "systemd",
			Fields: map[string]string{"UNIT": "orders.service", "EXIT_CODE": "killed", "EXIT_STATUS": "9"}},
			[]string{"process.killed 01.000", "systemd/exited process.exited orders.service code=killed status=9"}},
		{Line{ID: idProcessExit, Text: []byte("orders.service: Control process exited, code=killed, status=9/KILL"), Origin: "systemd",
			Fields: map[string]string{"UNIT": "orders.service", "EXIT_CODE": "killed", "EXIT_STATUS": "9"}}, nil},
		{Line{ID: idProcessExit, Text: []byte("ssh.service: Main process exited, code=killed, status=9/KILL"), Origin: "systemd",
			Fields: map[string]string{"UNIT": "ssh.service", "EXIT_CODE": "killed", "EXIT_STATUS": "9"}}, nil},
		{Line{ID: idProcessExit, Text: []byte("orders.service: Main process exited, code=killed, status=9/KILL"), Origin: "java",
			Fields: map[string]string{"UNIT": "orders.service", "EXIT_CODE": "killed", "EXIT_STATUS": "9"}}, nil}, // anybody can log an id
		{Line{ID: idProcessExit, Text: []byte("orders.service: Main process exited, code=killed, status=9/KILL"),
			Fields: map[string]string{"UNIT": "orders.service", "EXIT_CODE": "killed", "EXIT_STATUS": "9"}}, nil}, // and nobody said who did
		{Line{ID: idUnitStopping, Text: []byte("Deteniendo Orders API..."), Origin: "systemd", Fields: map[string]string{"UNIT": "orders@2.service"}},
			[]string{"systemd/stopping stop.requested orders@2.service"}},
		{Line{ID: "39f53479d3a045ac8e11786248231fbf", Text: []byte("orders.service: Main process exited, code=killed, status=9/KILL"), Origin: "systemd"}, nil},
		{Line{Text: []byte("orders.service: Scheduled restart job, restart counter is at 1."), Origin: "systemd"},
			[]string{"systemd/restart-scheduled restart.scheduled orders.service restarts=1"}},
		{Line{Text: []byte("orders.service: Main process exited, code=killed, status=9/KILL"), Origin: "java"}, nil},
	} {
		b, s := NewBatch(), State{}
		test.line.At = at
		in.Line(b, &s, test.line)
		if got := outcome(b); !slices.Equal(got, test.want) {
			t.Errorf("%s of %s: got %q, want %q", test.line.Text, test.line.Origin, got, test.want)
		}
	}
}

func TestTimeFormats(t *testing.T) {
	seoul := time.FixedZone("KST", 9*3600)
	now := time.Date(2026, 10, 14, 7, 0, 0, 0, time.UTC)
	at := time.Date(2026, 10, 14, 6, 25, 1, 0, time.UTC)
	ms := at.Add(678 * time.Millisecond)
	for _, test := range []struct {
		format, match, line string
		want                time.Time
		rest                string
	}{
		{"%d/%b/%Y:%H:%M:%S.%f", "", "14/Oct/2026:15:25:01.678 x", ms, " x"},
		{"%d/%b/%Y:%H:%M:%S %z", "", "14/Oct/2026:06:25:01 +0000 x", at, " x"},
		{"%s.%f", "", "1791959101.678 x", ms, " x"},
		{"%s", `^level=\S+ ts=(?P<time>\d+) `, "level=info ts=1791959101 x", at, "x"},
		{"%b %e %H:%M:%S", "", "Oct 14 15:25:01 x", at, " x"},
		{"%m-%d %H:%M:%S", "", "12-31 15:25:01 x", time.Date(2025, 12, 31, 6, 25, 1, 0, time.UTC), " x"},
		{"%Y%m%d %H%M%S", `\[(?P<time>[^\]]+)\] `, "INFO [20261014 152501] x", at, "x"},
	} {
		f, err := NewTimeFormat(test.format, test.match)
		if err != nil {
			t.Fatal(err)
		}
		got, n, ok := f.read([]byte(test.line), seoul, now)
		if !ok || !got.Equal(test.want) || test.line[n:] != test.rest {
			t.Errorf("%s in %q: got %v, rest %q, %v", test.format, test.line, got, test.line[n:], ok)
		}
		if _, _, ok := f.read([]byte("2026-10-14T06:25:01Z x"), seoul, now); ok {
			t.Errorf("%s reads another form", test.format)
		}
	}
	for _, format := range []string{"", "%Y-%m-%d", "%H:%M:%S", "%Q", "%Y-%m-%d %H:%M:%", "%d/%b %H:%M"} {
		if _, err := NewTimeFormat(format, ""); err == nil {
			t.Errorf("%q is a format", format)
		}
	}
}
