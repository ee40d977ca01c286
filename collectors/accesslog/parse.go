package accesslog

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
	"unicode/utf8"

	"gapless/analysis"
)

// Parsed says how many lines Parse understood and how many it did not, and whether
// an input broke off.
type Parsed struct {
	Understood, SetAside int
	Partial              bool
}

// Parse writes how each line of the inputs is understood, one JSON object a line.
// Line numbers begin at 1 in each input; gzip is recognised by content. Formats:
// "alb", "alb-health", "alb-conn". The error is about the format, reading or
// writing, never about a line.
func Parse(ctx context.Context, w io.Writer, format string, inputs ...io.Reader) (Parsed, error) {
	p := lineWriter{}
	switch format {
	case "alb":
	case "alb-health":
		p.other = &healthFormat{}
	case "alb-conn":
		p.other = &connFormat{}
	default:
		return Parsed{}, fmt.Errorf("parse: format %q is not known; known: alb, alb-health, alb-conn", format)
	}
	out := bufio.NewWriterSize(w, 64<<10)
	var total Parsed
	for _, input := range inputs {
		source := &watched{r: input}
		var broken error
		end, err := eachLine(ctx, source, func(l *line) {
			var ok bool
			p.buffer, ok = p.append(p.buffer[:0], l)
			if ok {
				total.Understood++
			} else {
				total.SetAside++
			}
			if _, err := out.Write(p.buffer); err != nil && broken == nil {
				broken = err
			}
		})
		switch {
		case err != nil:
			return total, err
		case broken != nil:
			return total, fmt.Errorf("write parsed lines: %w", broken)
		case source.err != nil:
			return total, fmt.Errorf("read log: %w", source.err)
		case end.partial() && !errors.Is(end.err, io.ErrUnexpectedEOF):
			return total, fmt.Errorf("unpack log: %w", end.err)
		}
		total.Partial = total.Partial || end.partial()
	}
	if err := out.Flush(); err != nil {
		return total, fmt.Errorf("write parsed lines: %w", err)
	}
	return total, nil
}

// ownLines is a format whose lines are no requests: it writes what it has from the
// duration on.
type ownLines interface {
	format
	appendMore(b []byte, e *entry) []byte
}

// lineWriter writes lines as JSON.
type lineWriter struct {
	alb     albFormat
	other   ownLines // where it is not an access log
	entry   entry
	buffer  []byte
	scratch []byte
}

// append writes one line and reports whether it was understood.
func (p *lineWriter) append(b []byte, l *line) ([]byte, bool) {
	b = append(b, `{"line":`...)
	b = strconv.AppendInt(b, int64(l.number), 10)
	why, ok := reject{}, false
	switch {
	case l.cut:
		why = rejectCut
	case l.long > 0:
		why = rejectLong
	case p.other != nil:
		why, ok = p.other.parse(withoutBOM(l), &p.entry)
	default:
		if why, ok = p.alb.parse(withoutBOM(l), &p.entry); ok {
			p.alb.rest(&p.entry)
		}
	}
	if !ok {
		b = append(b, `,"ok":false,"reason":`...)
		b = appendString(b, []byte(why.reason))
		b = append(b, `,"detail":`...)
		b = appendString(b, []byte(why.detail))
		b = append(b, `,"kind":`...)
		b = appendString(b, []byte(why.kind))
		return append(b, "}\n"...), false
	}
	e := &p.entry
	b = append(b, `,"ok":true,"start":`...)
	if e.hasStart {
		b = appendTime(b, e.start)
	} else {
		b = append(b, "null"...)
	}
	b = append(b, `,"end":`...)
	b = appendTime(b, e.end)
	b = p.text(b, "client_ip", e.client)
	b = p.number(b, "client_port", e.clientPort)
	b = p.text(b, "target", e.target)
	host, port := splitAddress(e.target)
	b = p.text(b, "target_ip", host)
	b = p.number(b, "target_port", port)
	b = appendStatus(append(b, `,"status":`...), e.status)
	b = appendStatus(append(b, `,"target_status":`...), e.targetStatus)
	b = p.text(b, "method", e.method)
	b = p.decoded(b, "url", e.url)
	b = p.text(b, "protocol", e.protocol)
	b = p.decoded(b, "user_agent", e.agent)
	if p.other != nil {
		return p.other.appendMore(b, e), true
	}
	b = append(b, `,"duration_ms":`...)
	if took := e.end - e.start; e.hasStart && took >= 0 {
		b = strconv.AppendFloat(b, float64(took)/1000, 'f', -1, 64)
	} else {
		b = append(b, "null"...)
	}
	b = append(b, `,"outcome":"`...)
	b = append(b, analysis.LogOutcome(e.status, e.targetStatus)...)
	b = append(b, `","attempts":1`...)
	return appendFields(b, &p.alb.fields, albNames[:]), true
}

// appendFields writes every field by its name, and ends the line.
func appendFields(b []byte, fields *albTokens, names []string) []byte {
	b = append(b, `,"fields":{`...)
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, []byte(name))
		b = append(b, ':')
		if field := fields.field(i); field != nil {
			b = appendString(b, field)
		} else {
			b = append(b, "null"...)
		}
	}
	return append(b, "}}\n"...)
}

func (p *lineWriter) text(b []byte, name string, value []byte) []byte {
	b = append(b, ',', '"')
	b = append(b, name...)
	b = append(b, '"', ':')
	if value == nil {
		return append(b, "null"...)
	}
	return appendString(b, value)
}

func (p *lineWriter) decoded(b []byte, name string, value []byte) []byte {
	if value != nil {
		p.scratch = unescape(p.scratch[:0], value)
		value = p.scratch
	}
	return p.text(b, name, value)
}

// number writes digits as a number, or null where they are none or no port.
func (p *lineWriter) number(b []byte, name string, value []byte) []byte {
	b = append(b, ',', '"')
	b = append(b, name...)
	b = append(b, '"', ':')
	n, err := strconv.ParseUint(string(value), 10, 16)
	if err != nil {
		return append(b, "null"...)
	}
	return strconv.AppendUint(b, n, 10)
}

func appendStatus(b []byte, status int) []byte {
	if status == 0 {
		return append(b, "null"...)
	}
	return strconv.AppendInt(b, int64(status), 10)
}

func appendTime(b []byte, micros int64) []byte {
	b = append(b, '"')
	b = time.UnixMicro(micros).UTC().AppendFormat(b, "2006-01-02T15:04:05.000000Z")
	return append(b, '"')
}

// appendString writes a JSON string; bytes that are not UTF-8 become U+FFFD.
func appendString(b, s []byte) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < 0x20:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		case c < utf8.RuneSelf:
			b = append(b, c)
		default:
			r, size := utf8.DecodeRune(s[i:])
			b = utf8.AppendRune(b, r)
			i += size
			continue
		}
		i++
	}
	return append(b, '"')
}
