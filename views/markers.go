package views

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gapless/analysis"
)

// longestMarker is how long a marker's text may be.
const longestMarker = 1000

// DeployMarkers are what is told to others about a deploy: that it began and was
// reported, its steps, and, once its window was sealed, the verdict and the findings.
// The same things always give the same markers; report is nil before.
//
// A marker's line is text="…" and further key="…" pairs (logfmt).
func DeployMarkers(d *analysis.Deploy, steps []analysis.Step, report *analysis.Report) []analysis.Marker {
	m := markers{deploy: d}
	began := "deploy began"
	if !d.SeenUntil.IsZero() {
		began = "deploy noticed"
	}
	m.add(analysis.MarkerDeploy, "started", d.StartedAt, join(d.Service, d.ID, began, versions(d)),
		"version_before", d.VersionBefore, "version_after", d.VersionAfter, "actor", d.Actor, "url", d.URL)
	if !d.ReportedAt.IsZero() {
		m.add(analysis.MarkerDeploy, "reported", d.ReportedAt, join(d.Service, d.ID, "reported", cmp.Or(d.Result, "without a result")), "result", d.Result)
	}
	for _, step := range steps {
		m.step(step.Kind, step.At, step.Target, step.Source, step.Inferred)
	}
	if report == nil {
		return m.all
	}
	for _, step := range report.Steps {
		if !step.Ignored {
			m.step(step.Kind, step.At.Time, text(step.Target), step.Source, step.Inferred)
		}
	}
	for i := range report.Findings {
		f := &report.Findings[i]
		at := f.From.Time
		if at.IsZero() {
			at = report.Window.From.Time
		}
		m.add(analysis.MarkerFinding, keyOf(f.Code, text(f.Target), text(f.Phase), at.Format(time.RFC3339Nano)), at, join(d.Service, d.ID, f.Code, f.Sentence),
			"code", f.Code, "severity", string(f.Severity), "target", text(f.Target), "phase", text(f.Phase))
	}
	revision := strconv.Itoa(report.Window.Revision)
	m.add(analysis.MarkerVerdict, revision, report.Window.To.Time, join(d.Service, d.ID, string(report.Verdict.State), report.Verdict.Sentence),
		"state", string(report.Verdict.State), "claim", report.Verdict.Claim, "revision", revision,
		"from", report.Window.From.Format(time.RFC3339Nano), "to", report.Window.To.Format(time.RFC3339Nano))
	return m.all
}

type markers struct {
	deploy *analysis.Deploy
	all    []analysis.Marker
}

func (m *markers) step(kind analysis.StepKind, at time.Time, target, source string, inferred bool) {
	if kind == analysis.StepDeployStarted || kind == analysis.StepDeployReported {
		return // they have markers of their own
	}
	what := string(kind)
	if inferred {
		what += " (inferred)"
	}
	m.add(analysis.MarkerStep, keyOf(string(kind), strconv.FormatInt(at.UnixMicro(), 10), target), at, join(m.deploy.Service, m.deploy.ID, target, what),
		"step", string(kind), "target", target, "source", source, "inferred", strconv.FormatBool(inferred))
}

func (m *markers) add(kind, key string, at time.Time, sentence string, pairs ...string) {
	var line strings.Builder
	pair := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&line, " %s=%s", name, strconv.Quote(Short(value, longestMarker)))
		}
	}
	pair("text", sentence)
	pair("deploy", m.deploy.ID)
	for i := 0; i < len(pairs); i += 2 {
		pair(pairs[i], pairs[i+1])
	}
	m.all = append(m.all, analysis.Marker{
		Service: m.deploy.Service, Key: keyOf(m.deploy.ID, kind, key), Kind: kind, At: at, Line: strings.TrimPrefix(line.String(), " "),
	})
}

func versions(d *analysis.Deploy) string {
	switch {
	case d.VersionAfter == "":
		return ""
	case d.VersionBefore == "":
		return d.VersionAfter
	}
	return d.VersionBefore + " → " + d.VersionAfter
}

// join makes one sentence of parts: the service and the deploy, then what is told.
func join(service, deploy string, parts ...string) string {
	var told []string
	for _, part := range parts {
		if part != "" {
			told = append(told, part)
		}
	}
	return service + " " + deploy + ": " + strings.Join(told, " · ")
}

func keyOf(parts ...string) string { return strings.Join(parts, "\n") }

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
