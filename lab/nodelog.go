package lab

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// springTime is the time in Spring Boot 3's default console pattern: local time,
// milliseconds, and "Z" or an offset with a colon.
const springTime = "2006-01-02T15:04:05.000Z07:00"

// journalTime is the time of journalctl's short-iso-precise output.
const journalTime = "2006-01-02T15:04:05.000000-07:00"

// nodeLog appends whole lines to a node's log file, one write a line, so that the
// node and its supervisor can share the file and a kill loses no line.
type nodeLog struct {
	mu   sync.Mutex
	file *os.File
}

func openNodeLog(path string) (*nodeLog, error) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open node log: %w", err)
	}
	return &nodeLog{file: file}, nil
}

func (l *nodeLog) close() { _ = l.file.Close() }

// write appends one line. A log that cannot be written must not stop a node, as it
// would not stop a real one.
func (l *nodeLog) write(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.file.WriteString(line + "\n")
}

// spring writes a line in Spring Boot 3's default pattern.
func (l *nodeLog) spring(at time.Time, pid int, thread, logger, message string) {
	l.write(springLine(at, pid, thread, logger, message))
}

// systemd writes a line as the journal shows a unit's own messages.
func (l *nodeLog) systemd(at time.Time, host, message string) {
	l.write(systemdLine(at, host, message))
}

func springLine(at time.Time, pid int, thread, logger, message string) string {
	if len(thread) > 15 { // the pattern keeps the end: %15.15t
		thread = thread[len(thread)-15:]
	}
	return fmt.Sprintf("%s  INFO %d --- [%s] [%15s] %-40s : %s",
		at.Format(springTime), pid, appName, thread, logger, message)
}

func systemdLine(at time.Time, host, message string) string {
	return fmt.Sprintf("%s %s systemd[1]: %s", at.Format(journalTime), host, message)
}

// logToken makes a client's text safe to stand in a log line as one word.
func logToken(s string) string {
	const longest = 128
	if len(s) > longest {
		s = s[:longest]
	}
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return '_'
		}
		return r
	}, s)
}
