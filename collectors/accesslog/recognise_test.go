package accesslog

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// samples are a whole line of each log.
var samples = map[string]string{
	KindALB:            strings.TrimSuffix(string(generate(1)), "\n"),
	KindALBHealth:      `http 2025-10-31T12:44:59.875678Z 0.019584011 172.31.20.97:80 api PASS 200 -`,
	KindALBConnections: `2025-10-31T12:44:59.875678Z 203.0.113.7 47772 443 TLSv1.3 TLS_AES_128_GCM_SHA256 0.004 "-" - - Success TID_37acbe0641d1c34287fee137ef3a5286`,
	KindNginx:          `2001:db8::7 - a:b [25/Feb/2020:18:55:34 +0000] "GET / HTTP/1.1" 302 5080 "-" "Mozilla/5.0"`,
	KindNginxJSON:      `{"time":"2026-10-10T00:00:00+00:00","status":"200"}`,
	KindHAProxy:        `edge haproxy[7]: 192.0.2.9:1 [26/Mar/2025:14:35:48.889] web web/s1 0/0/1/5/6 200 187 - - ---- 7/6/1/1/0 0/0 "GET /x HTTP/1.1"`,
	kindClassic:        `2017-06-26T08:38:27.991796Z elb 10.0.0.150:43326 10.0.0.217:80 0.00008 0.000626 0.000057 503 503 566 326 "POST http://internal.example.test:80/api HTTP/1.0" "App/1.0" - -`,
	kindNLB:            `tls 2.0 2024-12-19T20:20:28 net/nlb/0123456789abcdef 0123456789abcdef 203.0.113.5:50000 10.0.0.4:443 100 6 161 8144 - arn - ECDHE tlsv12 - app.example.test - - - 2024-12-19T20:20:28`,
}

// Whichever parser a line is given to, it is understood by its own, and named by its
// kind by every other; what is no log at all is unknown to all of them.
func TestEveryParserNamesTheOthersLines(t *testing.T) {
	for _, parser := range Formats {
		for kind, line := range samples {
			got := parseOne(t, parser, line)
			if kind == parser {
				if !got.OK {
					t.Errorf("%s: its own line is set aside: %+v", parser, got)
				}
				continue
			}
			if got.OK || got.Reason != reasonOther || got.Kind != kind || !strings.Contains(got.Detail, logNames[kind]) || !strings.Contains(got.Detail, logNames[parser]) {
				t.Errorf("%s, given a line of %s: %+v", parser, kind, got)
			}
		}
		for _, line := range []string{"nonsense", "the quick brown fox jumps over the lazy dog", " ", "2026", "[]", "\x00"} {
			if got := parseOne(t, parser, line); got.OK || got.Kind != kindUnknown || got.Reason == reasonOther {
				t.Errorf("%s, given %q: %+v", parser, line, got)
			}
		}
	}
}

// README names every kind and every reason.
func TestKindsAndReasonsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	words := append(slices.Collect(maps.Keys(samples)), kindUnknown, reasonEmpty, reasonTestFile, reasonOther, reasonPrefixed, reasonFew,
		reasonTime, reasonRange, reasonStatus, reasonType, reasonLatency, reasonAddress, reasonTooLong, reasonCut, reasonFormat, reasonNotJSON, reasonState)
	for _, word := range words {
		if !strings.Contains(string(text), "`"+word+"`") {
			t.Errorf("%s is not documented", word)
		}
	}
}

type parsedLine struct {
	OK                   bool
	Reason, Detail, Kind string
}

func parseOne(t *testing.T, format, text string) parsedLine {
	t.Helper()
	lines, err := newFormat(&Config{Kind: format})
	if err != nil {
		t.Fatal(err)
	}
	p := lineWriter{format: lines}
	b, _ := p.append(nil, &line{text: []byte(text), number: 1})
	var got parsedLine
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	return got
}
