package logrules

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// What an application writes of systemd's words is not systemd's: its line counts in
// the short form of the journal and of syslog alone.
func TestWhoIsSystemd(t *testing.T) {
	in := interpreter(t, Config{Sets: []string{SetSystemd}})
	const text = "orders.service: Scheduled restart job, restart counter is at 1."
	want := []string{"systemd/restart-scheduled restart.scheduled orders.service restarts=1"}
	for line, ok := range map[string]bool{
		"Oct 14 06:25:01 api-1 systemd[1]: ":                          true,
		"2026-10-14T06:25:01+0000 api-1 systemd[1]: ":                 true,
		"2026-10-14T06:25:01.000000+00:00 api-1.local systemd[812]: ": true,
		"2026-10-14T06:25:01Z 10.0.0.7 systemd[1]: ":                  true,
		"2026-10-14T06:25:01-05:00 fe80::1 systemd[1]: ":              true,
		"2026-10-14 06:25:01,000 INFO systemd[1]: ":                   false,
		"2026-10-14 06:25:01,000 main systemd[1]: ":                   false,
		"2026-10-14 06:25:01 api-1 systemd[1]: ":                      false,
		"2026-10-14T06:25:01Z GET systemd[1]: ":                       false,
		"2026-10-14T06:25:01Z get systemd[1]: ":                       false,
		"2026-10-14T06:25:01Z WARN systemd[1]: ":                      false,
		"2026-10-14T06:25:01Z INFO: systemd[1]: ":                     false,
		"2026-10-14T06:25:01Z [main] systemd[1]: ":                    false,
		"2026-10-14T06:25:01Z level=info systemd[1]: ":                false,
		"2026-10-14T06:25:01Z /orders?q= systemd[1]: ":                false,
		"2026-10-14T06:25:01,000+00:00 api-1 systemd[1]: ":            false,
		"2026-10-14T06:25:01 api-1 systemd[1]: ":                      false,
		"[2026-10-14T06:25:01Z] api-1 systemd[1]: ":                   false,
		"Oct 14 06:25:01 INFO systemd[1]: ":                           false,
		"Oct 14 06:25:01 api-1 x systemd[1]: ":                        false,
		"Oct 14 06:25:01 api-1 systemd: ":                             false,
		"Oct 14 06:25:01 api-1 systemd[x]: ":                          false,
		"Oct 14 06:25:01 api-1 orders[1]: systemd[1]: ":               false,
		"2026-10-14T06:25:01Z ":                                       false,
	} {
		got := told(t, in, line+text)
		if ok && !slices.Equal(got, want) || !ok && len(got) > 0 {
			t.Errorf("%s…: %q", line, got)
		}
	}
}

// Moments that no calendar has are no times.
func TestImpossibleTimes(t *testing.T) {
	now := time.Date(2026, 10, 14, 7, 0, 0, 0, time.UTC)
	format, err := NewTimeFormat("%Y-%m-%dT%H:%M:%SZ", "")
	if err != nil {
		t.Fatal(err)
	}
	for stamp, possible := range map[string]bool{
		"2026-02-28T06:25:01Z": true, "2028-02-29T06:25:01Z": true, "2026-10-31T06:25:01Z": true, "2016-12-31T23:59:60Z": true, "9998-12-31T23:59:59Z": true,
		"2026-02-31T06:25:01Z": false, "2026-02-29T06:25:01Z": false, "2026-11-31T06:25:01Z": false, "2026-10-00T06:25:01Z": false,
		"2026-10-14T06:25:60Z": false, "9998-12-31T23:59:60Z": false, "2026-13-01T06:25:01Z": false,
	} {
		if at, _, ok := lineTime([]byte(stamp+" x"), time.UTC, now); ok != possible {
			t.Errorf("%s: %v, %v", stamp, at, ok)
		}
		if at, _, ok := format.read([]byte(stamp+" x"), time.UTC, now); ok != possible {
			t.Errorf("%s in a format of its own: %v, %v", stamp, at, ok)
		}
	}
	for _, stamp := range []string{"9998-12-31T23:59:59-01:00", "1970-01-01T00:00:00+01:00", "31-Feb-2026 06:25:01.000", "Feb 31 06:25:01 x", "Oct 14 06:25:60 x"} {
		if at, _, ok := lineTime([]byte(stamp+" x"), time.UTC, now); ok {
			t.Errorf("%s: %v", stamp, at)
		}
	}
}

// Two works whose keys agree in their first bytes are two.
func TestLongKeys(t *testing.T) {
	in := interpreter(t, Config{Own: []Own{
		{Name: "work-began", Match: `^order=(?P<key>.+) of=(?P<name>\S+) work begun$`, Event: "work.began"},
		{Name: "journey", Match: `^journey=(?P<journey>\S+) key=(?P<key>\S+) step=(?P<step>\S+)$`, Event: "journey.step"},
	}})
	long := strings.Repeat("k", 199)
	seen := map[string]bool{}
	for _, key := range []string{"k", long + "k", long + "ka", long + "kb", long + "kab", "\xff", "\xfe", ""} {
		b, s := NewBatch(), State{}
		in.Line(b, &s, Line{Text: []byte(spring("order=x" + key + " of=y" + key + " work begun"))})
		in.Line(b, &s, Line{Text: []byte(spring("journey=x" + key + " key=y" + key + " step=z" + key))})
		if len(b.Signals) != 1 || len(b.Journeys) != 1 {
			t.Fatalf("%d signals, %d journeys", len(b.Signals), len(b.Journeys))
		}
		for _, text := range []string{"k" + b.Signals[0].Key, "n" + b.Signals[0].Name, "j" + b.Journeys[0].Journey, "J" + b.Journeys[0].Key, "s" + b.Journeys[0].Step} {
			if seen[text] || len(text) > longest+1 {
				t.Errorf("%q is that of another one, or too long", text)
			}
			seen[text] = true
		}
	}
	if b, s := NewBatch(), (State{}); true {
		in.Line(b, &s, Line{Text: []byte(spring("order=" + long + "k of=n work begun"))})
		if b.Signals[0].Key != long+"k" {
			t.Errorf("a key of %d bytes became %q", longest, b.Signals[0].Key)
		}
	}
}

// A text of several lines may quote JSON, as a log of requests' bodies does. Where lines
// begin with a time, an object is none of its own; one that says when it happened is a
// doubt. Where the lines are objects, text between them changes nothing.
func TestObjectsAmongLines(t *testing.T) {
	const ready = "Started App in 2.3 seconds (process running for 2.9)"
	in := interpreter(t, Config{Sets: []string{SetSpringBoot, SetJSON}})
	line, object := spring("request body:"), `{"time":"2026-10-14T06:25:31Z","message":"`+ready+`"}`
	for name, test := range map[string]struct {
		lines           []string
		steps, doubtful int
		dated           [2]int // the same where the source says when each line happened
	}{
		"an object without a time": {[]string{line, `{"message":"` + ready + `"}`}, 0, 0, [2]int{0, 1}},
		"an object with a time":    {[]string{line, object}, 0, 1, [2]int{0, 1}},
		"one that tells nothing":   {[]string{line, `{"time":"2026-10-14T06:25:31Z","message":"x"}`}, 0, 0, [2]int{}},
		"a log of objects":         {[]string{object, object}, 2, 0, [2]int{2, 0}},
		"behind a banner":          {[]string{"  .   ____", object}, 1, 0, [2]int{1, 0}},
		"then lines with a time":   {[]string{object, line, object}, 2, 0, [2]int{2, 0}},
		"without times at all":     {[]string{`{"message":"x"}`, line, object}, 0, 1, [2]int{1, 0}},
		"then one without":         {[]string{object, line, `{"message":"` + ready + `"}`}, 1, 0, [2]int{2, 0}},
	} {
		b, s := NewBatch(), State{}
		for _, text := range test.lines {
			in.Line(b, &s, Line{Text: []byte(text)})
		}
		if len(b.Steps) != test.steps || b.Doubtful != test.doubtful {
			t.Errorf("%s: %d steps, %d in doubt", name, len(b.Steps), b.Doubtful)
		}
		in.Settle(b, &s)
		if last := "06:25:01"; strings.HasPrefix(name, "an object") && s.Last.Format("15:04:05") != last {
			t.Errorf("%s: what comes next happened at %v", name, s.Last)
		}
		b, s = NewBatch(), State{}
		for _, text := range test.lines { // as a container's log has them
			in.Line(b, &s, Line{Text: []byte(text), At: time.Date(2026, 10, 14, 6, 25, 1, 0, time.UTC)})
		}
		if [2]int{len(b.Steps), b.Doubtful} != test.dated {
			t.Errorf("%s, with times of the source: %d steps, %d in doubt", name, len(b.Steps), b.Doubtful)
		}
	}
}

// A body of several objects behind one dated line looks as the objects of a log that an
// agent began with a dated line: what is in doubt names the setting that decides.
func TestObjectsBehindAnAgentsLine(t *testing.T) {
	lines := []string{"2026-10-14 06:25:00.000 WARN agent attached"}
	for second := range 5 {
		lines = append(lines, fmt.Sprintf(`{"time":"2026-10-14T06:25:%02dZ","message":"Started App in 2.3 seconds (process running for 2.9)"}`, second))
	}
	quoted := `{"message":"Graceful shutdown complete"}`
	for _, at := range []time.Time{{}, time.Date(2026, 10, 14, 6, 25, 1, 0, time.UTC)} {
		for objects, want := range map[bool][3]int{false: {0, 0, 5}, true: {5, 1, 0}} {
			in := interpreter(t, Config{Sets: []string{SetSpringBoot, SetJSON}, Objects: objects})
			b, s := NewBatch(), State{Timed: true} // as an earlier version may have stored it
			for _, text := range append(lines, quoted) {
				in.Line(b, &s, Line{Text: []byte(text), At: at})
			}
			in.Line(b, &s, Line{Text: []byte(quoted), At: at, Continues: true}) // as the source says: one entry of several lines
			if !at.IsZero() && !objects {
				want[2]++ // the source dates the one that does not say when it was
			}
			if got := [3]int{len(b.Steps), len(b.Signals), b.Doubtful}; got != want {
				t.Errorf("objects %v, at %v: %v steps, signals and doubts, want %v", objects, at, got, want)
			}
			if strings.Contains(in.InDoubt(), "objects: true") == objects {
				t.Errorf("objects %v: %s", objects, in.InDoubt())
			}
		}
	}
}

// What a client sends stands in nginx's error log as it came, in quotes that it may hold
// as well. Where it may stand for the server's address, the line is in doubt.
func TestNginxErrorForged(t *testing.T) {
	const (
		head = `2026/10/14 06:25:01 [error] 7#7: *1 connect() failed (111: Connection refused) while connecting to upstream, client: 1.2.3.4, server: x`
		mine = `, upstream: "http://10.0.1.11:8080/a", host: "h"`
		evil = `, upstream: "http://10.0.1.12:8080/`
	)
	in := interpreter(t, Config{Sets: []string{SetNginxError}})
	for name, test := range map[string]struct {
		line     string
		doubtful bool
		named    string
	}{
		"plain":                            {`, request: "GET /a HTTP/1.1"` + mine, false, "10.0.1.11:8080"},
		"in the request":                   {`, request: "GET /a` + evil + ` HTTP/1.1"` + mine, false, "10.0.1.11:8080"},
		"in the request, behind a quote":   {`, request: "GET /a"` + evil + ` HTTP/1.1"` + mine, true, ""},
		"in the referrer":                  {`, request: "GET /a HTTP/1.1"` + mine + `, referrer: "x` + evil + `"`, false, "10.0.1.11:8080"},
		"in the referrer, behind a quote":  {`, request: "GET /a HTTP/1.1"` + mine + `, referrer: "x"` + evil + `"`, true, ""},
		"the same one again":               {`, request: "GET /a HTTP/1.1"` + mine + `, referrer: "x"` + mine + `"`, false, "10.0.1.11:8080"},
		"in the referrer alone":            {`, request: "GET /a HTTP/1.1", host: "h", referrer: "x"` + evil + `"`, true, ""},
		"behind what looks like a host":    {`, request: "GET /a", host: "h HTTP/1.1"` + mine, true, ""},
		"with a subrequest":                {`, request: "GET /a HTTP/1.1", subrequest: "/auth"` + mine, false, "10.0.1.11:8080"},
		"without a name":                   {`, request: "GET /a HTTP/1.1", host: "h"`, false, ""},
		"cut off behind the client's text": {`, request: "GET /a"` + evil + strings.Repeat("x", 2100), true, ""},
		"of the stream module":             {`, upstream: "10.0.1.11:8080", bytes from/to client:0/0, bytes from/to upstream:0/0`, false, "10.0.1.11:8080"},
		"a socket":                         {`, request: "GET /a HTTP/1.1", upstream: "http://unix:/run/a.sock:/a", host: "h"`, false, "unix:/run/a.sock"},
	} {
		b, s, line := NewBatch(), State{}, head+test.line
		in.Line(b, &s, Line{Text: []byte(line[:min(len(line), 2047)])})
		named := ""
		if len(b.Signals) > 0 {
			named = b.Signals[0].Name
		}
		if named != test.named || (b.Doubtful > 0) != test.doubtful {
			t.Errorf("%s: %q, %d in doubt", name, named, b.Doubtful)
		}
	}
}

// Of the hour that comes twice the second pass comes after the first, also in JSON and in
// a form of its own; lines a little out of order stay in theirs.
func TestHourThatComesTwice(t *testing.T) {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	format, err := NewTimeFormat("%Y-%m-%d %H:%M:%S", "")
	if err != nil {
		t.Fatal(err)
	}
	for name, form := range map[string]struct {
		cfg  Config
		line func(clock string) string
	}{
		"text":   {Config{Zone: zone}, func(clock string) string { return "2026-11-01 " + clock + " INFO  x.y - z" }},
		"format": {Config{Zone: zone, TimeFormat: format}, func(clock string) string { return "2026-11-01 " + clock + " z" }},
		"json":   {Config{Zone: zone, Sets: []string{SetJSON}}, func(clock string) string { return `{"time":"2026-11-01T` + clock + `","message":"z"}` }},
	} {
		in, b, s := interpreter(t, form.cfg), NewBatch(), State{}
		var got []string
		for _, clock := range []string{"00:30:00", "01:30:00", "01:59:59", "01:59:58", "01:00:01", "01:30:00", "01:29:59", "02:00:00"} {
			in.Line(b, &s, Line{Text: []byte(form.line(clock))})
			in.Settle(b, &s)
			got = append(got, s.Last.Format("15:04:05"))
		}
		want := []string{"04:30:00", "05:30:00", "05:59:59", "05:59:58", "06:00:01", "06:30:00", "06:29:59", "07:00:00"}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	in, b, s := interpreter(t, Config{Zone: zone}), NewBatch(), State{}
	for _, text := range []string{"2026-11-01T05:59:59Z x", "2026-11-01T01:00:01-04:00 x"} { // each names its zone
		in.Line(b, &s, Line{Text: []byte(text)})
	}
	if !s.Last.Equal(time.Date(2026, 11, 1, 5, 0, 1, 0, time.UTC)) {
		t.Errorf("a line with an offset: %v", s.Last)
	}
}
