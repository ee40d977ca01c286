package lab

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestALBLine(t *testing.T) {
	id := newIdentity()
	id.loadBalancer = "app/gapless-lab/50dc6c495c0c9188"
	id.targetGroupARN = "arn:aws:elasticloadbalancing:ap-northeast-2:123456789012:targetgroup/api/73e2d6bc24d8a067"
	start := time.Date(2026, 10, 14, 6, 36, 1, 123456000, time.UTC)
	served := exchange{
		start: start, end: start.Add(30500 * time.Microsecond), client: "127.0.0.1:50001", target: "127.0.0.1:40001",
		requestTime: 0.0004, targetTime: 0.0296, responseTime: 0, status: 200, targetStatus: 200, received: 210, sent: 2100,
		method: "GET", url: `http://127.0.0.1:8080/v1/stores/17?q="a\b"`, protocol: "HTTP/1.1",
		userAgent: "gapless-probe/0.1 r1-000042", trace: "Root=1-6700c0de-0123456789abcdef01234567", connTrace: "TID_00ff",
	}
	refused := served
	refused.requestTime, refused.targetTime, refused.responseTime = -1, -1, -1
	refused.status, refused.targetStatus, refused.userAgent = 502, 0, "caf\xc3\xa9\t\""
	none := refused
	none.status, none.target, none.userAgent = 503, "", ""

	const arn = "arn:aws:elasticloadbalancing:ap-northeast-2:123456789012:targetgroup/api/73e2d6bc24d8a067"
	const url = `"GET http://127.0.0.1:8080/v1/stores/17?q=\x22a\x5Cb\x22 HTTP/1.1"`
	const head = `http 2026-10-14T06:36:01.153956Z app/gapless-lab/50dc6c495c0c9188 127.0.0.1:50001 `
	const middle = ` - - ` + arn + ` "Root=1-6700c0de-0123456789abcdef01234567" "-" "-" 0 2026-10-14T06:36:01.123456Z "forward" "-" "-" `
	const tail = ` "-" "-" TID_00ff "-" "-" "-" 127.0.0.1`
	for _, test := range []struct {
		name string
		x    exchange
		want string
	}{
		{"served", served, head + `127.0.0.1:40001 0.000 0.030 0.000 200 200 210 2100 ` + url + ` "gapless-probe/0.1 r1-000042"` + middle + `"127.0.0.1:40001" "200"` + tail},
		{"refused", refused, head + `127.0.0.1:40001 -1 -1 -1 502 - 210 2100 ` + url + ` "caf\xC3\xA9\x09\x22"` + middle + `"127.0.0.1:40001" "-"` + tail},
		{"no target", none, head + `- -1 -1 -1 503 - 210 2100 ` + url + ` "-"` + middle + `"-" "-"` + tail},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := string(appendALBLine(nil, id, &test.x))
			if got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
			if n := len(albFields(got)); n != 34 {
				t.Errorf("%d fields, want 34", n)
			}
		})
	}
}

func TestUserAgentIsCutAt8KB(t *testing.T) {
	x := exchange{client: "127.0.0.1:1", userAgent: strings.Repeat("u", 9000)}
	fields := albFields(string(appendALBLine(nil, newIdentity(), &x)))
	if n := len(fields[13]); n != 8192+2 {
		t.Errorf("user agent of %d characters with its quotes, want 8194", n)
	}
}

func TestALBKeyNamesThePeriodsEnd(t *testing.T) {
	id := newIdentity()
	id.loadBalancer = "app/gapless-lab/50dc6c495c0c9188"
	for _, test := range []struct{ latest, folder, end string }{
		{"2026-10-14T06:36:01.000001Z", "2026/10/14", "20261014T0637Z"},
		{"2026-10-14T06:37:00Z", "2026/10/14", "20261014T0637Z"},
		{"2026-10-14T23:59:59.5Z", "2026/10/15", "20261015T0000Z"},
		{"2026-10-15T08:59:59.5+09:00", "2026/10/15", "20261015T0000Z"},
	} {
		latest, err := time.Parse(time.RFC3339Nano, test.latest)
		if err != nil {
			t.Fatal(err)
		}
		want := "AWSLogs/123456789012/elasticloadbalancing/ap-northeast-2/" + test.folder +
			"/123456789012_elasticloadbalancing_ap-northeast-2_app.gapless-lab.50dc6c495c0c9188_" + test.end + "_127.0.0.1_0a1b2c3d.log.gz"
		got := albKey(id, "", latest, "0a1b2c3d")
		if got != want || !objectKey.MatchString(got) {
			t.Errorf("%s: key %s, want %s, matching the layout", test.latest, got, want)
		}
	}
}

func TestLogObjectsAppearWholeAndOnce(t *testing.T) {
	dir := t.TempDir()
	f := &logFiles{id: newIdentity(), dir: filepath.Join(dir, "logs"), temp: filepath.Join(dir, "unfinished"), log: slog.New(slog.DiscardHandler)}
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := f.flush(); err != nil {
		t.Fatal(err)
	}
	f.add(exchange{end: time.Now(), url: "http://one/"})
	if err := f.flush(); err == nil {
		t.Fatal("no error though there is no folder to write to")
	}
	if lines := logLines(t, f.dir, ""); len(lines) != 0 {
		t.Fatalf("an object was listed before it was whole: %q", lines)
	}
	if err := os.MkdirAll(f.temp, 0o755); err != nil {
		t.Fatal(err)
	}
	f.add(exchange{end: time.Now(), url: "http://two/"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f.run(ctx) // its end writes what is waiting
	lines := logLines(t, f.dir, "")
	if len(lines) != 2 || !strings.Contains(lines[0], "http://one/") || !strings.Contains(lines[1], "http://two/") {
		t.Errorf("lines %q; want both, each once, in order", lines)
	}
	if left, err := os.ReadDir(f.temp); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// albFields splits a line at spaces outside of quotes.
func albFields(line string) []string {
	quoted := false
	return strings.FieldsFunc(line, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return r == ' ' && !quoted
	})
}
