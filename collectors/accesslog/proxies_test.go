package accesslog

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"gapless/analysis"
)

func TestNginxLines(t *testing.T)     { testLines(t, KindNginx) }
func TestNginxJSONLines(t *testing.T) { testLines(t, KindNginxJSON) }
func TestHAProxyLines(t *testing.T)   { testLines(t, KindHAProxy) }

// Proxies hide failures: they ask another target. Which line hides one, and whose it
// was.
func TestMaskedFailures(t *testing.T) {
	masked := map[string]map[string][]string{
		KindNginx: {
			"dash-in-list": {""}, "dash-amid-list": {"", ""}, "ingress": {"10.0.1.11:8080"}, "ingress-length": {"10.0.1.11:8080"}, "redirected": {"10.0.1.11:80", "10.0.1.12:80"},
			"ipv6": {"[2001:db8::1]:80"}, "custom-bare": {"10.0.1.11:8080", "10.0.1.12:8080"}, "csv": {"10.0.0.1:80"},
		},
		KindNginxJSON: {"whole": {"10.0.1.11:8080"}, "retried": {"10.0.1.11:80"}},
		KindHAProxy:   {"redispatched": {""}},
	}
	rules, err := analysis.NewClassifier(analysis.Service{})
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range masked {
		for _, c := range lineCases(t, kind) {
			cfg := Config{Source: "edge", Kind: kind, Format: c.format, Slow: time.Hour}
			lines, err := newFormat(&cfg)
			if err != nil {
				t.Fatal(err)
			}
			roll := newRollup(lines, rules, &cfg, analysis.Object{Source: "edge", Key: "k"})
			roll.add(&line{text: []byte(c.line), number: 1})
			b := roll.finish(ending{lines: 1})
			count, on := 0, []string(nil)
			for i := range b.Cells {
				count += b.Cells[i].Masked
			}
			for i := range b.Requests {
				if !b.Requests[i].Outcome.Failure() {
					on = append(on, b.Requests[i].FailedOn...)
				}
			}
			hidden := want[c.name]
			if count != min(len(hidden), 1) || strings.Join(on, "|") != strings.Join(hidden, "|") {
				t.Errorf("%s %s: %d masked, on %q; want %q", kind, c.name, count, on, hidden)
			}
		}
	}
}

func TestLogFormatsThatCannotBeRead(t *testing.T) {
	for text, says := range map[string]string{
		"apache":                "neither combined, main",
		"$status":               "no $status, or none of",
		"$time_local":           "no $status, or none of",
		"$time_local $ $status": "without a name",
		"$msec$status":          "nothing between",
		"${msec $status":        "not closed",
		"$msec $status, $upstream_status, $request_time": "$upstream_status are themselves separated",
		"$msec $status $upstream_addr:$upstream_status":  "$upstream_addr are themselves separated",
	} {
		if err := CheckFormat(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
	}
	for _, text := range []string{"${msec}s $status", `$msec $status "$upstream_status", $request_time`, "$msec,$upstream_status,$status"} {
		if err := CheckFormat(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// HAProxy's dates are local; the zone says where.
func TestZones(t *testing.T) {
	seoul, err := time.LoadLocation("Asia/Seoul")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int64{
		"06/Feb/2009:12:14:14.655":       1233890054655000,
		"06/Feb/2009:12:14:14.655 +0000": 1233922454655000,
		"06/feb/2009:12:14:14 -0330":     1233935054000000,
	} {
		if got, ok := parseLocal([]byte(text), seoul); !ok || got != want {
			t.Errorf("%s = %d, %v; want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "06/Fex/2009:12:14:14", "31/Feb/2009:12:14:14", "06/Feb/2009:24:14:14", "06/Feb/2009:12:14:14 +09", "06/Feb/2009:12:14:14.", "06/Feb/2009:12:14:14 +9900"} {
		if _, ok := parseLocal([]byte(text), seoul); ok {
			t.Errorf("%q was taken for a time", text)
		}
	}
	for text, want := range map[string]int64{
		"1970-09-28T12:00:00+06:00": 23349600e6, "1970-09-28T12:00:00.5-0100": 23374800500000, "1970-09-28T06:00:00Z": 23349600e6,
	} {
		if got, ok := parseISO([]byte(text), seoul); !ok || got != want {
			t.Errorf("%s = %d, %v; want %d", text, got, ok, want)
		}
	}
	if got, ok := parseISO([]byte("1970-09-28T15:00:00.5"), seoul); !ok || got != 23349600500000 {
		t.Errorf("without an offset: %d, %v", got, ok)
	}
	for _, text := range []string{"1970-09-28T12:00:00Z+06:00", "1970-09-28T12:00:00+6", "1970-09-28"} {
		if _, ok := parseISO([]byte(text), nil); ok {
			t.Errorf("%q was taken for a time", text)
		}
	}
}

// An hour that a zone's clocks show twice: the time in syslog's header tells which one
// is meant, and only where it tells its offset.
func TestTheHourThatComesTwice(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	const rest = ` haproxy[1]: 10.0.0.1:1 [25/Oct/2026:02:30:00.250] fe be/s 0/0/0/10/12 200 10 - - ---- 1/1/0/0/0 0/0 "GET / HTTP/1.1"`
	first, second := time.Date(2026, 10, 25, 0, 30, 0, 250e6, time.UTC), time.Date(2026, 10, 25, 1, 30, 0, 250e6, time.UTC)
	for header, want := range map[string]time.Time{
		"2026-10-25T02:30:00.300000+02:00 lb1":    first,
		"2026-10-25T02:30:00.300000+01:00 lb1":    second,
		"<134>2026-10-25T00:30:00Z lb1":           first,
		"<134>1 2026-10-25T01:30:00.3Z lb1 x - -": second,
		"2026-10-25T03:30:00+01:00 lb1":           second, // an hour later: no other one is nearer
	} {
		f, e := haproxyFormat{zone: berlin}, entry{}
		if why, ok := f.parse([]byte(header+rest), &e); !ok || e.start != want.UnixMicro() {
			t.Errorf("%s: %v %v, want %v", header, why, at(e.start), want)
		}
	}
	f, e := haproxyFormat{zone: berlin}, entry{}
	if _, ok := f.parse([]byte("Oct 25 02:30:00 lb1"+rest), &e); !ok || e.start != first.UnixMicro() && e.start != second.UnixMicro() {
		t.Errorf("without an offset: %v", at(e.start))
	}
}

// Every field of the manual, once, by its name, and none but those.
func TestFieldsOfHAProxyByName(t *testing.T) {
	line := `host process[2]: 3:4 [06/Feb/2009:12:14:14.655] 6 7/8 9/10/11/12/13 140 15 16 17 ---- 19/20/21/22/23 24/25 {26} {27} "28"`
	var out bytes.Buffer
	if _, err := Parse(t.Context(), &out, Config{Kind: KindHAProxy}, textInput(line)); err != nil {
		t.Fatal(err)
	}
	var got struct{ Fields map[string]string }
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"process_name": "process", "pid": "2", "client_ip": "3", "client_port": "4", "request_date": "06/Feb/2009:12:14:14.655",
		"frontend_name": "6", "backend_name": "7", "server_name": "8", "TR": "9", "Tw": "10", "Tc": "11", "Tr": "12", "Ta": "13",
		"status_code": "140", "bytes_read": "15", "captured_request_cookie": "16", "captured_response_cookie": "17", "termination_state": "----",
		"actconn": "19", "feconn": "20", "beconn": "21", "srv_conn": "22", "retries": "23", "srv_queue": "24", "backend_queue": "25",
		"captured_request_headers": "26", "captured_response_headers": "27", "http_request": "28",
	}
	if !maps.Equal(got.Fields, want) {
		t.Errorf("fields\n%v\nwant\n%v", got.Fields, want)
	}
}

func TestParsingProxiesAllocatesNothing(t *testing.T) {
	for _, kind := range []string{KindNginx, KindNginxJSON, KindHAProxy} {
		for _, c := range lineCases(t, kind) {
			if !c.want["ok"].(bool) {
				continue
			}
			lines, err := newFormat(&Config{Kind: kind, Format: c.format})
			if err != nil {
				t.Fatal(err)
			}
			var e entry
			text := []byte(c.line)
			if n := testing.AllocsPerRun(20, func() { lines.parse(text, &e) }); n != 0 {
				t.Errorf("%s %s: %v allocations a line", kind, c.name, n)
			}
		}
	}
}

func FuzzNginxLine(f *testing.F)     { fuzzLine(f, KindNginx) }
func FuzzNginxJSONLine(f *testing.F) { fuzzLine(f, KindNginxJSON) }
func FuzzHAProxyLine(f *testing.F)   { fuzzLine(f, KindHAProxy) }

// fuzzLine: whatever the line, by each format of its kind it is understood or set
// aside, in valid JSON, and what is understood has an outcome, at least one attempt,
// and values from the line.
func fuzzLine(f *testing.F, kind string) {
	var formats []string
	for _, c := range lineCases(f, kind) {
		f.Add([]byte(c.line))
		if !slices.Contains(formats, c.format) {
			formats = append(formats, c.format)
		}
	}
	rules, err := analysis.NewClassifier(analysis.Service{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		text, _, _ = bytes.Cut(text, []byte("\n"))
		for _, format := range formats {
			checkLine(t, &Config{Source: "x", Kind: kind, Format: format, Slow: time.Second}, rules, text)
		}
	})
}

func checkLine(t *testing.T, cfg *Config, rules *analysis.Classifier, text []byte) {
	t.Helper()
	lines, err := newFormat(cfg)
	if err != nil {
		t.Fatal(err)
	}
	p := lineWriter{format: lines, proxy: true}
	b, ok := p.append(nil, &line{text: text, number: 2})
	if !json.Valid(b) || !utf8.Valid(b) {
		t.Fatalf("%q: not JSON: %q", cfg.Format, b)
	}
	roll := newRollup(lines, rules, cfg, analysis.Object{})
	roll.add(&line{text: text, number: 2})
	batch := roll.finish(ending{lines: 1})
	if batch.Understood+batch.SetAside != 1 || ok != (batch.Understood == 1) {
		t.Fatalf("%q: ok %v, %d understood, %d set aside", cfg.Format, ok, batch.Understood, batch.SetAside)
	}
	if !ok {
		return
	}
	e := &p.entry
	if e.end < e.start && e.hasStart || e.status < 0 || e.status > 999 || batch.Cells[0].Count != 1 || batch.Cells[0].Masked > 1 {
		t.Errorf("%q: %+v", cfg.Format, e)
	}
	for _, part := range [][]byte{e.client, e.target, e.url, e.method, e.agent} {
		if len(part) > 0 && !bytes.Contains(text, part) {
			t.Errorf("%q: %q is not from the line", cfg.Format, part)
		}
	}
}
