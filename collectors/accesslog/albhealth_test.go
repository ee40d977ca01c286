package accesslog

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"gapless/analysis"
)

// ownCases are the formats of lines that are no requests, with their cases.
var ownCases = []struct {
	format string
	make   func() ownLines
	least  int
}{
	{"alb-health", func() ownLines { return &healthFormat{} }, healthLeast},
	{"alb-conn", func() ownLines { return &connFormat{} }, connLeast},
}

func TestHealthAndConnectionLines(t *testing.T) {
	for _, own := range ownCases {
		for _, c := range lineCases(t, own.format) {
			t.Run(own.format+"/"+c.name, func(t *testing.T) {
				var out bytes.Buffer
				parsed, err := Parse(t.Context(), &out, Config{Kind: own.format}, textInput(c.line+"\n"))
				if err != nil {
					t.Fatal(err)
				}
				var got map[string]any
				if err := json.Unmarshal(out.Bytes(), &got); err != nil {
					t.Fatalf("%s: %v", out.Bytes(), err)
				}
				compareMembers(t, "", got, c.want)
				if ok := got["ok"] == true; ok != (parsed.Understood == 1) || ok == (parsed.SetAside == 1) {
					t.Errorf("ok %v, but %+v", ok, parsed)
				}
			})
		}
	}
}

// Every name of a field stands where it belongs: a line whose fields are numbered.
func TestFieldsOfHealthAndConnectionLinesByName(t *testing.T) {
	for _, c := range []struct {
		format, line string
		names        []string
	}{
		{"alb-health", `http 2026-01-02T03:04:05Z 0.5 10.0.1.1:80 group PASS 200 reason elb node`, healthNames[:]},
		{"alb-conn", `2026-01-02T03:04:05Z 10.9.8.7 1 2 p c 0.5 s v n t trace kx elb node`, connNames[:]},
	} {
		var out bytes.Buffer
		if _, err := Parse(t.Context(), &out, Config{Kind: c.format}, textInput(c.line)); err != nil {
			t.Fatal(err)
		}
		var got struct{ Fields map[string]string }
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		words := strings.Fields(c.line)
		if len(words) != len(c.names) || len(got.Fields) != len(words) {
			t.Fatalf("%s: %d words, %d names, %d fields", c.format, len(words), len(c.names), len(got.Fields))
		}
		for i, name := range c.names {
			if got.Fields[name] != words[i] {
				t.Errorf("%s: %s is %q, want %q", c.format, name, got.Fields[name], words[i])
			}
		}
	}
}

// Latencies are decimals, read exactly to the nanosecond.
func TestParseLatency(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"-": -1, "-1": -1, "-0.5": -1, "0": 0, "-0.0": 0, "4.036": 4036 * time.Millisecond, "0.019584011": 19584011,
		"1.0000000004": 1e9, "1.0000000005": 1e9 + 1, "0.9999999999": 1e9, "7.": -2, "3600": time.Hour, "3600.000000000": time.Hour, "0000000003": -2,
		"3600.000000001": -2, "9999999999": -2, "": -2, "--1": -2, "-x": -2, "+1": -2, "1e3": -2, "0x1p-2": -2, "1_0": -2, "NaN": -2, "inf": -2, ".5": -2, "1.2.3": -2, "1 ": -2,
	} {
		got, ok := parseLatency([]byte(text))
		if ok != (want != -2) || ok && got != want {
			t.Errorf("%q = %d, %v; want %d", text, got, ok, want)
		}
	}
}

func FuzzHealthLine(f *testing.F)     { fuzzOwnLine(f, 0) }
func FuzzConnectionLine(f *testing.F) { fuzzOwnLine(f, 1) }

// fuzzOwnLine: whatever the line, it is understood or set aside, in valid JSON, and
// what is understood has all the fields that are documented and times that can be.
func fuzzOwnLine(f *testing.F, which int) {
	own := ownCases[which]
	for _, c := range lineCases(f, own.format) {
		f.Add([]byte(c.line))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		text, _, _ = bytes.Cut(text, []byte("\n"))
		lines := own.make()
		p := lineWriter{format: lines}
		b, ok := p.append(nil, &line{text: text, number: 2})
		if !json.Valid(b) || !utf8.Valid(b) {
			t.Fatalf("not JSON: %q", b)
		}
		if n := fieldsOf(lines).n; ok && n < own.least {
			t.Errorf("understood with %d fields", n)
		}
		if h, isHealth := lines.(*healthFormat); ok && isHealth && (h.latency < 0 || h.latency > longestLatency || p.entry.end < p.entry.start) {
			t.Errorf("latency %s from %d to %d", h.latency, p.entry.start, p.entry.end)
		}
	})
}

// The three logs lie in one folder, and each source reads its own.
func TestLogsOfOneFolderAreToldApart(t *testing.T) {
	root := t.TempDir()
	name := "123456789012_elasticloadbalancing_us-east-2_app.public.0123456789abcdef_20260102T0305Z_203.0.113.200_20sg8hgm.log.gz"
	folder := "AWSLogs/123456789012/elasticloadbalancing/us-east-2/2026/01/02/"
	health := "http 2026-01-02T03:04:05.678901Z 0.002 10.0.1.11:8080 api FAIL 503 ResponseCodeMismatch\n" +
		"http 2026-01-02T03:04:06.678901Z 0.003 10.0.1.12:8080 api PASS 200 - app/public/0123456789abcdef 203.0.113.200\n" +
		"http 2026-01-02T03:04:07.678901Z 0.003 10.0.1.12:8080 other PASS 200 -\n" + "nonsense\n"
	writeObject(t, root, folder+"health_check_log_"+name, compress([]byte(health)))
	writeObject(t, root, folder+"conn_log_"+name, compress([]byte("2026-01-02T03:04:05.678901Z 203.0.113.7 40922 443 TLSv1.3 TLS_AES_128_GCM_SHA256 0.004 - - - - TID_1\n")))
	writeObject(t, root, folder+name, compress(bytes.ReplaceAll(generate(3), []byte("2026-10-14"), []byte("2026-01-02"))))
	from := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	for kind, want := range map[string]struct{ object, lines, setAside, checks, unmatched int }{
		"alb":        {1, 3, 0, 0, 0},
		"alb-conn":   {1, 1, 0, 0, 0},
		"alb-health": {1, 4, 1, 2, 1},
	} {
		sink := &memory{}
		r := newReader(t, "file://"+root, sink, func(c *Config) {
			c.Kind = kind
			if kind == "alb-health" {
				c.Match.TargetGroup = "api"
				c.Match.LoadBalancer = "public" // the first line does not name it, its object does
			}
		})
		if err := r.Collect(t.Context(), from, from.Add(10*time.Minute), nil); err != nil {
			t.Fatal(err)
		}
		if keys := sink.keys(); len(keys) != want.object {
			t.Fatalf("%s: read %v", kind, keys)
		}
		b := sink.objects[sink.keys()[0]]
		if b.Object.Lines != want.lines || b.SetAside != want.setAside || len(b.Checks) != want.checks || b.Unmatched != want.unmatched {
			t.Errorf("%s: %+v with %d checks, want %+v", kind, b.Object, len(b.Checks), want)
		}
		if kind != "alb-health" {
			continue
		}
		first := analysis.HealthCheckResult{Source: "alb", Node: "203.0.113.200", TargetGroup: "api", Target: "api-1",
			At: time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC), Latency: 2 * time.Millisecond, Status: 503, Reason: "ResponseCodeMismatch"}
		if !slices.Contains(b.Checks, first) {
			t.Errorf("checks %+v, want %+v among them", b.Checks, first)
		}
	}
}

// A plain file of any name is read by whichever source it was given to.
func TestPlainHealthFile(t *testing.T) {
	root := t.TempDir()
	writeObject(t, root, "checks.txt", []byte("http 2026-01-02T03:04:05.678901Z 0.5 10.0.1.11:8080 api PASS 200 -\n"))
	sink := &memory{}
	r := newReader(t, "file://"+root+"/checks.txt", sink, func(c *Config) { c.Kind = "alb-health" })
	from := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	if err := r.Collect(t.Context(), from, from.Add(time.Hour), nil); err != nil {
		t.Fatal(err)
	}
	b := sink.objects["checks.txt"]
	began := time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)
	if !b.From.Equal(began) || !b.To.Equal(began.Add(500*time.Millisecond)) || len(b.Checks) != 1 || b.Checks[0].Node != "" {
		t.Errorf("%+v", b)
	}
}

func fieldsOf(f ownLines) *albTokens {
	if h, ok := f.(*healthFormat); ok {
		return &h.fields
	}
	return &f.(*connFormat).fields
}
