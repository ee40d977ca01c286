package accesslog

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gapless/analysis"
)

// Where the time of a slow request went: before it was sent to the target, and in it.
func TestWhereTheTimeWent(t *testing.T) {
	rules, err := analysis.NewClassifier(analysis.Service{})
	if err != nil {
		t.Fatal(err)
	}
	const nginx = `$remote_addr [$time_local] "$request" $status $request_time $upstream_addr $upstream_status "$upstream_response_time"`
	proxied := func(addr, status, took string) string {
		return `203.0.113.7 [14/Oct/2026:02:30:01 +0000] "GET / HTTP/1.1" 200 5.220 ` + addr + " " + status + ` "` + took + `"`
	}
	haproxy := func(timers string) string {
		return `203.0.113.7:47772 [14/Oct/2026:02:30:01.000] public api/api-1 ` + timers + ` 200 1234 - - ---- 1/1/1/1/0 0/0 "GET / HTTP/1.1"`
	}
	alb := func(request, target string) string {
		return strings.Replace(strings.TrimSuffix(logLine{took: "5220ms", wait: request}.String(), "\n"), request+" 0.006 0.000", request+" "+target+" 0.000", 1)
	}
	json := func(took string) string {
		return `{"time_iso8601":"2026-10-14T02:30:01+00:00","request":"GET / HTTP/1.1","status":"200","request_time":"5.220","upstream_addr":"10.0.1.11:8080","upstream_status":"200","upstream_response_time":"` + took + `"}`
	}
	for _, c := range []struct {
		name, kind, line string
		want             string // before, and in the target
	}{
		{"waited before", KindALB, alb("5.200", "0.010"), "5.2s 10ms"},
		{"in the target", KindALB, alb("0.001", "5.201"), "1ms 5.201s"},
		{"at once", KindALB, alb("0.000", "0.000"), "0s 0s"},
		{"never answered", KindALB, alb("0.001", "-1"), "1ms -"},
		{"sent to none", KindALB, alb("-1", "-1"), "- -"},
		{"no times", KindALB, alb("-", "-"), "- -"},
		{"one server", KindNginx, proxied("10.0.1.11:8080", "200", "0.010"), "- 10ms"},
		{"two servers", KindNginx, proxied("10.0.1.11:8080, 10.0.1.12:8080", "502, 200", "5.000, 0.010"), "- 5.01s"},
		{"not told of one of them", KindNginx, proxied("10.0.1.11:8080, 10.0.1.12:8080", "502, 200", "5.000, -"), "- -"},
		{"no server", KindNginx, proxied("-", "-", "-"), "- -"},
		{"as JSON", KindNginxJSON, json("0.010"), "- 10ms"},
		{"as JSON, not told", KindNginxJSON, json("-"), "- -"},
		{"the request's headers came late, in the queue, and to connect", KindHAProxy, haproxy("5000/150/50/10/5220"), "5.2s 10ms"},
		{"in the server", KindHAProxy, haproxy("0/0/1/5201/5220"), "1ms 5.201s"},
		{"the server never answered", KindHAProxy, haproxy("0/0/1/-1/5220"), "1ms -"},
		{"never connected", KindHAProxy, haproxy("0/0/-1/-1/5220"), "- -"},
	} {
		cfg := Config{Source: "edge", Kind: c.kind, Slow: time.Millisecond}
		if c.kind == KindNginx {
			cfg.Format = nginx
		}
		lines, err := newFormat(&cfg)
		if err != nil {
			t.Fatal(err)
		}
		roll := newRollup(lines, rules, &cfg, analysis.Object{Source: "edge", Key: "k"})
		roll.add(&line{text: []byte(c.line), number: 1})
		b := roll.finish(ending{lines: 1})
		if len(b.Requests) != 1 {
			t.Errorf("%s %s: %d requests kept, %+v", c.kind, c.name, len(b.Requests), b.Lines)
			continue
		}
		said := func(d *time.Duration) string {
			if d == nil {
				return "-"
			}
			return d.String()
		}
		if got := fmt.Sprint(said(b.Requests[0].Before), " ", said(b.Requests[0].TargetTook)); got != c.want {
			t.Errorf("%s, %s: %s, want %s", c.kind, c.name, got, c.want)
		}
	}
}
