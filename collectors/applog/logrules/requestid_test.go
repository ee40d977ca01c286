package logrules

import (
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	answered = `rid=(?P<id>\S+) status=(?P<status>\d+)`
	received = `rid=(?P<id>\S+) received`
)

func TestFind(t *testing.T) {
	for _, test := range []struct {
		pattern, line string
		want          found
		ok            bool
	}{
		{answered, "rid=r1-000042 status=200", found{run: "r1", seq: 42, ours: true, status: 200}, true},
		{answered, "rid=a rid=r1-000042 status=200", found{run: "r1", seq: 42, ours: true, status: 200}, true},
		{answered, "rid=r1-000042 received", found{}, false},
		{answered, "rid= status=200", found{}, false},
		{answered, "rid=order-abc status=200", found{}, true},
		{answered, "rid=- status=200", found{}, true},
		{`(?P<target>\S+) \[(?P<id>[^\]]+)\]`, "api-2 [r1-000042]", found{run: "r1", seq: 42, ours: true, target: "api-2"}, true},
		{`(?i)RID=(?P<id>\S+)`, "rid=r1-000042", found{run: "r1", seq: 42, ours: true}, true},
		{`x=(?P<id>a)|y=(?P<other>b)`, "y=b", found{}, false},
		{`rid=(?P<id>\S+)$`, "rid=r1-000001 and rid=r1-000042", found{run: "r1", seq: 42, ours: true}, true},
	} {
		p, err := compileID(test.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := p.find([]byte(test.line)); got != test.want || ok != test.ok {
			t.Errorf("%s in %q: got %+v %v, want %+v %v", test.pattern, test.line, got, ok, test.want, test.ok)
		}
	}
}

// The shortcut must find what the plain pattern finds.
func FuzzFind(f *testing.F) {
	f.Add("rid=a rid=r1-000042 status=200")
	f.Add("rid=rid=r1-1 status=2 rid=x status=3\xff")
	f.Add("[\u3042-000001] api-2 [r1-000042] 200")
	var patterns []*idPattern
	for _, pattern := range []string{answered, received, `\[(?P<id>[^\]]+)\] (?P<status>[0-9]+)`, `d=(?P<id>[\w-]+)(?P<target> s)`} {
		p, err := compileID(pattern)
		if err != nil {
			f.Fatal(err)
		}
		if p.fast == nil {
			f.Fatalf("%s has no shortcut", pattern)
		}
		patterns = append(patterns, p)
	}
	f.Fuzz(func(t *testing.T, line string) {
		for _, p := range patterns {
			plain, fast := p.match.FindStringSubmatchIndex(line), p.submatches([]byte(line))
			if !slices.Equal(plain, fast) {
				t.Errorf("%s in %q: plain %v, shortcut %v", p.match, line, plain, fast)
			}
			p.find([]byte(line))
		}
	})
}

func TestNoShortcut(t *testing.T) {
	for _, pattern := range []string{
		`(?P<id>\S+) status`,    // begins with a run
		`rid=(?P<id>\S+)x`,      // the run could take the x
		`rid=(?P<id>\S+)\d+`,    // two runs
		`(?i)rid=(?P<id>\S+) x`, // letters in either case
		`rid=(?P<id>[^é]+)é`,    // a character of several bytes in a class
		`rid=(?P<id>\S+?) x`,    // not greedy
		`rid=(?P<id>\S*) x`,     // may be empty
		`^rid=(?P<id>\S+) x`,
		`rid=(?P<id>\S+) x|y`,
		`\brid=(?P<id>\S+) x`,
	} {
		p, err := compileID(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if p.fast != nil {
			t.Errorf("%s has a shortcut", pattern)
		}
	}
}

func TestLineTime(t *testing.T) {
	seoul := time.FixedZone("KST", 9*3600)
	now := time.Date(2026, 10, 14, 7, 0, 0, 0, time.UTC)
	at := time.Date(2026, 10, 14, 6, 25, 1, 0, time.UTC)
	ms := at.Add(678 * time.Millisecond)
	for _, test := range []struct {
		line string
		want time.Time
		rest string
	}{
		{"2026-10-14T15:25:01.678+09:00  INFO", ms, "  INFO"},
		{"2026-10-14T06:25:01.678Z  INFO", ms, "  INFO"},
		{"2026-10-14 15:25:01.678  INFO", ms, "  INFO"},
		{"2026-10-14 15:25:01,678 [main]", ms, " [main]"},
		{"2026-10-14T15:25:01+0900 api-1", at, " api-1"},
		{"2026/10/14 15:25:01 [error]", at, " [error]"},
		{"14-Oct-2026 15:25:01.678 INFO", ms, " INFO"},
		{"2026-10-14T01:25:01.678000-05:00 api-1", ms, " api-1"},
		{"2026-10-14 06:25:01.678 +0000 x", ms, " x"},
		{"2026-10-14 15:25:01.678 -1 x", ms, " -1 x"},
		{"[2026-10-14T06:25:01.678Z] x", ms, " x"},
		{"2026-10-14 15:25:01", at, ""},
		{"2026-10-14T06:25:01.678000999Z", ms, ""},
		{"Oct 14 15:25:01 api-1 systemd[1]:", at, " api-1 systemd[1]:"},
		{"Dec 31 23:00:00 api-1", time.Date(2025, 12, 31, 14, 0, 0, 0, time.UTC), " api-1"},
		{"Feb 29 12:00:00 api-1", time.Date(2024, 2, 29, 3, 0, 0, 0, time.UTC), " api-1"},
	} {
		got, n, ok := lineTime([]byte(test.line), seoul, now)
		if !ok || !got.Equal(test.want) || test.line[n:] != test.rest {
			t.Errorf("%s: got %v, rest %q, %v; want %v, rest %q", test.line, got, test.line[n:], ok, test.want, test.rest)
		}
	}
	for _, line := range []string{"", "\tat com.example.App", "2026-13-14T06:25:01Z", "2026-10-14T24:25:01Z", "2026-10-14", "2026/10-14 06:25:01", "14-Okt-2026 06:25:01.000", "Okt 14 15:25:01 x", "9999-12-31T23:59:59-18:00"} {
		if got, _, ok := lineTime([]byte(line), seoul, now); ok {
			t.Errorf("%q: got %v", line, got)
		}
	}
}

func FuzzLineTime(f *testing.F) {
	f.Add("2026-10-14T15:25:01.678+09:00  INFO")
	f.Add("Oct 14 15:25:01 api-1")
	f.Fuzz(func(t *testing.T, line string) {
		at, n, ok := lineTime([]byte(line), time.UTC, time.Date(2026, 10, 14, 7, 0, 0, 0, time.UTC))
		if n < 0 || n > len(line) {
			t.Fatalf("%d of %d bytes", n, len(line))
		}
		if ok {
			if _, err := at.MarshalJSON(); err != nil {
				t.Fatal(err)
			}
			text, _ := message([]byte(line), n)
			if !strings.HasSuffix(line, string(text)) {
				t.Fatalf("message %q is not the end of the line", text)
			}
		}
	})
}
