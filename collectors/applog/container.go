package applog

import (
	"bytes"
	"time"

	"gapless/collectors/applog/jsonobject"
	"gapless/collectors/applog/logrules"
)

// pause is how long after a piece of a line the next one comes at most. A container
// that dies in the midst of a line leaves a piece that nothing belongs to.
const pause = 2 * time.Second

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

	read  int64            // what stands before it was read already
	from  map[string]int64 // but of these streams, only what stands before that
	end   int64            // of what was taken
	open  [2]*openLine     // of stdout, stderr
	ready []streamLine
	bad   int
	long  int       // lines that are too long
	last  time.Time // of the last piece
}

// openLine is a line of which only pieces have come.
type openLine struct {
	streamLine
	began int64     // byte of the file
	last  time.Time // of its last piece
	skip  bool      // it is too long
}

func newContainerDecoder(r *Reader, target string, at *position) *containerDecoder {
	return &containerDecoder{reader: r, target: target, read: at.Read, from: at.Open, end: at.Offset}
}

// piece is one line of a container's log file.
type piece struct {
	at     time.Time
	stderr bool
	text   []byte
	ends   bool
	label  string
}

func (d *containerDecoder) take(raw []byte, begin, end int64) {
	d.end = end
	p, ok := d.piece(raw)
	if !ok {
		if begin >= d.read && len(bytes.TrimSpace(raw)) > 0 {
			d.bad++
		}
		return
	}
	d.last = p.at
	stream, name := 0, "stdout"
	if p.stderr {
		stream, name = 1, "stderr"
	}
	if from, waits := d.from[name]; begin < d.read && (!waits || begin < from) {
		return
	}
	for i, line := range d.open {
		if line != nil && p.at.Sub(line.last) > pause {
			d.close(i)
		}
	}
	line := d.open[stream]
	if line == nil {
		target := d.target
		if label := d.reader.cfg.TargetLabel; label != "" {
			if target, ok = d.reader.cfg.labelled(p.label); !ok {
				return
			}
		}
		line = &openLine{streamLine: streamLine{name, logrules.Line{At: p.at, Target: target}}, began: begin}
		d.open[stream] = line
	}
	if line.last = p.at; !line.skip {
		line.Text = append(line.Text, p.text...)
	}
	if len(line.Text) > maxLine {
		line.Text, line.skip = nil, true
		d.long++
	}
	if p.ends {
		d.close(stream)
	}
}

// close takes a line for whole.
func (d *containerDecoder) close(stream int) {
	if line := d.open[stream]; !line.skip {
		d.ready = append(d.ready, line.streamLine)
	}
	d.open[stream] = nil
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

func (d *containerDecoder) give() {
	for i, line := range d.open {
		if line != nil {
			d.close(i)
		}
	}
}

func (d *containerDecoder) lost(_ []byte, begins bool, end int64) {
	d.give()
	d.end = end
	if begins {
		d.long++
	}
}

func (d *containerDecoder) heard() time.Time { return d.last }

// mark goes on from the first piece that waits, and skips from there what was read of
// the other stream.
func (d *containerDecoder) mark(at *position) {
	at.Offset, at.Read, at.Open = d.end, 0, nil
	for _, line := range d.open {
		if line == nil {
			continue
		}
		if at.Open == nil {
			at.Read, at.Open = max(d.end, d.read), map[string]int64{}
		}
		at.Open[line.stream] = line.began
		at.Offset = min(at.Offset, line.began)
	}
}

func (d *containerDecoder) lines() []streamLine {
	all := d.ready
	d.ready = d.ready[:0]
	return all
}

func (d *containerDecoder) malformed() string {
	text := tooLong(d.long)
	if d.bad > 0 {
		text = joined(text, counted(d.bad, "line is", "lines are")+" in neither form of a container's log file")
	}
	d.bad, d.long = 0, 0
	return text
}

// joined is two sentences in one text; either may be empty.
func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}
