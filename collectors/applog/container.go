package applog

import (
	"bytes"
	"fmt"
	"time"

	"gapless/collectors/applog/jsonobject"
	"gapless/collectors/applog/logrules"
)

// joinWithin is how long after its first piece a line is joined with further ones. A
// container that dies in the midst of a line leaves one that nothing belongs to.
const joinWithin = 5 * time.Second

// containerDecoder reads the log files of containers, line by line in either form:
//
//	{"log":"text\n","stream":"stdout","time":"2026-10-14T06:25:01.123456789Z"}
//	2026-10-14T06:25:01.123456789Z stdout F text
//
// A long line comes in pieces: in the first form all but the last one lack the "\n",
// in the second they have the tag P. Pieces of the two outputs may alternate.
type containerDecoder struct {
	reader *Reader
	target string // by the file's name

	ready []streamLine
	open  [2]int // index in ready of the line of stdout, stderr that is not whole, plus 1
	size  int    // bytes of the lines that are not whole
	bad   int
}

// piece is one line of a container's log file.
type piece struct {
	at     time.Time
	stderr bool
	text   []byte
	ends   bool
	label  string
}

func (d *containerDecoder) take(raw []byte) {
	p, ok := d.piece(raw)
	if !ok {
		if len(bytes.TrimSpace(raw)) > 0 {
			d.bad++
		}
		return
	}
	stream, name := 0, "stdout"
	if p.stderr {
		stream, name = 1, "stderr"
	}
	for i := range d.open {
		if at := d.open[i]; at > 0 && p.at.Sub(d.ready[at-1].At) > joinWithin {
			d.open[i] = 0
		}
	}
	if at := d.open[stream]; at > 0 {
		line := &d.ready[at-1]
		line.Text = append(line.Text, p.text...)
		d.size += len(p.text)
		if p.ends || d.size > maxLine {
			d.close(stream)
		}
		return
	}
	target := d.target
	if label := d.reader.cfg.TargetLabel; label != "" {
		if target, ok = d.reader.cfg.labelled(p.label); !ok {
			return
		}
	}
	d.ready = append(d.ready, streamLine{name, logrules.Line{At: p.at, Target: target, Text: bytes.Clone(p.text)}})
	if !p.ends {
		d.open[stream] = len(d.ready)
		d.size += len(p.text)
	}
}

func (d *containerDecoder) close(stream int) {
	d.open[stream] = 0
	if d.open == [2]int{} {
		d.size = 0
	}
}

func (d *containerDecoder) piece(raw []byte) (p piece, ok bool) {
	raw = bytes.TrimSuffix(raw, []byte("\r"))
	if len(raw) > 0 && raw[0] == '{' {
		return d.docker(raw)
	}
	stamp, rest, ok1 := bytes.Cut(raw, []byte(" "))
	output, rest, ok2 := bytes.Cut(rest, []byte(" "))
	tags, text, ok3 := bytes.Cut(rest, []byte(" "))
	if !ok3 { // an empty line may lack the space before it
		tags, text = rest, nil
	}
	tag, _, _ := bytes.Cut(tags, []byte(":"))
	p.stderr, p.text, p.ends = string(output) == "stderr", text, string(tag) == "F"
	if !ok1 || !ok2 || !p.stderr && string(output) != "stdout" || !p.ends && string(tag) != "P" {
		return p, false
	}
	p.at, ok = dockerTime(stamp)
	return p, ok
}

func (d *containerDecoder) docker(raw []byte) (p piece, ok bool) {
	hasLog, hasTime := false, false
	label := d.reader.cfg.TargetLabel
	ok = jsonobject.Members(raw, func(key, value []byte) {
		text, isText := jsonobject.Text(value)
		switch string(key) {
		case "log":
			p.text, hasLog = text, isText
		case "stream":
			p.stderr = string(text) == "stderr"
		case "time":
			p.at, hasTime = dockerTime(text)
		case "attrs":
			if label != "" {
				jsonobject.Members(value, func(key, value []byte) {
					if string(key) == label {
						text, _ := jsonobject.Text(value)
						p.label = string(text)
					}
				})
			}
		}
	})
	if n := len(p.text); n > 0 && p.text[n-1] == '\n' {
		p.text, p.ends = bytes.TrimSuffix(p.text[:n-1], []byte("\r")), true
	}
	return p, ok && hasLog && hasTime
}

func dockerTime(b []byte) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339Nano, string(b))
	if err != nil || t.Year() < 1970 || t.Year() > 9998 {
		return time.Time{}, false
	}
	return t.UTC().Truncate(time.Microsecond), true
}

func (d *containerDecoder) pending() bool { return d.open != [2]int{} && len(d.ready) < 10_000 }

func (d *containerDecoder) give() { d.open, d.size = [2]int{}, 0 }

func (d *containerDecoder) lost() { d.give() }

func (d *containerDecoder) lines() []streamLine {
	all := d.ready
	d.ready = d.ready[:0]
	d.give()
	return all
}

func (d *containerDecoder) malformed() string {
	if d.bad == 0 {
		return ""
	}
	text := fmt.Sprintf("%d lines are in neither form of a container's log file", d.bad)
	d.bad = 0
	return text
}
