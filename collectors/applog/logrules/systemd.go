package logrules

import (
	"bytes"

	"gapless/analysis"
)

// Message ids of the journal (systemd's sd-messages.h).
const (
	idUnitStarting     = "7d4958e842da4a758f6c1cdc7b36dcc5"
	idUnitStopping     = "de5b426a63be47a7b6ac3eaac82e2f6f"
	idProcessExit      = "98e322203f7a4ed290d09fe03c09fe15"
	idRestartScheduled = "5eb03494b6584870a536b337290809b3"
	idOutOfMemory      = "fe6faa94e7774663a0da52717891d8ef"
)

// systemd's service manager about a service. "Started" is not among them: for most
// services it says that a process was launched, not that it is ready.
func systemd() []rule {
	rules := built(SetSystemd, []spec{
		{name: "stopping", event: analysis.EventStopRequested,
			match: `^Stopping (?P<name>[^\s.][^\s]*?\.service)(?: - .*)?\.\.\.$`},
		{name: "exited", event: analysis.EventProcessExited,
			match: `^(?P<name>\S+): [Mm]ain process exited, code=(?P<code>\w+), status=(?P<status>\d+)(?:/(?P<word>\S+))?`},
		{name: "killed", step: analysis.StepProcessKilled,
			match: `^(?P<name>\S+): [Mm]ain process exited, code=(?P<code>\w+), status=(?P<status>\d+)`},
		{name: "stop-timed-out", event: analysis.EventShutdownAborted, fixed: map[string]string{"by": "systemd"},
			match: `^(?P<name>[^\s:]+):? (?:State '(?P<state>[a-z-]+)'|(?:stop-sigterm|Stopping)) timed out\. (?:Killing|Terminating)\.`},
		{name: "out-of-memory", event: "process.out_of_memory",
			match: `^(?P<name>\S+): (?:A|The) process of this unit has been killed by the OOM killer`},
		{name: "restart-scheduled", event: "restart.scheduled",
			match: `^(?P<name>\S+): Scheduled restart(?: job)?, restart counter is at (?P<restarts>\d+)`},
		{name: "starting", event: analysis.EventProcessStarting,
			match: `^Starting (?P<name>[^\s.][^\s]*?\.service)(?: - .*)?\.\.\.$`},
	})
	for i := range rules {
		r := &rules[i]
		switch r.name {
		case "systemd/stopping":
			r.id, r.entry = idUnitStopping, unitEntry
		case "systemd/exited":
			r.id, r.entry = idProcessExit, exitEntry
		case "systemd/killed":
			r.id, r.entry, r.when = idProcessExit, exitEntry, killed
		case "systemd/out-of-memory":
			r.id, r.entry = idOutOfMemory, unitEntry
		case "systemd/restart-scheduled":
			r.id, r.entry = idRestartScheduled, unitEntry
		case "systemd/starting":
			r.id, r.entry = idUnitStarting, unitEntry
		}
	}
	return rules
}

// unitEntry is what an entry about a unit says.
func unitEntry(fields map[string]string, _ []byte) (fill, bool) {
	f := fill{name: fields["UNIT"], unit: fields["UNIT"]}
	if n := fields["N_RESTARTS"]; n != "" {
		f.value("restarts", n)
	}
	return f, true
}

// exitEntry is what an entry about a process that ended says. The same id tells of
// control processes (ExecStop= and the like), whose end is not the service's.
func exitEntry(fields map[string]string, message []byte) (fill, bool) {
	f := fill{name: fields["UNIT"], unit: fields["UNIT"]}
	f.value("code", fields["EXIT_CODE"])
	f.value("status", fields["EXIT_STATUS"])
	return f, bytes.Contains(message, []byte("ain process exited"))
}

// killed is true of a process that a signal ended, except by those that systemd takes
// for a clean stop: HUP, INT, PIPE, TERM.
func killed(values map[string]string) bool {
	if values["code"] != "killed" && values["code"] != "dumped" {
		return false
	}
	switch values["status"] {
	case "1", "2", "13", "15":
		return false
	}
	return true
}
