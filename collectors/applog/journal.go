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
	data   []byte            // of it: the length, and the content unless that is too long
	got    uint64            // bytes of the content that came, with the end of its line
	cutBy  *int              // counts the entry, which lacks its message: cut or long
	lostAt bool              // after something that cannot be taken, nobody knows where the next entry begins
	series string            // of the cursors in the export format (their s=), as the last one that was taken has it

	began, end int64 // of the entry that is being read, and of what was taken: bytes of the file

	ready []streamLine
	last  time.Time // of the last entry
	bad   int       // entries that are not understood
	cut   int       // entries whose message journalctl left out
	long  int       // entries whose message is too long

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
		d.content(raw)
		if d.binary != "" {
			d.content([]byte("\n"))
		}
	case d.lostAt && !d.begins(raw):
	case len(raw) == 0:
		d.finish()
	case len(d.entry) == 0 && (raw[0] == '{' || raw[0] == 0x1e):
		d.object(bytes.TrimPrefix(raw, []byte{0x1e}))
	default:
		if name, value, ok := bytes.Cut(raw, []byte("=")); ok {
			d.field(name, value)
		} else if fieldName(raw) {
			d.binary, d.data, d.got = string(raw), d.data[:0], 0
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

// begins says whether the line may begin an entry, or what comes after it, though
// before it there was something that cannot be taken. A text that was cut off in its
// middle may hold whole entries, as somebody made them up. But it does not know the
// number of the journal file series: once that is known, nothing else will do.
func (d *journalDecoder) begins(raw []byte) bool {
	begins := bytes.HasPrefix(raw, []byte(`{"`)) || bytes.HasPrefix(raw, []byte(fieldCursor+"="))
	if d.series == "" {
		d.lostAt = !begins && len(raw) > 0
		return begins
	}
	d.lostAt = !begins || !bytes.Contains(raw, []byte("s="+d.series))
	if d.lostAt && begins {
		d.bad++ // perhaps one of another series
	}
	return !d.lostAt
}

// mostContent is the length of the longest field that journald takes, in bytes.
const mostContent = 768 << 20

// content takes more of a field that holds any bytes: eight of them with its length, low
// byte first, the content, and the end of a line. Whatever stands in the content, the
// field ends where its length says. One that is longer than [maxLine] is skipped.
func (d *journalDecoder) content(b []byte) {
	if n := 8 - len(d.data); n > 0 {
		d.data = append(d.data, b[:min(n, len(b))]...)
		if b = b[min(n, len(b)):]; len(d.data) < 8 {
			return
		}
	}
	length := binary.LittleEndian.Uint64(d.data)
	if length <= maxLine {
		d.data = append(d.data, b...)
	}
	d.got += uint64(len(b))
	switch {
	case length > mostContent, d.got > length+1, d.got == length+1 && b[len(b)-1] != '\n':
		d.giveUp()
	case d.got <= length:
	case length > maxLine:
		d.tooLong([]byte(d.binary))
		d.binary = ""
	case d.torn(d.data[8 : 8+length]):
		d.giveUp()
	default:
		d.field([]byte(d.binary), d.data[8:8+length])
		d.binary = ""
	}
}

// torn says whether the writer of a field died in it, and another one went on: the
// beginning of an entry stands in it. Where the series of the cursors is known, no text
// that comes from elsewhere can look so.
func (d *journalDecoder) torn(content []byte) bool {
	if d.series != "" {
		return bytes.Contains(content, []byte(fieldCursor+"=s="+d.series))
	}
	return bytes.Contains(content, []byte("\n"+fieldReceived+"="))
}

// tooLong takes a field without its content.
func (d *journalDecoder) tooLong(name []byte) {
	if d.entry == nil {
		d.entry = map[string][]byte{}
	}
	if string(name) == fieldMessage {
		d.cutBy = &d.long
	}
	d.entry[""] = nil // the entry has begun
}

// field takes one field. What stands but once in an entry begins the next one when it
// comes again: the one before was cut short, and is told as that, since nobody knows
// what is missing.
func (d *journalDecoder) field(name, value []byte) {
	if d.entry == nil {
		d.entry = map[string][]byte{}
	}
	if (string(name) == fieldCursor || string(name) == fieldReceived) && d.entry[string(name)] != nil {
		d.bad++
		d.drop()
	}
	if string(name) == fieldCursor {
		if series, _, ok := parseCursor(value); ok {
			d.series = series
		}
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
		d.add(d.entry, d.cutBy)
	}
	d.drop()
}

// drop forgets the entry that was being read.
func (d *journalDecoder) drop() {
	clear(d.entry)
	d.binary, d.cutBy = "", nil
}

// object reads an entry as JSON. A field that is not text is a list of bytes; one that
// stands several times is a list of such values, of which the first is taken; one that
// journalctl finds too long is null.
func (d *journalDecoder) object(raw []byte) {
	entry := map[string][]byte{}
	var cutBy *int
	ok := jsonobject.Members(raw, func(name, value []byte) {
		if d.wanted(name) {
			if content, ok := fieldValue(value); ok {
				entry[string(name)] = content
			} else if string(name) == fieldMessage {
				cutBy = &d.cut
			}
		}
	})
	if !ok {
		d.bad++
		return
	}
	d.add(entry, cutBy)
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

// add makes lines of an entry. cutBy counts it where its message is missing.
func (d *journalDecoder) add(entry map[string][]byte, cutBy *int) {
	at, ok := micros(entry[fieldReceived])
	if sent, known := micros(entry[fieldSent]); known {
		at, ok = sent, true
	}
	if !ok {
		d.bad++
		return
	}
	d.last = at
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
	if cutBy != nil {
		*cutBy++
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
		d.giveUp()
	}
	d.finish()
}

func (d *journalDecoder) heard() time.Time { return d.last }

// mark goes on from the start of the entry that is being read.
func (d *journalDecoder) mark(at *position) {
	at.Offset, at.Lost, at.Series = d.end, d.lostAt, d.series
	if d.pending() {
		at.Offset = d.began
	}
}

// lost skips a line but for what it says of its own length: a field's content, in which
// there was no end of a line for long; a field of text; or an object.
func (d *journalDecoder) lost(part []byte, begins bool, end int64) {
	if begins && !d.pending() {
		d.began = end - int64(len(part))
	}
	name, _, isField := bytes.Cut(part, []byte("="))
	switch {
	case d.binary != "":
		d.content(part)
	case !begins || d.lostAt:
	case len(d.entry) == 0 && part[0] == '{':
		d.bad++
	case isField && fieldName(name):
		d.tooLong(name)
	default:
		d.giveUp()
	}
	d.end = end
}

// giveUp drops the entry that was being read, and is lost.
func (d *journalDecoder) giveUp() {
	d.bad++
	d.lostAt = true
	d.drop()
}

func (d *journalDecoder) lines() []streamLine {
	all := d.ready
	d.ready = d.ready[:0]
	return all
}

func (d *journalDecoder) malformed() string {
	var text string
	if d.bad > 0 {
		text = counted(d.bad, "entry is", "entries are") + " in neither of the journal's formats (journalctl -o export or -o json)"
	}
	if d.cut > 0 {
		text = joined(text, counted(d.cut, "entry has", "entries have")+" a message that journalctl left out for its length (its option --all keeps them)")
	}
	if d.long > 0 {
		text = joined(text, fmt.Sprintf("%s a message of more than %d bytes, which is not read", counted(d.long, "entry has", "entries have"), maxLine))
	}
	d.bad, d.cut, d.long = 0, 0, 0
	return text
}
