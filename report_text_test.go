package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gapless/analysis"
)

// hostile is a name as an attacker might choose it.
const hostile = "# <img src=x> [a](http://evil.example) www.evil.example @all `b` *c* | \x1b[31m\r\n\u202egnp\u2066\u200f\u2028end\u0085"

func hostileReport() *analysis.Report {
	target := hostile
	return &analysis.Report{
		Deploy:   analysis.DeployReport{ID: hostile, Service: hostile},
		Window:   analysis.WindowReport{State: analysis.WindowSettling},
		Verdict:  analysis.Verdict{State: analysis.Disproved, Sentence: hostile, Conditions: []analysis.Condition{{Sentence: hostile}}},
		Claims:   []analysis.Claim{{ID: hostile, Text: hostile, State: analysis.Disproved, Reason: "caused_by_deploy"}},
		Findings: []analysis.Finding{{Code: "fail-open", Sentence: hostile, Remedy: hostile, Target: &target}},
		Totals:   map[analysis.Class]*analysis.Total{analysis.ClassUser: {Requests: 3, Failures: 2, Outcomes: map[analysis.Outcome]int{analysis.OutcomeLB5xx: 2}}},
		Phases:   []analysis.Phase{{Name: hostile}},
		Targets:  []analysis.TargetReport{{Target: hostile, Ejected: "unknown"}},
		Coverage: []analysis.Coverage{{Source: hostile, Blind: []analysis.Blind{{Reason: "query_failed", Detail: hostile}}}},
	}
}

func TestReportsObeyNothingFromOutside(t *testing.T) {
	for _, markdown := range []bool{false, true} {
		var out bytes.Buffer
		(&sheet{w: &out, markdown: markdown, zone: time.UTC}).writeReport(hostileReport())
		for _, r := range out.String() {
			if r != '\n' && neutral(r) != r {
				t.Errorf("markdown %v: %U reaches the reader", markdown, r)
			}
		}
		if !markdown {
			continue
		}
		for _, live := range []string{"<img", " [a]", "http://", " www.evil", "@all", " `b`", " *c*"} {
			if strings.Contains(out.String(), live) {
				t.Errorf("%q is live Markdown:\n%s", live, out.String())
			}
		}
		for line := range strings.Lines(out.String()) {
			if strings.HasPrefix(line, "# <") || strings.HasPrefix(line, "- #") || strings.HasPrefix(line, "# #") {
				t.Errorf("a name makes a heading: %s", line)
			}
		}
	}
}

func TestMarkdownOpenings(t *testing.T) {
	for text, want := range map[string]string{
		"# a": `\# a`, "1. a": `1\. a`, "12) a": `12\) a`, "- a": `\- a`, "+ a": `\+ a`, "===": `\===`,
		"1.5 s later": "1.5 s later", "a - b": "a - b", "a&b": "a&amp;b", "restart-before-eject": "restart-before-eject",
	} {
		if got := escapeMarkdown(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestReportsSpeakInWords(t *testing.T) {
	for _, markdown := range []bool{false, true} {
		var out bytes.Buffer
		(&sheet{w: &out, markdown: markdown, zone: time.UTC}).writeReport(hostileReport())
		text := out.String()
		for _, code := range []string{"caused_by_deploy", `caused\_by\_deploy`, "lb_5xx", `lb\_5xx`, "query_failed", `query\_failed`, "settling"} {
			if strings.Contains(text, code) {
				t.Errorf("the code %s stands for itself:\n%s", code, text)
			}
		}
		lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
		for i, line := range lines {
			heading := strings.HasPrefix(line, "## ") || !markdown && (line == "Depends on" || line == "Claims" || line == "Findings" || line == "Targets" || line == "Evidence")
			if heading && (lines[i-1] != "" || lines[i+1] != "") {
				t.Errorf("no empty line around %q", line)
			}
			if line == "" && lines[i-1] == "" {
				t.Errorf("two empty lines after %q", lines[i-2])
			}
		}
	}
}

func TestStandardErrorObeysNothingFromOutside(t *testing.T) {
	var out bytes.Buffer
	w := printableWriter{&out}
	if n, err := fmt.Fprintf(w, "one %s\ntwo\n", "\x1b]0;title\x07\u202e"); err != nil || n == 0 {
		t.Fatal(n, err)
	}
	if out.String() != "one  ]0;title \ufffd\ntwo\n" {
		t.Errorf("%q", out.String())
	}
	inner := fmt.Errorf("read: %w", errors.New("a\ngapless: all is well"))
	got := complaints(errors.Join(inner, errors.Join(errors.New("b"), errors.New("c"))))
	if strings.Join(got, "|") != "read: a gapless: all is well|b|c" {
		t.Errorf("%q", got)
	}
	_, _, stderr := runProgram(t, nil, "audit", "-c", "no\x1b[31m\u202e.yml", "--service", "x")
	if strings.ContainsAny(stderr, "\x1b\u202e") || !strings.Contains(stderr, "gapless:") {
		t.Errorf("%q", stderr)
	}
}

// What a log holds shows itself on standard output, however it is cut into writes.
func TestStandardOutputHidesNothing(t *testing.T) {
	const want = `{"a":"Grüße \u001b[31m\u202e\u0085"}` + "\n"
	text := []byte("{\"a\":\"Grüße \x1b[31m\u202e\u0085\"}\n")
	for cut := range text {
		var out bytes.Buffer
		w := &bareWriter{w: &out}
		for _, part := range [][]byte{text[:cut], nil, text[cut:]} {
			if n, err := w.Write(part); n != len(part) || err != nil {
				t.Fatal(n, err)
			}
		}
		if out.String() != want {
			t.Errorf("cut at %d: %q", cut, out.String())
		}
	}
	line := "10.9.0.1 - - [14/Oct/2026:06:25:00 +0000] \"GET /\u202e\u0085 HTTP/1.1\" 200 5 \"-\" \"ua\"\n"
	log := filepath.Join(t.TempDir(), "access.log")
	if err := os.WriteFile(log, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	status, stdout, stderr := runProgram(t, nil, "parse", "--format", "nginx", log)
	if status != 0 || strings.ContainsAny(stdout, "\u202e\u0085") || !strings.Contains(stdout, `"url":"/\u202e\u0085"`) {
		t.Errorf("status %d: %s%s", status, stdout, stderr)
	}
}

func TestReportsSayWhatCouldHaveBeenMissed(t *testing.T) {
	r := hostileReport()
	share, longest := .05, 11_682.0
	r.Detection = []analysis.Detection{
		{Scope: "store", Phase: "drain", Target: "api-1", Requests: 40, LongestMissed: &longest},
		{Scope: "store", Target: "api-1", Requests: 1500, Share: &share, LongestMissed: &longest, Miss: []analysis.Miss{{WindowMS: 400, Probability: .9}, {WindowMS: 5000, Probability: .2774}}},
		{Scope: "store", Target: "api-2"},
	}
	var out bytes.Buffer
	(&sheet{w: &out, zone: time.UTC}).writeReport(r)
	_, after, _ := strings.Cut(out.String(), "What the probes could have missed\n")
	got := strings.Split(after, "\n")[2:4]
	for i, want := range []string{"store api-1 1500 sent, 5 % to it 11.682 s 0.4 s: 90 %, 5 s: 27.7 %", "store api-2 0 —"} {
		if line := strings.Join(strings.Fields(got[i]), " "); line != want {
			t.Errorf("%s\nwant %s", line, want)
		}
	}
}
