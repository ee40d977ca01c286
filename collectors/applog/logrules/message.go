package logrules

import (
	"bytes"
	"strings"
)

// message is what a line says after its time, level, thread and logger, in Spring
// Boot's default pattern, in Logback's, in Tomcat's, or in the journal's; else all
// after its time. width is how many bytes the time takes. origin is the program that
// wrote the line, as far as the form tells; empty where it does not.
func message(line []byte, width int) (text []byte, origin string) {
	rest := bytes.TrimLeft(line[width:], " ")
	if width > 0 {
		if after, program, ok := journalPrefix(rest); ok {
			if program == originSystemd {
				if !shortForm(line[:width]) {
					return rest, originApplication
				}
				return after, originSystemd
			}
			text, _ = inner(after)
			return text, program
		}
	}
	if after, ok := springPrefix(rest); ok {
		return after, originApplication
	}
	if after, ok := logbackPrefix(rest); ok {
		return after, originApplication
	}
	if width > 0 && len(line) > 2 && line[2] == '-' {
		if after, ok := tomcatPrefix(rest); ok {
			return after, originApplication
		}
	}
	return rest, ""
}

// inner is the message of a line that stands in another one's.
func inner(line []byte) (text []byte, ok bool) {
	if after, ok := springPrefix(line); ok {
		return after, true
	}
	if after, ok := logbackPrefix(line); ok {
		return after, true
	}
	return line, false
}

// springPrefix takes off "INFO 123 --- [app] [thread] logger : ", where there may
// also be brackets before the process id.
func springPrefix(b []byte) (rest []byte, ok bool) {
	if b, ok = level(b); !ok {
		return nil, false
	}
	if after, ok := brackets(b); ok {
		b = after
	}
	if b, ok = word(b); !ok || !bytes.HasPrefix(b, []byte("--- [")) {
		return nil, false
	}
	b = b[len("--- "):]
	for {
		after, ok := brackets(b)
		if !ok {
			break
		}
		b = after
	}
	if b, ok = word(b); !ok || !bytes.HasPrefix(b, []byte(": ")) {
		return nil, false
	}
	return bytes.TrimLeft(b[2:], " "), true
}

// logbackPrefix takes off "[thread] INFO logger - " and the forms near it: the thread
// may stand after the level or not at all, and a colon instead of the dash.
func logbackPrefix(b []byte) (rest []byte, ok bool) {
	if after, ok := brackets(b); ok {
		b = after
	}
	if b, ok = level(b); !ok {
		return nil, false
	}
	if after, ok := brackets(b); ok {
		b = after
	}
	if b, ok = word(b); !ok || len(b) < 2 || b[0] != '-' && b[0] != ':' || b[1] != ' ' {
		return nil, false
	}
	return bytes.TrimLeft(b[2:], " "), true
}

// tomcatPrefix takes off "INFO [thread] class.method ", as Tomcat's OneLineFormatter
// writes it.
func tomcatPrefix(b []byte) (rest []byte, ok bool) {
	if b, ok = level(b); !ok {
		return nil, false
	}
	if b, ok = brackets(b); !ok {
		return nil, false
	}
	return word(b)
}

// journalPrefix takes off "host program[pid]: ", as journalctl and syslog write it.
func journalPrefix(b []byte) (rest []byte, program string, ok bool) {
	host := b
	if b, ok = word(b); !ok || !isHost(host[:bytes.IndexByte(host, ' ')]) {
		return nil, "", false
	}
	colon := bytes.IndexByte(b, ' ')
	if colon < 3 || b[colon-1] != ':' || b[colon-2] != ']' {
		return nil, "", false
	}
	open := bytes.LastIndexByte(b[:colon], '[')
	if open < 1 || open+1 == colon-2 {
		return nil, "", false
	}
	if _, ok := digits(b[open+1 : colon-2]); !ok {
		return nil, "", false
	}
	program = string(b[:open])
	return b[colon+1:], program, true
}

// shortForm says whether a time is written as syslog and journalctl's short forms have
// it: "Oct 14 06:25:01", or 2026-10-14T06:25:01 with an offset.
func shortForm(stamp []byte) bool {
	if len(stamp) == 0 || stamp[0] == '[' || stamp[0] == ' ' {
		return false
	}
	if stamp[0] >= 'A' && stamp[0] <= 'Z' {
		return true
	}
	last := stamp[len(stamp)-1]
	return len(stamp) > 19 && stamp[4] == '-' && stamp[10] == 'T' && stamp[19] != ',' && (last == 'Z' || bytes.ContainsAny(stamp[19:], "+-"))
}

// isHost says whether a word can be the name or address of a machine: letters, digits,
// "-", "_", "." and ":", and neither a level nor a method of HTTP.
func isHost(word []byte) bool {
	for _, c := range word {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.' && c != ':' {
			return false
		}
	}
	return len(word) > 0 && word[len(word)-1] != ':' && !noHosts[strings.ToUpper(string(word))]
}

// noHosts are the levels of the usual loggers and the methods of HTTP.
var noHosts = map[string]bool{
	"TRACE": true, "DEBUG": true, "INFO": true, "NOTICE": true, "WARN": true, "WARNING": true, "ERROR": true, "ERR": true,
	"SEVERE": true, "FATAL": true, "PANIC": true, "CRITICAL": true, "CRIT": true, "ALERT": true, "EMERG": true, "EMERGENCY": true,
	"CONFIG": true, "FINE": true, "FINER": true, "FINEST": true, "ALL": true, "OFF": true, "STDOUT": true, "STDERR": true,
	"T": true, "D": true, "I": true, "W": true, "E": true, "F": true, "V": true, "INF": true, "DBG": true, "WRN": true, "FTL": true, "VERBOSE": true,
	"GET": true, "HEAD": true, "POST": true, "PUT": true, "PATCH": true, "DELETE": true, "CONNECT": true, "OPTIONS": true,
	"PROPFIND": true, "PROPPATCH": true, "MKCOL": true, "COPY": true, "MOVE": true, "LOCK": true, "UNLOCK": true, "SEARCH": true, "QUERY": true,
}

// level takes off a word of capitals and the spaces after it.
func level(b []byte) (rest []byte, ok bool) {
	n := 0
	for n < len(b) && b[n] >= 'A' && b[n] <= 'Z' {
		n++
	}
	if n < 3 || n == len(b) || b[n] != ' ' {
		return nil, false
	}
	return bytes.TrimLeft(b[n:], " "), true
}

// word takes off everything up to a space, and the spaces after it.
func word(b []byte) (rest []byte, ok bool) {
	n := bytes.IndexByte(b, ' ')
	if n < 1 {
		return nil, false
	}
	return bytes.TrimLeft(b[n:], " "), true
}

// brackets takes off "[…]" and the spaces after it.
func brackets(b []byte) (rest []byte, ok bool) {
	if len(b) == 0 || b[0] != '[' {
		return nil, false
	}
	n := bytes.IndexByte(b, ']')
	if n < 0 || n+1 == len(b) || b[n+1] != ' ' {
		return nil, false
	}
	return bytes.TrimLeft(b[n+1:], " "), true
}
