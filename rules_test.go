package main

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const rulesConfig = `
services:
  - name: orders-api
    targets: [{name: api-1, address: "10.0.1.11:8080"}]
    app_logs:
      - {name: api-1, kind: file, url: "file://api-1.log", target: api-1, zone: Asia/Seoul}
      - {name: journal, kind: journal, url: "-", target: api-1, unit: orders.service}
    request_id: {header: X-Request-Id, log_match: 'rid=(?P<id>\S+) status=(?P<status>\d+)'}
    log_rules: [spring-boot, systemd, {name: work-began, match: '^order=(?P<key>\S+) work begun', event: work.began}]
`

func TestRulesTest(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "gapless.yml")
	log := filepath.Join(dir, "api-1.log")
	for path, text := range map[string]string{
		config: rulesConfig,
		log: "banner\n" +
			"2026-10-14 15:25:01.000  INFO 1 --- [main] c.e.App : order=17 work begun\n" +
			"2026-10-14 15:25:02.000  INFO 1 --- [main] c.e.App : Started App in 2.3 seconds (process running for 2.9)\n" +
			"2026-10-14 15:25:03.000  INFO 1 --- [main] c.e.App : rid=r1-000042 status=200\n" +
			"2026-10-14 15:25:04.000  INFO 1 --- [main] c.e.App : said \x1b[31morder=18 work begun\n" +
			"\tat com.example.App\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	status, stdout, stderr := runProgram(t, nil, "rules", "test", "-c", config, log)
	if status != 0 || stderr != "" {
		t.Fatalf("status %d, %s", status, stderr)
	}
	for _, want := range []string{
		`api-1.log:1	no time	- "banner"`,
		`api-1.log:2	2026-10-14T06:25:01.000Z	work-began → event work.began key="17" of api-1`,
		`api-1.log:3	2026-10-14T06:25:02.000Z	spring-boot/started → step app.ready of api-1`,
		`api-1.log:4	2026-10-14T06:25:03.000Z	request-id, request-id/probe → request r1-000042 answered 200 of api-1`,
		`api-1.log:5	2026-10-14T06:25:04.000Z	- "said \x1b[31morder=18 work begun"`,
		`api-1.log:6	as before	goes on - "\tat com.example.App"`,
		"6 lines, 1 without a time of their own (they have that of the line before), 1 at no known time",
	} {
		if !strings.Contains(stdout, want+"\n") {
			t.Errorf("no line %s in\n%s", want, stdout)
		}
	}
	for _, want := range [][]string{{"work-began", "6", "1"}, {"systemd/killed", "6", "0", "never"}, {"request-id/probe", "1", "1"}} {
		if !hasRow(stdout, want) {
			t.Errorf("no row %q in\n%s", want, stdout)
		}
	}
	if _, stdout, _ = runProgram(t, nil, "rules", "test", "-c", config, "--show", "none", log); strings.Contains(stdout, "api-1.log:") {
		t.Errorf("lines are printed:\n%s", stdout)
	}

	status, stdout, stderr = runProgram(t, nil, "rules", "test", "-c", config, "--format", "json", "--show", "matched", log)
	if status != 0 || stderr != "" {
		t.Fatalf("status %d, %s", status, stderr)
	}
	var lines []map[string]any
	for s := bufio.NewScanner(strings.NewReader(stdout)); s.Scan(); {
		var line map[string]any
		if err := json.Unmarshal(s.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	if len(lines) != 4 || lines[0]["at"] != "2026-10-14T06:25:01Z" || lines[3]["lines"] != 6.0 || lines[3]["without_time"] != 1.0 || lines[3]["with_time_before"] != 1.0 {
		t.Errorf("got %v", lines)
	}

	status, stdout, stderr = runProgram(t, nil, "rules", "test", "-c", config, "--log", "journal", "collectors/applog/testdata/killed.export")
	if status != 0 || stderr != "" || !hasRow(stdout, []string{"systemd/killed", "31", "1"}) {
		t.Errorf("status %d, %s, %s", status, stderr, stdout)
	}
}

func TestRulesTestComplains(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "gapless.yml")
	broken := filepath.Join(dir, "broken.yml")
	other := filepath.Join(dir, "other.log")
	for path, text := range map[string]string{config: rulesConfig, broken: strings.Replace(rulesConfig, "(?P<key>", "(", 1), other: "x\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		status int
		want   string
		args   []string
	}{
		{0, "none of the application logs is of this file", []string{"-c", config, other}},
		{0, "neither of the journal's formats", []string{"-c", config, "--log", "journal", other}},
		{3, "expected", []string{"-c", config}},
		{3, "no such file", []string{"-c", config, filepath.Join(dir, "missing")}},
		{3, "--show", []string{"-c", config, "--show", "some", other}},
		{3, `no application log "nginx" in service orders-api; it has api-1, journal`, []string{"-c", config, "--log", "nginx", other}},
		{3, `no service "x"`, []string{"-c", config, "--service", "x", other}},
		{3, "log_rules[2].match", []string{"-c", broken, other}},
	} {
		status, _, stderr := runProgram(t, nil, append([]string{"rules", "test"}, test.args...)...)
		if status != test.status || !strings.Contains(stderr, test.want) {
			t.Errorf("%q: status %d, %s; want %d, %s", test.args, status, stderr, test.status, test.want)
		}
	}
}

// A line that is too long is named, and the ones after it are tried.
func TestRulesTestGoesOnAfterALongLine(t *testing.T) {
	dir := t.TempDir()
	config, log := filepath.Join(dir, "gapless.yml"), filepath.Join(dir, "app.log")
	const line = "2026-10-14T06:25:01.000Z  INFO 1 --- [orders] [main] com.example.App : order=17 work begun\n"
	for path, text := range map[string]string{config: rulesConfig, log: line + strings.Repeat("x", 3<<20) + "\n" + line + strings.Repeat("y", 2<<20) + "\n" + line} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	status, stdout, stderr := runProgram(t, nil, "rules", "test", "-c", config, "--log", "api-1", "--show", "matched", log)
	if status != 0 || !strings.Contains(stderr, "line 2: 1 line is longer than") || !strings.Contains(stderr, "line 4: 1 line is longer than") {
		t.Errorf("status %d, %s", status, stderr)
	}
	for _, number := range []string{":1\t", ":3\t", ":5\t"} {
		if !strings.Contains(stdout, number) {
			t.Errorf("%q is missing in %s", number, stdout)
		}
	}
}

// hasRow says whether a line of a table consists of these cells.
func hasRow(table string, cells []string) bool {
	for line := range strings.Lines(table) {
		if strings.Join(strings.Fields(line), "|") == strings.Join(cells, "|") {
			return true
		}
	}
	return false
}
