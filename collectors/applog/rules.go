package applog

import (
	"bytes"
	"regexp"

	"gapless/analysis"
)

// Names of what is counted besides the rules of rule sets. The first two say how
// many lines had a request id, whoever's; the last how many of these were ours.
const (
	RuleAnswered = "request-id"
	RuleReceived = "request-id/received"
	RuleProbe    = "request-id/probe"
)

// rule recognises one line of a framework. A line is looked at only if it contains
// literal; match then sees its message, without time, level, thread and logger, so
// that text from a request that merely quotes such a line is not taken for it.
type rule struct {
	name    string
	literal []byte
	match   func(message []byte) bool
	step    analysis.StepKind // empty: only counted
	count   int               // index of its count
}

// ruleSets are the lines that frameworks write on their own: Spring Boot's and
// systemd's, as their sources word them (spec of formats, section 6).
var ruleSets = map[string][]rule{
	"spring-boot": {
		{name: "spring-boot/graceful-shutdown", literal: []byte("Commencing graceful shutdown"),
			match: hasPrefix("Commencing graceful shutdown"), step: analysis.StepRestartBegan},
		{name: "spring-boot/started", literal: []byte(" seconds ("),
			match: springStarted.Match, step: analysis.StepAppReady},
		{name: "spring-boot/starting", literal: []byte("Starting "),
			match: springStarting.Match},
	},
	"systemd": {
		{name: "systemd/killed", literal: []byte("ain process exited, code="),
			match: systemdKilled, step: analysis.StepProcessKilled},
		{name: "systemd/restart-scheduled", literal: []byte("Scheduled restart job"),
			match: systemdRestart.Match},
	},
}

var (
	// "Restored" is what CRaC writes; "JVM running" was written before 3.0.
	springStarted  = regexp.MustCompile(`^(?:Started|Restored) \S+ in [0-9.]+ seconds \((?:process|JVM) running`)
	springStarting = regexp.MustCompile(`^Starting \S+ .*with PID \d+`)
	systemdExited  = regexp.MustCompile(`^\S+: [Mm]ain process exited, code=(killed|dumped), status=\d+/([A-Z0-9+]+)`)
	systemdRestart = regexp.MustCompile(`^\S+: Scheduled restart job`)
)

// systemdKilled is true of a process that a signal ended, except by those that
// systemd takes for a clean stop.
func systemdKilled(message []byte) bool {
	m := systemdExited.FindSubmatch(message)
	if m == nil {
		return false
	}
	switch string(m[2]) {
	case "TERM", "INT", "HUP", "PIPE":
		return false
	}
	return true
}

func hasPrefix(prefix string) func([]byte) bool {
	p := []byte(prefix)
	return func(message []byte) bool { return bytes.HasPrefix(message, p) }
}

// message is what a line says after its time, level, thread and logger, in Spring
// Boot's default pattern, in Logback's, or in the journal's; else all after its time.
func message(line []byte, time int) []byte {
	rest := line[time:]
	if _, after, ok := bytes.Cut(rest, []byte(" --- [")); ok {
		if _, text, ok := bytes.Cut(after, []byte(" : ")); ok {
			return bytes.TrimLeft(text, " ")
		}
	}
	if m := journalPrefix.FindIndex(rest); m != nil {
		return rest[m[1]:]
	}
	if m := logbackPrefix.FindIndex(rest); m != nil {
		return rest[m[1]:]
	}
	return bytes.TrimLeft(rest, " ")
}

var (
	journalPrefix = regexp.MustCompile(`^ \S+ systemd\[\d+\]: `)
	logbackPrefix = regexp.MustCompile(`^ +(?:\[[^\]]*\] +)?[A-Z]+ +(?:\[[^\]]*\] +)?\S+ +[-:] `)
)
