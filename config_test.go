package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gapless/analysis"
)

// example is the configuration of CONTRACT.md without the kinds that are not read yet.
const example = `listen: 127.0.0.1:8080
db: gapless.db
time_zone: Asia/Seoul            # display only
retention: 90d
services:
  - name: orders-api
    window: {baseline: 5m, tail: 10m, settle: 15m, max: 2h}
    targets:
      - {name: api-1, address: "10.0.1.11:8080", aliases: ["i-0abc:8080", "ip-10-0-1-11"]}
    load_balancers:
      - name: public
        access_logs:
          - {name: alb, kind: alb, url: "s3://bucket/prefix", region: ap-northeast-2, profile: "", role: "", endpoint: "",
             match: {load_balancer: "", target_group: "", host: ""}}
          - {name: folder, kind: alb, url: "file://logs/alb"}
        target_groups:
          - name: api
            health_check: {interval: 30s, timeout: 5s, unhealthy: 2, healthy: 2, path: /actuator/health}
            states:
              - {name: elbv2, kind: elbv2, target_group: "arn:aws:x", region: ap-northeast-2, every: 5s, endpoint: ""}
              - {name: states, kind: file, path: states.ndjson}
    app_logs:
      - {name: api-1, kind: file, url: "file:///logs/api-1.log", target: api-1, zone: Asia/Seoul}
    request_id: {header: X-Request-Id, log_match: 'rid=(?P<id>\S+) status=(?P<status>\d+)', received_match: 'rid=(?P<id>\S+) received'}
    log_rules: [spring-boot, systemd]
    traffic:
      probe:  [{user_agent_prefix: "gapless-probe/"}]
      health: [{user_agent_prefix: "gapless-health/"}, {user_agent_prefix: "ELB-HealthChecker/"}, {path: /actuator/health}]
      tool:   [{client: 10.0.0.0/8}]
    routes: [{name: order, match: "^/v1/orders", critical: true}]
    probes:
      - {name: store, class: probe, url: "https://api.example.com/v1/stores/17", method: GET, headers: {}, body: "",
         every: 200ms, timeout: 5s, connection: new,
         expect: 'status == 200 && body.success == true && body.data.id == 17 && len(body.data) >= 100',
         classify: {rejected: 'body.reason == "RATE_LIMITED"', unknown: 'status == 202'}, stop_when: ""}
      - {name: health, class: health, url: "https://api.example.com/actuator/health", every: 1s, timeout: 5s,
         drain: 'status == 503 && body.status == "OUT_OF_SERVICE"'}
    probe_records: [{name: store-file, kind: file, path: probe.ndjson, probe: store, class: probe}]
    steps: [{name: steps, kind: file, path: steps.ndjson}]
`

func TestConfigurationOfTheContract(t *testing.T) {
	cfg, err := parseConfig("/etc/gapless/gapless.yml", []byte(example), noEnvironment)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.listen != "127.0.0.1:8080" || cfg.db != "/etc/gapless/gapless.db" || cfg.zone.String() != "Asia/Seoul" || cfg.retention != 90*24*time.Hour {
		t.Errorf("top level: %+v", cfg)
	}
	s := cfg.services[0]
	want := analysis.Service{
		Name:    "orders-api",
		Window:  analysis.WindowSettings{Baseline: 5 * time.Minute, Tail: 10 * time.Minute, Settle: 15 * time.Minute, Max: 2 * time.Hour},
		Targets: []analysis.TargetName{{Name: "api-1", Address: "10.0.1.11:8080", Aliases: []string{"i-0abc:8080", "ip-10-0-1-11"}}},
		LoadBalancers: []analysis.LoadBalancer{{
			Name:       "public",
			AccessLogs: []analysis.AccessLog{{Name: "alb", Kind: "alb", Counts: true}, {Name: "folder", Kind: "alb"}},
			TargetGroups: []analysis.TargetGroup{{
				Name:   "api",
				Health: analysis.HealthCheck{Interval: 30 * time.Second, Timeout: 5 * time.Second, Unhealthy: 2, Healthy: 2, Path: "/actuator/health"},
				States: []analysis.StateSource{{Name: "elbv2", Kind: "elbv2", Every: 5 * time.Second}, {Name: "states", Kind: "file", Every: 5 * time.Second}},
			}},
		}},
		AppLogs: []analysis.AppLog{{Name: "api-1", Kind: "file", Target: "api-1"}},
		Probes: []analysis.Probe{
			{Name: "store", Class: analysis.ClassProbe, Every: 200 * time.Millisecond, Timeout: 5 * time.Second, NewConnections: true},
			{Name: "health", Class: analysis.ClassHealth, Every: time.Second, Timeout: 5 * time.Second, NewConnections: true},
		},
		Traffic: analysis.TrafficRules{
			Probe:  []analysis.TrafficRule{{UserAgentPrefix: "gapless-probe/"}},
			Health: []analysis.TrafficRule{{UserAgentPrefix: "gapless-health/"}, {UserAgentPrefix: "ELB-HealthChecker/"}, {Path: "/actuator/health"}},
			Tool:   []analysis.TrafficRule{{Client: "10.0.0.0/8"}},
		},
		Routes: []analysis.Route{{Name: "order", Match: "^/v1/orders", Critical: true}},
	}
	// What each rule of a set tells is its set's business.
	if shutdown := (analysis.LogRule{Name: "spring-boot/graceful-shutdown", Event: analysis.EventShutdownBegan, Step: analysis.StepRestartBegan}); !slices.Contains(s.LogRules, shutdown) {
		t.Errorf("rules %+v, want %+v among them", s.LogRules, shutdown)
	}
	s.LogRules = nil
	if !reflect.DeepEqual(s.Service, want) {
		t.Errorf("service:\n got %+v\nwant %+v", s.Service, want)
	}
	if len(s.accessLogs) != 2 || s.accessLogs[0].URL != "s3://bucket/prefix" || s.accessLogs[0].Region != "ap-northeast-2" ||
		s.accessLogs[1].URL != "file:///etc/gapless/logs/alb" || s.accessLogs[0].Settle != 15*time.Minute {
		t.Errorf("access logs: %+v", s.accessLogs)
	}
	if len(s.states) != 2 || s.states[0].ARN != "arn:aws:x" || s.states[0].TargetGroup != "api" || s.states[0].LoadBalancer != "public" ||
		s.states[1].Path != "/etc/gapless/states.ndjson" {
		t.Errorf("states: %+v", s.states)
	}
	if len(s.appLogs) != 1 || s.appLogs[0].URL != "file:///logs/api-1.log" || s.appLogs[0].Lines.Zone.String() != "Asia/Seoul" || len(s.appLogs[0].Lines.Sets) != 2 {
		t.Errorf("application logs: %+v", s.appLogs)
	}
	if len(s.probes) != 2 || s.probes[0].KeepAlive || s.probes[0].Classify["unknown"] != "status == 202" || s.probes[0].RequestIDHeader != "X-Request-Id" {
		t.Errorf("probes: %+v", s.probes)
	}
	if len(s.records) != 1 || s.records[0].Path != "/etc/gapless/probe.ndjson" || s.records[0].Probe != "store" {
		t.Errorf("records: %+v", s.records)
	}
	if len(s.steps) != 1 || s.steps[0].Path != "/etc/gapless/steps.ndjson" {
		t.Errorf("steps: %+v", s.steps)
	}
}

// appLogLine is the example's application log.
const appLogLine = `- {name: api-1, kind: file, url: "file:///logs/api-1.log", target: api-1, zone: Asia/Seoul}`

func TestConfigurationOfALoki(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("hush\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := "publish: {loki: {url: \"http://loki:3100\", tenant: team-a, token_file: secret, labels: {env: prod}}}\n" + strings.Replace(example, appLogLine, `- {name: loki, kind: loki, url: "http://loki:3100/prefix", query: '{app="orders"}', target_label: host, tenant: team-a,
         user: me, password_file: secret, every: 3s, delay: 0s, late: 2m, limit: 700}
      - {name: other, kind: loki, url: "https://loki", query: '{app="orders"} |= "x"', target: api-1, token_file: secret}`, 1)
	cfg, err := parseConfig(filepath.Join(dir, "gapless.yml"), []byte(text), noEnvironment)
	if err != nil {
		t.Fatal(err)
	}
	if p := cfg.publish; p == nil || p.URL != "http://loki:3100" || p.Tenant != "team-a" || p.Token != "hush" || p.Labels["env"] != "prod" {
		t.Errorf("publishing: %+v", p)
	}
	s := cfg.services[0]
	if len(s.lokiLogs) != 2 || len(s.AppLogs) != 2 || s.AppLogs[0] != (analysis.AppLog{Name: "loki", Kind: "loki"}) || s.AppLogs[1] != (analysis.AppLog{Name: "other", Kind: "loki", Target: "api-1"}) {
		t.Fatalf("application logs %+v, %+v", s.AppLogs, s.lokiLogs)
	}
	first, second := s.lokiLogs[0], s.lokiLogs[1]
	if first.URL != "http://loki:3100/prefix" || first.Query != `{app="orders"}` || first.TargetLabel != "host" || first.Tenant != "team-a" ||
		first.User != "me" || first.Password != "hush" || first.Every != 3*time.Second || first.Delay >= 0 || first.Late != 2*time.Minute || first.Limit != 700 ||
		first.Rules.LogMatch == "" || len(first.Rules.Sets) != 2 {
		t.Errorf("first: %+v", first)
	}
	if second.Rules.Target != "api-1" || second.Token != "hush" || second.Every != 2*time.Second || second.Delay != 2*time.Second || second.Late != time.Minute {
		t.Errorf("second: %+v", second)
	}
}

// Every wrong value names its line, its path, itself and what is allowed.
func TestConfigurationMistakes(t *testing.T) {
	tests := []struct {
		name     string
		below    int // lines below that of old where the mistake is; -1: not checked
		old, new string
		want     []string
	}{
		{"unknown key", 0, "retention: 90d", "retentoin: 90d", []string{"retentoin: unknown key", "allowed: listen, hosts, db, "}},
		{"unknown nested key", 0, "tail: 10m, ", "tial: 10m, ", []string{"services[0].window.tial: unknown key", "allowed: baseline, tail, settle, max"}},
		{"key twice", 0, "db: gapless.db", "listen: 127.0.0.1:1", []string{"listen"}},
		{"not YAML", -1, "services:", "services: [", []string{"gapless.yml:"}},
		{"duration without a unit", 0, "tail: 10m", "tail: 10", []string{"services[0].window.tail", `"10"`, "90d"}},
		{"negative duration", 0, "tail: 10m", "tail: -10m", []string{"services[0].window.tail", `"-10m"`}},
		{"zone", 0, "Asia/Seoul            #", "Asia/Nowhere #", []string{"time_zone", `"Asia/Nowhere"`, "IANA"}},
		{"listen", 0, "listen: 127.0.0.1:8080", "listen: here", []string{"listen", `"here"`, "host:port"}},
		{"host with a scheme", 0, "listen: 127.0.0.1:8080", "hosts: [a.example, \"https://b.example\"]", []string{"hosts[1]", `"https://b.example"`, "without scheme and port"}},
		{"reserved access log kind", 0, "{name: folder, kind: alb", "{name: folder, kind: counts", []string{"services[0].load_balancers[0].access_logs[1].kind", `"counts"`, "not supported yet", "alb"}},
		{"format of another kind", 0, "{name: folder, kind: alb,", "{name: folder, kind: haproxy, format: combined,", []string{"access_logs[1].format", `"combined"`, "nginx"}},
		{"zone of another kind", 0, "{name: folder, kind: alb,", "{name: folder, kind: alb, zone: Asia/Seoul,", []string{"access_logs[1].zone", "haproxy"}},
		{"log_format", 0, "{name: folder, kind: alb,", "{name: folder, kind: nginx, format: apache,", []string{"access_logs[1].format", `"apache"`, "combined, main"}},
		{"log_format with escape", 0, "{name: folder, kind: alb,", "{name: folder, kind: nginx, format: 'escape=json {$msec,$status}',", []string{"access_logs[1].format", "escape=", "nginx-json"}},
		{"load balancer in an nginx log", 0, "{name: folder, kind: alb,", "{name: folder, kind: nginx, match: {load_balancer: lb},", []string{"access_logs[1].match.load_balancer", `"lb"`, "alb, alb-health, alb-conn, haproxy"}},
		{"target group in a log of objects", 0, "{name: folder, kind: alb,", "{name: folder, kind: nginx-json, match: {target_group: api},", []string{"access_logs[1].match.target_group", `"api"`, "alb, alb-health, haproxy"}},
		{"host in a format without it", 0, "{name: folder, kind: alb,", "{name: folder, kind: nginx, format: '$msec $hostname $status', match: {host: a.example},", []string{"access_logs[1].match.host", `"a.example"`, "$http_host"}},
		{"host in HAProxy's log", 0, "{name: folder, kind: alb,", "{name: folder, kind: haproxy, match: {host: a.example},", []string{"access_logs[1].match.host", `"a.example"`, "alb, nginx, nginx-json"}},
		{"host in a log of connections", 0, "{name: folder, kind: alb,", "{name: folder, kind: alb-conn, match: {host: a.example},", []string{"access_logs[1].match.host", `"a.example"`, "nginx-json"}},
		{"zone of a proxy's log", 0, "{name: folder, kind: alb,", "{name: folder, kind: haproxy, zone: Seoul,", []string{"access_logs[1].zone", `"Seoul"`, "IANA"}},
		{"region of a proxy's log", 0, "{name: folder, kind: alb,", "{name: folder, kind: nginx-json, region: eu,", []string{"access_logs[1].region", `"eu"`, "alb"}},
		{"a proxy's log in a bucket", 0, `{name: folder, kind: alb, url: "file://logs/alb"}`, `{name: folder, kind: nginx, url: "s3://a/b"}`, []string{"access_logs[1].url", "cannot be read"}},
		{"reserved states kind", 0, "{name: states, kind: file, path: states.ndjson}", "{name: states, kind: ncp}", []string{"states[1].kind", `"ncp"`, "not supported yet", "elbv2, file"}},
		{"unknown application log kind", 0, appLogLine, `- {name: api-1, kind: syslog, url: "file://x"}`, []string{"app_logs[0].kind", `"syslog"`, "file, journal, container, loki"}},
		{"Loki without a query", 0, appLogLine, `- {name: l, kind: loki, url: "http://loki:3100"}`, []string{"app_logs[0].query", "missing", "{app="}},
		{"Loki's numbers", 0, appLogLine, `- {name: l, kind: loki, url: "http://loki:3100", query: 'rate({app="a"}[1m])'}`, []string{"app_logs[0].query", "rate(", "begins with its labels"}},
		{"Loki's URL", 0, appLogLine, `- {name: l, kind: loki, url: "loki:3100", query: '{app="a"}'}`, []string{"app_logs[0].url", `"loki:3100"`, "http://host"}},
		{"Loki's whole URL", 0, appLogLine, `- {name: l, kind: loki, url: "http://loki:3100/loki/api/v1/query_range", query: '{app="a"}'}`, []string{"app_logs[0].url", "before /loki/api"}},
		{"Loki's limit", 0, appLogLine, `- {name: l, kind: loki, url: "http://loki:3100", query: '{app="a"}', limit: -5}`, []string{"app_logs[0].limit", "-5", "1 or more"}},
		{"Loki's lateness", 0, appLogLine, `- {name: l, kind: loki, url: "http://loki:3100", query: '{app="a"}', late: 1ms}`, []string{"app_logs[0].late", `"1ms"`, "1s or more"}},
		{"Loki's target and label", 0, appLogLine, `- {name: l, kind: loki, url: "http://loki:3100", query: '{app="a"}', target: api-1, target_label: host}`, []string{"app_logs[0].target_label", `"host"`, "one of the two"}},
		{"Loki's target", 0, appLogLine, `- {name: l, kind: loki, url: "http://loki:3100", query: '{app="a"}', target: api-9}`, []string{"app_logs[0].target", `"api-9"`, "target_label"}},
		{"Loki's zone", 0, appLogLine, `- {name: l, kind: loki, url: "http://loki:3100", query: '{app="a"}', zone: Asia/Seoul}`, []string{"app_logs[0].zone", `"Asia/Seoul"`, "file"}},
		{"Loki's user alone", 0, appLogLine, `- {name: l, kind: loki, url: "http://loki:3100", query: '{app="a"}', user: me}`, []string{"app_logs[0].password_file", "missing", `"me"`}},
		{"Loki's token", 0, appLogLine, `- {name: l, kind: loki, url: "http://loki:3100", query: '{app="a"}', token_file: none}`, []string{"app_logs[0].token_file", `"none"`, "cannot be read"}},
		{"publishing without a URL", 0, "db: gapless.db", "publish: {loki: {tenant: a}}", []string{"publish.loki.url", `""`, "http://host"}},
		{"publishing with a password in the URL", 0, "db: gapless.db", `publish: {loki: {url: "http://me:hush@loki"}}`, []string{"publish.loki.url", "password_file"}},
		{"publishing under a label of its own", 0, "db: gapless.db", `publish: {loki: {url: "http://loki", labels: {kind: x}}}`, []string{"publish.loki.labels.kind", `"kind"`, "service, kind, late"}},
		{"publishing under no label", 0, "db: gapless.db", `publish: {loki: {url: "http://loki", labels: {1x: x}}}`, []string{"publish.loki.labels", `"1x"`, "letters"}},
		{"publishing under an empty label", 0, "db: gapless.db", `publish: {loki: {url: "http://loki", labels: {env: ""}}}`, []string{"publish.loki.labels.env", "empty"}},
		{"publishing elsewhere", 0, "db: gapless.db", `publish: {slack: {}}`, []string{"publish.slack", "unknown key", "allowed: loki"}},
		{"a key of Loki's", 0, "target: api-1, zone", "target: api-1, query: '{app=\"a\"}', zone", []string{"app_logs[0].query", "loki"}},
		{"the limit of Loki's", 0, "target: api-1, zone", "target: api-1, limit: 7, zone", []string{"app_logs[0].limit", "7", "loki"}},
		{"unknown kind", 0, "{name: folder, kind: alb", "{name: folder, kind: apache", []string{`"apache"`, "not one of the values allowed: alb"}},
		{"journey of one step", 0, "    steps: [", "    journeys: [{name: order, steps: [create], records: [{name: browser, kind: file, path: j.ndjson}]}]\n    steps: [", []string{"services[0].journeys[0].steps", "1 steps", "two or more"}},
		{"journey that nothing tells", 0, "    steps: [", "    journeys: [{name: order, steps: [create, ack]}]\n    steps: [", []string{"services[0].journeys[0]", "nothing tells its steps", "app_logs"}},
		{"journey of an unknown log", 0, "    steps: [", "    journeys: [{name: order, steps: [create, ack], app_logs: [nobody]}]\n    steps: [", []string{"journeys[0].app_logs[0]", `"nobody"`, "api-1"}},
		{"journey with a step twice", 0, "    steps: [", "    journeys: [{name: order, steps: [create, create], app_logs: [api-1]}]\n    steps: [", []string{"journeys[0].steps[1]", `"create"`}},
		{"metrics of nobody", 0, "    steps: [", "    metrics: [{name: m, kind: prometheus, target: api-9, url: \"http://a/\", read: {in_flight: x}}]\n    steps: [", []string{"metrics[0].target", `"api-9"`, "api-1"}},
		{"metrics without values", 0, "    steps: [", "    metrics: [{name: m, kind: prometheus, target: api-1, url: \"http://a/\"}]\n    steps: [", []string{"metrics[0].read", "missing"}},
		{"unknown role", 0, "    steps: [", "    metrics: [{name: m, kind: prometheus, target: api-1, url: \"http://a/\", read: {threads: x}}]\n    steps: [", []string{"metrics[0].read.threads", `"threads"`, "busy_threads"}},
		{"selector", 0, "    steps: [", "    metrics: [{name: m, kind: prometheus, target: api-1, url: \"http://a/\", read: {in_flight: 'x{a=b}'}}]\n    steps: [", []string{"metrics[0].read", "x{a=b}", "label="}},
		{"path of an endpoint", 0, "    steps: [", "    metrics: [{name: m, kind: actuator, target: api-1, path: x, url: \"http://a/\", read: {in_flight: x}}]\n    steps: [", []string{"metrics[0].path", "actuator", "file"}},
		{"job without a period", 0, "    steps: [", "    jobs: [{name: invoice}]\n    steps: [", []string{"jobs[0].every", "missing"}},
		{"route of nobody", 0, "    steps: [", "    dependencies: [{name: pg, routes: [order, pay]}]\n    steps: [", []string{"dependencies[0].routes[1]", `"pay"`, "order", "store"}},
		{"limit below nothing", 0, "    steps: [", "    dependencies: [{name: pg, per_second: -1}]\n    steps: [", []string{"dependencies[0].per_second", "-1"}},
		{"s3 without a bucket", 0, "s3://bucket/prefix", "s3:///prefix", []string{"access_logs[0].url", `"s3:///prefix"`, "s3://bucket/prefix"}},
		{"log on the web", 0, "s3://bucket/prefix", "https://bucket/prefix", []string{`"https://bucket/prefix"`, "s3://bucket/prefix"}},
		{"endpoint", 0, `every: 5s, endpoint: ""`, `every: 5s, endpoint: "localhost:4566"`, []string{"endpoint", `"localhost:4566"`, "http://host"}},
		{"missing ARN", 0, `target_group: "arn:aws:x", `, "", []string{"states[0].target_group", "missing", "ARN"}},
		{"key of another kind", 0, "{name: states, kind: file, path: states.ndjson}", "{name: states, kind: file, path: states.ndjson, region: eu}", []string{"states[1].region", `"eu"`, "elbv2"}},
		{"threshold", 0, "unhealthy: 2", "unhealthy: 0", []string{"health_check.unhealthy", "0", "1 or more"}},
		{"name twice", 0, "{name: states, kind: file", "{name: elbv2, kind: file", []string{"states[1].name", `"elbv2"`, "twice"}},
		{"name of a source of another sort", 0, "steps: [{name: steps", "steps: [{name: alb", []string{"steps[0].name", `"alb"`, "twice"}},
		{"two logs count", 1, `{name: folder, kind: alb, url: "file://logs/alb"}`, "{name: folder, kind: alb, url: \"file://logs/alb\", counts: true}\n          - {name: third, kind: alb, url: \"file://x\", counts: true}", []string{"counts", "folder"}},
		{"target of an application log", 0, "target: api-1, zone", "target: api-9, zone", []string{"app_logs[0].target", `"api-9"`, "api-1"}},
		{"pattern", 0, `rid=(?P<id>\S+) received`, `rid=(?P<id>\S+ received`, []string{"received_match", "RE2"}},
		{"pattern without an id", 0, `rid=(?P<id>\S+) received`, `rid=(\S+) received`, []string{"received_match", "(?P<id>"}},
		{"log rule", 0, "log_rules: [spring-boot, systemd]", "log_rules: [spring-boot, jetty]", []string{"log_rules[1]", `"jetty"`, "spring-boot, systemd"}},
		{"log rule twice", 0, "log_rules: [spring-boot, systemd]", "log_rules: [spring-boot, spring-boot]", []string{"log_rules[1]", `"spring-boot"`, "twice"}},
		{"own rule without an event", 0, "log_rules: [spring-boot, systemd]", "log_rules: [{name: a, match: b}]", []string{"log_rules[0].event", "missing", "work.began"}},
		{"own rule's event", 0, "log_rules: [spring-boot, systemd]", "log_rules: [{name: a, match: b, event: began}]", []string{"log_rules[0].event", `"began"`, "work.began"}},
		{"own rule's step", 0, "log_rules: [spring-boot, systemd]", "log_rules: [{name: a, match: b, step: ready}]", []string{"log_rules[0].step", `"ready"`, "app.ready"}},
		{"own rule's pattern", 0, "log_rules: [spring-boot, systemd]", "log_rules: [spring-boot, {name: a, match: 'b(', step: app.ready}]", []string{"log_rules[1].match", `"b("`, "missing closing", "RE2"}},
		{"a step as an event", 0, "log_rules: [spring-boot, systemd]", "log_rules: [{name: a, match: b, event: app.ready}]", []string{"log_rules[0].event", `"app.ready"`, "write step: app.ready"}},
		{"an event as a step", 0, "log_rules: [spring-boot, systemd]", "log_rules: [{name: a, match: b, step: stop.requested}]", []string{"log_rules[0].step", `"stop.requested"`, "write event: stop.requested"}},
		{"own rule without a group", 0, "log_rules: [spring-boot, systemd]", "log_rules: [{name: a, match: b, event: work.began}]", []string{"log_rules[0].match", `"b"`, "(?P<key>"}},
		{"own rule that matches everything", 0, "log_rules: [spring-boot, systemd]", "log_rules: [{name: a, match: '.*', step: app.ready}]", []string{"log_rules[0].match", `".*"`, "every line"}},
		{"own rule's target", 0, "log_rules: [spring-boot, systemd]", "log_rules: [{name: a, match: b, step: app.ready, target: api-9}]", []string{"log_rules[0].target", `"api-9"`, "api-1"}},
		{"own rule's unknown key", 0, "log_rules: [spring-boot, systemd]", "log_rules: [{name: a, match: b, stage: app.ready}]", []string{"log_rules[0]", `"stage"`, "allowed: name, match, event, step"}},
		{"time format", 0, "target: api-1, zone", "target: api-1, time_format: '%Y-%q', zone", []string{"app_logs[0].time_format", `"%q"`, "%Y %m"}},
		{"objects without the set", 0, "target: api-1, zone", "target: api-1, objects: true, zone", []string{"app_logs[0].objects", "json"}},
		{"time match alone", 0, "target: api-1, zone", "target: api-1, time_match: 'x', zone", []string{"app_logs[0].time_match", "time_format"}},
		{"target and pattern", 0, "target: api-1, zone", "target: api-1, target_match: '(?P<target>x)', zone", []string{"app_logs[0]", "target_match", "one of them"}},
		{"journal without a unit", 0, "kind: file, url: \"file:///logs/api-1.log\"", "kind: journal, url: \"-\"", []string{"app_logs[0].unit", "missing", "orders.service"}},
		{"unit of a journal", 0, "kind: file, url: \"file:///logs/api-1.log\"", "kind: journal, unit: 'a[', url: \"-\"", []string{"app_logs[0].unit", `"a["`, "pattern"}},
		{"label of a file", 0, "target: api-1, zone", "target_label: host, zone", []string{"app_logs[0].target_label", `"host"`, "journal"}},
		{"unit of a container", 0, "kind: file, url: \"file:///logs/api-1.log\"", "kind: container, unit: a, url: \"file://x\"", []string{"app_logs[0].unit", `"a"`, "file, journal"}},
		{"nobody's log", 0, "target: api-1, zone", "zone", []string{"app_logs[0].target", "missing", "target_match"}},
		{"target pattern", 0, "target: api-1, zone", "target_match: '(x)', zone", []string{"app_logs[0].target_match", "(?P<target>"}},
		{"traffic path", 0, "{path: /actuator/health}", "{path: /actuator/health?x=1}", []string{"traffic.health[2].path"}},
		{"traffic client", -1, "client: 10.0.0.0/8", "client: ten", []string{"traffic", `"ten"`, "CIDR"}},
		{"empty traffic rule", -1, "[{client: 10.0.0.0/8}]", "[{}]", []string{"traffic", "every request"}},
		{"route", 0, `match: "^/v1/orders"`, `match: "^/v1/(orders"`, []string{"routes[0].match", "RE2"}},
		{"probe's URL", 0, "https://api.example.com/v1/stores/17", "api.example.com", []string{"probes[0].url", `"api.example.com"`, "https://host"}},
		{"probe's class", 0, "{name: store, class: probe,", "{name: store, class: user,", []string{"probes[0].class", `"user"`, "probe, health"}},
		{"probe's connection", 0, "connection: new", "connection: reuse", []string{"connection", `"reuse"`, "new, keep"}},
		{"probe's expression", -1, "status == 202", "status ==", []string{"probes[0]"}},
		{"headers_file", 0, `headers: {}`, `headers_file: missing.txt`, []string{"headers_file", `"missing.txt"`}},
		{"address", 0, `address: "10.0.1.11:8080"`, `address: "10.0.1.11"`, []string{"targets[0].address", `"10.0.1.11"`, "ip:port"}},
		{"text for a number", 0, "unhealthy: 2", "unhealthy: two", []string{"services[0].load_balancers[0].target_groups[0].health_check.unhealthy", `"two"`, "whole number"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if !strings.Contains(example, test.old) {
				t.Fatalf("the example has no %q", test.old)
			}
			body := strings.Replace(example, test.old, test.new, 1)
			_, err := parseConfig("gapless.yml", []byte(body), noEnvironment)
			if err == nil {
				t.Fatal("no error")
			}
			if test.below >= 0 {
				before, _, _ := strings.Cut(example, test.old)
				test.want = append(test.want, fmt.Sprintf("gapless.yml:%d: ", strings.Count(before, "\n")+1+test.below))
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not say %q:\n%v", want, err)
				}
			}
		})
	}
}

func TestConfigurationListsEveryMistake(t *testing.T) {
	body := strings.NewReplacer("tail: 10m", "tail: 10", "kind: alb", "kind: counts").Replace(example)
	_, err := parseConfig("gapless.yml", []byte(body), noEnvironment)
	if err == nil || strings.Count(err.Error(), "gapless.yml:") < 3 {
		t.Errorf("want three mistakes, each with its line: %v", err)
	}
}

func TestConfigurationOfProxies(t *testing.T) {
	cfg, err := parseConfig("/etc/gapless.yml", []byte(`
services:
  - name: a
    load_balancers:
      - name: public
        access_logs:
          - {name: edge, kind: nginx, url: "file://logs/access.log*", format: '$msec $status "$request"', zone: Asia/Seoul}
          - {name: json, kind: nginx-json, url: "file:///logs/access.json", every: 1s}
          - {name: inner, kind: haproxy, url: "file:///logs/haproxy.log*", zone: Asia/Seoul}
`), noEnvironment)
	if err != nil {
		t.Fatal(err)
	}
	logs := cfg.services[0].accessLogs
	if edge := logs[0]; edge.URL != "file:///etc/logs/access.log*" || edge.Format != `$msec $status "$request"` || edge.Zone.String() != "Asia/Seoul" || edge.Every != 5*time.Second {
		t.Errorf("%+v", edge)
	}
	if json := logs[1]; json.Kind != "nginx-json" || json.Every != time.Second || json.Zone != nil {
		t.Errorf("%+v", json)
	}
	if inner := logs[2]; inner.Kind != "haproxy" || inner.Zone.String() != "Asia/Seoul" {
		t.Errorf("%+v", inner)
	}
}

func TestConfigurationDefaults(t *testing.T) {
	cfg, err := parseConfig("/etc/gapless.yml", []byte("services: [{name: a}]"), noEnvironment)
	if err != nil {
		t.Fatal(err)
	}
	s := cfg.services[0]
	if s.Window.Baseline != 5*time.Minute || s.Window.Tail != 10*time.Minute || s.Window.Settle != 15*time.Minute || s.Window.Max != 2*time.Hour {
		t.Errorf("window: %+v", s.Window)
	}
	if s.Traffic.Probe[0].UserAgentPrefix != "gapless-probe/" || len(s.Traffic.Health) != 2 || len(s.Traffic.Tool) != 0 {
		t.Errorf("traffic: %+v", s.Traffic)
	}
	if cfg.listen != defaultListen || cfg.db != "/etc/gapless.db" || cfg.zone != time.UTC || cfg.retention != defaultRetention {
		t.Errorf("top level: %+v", cfg)
	}
}

func TestEmptyConfiguration(t *testing.T) {
	for _, body := range []string{"", "\n", "# nothing yet\n", "---\n"} {
		cfg, err := parseConfig("/etc/gapless.yml", []byte(body), noEnvironment)
		if err == nil || !strings.Contains(err.Error(), "/etc/gapless.yml: the file configures nothing") {
			t.Errorf("%q: %+v, %v", body, cfg, err)
		}
	}
}

func TestTabsAreNamed(t *testing.T) {
	for _, body := range []string{"services:\n  - name: a\n\twindow: {}\n", "services:\n\t- name: a\n"} {
		_, err := parseConfig("gapless.yml", []byte(body), noEnvironment)
		if err == nil || !strings.Contains(err.Error(), ": the line is indented with a tab") {
			t.Errorf("%q: %v", body, err)
		}
	}
}

func TestSecrets(t *testing.T) {
	dir := t.TempDir()
	write := func(name, body string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("token", "from-a-file\n")
	write("empty", "\n")
	write("headers", "authorization: Bearer abc\nX-Other: 1\n")
	path := filepath.Join(dir, "gapless.yml")
	env := func(name string) string {
		return map[string]string{"GAPLESS_TOKEN": "env-token", "GAPLESS_PASSWORD": "env-password"}[name]
	}

	cfg, err := parseConfig(path, []byte("token_file: token"), env)
	if err != nil || cfg.token != "from-a-file" || cfg.password != "env-password" {
		t.Errorf("%+v, %v", cfg, err)
	}
	if _, err := parseConfig(path, []byte("listen: 127.0.0.1:1\npassword_file: empty"), env); err == nil || !strings.Contains(err.Error(), ":2: password_file") {
		t.Errorf("an empty secret: %v", err)
	}
	cfg, err = parseConfig(path, []byte("services: [{name: a, probes: [{name: p, url: 'http://h/', headers: {X-Other: '0'}, headers_file: headers}]}]"), env)
	if err != nil {
		t.Fatal(err)
	}
	if headers := cfg.services[0].probes[0].Headers; headers["Authorization"] != "Bearer abc" || headers["X-Other"] != "1" {
		t.Errorf("headers: %v", headers)
	}
}

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"30s": 30 * time.Second, "90d": 90 * 24 * time.Hour, "1d12h": 36 * time.Hour, "0.5d": 12 * time.Hour,
		"1h30m": 90 * time.Minute, "300ms": 300 * time.Millisecond, "0s": 0, "0": 0,
	} {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "30", "d", "-1d", "-5s", "NaNd", "1e9d", "5 m", "1d2d", "five"} {
		if got, err := parseDuration(text); err == nil {
			t.Errorf("%q: %v, want an error", text, got)
		}
	}
}

func noEnvironment(string) string { return "" }
