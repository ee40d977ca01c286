package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gapless/analysis"
)

// shopOutage is a restart of shop-1 as an nginx in front of it logs it. In every second
// shop-2 answers at .100 and .600, and shop-1 is asked at asked: from its stop until it is
// ready with a 502 at once, else with a 200 after took.
type shopOutage struct {
	asked, took       time.Duration
	mark, stop, ready time.Duration // after the log's beginning; a mark of 0 is none
}

// The numbers are worked out by hand: a line stamped in second S ended in [S, S+1s),
// and began as much before as it took.
func TestAuditOfWholeSeconds(t *testing.T) {
	const seconds, millis = "[$time_local]", "[$time_local] $msec"
	// Ready at 12.881, asked next at 13.798: 0.917 s later. The line is stamped 13 and says
	// 0.038, so that it began in [12.962, 13.962), perhaps before the last failure, in
	// [12, 13); the next one surely after it, by 14.962. The last before the stop, asked at
	// 6.798, ended at 6.836: in [6, 7), and began in [5.962, 6.962). It failed at 7.798, …,
	// 12.798. What served is dated by when it was asked.
	straight := shopOutage{asked: 798 * time.Millisecond, took: 38 * time.Millisecond, stop: 6892 * time.Millisecond, ready: 12881 * time.Millisecond}
	// Stopped at 12.000, ready at 24.050, asked next at 24.410. The line is stamped 24 and
	// says 0.027: by itself, it may have begun at 23.973, before it was ready. The next one
	// surely is after it, and began in [24.973, 25.973). The last before the stop, asked at
	// 11.410, ended in [11, 12), and began in [10.973, 11.973).
	early := shopOutage{asked: 410 * time.Millisecond, took: 27 * time.Millisecond, mark: 10 * time.Second, stop: 12 * time.Second, ready: 24050 * time.Millisecond}
	for _, test := range []struct {
		name    string
		stamp   string
		outage  shopOutage
		last    string // last_served_at, to the millisecond
		first   string
		bounds  map[string]string
		window  string // first to last failure at least, successes around at most
		sent    int    // surely while it was down, by the claim's evidence
		verdict analysis.VerdictState
	}{
		{"stamped before it was ready, in whole seconds", seconds, straight, "05.962", "13.962", map[string]string{
			"last_served_to_restart": "upper 0.93", "ready_to_first": "upper 1.081", "restart_to_first": "upper 7.07",
		}, "4 9", 5, analysis.Disproved},
		{"the same to the millisecond", millis, straight, "06.798", "13.798", map[string]string{
			"last_served_to_restart": "upper 0.094", "ready_to_first": "upper 0.917", "restart_to_first": "upper 6.906",
		}, "5 7", 6, analysis.Disproved},
		{"begun before it was ready, in whole seconds", seconds, early, "10.973", "25.973", map[string]string{
			"eject": "lower 0.973", "last_served_to_restart": "upper 1.027", "ready_to_first": "upper 1.923", "restart_to_first": "upper 13.973",
		}, "10 15", 11, analysis.Disproved},
		{"the same to the millisecond", millis, early, "11.410", "24.410", map[string]string{
			"eject": "lower 1.41", "last_served_to_restart": "upper 0.59", "ready_to_first": "upper 0.36", "restart_to_first": "upper 12.41",
		}, "11 13", 12, analysis.Disproved},
	} {
		t.Run(test.name, func(t *testing.T) {
			config := test.outage.folder(t, test.stamp)
			_, stdout, stderr := runProgram(t, nil, "audit", "-c", config, "--service", "shop", "--format", "json")
			var r analysis.Report
			if err := json.Unmarshal([]byte(stdout), &r); err != nil {
				t.Fatalf("%v\n%s", err, stderr)
			}
			row := r.Targets[0]
			if last, first := row.LastServedAt.Format("05.000"), row.FirstServedAt.Format("05.000"); last != test.last || first != test.first {
				t.Errorf("last served at %s, first at %s, want %s and %s", last, first, test.last, test.first)
			}
			for name, bounded := range map[string]*analysis.Bounded{
				"eject": row.Eject, "last_served_to_restart": row.LastServedToRestart, "ready_to_first": row.ReadyToFirstRequest, "restart_to_first": row.RestartToFirstRequest,
			} {
				got := ""
				if bounded != nil {
					got = fmt.Sprint(bounded.Bound, " ", bounded.Value)
				}
				if got != test.bounds[name] {
					t.Errorf("%s is %q, want %q", name, got, test.bounds[name])
				}
			}
			if len(row.FailureWindows) != 1 || row.FailureWindows[0].Upper == nil {
				t.Fatalf("failure windows %+v", row.FailureWindows)
			}
			if w := row.FailureWindows[0]; fmt.Sprint(w.Seconds, *w.Upper) != test.window {
				t.Errorf("failure window %v to %v s, want %s", w.Seconds, *w.Upper, test.window)
			}
			for _, c := range r.Claims {
				if c.ID == "ejected-before-stop" && (len(c.Evidence) != 1 || c.Evidence[0].Count != test.sent) {
					t.Errorf("sent after the stop: %+v, want %d", c.Evidence, test.sent)
				}
			}
			if r.Verdict.State != test.verdict || r.Totals[analysis.ClassUser].Failures == 0 || r.Totals[analysis.ClassUser].Failures != r.Totals[analysis.ClassUser].Causes[analysis.CauseDeploy] {
				t.Errorf("%s with %+v", r.Verdict.State, r.Totals[analysis.ClassUser])
			}
		})
	}
}

func (o shopOutage) folder(t *testing.T, stamped string) string {
	t.Helper()
	dir := t.TempDir()
	zero := time.Date(2026, 11, 30, 4, 55, 0, 0, time.UTC)
	var log, states, steps strings.Builder
	line := func(at, took time.Duration, status int, target string) {
		end := zero.Add(at + took)
		when := end.Format("[02/Jan/2006:15:04:05 +0000]")
		if strings.HasSuffix(stamped, "$msec") {
			when += fmt.Sprintf(" %.3f", float64(end.UnixMilli())/1000)
		}
		fmt.Fprintf(&log, `203.0.113.5 - - %s "GET /cart HTTP/1.1" %d 340 "-" "Mozilla/5.0" rt=%.3f uct="0.000" uht="%s" urt="%.3f" ua="127.0.0.1:%s" us="%d"`+"\n",
			when, status, took.Seconds(), map[bool]string{true: "0.001", false: "-"}[status == 200], took.Seconds(), target, status)
	}
	for second := time.Duration(0); second < 40*time.Second; second += time.Second {
		asked := []time.Duration{100 * time.Millisecond, 600 * time.Millisecond, o.asked}
		for _, after := range []time.Duration{asked[0], min(asked[1], asked[2]), max(asked[1], asked[2])} {
			at := second + after
			switch {
			case after != o.asked:
				line(at, 5*time.Millisecond, 200, "2")
			case at >= o.stop && at < o.ready:
				line(at, 0, 502, "1")
			default:
				line(at, o.took, 200, "1")
			}
		}
		for _, target := range []string{"shop-1", "shop-2"} {
			fmt.Fprintf(&states, `{"at":%q,"target":%q,"state":"healthy","reason":""}`+"\n", stamp(zero.Add(second)), target)
		}
	}
	step := func(kind, more string, at time.Duration) {
		fmt.Fprintf(&steps, `{"deploy":"d-1","service":"shop","kind":%q,"at":%q%s,"source":"workflow"}`+"\n", kind, stamp(zero.Add(at)), more)
	}
	step("deploy.started", `,"deploy_kind":"rolling","version_after":"2"`, 5*time.Second)
	if o.mark > 0 {
		step("drain.marked", `,"target":"shop-1"`, o.mark)
	}
	step("restart.began", `,"target":"shop-1"`, o.stop)
	step("app.ready", `,"target":"shop-1"`, o.ready)
	step("deploy.reported", `,"result":"succeeded"`, 30*time.Second)
	write(t, filepath.Join(dir, "nginx", "access.log"), log.String())
	write(t, filepath.Join(dir, "states.ndjson"), states.String())
	write(t, filepath.Join(dir, "steps.ndjson"), steps.String())
	config := filepath.Join(dir, "gapless.yml")
	write(t, config, `
services:
  - name: shop
    window: {baseline: 4s, tail: 5s, settle: 3s, max: 1m}
    targets:
      - {name: shop-1, address: "127.0.0.1:1"}
      - {name: shop-2, address: "127.0.0.1:2"}
    load_balancers:
      - name: public
        access_logs:
          - name: edge
            kind: nginx
            url: "file://nginx/access.log"
            format: '$remote_addr - $remote_user `+stamped+` "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" rt=$request_time uct="$upstream_connect_time" uht="$upstream_header_time" urt="$upstream_response_time" ua="$upstream_addr" us="$upstream_status"'
        target_groups:
          - name: api
            health_check: {interval: 5s, timeout: 1s, unhealthy: 3, healthy: 2}
            states: [{name: states, kind: file, path: states.ndjson, every: 1s}]
    steps: [{name: steps, kind: file, path: steps.ndjson}]
`)
	return config
}
