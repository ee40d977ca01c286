package applog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"gapless/collectors/applog/logrules"
)

// Kinds of application logs that this package reads.
const (
	KindFile      = "file"      // files of lines, on this machine
	KindJournal   = "journal"   // what journalctl -o json or -o export writes, in a file or a pipe
	KindContainer = "container" // a container's log file: Docker's json-file, or the CRI's
)

// Kinds lists them.
var Kinds = []string{KindFile, KindJournal, KindContainer}

// decoder makes lines of what stands in a file. One decoder reads one file, on from a
// position that an earlier one marked.
type decoder interface {
	// take takes one line of the file, without its end. It stands from the byte begin to
	// before the byte end.
	take(raw []byte, begin, end int64)
	// give takes what was taken for whole, as at the end of a file.
	give()
	// lost gives a part of a line that is too long to be taken, the first one where it
	// begins it. The part ends before the byte end; the last one has the line's own end.
	lost(part []byte, begins bool, end int64)
	// lines are those that are whole; they are good until the next call of take.
	lines() []streamLine
	// mark notes where to go on from so that what is not whole is read again, and
	// nothing else is.
	mark(at *position)
	// malformed says what could not be understood since the last call, in words; empty
	// where there is nothing.
	malformed() string
	// heard is the moment of the last line that was understood, of interest or not; zero
	// where only the text of lines tells theirs.
	heard() time.Time
}

// streamLine is a line of one of the streams in a file: of one program in a journal,
// of one of a container's outputs.
type streamLine struct {
	stream string
	logrules.Line
}

func (r *Reader) decoder(path string, at *position) decoder {
	target := r.targetOf(path)
	switch r.cfg.Kind {
	case KindJournal:
		return &journalDecoder{reader: r, target: target, lostAt: at.Lost, series: at.Series}
	case KindContainer:
		return newContainerDecoder(r, target, at)
	}
	return &plainDecoder{line: [1]streamLine{{Line: logrules.Line{Target: target}}}}
}

// plainDecoder takes lines as they stand.
type plainDecoder struct {
	line  [1]streamLine
	taken int
	end   int64
	long  int // lines that are too long
}

func (d *plainDecoder) take(raw []byte, _, end int64) {
	for len(raw) > 0 && raw[len(raw)-1] == '\r' {
		raw = raw[:len(raw)-1]
	}
	d.line[0].Text, d.taken, d.end = raw, 1, end
}

func (d *plainDecoder) give() {}
func (d *plainDecoder) lost(_ []byte, begins bool, end int64) {
	d.taken, d.end = 0, end
	if begins {
		d.long++
	}
}
func (d *plainDecoder) mark(at *position) { at.Offset = d.end }
func (d *plainDecoder) heard() time.Time  { return time.Time{} }
func (d *plainDecoder) lines() []streamLine {
	all := d.line[:d.taken]
	d.taken = 0
	return all
}
func (d *plainDecoder) malformed() string {
	text := tooLong(d.long)
	d.long = 0
	return text
}

// withoutBOM is a line without the byte-order mark that some programs put before a
// file's first one.
func withoutBOM(line []byte, begin int64) []byte {
	if begin > 0 {
		return line
	}
	return bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
}

// tooLong says of lines that they are skipped for their length; empty for none.
func tooLong(lines int) string {
	if lines == 0 {
		return ""
	}
	return fmt.Sprintf("%s longer than %d bytes and not read", counted(lines, "line is", "lines are"), maxLine)
}

// Decode calls read for every line that a log of the reader's kind holds in in, as a
// file of that path would, with the number of the file's line in which it ended, and
// once more at its end (last) for what is not whole. It stores nothing. The error is
// that of reading.
func (r *Reader) Decode(path string, in io.Reader, read func(number int, state *logrules.State, line logrules.Line)) (malformed string, err error) {
	d, number, end := r.decoder(path, &position{}), 0, int64(0)
	streams := map[string]*logrules.State{}
	var complaints complaints
	emit := func() {
		for _, line := range d.lines() {
			if streams[line.stream] == nil {
				streams[line.stream] = &logrules.State{}
			}
			read(number, streams[line.stream], line.Line)
		}
		if text := d.malformed(); text != "" {
			complaints.add(fmt.Sprintf("line %d: %s", number, text))
		}
	}
	err = eachRaw(in, func(raw []byte) {
		number++
		begin := end
		end += int64(len(raw)) + 1
		d.take(withoutBOM(raw, begin), begin, end)
		emit()
	}, func(part []byte, begins bool) {
		if begins {
			number++
		}
		end += int64(len(part))
		d.lost(part, begins, end)
		emit()
	})
	d.give()
	emit()
	return complaints.String(), err
}

// complaints are what could not be understood, of which only the first are told one by
// one.
type complaints struct {
	first []string
	more  int
}

const mostComplaints = 5

func (c *complaints) add(text string) {
	if len(c.first) == mostComplaints {
		c.more++
		return
	}
	c.first = append(c.first, text)
}

func (c *complaints) String() string {
	text := strings.Join(c.first, "; ")
	if c.more > 0 {
		text += fmt.Sprintf("; and %d more places", c.more)
	}
	return text
}

// Lines is what the reader looks for in its lines.
func (r *Reader) Lines() *logrules.Interpreter { return r.lines }

// counted says how many there are of something.
func counted(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}

// eachRaw calls take for every line of a stream, without its end, and lost for the
// parts of one that is too long.
func eachRaw(in io.Reader, take func(raw []byte), lost func(part []byte, begins bool)) error {
	s := &splitter{take: take, lost: lost}
	buffer := make([]byte, 256<<10)
	for {
		n, err := in.Read(buffer)
		s.write(buffer[:n])
		if err != nil {
			s.end()
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}
