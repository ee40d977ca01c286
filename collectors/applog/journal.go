package applog

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"gapless/collectors/applog/jsonobject"
	"gapless/collectors/applog/logrules"
)

// Fields of a journal entry. Those that begin with "_" are journald's own: no program
// can make them say anything else.
const (
	fieldCursor     = "__CURSOR"
	fieldReceived   = "__REALTIME_TIMESTAMP"       // when journald got it, in µs since 1970
	fieldSent       = "_SOURCE_REALTIME_TIMESTAMP" // when it was sent, where that is known for sure
	fieldMessage    = "MESSAGE"
	fieldMessageID  = "MESSAGE_ID"
	fieldIdentifier = "SYSLOG_IDENTIFIER"
	fieldCommand    = "_COMM"
	fieldPID        = "_PID"
	fieldUnit       = "UNIT" // that systemd's entry is about
	fieldUserUnit   = "USER_UNIT"
	fieldOwnUnit    = "_SYSTEMD_UNIT" // that the writer belongs to
	fieldOwnUser    = "_SYSTEMD_USER_UNIT"
	fieldHost       = "_HOSTNAME"
)

var journalFields = []string{
	fieldCursor, fieldReceived, fieldSent, fieldMessage, fieldMessageID, fieldIdentifier, fieldCommand, fieldPID,
	fieldUnit, fieldUserUnit, fieldOwnUnit, fieldOwnUser, fieldHost, "EXIT_CODE", "EXIT_STATUS", "N_RESTARTS",
}

// Labels of journal entries that have a name of their own; any other target_label is
// a field's.
const (
	LabelHost = "host"
	LabelUnit = "unit"
)

// journalDecoder reads entries in the export format or as JSON, one after another,
// each by how it begins.
type journalDecoder struct {
	reader *Reader
	target string // by the file's name

	entry  map[string][]byte // in the export format, while it is not whole
	binary string            // name of the field whose length and content come next
	data   []byte            // of it
	resync bool              // after something that cannot be taken: until an empty line, an object or a cursor

	began, end int64 // of the entry that is being read, and of what was taken: bytes of the file

	ready []streamLine
	bad   int // entries that are not understood
	cut   int // entries whose message journalctl left out

	// seen turns down an entry that was read before; nil: none was.
	seen func(cursor []byte) bool
}

func (d *journalDecoder) take(raw []byte, begin, end int64) {
	if !d.pending() {
		d.began = begin
	}
	bad := d.bad
	d.takeField(raw)
	if d.bad > bad && d.pending() {
		d.began = begin // of the entry that followed one that was cut short
	}
	d.end = end
}

func (d *journalDecoder) takeField(raw []byte) {
	switch {
	case d.binary != "":
		d.data = append(append(d.data, raw...), '\n')
		d.finishBinary()
	case d.resync && !bytes.HasPrefix(raw, []byte(`{"`)) && !bytes.HasPrefix(raw, []byte(fieldCursor+"=")):
		d.resync = len(raw) > 0
	case len(raw) == 0:
		d.finish()
	case len(d.entry) == 0 && (raw[0] == '{' || raw[0] == 0x1e):
		d.object(bytes.TrimPrefix(raw, []byte{0x1e}))
	default:
		if name, value, ok := bytes.Cut(raw, []byte("=")); ok {
			d.field(name, value)
		} else if fieldName(raw) {
			d.binary, d.data = string(raw), d.data[:0]
		} else {
			d.giveUp()
		}
	}
}

// fieldName says whether a line can be the name of a field. The names of journald's
// own begin with underscores.
func fieldName(b []byte) bool {
	for _, c := range b {
		if c != '_' && (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			return false
		}
	}
	return len(b) > 0 && len(b) <= 64
}

// finishBinary takes a field's content when all of it is there: eight bytes with its
// length, low byte first, the content, and the end of a line.
func (d *journalDecoder) finishBinary() {
	if len(d.data) < 8 {
		return
	}
	length := binary.LittleEndian.Uint64(d.data)
	switch have := uint64(len(d.data)) - 8; {
	case length > maxLine:
		d.giveUp()
	case have == length+1:
		content := d.data[8 : 8+length]
		if bytes.Contains(content, []byte("\n"+fieldReceived+"=")) {
			d.giveUp() // its writer died in it, and another one went on
			return
		}
		d.field([]byte(d.binary), content)
		d.binary = ""
	case have > length+1: // it ends within a line
		d.giveUp()
	}
}

// field takes one field. What stands but once in an entry begins the next one when it
// comes again: the one before was cut short, and is told as that, since nobody knows
// what is missing.
func (d *journalDecoder) field(name, value []byte) {
	if d.entry == nil {
		d.entry = map[string][]byte{}
	}
	d.resync = false
	if (string(name) == fieldCursor || string(name) == fieldReceived) && d.entry[string(name)] != nil {
		d.bad++
		clear(d.entry)
	}
	if wanted := d.wanted(name); wanted && d.entry[string(name)] == nil {
		d.entry[string(name)] = bytes.Clone(value)
	} else if !wanted && len(d.entry) == 0 {
		d.entry[""] = nil // the entry has begun
	}
}

func (d *journalDecoder) wanted(name []byte) bool {
	return string(name) == d.reader.cfg.TargetLabel || slices.ContainsFunc(journalFields, func(field string) bool { return field == string(name) })
}

func (d *journalDecoder) finish() {
	if len(d.entry) > 0 {
		d.add(d.entry)
	}
	clear(d.entry)
}

// object reads an entry as JSON. A field that is not text is a list of bytes; one that
// stands several times is a list of such values, of which the first is taken; one that
// journalctl finds too long is null.
func (d *journalDecoder) object(raw []byte) {
	entry := map[string][]byte{}
	ok := jsonobject.Members(raw, func(name, value []byte) {
		if d.wanted(name) {
			if content, ok := fieldValue(value); ok {
				entry[string(name)] = content
			} else if string(name) == fieldMessage {
				d.cut++
			}
		}
	})
	if !ok {
		d.bad++
		return
	}
	d.resync = false
	d.add(entry)
}

func fieldValue(value []byte) ([]byte, bool) {
	if text, ok := jsonobject.Text(value); ok {
		return text, true
	}
	if len(value) < 2 || value[0] != '[' {
		return nil, false
	}
	inner := bytes.TrimSpace(value[1 : len(value)-1])
	if len(inner) > 0 && (inner[0] == '"' || inner[0] == '[') {
		var first []byte
		jsonobject.Elements(value, func(element []byte) {
			if first == nil {
				first = element
			}
		})
		if len(first) > 0 && first[0] == '[' && bytes.IndexByte(first[1:], '[') >= 0 {
			return nil, false // no list of bytes
		}
		return fieldValue(first)
	}
	content := []byte{}
	ok := jsonobject.Elements(value, func(element []byte) {
		n, err := strconv.ParseUint(string(element), 10, 8)
		if err != nil {
			content = nil
		} else if content != nil {
			content = append(content, byte(n))
		}
	})
	return content, ok && content != nil
}

// add makes lines of an entry.
func (d *journalDecoder) add(entry map[string][]byte) {
	at, ok := micros(entry[fieldReceived])
	if sent, known := micros(entry[fieldSent]); known {
		at, ok = sent, true
	}
	if !ok {
		d.bad++
		return
	}
	if d.seen != nil && d.seen(entry[fieldCursor]) {
		return
	}
	systemd := isSystemd(entry)
	unit := string(firstOf(entry, fieldOwnUser, fieldOwnUnit))
	if systemd {
		unit = string(firstOf(entry, fieldUserUnit, fieldUnit))
	}
	if wanted := d.reader.cfg.Lines.Unit; wanted != "" {
		if ok, err := path.Match(wanted, unit); err != nil || !ok {
			return
		}
	}
	target, ok := d.targetOf(entry, unit)
	if !ok {
		return
	}
	line := logrules.Line{At: at, Target: target, Origin: "systemd"}
	if !systemd {
		// What a program calls itself is its own affair, but it is not systemd.
		line.Origin = "program " + string(firstOf(entry, fieldIdentifier, fieldCommand))
	} else if id := entry[fieldMessageID]; id != nil {
		line.ID = string(id)
		line.Fields = map[string]string{
			"UNIT": unit, "EXIT_CODE": string(entry["EXIT_CODE"]), "EXIT_STATUS": string(entry["EXIT_STATUS"]), "N_RESTARTS": string(entry["N_RESTARTS"]),
		}
	}
	stream := unit
	if systemd {
		stream = ""
	}
	rest := entry[fieldMessage]
	for more := true; more; {
		line.Text, rest, more = bytes.Cut(rest, []byte("\n"))
		d.ready = append(d.ready, streamLine{stream, line})
		line.ID, line.Fields, line.Continues = "", nil, true
	}
}

// targetOf says who wrote an entry; false where it is not one of the service's.
func (d *journalDecoder) targetOf(entry map[string][]byte, unit string) (string, bool) {
	cfg := &d.reader.cfg
	var label string
	switch cfg.TargetLabel {
	case "":
		return d.target, true
	case LabelHost:
		label = string(entry[fieldHost])
	case LabelUnit:
		label = unit
	default:
		label = string(entry[cfg.TargetLabel])
	}
	return cfg.labelled(label)
}

// labelled is the target of a label's value; false where it is none of the service's.
func (c *Config) labelled(label string) (string, bool) {
	name := label
	if c.Names != nil {
		name = c.Names.Target(label)
	}
	return name, c.Targets == nil || slices.Contains(c.Targets, name)
}

// isSystemd says whether the service manager wrote an entry, by the fields that a
// program cannot set; where journalctl was told to leave them out, by its name.
func isSystemd(entry map[string][]byte) bool {
	pid, command := string(entry[fieldPID]), string(entry[fieldCommand])
	if pid == "" && command == "" {
		return string(entry[fieldIdentifier]) == "systemd"
	}
	return pid == "1" || command == "systemd" && strings.HasPrefix(string(entry[fieldOwnUnit]), "user@")
}

func firstOf(entry map[string][]byte, names ...string) []byte {
	for _, name := range names {
		if len(entry[name]) > 0 {
			return entry[name]
		}
	}
	return nil
}

func micros(b []byte) (time.Time, bool) {
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil || n <= 0 || n > 253_370_764_799_000_000 { // the year 9998
		return time.Time{}, false
	}
	return time.UnixMicro(n).UTC(), true
}

// pending says that an entry is not whole yet.
func (d *journalDecoder) pending() bool { return len(d.entry) > 0 || d.binary != "" }

func (d *journalDecoder) give() {
	if d.binary != "" {
		d.bad++
		d.binary = ""
	}
	d.finish()
}

// mark goes on from the start of the entry that is being read.
func (d *journalDecoder) mark(at *position) {
	at.Offset = d.end
	if d.pending() {
		at.Offset = d.began
	}
}

func (d *journalDecoder) lost(end int64) {
	d.giveUp()
	d.end = end
}

// giveUp drops the entry that was being read.
func (d *journalDecoder) giveUp() {
	d.bad++
	d.binary, d.resync = "", true
	clear(d.entry)
}

func (d *journalDecoder) lines() []streamLine {
	all := d.ready
	d.ready = d.ready[:0]
	return all
}

func (d *journalDecoder) malformed() string {
	var text []string
	if d.bad > 0 {
		text = append(text, fmt.Sprintf("%d entries are in neither of the journal's formats (journalctl -o export or -o json)", d.bad))
	}
	if d.cut > 0 {
		text = append(text, fmt.Sprintf("%d entries have a message that journalctl left out for its length (its option --all keeps them)", d.cut))
	}
	d.bad, d.cut = 0, 0
	return strings.Join(text, "; ")
}
