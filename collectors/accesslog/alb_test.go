package accesslog

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestALBLines(t *testing.T) { testLines(t, KindALB) }

func testLines(t *testing.T, kind string) {
	for _, c := range lineCases(t, kind) {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			parsed, err := Parse(t.Context(), &out, Config{Kind: kind, Format: c.format}, textInput(c.line+"\n"))
			if err != nil {
				t.Fatal(err)
			}
			if parsed.Understood+parsed.SetAside != 1 {
				t.Errorf("counted %d understood and %d set aside", parsed.Understood, parsed.SetAside)
			}
			var got map[string]any
			if err := json.Unmarshal(out.Bytes(), &got); err != nil {
				t.Fatalf("%v in %s", err, out.Bytes())
			}
			if ok := got["ok"].(bool); ok != (parsed.Understood == 1) {
				t.Errorf("ok is %v, but %d lines were understood", ok, parsed.Understood)
			}
			compareMembers(t, "", got, c.want)
		})
	}
}

func TestEveryFieldByItsName(t *testing.T) {
	values := make([]string, albFields)
	for i := range values {
		values[i] = "v" + string(rune('A'+i))
	}
	values[albType], values[albTime], values[albStatus] = "h2", "2026-10-14T02:30:00.000001Z", "200"
	values[albCreated] = "2026-10-14T02:29:59.000001Z"
	var out bytes.Buffer
	if _, err := Parse(t.Context(), &out, Config{Kind: KindALB}, textInput(strings.Join(values, " "))); err != nil {
		t.Fatal(err)
	}
	var got struct{ Fields map[string]string }
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Fields) != albFields {
		t.Errorf("%d fields, want %d", len(got.Fields), albFields)
	}
	for i, name := range albNames {
		if got.Fields[name] != values[i] {
			t.Errorf("%s = %q, want %q", name, got.Fields[name], values[i])
		}
	}
}

func TestParseTime(t *testing.T) {
	for text, want := range map[string]int64{
		"1970-01-01T00:00:00.000000Z":    0,
		"1969-12-31T23:59:59.999999Z":    -1,
		"2000-02-29T12:00:00Z":           951825600e6,
		"2026-10-14T02:30:00.123456Z":    1791945000123456,
		"2026-10-14T02:30:00.1Z":         1791945000100000,
		"2026-10-14T02:30:00.123456789Z": 1791945000123456,
		"2026-10-14T02:30:00":            1791945000e6,
		"0000-03-01T00:00:00Z":           -62162035200e6,
	} {
		if got, ok := parseTime([]byte(text)); !ok || got != want {
			t.Errorf("%s = %d, %v; want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{
		"", "-", "2026-10-14", "2026-13-14T02:30:00Z", "2026-00-14T02:30:00Z", "2026-10-00T02:30:00Z", "2026-10-32T02:30:00Z",
		"2025-02-29T00:00:00Z", "2026-04-31T00:00:00Z", "2026-10-14T24:30:00Z", "2026-10-14T02:60:00Z", "2026-10-14T02:30:60Z",
		"2026-10-14 02:30:00Z", "2026-10-14T02:30:00.Z", "2026-10-14T02:30:00.1ZZ", "2026-10-14T02:30:00+09:00", "2x26-10-14T02:30:00Z",
	} {
		if _, ok := parseTime([]byte(text)); ok {
			t.Errorf("%q was taken for a time", text)
		}
	}
}

func TestParsingAllocatesNothing(t *testing.T) {
	line := bytes.TrimSuffix(generate(1), []byte("\n"))
	var f albFormat
	var e entry
	if n := testing.AllocsPerRun(100, func() { f.parse(line, &e) }); n != 0 {
		t.Errorf("%v allocations a line", n)
	}
}

func FuzzALBLine(f *testing.F) {
	for _, c := range lineCases(f, KindALB) {
		f.Add([]byte(c.line))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		text, _, _ = bytes.Cut(text, []byte("\n"))
		var format albFormat
		p := lineWriter{format: &format}
		b, ok := p.append(nil, &line{text: text, number: 2})
		if !json.Valid(b) || !utf8.Valid(b) {
			t.Fatalf("not JSON: %q", b)
		}
		if !ok {
			return
		}
		if format.fields.n < albLeast {
			t.Errorf("understood with %d fields", format.fields.n)
		}
		last := uint32(0)
		for i := range format.fields.n {
			at := format.fields.at[i]
			if at.from < last || at.to < at.from || int(at.to) > len(text) {
				t.Fatalf("field %d spans %d to %d after %d", i, at.from, at.to, last)
			}
			last = at.to
		}
	})
}

func textInput(text string) Input { return Input{"text", strings.NewReader(text)} }

type lineCase struct {
	name, line, format string
	want               map[string]any
}

// lineCases reads the cases of a kind from testdata.
func lineCases(tb testing.TB, kind string) []lineCase {
	tb.Helper()
	text, err := os.ReadFile("testdata/" + kind + ".txt")
	if err != nil {
		tb.Fatal(err)
	}
	var cases []lineCase
	for _, block := range strings.Split(strings.TrimSpace(string(text)), "\n\n")[1:] {
		parts := strings.Split(block, "\n")
		if len(parts) != 3 && len(parts) != 4 {
			tb.Fatalf("a case has three lines, or four with its format: %s", block)
		}
		name, _, _ := strings.Cut(parts[0], ":")
		c := lineCase{name: name, line: parts[1]}
		if len(parts) == 4 {
			c.format = parts[3]
		}
		if err := json.Unmarshal([]byte(parts[2]), &c.want); err != nil {
			tb.Fatalf("%s: %v", name, err)
		}
		cases = append(cases, c)
	}
	return cases
}

// compareMembers checks every member that is wanted; null is wanted of what may be
// absent.
func compareMembers(t *testing.T, at string, got, want map[string]any) {
	t.Helper()
	for name, value := range want {
		if inner, ok := value.(map[string]any); ok {
			have, ok := got[name].(map[string]any)
			if !ok {
				t.Errorf("%s%s = %v, want members", at, name, got[name])
				continue
			}
			compareMembers(t, at+name+".", have, inner)
			continue
		}
		if !reflect.DeepEqual(got[name], value) {
			t.Errorf("%s%s = %#v, want %#v", at, name, got[name], value)
		}
	}
}
